package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/trend"
)

// Trend shows what many results say over time.
type Trend struct {
	*trend.Trend
	Left []string // what could not be read
}

// told is a change with the series that it is of.
type told struct {
	*trend.Series
	*trend.Change
}

// changes are those of the figures that decide, harm first, then gains, the newest first.
func (t Trend) changes(is func(told) bool) (out []told) {
	for _, s := range t.Series {
		for i := range s.Changes {
			if c := (told{s, &s.Changes[i]}); is(c) {
				out = append(out, c)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b told) int {
		if a.Harm != b.Harm {
			return map[bool]int{true: -1, false: 1}[a.Harm]
		}
		return b.Series.Points[b.At].Result.Time.Compare(a.Series.Points[a.At].Result.Time)
	})
	return out
}

// alarms are harmful changes that are new and that nobody knows of; fresh are all new ones.
func (t Trend) alarms() []told {
	return t.changes(func(c told) bool { return c.Series.Alarm(c.Change) })
}

func (t Trend) fresh() []told {
	return t.changes(func(c told) bool { return c.Decides && c.New && c.Accepted == "" })
}

// Exit is missed where there is an alarm.
func (t Trend) Exit() diag.Code {
	if len(t.alarms()) > 0 {
		return diag.Missed
	}
	return diag.OK
}

// mostTold is how many changes the answer names.
const mostTold = 3

// Headline is the answer: what moved lately, and where.
func (t Trend) Headline() string {
	short := t.short()
	fresh := t.fresh()
	deciding, cells := t.deciding()
	switch {
	case len(t.Results) == 0:
		return "No results yet."
	case deciding == 0:
		return "None of the results has a figure that decides."
	case len(fresh) == 0 && short == deciding:
		return fmt.Sprintf("Too few results to tell: %s, and a change can be found from %d on.",
			words.Whole(t.longest()), t.needs())
	case len(fresh) == 0:
		of := words.Count(deciding, "figure")
		if cells > 1 {
			of += " of " + words.Count(cells, "cell")
		}
		return fmt.Sprintf("Nothing moved lately: %s, %s.", of, words.Count(len(t.Results), "result"))
	}
	var said []string
	for i, c := range fresh {
		if i == mostTold {
			said = append(said, words.CountOf(len(fresh)-i, "more figure moved", "more figures moved"))
			break
		}
		said = append(said, t.sentence(c))
	}
	rest := "nothing else moved"
	if len(fresh) >= deciding {
		rest = ""
	}
	if rest != "" {
		said = append(said, rest)
	}
	return strings.Join(said, "; ") + "."
}

// deciding counts the series that decide and go on, and their cells.
func (t Trend) deciding() (n, cells int) {
	seen := map[string]bool{}
	for _, s := range t.Series {
		if s.Decides && s.Current {
			n++
			seen[s.Cell] = true
		}
	}
	return n, len(seen)
}

// short counts those of them that have too few results for a change to be found.
func (t Trend) short() (n int) {
	for _, s := range t.Series {
		if s.Decides && s.Current && len(s.Points) < s.Needs {
			n++
		}
	}
	return n
}

func (t Trend) longest() (n int) {
	for _, s := range t.Series {
		if s.Decides && s.Current {
			n = max(n, len(s.Points))
		}
	}
	return n
}

func (t Trend) needs() (n int) {
	for _, s := range t.Series {
		if s.Decides && s.Current && (n == 0 || s.Needs < n) {
			n = s.Needs
		}
	}
	return n
}

// sentence says a change: "TTFT p50 of concurrency 4 rose by 6 % [4, 8] between abc and def".
func (t Trend) sentence(c told) string {
	way := "rose"
	if c.By < 0 {
		way = "fell"
	}
	if c.Gradual {
		way += " gradually"
	}
	return fmt.Sprintf("%s %s by %s %s", t.of(c.Series), way, c.size(), t.where(c))
}

// of names a figure, with its cell where there are several.
func (t Trend) of(s *trend.Series) string {
	name := figureName(s)
	if s.Cell == "base" {
		return name
	}
	return name + " of " + words.Line(s.Cell)
}

func figureName(s *trend.Series) string { return metrics.Series(s.Key.Tag, s.Key.Stat) }

// size is how much a change is, without its sign, with its interval.
func (c told) size() string {
	by, low, high := math.Abs(c.By), c.Low, c.High
	if c.By < 0 {
		low, high = -high, -low
	}
	unit := " %"
	switch {
	case c.Ratio:
	case c.Unit == "ratio":
		unit = " points"
	case c.Unit == "%":
		by, low, high, unit = by/100, low/100, high/100, " points"
	default:
		return fmt.Sprintf("%s [%s, %s]", words.Amount(by, metrics.ShortUnit(c.Unit)), words.Number(low), words.Number(high))
	}
	bare := func(v float64, more int) string { return strings.TrimPrefix(signed(v, more), "+") }
	for more := range 3 {
		if a, b := bare(low, more), bare(high, more); a != b {
			return fmt.Sprintf("%s%s [%s, %s]", bare(by, more), unit, a, b)
		}
	}
	return bare(by, 0) + unit
}

// where says between which results a change began.
func (t Trend) where(c told) string {
	before, after := c.Points[c.After].Result, c.Points[c.Until].Result
	a, b := words.Clip(before.Called(t.By), longestName), words.Clip(after.Called(t.By), longestName)
	if a == b {
		return fmt.Sprintf("between %s and %s, both of %s", before.Day(), after.Day(), a)
	}
	if n := c.Until - c.After; n > 1 {
		return fmt.Sprintf("between %s and %s, %d results", a, b, n)
	}
	return fmt.Sprintf("between %s and %s", a, b)
}

const longestName = 40

// remark is what else there is to say of a change.
func (t Trend) remark(c told) string {
	var parts []string
	switch {
	case c.Accepted != "":
		parts = append(parts, "accepted")
	case c.New:
		parts = append(parts, "new")
	}
	if c.Gradual {
		parts = append(parts, "gradual")
	}
	return strings.Join(parts, ", ")
}

// mark tells harm from gain.
func (c told) mark() string {
	switch {
	case c.Harm:
		return "✗"
	case c.Gain:
		return "✓"
	}
	return "·"
}

// level is a level of a series in its unit.
func (s told) level(v float64) string { return levelText(s.Series, v) }

func levelText(s *trend.Series, v float64) string {
	if s.Unit == "ratio" {
		return words.Number(100*v) + " %"
	}
	return words.Amount(v, metrics.ShortUnit(s.Unit))
}

// WriteConsole prints the answer, the changes, and what they rest on.
func (t Trend) WriteConsole(w io.Writer, how Screen) error {
	s := newSheet(how.Width)
	facts := words.Count(len(t.Results), "result")
	if code := t.Exit(); code != diag.OK {
		facts += fmt.Sprintf(" · exit %d", code)
	}
	s.spread([]string{t.Headline()}, facts)
	listed := t.changes(func(c told) bool { return how.All || c.Decides })
	if len(listed) > 0 {
		s.line("")
		g := &grid{left: 2, head: []string{"  figure", "began between", "before", "since", "change", ""}}
		for _, c := range listed {
			g.rows = append(g.rows, []string{
				c.mark() + " " + t.of(c.Series), strings.TrimPrefix(t.where(c), "between "),
				c.level(c.From), c.level(c.To), changeOf(c), t.remark(c),
			})
		}
		g.write(s)
	}
	if how.All {
		s.line("")
		t.levels().write(s)
	}
	s.line("")
	for _, line := range t.remarks(how.All) {
		s.hanging(line)
	}
	_, err := io.WriteString(w, words.Clean(s.String()))
	return err
}

// changeOf is a change with its sign.
func changeOf(c told) string {
	if c.By < 0 {
		return "−" + c.size()
	}
	return "+" + c.size()
}

// levels is a table of where every figure stands.
func (t Trend) levels() *grid {
	g := &grid{left: 1, head: []string{"figure", "level", "newest", "results", ""}}
	for _, s := range t.Series {
		level, ok := s.Level()
		if !s.Current || !ok {
			continue
		}
		newest := s.Points[len(s.Points)-1]
		note := ""
		if newest.Doubt != "" {
			note = "in doubt: " + newest.Doubt
		}
		g.rows = append(g.rows, []string{
			t.of(s), levelText(s, level), levelText(s, newest.Value), words.Whole(len(s.Points)), note,
		})
	}
	return g
}

// outlying is where the newest result is worth a word, in standard deviations of the noise.
const outlying = 3.5

// remarks are lines below the tables.
func (t Trend) remarks(all bool) (out []string) {
	for _, b := range t.Breaks {
		out = append(out, fmt.Sprintf("A new series of %s starts with %s: %s.", cellName(b.Cell), b.After.Called(t.By), b.Why))
	}
	for _, s := range t.Series {
		if n := len(s.Points) - 1; s.Decides && s.Current && math.Abs(s.Apart) > outlying && s.Points[n].Doubt == "" {
			out = append(out, fmt.Sprintf("%s of %s is far from its level of %s: %s. One result is no change yet.",
				t.of(s), s.Points[n].Result.Called(t.By), levelOf(s), levelText(s, s.Points[n].Value)))
		}
	}
	if gone := t.withdrawn(); gone > 0 {
		out = append(out, words.CountOf(gone, "change that seemed to be there was", "changes that seemed to be there were")+
			" not borne out by later results, and left out.")
	}
	doubt := 0
	for _, s := range t.Series {
		for _, p := range s.Points {
			if s.Decides && p.Doubt != "" {
				doubt++
			}
		}
	}
	if doubt > 0 {
		out = append(out, words.CountOf(doubt, "figure is", "figures are")+" left out, since a check puts them in doubt.")
	}
	if short := t.short(); short > 0 {
		if n, _ := t.deciding(); short < n {
			out = append(out, words.CountOf(short, "figure has", "figures have")+" too few results yet for a change to be found.")
		}
	}
	out = append(out, t.Left...)
	if len(t.alarms()) > 0 {
		out = append(out, "--accept COMMIT says that a change is known.")
	}
	if n, _ := t.deciding(); n > 0 {
		out = append(out, t.basis())
	}
	if hidden := t.changes(func(c told) bool { return !c.Decides }); len(hidden) > 0 && !all {
		out = append(out, words.CountOf(len(hidden), "change of a figure that does not decide is",
			"changes of figures that do not decide are")+" shown with --all.")
	}
	return out
}

// basis says how often the answer is wrong.
func (t Trend) basis() string {
	seen := map[string]bool{}
	for _, s := range t.Series {
		if s.Decides && s.Current {
			seen[s.Key.Tag+s.Key.Stat] = true
		}
	}
	per := t.Alarms * float64(len(seen))
	return fmt.Sprintf("Of a server that stays as it is, 100 results give at most about %s.",
		words.CountOf(int(math.Ceil(per)), "false change", "false changes"))
}

func cellName(cell string) string {
	if cell == "base" {
		return "the results"
	}
	return words.Line(cell)
}

func levelOf(s *trend.Series) string {
	level, _ := s.Level()
	return levelText(s, level)
}

func (t Trend) withdrawn() (n int) {
	for _, s := range t.Series {
		if s.Decides {
			n += len(s.Withdrawn)
		}
	}
	return n
}

// WriteMarkdown writes it for a pull request.
func (t Trend) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n", plain(t.Headline()))
	if listed := t.changes(func(c told) bool { return c.Decides }); len(listed) > 0 {
		b.WriteString("| figure | began between | before | since | change | |\n|---|---|---:|---:|---|---|\n")
		for _, c := range listed {
			name, by := cellText(c.mark()+" "+t.of(c.Series)), changeOf(c)
			if c.Series.Alarm(c.Change) {
				name, by = "**"+name+"**", "**"+by+"**"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", name, cellText(strings.TrimPrefix(t.where(c), "between ")),
				c.level(c.From), c.level(c.To), by, t.remark(c))
		}
		b.WriteByte('\n')
	}
	if len(t.Series) > 0 {
		b.WriteString("<details><summary>Where the figures stand</summary>\n\n| figure | level | newest | results |\n|---|---:|---:|---:|\n")
		for _, s := range t.Series {
			level, ok := s.Level()
			if !s.Current || !s.Decides || !ok {
				continue
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", cellText(t.of(s)), levelText(s, level),
				levelText(s, s.Points[len(s.Points)-1].Value), len(s.Points))
		}
		b.WriteString("\n</details>\n\n")
	}
	for _, line := range t.remarks(true) {
		fmt.Fprintf(&b, "- %s\n", cellText(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
