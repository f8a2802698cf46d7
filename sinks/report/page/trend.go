package page

import (
	_ "embed" // the template
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sinks/trend"
)

//go:embed trend.html
var trendMarkup string

// overTime is the template of trends; it has the charts of all pages.
var overTime = template.Must(template.Must(parsed.Clone()).New("trend").Parse(trendMarkup))

// chartsMost is how many figures a page of a trend draws: those that moved, then the others
// that decide.
const chartsMost = 24

// Trend makes the page of a trend.
func Trend(t report.Trend) ([]byte, error) {
	p := &Page{Answer: joinedUnit(t.Headline()), Rest: t.Remarks(), Caption: "Where each figure stands, and its last change."}
	if n := len(t.Results); n > 0 {
		p.Told = []string{
			words.Count(n, "result"), "from " + t.Results[0].Day() + " to " + t.Results[n-1].Day(),
		}
	}
	for _, name := range []string{"figure", "level", "newest", "last change", "began between", "results"} {
		p.Columns = append(p.Columns, Column{Name: name, Number: name == "level" || name == "newest" || name == "results"})
	}
	for i, text := range p.Rest {
		p.Rest[i] = joinedUnit(text)
	}
	series := t.Told()
	width := Half
	if len(series) == 1 {
		width = Broad
	}
	p.Rows = figureRows(t, series)
	drawn := map[*trend.Series]int{}
	for _, moved := range []bool{true, false} {
		for i, s := range series {
			if _, there := drawn[s]; there || moved != (len(s.Changes) > 0) || !moved && !s.Decides {
				continue
			}
			if len(drawn) == chartsMost {
				break
			}
			drawn[s] = i
			p.Charts = append(p.Charts, pictured(seriesChart(t, s, i), width))
		}
	}
	alone(p.Charts)
	if left := len(series) - len(drawn); left > 0 {
		p.Left = words.CountOf(left, "more figure is", "more figures are") + " in the table."
	}
	for i, s := range series {
		if _, there := drawn[s]; there {
			p.Rows[i].Cells[0].Link = "#chart-" + chartID(i)
		}
	}
	return p.renderAs(overTime.Lookup("trend"))
}

func chartID(i int) string { return fmt.Sprintf("figure-%d", i) }

// figureRows is a row for each figure.
func figureRows(t report.Trend, series []*trend.Series) (rows []Row) {
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for i, s := range series {
		level, _ := s.Level()
		newest := s.Points[len(s.Points)-1].Value
		row := Row{Index: i, Cells: []Entry{
			{Head: true, Text: t.NameOf(s)},
			{Class: "num", Sort: number(level), Text: report.LevelText(s, level)},
			{Class: "num", Sort: number(newest), Text: report.LevelText(s, newest)},
			{Text: "–"},
			{},
			{Class: "num", Sort: strconv.Itoa(len(s.Points)), Text: words.Whole(len(s.Points))},
		}}
		if n := len(s.Changes); n > 0 {
			c := &s.Changes[n-1]
			row.Cells[3] = Entry{Text: t.ChangeText(s, c), Small: t.RemarkOn(s, c), Class: tone(c), Sort: number(c.By)}
			row.Cells[4] = Entry{Text: t.PlaceOf(s, c)}
		}
		rows = append(rows, row)
	}
	return rows
}

func tone(c *trend.Change) string {
	switch {
	case c.Harm:
		return "bad"
	case c.Gain:
		return "good"
	}
	return ""
}

// whiskersMost is how many results are drawn with their intervals; of more they hide the points.
const whiskersMost = 120

// ticksMost is how many results have their names below a chart.
const ticksMost = 5

// seriesChart draws a figure over the results, its levels and where they moved.
func seriesChart(t report.Trend, s *trend.Series, id int) *draw.Chart {
	scale, unit := report.UnitOf(s)
	points := draw.Series{Name: "result", Ink: draw.S1}
	doubtful := false
	for i, p := range s.Points {
		at := draw.Point{
			X: float64(i), Y: scale * p.Value, Low: scale * p.Low, High: scale * p.High, Taint: p.Doubt,
			Title: fmt.Sprintf("%s, %s: %s", p.Result.Called(t.By), p.Result.Day(), report.LevelText(s, p.Value)),
		}
		if len(s.Points) > whiskersMost {
			at.Low, at.High = math.NaN(), math.NaN()
		}
		doubtful = doubtful || p.Doubt != ""
		points.Points = append(points.Points, at)
	}
	c := &draw.Chart{ID: chartID(id), Title: t.NameOf(s), Footer: words.Count(len(s.Points), "result")}
	if doubtful {
		c.Footer += "; ringed: in doubt"
	}
	panel := draw.Panel{
		X: draw.Axis{Label: "result, by time", Ticks: resultTicks(t, s)},
		Y: draw.Axis{Label: figureLabel(s, unit), Least: 0.1},
	}
	panel.Series = append([]draw.Series{points}, levels(s, scale)...)
	for i := range s.Changes {
		change := &s.Changes[i]
		ink := draw.Muted
		switch {
		case change.Harm:
			ink = draw.Bad
		case change.Gain:
			ink = draw.Good
		}
		panel.Marks = append(panel.Marks, draw.Mark{
			Vertical: true, At: float64(change.After) + 0.5, To: float64(max(change.After, change.Until-1)) + 0.5,
			Label: t.SignedSize(s, change), Ink: ink,
		})
	}
	c.Panels = []draw.Panel{panel}
	return c
}

func figureLabel(s *trend.Series, unit string) string {
	if unit == "" {
		return report.FigureName(s)
	}
	return report.FigureName(s) + " (" + unit + ")"
}

// levels are lines of the levels between changes.
func levels(s *trend.Series, scale float64) (out []draw.Series) {
	level, ok := s.Level()
	if !ok {
		return nil
	}
	add := func(from, to int, v float64) {
		line := draw.Series{Name: "level", Ink: draw.S2, Line: true, Bare: true, Silent: len(out) > 0}
		if line.Silent {
			line.Name = ""
		}
		for _, x := range []int{from, to} {
			line.Points = append(line.Points, draw.At(float64(x), scale*v, ""))
		}
		out = append(out, line)
	}
	from := 0
	for i := range s.Changes {
		add(from, s.Changes[i].At-1, s.Changes[i].From)
		from = s.Changes[i].At
	}
	add(from, len(s.Points)-1, level)
	return out
}

func resultTicks(t report.Trend, s *trend.Series) (ticks []draw.Tick) {
	n := len(s.Points)
	for k := range min(ticksMost, n) {
		i := 0
		if n > 1 {
			i = k * (n - 1) / max(1, min(ticksMost, n)-1)
		}
		ticks = append(ticks, draw.Tick{At: float64(i), Label: s.Points[i].Result.Called(t.By)})
	}
	if len(ticks) == 0 {
		return nil
	}
	day := func(label string) string { return label[:strings.LastIndexByte(label, ' ')+1] }
	first := day(ticks[0].Label)
	oneDay := !slices.ContainsFunc(ticks, func(x draw.Tick) bool { return day(x.Label) != first })
	for i := range ticks {
		if oneDay { // the head says which
			ticks[i].Label = strings.TrimPrefix(ticks[i].Label, first)
		}
		ticks[i].Label = words.Middle(ticks[i].Label, 10)
	}
	return ticks
}
