package aiperf

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// PostProcess is a calculation over the finished cells of a sweep: its file is what a recipe
// of AIPerf's ends with.
type PostProcess struct {
	Handler string
	File    string
	Metric  string // metric_tag
	Stat    string
	Swept   string // swept_param: the axis, or concurrency_param
	Other   string // osl_param, of a surface
	Share   float64
	Filters []schema.SLAFilter
}

// calculation is one handler: a row of the catalogue.
type calculation struct {
	name string
	of   func(s *SweepSummary, p *PostProcess) (object, error)
}

func calculations() []calculation {
	return []calculation{
		{"degradation_knee_detect", (*SweepSummary).knee},
		{"sla_breach_knee", (*SweepSummary).breach},
		{"ttft_curve_fit", (*SweepSummary).curve},
		{"itl_surface_fit", (*SweepSummary).surface},
		{"pareto_sweep", (*SweepSummary).front},
	}
}

// WritePostProcess writes the file of p into dir. What cannot be worked out is said in
// post_process_errors.json, as in AIPerf.
func WritePostProcess(dir string, s *SweepSummary, p *PostProcess) (sinks.FileInfo, error) {
	name := p.File
	out, err := object(nil), fmt.Errorf("no calculation is called %s", p.Handler)
	for _, c := range calculations() {
		if c.name == p.Handler {
			out, err = c.of(s, p)
		}
	}
	if err != nil {
		name = "post_process_errors.json"
		out = object{}.with("handler", p.Handler).with("output_filename", p.File).with("error", err.Error())
	}
	b, err := appendJSON(nil, out)
	if err != nil {
		return sinks.FileInfo{}, fmt.Errorf("write %s: %w", filepath.Join(dir, name), err)
	}
	return sinks.WriteArtifact(dir, name, "aggregate", b)
}

// value is a cell's position on the axis at a path, as it was written and as a number.
func (s *SweepSummary) value(cell int, path string) (Plain, float64, bool) {
	for _, v := range s.Cells[cell].Point {
		if v.Name == path || lastWord(v.Name) == lastWord(path) {
			x, ok := asNumber(v.Value.V)
			return v.Value, x, ok
		}
	}
	return Plain{}, 0, false
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		x, err := v.Float64()
		return x, err == nil
	}
	return 0, false
}

// along are the cells by their value on an axis, smallest first, with a metric of each.
type along struct {
	at   Plain
	x, y float64 // y is NaN without a figure
	cell int
}

func (s *SweepSummary) along(p *PostProcess) (out []along) {
	for i := range s.Cells {
		v, x, ok := s.value(i, p.Swept)
		if !ok {
			continue
		}
		y := math.NaN()
		if p.Metric != "" {
			y, _ = s.mean(i, p.Metric, p.Stat)
		}
		out = append(out, along{v, x, y, i})
	}
	slices.SortStableFunc(out, func(a, b along) int { return cmp.Compare(a.x, b.x) })
	return out
}

// knee is the first value at which the metric is above that of the smallest value by more
// than the share: baseline·(1 + share).
func (s *SweepSummary) knee(p *PostProcess) (object, error) {
	points := slices.DeleteFunc(s.along(p), func(a along) bool { return math.IsNaN(a.y) })
	if len(points) == 0 {
		return nil, fmt.Errorf("no cell has %s.%s", p.Metric, p.Stat)
	}
	word := lastWord(p.Swept)
	var at, y any
	all := []object{}
	for _, x := range points {
		all = append(all, object{}.with(word, x.at.V).with(p.Stat, number(x.y)))
		if at == nil && x.y > points[0].y*(1+p.Share) {
			at, y = x.at.V, number(x.y)
		}
	}
	return object{}.with("baseline_"+word, points[0].at.V).with("baseline_"+p.Stat,
		number(points[0].y)).with("knee_"+word, at).with("knee_"+p.Stat, y).
		with("threshold_pct", number(p.Share)).with("swept_metric", p.Metric).with("stat", p.Stat).with("swept_param",
		p.Swept).with("all_points", all), nil
}

// breach is the largest value of the axis that keeps all limits, and the smallest that does
// not.
func (s *SweepSummary) breach(p *PostProcess) (object, error) {
	word := lastWord(p.Swept)
	var most, first, why any
	all := []object{}
	monotone, failed := true, false
	for _, x := range s.along(p) {
		breaches := []object{}
		for _, b := range s.breaches(x.cell, p.Filters) {
			breaches = append(breaches, b.json())
		}
		ok := len(breaches) == 0
		all = append(all, object{}.with(word, x.at.V).with("feasible", ok).with("breaches", breaches))
		if ok {
			most, monotone = x.at.V, monotone && !failed
			continue
		}
		if !failed {
			first, why, failed = x.at.V, breaches[0], true
		}
	}
	return object{}.with("swept_param", p.Swept).with("max_passing_"+word, most).with("first_failing_"+word,
		first).with("first_failing_breach", why).
		with("all_points", all).with("monotonicity_check", monotone).with("filters", filters(p.Filters)), nil
}

// breaches are the limits that a cell misses: one without a figure misses it.
func (s *SweepSummary) breaches(cell int, limits []schema.SLAFilter) (out []Breach) {
	for _, f := range limits {
		v, _ := s.mean(cell, f.MetricTag, f.Stat)
		switch {
		case math.IsNaN(v):
			out = append(out, Breach{SLAFilter: f})
		case !f.Keeps(v):
			out = append(out, Breach{f, &v})
		}
	}
	return out
}

// fitFloor is the R² below which a straight line does not do, and a fit is doubtful.
const fitFloor = 0.85

// curve is a line through the metric over the axis, or a parabola where a line explains less
// than fitFloor of it. Coefficients begin with that of the highest power, as numpy's do.
func (s *SweepSummary) curve(p *PostProcess) (object, error) {
	points := slices.DeleteFunc(s.along(p), func(a along) bool { return math.IsNaN(a.y) })
	raw := []object{}
	var xs, ys []float64
	for _, x := range points {
		raw = append(raw, object{}.with("isl", number(x.x)).with("ttft_ms", number(x.y)))
		xs, ys = append(xs, x.x), append(ys, x.y)
	}
	if len(points) < 2 {
		return nil, fmt.Errorf("%d of 2 or more points have %s.%s", len(points), p.Metric, p.Stat)
	}
	form, coefficients, r2 := "linear", stats.Polynomial(xs, ys, 1), 0.0
	r2 = stats.Explained(xs, ys, coefficients)
	if r2 < fitFloor && len(points) > 2 {
		form, coefficients = "quadratic", stats.Polynomial(xs, ys, 2)
		r2 = stats.Explained(xs, ys, coefficients)
	}
	list := []any{}
	for _, c := range coefficients {
		list = append(list, number(c))
	}
	return object{}.with("fit_form", form).with("coefficients", list).with("r_squared", number(r2)).with("below_floor",
		r2 < fitFloor).
		with("r_squared_floor", number(fitFloor)).with("raw_points", raw).with("swept_metric",
		p.Metric).with("stat", p.Stat).with("swept_param", p.Swept), nil
}

// surface is the metric over two axes, null where a cell has none.
func (s *SweepSummary) surface(p *PostProcess) (object, error) {
	type at struct{ x, y float64 }
	of := map[at]float64{}
	var xs, ys []float64
	raw := []object{}
	for i := range s.Cells {
		_, x, ok := s.value(i, p.Swept)
		_, y, also := s.value(i, p.Other)
		v, _ := s.mean(i, p.Metric, p.Stat)
		if !ok || !also || math.IsNaN(v) {
			continue
		}
		of[at{x, y}] = v
		xs, ys = append(xs, x), append(ys, y)
		raw = append(raw, object{}.with("concurrency", number(x)).with("osl", number(y)).with("itl_ms", number(v)))
	}
	if len(of) < 2 {
		return nil, fmt.Errorf("%d of 2 or more cells have %s.%s", len(of), p.Metric, p.Stat)
	}
	slices.Sort(xs)
	slices.Sort(ys)
	xs, ys = slices.Compact(xs), slices.Compact(ys)
	grid := []any{}
	for _, x := range xs {
		row := []any{}
		for _, y := range ys {
			if v, ok := of[at{x, y}]; ok {
				row = append(row, number(v))
			} else {
				row = append(row, nil)
			}
		}
		grid = append(grid, row)
	}
	return object{}.with("swept_metric", p.Metric).with("stat", p.Stat).with("swept_params",
		[]any{p.Swept, p.Other}).with("raw_points", raw).
		with("surface", object{}.with("concurrency_axis", numbers(xs)).with("osl_axis", numbers(ys)).with("itl_grid",
			grid)), nil
}

func numbers(xs []float64) []any {
	out := []any{}
	for _, x := range xs {
		out = append(out, number(x))
	}
	return out
}

// The axes of a front of named shapes, as AIPerf's pareto-sweep has them.
var frontX, frontY = [2]string{metrics.TimeToFirstToken, "p95"}, [2]string{metrics.OutputTokenThroughput, "avg"}

// front marks the cells than which no other is better in latency and throughput.
func (s *SweepSummary) front(*PostProcess) (object, error) {
	var points [][]float64
	var at []int
	for i := range s.Cells {
		x, _ := s.mean(i, frontX[0], frontX[1])
		y, _ := s.mean(i, frontY[0], frontY[1])
		if !math.IsNaN(x) && !math.IsNaN(y) {
			points, at = append(points, []float64{x, y}), append(at, i)
		}
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("no cell has %s.%s and %s.%s", frontX[0], frontX[1], frontY[0], frontY[1])
	}
	cells := []object{}
	for k, on := range stats.Pareto(points, []stats.Direction{stats.Minimise, stats.Maximise}) {
		cell := object{}
		for _, name := range []string{"isl", "osl", "concurrency"} {
			cell = cell.with(name, s.Cells[at[k]].Named[name].V)
		}
		cells = append(cells, cell.with("x", number(points[k][0])).with("y",
			number(points[k][1])).with("pareto_optimal", on))
	}
	return object{}.with("x_metric", frontX[0]).with("x_stat", frontX[1]).with("y_metric", frontY[0]).with("y_stat",
		frontY[1]).with("cells", cells), nil
}
