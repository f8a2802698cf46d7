package page

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// pictures are the chart that shows the answer, and below the table the others, two
// beside each other: of an odd number the last one takes the whole width.
func (p *Page) pictures(d *chart.Data) {
	head, all := chart.Telling(d)
	if !all {
		head.ID += "-first" // the whole chart stands below
		var of []string
		for _, r := range head.Panels[0].Rows {
			if r.Heading {
				of = append(of, r.Name)
			}
		}
		head.Title += ": " + words.And(of)
	}
	if head != nil {
		whole := pictured(head, Broad)
		p.Head = &whole
		slide := *untitled(head) // the picture has its caption, and the answer for a title
		slide.Title, slide.Question = p.Answer, head.Title+". "+head.Question
		svg := draw.SVG(&slide, draw.SizeIn(Broad, &slide), draw.Light)
		p.Picture = template.HTML(fmt.Sprintf(`<a id="slide" download="%s.svg" href="data:image/svg+xml;base64,%s">SVG</a>`, draw.FileName(d.Name), base64.StdEncoding.EncodeToString(svg)))
	}
	var list []*draw.Chart
	for _, r := range chart.Catalogue() {
		if r.Cellwise || head != nil && r.ID == head.ID && all {
			continue
		}
		if c := r.Build(d, nil); c.Missing != "" {
			p.lacks(c)
		} else {
			list = append(list, c)
		}
	}
	for i, c := range list {
		other := i ^ 1 // beside it
		if other == len(list) {
			p.Charts = append(p.Charts, pictured(c, Broad))
			continue
		}
		size := draw.SizeIn(Half, c) // both are as high as the higher one
		size.H = max(size.H, draw.SizeIn(Half, list[other]).H)
		p.Charts = append(p.Charts, sized(c, size))
	}
}

// lacks keeps what a chart lacks; charts that lack the same are one line.
func (p *Page) lacks(c *draw.Chart) {
	i := slices.IndexFunc(p.Missing, func(x *draw.Chart) bool { return x.Missing == c.Missing })
	if i < 0 {
		p.Missing = append(p.Missing, &draw.Chart{Title: c.Title, Missing: c.Missing})
		return
	}
	p.Missing[i].Title += ", " + c.Title
}

// pictured is a chart so wide, and as a telephone shows it.
func pictured(c *draw.Chart, width float64) Chart { return sized(c, draw.SizeIn(width, c)) }

func sized(c *draw.Chart, size draw.Size) Chart {
	out := Chart{ID: c.ID, Title: c.Title, SVG: template.HTML(draw.Inline(c, size)), Narrow: narrow(c)}
	if size.W == Broad {
		out.Class = "whole"
	}
	switch wide, high := draw.SizeIn(Broad, c).H, draw.SizeIn(Narrow, c).H; {
	case wide > Broad:
		out.Class += " sheet"
	case high > deep:
		out.Class += " deep"
	}
	rows, most := 0, dataMost
	bars := 0
	for _, s := range c.Panels[0].Series {
		bars += len(s.Rects)
	}
	if bars > barsTold { // a picture of single requests
		most = barsTold
	}
	for i := range c.Panels {
		x := c.Panels[i].X
		if x.Label == "" { // panels that stand below each other name what they share once
			x.Label = c.Panels[len(c.Panels)-1].X.Label
		}
		n := numbers(&c.Panels[i], x)
		left := max(most-rows, 0)
		rows += len(n.Rows)
		n.Rows = n.Rows[:min(len(n.Rows), left)]
		if n.withoutEmpty(); len(n.Rows) > 0 {
			out.Numbers = append(out.Numbers, n)
		}
	}
	if rows > most {
		out.Cut = fmt.Sprintf("the first %d of %s rows; the tables have all", most, words.Whole(int64(rows)))
	}
	return out
}

// alone marks the last chart that shares the width of a printed sheet with another one, where these are odd in
// number: it takes the whole width if it is drawn for it, and else no more than its half, where its words are as
// large as those of the others.
func alone(charts []Chart) {
	last, n := -1, 0
	for i := range charts {
		if !strings.HasSuffix(charts[i].Class, " deep") && !strings.HasSuffix(charts[i].Class, " sheet") {
			last, n = i, n+1
		}
	}
	if n%2 == 1 {
		charts[last].Class += " alone"
	}
}

// deep is how many pixels a chart in half of a printed sheet may be high; a higher one takes the whole
// width, where it is less high, and one that is higher than wide there takes a sheet.
const deep = 620

// Widths of charts in pixels: in a window of 375, one of two beside each other, and over
// the whole page.
const (
	Narrow = 345.0
	Half   = 580.0
	Broad  = 960.0
)

// narrow is a chart as a telephone shows it: as wide as the window, as high as it
// needs. A point is too small for a finger, so that it has no title; of the many bars of
// a timeline fewer are told apart.
func narrow(c *draw.Chart) template.HTML {
	n := untitled(thin(c, barsMost/3, barsOfSlot/3))
	n.ID += "-narrow"
	return template.HTML(draw.Inline(n, draw.SizeIn(Narrow, n)))
}

// untitled is a chart whose points say nothing and lead nowhere.
func untitled(c *draw.Chart) *draw.Chart {
	n := *c
	n.Panels = slices.Clone(n.Panels)
	for i := range n.Panels {
		series := slices.Clone(n.Panels[i].Series)
		for k := range series {
			series[k].Points, series[k].Rects = slices.Clone(series[k].Points), slices.Clone(series[k].Rects)
			for j := range series[k].Points {
				series[k].Points[j].Title, series[k].Points[j].Link = "", ""
			}
			for j := range series[k].Rects {
				series[k].Rects[j].Title = ""
			}
		}
		n.Panels[i].Series = series
		n.Panels[i].Rows = slices.Clone(n.Panels[i].Rows)
		for k := range n.Panels[i].Rows {
			n.Panels[i].Rows[k].Title = ""
		}
	}
	return &n
}

// numbers are the points and bars of a panel, headed by what its axes say.
func numbers(p *draw.Panel, x draw.Axis) Numbers {
	across := x.Label
	switch {
	case across == "" && x.Names:
		across = "cell"
	case across == "":
		across = "x"
	}
	if len(p.Rows) > 0 {
		return listed(p, across)
	}
	out := Numbers{Head: []string{"series", across, cmp.Or(p.Y.Label, "y"), "bar from", "to", "what"}}
	for _, s := range p.Series {
		for _, q := range s.Points {
			out.Rows = append(out.Rows, []string{
				s.Name, place(x, q.X), place(p.Y, q.Y), figure(q.Low), figure(q.High),
				q.Title,
			})
		}
		name := s.Name
		if len(p.Series) == 1 { // each bar says it
			name = ""
		}
		for _, q := range s.Rects {
			across := stretch(x, q.X0, q.X1)
			if q.At != nil {
				across = place(x, *q.At)
			}
			out.Rows = append(out.Rows, []string{
				name, across, stretch(p.Y, q.Y0, q.Y1), "", "",
				q.Title,
			})
		}
	}
	return out
}

// listed are the numbers of a panel that lists things.
func listed(p *draw.Panel, along string) Numbers {
	out := Numbers{Head: []string{"series", "cell", along, "bar from", "to"}}
	series := ""
	for _, r := range p.Rows {
		if r.Heading {
			series = r.Name
			continue
		}
		out.Rows = append(out.Rows, []string{series, r.Name, figure(r.Value), figure(r.Low), figure(r.High)})
	}
	return out
}

// withoutEmpty leaves out columns that say nothing.
func (n *Numbers) withoutEmpty() {
	for i := len(n.Head) - 1; i >= 0; i-- {
		if slices.ContainsFunc(n.Rows, func(row []string) bool { return row[i] != "" }) {
			continue
		}
		n.Head = slices.Delete(n.Head, i, i+1)
		for k := range n.Rows {
			n.Rows[k] = slices.Delete(n.Rows[k], i, i+1)
		}
	}
}

// place is where on an axis: a number, or the name that stands there.
func place(a draw.Axis, v float64) string {
	if !a.Names {
		return figure(v)
	}
	const near = 0.3 // signs stand beside each other in the room of one name
	for _, t := range a.Ticks {
		if math.Abs(t.At-v) < near {
			return t.Label
		}
	}
	return figure(math.Ceil(v)) // of many slots some have a label
}

// stretch is a part of an axis.
func stretch(a draw.Axis, from, to float64) string {
	if a.Names {
		return place(a, (from+to)/2)
	}
	return figure(from) + " to " + figure(to)
}

// figure is a number in a table of numbers, "" for none: four digits, and all of those
// before the point.
func figure(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
