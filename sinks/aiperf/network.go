package aiperf

import (
	"net/url"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks"
)

// Network is what the files say of the round trip to the servers.
type Network struct {
	Mean *float64 `json:"mean_ms,omitempty"` // that was given; nil where it was measured
}

// probes are the samples of round trips, in the order in which they were made.
func (w *Writer) probes() (all []telemetry.Sample, trips telemetry.RoundTrips, err error) {
	if w.Network == nil || w.Network.Mean != nil || w.Samples == nil {
		return nil, trips, nil
	}
	err = w.Samples(func(s telemetry.Sample) {
		if s.Collector == telemetry.Network {
			all = append(all, s)
			trips.Add(s)
		}
	})
	slices.SortStableFunc(all, func(a, b telemetry.Sample) int { return int(a.At - b.At) })
	return all, trips, err
}

// writeNetwork writes the probes, and adds to the summary what follows from them. In
// AIPerf's files every statistic of the round trip is its mean, and none has a count.
func (w *Writer) writeNetwork() error {
	all, trips, err := w.probes()
	if err != nil || w.Network == nil {
		return err
	}
	if len(all) > 0 {
		if err := w.stream(w.names.Network,
			func(to *sinks.Artifact) (int64, error) { return w.probeLines(to, all) }); err != nil {
			return err
		}
	}
	mean := trips.Mean()
	if w.Network.Mean != nil {
		mean = *w.Network.Mean
	}
	if !isFinite(mean) {
		return nil
	}
	rtt := metrics.RoundTrip(nil, mean)
	rtt.Scalar, rtt.Std, rtt.Sum = false, 0, mean
	for _, v := range []*float64{
		&rtt.Min, &rtt.Max, &rtt.P1, &rtt.P5, &rtt.P10, &rtt.P25, &rtt.P50, &rtt.P75, &rtt.P90,
		&rtt.P95, &rtt.P99,
	} {
		*v = mean
	}
	more := *w.summary
	more.Stats = slices.Clone(more.Stats)
	for _, s := range w.summary.WithoutRoundTrip(rtt) {
		s.Count = 0
		more.Stats = append(more.Stats, s)
	}
	w.summary = &more
	return nil
}

// probeLines are AIPerf's, one for each probe.
func (w *Writer) probeLines(to *sinks.Artifact, all []telemetry.Sample) (rows int64, err error) {
	t0 := w.Info.T0.UnixNano()
	for _, s := range all {
		o := object{}.with("timestamp_ns", t0+s.At).with("target_url", s.Source)
		if u, err := url.Parse(s.Source); err == nil {
			port, _ := strconv.Atoi(u.Port())
			if port == 0 {
				port = map[string]int{"http": 80, "https": 443}[u.Scheme]
			}
			o = o.with("target_host", u.Hostname()).with("target_port", port)
		}
		o = o.with("probe_type", "tcp_connect")
		if s.Metric == telemetry.Connect {
			o = o.with("rtt_ns", int64(s.Value*1e9+0.5)).with("success", true)
		} else {
			o = o.with("rtt_ns", nil).with("success", false).with("error", telemetry.Pairs(s.Labels)["error"])
		}
		b, err := o.append(nil)
		if err == nil {
			_, err = to.Write(append(b, '\n'))
		}
		if err != nil {
			return rows, err
		}
		rows++
	}
	return rows, nil
}
