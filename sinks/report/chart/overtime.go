package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// firstTrial are the requests of the cell's first trial, in the order of
// sending: what happened over time is shown for one run.
func (d *Data) firstTrial(c *Cell) []int {
	r := d.Requests
	trial := math.MaxInt
	for i := range r.Cell {
		if r.Cell[i] == c {
			trial = min(trial, r.Trial[i])
		}
	}
	var out []int
	for i := range r.Cell {
		if r.Cell[i] == c && r.Trial[i] == trial && !math.IsNaN(r.Sent[i]) {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(r.Sent[a], r.Sent[b]) })
	return out
}

// windows shades what lies outside the steady window.
func (d *Data) windows(c *Cell, trial int) []draw.Mark {
	k := run{c, trial}
	from, ok := d.Requests.SteadyFrom[k]
	if !ok {
		return nil
	}
	return []draw.Mark{{Vertical: true, At: from, To: d.Requests.SteadyTo[k], Label: "steady"}}
}

const (
	timelineMost = 2000
)

// bins is how many columns and rows the cells of a heat map of n requests have: fewer
// requests have larger cells, so that most of these hold several.
func bins(n int) (columns, rows int) {
	return min(max(n/20, 12), 60), min(max(int(0.7*math.Sqrt(float64(n))), 8), 28)
}

// timeline is chart 6: each request a bar in the slot it took; waiting, prefill
// and decoding told apart, decoding coloured by its ITL against the SLO.
func timeline(d *Data, c *Cell) ([]draw.Panel, string) {
	ids := d.firstTrial(c)
	if len(ids) == 0 {
		return nil, "no request of this cell was sent"
	}
	note := ""
	if len(ids) > timelineMost {
		note = fmt.Sprintf(" (the first %d of %d requests)", timelineMost, len(ids))
		ids = ids[:timelineMost]
	}
	r := d.Requests
	limit, limited := d.Limits[metrics.InterTokenLatency]
	wait, prefill := draw.Series{Name: "waiting to be sent", Ink: draw.S8},
		draw.Series{Name: "until the first token", Ink: draw.S1}
	good, slow := draw.Series{Name: "decoding", Ink: draw.S3},
		draw.Series{Name: "decoding, ITL above the SLO", Ink: draw.S2}
	failed, ended := draw.Series{Name: "failed", Ink: draw.Bad}, draw.Series{Name: "cut off or cancelled", Ink: draw.S6}
	var free []float64 // when each slot is free again
	for _, i := range ids {
		end := finiteOr(r.End[i], r.Sent[i])
		slot := slices.IndexFunc(free, func(t float64) bool { return t <= r.Sent[i]+1e-9 })
		if slot < 0 {
			free, slot = append(free, 0), len(free)
		}
		free[slot] = end
		bar := func(s *draw.Series, from, to float64, what string) {
			if to > from {
				s.Rects = append(s.Rects, draw.Rect{
					X0: from, X1: to, Y0: float64(slot) + 0.12, Y1: float64(slot) + 0.88,
					Title: fmt.Sprintf("request %s: %s %s ms", setting(r.ID[i]), what, words.Number(1000*(to-from))),
				})
			}
		}
		if from := finiteOr(r.Intended[i], r.Sent[i]); from < r.Sent[i]-1e-4 {
			s := draw.Rect{
				X0: from, X1: r.Sent[i], Y0: float64(slot) + 0.38, Y1: float64(slot) + 0.62,
				Title: fmt.Sprintf("request %s waited", setting(r.ID[i])),
			}
			wait.Rects = append(wait.Rects, s)
		}
		switch first := r.First[i]; {
		case r.part(i) == record.InFailed:
			bar(&failed, r.Sent[i], end, r.Status[i])
		case !r.OK[i]:
			bar(&ended, r.Sent[i], end, r.Status[i])
		case math.IsNaN(first):
			bar(&prefill, r.Sent[i], end, "answered after")
		case limited && r.ITL[i] > limit:
			bar(&prefill, r.Sent[i], first, "first token after")
			bar(&slow, first, end, "decoding")
		default:
			bar(&prefill, r.Sent[i], first, "first token after")
			bar(&good, first, end, "decoding")
		}
	}
	p := draw.Panel{
		X: draw.Axis{Label: "time (s)" + note}, Y: slotAxis(len(free)),
		Marks: d.windows(c, r.Trial[ids[0]]),
	}
	for _, s := range []draw.Series{wait, prefill, good, slow, failed, ended} {
		if len(s.Rects) > 0 {
			p.Series = append(p.Series, s)
		}
	}
	if len(p.Series) == 0 {
		return nil, "no request took any time"
	}
	return []draw.Panel{p}, ""
}

// slotAxis names slots by whole numbers, in the middle of their rows; of many,
// every few.
func slotAxis(n int) draw.Axis {
	a := draw.Axis{Label: "slot", Names: true}
	for i := 0; i < n; i += (n + 9) / 10 {
		a.Ticks = append(a.Ticks, draw.Tick{At: float64(i) + 0.5, Label: strconv.Itoa(i + 1)})
	}
	return a
}

func finiteOr(v, other float64) float64 {
	if math.IsNaN(v) {
		return other
	}
	return v
}

// heatmap is chart 7: how many requests took how long, over time.
func heatmap(d *Data, c *Cell) ([]draw.Panel, string) {
	ids := d.firstTrial(c)
	r := d.Requests
	ids = slices.DeleteFunc(ids, func(i int) bool { return !r.OK[i] || !(r.Latency[i] > 0) })
	if len(ids) < 50 {
		return nil, fmt.Sprintf("%d good requests: a heat map needs 50 a run (--request-count)", len(ids))
	}
	t0, t1 := r.Sent[ids[0]], r.Sent[ids[len(ids)-1]]
	lo, hi := math.Inf(1), 0.0
	for _, i := range ids {
		lo, hi = min(lo, r.Latency[i]), max(hi, r.Latency[i])
	}
	lo, hi = math.Log(lo*0.98), math.Log(hi*1.02)
	columns, rows := bins(len(ids))
	counts := make([]int, columns*rows)
	top := 0
	for _, i := range ids {
		x := min(int(float64(columns)*(r.Sent[i]-t0)/max(t1-t0, 1e-9)), columns-1)
		y := min(int(float64(rows)*(math.Log(r.Latency[i])-lo)/(hi-lo)), rows-1)
		counts[x*rows+y]++
		top = max(top, counts[x*rows+y])
	}
	s := draw.Series{Name: fmt.Sprintf("pale to full: 1 to %s", words.Count(top, "request")), Ink: draw.S1}
	for k, n := range counts {
		if n == 0 {
			continue
		}
		x, y := k/rows, k%rows
		at := func(v int) float64 { return math.Exp(lo + (hi-lo)*float64(v)/float64(rows)) }
		s.Rects = append(s.Rects, draw.Rect{
			X0: t0 + (t1-t0)*float64(x)/float64(columns), X1: t0 + (t1-t0)*float64(x+1)/float64(columns), Y0: at(y),
			Y1:    at(y + 1),
			Shade: 0.15 + 0.84*math.Sqrt(float64(n)/float64(top)),
			Title: fmt.Sprintf("%s to %s ms: %s", words.Number(at(y)),
				words.Number(at(y+1)), words.Count(n, "request")),
		})
	}
	return []draw.Panel{{X: draw.Axis{Label: "sent (s)"}, Y: draw.Axis{
		Label: metrics.Axis(metrics.RequestLatency, ""),
		Log:   true,
	}, Series: []draw.Series{s}}}, ""
}

// strips is chart 8: rates, requests in flight, TTFT, tokens, send lag and, where
// there are any, failures, slice by slice.
func strips(d *Data, c *Cell) ([]draw.Panel, string) {
	ids := d.firstTrial(c)
	if least := slicesFewest * sliceRequests; len(ids) < least {
		return nil, fmt.Sprintf("%s in a run: %d are shown over time (--request-count)",
			words.Count(len(ids), "request"), least)
	}
	r := d.Requests
	s := newSlicer(r, ids)
	if s.dt*float64(s.n) < shortest {
		return nil, "the run was over in less than a millisecond"
	}
	marks := d.windows(c, r.Trial[ids[0]])
	line := s.line
	panels := []draw.Panel{
		{Y: draw.Axis{Label: "requests/s", Zero: true}, Series: []draw.Series{
			line("offered", draw.S8, s.rate(r.Intended)), line("sent", draw.S1, s.rate(r.Sent)),
			line("ended", draw.S3, s.rate(r.End)),
		}},
		{
			Y:      draw.Axis{Label: "in flight", Zero: true, Whole: true},
			Series: []draw.Series{line("", draw.S1, s.inFlight())},
		},
	}
	if slices.ContainsFunc(ids, func(i int) bool { return !math.IsNaN(r.TTFT[i]) }) {
		panels = append(panels, draw.Panel{
			Y: draw.Axis{Label: metrics.Axis(metrics.TimeToFirstToken, ""), Zero: true},
			Series: []draw.Series{
				line(metrics.Series(metrics.TimeToFirstToken, "p50"), draw.S1, s.quantile(r.TTFT, 0.5)),
				line(metrics.Series(metrics.TimeToFirstToken, "p90"), draw.S2, s.quantile(r.TTFT, 0.9)),
			},
		})
	}
	panels = append(panels,
		draw.Panel{
			Y:      draw.Axis{Label: "output tokens/s", Zero: true},
			Series: []draw.Series{line("", draw.S3, s.tokens())},
		},
		draw.Panel{
			Y:      draw.Axis{Label: "send lag (ms)", Zero: true, Reach: 1},
			Series: []draw.Series{line("send lag, worst", draw.S4, s.quantile(r.Lateness, 1))},
		})
	if failed := s.failures(); slices.Max(failed) > 0 {
		panels = append(panels, draw.Panel{
			Y:      draw.Axis{Label: "failed/s", Zero: true},
			Series: []draw.Series{line("failed", draw.Bad, failed)},
		})
	}
	panels[len(panels)-1].X.Label = "time (s)"
	for i := range panels {
		panels[i].Marks = marks
		if i > 0 && len(marks) > 0 {
			m := marks[0]
			m.Label = ""
			panels[i].Marks = []draw.Mark{m}
		}
	}
	return panels, ""
}

// shortest is the shortest run that is shown over time, in seconds: a rate in a
// slice of less than a microsecond says nothing.
const shortest = 1e-3

// A slice has as many requests, on average, as keep chance from looking like a change
// (Poisson: ±16 %), and is several latencies long, so that requests that end together do
// not come and go with its edges.
const (
	sliceRequests  = 40
	sliceLatencies = 3
	slicesFewest   = 4
	slicesUsual    = 60
)

// slicer cuts a run into slices of equal time.
type slicer struct {
	r        *Requests
	ids      []int
	from, dt float64
	n        int
}

func newSlicer(r *Requests, ids []int) *slicer {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, i := range ids {
		lo, hi = min(lo, r.Sent[i], finiteOr(r.Intended[i], r.Sent[i])), max(hi, finiteOr(r.End[i], r.Sent[i]))
	}
	var lasts []float64
	for _, i := range ids {
		lasts = append(lasts, finiteOr(r.End[i], r.Sent[i])-r.Sent[i])
	}
	slices.Sort(lasts)
	n := min(len(ids)/sliceRequests, int((hi-lo)/(sliceLatencies*max(lasts[len(lasts)/2], 1e-9))))
	n = min(max(n, slicesFewest), slicesUsual)
	return &slicer{r, ids, lo, max(hi-lo, 1e-6) / float64(n), n}
}

func (s *slicer) mid(k int) float64 { return s.from + s.dt*(float64(k)+0.5) }

func (s *slicer) slice(t float64) int {
	if math.IsNaN(t) {
		return -1
	}
	return min(int((t-s.from)/s.dt), s.n-1)
}

// rate counts what happens at the stamps, by second.
func (s *slicer) rate(stamps []float64) []float64 {
	out := make([]float64, s.n)
	for _, i := range s.ids {
		if k := s.slice(stamps[i]); k >= 0 {
			out[k] += 1 / s.dt
		}
	}
	return out
}

func (s *slicer) tokens() []float64 {
	out := make([]float64, s.n)
	for _, i := range s.ids {
		if k := s.slice(s.r.End[i]); k >= 0 && !math.IsNaN(s.r.OSL[i]) {
			out[k] += s.r.OSL[i] / s.dt
		}
	}
	return out
}

func (s *slicer) failures() []float64 {
	out := make([]float64, s.n)
	for _, i := range s.ids {
		if k := s.slice(s.r.End[i]); k >= 0 && s.r.part(i) == record.InFailed {
			out[k] += 1 / s.dt
		}
	}
	return out
}

// inFlight is the mean number of requests on the wire in each slice.
func (s *slicer) inFlight() []float64 {
	out := make([]float64, s.n)
	for _, i := range s.ids {
		from, to := s.r.Sent[i], finiteOr(s.r.End[i], s.r.Sent[i])
		for k := max(s.slice(from), 0); k <= s.slice(to) && k >= 0; k++ {
			a, b := s.from+s.dt*float64(k), s.from+s.dt*float64(k+1)
			out[k] += max(0, min(to, b)-max(from, a)) / s.dt
		}
	}
	return out
}

// quantile of a column, over the requests sent in each slice.
func (s *slicer) quantile(column []float64, q float64) []float64 {
	values := make([][]float64, s.n)
	for _, i := range s.ids {
		if k := s.slice(s.r.Sent[i]); k >= 0 && !math.IsNaN(column[i]) {
			values[k] = append(values[k], column[i])
		}
	}
	out := make([]float64, s.n)
	for k, v := range values {
		out[k] = math.NaN()
		if len(v) > 0 {
			slices.Sort(v)
			out[k] = stats.Quantile(v, q)
		}
	}
	return out
}
