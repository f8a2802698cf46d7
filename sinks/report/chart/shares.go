package chart

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// goodShare is chart 4: the share of good requests, and below it why the others
// were not.
func goodShare(d *Data, _ *Cell) ([]draw.Panel, string) {
	if !d.Has(metrics.GoodRequestFraction, "avg") {
		return nil, "no SLOs: give some, such as --goodput \"time_to_first_token:200\""
	}
	a := d.along()
	top := draw.Panel{
		X: a.axis, Y: draw.Axis{Label: "goodput (%)", Zero: true},
		Series: d.series(a, metrics.GoodRequestFraction, "avg", "", inPercent),
	}
	return a.above(top, d.misses(a)), ""
}

// above puts a line along the load above bars, without those that are empty. They share the
// axis where they can.
func (a along) above(top draw.Panel, bars ...draw.Panel) []draw.Panel {
	bars = slices.DeleteFunc(bars, func(p draw.Panel) bool { return len(p.Series) == 0 })
	all := append([]draw.Panel{top}, bars...)
	if len(bars) > 0 && (!bars[0].X.Names || a.nomin) { // the axis of the line
		return oneAxis(all)
	}
	return append(all[:1], oneAxis(bars)...)
}

// barWidth is the share of the room between two bars that a bar takes.
const barWidth = 0.7

// bars are the axis of bars, one a cell, and the ends of each bar: below the points of a
// line along the load, or side by side where there are several lines.
func (d *Data) bars(a along) (x draw.Axis, ends func(c *Cell) (from, to float64)) {
	if a.nomin || len(a.groups()) > 1 {
		at := d.nominal()
		return at.axis, func(c *Cell) (from, to float64) { return at.x(c) - barWidth/2, at.x(c) + barWidth/2 }
	}
	least := math.Inf(1) // distance of two loads on the axis
	place := func(v float64) float64 { return v }
	back := place
	if a.axis.Log {
		place, back = math.Log, math.Exp
	}
	for i, t := range a.axis.Ticks[1:] {
		least = min(least, place(t.At)-place(a.axis.Ticks[i].At))
	}
	return a.axis, func(c *Cell) (from, to float64) {
		return back(place(a.x(c)) - least*barWidth/2), back(place(a.x(c)) + least*barWidth/2)
	}
}

// inPercent turns shares into percent.
func inPercent(s *draw.Series) {
	for i := range s.Points {
		p := &s.Points[i]
		p.Y, p.Low, p.High = 100*p.Y, 100*p.Low, 100*p.High
	}
}

// missedInks are for limits: no red, which is for failures, and none that the lines above
// the bars have.
var missedInks = []draw.Ink{draw.S5, draw.S6, draw.S7, draw.S8}

// misses stacks, cell by cell, the share of requests by the limit they missed.
func (d *Data) misses(a along) draw.Panel {
	return d.stack(a, "missed (%)", func(i int) (string, bool) {
		part := d.Requests.part(i)
		if part&record.Attempted == 0 || part&record.Answered != 0 && !d.Requests.InWindow[i] {
			return "", false
		}
		if part == record.InFailed {
			return failedWord + d.Requests.Status[i], true
		}
		return first(d.Requests.Missed[i]), true
	}, func(reason string) string { return "missed " + cmp.Or(metrics.Series(reason, ""), reason) })
}

// failedWord is what the reason of a request that failed begins with.
const failedWord = "failed: "

// stack is the share of requests that count, cell by cell, by what reason says of each: "" is
// left blank. named is the reason in a legend; that of a failure stands there as it is.
func (d *Data) stack(a along, label string, reason func(i int) (why string, counts bool),
	named func(why string) string,
) draw.Panel {
	why, total := map[string]map[*Cell]float64{}, map[*Cell]float64{}
	for i, c := range d.Requests.Cell {
		reason, counts := reason(i)
		if counts {
			total[c]++
		}
		if !counts || reason == "" {
			continue
		}
		if why[reason] == nil {
			why[reason] = map[*Cell]float64{}
		}
		why[reason][c]++
	}
	x, ends := d.bars(a)
	p := draw.Panel{X: x, Y: draw.Axis{Label: label, Zero: true}, Height: 0.7}
	stacked := map[*Cell]float64{}
	for i, reason := range slices.Sorted(maps.Keys(why)) {
		s := draw.Series{Name: named(reason), Ink: missedInks[i%len(missedInks)]}
		if strings.HasPrefix(reason, failedWord) {
			s.Name, s.Ink = reason, draw.Bad
		}
		for _, c := range d.Cells {
			n := 100 * why[reason][c] / total[c]
			if why[reason][c] == 0 {
				continue
			}
			from, to := ends(c)
			s.Rects = append(s.Rects, draw.Rect{
				X0: from, X1: to, Y0: stacked[c], Y1: stacked[c] + n, At: new(a.x(c)),
				Title: fmt.Sprintf("%s: %s %s %%", d.Label(c), s.Name, words.Number(n)),
			})
			stacked[c] += n
		}
		p.Series = append(p.Series, s)
	}
	return p
}

// first is the first limit of a list: a request is counted once.
func first(list string) string {
	head, _, _ := strings.Cut(list, ",")
	return strings.TrimSpace(head)
}

// trials is chart 11: each trial a dot beside the interval over all of them.
func trials(d *Data, _ *Cell) ([]draw.Panel, string) {
	if !slices.ContainsFunc(d.Cells, func(c *Cell) bool { return c.Trials > 1 }) {
		return nil, "one trial: repeat it with --num-profile-runs 6"
	}
	a := d.nominal()
	metric, label := d.output()
	var out []draw.Panel
	for _, m := range []struct{ metric, stat, label string }{
		{metric, "avg", label},
		{metrics.TimeToFirstToken, "p50", metrics.Axis(metrics.TimeToFirstToken, "p50")},
		{metrics.RequestLatency, "p50", metrics.Axis(metrics.RequestLatency, "p50")},
	} {
		if !d.Has(m.metric, m.stat) || len(out) == 2 {
			continue
		}
		dots := draw.Series{Name: "one trial", Ink: draw.S2, Shape: 0}
		mean := draw.Series{Name: "estimate over trials, 95 %", Ink: draw.S1, Shape: 3}
		for i, c := range d.Cells {
			for t, s := range d.Trials(c, m.metric, m.stat) {
				if s.known() {
					dots.Points = append(dots.Points, draw.At(float64(i)-0.12, s.Value,
						fmt.Sprintf("%s: trial %d: %s", d.Label(c), t+1, words.Number(s.Value))))
				}
			}
			if s := d.Get(c, m.metric, m.stat); s.known() {
				mean.Points = append(mean.Points, d.point(c, float64(i)+0.12, m.metric, s))
			}
		}
		slices.SortFunc(dots.Points, func(a, b draw.Point) int { return strings.Compare(a.Title, b.Title) })
		out = append(out, draw.Panel{
			X: a.axis, Y: draw.Axis{Label: m.label, Wide: true, Least: 0.1},
			Series: []draw.Series{dots, mean},
		})
	}
	if len(out) == 0 {
		return nil, "no figure that every trial has: did every request fail?"
	}
	return oneAxis(out), ""
}

// oneAxis are panels along one axis of x, which the last of them names.
func oneAxis(panels []draw.Panel) []draw.Panel {
	for i := range max(0, len(panels)-1) {
		panels[i].X.Label = ""
	}
	return panels
}

// anatomy is chart 14: the mean parts of a TTFT, stacked. Where answers do not say how long
// their requests waited at the server, its page of metrics may say the mean.
func anatomy(d *Data, _ *Cell) ([]draw.Panel, string) {
	parts := []struct {
		name string
		ink  draw.Ink
		of   func(r *Requests, i int) float64
		tag  string // of the server's mean, "" for none
		rest bool
	}{
		{"client: dispatch lateness", draw.Warn, func(r *Requests, i int) float64 { return r.Lateness[i] }, "", false},
		{"waiting for a slot", draw.S8, func(r *Requests, i int) float64 { return r.Wait[i] }, "", false},
		{"server: queue", draw.S2, func(r *Requests, i int) float64 { return r.ServerQueue[i] }, serverQueue, false},
		{
			"server: prefill", draw.S1, func(r *Requests, i int) float64 { return r.ServerPrefill[i] }, serverPrefill,
			false,
		},
		{"network and server, not told apart", draw.S3, rest, "", true},
	}
	value := draw.Axis{Label: "mean part of TTFT (ms)", Zero: true}
	p := draw.Panel{X: d.nominal().axis, Y: value}
	lying := len(d.Cells) == 1 // one bar lies: upright it would be a tower in an empty picture
	if lying {
		p.X, p.Y = value, draw.Axis{Names: true, Ticks: []draw.Tick{{Label: "TTFT"}}}
	}
	stacked := map[*Cell]float64{}
	for _, part := range parts {
		s := draw.Series{Name: part.name, Ink: part.ink}
		for x, c := range d.Cells {
			m := d.Requests.mean(c, part.of)
			if told := d.told(c); part.tag != "" && math.IsNaN(m) {
				m = told[part.tag]
			} else if part.rest {
				m -= told[serverQueue] + told[serverPrefill]
			}
			if !(m > 0) {
				continue
			}
			bar := draw.Rect{
				X0: float64(x) - 0.35, X1: float64(x) + 0.35, Y0: stacked[c], Y1: stacked[c] + m,
				Title: fmt.Sprintf("%s: %s %s ms", d.Label(c), part.name, words.Number(m)),
			}
			if lying {
				bar.X0, bar.X1, bar.Y0, bar.Y1 = bar.Y0, bar.Y1, bar.X0, bar.X1
			}
			s.Rects = append(s.Rects, bar)
			stacked[c] += m
		}
		if len(s.Rects) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	switch {
	case len(p.Series) == 0:
		return nil, "no time to first token: answers were not streamed (--streaming)"
	case !toldApart(p.Series, lying):
		return nil, "nothing tells the parts of a TTFT apart: the answers carry no queue and no prefill time of each request, and the client added less than 2 %; server_* metrics have the means where the server exports them"
	}
	return []draw.Panel{p}, ""
}

// The server's own means that are parts of a TTFT.
const serverQueue, serverPrefill = "server_queue_time", "server_prefill_time"

// told are those means of a cell in ms, of servers that say them, where no answer of it says
// how long its request waited.
func (d *Data) told(c *Cell) map[string]float64 {
	out := map[string]float64{}
	of := func(part func(r *Requests, i int) float64) float64 { return d.Requests.mean(c, part) }
	if !math.IsNaN(of(func(r *Requests, i int) float64 { return r.ServerQueue[i] })) ||
		!math.IsNaN(of(func(r *Requests, i int) float64 { return r.ServerPrefill[i] })) {
		return out
	}
	for _, tag := range []string{serverQueue, serverPrefill} {
		if v := d.Get(c, tag, "avg"); v.known() {
			out[tag] = 1e3 * v.Value
		}
	}
	return out
}

// toldApart reports whether a second part of some bar can be seen well.
func toldApart(parts []draw.Series, lying bool) bool {
	const least = 0.02
	whole, most := map[float64]float64{}, map[float64]float64{}
	for _, s := range parts {
		for _, r := range s.Rects {
			at, long := r.X0, r.Y1-r.Y0
			if lying {
				at, long = r.Y0, r.X1-r.X0
			}
			whole[at] += long
			most[at] = max(most[at], long)
		}
	}
	for x, all := range whole {
		if all-most[x] > least*all {
			return true
		}
	}
	return false
}

// rest of a TTFT is what the server did not account for.
func rest(r *Requests, i int) float64 {
	t := r.TTFT[i]
	for _, known := range []float64{r.ServerQueue[i], r.ServerPrefill[i]} {
		if !math.IsNaN(known) {
			t -= known
		}
	}
	return max(t, 0)
}

// mean of what f gives for the good requests of a cell; NaN when none has it.
func (r *Requests) mean(c *Cell, f func(*Requests, int) float64) float64 {
	sum, n := 0.0, 0
	for i := range r.Cell {
		if r.Cell[i] != c || !r.OK[i] || !r.InWindow[i] || math.IsNaN(r.TTFT[i]) {
			continue
		}
		if v := f(r, i); !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}
