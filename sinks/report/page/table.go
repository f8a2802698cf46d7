package page

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart"
)

// table is the matrix, a row a cell.
func (p *Page) table(d *chart.Data, most int) {
	switch {
	case unusable(d):
		p.Caption = "No trial counts: the measurement is INVALID."
	case most == 0:
		p.Caption = "No trial ended well."
	case most == 1:
		p.Caption = "One trial: no intervals."
	default:
		p.Caption = "95 % intervals over " + trials(d) + "."
	}
	switch {
	case len(d.Cells) == 1:
	case most == 0:
		p.Hint = "Press a heading to sort."
	default:
		p.Hint = "Press a heading to sort, a row to pick its cell out in the charts."
	}
	for _, a := range d.Axes {
		p.Columns = append(p.Columns, Column{chart.Spoken(a), d.Numeric(a)})
	}
	if len(d.Axes) == 0 {
		p.Columns = append(p.Columns, Column{"experiment", false})
	}
	cols := metrics.Headlines(true, d.Has)
	for _, m := range cols {
		p.Columns = append(p.Columns, Column{m.Name, true})
	}
	p.Columns = append(p.Columns, Column{"verdict", false})
	for _, c := range d.Cells[:min(len(d.Cells), rowsMost)] {
		p.Rows = append(p.Rows, row(d, c, cols))
	}
	if most < 2 && p.bounded() {
		within := " 95 % intervals within each run."
		if len(d.Cells) == 1 {
			within = " 95 % intervals within the run."
		}
		p.Caption = strings.TrimSuffix(p.Caption, " no intervals.") + within
	}
	p.marks()
	if len(d.Cells) > rowsMost {
		p.Caption += fmt.Sprintf(" The first %s of %s cells; cells.parquet has all.",
			words.Whole(rowsMost), words.Whole(int64(len(d.Cells))))
	}
}

// bounded reports whether some figure has an interval.
func (p *Page) bounded() bool {
	return slices.ContainsFunc(p.Rows, func(r Row) bool {
		return slices.ContainsFunc(r.Cells, func(e Entry) bool { return strings.HasPrefix(e.Small, "[") })
	})
}

// marks says what the signs of the table mean, of those that are there. A mark that all
// figures of a column have stands once, in its heading.
func (p *Page) marks() {
	has := map[string]bool{}
	for k := range p.Columns {
		all := len(p.Rows) > 1
		for _, r := range p.Rows {
			e := &r.Cells[k]
			has[e.Mark] = true
			has["few"] = has["few"] || strings.HasSuffix(e.Class, "few")
			all = all && k > 0 && e.Mark != "" && e.Mark == p.Rows[0].Cells[k].Mark
		}
		if !all {
			continue
		}
		p.Columns[k].Name += " " + p.Rows[0].Cells[k].Mark
		for i := range p.Rows {
			p.Rows[i].Cells[k].Mark = ""
		}
	}
	var said []string
	for _, m := range [][2]string{
		{"few", "grey: uncertain, of too few requests for this percentile (--request-count)"},
		{validity.DoubtMark, validity.DoubtMark + ": in doubt, see the checks below the answer"},
		{validity.FailedMark, validity.FailedMark + ": of the requests that succeeded"},
		{validity.InvalidMark, validity.InvalidMark + ": invalid, see the checks below the answer"},
		{frontMark, "*: no row is better in both throughput and latency"},
	} {
		if has[m[0]] {
			said = append(said, m[1])
		}
	}
	p.Legend = strings.Join(said, " · ")
}

func row(d *chart.Data, c *chart.Cell, cols []metrics.Headline) Row {
	out := Row{Index: c.Index, Best: slices.ContainsFunc(objectives(c),
		func(o string) bool { return !strings.HasSuffix(o, withoutLimits) })}
	names := d.Axes
	if len(names) == 0 {
		names = []string{""}
	}
	for i, a := range names {
		e := Entry{Text: c.Values[a].Text}
		if v, ok := c.Values[a]; ok && !math.IsNaN(v.Number) {
			e.Text, e.Sort, e.Class = strconv.FormatFloat(v.Number, 'g', -1, 64), figure(v.Number), "num"
		}
		if a == "" {
			e.Text = d.Name
		}
		if i == 0 {
			e.Head, e.Link = true, fmt.Sprintf("#cell-%d", c.Index)
		}
		out.Cells = append(out.Cells, e)
	}
	for _, m := range cols {
		out.Cells = append(out.Cells, figureEntry(d.Get(c, m.Tag, m.Stat), m.Percent()))
	}
	if c.Front {
		out.Cells[0].Mark = frontMark
	}
	var is []string
	for _, name := range objectives(c) {
		is = append(is, bestOf(name))
	}
	if c.Decision != "" {
		is = append(is, words.Line(c.Decision))
	}
	switch misses := missesLimits(d, c); {
	case misses != "":
		is = append(slices.DeleteFunc(is, func(s string) bool { return strings.HasSuffix(s, unsureOfLimits) }), misses)
	case c.Knee:
		is = append(is, "knee")
	}
	out.Cells = append(out.Cells, Entry{
		Class: c.Verdict.String(), Text: c.Verdict.String(),
		Small: strings.Join(is, ", "),
	})
	return out
}

// frontMark stands at the name of a row that no other one is better than.
const frontMark = "*"

// objectives are those that a cell is the best for.
func objectives(c *chart.Cell) []string {
	return strings.FieldsFunc(c.Best, func(r rune) bool { return r == ',' })
}

// withoutLimits ends the objectives, in the column best_for, of a cell that is not shown
// to keep every SLO and gate.
const withoutLimits = " without limits"

// unsureOfLimits ends what is said of a cell that may or may not keep them.
const unsureOfLimits = ", not shown to keep the limits"

// bestOf says what a cell is that is the best for an objective. One that is not
// shown to keep the limits is not called best: the answer above the table is another cell.
func bestOf(objective string) string {
	name, beyond := strings.CutSuffix(strings.TrimSpace(objective), withoutLimits)
	switch {
	case !beyond:
		return "best " + name
	case name == "latency":
		return "lowest latency" + unsureOfLimits
	default:
		return "highest " + name + unsureOfLimits
	}
}

// figureEntry is a value with its bounds and marks.
func figureEntry(s chart.Stat, share bool) Entry {
	e := Entry{Class: "num", Text: "–"}
	if math.IsNaN(s.Value) {
		return e
	}
	if share {
		s.Value, s.Low, s.High = percent(s.Value), percent(s.Low), percent(s.High)
	}
	e.Sort, e.Text, e.Small = figure(s.Value), words.Number(s.Value), bounds(s)
	var why []string
	if s.Unsupported {
		e.Class += " few"
		why = append(why, "too few samples for this percentile")
	}
	if s.Taint != "" {
		t := validity.ParseTaint(s.Taint)
		e.Mark = t.Mark()
		why = append(why, t.Sentence())
	}
	e.Title = strings.Join(why, "; ")
	return e
}

// percent is a share in per cent; what is below a thousandth of one is nothing.
func percent(share float64) float64 { return math.Round(100e3*share) / 1e3 }
