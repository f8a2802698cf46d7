package chart

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sweep"
)

// change is chart 10: the change of each figure between the first value of a
// treatment (the baseline) and the others, trial by trial, with its interval.
func change(d *Data, _ *Cell) ([]draw.Panel, string) {
	i := slices.IndexFunc(d.Axes, func(a string) bool { return sweep.AxisNamed(a).System })
	if i < 0 {
		return nil, "one system: sweep endpoints or models, or give two result directories"
	}
	pairs := d.pairs(d.Axes[i])
	metric, label := d.output()
	p := draw.Panel{X: draw.Axis{Names: true}, Y: draw.Axis{Label: "change (%)" + d.baselines(pairs, d.Axes[i])}, Marks: []draw.Mark{
		{At: -5, To: 5, Label: "within ±5 %"}, {At: 0, To: 0, Ink: draw.Muted},
	}}
	for x, q := range pairs {
		p.X.Ticks = append(p.X.Ticks, draw.Tick{At: float64(x), Label: q.label})
	}
	for k, m := range []struct{ metric, stat, name string }{
		{metric, "avg", label}, {metrics.TimeToFirstToken, "p50", metrics.Series(metrics.TimeToFirstToken, "p50")}, {metrics.InterTokenLatency, "p50", metrics.Series(metrics.InterTokenLatency, "p50")}, {metrics.RequestLatency, "p50", metrics.Series(metrics.RequestLatency, "p50")},
	} {
		s := draw.Series{Name: m.name, Ink: draw.Nth(k), Shape: k}
		for x, q := range pairs {
			if pt, ok := d.ratio(q, m.metric, m.stat, m.name); ok {
				pt.X = float64(x) + 0.12*(float64(k)-1.5)
				s.Points = append(s.Points, pt)
			}
		}
		if len(s.Points) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	if len(p.Series) == 0 {
		return nil, "no two cells differ in the " + d.Axes[i] + " alone"
	}
	return []draw.Panel{p}, ""
}

// baselines names what is compared with, where it is one thing.
func (d *Data) baselines(pairs []pair, treatment string) string {
	name := ""
	for _, q := range pairs {
		of := valueOf(q.a, treatment)
		if name != "" && of != name {
			return ""
		}
		name = of
	}
	if name == "" {
		return ""
	}
	return " from " + words.Clip(name, 40)
}

// valueOf is the value of a cell on an axis, "" for none.
func valueOf(c *Cell, axis string) string {
	if v := c.At(axis); !math.IsNaN(v) {
		return setting(v)
	}
	return c.Values[axis].Text
}

// pair is two cells that differ in the treatment alone.
type pair struct {
	a, b  *Cell
	label string
}

func (d *Data) pairs(treatment string) []pair {
	var out []pair
	for _, g := range d.groups(treatment) {
		for _, c := range g.cells[1:] {
			label := valueOf(c, treatment)
			if g.name != "" {
				label += draw.Break + g.name
			}
			out = append(out, pair{g.cells[0], c, label})
		}
	}
	return out
}

// ratio is the geometric mean of b/a over the trials that both have, as a
// change in percent, with a t interval on the logarithms (95 %).
func (d *Data) ratio(q pair, metric, stat, name string) (draw.Point, bool) {
	a, b := d.Trials(q.a, metric, stat), d.Trials(q.b, metric, stat)
	var logs []float64
	for t, x := range a {
		if y, ok := b[t]; ok && x.Value > 0 && y.Value > 0 && x.known() && y.known() {
			logs = append(logs, math.Log(y.Value/x.Value))
		}
	}
	if len(logs) == 0 {
		return draw.Point{}, false
	}
	slices.Sort(logs)
	percent := func(l float64) float64 { return 100 * (math.Exp(l) - 1) }
	pt := draw.At(0, percent(stats.Mean(logs)), "")
	pt.Title = fmt.Sprintf("%s: %s %+.1f %%", q.label, name, pt.Y)
	if len(logs) > 1 {
		half := stats.TQuantile(0.975, float64(len(logs)-1)) * stats.StdSample(logs) / math.Sqrt(float64(len(logs)))
		mean := stats.Mean(logs)
		pt.Low, pt.High = percent(mean-half), percent(mean+half)
		pt.Title += fmt.Sprintf(", 95 %% [%+.1f, %+.1f] over %d trials", pt.Low, pt.High, len(logs))
	}
	s := d.Get(q.b, metric, stat)
	pt.Hollow, pt.Taint = s.Unsupported, s.Taint
	return pt, true
}
