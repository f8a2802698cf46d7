package chart

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// build is one plot of a plot_config.yaml; what it lacks is said in the picture's
// place.
func (p plotSetting) build(name string, d *Data) *draw.Chart {
	panels, missing := p.panels(d)
	c := &draw.Chart{ID: name, Title: p.Title, Panels: panels, Missing: missing, Footer: d.footer(nil, shown{}, "")}
	if c.Title == "" {
		c.Title = name
	}
	return c
}

// panels draws the plot by its source and its type. Two scales in one picture
// are two panels here: which line belongs to which would have to be guessed.
func (p plotSetting) panels(d *Data) ([]draw.Panel, string) {
	switch {
	case p.Source == "timeslices" || p.X.Metric == "Timeslice":
		return d.sliced(p.Y.Metric, p.Stat)
	case p.Y.Metric == tokensPerSecond:
		return d.dispersed(p.Y2.Metric)
	}
	u := Custom{X: p.X.name(), Y: p.Y.name(), Title: p.Title, Lines: p.Type == "scatter_line" || p.Type == "pareto"}
	if len(p.Groups) > 0 && slices.Contains(d.Axes, p.Groups[0]) {
		u.By = p.Groups[0]
	}
	for _, a := range []string{u.X, u.Y} {
		if strings.Contains(a, "_per_gpu") && !d.figure(a) {
			return nil, "nothing is known per GPU: the results do not say how many GPUs there were"
		}
	}
	c, err := u.Build(d)
	if err != nil {
		return nil, err.Error()
	}
	if p.Type == "scatter_with_percentiles" {
		d.addPercentiles(&c.Panels[0], u.Y)
	}
	return c.Panels, ""
}

// tokensPerSecond is AIPerf's name for the tokens of all answers over time.
const tokensPerSecond = "throughput_tokens_per_sec"

// addPercentiles lays percentiles, slice by slice, over the requests of a panel.
func (d *Data) addPercentiles(p *draw.Panel, column string) {
	value, ok := requestValues[requestName(column)]
	if !ok {
		return
	}
	ids := d.firstTrial(d.Cells[0])
	if len(ids) < 10 {
		return
	}
	for i := range p.Series { // dots in the back
		p.Series[i].Ink = draw.Muted
	}
	s := newSlicer(d.Requests, ids)
	for i, q := range []float64{0.5, 0.9, 0.99} {
		p.Series = append(p.Series, s.line(fmt.Sprint("p", 100*q), draw.Nth(i), s.quantile(value.of(d.Requests), q)))
	}
}

// line is a figure slice by slice.
func (s *slicer) line(name string, ink draw.Ink, ys []float64) draw.Series {
	out := draw.Series{Name: name, Ink: ink, Line: true, Bare: true}
	for k, y := range ys {
		out.Points = append(out.Points, draw.At(s.mid(k), y, ""))
	}
	return out
}

// spread are the output tokens per second, those of an answer evenly over the
// time from its first token to its last.
func (s *slicer) spread() []float64 {
	out := make([]float64, s.n)
	for _, i := range s.ids {
		n, from, to := s.r.OSL[i], s.r.First[i], finiteOr(s.r.Last[i], s.r.End[i])
		if math.IsNaN(n) || math.IsNaN(to) {
			continue
		}
		if from = finiteOr(from, to); to <= from {
			out[s.slice(to)] += n / s.dt
			continue
		}
		for k := max(s.slice(from), 0); k <= s.slice(to); k++ {
			a, b := s.from+s.dt*float64(k), s.from+s.dt*float64(k+1)
			out[k] += n * max(0, min(to, b)-max(from, a)) / (to - from) / s.dt
		}
	}
	return out
}

// dispersed is the output tokens per second over time, and below it what some
// telemetry said meanwhile.
func (d *Data) dispersed(beside string) ([]draw.Panel, string) {
	c := d.Cells[0]
	ids := d.firstTrial(c)
	if len(ids) < 10 {
		return nil, words.Count(len(ids), "request") + " in a run: too few to show them over time"
	}
	s := newSlicer(d.Requests, ids)
	out := []draw.Panel{{
		Y:      draw.Axis{Label: "output tokens/s", Zero: true},
		Series: []draw.Series{s.line("output tokens/s", draw.S1, s.spread())},
	}}
	if beside != "" {
		below, missing := telemetry(d, c)
		below = slices.DeleteFunc(below, func(p draw.Panel) bool { return !strings.Contains(p.Y.Label, beside) })
		if len(below) == 0 && missing == "" {
			missing = "the telemetry of this cell does not have it"
		}
		if missing != "" {
			return nil, "no " + beside + ": " + missing
		}
		out = append(out, below...)
	}
	out[len(out)-1].X.Label = "time (s)"
	return out, ""
}

// slicesMost bounds a file of time slices.
const slicesMost = 256 << 20

// sliced is a metric by the time slices that AIPerf, or this program in its
// place, wrote beside the first run of the result.
func (d *Data) sliced(metric, stat string) ([]draw.Panel, string) {
	path := slicesFile(d.Dirs[0])
	if path == "" {
		return nil, "no time slices were written (--slice-duration)"
	}
	if st, err := os.Stat(path); err != nil || st.Size() > slicesMost {
		return nil, words.Line(filepath.Base(path)) + ": it cannot be read, or is too large"
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err.Error()
	}
	var doc struct {
		Timeslices []map[string]json.RawMessage `json:"timeslices"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, words.Line(filepath.Base(path)) + ": " + err.Error()
	}
	if stat == "" {
		stat = "avg"
	}
	tag := strings.ReplaceAll(strings.ToLower(metric), " ", "_")
	bars := draw.Series{Name: metric + ", " + stat, Ink: draw.S1}
	var values []float64
	unit, began := "", math.NaN()
	for i, s := range doc.Timeslices {
		var from, to float64
		var value map[string]any
		if json.Unmarshal(s["start_ns"], &from) != nil || json.Unmarshal(s["end_ns"], &to) != nil ||
			json.Unmarshal(s[tag], &value) != nil {
			continue
		}
		y, ok := value[stat].(float64)
		if !ok {
			continue
		}
		unit, _ = value["unit"].(string)
		began = finiteOr(began, from)
		values = append(values, y)
		bars.Rects = append(bars.Rects, draw.Rect{
			X0: (from - began) / 1e9, X1: (to - began) / 1e9, Y1: y, Shade: 0.8,
			Title: fmt.Sprintf("slice %d: %s %s", i+1, words.Number(y), words.Line(unit)),
		})
	}
	if len(values) == 0 {
		return nil, "the time slices have no " + words.Line(metric)
	}
	mean := stats.Mean(values)
	return []draw.Panel{{
		X: draw.Axis{Label: "time (s)"}, Y: draw.Axis{Label: fmt.Sprintf("%s (%s)", words.Line(metric),
			words.Line(unit)), Zero: true}, Series: []draw.Series{bars},
		Marks: []draw.Mark{{At: mean, To: mean, Label: "mean of the slices " + words.Number(mean), Ink: draw.Muted}},
	}}, ""
}

// slicesFile is the first file of time slices in a result, "" for none. AIPerf
// puts it beside the run or up to three folders down.
func slicesFile(dir string) string {
	for depth := range 4 {
		found, _ := filepath.Glob(filepath.Join(dir, strings.Repeat("*"+string(filepath.Separator), depth),
			"*_timeslices.json"))
		if len(found) > 0 {
			return slices.Min(found)
		}
	}
	return ""
}
