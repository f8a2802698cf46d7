package chart

import (
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// Expense is what the reader knows and no table holds: what the servers that
// answered cost and take, all of them together. 0 is not given.
type Expense struct {
	Hour  float64 // price of an hour, in any currency
	Watts float64 // mean power
}

// perJoule is what a token takes of the energy that was measured, the other way round.
const perJoule = "output_tokens_per_joule"

// cost is chart 13: what a token costs in money and energy, against the speed that
// a user sees. Each is a rate divided by the output tokens of a second, so that the
// ends of the throughput's interval change places. Power is what the GPUs measured, unless
// the reader knows better: that of the whole servers is more.
func cost(d *Data, _ *Cell) ([]draw.Panel, string) {
	measured := d.Expense.Watts == 0 && d.Has(perJoule, "avg")
	if d.Expense == (Expense{}) && !measured {
		return nil, "no price and no power were given, and no GPU was read: --price 2.5 (an hour of the servers) or --watts 700"
	}
	if !d.Has(metrics.OutputTokenThroughput, "avg") {
		return nil, "no output tokens were counted"
	}
	var out []draw.Panel
	for _, e := range []struct {
		is    float64
		of    func(tokens float64) float64 // of a second
		label string
		given string // in words
	}{
		{
			d.Expense.Hour, func(tokens float64) float64 { return d.Expense.Hour / 3600 / tokens * 1e6 },
			"price per 1M tokens", "at " + setting(d.Expense.Hour) + " an hour",
		},
		{
			d.Expense.Watts, func(tokens float64) float64 { return d.Expense.Watts / tokens },
			"joules per token", "at " + setting(d.Expense.Watts) + " W",
		},
	} {
		if e.is > 0 {
			out = append(out, d.expensePanel(metrics.OutputTokenThroughput, e.of, e.label, e.given))
		}
	}
	if measured {
		each := func(tokens float64) float64 { return 1 / tokens }
		out = append(out, d.expensePanel(perJoule, each, "joules per token", "power as the GPUs measured it"))
	}
	return out, ""
}

// expensePanel is one of them, made of a figure that says what is had for it, against the
// speed of a user where that is known, else cell beside cell.
func (d *Data) expensePanel(tag string, of func(had float64) float64, label, given string) draw.Panel {
	speed := metrics.OutputTokenThroughputPerUser
	bySpeed := d.Has(speed, "p50")
	p := draw.Panel{X: d.speedAxis(), Y: draw.Axis{Label: label, Zero: true, Wide: true}}
	beside := d.nominal()
	if !bySpeed {
		p.X = beside.axis
	}
	p.X.Notes = slices.Insert(p.X.Notes, 0, given)
	for i, g := range d.groups(d.Load()) {
		s := draw.Series{Name: g.name, Ink: draw.Nth(i), Dash: i / 4, Shape: i, Line: bySpeed && len(g.cells) > 1}
		for _, c := range g.cells {
			tokens, x := d.Get(c, tag, "avg"), beside.x(c)
			if bySpeed {
				x = d.Get(c, speed, "p50").Value
			}
			if !(tokens.Value > 0) || math.IsNaN(x) {
				continue
			}
			v := tokens
			v.Value, v.Low, v.High, v.Unit = of(tokens.Value), of(tokens.High), of(tokens.Low), ""
			if !(tokens.Low > 0) { // then the price has no upper end
				v.Low, v.High = math.NaN(), math.NaN()
			}
			q := d.point(c, x, label, v)
			if bySpeed {
				q.Title += fmt.Sprintf("; %s tokens/s per user", words.Number(x))
			}
			if load := c.At(d.Load()); bySpeed && d.Load() != "" && !math.IsNaN(load) {
				q.Label = setting(load)
			}
			s.Points = append(s.Points, q)
		}
		p.Series = append(p.Series, s)
	}
	return p
}
