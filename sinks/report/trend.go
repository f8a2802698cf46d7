package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
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
	first := func(a, b bool) int { return map[bool]int{true: -1, false: 1}[a] * map[bool]int{true: 1}[a != b] }
	slices.SortStableFunc(out, func(a, b told) int {
		if c := cmp.Or(first(a.fresh(), b.fresh()), first(a.Harm, b.Harm)); c != 0 {
			return c
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
	return t.changes(func(c told) bool { return c.Decides && c.fresh() })
}

// fresh reports whether a change is new, and nobody knows of it.
func (c told) fresh() bool { return c.New && c.Accepted == "" }

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
	rest := "nothing else moved lately"
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
	return fmt.Sprintf("%s %s by %s %s", t.NameOf(c.Series), way, c.size(), t.where(c))
}

// NameOf names a figure, with its cell where it has one.
func (t Trend) NameOf(s *trend.Series) string {
	name := FigureName(s)
	if s.Cell == "base" {
		return name
	}
	return name + " of " + words.Line(s.Cell)
}

// FigureName is what people call a figure: "TTFT p50".
func FigureName(s *trend.Series) string {
	return strings.TrimSuffix(metrics.Series(s.Key.Tag, s.Key.Stat), " %") // the values say their unit
}

// size is how much a change is, without its sign, with its interval.
func (c told) size() string {
	turned := told{c.Series, &trend.Change{}}
	*turned.Change = *c.Change
	if c.By < 0 {
		turned.By, turned.Low, turned.High = -c.By, -c.High, -c.Low
	}
	return strings.ReplaceAll(changeOf(turned), "+", "")
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
func (s told) level(v float64) string { return LevelText(s.Series, v) }

// LevelText is a value of a series with its unit.
func LevelText(s *trend.Series, v float64) string {
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
	older := 0
	if most := mostListed; len(listed) > most && !how.All {
		older, listed = len(listed)-most, listed[:most]
	}
	t.list(s, listed)
	if older > 0 {
		s.line(words.CountOf(older, "more change is", "more changes are") + " shown with --all.")
	}
	if how.All {
		s.line("")
		t.levels().write(s)
	}
	s.line("")
	for _, line := range t.Remarks() {
		s.hanging(line)
	}
	_, err := io.WriteString(w, words.Clean(s.String()))
	return err
}

// mostListed is how many changes a screen lists without --all.
const mostListed = 8

// list is a table of changes, each with its place in a line of its own.
func (t Trend) list(s *sheet, changes []told) {
	if len(changes) == 0 {
		return
	}
	g := &grid{left: 1, head: []string{"", "before", "after", "change", ""}}
	for _, c := range changes {
		g.rows = append(g.rows, []string{
			c.mark() + " " + t.NameOf(c.Series), c.level(c.From), c.level(c.To), changeOf(c), t.remark(c),
		})
	}
	table := newSheet(s.width)
	g.write(table)
	s.line("")
	for i, line := range strings.Split(strings.TrimRight(table.String(), "\n"), "\n") {
		if s.line(line); i > 0 {
			s.line("     " + t.where(changes[i-1]))
		}
	}
}

// changeOf is a change with its sign.
func changeOf(c told) string {
	unit, by, low, high := c.shown()
	if unit == "" {
		return fmt.Sprintf("%s [%s, %s]", words.Amount(by, metrics.ShortUnit(c.Unit)), words.Number(low), words.Number(high))
	}
	for more := range 3 {
		if a, b := signed(low, more), signed(high, more); a != b {
			return fmt.Sprintf("%s%s [%s, %s]", signed(by, more), unit, a, b)
		}
	}
	return signed(by, 0) + unit
}

// shown is a change as people count it: in per cent or points, with the values as parts of
// one; no unit where it is counted in that of the figure.
func (c told) shown() (unit string, by, low, high float64) {
	switch {
	case c.Ratio:
		return " %", c.By, c.Low, c.High
	case c.Unit == "ratio":
		return " points", c.By, c.Low, c.High
	case c.Unit == "%":
		return " points", c.By / 100, c.Low / 100, c.High / 100
	}
	return "", c.By, c.Low, c.High
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
		last := LevelText(s, newest.Value)
		if newest.Doubt != "" {
			last += validity.DoubtMark
		}
		g.rows = append(g.rows, []string{t.NameOf(s), LevelText(s, level), last, words.Whole(len(s.Points)), ""})
	}
	return g
}

// outlying is where the newest result is worth a word, in standard deviations of the noise.
const outlying = 3.5

// Remarks are lines below the tables: what is new, what was left out, how often it is wrong.
func (t Trend) Remarks() (out []string) {
	for _, b := range t.Breaks {
		out = append(out, fmt.Sprintf("A new series of %s starts with %s: %s.", cellName(b.Cell), b.After.Called(t.By), b.Why))
	}
	for _, s := range t.Series {
		if n := len(s.Points) - 1; s.Decides && s.Current && math.Abs(s.Apart) > outlying && s.Points[n].Doubt == "" {
			out = append(out, fmt.Sprintf("%s of %s is far from its level of %s: %s. One result is no change yet.",
				t.NameOf(s), s.Points[n].Result.Called(t.By), levelOf(s), LevelText(s, s.Points[n].Value)))
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
		out = append(out, words.CountOf(doubt, "number counts", "numbers count")+" for nothing, since a check puts them in doubt.")
	}
	if short := t.short(); short > 0 {
		if n, _ := t.deciding(); short < n {
			out = append(out, words.CountOf(short, "figure has", "figures have")+" too few results yet for a change to be found.")
		}
	}
	out = append(out, t.Left...)
	if len(t.alarms()) > 0 {
		out = append(out, "--accept says that a change is known.")
	}
	if n, _ := t.deciding(); n > 0 {
		out = append(out, t.basis())
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
	return LevelText(s, level)
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
		b.WriteString("| figure | began between | before | after | change | |\n|---|---|---:|---:|---|---|\n")
		for _, c := range listed {
			name, by := cellText(c.mark()+" "+t.NameOf(c.Series)), changeOf(c)
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
			fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", cellText(t.NameOf(s)), LevelText(s, level),
				LevelText(s, s.Points[len(s.Points)-1].Value), len(s.Points))
		}
		b.WriteString("\n</details>\n\n")
	}
	for _, line := range t.Remarks() {
		fmt.Fprintf(&b, "- %s\n", cellText(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Told are the series that go on, those that decide first.
func (t Trend) Told() (out []*trend.Series) {
	for _, s := range t.Series {
		if _, ok := s.Level(); ok && s.Current {
			out = append(out, s)
		}
	}
	return out
}

// ChangeText is a change with its sign and its interval, PlaceOf the results between which it
// began, RemarkOn what else there is to say of it.
func (t Trend) ChangeText(s *trend.Series, c *trend.Change) string { return changeOf(told{s, c}) }

// PlaceOf is where a change began.
func (t Trend) PlaceOf(s *trend.Series, c *trend.Change) string {
	return strings.TrimPrefix(t.where(told{s, c}), "between ")
}

// RemarkOn is what else there is to say of a change.
func (t Trend) RemarkOn(s *trend.Series, c *trend.Change) string { return t.remark(told{s, c}) }

// SignedSize is a change without its interval.
func (t Trend) SignedSize(s *trend.Series, c *trend.Change) string {
	size, _, _ := strings.Cut(changeOf(told{s, c}), " [")
	return size
}

// UnitOf is the unit in which a series is drawn, and what its values are multiplied by.
func UnitOf(s *trend.Series) (scale float64, unit string) {
	if s.Unit == "ratio" {
		return 100, "%"
	}
	return 1, metrics.ShortUnit(s.Unit)
}
