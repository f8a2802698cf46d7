package chart

import (
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// Row is one chart of the catalogue.
type Row struct {
	ID       string
	Title    string
	Question string
	// Cellwise charts look at one cell; they are drawn for each of them.
	Cellwise bool
	// build fills the panels in, or says what is missing.
	build func(d *Data, c *Cell) ([]draw.Panel, string)
}

// Catalogue is every chart there is, in the order of a report.
func Catalogue() []Row {
	return []Row{
		{"pareto", "Throughput against speed", "How much throughput can I have, and what does it cost in speed?", false, pareto},
		{"throughput-vs-load", "Throughput against load", "Where does it stop growing?", false, throughput},
		{"latency-vs-load", "Latency against load", "When does it get slow?", false, latency},
		{"good-share", "Goodput against load", "How much load can I promise?", false, goodShare},
		{"change", "Change between two systems", "Did it regress?", false, change},
		{"trials", "Trials beside their interval", "Can I believe the ±?", false, trials},
		{"lengths", "Lengths: asked, sent, got", "Was this the workload I meant? Means, and the middle 90 % of the requests", false, lengths},
		{"cost", "Cost against speed", "What does a token cost?", false, cost},
		{"anatomy", "Anatomy of a TTFT", "Where does the time of a TTFT go?", false, anatomy},
		{"ecdf", "Distribution of latencies", "How long are the tails, and are there two kinds of requests? The share of requests that took at most so long", false, ecdf},
		{"timeline", "Requests by slot", "Where does it stall, and which request waits for which?", true, timeline},
		{"heatmap", "Latency over time", "Is there drift, a warmup, a periodic stall?", true, heatmap},
		{"strips", "The run over time", "Was it steady, and did the client keep up?", true, strips},
		{"telemetry", "Server and hardware over time", "Why?", true, telemetry},
	}
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
		d = d.fewer()
	}
	out := &draw.Chart{ID: r.ID, Title: r.Title, Question: r.Question, Footer: d.footer(c)}
	if len(d.Cells) < all {
		out.Footer = fmt.Sprintf("%s of %s cells, evenly spread · %s", words.Whole(int64(len(d.Cells))), words.Whole(int64(all)), out.Footer)
	}
	if r.Cellwise {
		out.ID = fmt.Sprintf("%s-%d", r.ID, c.Index)
		out.Title += ": " + d.Label(c)
	}
	out.Panels, out.Missing = r.build(d, c)
	if out.Missing != "" {
		out.Panels = nil
	}
	return out
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

// overviewMost is how many cells one picture tells apart, generously.
const overviewMost = 200

// fewer is d with cells evenly spread over all of them, for pictures that show
// one beside the other.
func (d *Data) fewer() *Data {
	if len(d.Cells) <= overviewMost {
		return d
	}
	out := *d
	out.Cells = nil
	for i := range overviewMost {
		out.Cells = append(out.Cells, d.Cells[i*(len(d.Cells)-1)/(overviewMost-1)])
	}
	return &out
}

// footer says what every reader of a chart has to know.
func (d *Data) footer(c *Cell) string {
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
	parts := []string{fmt.Sprintf("%s over %s", words.Count(n, "request"), words.Count(trials, "trial")), d.Window + " window"}
	if d.Requests.Note != "" {
		parts = append(parts, d.Requests.Note)
	}
	if trials > 1 && c == nil {
		parts = append(parts, "intervals 95 %, hollow: too few samples")
	}
	for _, p := range [][2]string{{"", d.Verdict.String()}, {d.program() + " ", d.Version}, {"plan ", d.Plan}} {
		if p[1] != "" {
			parts = append(parts, p[0]+p[1])
		}
	}
	return strings.Join(parts, " · ")
}

// program is whose files these are.
func (d *Data) program() string {
	for _, dir := range d.Dirs {
		if !d.Foreign[dir] {
			return "aiperf"
		}
	}
	if len(d.Dirs) > 0 {
		return "AIPerf"
	}
	return "aiperf"
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
