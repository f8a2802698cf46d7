package decide

import (
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
)

// Watched is a figure of a cell over its trials, as a series of many results takes it.
type Watched struct {
	Key
	stats.Estimate
	Unit    string
	Window  string
	Way     int    // 1 where larger is better, −1 where smaller is, 0 where neither is
	Decides bool   // a comparison rests on it
	Doubt   string // the check that puts it in doubt, "" for none
}

// Watch gives what a cell says that is worth following over many results: the figures that
// decide a comparison, and those that one shows beside. invalid takes INVALID runs, too.
func Watch(c *ArmCell, invalid bool) (out []Watched) {
	d := newDuel(c, c, Terms{Invalid: invalid})
	d.choose(nil)
	add := func(keys []Key, decides bool) {
		for _, k := range keys {
			e, ok := d.base.Get(k)
			if !ok || !metrics.Finite(e.Mean) {
				continue
			}
			w := Watched{Key: k, Estimate: e, Window: d.window, Decides: decides, Doubt: d.base.Taint(k).Check, Way: -1}
			if directionOf(k.Tag) == stats.Maximise {
				w.Way = 1
			}
			if m, known := metrics.Lookup(k.Tag); known {
				if w.Unit = m.Unit; m.Unit == "tokens" { // a length
					w.Way = 0
				}
			}
			out = append(out, w)
		}
	}
	add(d.primary, true)
	add(d.other, false)
	for _, k := range followed {
		if !slices.Contains(d.primary, k) && !slices.Contains(d.other, k) {
			add([]Key{k}, false)
		}
	}
	return out
}

// followed is what people also ask of a series of results.
var followed = []Key{
	{metrics.TimeToFirstToken, "avg"},
	{metrics.TimeToFirstToken, "p50"},
	{metrics.TimeToFirstToken, "p90"},
	{metrics.TimeToFirstToken, "p95"},
	{metrics.InterTokenLatency, "avg"},
	{metrics.InterTokenLatency, "p90"},
	{metrics.InterTokenLatency, "p95"},
	{metrics.RequestLatency, "avg"},
	{metrics.RequestLatency, "p90"},
	{metrics.RequestLatency, "p95"},
	{metrics.GoodRequestFraction, "avg"},
	{metrics.Goodput, "avg"},
	{metrics.Accuracy, "avg"},
}
