package report

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// This file is the room of sentences: each is made by one function, from outcomes, and
// the screen, summary.md, the page, JUnit and the manifest take it from here. Those of a
// comparison are in compare.go, those of one run's certainty in certainty.go.

// Sentences are what the plan showed, the answer first.
func (r *Report) Sentences() (out []string) {
	if r.Results == nil {
		return nil
	}
	if r.Search != nil {
		return r.searchSentences()
	}
	if r.Adaptive != nil {
		return r.adaptiveSentences()
	}
	for _, c := range r.Results.Comparisons { // what was asked is answered first
		out = append(out, Comparison{c}.Headline())
		if s := (Comparison{c}).Changes(); s != "" {
			out = append(out, s)
		}
	}
	compared := len(out) > 0
	out = append(out, r.BestSentences()...)
	if s := r.beside(); s != "" && !compared {
		out = append(out, s)
	}
	if s := r.Results.StoppedEarly(); s != "" {
		out = append(out, s)
	}
	if s := r.LimitsSentence(); s != "" {
		out = append(out, "limits: "+s)
	}
	if s := r.GatesSentence(); s != "" {
		out = append(out, "gates: "+s)
	}
	if r.Limit != "" {
		out = append(out, r.Limit)
	}
	return append(out, r.bestReasons()...)
}

// mostBest is how many kinds of work are answered one by one.
const mostBest = 3

// BestSentences say which cell is best: of each kind of work by itself, the same answer
// once. Under limits they are about the cells that keep them. Beside a comparison only
// what is shown is told: what stays open was not asked.
func (r *Report) BestSentences() []string { return r.bestSentences(false) }

// bestSentences are short where a screen is folded: which cells, of how much work it is
// not known, and no reasons.
func (r *Report) bestSentences(short bool) (out []string) {
	best := r.asked()
	if len(r.Results.Comparisons) > 0 {
		return r.bestBeside(best)
	}
	questions, of := r.questions()
	for _, q := range questions {
		if short || long(q, of[q]) {
			out = append(out, shortBest(q, of[q]))
		} else {
			out = append(out, foldedBest(q, of[q]))
		}
	}
	if s := r.workSentence(); s != "" {
		out = append(out, s)
	}
	return out
}

// bestReasons say of several kinds of work at length what BestSentences say in few words.
func (r *Report) bestReasons() (out []string) {
	if len(r.Results.Comparisons) > 0 {
		return nil
	}
	questions, of := r.questions()
	for _, q := range questions {
		if long(q, of[q]) {
			out = append(out, foldedBest(q, of[q]))
		}
	}
	return out
}

// questions are what is asked, each with the answer for every kind of work. Of several
// each by how much is in the table.
func (r *Report) questions() (questions []string, of map[string][]decide.Best) {
	of = map[string][]decide.Best{}
	for _, b := range r.asked() {
		if q := b.Question(); of[q] == nil {
			questions = append(questions, q)
		}
		of[b.Question()] = append(of[b.Question()], b)
	}
	for _, q := range questions {
		for i, b := range of[q] {
			if len(of[q]) > 1 {
				of[q][i].Said = cmp.Or(b.Lead, b.Said)
			}
		}
	}
	return questions, of
}

// longestAnswer is how long a first sentence may be.
const longestAnswer = 160

// long tells whether the answers for several kinds of work, with their reasons, would make
// too long a first sentence.
func long(question string, best []decide.Best) bool {
	return len(best) > 1 && words.Width(foldedBest(question, best)) > longestAnswer
}

// bestBeside are the cells that are shown to be best, beside comparisons: each once,
// with all the work that it is best at. Of one comparison of two cells the comparison
// itself has said it.
func (r *Report) bestBeside(best []decide.Best) (out []string) {
	if len(r.Results.Comparisons) == 1 && !(Comparison{r.Results.Comparisons[0]}).severalCells() {
		return nil
	}
	var said []string
	at, end := map[string][]string{}, map[string]string{}
	for _, b := range best {
		if !b.Shown || b.Cell == nil {
			continue
		}
		_, name := b.Cell.Cell.Apart()
		s := b.Question() + ": " + cmp.Or(name, b.Cell.Cell.Short())
		if at[s] == nil {
			said = append(said, s)
		}
		at[s], end[s] = append(at[s], b.Work), b.Untested()
	}
	for _, s := range said {
		line := s
		if work := some(at[s], mostBest); work != "" {
			line += " at " + work
		}
		if end[s] != "" {
			line += "; " + end[s]
		}
		out = append(out, line)
	}
	return out
}

// asked are the answers that are told: under the limits, unless these leave everything
// open, and beside a comparison by the first objective only.
func (r *Report) asked() []decide.Best {
	best := r.Results.Best
	if slices.ContainsFunc(r.Results.UnderSLO, func(b decide.Best) bool { return b.Cell != nil || len(b.MayBe) == 0 }) {
		best = r.Results.UnderSLO
	}
	if len(r.Results.Comparisons) > 0 && len(r.Results.Objectives) > 0 {
		best = slices.DeleteFunc(slices.Clone(best),
			func(b decide.Best) bool { return b.Objective.Key != r.Results.Objectives[0].Key })
	}
	return best
}

// foldedBest are the answers to one question, in one sentence. What was not tested beyond
// them is said once where it is true of all.
func foldedBest(question string, best []decide.Best) string {
	end := best[0].Untested()
	if slices.ContainsFunc(best, func(b decide.Best) bool { return b.Untested() != end }) {
		end = ""
	}
	var said []string
	at := map[string][]string{}
	for _, b := range best {
		answer := b.Said
		if b.Choice != "" {
			answer += "; " + b.Choice
		}
		if own := b.Untested(); own != end {
			answer += ", " + own
		}
		if at[answer] == nil {
			said = append(said, answer)
		}
		at[answer] = append(at[answer], b.Work)
	}
	var parts []string
	for i, s := range said {
		if i == mostBest {
			left := 0
			for _, s := range said[i:] {
				left += len(at[s])
			}
			parts = append(parts, fmt.Sprintf("at %s: see best in the table", words.Count(left, "other workload")))
			break
		}
		if work := some(at[s], mostBest); work != "" {
			s = "at " + work + ": " + s
		}
		parts = append(parts, s)
	}
	if end != "" {
		parts = append(parts, end)
	}
	if strings.HasPrefix(parts[0], "at ") {
		return question + " " + strings.Join(parts, "; ")
	}
	return question + ": " + strings.Join(parts, "; ")
}

// shortBest names the best cells, each with the work that it is best at.
func shortBest(question string, best []decide.Best) string {
	var said []string
	at := map[string][]string{}
	for _, b := range best {
		answer := b.Brief()
		if at[answer] == nil {
			said = append(said, answer)
		}
		at[answer] = append(at[answer], b.Work)
	}
	for i, s := range said {
		if work := some(once(at[s]), mostBest); work != "" {
			said[i] += " at " + work
		}
	}
	return question + ": " + strings.Join(said, "; ")
}

// once leaves out what kinds of work begin with where the one before begins so too: "isl
// 64", "256" and "512".
func once(work []string) (out []string) {
	last := ""
	for _, w := range work {
		name, value, ok := strings.Cut(w, " ")
		if ok && name == last && !strings.Contains(value, ",") {
			w = value
		}
		out, last = append(out, w), name
	}
	return out
}

// workSentence says that rows of different work are not ranked.
func (r *Report) workSentence() string {
	var axes []string
	for _, a := range r.Plan.Axes {
		if sweep.VariesWork(a.Name, a.Path) {
			axes = append(axes, spokenAxis(a.Name))
		}
	}
	if len(axes) == 0 || len(r.Results.Best)+len(r.Results.Comparisons) > 0 || len(r.Results.Cells) < 2 {
		return ""
	}
	return "Rows differ in " + words.And(axes) + ", which is other work: none is called best"
}

// spokenAxis is an axis in a sentence.
func spokenAxis(name string) string {
	switch name {
	case "isl":
		return "input length"
	case "osl":
		return "output length"
	}
	return strings.ReplaceAll(name, "_", " ")
}

// some names at most so many of the names that are not empty.
func some(names []string, most int) string {
	names = slices.DeleteFunc(slices.Clone(names), func(s string) bool { return s == "" })
	if len(names) > most {
		names = append(names[:most:most], fmt.Sprintf("%d more", len(names)-most))
	}
	return words.And(names)
}

// rivalsMost is how many cells that may be best are told with their values.
const rivalsMost = 3

// beside is what helps to choose where no cell is shown to be best: the values of
// those that may be, in everything that cells are ranked by, or which comes nearest
// to the limits that none keeps.
func (r *Report) beside() string {
	if len(r.Results.UnderSLO) == 1 && r.Results.UnderSLO[0].Cell == nil && len(r.Results.UnderSLO[0].MayBe) == 0 {
		return r.nearest()
	}
	best := r.asked()
	if len(best) == 0 {
		return ""
	}
	b := best[0]
	if b.Shown || b.Choice != "" || b.Cell == nil || len(b.MayBe) < 2 || len(b.MayBe) > rivalsMost {
		return ""
	}
	var told []string
	apart := slices.DeleteFunc(slices.Clone(r.Results.Objectives), func(o decide.Objective) bool {
		return o.Key == b.Objective.Key || !tellApart(b.MayBe, o.Key)
	})
	for _, c := range b.MayBe {
		var values []string
		for _, o := range apart {
			e, _ := c.Headline().Get(o.Key)
			values = append(values, metrics.Series(o.Tag, o.Stat)+" "+words.Amount(e.Mean, metrics.ShortUnit(o.Unit)))
		}
		if len(values) > 0 {
			told = append(told, c.Cell.Short()+" has "+words.And(values))
		}
	}
	if len(told) == 0 {
		return ""
	}
	return "To choose: " + strings.Join(told, "; ")
}

// worthTelling is how far the values of cells are apart, as a part of the smallest, that
// help to choose between them.
const worthTelling = 0.05

// tellApart tells whether a number of some cells helps to choose between them: all have
// it, and it is not about the same.
func tellApart(cells []*decide.CellResult, key decide.Key) bool {
	least, most := math.Inf(1), 0.0
	for _, c := range cells {
		e, ok := c.Headline().Get(key)
		if !ok || math.IsInf(e.Mean, 0) || math.IsNaN(e.Mean) {
			return false
		}
		least, most = min(least, e.Mean), max(most, e.Mean)
	}
	return most > (1+worthTelling)*least
}

// nearest is the cell with the largest share of requests that keep their limits, over
// the whole run as the limits are judged.
func (r *Report) nearest() string {
	c, e, ok := r.goodEnd(func(a, b float64) bool { return a > b })
	if !ok {
		return ""
	}
	return fmt.Sprintf("Nearest: %s, where %s of the requests meet them", c.Cell.Short(), words.Percent(e.Mean))
}

// goodEnd is the cell whose share of good requests comes before that of all others.
func (r *Report) goodEnd(before func(a, b float64) bool) (cell *decide.CellResult, share stats.Estimate, ok bool) {
	key := decide.Key{Tag: metrics.GoodRequestFraction, Stat: "avg"}
	for i := range r.Results.Cells {
		c := &r.Results.Cells[i]
		e, has := c.Full.Get(key)
		if has && c.Trials > 0 && c.Verdict != validity.Invalid && (!ok || before(e.Mean, share.Mean)) {
			cell, share, ok = c, e, true
		}
	}
	return cell, share, ok
}

// LimitsSentence says how the requests met the limits for single requests: as outcomes
// of the cells, and as what was observed where that is everything.
func (r *Report) LimitsSentence() string { return r.limitsSentence(false) }

// limitsSentence is short where a screen is folded.
func (r *Report) limitsSentence(short bool) string {
	states := map[decide.State]int{}
	judged, never := 0, 0
	for i := range r.Results.Cells {
		for _, s := range r.Results.Cells[i].SLOs {
			judged++
			states[s.State]++
			if s.Undecidable {
				never++
			}
		}
	}
	worst, share, ok := r.goodEnd(func(a, b float64) bool { return a < b })
	if judged == 0 || !ok {
		return ""
	}
	limits := r.limits(worst.Cell)
	if share.Mean == 1 && states[decide.Missed] == 0 {
		said := "every request met " + limits
		if states[decide.Undecided] > 0 && share.HasInterval() && !short {
			said += fmt.Sprintf(" (true share at least %s)", words.Percent(share.Low))
		}
		return said
	}
	if judged == 1 {
		how := map[decide.State]string{
			decide.Held: "99 % is wanted", decide.Missed: "99 % is wanted",
			decide.Undecided: "99 % is wanted: not decided yet",
		}[worst.SLOs[0].State]
		if never > 0 {
			how = "99 % is wanted: cannot be decided, " + worst.SLOs[0].Text
		}
		return fmt.Sprintf("%s of the requests met %s (%s)", words.Percent(share.Mean), limits, how)
	}
	of := "of the requests "
	if short {
		of = ""
	}
	said := fmt.Sprintf("99 %% %smet %s in %d of %s", of, limits, states[decide.Held], words.Count(judged, "cell"))
	if missed := r.missing(); len(missed) > 0 {
		said += fmt.Sprintf(", missed in %d", len(missed))
		if len(missed) < judged && len(missed) <= mostBest {
			said += " (" + some(missed, mostBest) + ")"
		}
	}
	if short {
		if n := states[decide.Undecided]; n > 0 {
			said += fmt.Sprintf(", open in %d", n)
		}
		return said
	}
	if n := states[decide.Undecided] - never; n > 0 {
		said += fmt.Sprintf(", not decided yet in %d", n)
	}
	if never > 0 {
		said += fmt.Sprintf(", cannot be decided in %d (share in doubt)", never)
	}
	return said + fmt.Sprintf("; fewest %s at %s", words.Percent(share.Mean), worst.Cell.Short())
}

// missing are the names of the cells that are shown to miss their limits, in quotation
// marks where a name has commas of its own.
func (r *Report) missing() (names []string) {
	for i := range r.Results.Cells {
		c := &r.Results.Cells[i]
		if !slices.ContainsFunc(c.SLOs, func(s decide.SLOOutcome) bool { return s.State == decide.Missed }) {
			continue
		}
		_, name := c.Cell.Apart()
		if name = cmp.Or(name, c.Cell.Short()); strings.Contains(name, ", ") {
			name = `"` + name + `"`
		}
		names = append(names, name)
	}
	return names
}

// limits are those of a cell for single requests: "TTFT ≤ 100 ms and ITL ≤ 10 ms".
func (r *Report) limits(c *sweep.Cell) string { return limitsOf(c.Resolved.Benchmark.SLOs) }

func limitsOf(slos map[string]float64) string {
	var parts []string
	for _, m := range metrics.Catalogue() { // in the order of the tables
		limit, ok := slos[m.Tag]
		if !ok {
			continue
		}
		op := "≤"
		if m.LargerIsBetter {
			op = "≥"
		}
		parts = append(parts, metrics.Series(m.Tag, "")+" "+op+" "+plainAmount(limit, metrics.ShortUnit(m.Unit)))
	}
	return words.And(parts)
}

// plainAmount is a limit as it was written, with its unit.
func plainAmount(v float64, unit string) string {
	return strings.TrimSpace(fmt.Sprintf("%g %s", v, unit))
}

// GatesSentence counts how the gates ended, over all cells.
func (r *Report) GatesSentence() string { return r.gatesSentence(false) }

// gatesSentence is short where a screen is folded: it counts, and says no rule.
func (r *Report) gatesSentence(short bool) string {
	if len(r.Plan.Gates) == 0 {
		return ""
	}
	all := r.Results.GatesHeld + r.Results.GatesMissed
	missed, yet, never, judged, taken := 0, 0, 0, 0, 0
	for i := range r.Results.Cells {
		for _, g := range r.Results.Cells[i].Gates {
			switch {
			case g.State == decide.Missed:
				missed++
				continue
			case g.State != decide.Undecided:
				continue
			case g.Undecidable:
				never++
			default:
				yet++
			}
			if g.Unusable {
				continue
			}
			if judged++; g.Held {
				taken++
			}
		}
	}
	said := fmt.Sprintf("%d of %d passed", all-missed-yet-never, all)
	if missed > 0 && yet+never > 0 { // without, the rest are missed
		said += fmt.Sprintf(", %d missed", missed)
	}
	if short && yet+never > 0 {
		said, never = said+fmt.Sprintf(", %d open", yet+never), 0
	} else if yet > 0 {
		said += fmt.Sprintf(", %d not decided yet", yet)
		if !short {
			said += fmt.Sprintf(" (limit inside the %.0f %% interval)", 100*r.Results.Level)
		}
	}
	if never > 0 {
		said += fmt.Sprintf(", %d cannot be judged", never)
	}
	if judged > 0 && !short {
		how := "; by value: "
		if s := r.Plan.Experiment.GatesUndecided; s == decide.AsPassed || s == decide.AsMissed {
			how = "; counted as "
		}
		switch taken {
		case judged:
			how += "passed"
		case 0:
			how += "missed"
		default:
			how += fmt.Sprintf("%d passed, %d missed", taken, judged-taken)
		}
		said += how
	}
	if s := r.cleanSentence(); s != "" && short {
		s, _, _ = strings.Cut(s, " (")
		said += "; " + s
	} else if s != "" {
		said += "; " + s
	}
	return said
}

// cleanSentence says that no request failed, and how far that goes.
func (r *Report) cleanSentence() string {
	n := r.Requests.In(record.Answered)
	if r.Requests.Failed > 0 || n == 0 {
		return ""
	}
	most := stats.Share([]stats.Tally{{Hits: 0, Of: float64(n)}}, 0.95).High
	return fmt.Sprintf("no errors in %s (true rate ≤ %.2g %%)", words.Count(n, "request"), 100*most)
}

// simpleGate is a condition on one statistic.
var simpleGate = regexp.MustCompile(`^\s*([a-z0-9_]+?)(?:\.([a-z0-9_]+))?\s*(<=|>=|<|>|==)\s*([0-9.]+)\s*$`)

// gateWords is a gate as people read it, with the unit of its values: "TTFT p99 < 120
// ms"; one that is more than one comparison stays as it was written.
func gateWords(expr string) (said, unit string) {
	m := simpleGate.FindStringSubmatch(expr)
	if m == nil {
		return expr, ""
	}
	row, ok := metrics.Lookup(m[1])
	if !ok || row.Short == "" || row.Unit == "ratio" {
		return expr, ""
	}
	if row.Unit == "ms" { // other names say their unit
		unit = row.Unit
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", metrics.Series(m[1], m[2]), m[3], m[4], unit)), unit
}

// mostGates is how many gates are shown one by one.
const mostGates = 5

// gateLines are the gates that did not plainly pass, missed ones first: the same gate
// once, with as many of its cells and their values as a line holds, at least one: what
// it is, and what was found. A folded screen has the missed ones only.
func (r *Report) gateLines(width, folded int) (out [][2]string) {
	left := 0
	for _, state := range []decide.State{decide.Missed, decide.Undecided} {
		if state == decide.Undecided && folded > 0 {
			break
		}
		var exprs []string
		at := map[string][]string{}
		for i := range r.Results.Cells {
			c := &r.Results.Cells[i]
			for _, g := range c.Gates {
				if g.State != state {
					continue
				}
				if at[g.Gate.Expr] == nil {
					exprs = append(exprs, g.Gate.Expr)
				}
				at[g.Gate.Expr] = append(at[g.Gate.Expr], gateValue(g, c, len(r.Results.Cells) > 1))
			}
		}
		for _, expr := range exprs {
			if len(out) == mostGates {
				left++
				continue
			}
			said, _ := gateWords(expr)
			head := "  " + gateMarks[state] + " " + said + "    "
			out = append(out, [2]string{head, fitting(at[expr], width-words.Width(head))})
		}
	}
	if left > 0 {
		out = append(out, [2]string{"  … ", "and " + words.Count(left, "other gate") + ": aiperf report " + r.Dir})
	}
	return out
}

// fitting joins as many values as fit, at least one, and counts the others.
func fitting(values []string, width int) string {
	for n := len(values); ; n-- {
		line := strings.Join(values[:n], "; ")
		if n < len(values) {
			line += fmt.Sprintf("; %d more", len(values)-n)
		}
		if n == 1 || words.Width(line) <= width {
			return line
		}
	}
}

var gateMarks = map[decide.State]string{decide.Missed: "✗", decide.Undecided: "?"}

// gateValue is what a gate found: "140 ms [131, 149] at candidate, concurrency 16".
func gateValue(g decide.GateOutcome, c *decide.CellResult, several bool) string {
	_, unit := gateWords(g.Gate.Expr)
	text := g.Text
	if value, rest, cut := strings.Cut(text, " ["); unit != "" && cut {
		text = value + " " + unit + " [" + rest
	} else if unit != "" && text != "" && strings.Trim(text, "0123456789.,∞") == "" {
		text += " " + unit
	}
	if several {
		text += " at " + c.Cell.Short()
	}
	if g.Note != "" && g.Note != byValue {
		text += " (" + g.Note + ")"
	}
	return text
}

// byValue is the note of a gate that one run decides.
const byValue = "as observed, by value"

// about is what was measured: "demo at mock: · chat, streaming · concurrency 8 ·
// 550 tokens in, 16 out".
func (r *Report) about() string {
	if len(r.Plan.Cells) == 0 || r.Plan.Cells[0].Resolved == nil {
		return ""
	}
	b := &r.Plan.Cells[0].Resolved.Benchmark
	system := systemOf(b)
	if r.folded > 0 {
		system = words.Clip(system, 40)
	}
	parts := []string{system}
	kind := b.Endpoint.Type
	if b.Endpoint.Streaming {
		kind += ", streaming"
	}
	parts = append(parts, kind)
	for _, a := range sweep.KnownAxes() {
		if !a.Load {
			continue
		}
		if v := a.Of(b); v != nil {
			parts = append(parts, strings.ReplaceAll(a.Name, "_", " ")+" "+fmt.Sprint(v))
		}
	}
	if s := r.lengths(); s != "" {
		parts = append(parts, s)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// systemOf is the model and where it is.
func systemOf(b *schema.Benchmark) string {
	text := func(axis string) string {
		s, _ := sweep.AxisNamed(axis).Of(b).(string)
		return words.Clip(s, 60)
	}
	model, server := text("model"), text("endpoint")
	if e := &b.Endpoint; e.Label == "" && len(e.URLs) == 1 && strings.HasPrefix(e.URLs[0], "mock:") {
		// its options are what it does; those of other servers may be secret
		server = words.Clip(e.Hide.Text(e.URLs[0]), 60)
	}
	if model == "" || server == "" {
		return cmp.Or(model, server)
	}
	return model + " at " + server
}
