package trend

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sweep/decide"
)

// Result is one result, with what it says of itself.
type Result struct {
	ID, Name               string
	Commit, Version, Label string
	Program                string
	Time                   time.Time
	cells                  []cell
	added                  int64
}

// cell is one workload of a result.
type cell struct {
	label   string
	text    string // of the receipt
	receipt *receipt.Receipt
	figures []sinks.HistoryRow
}

func newResult(rows []sinks.HistoryRow) *Result {
	f := &rows[0]
	r := &Result{
		ID: f.Result, Name: f.Name, Commit: f.Commit, Version: f.Version, Label: f.Label, Program: f.Program,
		Time: time.Unix(0, f.Time).UTC(), added: f.Added,
	}
	for i := range rows {
		if n := len(r.cells); n == 0 || r.cells[n-1].label != rows[i].Cell {
			r.cells = append(r.cells, cell{label: rows[i].Cell, text: rows[i].Receipt})
		}
		c := &r.cells[len(r.cells)-1]
		c.figures = append(c.figures, rows[i])
	}
	return r
}

// FromRows are results that are in no store, in order of time.
func FromRows(each [][]sinks.HistoryRow) []*Result { return fromRows(each) }

// By names results on screens and pages.
type By string

// The names of results: what they were made of, when, or what the server says it is.
const (
	ByCommit  By = "commit"
	ByDate    By = "date"
	ByVersion By = "version"
)

// shortCommit is how much of a hash people read.
const shortCommit = 8

// Called is the name of a result; the date where it has no other.
func (r *Result) Called(by By) string {
	name := r.Label
	switch {
	case by == ByCommit && r.Commit != "":
		name = r.Commit
		if len(name) >= 40 && strings.Trim(name, "0123456789abcdef") == "" {
			name = name[:shortCommit]
		}
	case by == ByVersion && r.Version != "":
		name = r.Version
	case by == ByDate:
		name = ""
	}
	return cmp.Or(name, r.Day())
}

// Day is when it was measured.
func (r *Result) Day() string { return r.Time.Format("2006-01-02 15:04") }

// Terms are what is asked of the results.
type Terms struct {
	By      By
	Metrics []decide.Key // that decide; none: those that decide comparisons
	// Alarms is how many false changes of a metric over all its cells, in 100 results without
	// any, are accepted; 0 takes 1.
	Alarms   float64
	New      int // a change is new when one of so many last results revealed it; 0 takes 4
	Accepted map[string]Accepted
	All      bool // look for changes of figures that do not decide, too
}

// DefaultNew is how many results a change stays new.
const DefaultNew = 4

// Trend is what the results say over time.
type Trend struct {
	Terms
	Results []*Result // by time
	Series  []*Series // by cell, those that decide first
	Breaks  []Break
}

// Break is where results of a cell are of another workload than those before.
type Break struct {
	Cell          string
	Before, After *Result
	Why           string // the fatal differences
}

// Series is a figure of a cell over the results that can be compared.
type Series struct {
	Cell    string
	Key     decide.Key
	Unit    string
	Way     int // 1 where larger is better, −1 where smaller is
	Decides bool
	Points  []Point
	Changes []Change
	// Withdrawn are changes that later results did not bear out.
	Withdrawn []Change
	Needs     int  // from how many results on a change can be found
	Current   bool // the newest result of the cell belongs to it
	Apart     float64
	ratio     bool // changes are ratios, else differences
	used      []int
}

// Point is one result of a series.
type Point struct {
	Result           *Result
	Value, Low, High float64 // an interval where there are trials, else NaN
	Trials           int
	Doubt            string // the check that puts it in doubt: it counts for nothing
}

// Change is where the level of a series moved.
type Change struct {
	// It began behind After, and not later than with Until; both are places of Points.
	After, Until int
	At, Found    int     // the most likely first result, and the one that revealed it
	From, To     float64 // the levels before and since
	// By is how much: 0.05 is 5 % more, or the difference where Ratio is false.
	By, Low, High float64
	Ratio         bool
	P             float64
	Gradual       bool // in steps too small to see, or in many
	Harm, Gain    bool
	New           bool
	Accepted      string // who knows of it: the name that was accepted
}

// Judge finds where figures moved. rs are by time.
func Judge(rs []*Result, t Terms) *Trend {
	t.By = cmp.Or(t.By, ByCommit)
	t.New, t.Alarms = cmp.Or(t.New, DefaultNew), cmp.Or(t.Alarms, 1)
	out := &Trend{Terms: t, Results: rs}
	each(rs, (*Result).parse)
	out.sort()
	cells := map[decide.Key]int{}
	for _, s := range out.Series {
		cells[s.Key]++
	}
	each(out.Series, func(s *Series) { s.find(t, cells[s.Key]) })
	return out
}

// each does something with every item, with as many at once as there are processors.
func each[T any](items []T, do func(T)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(items)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(items)); i = next.Add(1) - 1 {
				do(items[i])
			}
		})
	}
	all.Wait()
}

// group is a workload: results that can be compared in one cell.
type group struct {
	cell    string
	receipt *receipt.Receipt // of its newest result
	series  []*Series
	last    *Result
}

// sort makes series of the results.
func (t *Trend) sort() {
	var groups []*group
	newest := map[string]*group{}
	for _, r := range t.Results {
		for i := range r.cells {
			c := &r.cells[i]
			mine := c.receipt
			g := t.place(r, c.label, mine, groups, newest[c.label])
			if g == nil {
				g = &group{cell: c.label}
				groups = append(groups, g)
			}
			g.receipt, g.last, newest[c.label] = mine, r, g
			for j := range c.figures {
				g.add(r, &c.figures[j], t.Metrics)
			}
		}
	}
	for _, g := range groups {
		for _, s := range g.series {
			s.Current = newest[g.cell] == g
			t.Series = append(t.Series, s)
		}
	}
	slices.SortStableFunc(t.Series, func(a, b *Series) int {
		if a.Decides != b.Decides {
			return map[bool]int{true: -1, false: 1}[a.Decides]
		}
		return 0
	})
}

// parse reads the receipts of a result.
func (r *Result) parse() {
	for i := range r.cells {
		c := &r.cells[i]
		var err error
		if c.receipt, err = receipt.FromText(c.text); err != nil {
			c.receipt = receipt.New() // of a form that this program does not know: nothing is known
		}
	}
}

// place finds the group that a cell of a result belongs to: the newest one whose workload it
// has. Where that is not the one before, a line says why.
func (t *Trend) place(r *Result, cell string, mine *receipt.Receipt, groups []*group, before *group) *group {
	if before == nil {
		return nil
	}
	why := fatal(before.receipt, mine)
	if why == "" {
		return before
	}
	t.Breaks = append(t.Breaks, Break{cell, before.last, r, why})
	for _, g := range slices.Backward(groups) {
		if g.cell == cell && g != before && fatal(g.receipt, mine) == "" {
			return g
		}
	}
	return nil
}

// fatal names the differences that make two workloads of two receipts; "" for none.
func fatal(a, b *receipt.Receipt) string {
	var said []string
	for _, d := range receipt.Differences(a, b) {
		if d.Class == receipt.Fatal {
			said = append(said, fmt.Sprintf("%s was %s and is %s", d.Name, d.A, d.B))
		}
	}
	const most = 3
	if n := len(said) - most; n > 0 {
		said = append(said[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(said, "; ")
}

// add takes a figure of a result.
func (g *group) add(r *Result, f *sinks.HistoryRow, decides []decide.Key) {
	k := decide.Key{Tag: f.Metric, Stat: f.Stat}
	var s *Series
	for _, had := range g.series {
		if had.Key == k {
			s = had
		}
	}
	if s == nil {
		s = &Series{Cell: f.Cell, Key: k}
		g.series = append(g.series, s)
	}
	s.Unit, s.Way, s.Decides = f.Unit, wayOf(f.Better), f.Decides // as the newest result says it
	if len(decides) > 0 {
		s.Decides = slices.Contains(decides, k)
	}
	s.Points = append(s.Points, Point{r, f.Value, f.Low, f.High, int(f.Trials), f.Doubt})
}

// find finds the changes of a series; its metric has so many of them.
func (s *Series) find(t Terms, of int) {
	s.ratio = s.Unit != "ratio" && s.Unit != "%"
	for i, p := range s.Points {
		if p.Doubt == "" {
			s.used = append(s.used, i)
			s.ratio = s.ratio && p.Value > 0
		}
	}
	if !s.Decides && !t.All {
		return
	}
	points := make([]stats.Point, len(s.used))
	for i, at := range s.used {
		points[i] = s.scaled(&s.Points[at])
	}
	alarm, other := t.Alarms*stats.ChangeAlpha/float64(of), t.Alarms*stats.UrgeLessAlpha/float64(of)
	w := stats.Watch{Rise: other, Fall: other}
	switch s.Way {
	case 1:
		w.Fall = alarm
	case -1:
		w.Rise = alarm
	}
	s.Needs = stats.LeastSeries(max(w.Rise, w.Fall))
	found, withdrawn := stats.Changes(points, w)
	s.Changes, s.Withdrawn = s.changes(found, t), s.changes(withdrawn, t)
	s.Changes = joined(s.Changes)
	from := 0
	if n := len(found); n > 0 {
		from = found[n-1].At
	}
	s.Apart = stats.NewestApart(points[from:])
}

// scaled is a point on the scale on which changes are sought: logarithms of what is a ratio.
func (s *Series) scaled(p *Point) stats.Point {
	value, low, high := p.Value, p.Low, p.High
	if s.ratio {
		value, low, high = math.Log(value), math.Log(low), math.Log(high)
	}
	out := stats.Point{Value: value, StdErr: math.NaN()}
	if width := high - low; p.Trials > 1 && width > 0 && !math.IsInf(width, 1) {
		out.StdErr = width / 2 / stats.TQuantile(0.975, float64(p.Trials-1))
	}
	return out
}

// changes are those of the statistics, in the terms of the series.
func (s *Series) changes(found []stats.Change, t Terms) (out []Change) {
	for _, f := range found {
		c := Change{
			After: s.used[f.After], Until: s.used[f.Until], At: s.used[f.At], Found: s.used[f.Found],
			From: f.From, To: f.To, By: f.By, Low: f.Low, High: f.High, Ratio: s.ratio, P: f.P, Gradual: f.Gradual,
		}
		if s.ratio {
			c.From, c.To = math.Exp(c.From), math.Exp(c.To)
			c.By, c.Low, c.High = math.Expm1(c.By), math.Expm1(c.Low), math.Expm1(c.High)
		}
		c.Harm, c.Gain = c.By*float64(s.Way) < 0, c.By*float64(s.Way) > 0
		c.New = s.Current && f.Found >= len(s.used)-t.New
		for i := c.After + 1; i <= c.Until; i++ {
			if a, known := t.Accepted[s.Points[i].Result.ID]; known {
				c.Accepted = a.Name
			}
		}
		out = append(out, c)
	}
	return out
}

// joined puts changes together that follow each other the same way, none of them a step: they
// are one slow change.
func joined(changes []Change) (out []Change) {
	for _, c := range changes {
		if n := len(out) - 1; n >= 0 && c.Gradual && out[n].Gradual && c.By*out[n].By > 0 {
			had := &out[n]
			whole := func(a, b float64) float64 {
				if c.Ratio {
					return (1+a)*(1+b) - 1
				}
				return a + b
			}
			had.To, had.Until, had.Found, had.P = c.To, c.Until, c.Found, max(had.P, c.P)
			had.By, had.Low, had.High = whole(had.By, c.By), whole(had.Low, c.Low), whole(had.High, c.High)
			had.New = c.New
			had.Accepted = c.Accepted
			continue
		}
		out = append(out, c)
	}
	return out
}

// Alarm reports whether a change is harm that nobody knows of yet.
func (s *Series) Alarm(c *Change) bool { return s.Decides && c.Harm && c.New && c.Accepted == "" }

// Level is the mean of the results since the last change, on the scale of the figure; false
// where none counts.
func (s *Series) Level() (float64, bool) {
	if n := len(s.Changes); n > 0 {
		return s.Changes[n-1].To, true
	}
	sum := 0.0
	for _, i := range s.used {
		sum += s.scaled(&s.Points[i]).Value
	}
	if len(s.used) == 0 {
		return 0, false
	}
	if sum /= float64(len(s.used)); s.ratio {
		sum = math.Exp(sum)
	}
	return sum, true
}
