package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// changeID is the chart of changes, whose intervals a comparison may have decided.
const changeID = "change"

// change is chart 10: the change of each figure between the first value of a
// treatment (the baseline) and the others, trial by trial, with its interval.
func change(d *Data, _ *Cell) ([]draw.Panel, string) {
	if d.Decided != nil {
		return []draw.Panel{forest(d.Decided, d.Baseline())}, ""
	}
	i := slices.IndexFunc(d.Axes, func(a string) bool { return sweep.AxisNamed(a).System })
	if i < 0 {
		return nil, "one system: sweep endpoints or models, or give two result directories"
	}
	list := d.changes(d.Axes[i])
	if len(list) == 0 {
		return nil, "no two cells differ in the " + d.Axes[i] + " alone"
	}
	return []draw.Panel{forest(list, d.Baseline())}, ""
}

// Changes are those between two systems: what a comparison decided, or else the ratios
// of what both gave trial by trial. None where there is one system.
func (d *Data) Changes() []Change {
	if d.Decided != nil {
		return d.Decided
	}
	i := slices.IndexFunc(d.Axes, func(a string) bool { return sweep.AxisNamed(a).System })
	if i < 0 {
		return nil
	}
	return d.changes(d.Axes[i])
}

// Baseline names what Changes are against, where it is one thing.
func (d *Data) Baseline() string {
	i := slices.IndexFunc(d.Axes, func(a string) bool { return sweep.AxisNamed(a).System })
	if i < 0 {
		return ""
	}
	return baseline(d.pairs(d.Axes[i]), d.Axes[i])
}

// changed is the title of the chart of changes where they are between two systems; "" elsewhere.
func (d *Data) changed() string {
	i := slices.IndexFunc(d.Axes, func(a string) bool { return sweep.AxisNamed(a).System })
	if i < 0 {
		return ""
	}
	pairs := d.pairs(d.Axes[i])
	from, to := baseline(pairs, d.Axes[i]), ""
	for _, q := range pairs {
		name := valueOf(q.b, d.Axes[i])
		if to != "" && name != to {
			return ""
		}
		to = name
	}
	const long = 40
	if from == "" || to == "" {
		return ""
	}
	return "Change from " + words.Clip(from, long) + " to " + words.Clip(to, long)
}

// ByWork brings cells that differ in the system alone beside each other, where systems are compared.
func (d *Data) ByWork() {
	i := slices.IndexFunc(d.Axes, func(a string) bool { return sweep.AxisNamed(a).System })
	if i >= 0 && len(d.Changes()) > 0 {
		d.Cells = together(d.groups(d.Axes[i]))
	}
}

// work is what is asked of a cell, as far as cells differ in it.
func (d *Data) work(c *Cell) (asked string) {
	for _, a := range d.Axes {
		if sweep.AxisNamed(a).Work {
			asked += a + " " + valueOf(c, a) + "\n"
		}
	}
	return asked
}

// System is the name of what a cell measures, where several systems are; "" elsewhere.
func (d *Data) System(c *Cell) string {
	i := slices.IndexFunc(d.Axes, func(a string) bool { return sweep.AxisNamed(a).System })
	if i < 0 {
		return ""
	}
	return c.Values[d.Axes[i]].Text
}

func (d *Data) changes(treatment string) (list []Change) {
	pairs := d.pairs(treatment)
	metric, label := d.output()
	for _, m := range []struct {
		metric, stat, name string
		larger             bool
	}{
		{metric, "avg", label, true},
		{metrics.TimeToFirstToken, "p50", metrics.Series(metrics.TimeToFirstToken, "p50"), false},
		{metrics.InterTokenLatency, "p50", metrics.Series(metrics.InterTokenLatency, "p50"), false},
		{metrics.RequestLatency, "p50", metrics.Series(metrics.RequestLatency, "p50"), false},
	} {
		for _, q := range pairs {
			if c, ok := d.ratio(q, m.metric, m.stat); ok {
				c.Metric, c.Name, c.LargerIsBetter = m.name, q.label, m.larger
				list = append(list, c)
			}
		}
	}
	return list
}

// Change is how much a figure differs between two systems: 0.05 is 5 % more.
type Change struct {
	Metric, Name     string
	Value, Low, High float64 // NaN for none
	Margin           float64 // what counts as a difference
	LargerIsBetter   bool
	Points           bool        // it is one of a share: 0.05 are 5 percentage points
	Decided          *decide.Row // by a comparison; nil where none was
	Hollow           bool
	Instead          string // what is said of a change without a value
	Values           string // what it is between: "20.2 → 16.2 ms"
	Title            string
}

// forest lists changes against a baseline by their metric, in the order of the list: a
// sign with its interval beside the line of no change.
func forest(list []Change, baseline string) draw.Panel {
	from := ""
	if baseline != "" {
		from = " from " + words.Clip(baseline, 40)
	}
	p := draw.Panel{X: draw.Axis{Label: "change" + from + " (" + unitOf(list) + ")"}, Marks: []draw.Mark{{Vertical: true}}}
	var margins []string
	once := onceEach(list)
	for i, c := range list {
		name := c.Name
		switch {
		case once && c.LargerIsBetter:
			name = c.Metric + ", higher is better"
		case once:
			name = c.Metric + ", lower is better"
		case i == 0 || c.Metric != list[i-1].Metric:
			said := "← better"
			if c.LargerIsBetter {
				said = "better →"
			}
			p.Rows = append(p.Rows, draw.Row{Name: c.Metric, Said: said, Heading: true})
		}
		if m := c.margin(); c.Margin > 0 && !slices.Contains(margins, m) {
			margins = append(margins, m)
		}
		p.Rows = append(p.Rows, draw.Row{
			Name: name, Said: c.said(), Value: 100 * c.Value, Low: 100 * c.Low, High: 100 * c.High, Ink: c.Ink(),
			Hollow: c.Hollow, Margin: 100 * c.Margin,
			Title: strings.TrimPrefix(c.Name+": ", ": ") + c.Metric + " " + c.said() + c.Title,
		})
	}
	if len(margins) > 0 {
		p.X.Notes = append(p.X.Notes, "grey: within "+strings.Join(margins, " or "))
	}
	return p
}

// unitOf is what the changes of a list are in.
func unitOf(list []Change) string {
	points := func(c Change) bool { return c.Points }
	switch n := slices.IndexFunc(list, points); {
	case n < 0:
		return "%"
	case slices.ContainsFunc(list, func(c Change) bool { return !c.Points }):
		return "% or points"
	}
	return "points"
}

// margin is that of a change in words.
func (c *Change) margin() string {
	text := fmt.Sprintf("%.2g", 100*c.Margin)
	switch {
	case !c.Points:
		return text + " %"
	case text == "1":
		return text + " point"
	}
	return text + " points"
}

// onceEach reports whether each metric has one row, so that none needs a heading.
func onceEach(list []Change) bool {
	for i := range list {
		if slices.ContainsFunc(list[:i], func(c Change) bool { return c.Metric == list[i].Metric }) {
			return false
		}
	}
	return true
}

// said is the change with its interval in words.
func (c *Change) said() string {
	if math.IsNaN(c.Value) {
		return c.Instead
	}
	text := c.Size()
	if !math.IsNaN(c.Low) && Percent(c.Low) != Percent(c.High) {
		text += fmt.Sprintf(" [%s, %s]", strings.TrimSuffix(Percent(c.Low), " %"),
			strings.TrimSuffix(Percent(c.High), " %"))
	}
	return text
}

// Size is the change with its unit: of a share it is in points.
func (c *Change) Size() string {
	text := Percent(c.Value)
	if c.Points {
		text = strings.Replace(text, " %", " points", 1)
	}
	return text
}

// Percent is a change in per cent with its sign.
func Percent(v float64) string {
	digits := 1
	if math.Abs(v) >= 1 {
		digits = 0
	}
	text := strconv.FormatFloat(100*v, 'f', digits, 64)
	if strings.Trim(text, "-0.") == "" {
		return "0 %"
	}
	if v > 0 {
		return "+" + text + " %"
	}
	return "−" + strings.TrimPrefix(text, "-") + " %"
}

// Ink is green or red where a change beyond the margin is shown.
func (c *Change) Ink() draw.Ink {
	better, worse := false, false
	switch {
	case c.Decided != nil:
		better, worse = c.Decided.Outcome == decide.Better, c.Decided.Outcome == decide.Worse
	case math.Abs(c.Value) > c.Margin && c.Found():
		better = c.Value > 0 == c.LargerIsBetter
		worse = !better
	}
	switch {
	case better:
		return draw.Good
	case worse:
		return draw.Bad
	}
	return draw.S8
}

// Found reports whether a difference is shown, however small.
func (c *Change) Found() bool {
	if r := c.Decided; r != nil { // by the interval that tells the two apart
		return r.Low > 0 || r.High < 0
	}
	return c.Low > 0 || c.High < 0
}

// Equal reports whether the change is shown to be within the margin.
func (c *Change) Equal() bool {
	if c.Decided != nil {
		return c.Decided.Outcome == decide.Equivalent
	}
	return c.Low >= -c.Margin && c.High <= c.Margin
}

// baseline names what is compared with, where it is one thing.
func baseline(pairs []pair, treatment string) string {
	name := ""
	for _, q := range pairs {
		of := valueOf(q.a, treatment)
		if name != "" && of != name {
			return ""
		}
		name = of
	}
	return name
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
			label := g.name
			if len(g.cells) > 2 || label == "" { // which of several candidates
				label = strings.TrimSuffix(valueOf(c, treatment)+draw.Break+g.name, draw.Break)
			}
			out = append(out, pair{g.cells[0], c, label})
		}
	}
	return out
}

// margin is what counts as a difference, where the experiment does not say.
const margin = 0.05

// ratio is the geometric mean of b/a over the trials that both have, as a change, with a
// t interval on the logarithms (95 %).
func (d *Data) ratio(q pair, metric, stat string) (Change, bool) {
	a, b := d.Trials(q.a, metric, stat), d.Trials(q.b, metric, stat)
	var logs []float64
	for t, x := range a {
		if y, ok := b[t]; ok && x.Value > 0 && y.Value > 0 && x.known() && y.known() {
			logs = append(logs, math.Log(y.Value/x.Value))
		}
	}
	if len(logs) == 0 {
		return Change{}, false
	}
	slices.Sort(logs)
	change := func(l float64) float64 { return math.Exp(l) - 1 }
	s := d.Get(q.b, metric, stat)
	out := Change{
		Value: change(stats.Mean(logs)), Low: math.NaN(), High: math.NaN(), Margin: margin,
		Hollow: s.Unsupported,
	}
	if len(logs) > 1 {
		half := stats.TQuantile(0.975, float64(len(logs)-1)) * stats.StdSample(logs) / math.Sqrt(float64(len(logs)))
		mean := stats.Mean(logs)
		out.Low, out.High = change(mean-half), change(mean+half)
		out.Title = fmt.Sprintf(", 95 %% over %d trials", len(logs))
	}
	if s.Taint != "" {
		out.Title += "; " + validity.ParseTaint(s.Taint).Sentence()
	}
	return out, true
}
