package metrics

import (
	"math"

	"aiperf.dev/aiperf/internal/stats"
)

// What is known beside a run's records when the round trip to the server is.
const (
	NetworkRTT         = "network_rtt"
	networkAdjusted    = "network_adjusted_"
	networkAdjustedFor = "Network-Adjusted "
)

// adjustable are the metrics in which a round trip is contained once.
var adjustable = []struct {
	tag, title string
	order      int
}{
	{RequestLatency, "Request Latency", 301},
	{TimeToFirstToken, "Time to First Token", 101},
	{TimeToFirstOutputToken, "Time to First Output Token", 211},
}

// NetworkMetrics are the rows of WithoutRoundTrip as tables show them. They are not in
// the catalogue, since no record tells them.
func NetworkMetrics() []Metric {
	rows := []Metric{{Tag: NetworkRTT, Header: "Network RTT", Unit: "ms", Group: Main, Order: 305}}
	for _, a := range adjustable {
		rows = append(rows, Metric{
			Tag: networkAdjusted + a.tag, Header: networkAdjustedFor + a.title, Unit: "ms",
			Group: Main, Order: a.order,
		})
	}
	return rows
}

// WithoutRoundTrip are the round trip and the metrics that contain it once, without its
// mean (ms): each statistic less the mean, but not below 0; the standard deviation stays
// as it is. What a round trip took at the moment of a request is not known, so that this
// is about latencies as a whole, and says nothing of one request.
func (s *Summary) WithoutRoundTrip(rtt Stat) []Stat {
	out := []Stat{rtt}
	for _, a := range adjustable {
		st, ok := s.Get(a.tag)
		if !ok {
			continue
		}
		for _, v := range []*float64{
			&st.Avg, &st.Min, &st.Max, &st.P1, &st.P5, &st.P10, &st.P25, &st.P50,
			&st.P75, &st.P90, &st.P95, &st.P99, &st.P999,
		} {
			if !math.IsNaN(*v) {
				*v = max(0, *v-rtt.Avg)
			}
		}
		st.Sum = max(0, st.Sum-float64(st.Count)*rtt.Avg)
		st.Tag, st.Header, st.Plain, st.Intervals = networkAdjusted+a.tag, networkAdjustedFor+a.title, nil, nil
		out = append(out, st)
	}
	return out
}

// RoundTrip is the statistics of round trips in ms, in ascending order; of one that was
// given, which is a constant, there are none beside the mean.
func RoundTrip(sorted []float64, mean float64) Stat {
	nan := math.NaN()
	st := Stat{
		Tag: NetworkRTT, Header: "Network RTT", Unit: "ms", Avg: mean, Min: nan, Max: nan, Sum: nan, Std: nan,
		P1: nan, P5: nan, P10: nan, P25: nan, P50: nan,
		P75: nan, P90: nan, P95: nan, P99: nan, P999: nan, NEff: nan, Count: int64(len(sorted)),
		Scalar: len(sorted) == 0,
	}
	if len(sorted) > 0 {
		d := 0.0
		st.Sum = mean * float64(len(sorted))
		for _, v := range sorted {
			d += (v - mean) * (v - mean)
		}
		st.Std = math.Sqrt(d / float64(len(sorted)))
		st.Min, st.Max = sorted[0], sorted[len(sorted)-1]
		for v, q := range map[*float64]float64{
			&st.P1: 0.01, &st.P5: 0.05, &st.P10: 0.1, &st.P25: 0.25, &st.P50: 0.5,
			&st.P75: 0.75, &st.P90: 0.9, &st.P95: 0.95, &st.P99: 0.99,
		} {
			*v = stats.Quantile(sorted, q)
		}
	}
	return st
}
