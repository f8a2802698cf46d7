package report

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// gates is how they ended, in one line, and those that did not pass.
func (r *Report) gates(s *sheet) {
	line := r.gatesSentence(r.folded > 0)
	if line == "" {
		return
	}
	if s.part(advice); r.Full != nil { // of one run they are the answer
		s.part(essential)
	}
	s.wrapped(words.Pad("gates", r.labelWidth()), line)
	level := fmt.Sprintf("] (%.0f %% interval)", 100*r.Results.Level)
	for i, line := range r.gateLines(min(s.width, sentenceWidth), r.folded) {
		if r.Plan.Trials == 1 && strings.Contains(line[1], " [") { // the legend of no table says it
			line[1], level = strings.Replace(line[1], "]", level, 1), "]"
		}
		if s.part(advice); i > 0 { // the first miss is named
			s.part(missed)
		}
		s.wrapped(line[0], line[1])
	}
}

// GatesSentence counts how the gates ended, over all cells.
func (r *Report) GatesSentence() string { return r.gatesSentence(false) }

// gatesSentence is short where a screen is folded: it counts, and says no rule.
func (r *Report) gatesSentence(short bool) string {
	if len(r.Plan.Gates) == 0 {
		return ""
	}
	all := r.Results.GatesHeld + r.Results.GatesMissed
	missed, yet, never, unmeasured, judged, taken := 0, 0, 0, 0, 0, 0
	few, uncertain := 0, unsupported{} // of those that passed
	for i := range r.Results.Cells {
		for _, g := range r.Results.Cells[i].Gates {
			if g.State == decide.Held && g.Few != "" {
				few++
				uncertain.add(g.Few)
			}
			switch {
			case g.State == decide.Missed:
				missed++
				continue
			case g.State != decide.Undecided:
				continue
			case g.Unmeasured:
				unmeasured++
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
	said, passed := "", all-missed-yet-never-unmeasured
	switch said = fmt.Sprintf("%d of %d passed", passed, all); {
	case all == 1 && missed == 1:
		said = "missed"
	case all == unmeasured:
		return "not measured, which counts as missed"
	case all == yet+never: // "0 of 1 passed" would say that it was missed
		said = "none of " + fmt.Sprint(all) + " decided"
		if all == 1 {
			said = "not decided"
		}
	case few > 0 && few == passed:
		said += ", by an uncertain " + words.And(uncertain)
	case few > 0:
		said += fmt.Sprintf(" (%d by an uncertain %s)", few, words.And(uncertain))
	}
	if missed > 0 && yet+never+unmeasured > 0 { // without, the rest are missed
		said += fmt.Sprintf(", %d missed", missed)
	}
	if unmeasured > 0 {
		said += fmt.Sprintf(", %d not measured", unmeasured)
	}
	if short && all == yet+never { // said already
		never = 0
	} else if short && yet+never > 0 {
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
	if judged > 0 && (!short || taken < judged) { // counted as missed, they decide the exit code
		said += r.countedAs(taken, judged-taken, short)
	}
	if s := r.cleanSentence(); s != "" && short && r.Full != nil { // a line above it says so
		return said
	} else if s != "" && short {
		s, _, _ = strings.Cut(s, " (")
		said += "; " + s
	} else if s != "" {
		said += "; " + s
	}
	return said
}

// countedAs says what the gates that are not decided count as, so many as passed and so many as missed,
// and by what, where nothing is folded.
func (r *Report) countedAs(passed, missed int, short bool) string {
	how := ", by their values"
	switch s := r.Plan.Experiment.GatesUndecided; {
	case s == decide.AsPassed:
		return "; counted as passed"
	case s == decide.AsMissed:
		return "; counted as missed"
	case short:
		how = ""
	case passed+missed == 1:
		how = ", by its value"
	}
	switch {
	case passed > 0 && missed > 0 && short:
		return fmt.Sprintf("; counted: %d passed, %d missed", passed, missed)
	case missed == 0:
		return "; counted as passed" + how
	case passed == 0:
		return "; counted as missed" + how
	}
	return fmt.Sprintf("; %d counted as passed, %d as missed", passed, missed) + how
}

// missedGates names the gates that were missed behind the only comparison's answer: "; missed: TTFT p99 < 120
// ms"; "" for none, and where several are compared, to which of them it belongs the gates' own lines say.
func (r *Report) missedGates() string {
	var names []string
	for i := range r.Results.Cells {
		for _, g := range r.Results.Cells[i].Gates {
			if said, _ := gateWords(g.Gate.Expr); g.State == decide.Missed && !slices.Contains(names, said) {
				names = append(names, said)
			}
		}
	}
	if len(names) == 0 || len(r.Results.Comparisons) != 1 {
		return ""
	}
	return "; missed: " + some(names, 2)
}

// cleanSentence says that no request failed, and how far that goes.
func (r *Report) cleanSentence() string {
	n := r.Requests.In(record.Answered)
	if r.Requests.Failed > 0 || n == 0 {
		return ""
	}
	most := stats.Share([]stats.Tally{{Hits: 0, Of: float64(n)}}, cmp.Or(r.Results.Level, 0.95)).High
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
// it is, and what was found. A folded screen has only those that count as missed.
func (r *Report) gateLines(width, folded int) (out [][2]string) {
	left := 0
	for _, state := range []decide.State{decide.Missed, decide.Undecided} {
		var exprs []string
		at := map[string][]string{}
		for i := range r.Results.Cells {
			c := &r.Results.Cells[i]
			for _, g := range c.Gates {
				if g.State != state || folded > 0 && state == decide.Undecided && !g.Unmeasured {
					continue
				}
				if at[g.Gate.Expr] == nil {
					exprs = append(exprs, g.Gate.Expr)
				}
				at[g.Gate.Expr] = append(at[g.Gate.Expr], gateValue(g, c, len(r.Results.Cells) > 1, folded > 0))
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
// A miss says why it is one despite a doubt where nothing is folded.
func gateValue(g decide.GateOutcome, c *decide.CellResult, several, folded bool) string {
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
	despite := g.State == decide.Missed && (folded || strings.HasPrefix(g.Note, observed))
	if g.Note != "" && g.Note != byValue && !despite {
		text += " (" + g.Note + ")"
	}
	return text
}

// byValue is the note of a gate that one run decides. One that begins as observed says how far the value
// may be from the truth, which makes no miss a pass.
const (
	byValue  = "as observed, by value"
	observed = "as observed; "
)
