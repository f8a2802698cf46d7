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
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// Comparison shows what two systems say against each other.
type Comparison struct{ *decide.Comparison }

// Screen is how a comparison is printed: for a terminal of so many columns, with the
// metrics that decide nothing, and with the exit code.
type Screen struct {
	Width int
	All   bool
}

// WriteConsole prints the comparison: the answer, and a row per metric that decides.
func (c Comparison) WriteConsole(w io.Writer, how Screen) error {
	s := newSheet(how.Width)
	facts := c.design()
	if code := c.Exit(); code != diag.OK {
		facts += fmt.Sprintf(" · exit %d", code)
	}
	sentences := []string{c.Headline()}
	if line := c.Changes(); line != "" && c.severalCells() {
		sentences = append(sentences, line)
	}
	s.spread(sentences, facts)
	if line := c.load(); line != "" {
		s.wrapped("", line)
	}
	more := "with --all"
	if how.All {
		more = ""
	}
	c.table(s, more, false)
	_, err := io.WriteString(w, words.Clean(s.String()))
	return err
}

// load is what both systems were asked, of a comparison of one workload: "concurrency 4 ·
// isl 512 · osl 8 · requests 160".
func (c Comparison) load() string {
	var parts []string
	for _, name := range []string{"concurrency", "rate", "isl", "osl", "requests", "duration"} {
		for _, f := range c.Load {
			path := strings.Split(f.Name, ".")
			last := path[len(path)-1]
			if (last == "value" || last == "mean") && len(path) > 1 {
				last = path[len(path)-2]
			}
			if part := strings.TrimSpace(spokenAxis(name) + " " + words.Clip(f.Value, 40)); last == name &&
				!slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return strings.Join(parts, " · ")
}

// table is a block per cell with a row per metric, and the remarks on them. more is where
// the rows are that decide nothing; "" shows them. short leaves out what the intervals
// hold.
func (c Comparison) table(s *sheet, more string, short bool) {
	hidden, all := 0, more == ""
	var rows []decide.Row
	for _, r := range c.all() {
		if !all && !r.Primary && r.Cell != togetherName {
			hidden++
			continue
		}
		rows = append(rows, r)
	}
	for len(rows) > 0 {
		cell := rows[0].Cell
		n := slices.IndexFunc(rows, func(r decide.Row) bool { return r.Cell != cell })
		if n < 0 {
			n = len(rows)
		}
		if c.severalCells() {
			s.wrapped("", words.Line(cell))
		}
		c.block(rows[:n], s.width).write(s)
		rows = rows[n:]
	}
	for _, line := range c.remarks(hidden, more, short) {
		s.wrapped("", line)
	}
}

// How many columns the name of a side takes at most, and at least where others need room.
const (
	mostOfSide  = 24
	leastOfSide = 8
)

// block is the table of one cell. Where the terminal is narrow the names of the sides are
// cut first, then the remark goes, whose mark stays, then the values: never the change.
func (c Comparison) block(rows []decide.Row, width int) *grid {
	build := func(side int, values, remarks bool) *grid {
		a, b := words.Apart(words.Line(c.Baseline), words.Line(c.Candidate), side)
		g := &grid{head: []string{"", "change", ""}, left: 1}
		if values {
			g.head = slices.Insert(g.head, 1, a, b)
		}
		for _, r := range rows {
			line := []string{outcomeMarks[r.Outcome] + " " + shortName(r), change(r), ""}
			if remarks {
				line[2] = remark(r)
			}
			if values {
				line = slices.Insert(line, 1, valueUnit(r, r.Base), valueUnit(r, r.Candidate))
			}
			g.rows = append(g.rows, line)
		}
		return g
	}
	for _, remarks := range []bool{true, false} {
		for side := mostOfSide; side >= leastOfSide; side-- {
			if g := build(side, true, remarks); g.whole(width) {
				return g
			}
		}
	}
	return build(0, false, false)
}

// outcomeMarks stand before the rows.
var outcomeMarks = map[decide.Verdict]string{
	decide.Worse: "✗", decide.Better: "✓", decide.Equivalent: "=",
	decide.Unclear: "?",
}

// Headline is what the comparison says in one sentence, the same on every screen and in
// every file: a function of the outcomes of the rows, with the word that the exit code
// follows from.
func (c Comparison) Headline() string {
	o := c.Outcome()
	a, b := words.Line(c.Candidate), words.Line(c.Baseline)
	is := func(v decide.Verdict) func(decide.Row) bool {
		return func(r decide.Row) bool { return r.Outcome == v }
	}
	said := ""
	switch {
	case o == decide.Worse && slices.ContainsFunc(c.Primary(), is(decide.Better)):
		said = fmt.Sprintf("%s is worse than %s in %s, better in %s", a, b, c.metrics(is(decide.Worse)),
			c.metrics(is(decide.Better)))
	case o == decide.Worse || o == decide.Better:
		said = fmt.Sprintf("%s is %s than %s%s", a, c.comparative(is(o), o), b, c.inCells(is(o)))
	case o == decide.Equivalent:
		said = fmt.Sprintf("%s and %s are equal within the margin of %s", a, b, c.margins())
		if found := c.metrics(changed); found != "" {
			said += ", though " + found + " changed by less"
		}
	case o == decide.NotWorse:
		said = fmt.Sprintf("%s is not worse than %s by more than %s", a, b, c.margins())
	case len(c.Blind()) > 0:
		said = fmt.Sprintf("No decision between %s and %s: %s", b, a, c.tooCoarse())
	case c.Trials == 1:
		said = fmt.Sprintf("No decision between %s and %s: with one trial of each, no difference can be told from chance; measure both with --num-profile-runs 5", b, a)
	default:
		said = c.openSentence(a, b)
	}
	return said + ": " + string(o)
}

// changed tells whether the interval of a row excludes that nothing changed.
func changed(r decide.Row) bool { return !math.IsNaN(r.Low) && (r.Low > 0 || r.High < 0) }

// openSentence tells what more trials may decide from what they cannot, behind what is
// shown already.
func (c Comparison) openSentence(a, b string) string {
	open := func(never bool) string {
		return c.metrics(func(r decide.Row) bool {
			return r.Outcome == decide.Unclear && !r.Harmless &&
				r.Undecidable == never
		})
	}
	yet, never := open(false), open(true)
	better := func(r decide.Row) bool { return r.Outcome == decide.Better }
	if found := c.metrics(better); found != "" && yet+never != "" { // what is known comes first
		said := fmt.Sprintf("%s is %s than %s%s", a, c.comparative(better, decide.Better), b,
			cmp.Or(c.inCells(better), " in "+found))
		if yet != "" {
			said += "; not decided yet in " + yet
		}
		if never != "" {
			said += "; " + never + " cannot be compared"
		}
		return said
	}
	switch {
	case yet != "" && never != "":
		return fmt.Sprintf("Not decided yet between %s and %s: open in %s, cannot be compared in %s", b, a, yet, never)
	case never != "":
		return fmt.Sprintf("%s and %s cannot be compared in %s", b, a, never)
	case yet != "":
		return fmt.Sprintf("Not decided yet between %s and %s: open in %s", b, a, yet)
	}
	return fmt.Sprintf("No decision between %s and %s", b, a)
}

// comparative is the word for rows of one outcome: of speed alone it is faster or slower.
func (c Comparison) comparative(carries func(decide.Row) bool, o decide.Verdict) string {
	speed := !slices.ContainsFunc(c.Primary(), func(r decide.Row) bool {
		return carries(r) && r.Unit != "ms" && !strings.HasSuffix(r.Unit, "/sec")
	})
	switch {
	case speed && o == decide.Better:
		return "faster"
	case speed:
		return "slower"
	case o == decide.Better:
		return "better"
	}
	return "worse"
}

// inCells counts the cells that carry an outcome, where there are several.
func (c Comparison) inCells(carries func(decide.Row) bool) string {
	if !c.severalCells() {
		return ""
	}
	all, some := map[string]bool{}, map[string]bool{}
	for _, r := range c.Primary() {
		if all[r.Cell] = true; carries(r) {
			some[r.Cell] = true
		}
	}
	return fmt.Sprintf(" in %d of %s", len(some), words.Count(len(all), "workload"))
}

// metrics names the metrics of some primary rows, once each.
func (c Comparison) metrics(carries func(decide.Row) bool) string {
	var names []string
	for _, r := range c.Primary() {
		if name := shortName(r); carries(r) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return some(names, maxChanges)
}

// Changes says what changed by how much: each primary metric once, over the cells that
// carry its outcome.
func (c Comparison) Changes() string {
	return c.changes(decide.Worse, decide.Better, decide.Equivalent, decide.Unclear)
}

// changes are those of some outcomes.
func (c Comparison) changes(outcomes ...decide.Verdict) string {
	var keys []decide.Key
	of := map[decide.Key][]decide.Row{}
	for _, r := range c.Primary() {
		if of[r.Key] == nil {
			keys = append(keys, r.Key)
		}
		of[r.Key] = append(of[r.Key], r)
	}
	var parts []string
	for _, o := range outcomes {
		for _, k := range keys {
			rows := slices.DeleteFunc(slices.Clone(of[k]), func(r decide.Row) bool { return r.Outcome != o })
			if len(rows) == 0 {
				continue
			}
			said := shortName(rows[0]) + " " + extent(rows, o)
			if len(rows) < len(of[k]) {
				said += fmt.Sprintf(" in %d of %d", len(rows), len(of[k]))
			}
			parts = append(parts, said)
		}
	}
	return strings.Join(parts, " · ")
}

// extent is what rows of one metric and outcome say together.
func extent(rows []decide.Row, o decide.Verdict) string {
	switch {
	case o == decide.Equivalent && slices.ContainsFunc(rows, changed):
		return "changed, within your margin of " + inPercent(rows[0].Margin)
	case o == decide.Equivalent:
		return "equal within " + inPercent(rows[0].Margin)
	case o == decide.Unclear && (len(rows) == 1 || !slices.ContainsFunc(rows,
		func(r decide.Row) bool { return remark(r) != remark(rows[0]) })):
		said := remark(rows[0])
		if r := rows[0]; len(rows) == 1 && !r.Harmless && r.Note == "" && !math.IsNaN(r.Change) {
			said += " (" + rounded(r.Change) + " %)"
		}
		return said
	case o == decide.Unclear:
		return "not decided yet"
	case len(rows) == 1:
		return cmp.Or(change(rows[0]), "from "+value(rows[0], rows[0].Base)+" to "+value(rows[0], rows[0].Candidate))
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, r := range rows {
		if math.IsNaN(r.Change) {
			return strings.ToLower(string(o))
		}
		low, high = min(low, r.Change), max(high, r.Change)
	}
	if low < 0 && high < 0 { // the smaller one first
		low, high = high, low
	}
	if a, b := rounded(low), rounded(high); a != b {
		return a + " to " + b + " %"
	}
	return rounded(low) + " %"
}

// rounded is a relative change in whole per cent, below 2 % with a digit behind the
// point.
func rounded(v float64) string {
	digits := 0
	if math.Abs(v) < 0.02 {
		digits = 1
	}
	text := words.Decimals(100*v, digits)
	if v > 0 {
		return "+" + text
	}
	return strings.Replace(text, "-", "−", 1)
}

func (c Comparison) severalCells() bool {
	return slices.ContainsFunc(c.Rows, func(r decide.Row) bool { return r.Cell != c.Rows[0].Cell })
}

// margins are those of the primary metrics: "5 %", or "5 % (15 % from p95 on)".
func (c Comparison) margins() string {
	least, most := math.Inf(1), 0.0
	for _, r := range c.Primary() {
		least, most = min(least, r.Margin), max(most, r.Margin)
	}
	if least == most {
		return inPercent(most)
	}
	return fmt.Sprintf("%s (%s from p95 on)", inPercent(least), inPercent(most))
}

// tooCoarse says why the comparison could not have found what it must be able to.
func (c Comparison) tooCoarse() string {
	rows := c.Blind()
	worst := slices.MaxFunc(rows, func(a, b decide.Row) int { return cmp.Compare(finest(a), finest(b)) })
	name := shortName(worst)
	if math.IsInf(finest(worst), 1) {
		return fmt.Sprintf("a change of %s must be found, and %s shows none: %s", inPercent(worst.MustDetect), name,
			cmp.Or(worst.Note, "no interval"))
	}
	return fmt.Sprintf("a change of %s must be found, and in %s this test finds %s and more",
		inPercent(worst.MustDetect), name, inPercent(worst.Detectable))
}

// finest is the smallest change that a row can show, ∞ where it can show none.
func finest(r decide.Row) float64 {
	if math.IsNaN(r.Detectable) {
		return math.Inf(1)
	}
	return r.Detectable
}

// maxChanges is how many metrics a sentence names.
const maxChanges = 3

const togetherName = "all cells"

// all are the rows, those over all cells last.
func (c Comparison) all() []decide.Row {
	return append(c.Rows[:len(c.Rows):len(c.Rows)], c.Together...)
}

// design says in few words what the intervals rest on.
func (c Comparison) design() string {
	if !c.Paired {
		return words.Count(c.Trials, "trial") + " each, not paired"
	}
	return fmt.Sprintf("%d paired %s", c.Trials, strings.TrimLeft(words.Count(c.Trials, "trial"), "0123456789, "))
}

// basis says in full what the intervals rest on.
func (c Comparison) basis() string {
	how := "paired: trial k sent both systems the same requests"
	if !c.Paired {
		how = "not paired (only trials of one experiment are): Welch's test on logarithms"
	}
	return fmt.Sprintf("%s a cell, %s; 95 %% over %s together", words.Count(c.Trials, "trial"),
		how, words.Count(c.Compared, "primary metric"))
}

// remarks say what is not shown, how small a change the test finds, and what would
// decide what is open. hidden is how many rows are left out, and more where they are; ""
// that none is.
func (c Comparison) remarks(hidden int, more string, short bool) []string {
	var first []string
	if hidden > 0 {
		first = append(first, words.Count(hidden, "more row")+" "+more)
	}
	if line := c.levels(); line != "" && !short {
		first = append(first, line)
	}
	if line := c.finds(); line != "" && !short {
		first = append(first, line)
	}
	var out, notes []string
	if len(first) > 0 {
		out = append(out, strings.Join(first, " · "))
	}
	for _, r := range c.Primary() {
		if r.Note != "" && !slices.Contains(notes, r.Note) {
			notes = append(notes, r.Note)
			said := shortName(r) + " " + remark(r) + ": " + r.Note
			if short { // the table has the remark
				said = shortName(r) + " " + r.Note
			}
			out = append(out, said)
		}
	}
	if short && len(out) > 1 {
		out = []string{strings.Join(out, " · ")}
	}
	if n := c.trialsIfEqual(); n.Known() {
		out = append(out, fmt.Sprintf("to decide the ?: if nothing changed, %s of each system would show it (--num-profile-runs %d)", n, n.Most))
	}
	if line := c.few(more == ""); line != "" {
		out = append(out, line)
	}
	if len(c.Stamps[0]) > 0 {
		out = append(out, fmt.Sprintf("time stamps: of the %s in the baseline, of the %s in the candidate. The application's are late, which is in every change of a latency: measure both in one way, with HTTP/1.1 and without a proxy",
			strings.Join(c.Stamps[0], " and the "), strings.Join(c.Stamps[1], " and the ")))
	}
	if len(c.OnlyBaseline) > 0 {
		out = append(out, "only in the baseline: "+some(c.OnlyBaseline, maxChanges))
	}
	if len(c.OnlyCandidate) > 0 {
		out = append(out, "only in the candidate: "+some(c.OnlyCandidate, maxChanges))
	}
	return out
}

// levels are what the intervals of the rows that decide hold; "equal" asks for 90 %.
func (c Comparison) levels() string {
	for _, r := range c.Primary() {
		if !math.IsNaN(r.Low) && r.Level > 0 {
			said := fmt.Sprintf("[ ] %.4g %% interval", 100*r.Level)
			if c.Compared > 1 {
				said += fmt.Sprintf(", 95 %% over all %d metrics", c.Compared)
			}
			return said
		}
	}
	return ""
}

// finds says how small a difference the comparison shows four times in five; a smaller one
// may be found by luck.
func (c Comparison) finds() string {
	var least, most *decide.Row
	for i := range c.Rows {
		r := &c.Rows[i]
		if !r.Primary || math.IsNaN(r.Detectable) || math.IsInf(r.Detectable, 0) {
			continue
		}
		if least == nil || r.Detectable < least.Detectable {
			least = r
		}
		if most == nil || r.Detectable > most.Detectable {
			most = r
		}
	}
	if least == nil {
		return ""
	}
	if inPercent(least.Detectable) == inPercent(most.Detectable) {
		return "smallest change this test finds (80 % power): " + inPercent(least.Detectable)
	}
	return fmt.Sprintf("smallest change this test finds (80 %% power): %s (%s) to %s (%s)", inPercent(least.Detectable),
		shortName(*least), inPercent(most.Detectable), shortName(*most))
}

// inPercent is a part of one in per cent, two digits at most: 5 %, 0.2 %.
func inPercent(v float64) string { return fmt.Sprintf("%.2g", math.Min(100*v, 99)) + " %" }

// trialsIfEqual is what the metric that takes most would need; nothing where it is
// not known of one of them.
func (c Comparison) trialsIfEqual() decide.Trials {
	var most decide.Trials
	for _, r := range c.Primary() {
		if r.Outcome != decide.Unclear || r.Note != "" {
			continue
		}
		if !r.Trials.Known() {
			return decide.Trials{}
		}
		most = decide.Trials{Least: max(most.Least, r.Trials.Least), Most: max(most.Most, r.Trials.Most)}
	}
	return most
}

// few says which percentile rests on few values, of those that are shown.
func (c Comparison) few(all bool) string {
	i := slices.IndexFunc(c.Rows, func(r decide.Row) bool { return r.Few() && (all || r.Primary) })
	if i < 0 {
		return ""
	}
	r := c.Rows[i]
	need := decide.RequestsFor(percentileOf[r.Key.Stat], r.Effective, r.Count)
	return fmt.Sprintf("%s is uncertain, of %.0f requests a trial: raise requests to %s%s", shortName(r), r.Count,
		words.Grouped(need), alike(percentileOf[r.Key.Stat], r.Effective, r.Count))
}

// shortName is a metric in a sentence, and in a table whose values have their unit.
func shortName(r decide.Row) string { return strings.TrimSuffix(metricName(r), " ms") }

// metricName is a metric in the width of the table: "TTFT p50 ms".
func metricName(r decide.Row) string {
	name := r.Header
	if m, ok := metrics.Lookup(r.Key.Tag); ok && m.Header == r.Header {
		return words.Clip(strings.TrimSuffix(m.Called(r.Key.Stat), " %"), 22) // the values say their unit
	}
	if r.Key.Stat != "avg" {
		name += " " + r.Key.Stat
	}
	if r.Unit == "ms" {
		name += " ms"
	}
	return words.Clip(name, 22)
}

// valueUnit is a value with the unit of a time.
func valueUnit(r decide.Row, v float64) string {
	if r.Unit == "ms" && !math.IsNaN(v) && !math.IsInf(v, 1) {
		return value(r, v) + " ms"
	}
	return value(r, v)
}

func value(r decide.Row, v float64) string {
	if r.Unit == "ratio" && !math.IsNaN(v) {
		return words.Number(100*v) + " %"
	}
	if math.IsInf(v, 1) {
		return "∞"
	}
	return words.Number(v)
}

// change is the point with its interval: +10.0 % [9.5, 10.6]. A narrow interval
// gets more digits; one that has no width in them is left out.
func change(r decide.Row) string {
	switch {
	case math.IsNaN(r.Change):
		return ""
	case math.IsNaN(r.Low):
		return signed(r.Change, 0) + " %"
	case tooFew(r):
		return signed(r.Change, 0) + " % " + wideMark
	}
	for more := range 3 {
		if low, high := signed(r.Low, more), signed(r.High, more); low != high {
			return fmt.Sprintf("%s %% [%s, %s]", signed(r.Change, more), low, high)
		}
	}
	return signed(r.Change, 0) + " %"
}

// tooFew tells whether the interval of a change is wider than a factor of ten: it says
// only that trials are too few.
func tooFew(r decide.Row) bool { return 1+r.High > widest*(1+r.Low) }

// signed is a relative change in per cent, with a digit behind the point below
// a hundred, and more digits where they are asked for.
func signed(v float64, more int) string {
	v *= 100
	digits := 1 + more
	if math.Abs(v) >= 100 {
		digits = more
	}
	s := words.Decimals(v, digits)
	if strings.Trim(s, "-0.") == "" {
		return words.Decimals(0, digits)
	}
	if v > 0 {
		return "+" + s
	}
	return strings.Replace(s, "-", "−", 1)
}

// remark is what a row says in words.
func remark(r decide.Row) string {
	margin := inPercent(r.Margin)
	switch {
	case r.Undecidable:
		return "cannot be decided"
	case (r.Outcome == decide.Worse || r.Outcome == decide.Better) && r.BeyondMargin:
		return strings.ToLower(string(r.Outcome)) + " by over " + margin
	case r.Outcome == decide.Worse || r.Outcome == decide.Better:
		return strings.ToLower(string(r.Outcome))
	case r.Outcome == decide.Equivalent && changed(r):
		return "changed, within your margin of " + margin
	case r.Outcome == decide.Equivalent:
		return "equal within " + margin
	case tooFew(r):
		return "too few trials"
	case r.Harmless && r.Gain():
		return "better, but under " + margin
	case r.Harmless:
		return "not worse (95 % sure)" // one-sided, which the interval beside it is not
	}
	return "not decided yet"
}

// outcome is the word of a row with its remark.
func outcome(r decide.Row) string {
	said := string(r.Outcome)
	if r.Outcome == decide.Unclear && r.Harmless {
		said = string(decide.NotWorse)
	}
	if rest, same := strings.CutPrefix(remark(r), strings.ToLower(said)); same {
		said += rest
	} else {
		said += ": " + rest
	}
	if r.Note != "" {
		said += ": " + r.Note
	}
	return said
}

// WriteMarkdown writes the comparison for a pull request.
func (c Comparison) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s. %s.\n\n", plain(c.Headline()), plain(c.Changes()), c.basis())
	b.WriteString("| cell | metric | baseline | candidate | change | p | outcome |\n|---|---|---:|---:|---|---:|---|\n")
	for _, r := range c.all() {
		name, said := metricName(r), outcome(r)
		if r.Primary {
			name, said = "**"+name+"**", "**"+said+"**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", cellText(r.Cell), cellText(name), value(r, r.Base),
			value(r, r.Candidate), change(r), chance(r.P), cellText(said))
	}
	b.WriteByte('\n')
	for _, line := range c.remarks(0, "", false) {
		fmt.Fprintf(&b, "- %s\n", cellText(line))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func chance(p float64) string {
	switch {
	case math.IsNaN(p):
		return ""
	case p < 0.001:
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}
