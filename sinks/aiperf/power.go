package aiperf

import (
	"math"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
)

// finalLook is how long after the run AIPerf still counts energy: its last look comes
// late.
const finalLook = 666 * time.Millisecond

// power are AIPerf's metrics of power and energy of all GPUs of one maker over the run.
// Its mean power is energy ÷ duration, where the energy is that of a little more than the
// run; the table metrics has that of the run itself.
type power struct {
	maker string // nvidia, amd
	stats []metrics.Stat
}

// powers are those of each maker whose GPUs tell power or energy.
func (s *gpuSet) powers(sum *metrics.Summary) (out []power) {
	if s.GPUs == nil {
		return nil
	}
	for _, maker := range []string{"nvidia", "amd"} {
		watts, joules, known := s.supply(maker)
		if !known {
			continue
		}
		if p := (power{maker: maker, stats: s.efficiency(maker, watts, joules, sum)}); len(p.stats) > 0 {
			out = append(out, p)
		}
	}
	return out
}

// supply is the mean power of all GPUs, each over the run's looks, and their energy until
// a little after it: that of their counters, else power × time.
func (s *gpuSet) supply(maker string) (watts, joules float64, known bool) {
	start, end := s.Start.Sub(s.T0).Nanoseconds(), s.End.Sub(s.T0).Nanoseconds()
	for _, source := range s.sources {
		for _, g := range source.gpus {
			if g.platform != maker {
				continue
			}
			w, j := math.NaN(), math.NaN()
			for i, f := range s.Fields {
				switch {
				case g.values[i] == nil:
				case isPower(f.Key):
					w = meanBetween(g.at, g.values[i], start, end)
				case isEnergy(f.Key):
					j = 1e6 * growth(g.at, g.values[i], start, end+finalLook.Nanoseconds())
				}
			}
			if math.IsNaN(j) {
				j = w * float64(end-start) / 1e9
			}
			if math.IsNaN(w) && math.IsNaN(j) {
				continue
			}
			watts, joules, known = watts+w, joules+j, true
		}
	}
	return watts, joules, known
}

func isPower(key string) bool  { return key == "nvidia_power_usage" || key == "amd_power" }
func isEnergy(key string) bool { return strings.HasSuffix(key, "_energy_consumption") }

// meanBetween is the mean of what was said between two moments, NaN of nothing.
func meanBetween(at []int64, values []float64, from, to int64) float64 {
	sum, n := 0.0, 0
	for i, v := range values {
		if at[i] >= from && at[i] <= to && !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / float64(n)
}

// growth is how much a counter grew from the last look before from to the last before to.
func growth(at []int64, values []float64, from, to int64) float64 {
	first, last := math.NaN(), math.NaN()
	for i, v := range values {
		if math.IsNaN(v) || at[i] > to {
			continue
		}
		if at[i] <= from || math.IsNaN(first) {
			first = v
		}
		last = v
	}
	return max(last-first, 0)
}

// efficiency are the metrics in the order of AIPerf's files, those that can be computed.
func (s *gpuSet) efficiency(maker string, watts, joules float64, sum *metrics.Summary) (out []metrics.Stat) {
	of := func(tag string) float64 {
		st, ok := sum.Get(tag)
		if !ok || !(theirs(st).Avg > 0) {
			return math.NaN()
		}
		return theirs(st).Avg
	}
	seconds := of(metrics.BenchmarkDuration)
	requests, output := of(metrics.RequestCount), of(metrics.OutputTokenThroughput)*seconds
	all := of(metrics.TotalTokenThroughput) * seconds
	mean, users := joules/seconds, s.Users
	if users == 0 {
		users = math.NaN()
	}
	for _, m := range []struct {
		tag, title, unit string
		v                float64
	}{
		{"total_gpu_power", "Total GPU Power", "W", watts},
		{"average_gpu_power", "Average GPU Power", "W", mean},
		{"total_gpu_energy", "Total GPU Energy", "J", joules},
		{"output_tokens_per_joule", "Output Tokens per Joule", "tokens/J", output / joules},
		{"energy_per_output_token", "Energy per Output Token", "mJ/token", 1e3 * joules / output},
		{"energy_per_total_token", "Energy per Total Token", "mJ/token", 1e3 * joules / all},
		{"energy_per_request", "Energy per Request", "joules/request", joules / requests},
		{"energy_per_user", "Energy per User", "joules/user", joules / users},
		{"energy_delay_product", "Energy Delay Product", "J*s", joules / requests * of(metrics.RequestLatency) / 1e3},
		{"performance_per_watt", "Performance per Watt", "requests/sec/W", of(metrics.RequestThroughput) / mean},
		{"output_tps_per_watt", "Output Tokens per Second per Watt", "tokens/sec/W", output / seconds / mean},
		{"goodput_per_watt", "Goodput per Watt", "requests/sec/W", of(metrics.Goodput) / mean},
	} {
		if !isFinite(m.v) {
			continue
		}
		out = append(out, scalar(maker+"_"+m.tag, m.title, m.unit, m.v))
	}
	return out
}

// scalar is a metric with one value.
func scalar(tag, title, unit string, v float64) metrics.Stat {
	nan := math.NaN()
	return metrics.Stat{
		Tag: tag, Header: title, Unit: unit, Scalar: true, Avg: v, NEff: nan, Min: nan, Max: nan, Sum: nan, Std: nan,
		P1: nan, P5: nan, P10: nan, P25: nan, P50: nan, P75: nan, P90: nan, P95: nan, P99: nan, P999: nan,
	}
}

// addPower adds the metrics of power to the summary.
func (w *Writer) addPower(gpus *gpuSet) {
	more := *w.summary
	more.Stats = slices.Clone(more.Stats)
	gpus.power = gpus.powers(w.summary)
	for _, p := range gpus.power {
		more.Stats = append(more.Stats, p.stats...)
	}
	w.summary = &more
}

// powerOrder is that of the lines of AIPerf's table.
var powerOrder = []string{
	"energy_delay_product", "performance_per_watt", "output_tps_per_watt", "goodput_per_watt", "average_gpu_power", "total_gpu_energy",
	"total_gpu_power", "energy_per_total_token", "energy_per_output_token", "energy_per_request", "output_tokens_per_joule", "energy_per_user",
}

// console is AIPerf's table of one maker's GPUs.
func (p power) console(b *strings.Builder) {
	t := &box{title: "GPU Power Efficiency (" + strings.ToUpper(p.maker) + ")", head: []string{"Metric", "avg"}, left: -1}
	for _, tag := range powerOrder {
		for _, s := range p.stats {
			if s.Tag == p.maker+"_"+tag {
				t.rows = append(t.rows, []string{s.Header + " (" + s.Unit + ")", words.Decimals(s.Avg, 2)})
			}
		}
	}
	t.write(b)
}
