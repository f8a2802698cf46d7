package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sweep"
)

// Row is one chart of the catalogue.
type Row struct {
	ID       string
	Title    string
	Question string
	// Cellwise charts look at one cell; they are drawn for each of them.
	Cellwise bool
	// pick leaves as many cells as one picture tells apart; not of a cellwise chart.
	pick func(d *Data) *Data
	// build fills the panels in, or says what is missing.
	build func(d *Data, c *Cell) ([]draw.Panel, string)
}

// Catalogue is every chart there is, in the order of a report.
func Catalogue() []Row {
	return []Row{
		{
			"pareto", "Throughput against speed", "How much throughput can I have, and what does it cost in speed?", false,
			lined, pareto,
		},
		{"throughput-vs-load", "Throughput against load", "Where does it stop growing?", false, lined, throughput},
		{"latency-vs-load", "Latency against load", "When does it get slow?", false, lined, latency},
		{"good-share", "Goodput against load", "How much load can I promise?", false, lined, goodShare},
		{"answers", "Right answers against load", "Are the answers still right under load?", false, lined, answers},
		{"search", "The search", "Where is the limit, and what did each probe show?", false, lined, searched},
		{changeID, "Change between systems", "Did it get better or worse, and by more than noise?", false, paired, change},
		{"trials", "Trials beside their interval", "Can I believe the ±?", false, evenly, trials},
		{
			lengthsID, "Lengths: asked, sent, got", "Was this the workload I meant?", false, evenly, lengths,
		},
		{"cost", "Cost against speed", "What does a token cost?", false, lined, cost},
		{"anatomy", "Anatomy of a TTFT", "Where does the time of a TTFT go?", false, evenly, anatomy},
		{
			"ecdf", "Distribution of latencies",
			"How long are the tails, and are there two kinds of requests? The share of requests that took at most so long", false, apart, ecdf,
		},
		{
			"timeline", "Requests by slot", "Where does it stall, and which request waits for which?", true, nil,
			timeline,
		},
		{"heatmap", "Latency over time", "Is there drift, a warmup, a periodic stall?", true, nil, heatmap},
		{"strips", "The run over time", "Was it steady, and did the client keep up?", true, nil, strips},
		{
			"telemetry", "Server and hardware over time", "What did the server and the machines do meanwhile?", true, nil,
			telemetry,
		},
	}
}

// Telling is the first chart that can be drawn of those that answer most: whether
// something changed, where the limit is that was searched for, whether answers stay right,
// how much load can be promised, when it gets slow, how long the tails are. Nil where none
// can. Of a long list of changes it has the first metrics; all reports whether that is the
// whole chart.
func Telling(d *Data) (c *draw.Chart, all bool) {
	order := []string{changeID, "search", "answers", "good-share", "latency-vs-load", "ecdf"}
	if len(d.Cells) == 1 { // its figures stand beside the picture
		order = []string{"ecdf", "good-share"}
	}
	for _, id := range order {
		r, err := Find(id)
		if err != nil {
			continue // TestCatalogue: each is there
		}
		if c := r.Build(d, nil); c.Missing == "" {
			return c, !shortened(c)
		}
	}
	return nil, true
}

// slideRows is how many rows of changes a picture of its own has room for.
const slideRows = 24

// shortened cuts a long list of changes behind the last metric that has room, the first in
// any case, and reports whether it did.
func shortened(c *draw.Chart) bool {
	rows := c.Panels[0].Rows
	if len(rows) <= slideRows {
		return false
	}
	end := 0
	for i := range rows {
		if rows[i].Heading && i > 0 && (i <= slideRows || end == 0) {
			end = i
		}
	}
	if end == 0 { // one metric
		return false
	}
	c.Panels[0].Rows = rows[:end]
	return true
}

// Find is the row of a chart; the error lists those there are.
func Find(id string) (Row, error) {
	rows := Catalogue()
	if i := slices.IndexFunc(rows, func(r Row) bool { return r.ID == id }); i >= 0 {
		return rows[i], nil
	}
	var ids []string
	for _, r := range rows {
		ids = append(ids, r.ID)
	}
	return Row{}, fmt.Errorf("no chart %q; there are %s", id, strings.Join(ids, ", "))
}

// Build draws the chart of d; c is the cell of a cellwise one.
func (r Row) Build(d *Data, c *Cell) *draw.Chart {
	all := len(d.Cells)
	if !r.Cellwise {
		d = r.pick(d)
	}
	out := &draw.Chart{ID: r.ID, Title: r.Title, Question: r.Question}
	if r.ID == changeID {
		out.Title = cmp.Or(d.changed(), out.Title)
	}
	if r.Cellwise {
		out.ID = fmt.Sprintf("%s-%d", r.ID, c.Index)
		if all > 1 {
			out.Title += ": " + d.Label(c)
		}
	}
	if out.Panels, out.Missing = r.build(d, c); !r.Cellwise && d.AllFailed() {
		out.Missing = "every request failed"
	} else if n := dots(out.Panels); out.Missing == "" && n > 0 && n <= dotsFew {
		out.Missing = words.Count(n, "value") + ": the table says as much"
	}
	if out.Missing != "" {
		out.Panels = nil
	}
	out.Footer = d.footer(c, plainly(out.Panels), d.levels(r.ID))
	if len(d.Cells) < all {
		out.Footer = fmt.Sprintf("%s of %s cells, evenly spread · %s", words.Whole(int64(len(d.Cells))),
			words.Whole(int64(all)), out.Footer)
	}
	return out
}

// dotsFew is how many dots are no picture.
const dotsFew = 3

// dots is the most of them in any panel, 0 where there is more to see: a line, bars, rows.
func dots(panels []draw.Panel) (most int) {
	for i := range panels {
		n := 0
		for _, s := range panels[i].Series {
			if len(s.Rects) > 0 || s.Bare || s.Line && len(s.Points) > 2 {
				return 0
			}
			n += len(s.Points)
		}
		for _, r := range panels[i].Rows {
			if !r.Heading && !math.IsNaN(r.Low) { // an interval is more than a dot
				return 0
			}
			if !r.Heading {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// shown is what signs a picture has.
type shown struct{ interval, hollow bool }

// plainly says what signs there are, and takes the rings away where every point has
// one: they tell nothing apart then, and the verdict says it.
func plainly(panels []draw.Panel) (has shown) {
	all := true
	each := func(f func(q *draw.Point)) {
		for i := range panels {
			for _, s := range panels[i].Series {
				for k := range s.Points {
					if !s.Bare {
						f(&s.Points[k])
					}
				}
			}
			for _, r := range panels[i].Rows {
				has.interval, has.hollow = has.interval || !math.IsNaN(r.Low) && !r.Heading, has.hollow || r.Hollow
			}
		}
	}
	each(func(q *draw.Point) {
		all = all && (q.Taint != "" || q.Link == "") // what is not a figure of a cell has none
		has.interval, has.hollow = has.interval || !math.IsNaN(q.Low), has.hollow || q.Hollow
	})
	if all {
		each(func(q *draw.Point) { q.Taint = "" })
	}
	return has
}

// All are the pictures of a row: one, or one for each cell.
func (r Row) All(d *Data) []*draw.Chart {
	if !r.Cellwise {
		return []*draw.Chart{r.Build(d, nil)}
	}
	var out []*draw.Chart
	for _, c := range d.Cells {
		out = append(out, r.Build(d, c))
	}
	return out
}

const (
	// pairsMost is how many cells a list of changes compares, generously.
	pairsMost = 200
	// overviewMost is how many cells stand beside each other in one picture, each with its name.
	overviewMost = 96
	// linesMost is how many lines one picture bears: four colours, solid and dashed.
	linesMost = 8
)

// evenly is d with cells spread over all of them, for pictures that show one
// beside the other: whole groups of neighbours, whose common name has room below them.
func evenly(d *Data) *Data {
	d = d.inGroups()
	if len(d.Cells) <= overviewMost {
		return d
	}
	if len(d.Axes) > 1 {
		d = d.with(together(some(d.groups(d.Axes[len(d.Axes)-1]), linesMost)))
	}
	return d.with(some(d.Cells, overviewMost))
}

// apart is d with the workloads and loads that colours and dashes of distributions tell apart.
func apart(d *Data) *Data {
	var cells []*Cell
	for _, g := range some(d.groups(d.Load()), coloursMost) {
		cells = append(cells, some(g.cells, dashesMost)...)
	}
	return d.with(cells)
}

// inGroups is d with cells beside each other that differ in the last axis alone.
func (d *Data) inGroups() *Data {
	if len(d.Axes) < 2 {
		return d
	}
	out := *d
	out.Cells = together(d.groups(d.Axes[len(d.Axes)-1]))
	return &out
}

// lined is d with whole lines along the load, spread over all of them.
func lined(d *Data) *Data {
	if d.Load() == "" {
		return evenly(d)
	}
	return evenly(d.with(together(some(d.groups(d.Load()), linesMost))))
}

// paired is d with whole sets of cells that differ in the system alone.
func paired(d *Data) *Data {
	i := slices.IndexFunc(d.Axes, func(a string) bool { return sweep.AxisNamed(a).System })
	if i < 0 || len(d.Cells) <= pairsMost {
		return d
	}
	sets := d.groups(d.Axes[i])
	each := (len(d.Cells) + len(sets) - 1) / len(sets)
	return d.with(together(some(sets, max(pairsMost/each, 1))))
}

// with is d with some of its cells, in their order.
func (d *Data) with(cells []*Cell) *Data {
	if len(cells) == len(d.Cells) {
		return d
	}
	out := *d
	out.Cells = slices.SortedFunc(slices.Values(cells),
		func(a, b *Cell) int { return slices.Index(d.Cells, a) - slices.Index(d.Cells, b) })
	return &out
}

// together are the cells of all groups.
func together(list []group) (out []*Cell) {
	for _, g := range list {
		out = append(out, g.cells...)
	}
	return out
}

// some are at most n of a list, spread over all of it, its ends among them.
func some[T any](list []T, n int) []T {
	if len(list) <= n {
		return list
	}
	out := list[:1:1]
	for i := 1; i < n; i++ {
		out = append(out, list[i*(len(list)-1)/(n-1)])
	}
	return out
}

// levels are the intervals of a chart: those of changes are the ones that decided.
func (d *Data) levels(chart string) string {
	switch {
	case chart == changeID && d.Levels != "":
		return d.Levels
	case chart == lengthsID:
		return "the middle 90 % of the requests"
	}
	return "95 % intervals"
}

// modelLong is how many characters of a model's name a caption has room for.
const modelLong = 40

// footer says what every reader of a chart has to know.
func (d *Data) footer(c *Cell, has shown, bars string) string {
	cells, trials := d.Cells, 0
	if c != nil {
		cells = []*Cell{c}
	}
	for _, x := range cells {
		trials = max(trials, x.Trials)
	}
	n := d.Requests.Total
	if c != nil {
		n = d.Requests.count(c)
	}
	var parts []string
	for _, text := range []string{words.Clip(d.Model, modelLong), d.Day()} {
		if text != "" {
			parts = append(parts, text)
		}
	}
	measured := words.Count(n, "request")
	if trials > 0 { // those that failed are none
		measured += " over " + words.Count(trials, "trial")
	}
	parts = append(parts, measured, d.WindowOf(cells...))
	if d.Requests.Note != "" {
		parts = append(parts, d.Requests.Note)
	}
	if c == nil && has.interval {
		parts = append(parts, "bars: "+bars)
	}
	if has.hollow {
		parts = append(parts, "hollow: too few samples")
	}
	for _, p := range [][2]string{{"", d.Verdict.String()}, {d.program() + " ", d.Version}} {
		if p[1] != "" {
			parts = append(parts, p[0]+p[1])
		}
	}
	return strings.Join(parts, " · ")
}

// program is whose files these are, each once.
func (d *Data) program() string {
	var names []string
	for _, dir := range d.Dirs {
		if name := cmp.Or(d.Foreign[dir], "aiperf"); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "aiperf")
}

func (r *Requests) count(c *Cell) int {
	n := 0
	for i := range r.Cell {
		if c == nil || r.Cell[i] == c {
			n++
		}
	}
	return n
}
