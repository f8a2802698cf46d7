// Package chart draws what a benchmark found: fifteen charts, each the answer
// to one question. In go result directories; out come draw.Charts, which are
// data. A chart never shows what no table holds, every value carries its
// interval, and a chart that cannot be drawn says what is missing.
//
// The steps: Load reads the tables, All (or Find) builds the charts, the
// package draw below paints them.
package chart

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep"
)

// Data is what the charts are made of: one or several results.
type Data struct {
	Name     string
	Version  string
	Plan     string // hash of the plan
	Verdict  validity.Verdict
	Model    string    // "" where the result does not say
	Began    time.Time // when the first run began; zero where the result does not say
	Took     time.Duration
	naming   []string // those of Axes that tell cells apart
	Axes     []string // that differ between cells: concurrency, isl, endpoint
	Cells    []*Cell  // in the order of the plan
	Limits   map[string]float64
	Requests *Requests // of the measured phase
	Dirs     []string
	Foreign  map[string]string // those of Dirs that another program wrote, and its name: no verdict, no plan, no tables
	Failures []Failure         // of the requests in those
	Expense  Expense
	Compared []string // what a comparison of two results says; nil elsewhere
	Decided  []Change // between two results, where a comparison of them decided; nil elsewhere
	Levels   string   // of the intervals of Decided, in words
	// LevelsSaid is that with the reason why it is another one than that of single figures.
	LevelsSaid string
	ends       map[string]time.Time
}

// Day is when it was measured: "23 Nov 2026".
func (d *Data) Day() string {
	if d.Began.IsZero() {
		return ""
	}
	return d.Began.UTC().Format("2 Jan 2006")
}

// Ended is when the last run of a directory ended; zero where it does not say.
func (d *Data) Ended(dir string) time.Time { return d.ends[dir] }

// Failure is a failed request of a directory without tables.
type Failure struct {
	Cell          *Cell
	Kind, Message string
}

// Cell is one point of the matrix with all that was found about it.
type Cell struct {
	ID      string
	Index   int
	Dir     string // result directory
	Values  map[string]Value
	Window  string // of its metrics: steady, or full where not every trial has a steady one
	Trials  int
	Verdict validity.Verdict
	Front   bool
	Knee    bool
	// Decision is what a search found at its load, "" without one. The curve of a search
	// there is Good, a share, and Rate, of requests per second; NaN for none.
	Decision   string
	Good, Rate float64
	Best       string
	Reason     string
	stats      map[key]Stat
	trials     map[key]map[int]Stat
}

// Value is a swept setting: a number, or words.
type Value struct {
	Number float64 // NaN for words
	Text   string
}

// Stat is one figure with its interval.
type Stat struct {
	Value, Low, High float64 // NaN for none
	N                float64
	Unsupported      bool   // too few samples for this percentile
	Taint            string // the check that makes it doubtful
	Unit             string
}

// known reports whether there is a value.
func (s Stat) known() bool { return !math.IsNaN(s.Value) && !math.IsInf(s.Value, 0) }

var none = Stat{Value: math.NaN(), Low: math.NaN(), High: math.NaN()}

type key struct{ window, metric, stat string }

// Get is a figure of a cell over its trials, in the window of the cell.
func (d *Data) Get(c *Cell, metric, stat string) Stat {
	if c.hides(metric) {
		return none
	}
	return c.in(c.Window, metric, stat)
}

// WholeRun is a figure over whole runs, whatever the window of the others is: limits are judged by it.
func (d *Data) WholeRun(c *Cell, metric, stat string) Stat { return c.in(full, metric, stat) }

func (c *Cell) in(window, metric, stat string) Stat {
	if s, ok := c.stats[key{window, metric, stat}]; ok {
		return s
	}
	for _, s := range c.trials[key{window, metric, stat}] { // one trial has no estimate
		return s
	}
	return none
}

// Trials are a figure's values by trial.
func (d *Data) Trials(c *Cell, metric, stat string) map[int]Stat {
	if c.hides(metric) {
		return nil
	}
	return c.trials[key{c.Window, metric, stat}]
}

// hides reports whether a metric is a throughput and the load of a search has none: its users had too few
// answers in each run, of which beginning and end are most.
func (c *Cell) hides(metric string) bool {
	m, ok := metrics.Lookup(metric)
	return ok && m.Rests&metrics.PerSecond != 0 && c.Decision != "" && !(c.Rate > 0)
}

// At is the number of c on an axis, NaN where it has words there or nothing.
func (c *Cell) At(axis string) float64 {
	if v, ok := c.Values[axis]; ok {
		return v.Number
	}
	return math.NaN()
}

// Numeric reports whether the values of an axis are numbers.
func (d *Data) Numeric(axis string) bool {
	return slices.ContainsFunc(d.Cells, func(c *Cell) bool { return !math.IsNaN(c.At(axis)) })
}

// Has reports whether some cell has the figure.
func (d *Data) Has(metric, stat string) bool {
	return slices.ContainsFunc(d.Cells, func(c *Cell) bool { return d.Get(c, metric, stat).known() })
}

// Label is what tells c from the other cells.
func (d *Data) Label(c *Cell) string { return d.label(c, "") }

// Spoken is an axis as the sentences about cells call it: the setting that was
// swept, not the column of the tables.
func Spoken(axis string) string { return cmp.Or(sweep.AxisNamed(axis).Setting, axis) }

// label leaves one axis out.
func (d *Data) label(c *Cell, without string) string {
	var parts []string
	for _, a := range d.naming {
		if a == without {
			continue
		}
		v, ok := c.Values[a]
		switch {
		case !ok || math.IsNaN(v.Number) && v.Text == "": // a result need not have what another one swept
		case math.IsNaN(v.Number):
			parts = append(parts, v.Text)
		default:
			parts = append(parts, Spoken(a)+" "+setting(v.Number))
		}
	}
	if len(parts) == 0 && without == "" {
		return d.Name
	}
	return strings.Join(parts, draw.Break)
}

// Load reads one or several result directories.
func Load(dirs ...string) (*Data, error) {
	d := &Data{Limits: map[string]float64{}, Dirs: dirs, Foreign: map[string]string{}, Requests: &Requests{}}
	names := Names(dirs)
	readers, mixed := make([]results.Reader, len(dirs)), false
	for i, dir := range dirs {
		var err error
		if readers[i], err = results.Find(dir); err != nil {
			return nil, err
		}
		mixed = mixed || readers[i].Name != readers[0].Name
	}
	for i, dir := range dirs {
		var err error
		if r := readers[i]; r.Runs != nil {
			d.Foreign[dir] = r.Name
			err = d.readForeign(dir, names[i], len(dirs) > 1, mixed, r.Runs)
		} else {
			err = d.read(dir, names[i], len(dirs) > 1)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(d.Cells) == 0 {
		return nil, fmt.Errorf("%s: no cell was measured", strings.Join(dirs, ", "))
	}
	if d.Searched() { // the load that the file began with need not be a probe
		d.Cells = slices.DeleteFunc(d.Cells, func(c *Cell) bool { return c.Trials == 0 && c.Decision == "" })
	}
	d.axes(len(dirs) > 1)
	d.chooseWindows()
	return d, nil
}

// unfinished says that a directory lacks a table because its plan was not finished.
func unfinished(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(filepath.Join(dir, resultdir.LockName)); err == nil {
			return fmt.Errorf("%s: not finished: its tables are not written, or not all of them", dir)
		}
	}
	return err
}

// Names tell directories apart: the last element of their paths, or the first one from
// the end that differs, or as much of the end as differs.
func Names(dirs []string) []string {
	elements := make([][]string, len(dirs)) // from the end
	for i, dir := range dirs {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		elements[i] = strings.Split(filepath.ToSlash(filepath.Clean(dir)), "/")
		slices.Reverse(elements[i])
	}
	apart := func(names []string) bool {
		return len(slices.Compact(slices.Sorted(slices.Values(names)))) == len(names)
	}
	ends := make([]string, len(dirs))
	for k, more := 0, true; more; k++ {
		alone := make([]string, len(dirs))
		more = false
		for i, list := range elements {
			if k < len(list) {
				alone[i] = words.Line(list[k])
				ends[i] = strings.TrimSuffix(alone[i]+"/"+ends[i], "/")
				more = true
			}
		}
		if apart(alone) {
			return alone
		}
		if apart(ends) {
			return ends
		}
	}
	for i := range ends { // one directory twice
		ends[i] = fmt.Sprintf("%s (%d)", words.Line(elements[i][0]), i+1)
	}
	return ends
}

func (d *Data) read(dir, name string, several bool) error {
	cells, err := sinks.ReadTable(dir, "cells", nil)
	if err != nil {
		return unfinished(dir, err)
	}
	at := map[string]*Cell{}
	for i := range cells.N {
		c := &Cell{
			ID: cells.Texts["cell"][i], Dir: dir, Index: len(d.Cells), Values: axisValues(cells, i),
			Trials: int(number(cells, "trials", i)), Verdict: validity.Parse(text(cells, "verdict", i)),
			Front: front(cells, i), Knee: number(cells, "knee", i) == 1,
			Decision: text(cells, "decision", i), Good: number(cells, "curve_good_share", i),
			Rate: number(cells, "curve_requests_per_s", i),
			Best: text(cells, "best_for", i), Reason: text(cells, "reason", i),
			stats: map[key]Stat{}, trials: map[key]map[int]Stat{},
		}
		if several {
			c.Values["result"] = Value{math.NaN(), name}
		}
		at[c.ID] = c
		d.Cells = append(d.Cells, c)
	}
	d.Name = joined(d.Name, words.Line(cells.Meta["aiperf.experiment"]))
	d.Version = joined(d.Version, cells.Meta["aiperf.version"])
	d.Plan = joined(d.Plan, cut(cells.Meta["aiperf.plan_sha256"], 12))
	d.Verdict = max(d.Verdict, validity.Parse(cells.Meta["aiperf.verdict"]))
	for _, c := range at {
		if m := c.Values["model"].Text; !slices.Contains(strings.Split(d.Model, ", "), m) {
			d.Model = joined(d.Model, m)
		}
	}
	if err := d.clock(dir); err != nil {
		return unfinished(dir, err)
	}
	if err := d.metrics(dir, at); err != nil {
		return unfinished(dir, err)
	}
	readLimits(dir, d.Limits)
	return unfinished(dir, d.Requests.read(dir, at))
}

// clock reads when the runs of a directory began and ended.
func (d *Data) clock(dir string) error {
	t, err := sinks.ReadTable(dir, "runs", func(c string) bool { return c == "started" || c == "ended" })
	if err != nil {
		return err
	}
	first, last := math.Inf(1), math.Inf(-1)
	for i := range t.N {
		from, to := number(t, "started", i), number(t, "ended", i)
		first, last = math.Min(first, from), math.Max(last, to)
		if to > from { // not what passed between two sessions of a plan
			d.Took += time.Duration(to - from)
		}
	}
	if !(last >= first) {
		return nil
	}
	if began := time.Unix(0, int64(first)); d.Began.IsZero() || began.Before(d.Began) {
		d.Began = began
	}
	if d.ends == nil {
		d.ends = map[string]time.Time{}
	}
	d.ends[dir] = time.Unix(0, int64(last))
	return nil
}

// joined lists what differs between results.
func joined(a, b string) string {
	if a == "" || a == b {
		return b
	}
	return a + ", " + b
}

func cut(s string, n int) string { return s[:min(n, len(s))] }

// axisValues are the axis columns of a row.
func axisValues(t *sinks.TableRows, i int) map[string]Value {
	out := map[string]Value{}
	for name, col := range t.Floats {
		if a, ok := strings.CutPrefix(name, "axis_"); ok && !math.IsNaN(col[i]) {
			out[a] = Value{Number: col[i]}
		}
	}
	for name, col := range t.Texts {
		if a, ok := strings.CutPrefix(name, "axis_"); ok && col[i] != "" {
			out[a] = Value{math.NaN(), words.Line(col[i])} // names are shown and nothing else
		}
	}
	return out
}

func number(t *sinks.TableRows, column string, i int) float64 {
	if c := t.Floats[column]; c != nil {
		return c[i]
	}
	return math.NaN()
}

func text(t *sinks.TableRows, column string, i int) string {
	if c := t.Texts[column]; c != nil {
		return c[i]
	}
	return ""
}

// front is the mark of the Pareto front: three-valued where it is words.
func front(t *sinks.TableRows, i int) bool {
	return number(t, "pareto", i) == 1 || text(t, "front", i) == "front"
}

var metricColumns = map[string]bool{
	"cell": true, "trial": true, "level": true, "part": true, "span": true, "metric": true, "stat": true, "unit": true,
	"value": true, "ci_low": true, "ci_high": true, "n": true, "certified": true, "taint": true,
}

func (d *Data) metrics(dir string, at map[string]*Cell) error {
	_, err := sinks.EachTable(dir, "metrics", func(c string) bool { return metricColumns[c] },
		func(t *sinks.TableRows) error {
			readMetrics(t, at)
			return nil
		})
	if err != nil {
		return err
	}
	for _, c := range at {
		c.markUnsupported()
	}
	return nil
}

func readMetrics(t *sinks.TableRows, at map[string]*Cell) {
	for i := range t.N {
		c := at[t.Texts["cell"][i]]
		if c == nil {
			continue
		}
		k := key{text(t, "span", i), text(t, "metric", i), text(t, "stat", i)}
		certified := number(t, "certified", i)
		s := Stat{
			Value: number(t, "value", i), Low: number(t, "ci_low", i), High: number(t, "ci_high", i),
			N:           number(t, "n", i),
			Unsupported: certified == 0, Taint: text(t, "taint", i), Unit: text(t, "unit", i),
		}
		switch text(t, "level", i) {
		case "cell":
			old := c.stats[k] // marked by its trials
			s.Unsupported = s.Unsupported || old.Unsupported
			c.stats[k] = s
		case "run": // and not what is of one target or one model
			if c.trials[k] == nil {
				c.trials[k] = map[int]Stat{}
			}
			c.trials[k][int(number(t, "trial", i))] = s
		case "tier": // of a search with several limits
			if trial := number(t, "trial", i); trial >= 0 {
				k.metric = ofTier(k.metric, text(t, "part", i))
				if c.trials[k] == nil {
					c.trials[k] = map[int]Stat{}
				}
				c.trials[k][int(trial)] = s
			}
		}
	}
}

// markUnsupported: an estimate is as well founded as the worst of its trials.
func (c *Cell) markUnsupported() {
	for k, s := range c.stats {
		for _, t := range c.trials[k] {
			s.Unsupported = s.Unsupported || t.Unsupported
		}
		c.stats[k] = s
	}
}

// axes finds what differs between the cells.
func (d *Data) axes(several bool) {
	seen := map[string]map[string]bool{}
	for _, c := range d.Cells {
		for a, v := range c.Values {
			if seen[a] == nil {
				seen[a] = map[string]bool{}
			}
			seen[a][v.Text+setting(v.Number)] = true
		}
	}
	for a, values := range seen {
		if len(values) > 1 {
			d.Axes = append(d.Axes, a)
		}
	}
	slices.SortFunc(d.Axes, func(a, b string) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b)) })
	d.naming = slices.DeleteFunc(slices.Clone(d.Axes), func(a string) bool {
		return slices.ContainsFunc(d.Axes, func(b string) bool { return d.says(b, a) })
	})
}

// says reports whether an axis makes another one needless in names: it tells the same cells
// apart, and it is the one that somebody named (the data sets chat and summary, whose
// lengths differ), or the first of two numbers.
func (d *Data) says(a, b string) bool {
	numbers := d.Numeric(a)
	if a == b || numbers != d.Numeric(b) && numbers || numbers == d.Numeric(b) &&
		slices.Index(d.Axes, a) > slices.Index(d.Axes, b) {
		return false
	}
	of, back := map[string]string{}, map[string]string{}
	for _, c := range d.Cells {
		x, y := valueOf(c, a), valueOf(c, b)
		if was, ok := of[x]; ok && was != y {
			return false
		}
		if was, ok := back[y]; ok && was != x {
			return false
		}
		of[x], back[y] = y, x
	}
	return true
}

// rank puts names before lengths and loads last, as tables do.
func rank(axis string) int { return sweep.AxisNamed(axis).Place }

// The windows of a cell's metrics.
const (
	steady = "steady"
	full   = "full"
)

// chooseWindows finds that of each cell: the steady one where every trial has it, as on the screen.
func (d *Data) chooseWindows() {
	for _, c := range d.Cells {
		have := map[string]map[int]bool{steady: {}, full: {}}
		for k, trials := range c.trials {
			for n := range trials {
				if of := have[k.window]; of != nil {
					of[n] = true
				}
			}
		}
		if c.Window = full; len(have[steady]) > 0 && len(have[steady]) == len(have[full]) {
			c.Window = steady
		}
	}
}

// Steady reports whether the metrics of some cell are of its steady window.
func (d *Data) Steady() bool {
	return slices.ContainsFunc(d.Cells, func(c *Cell) bool { return c.Window == steady })
}

// WindowOf says of which part of their runs the metrics of cells are.
func (d *Data) WindowOf(cells ...*Cell) string {
	n := 0
	for _, c := range cells {
		if c.Window == steady {
			n++
		}
	}
	switch n {
	case len(cells):
		return "steady window"
	case 0:
		return "full window"
	}
	return fmt.Sprintf("steady window (%s: whole run)", words.Count(len(cells)-n, "cell"))
}

// Load is the axis of load, "" when no one differs.
func (d *Data) Load() string {
	for _, a := range sweep.KnownAxes() {
		if a.Load && slices.Contains(d.Axes, a.Name) {
			return a.Name
		}
	}
	return ""
}
