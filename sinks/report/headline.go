package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// Headline is what the comparison says in one sentence, the same on every screen and in
// every file: a function of the outcomes of the rows, with the size of what decides and the
// word that the exit code follows from.
func (c Comparison) Headline() string {
	o := c.Outcome()
	a, b := words.Line(c.Candidate), words.Line(c.Baseline)
	is := func(v decide.Verdict) func(decide.Row) bool {
		return func(r decide.Row) bool { return r.Outcome == v }
	}
	said := ""
	switch {
	case o == decide.Worse && slices.ContainsFunc(c.Primary(), is(decide.Better)):
		said = fmt.Sprintf("%s is worse than %s in %s, better in %s", a, b,
			c.metrics(is(decide.Worse))+c.inCells(is(decide.Worse)),
			c.metrics(is(decide.Better))+c.inCells(is(decide.Better)))
	case o == decide.Worse || o == decide.Better:
		said = fmt.Sprintf("%s is %s than %s", a, c.comparative(is(o), o), b)
		certain := slices.ContainsFunc(c.Primary(), c.certain(is(o)))
		if said += cmp.Or(c.inCells(is(o)), c.size(is(o))); c.severalCells() && !certain {
			said += " in " + c.metrics(is(o))
		}
		said += c.unjudged(is(o))
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
		said = fmt.Sprintf("No decision between %s and %s: with one trial of each, no difference can be told from chance; measure both with --num-profile-runs 6 (%d is the least that gives an interval)", b, a, stats.FewestTrials)
	default:
		return c.openSentence(a, b)
	}
	return said + " (" + string(o) + ")"
}

// openSentence tells what more trials may decide from what they cannot. The outcome stands
// before what is shown already, so that a part that is better is not read as the whole.
func (c Comparison) openSentence(a, b string) string {
	open := func(never bool) string {
		return c.metrics(func(r decide.Row) bool {
			return r.Outcome == decide.Unclear && !r.Harmless &&
				r.Undecidable == never
		})
	}
	yet, never := open(false), open(true)
	few := words.CountOf(c.Trials, "trial leaves", "trials leave")
	if yet != "" {
		yet += " open"
	}
	if yet != "" && c.Trials < stats.FewestTrials {
		yet += fmt.Sprintf(" (%d is the least that gives an interval)", stats.FewestTrials)
	}
	if n, _ := c.trialsWanted(); n.Known() && n.Least <= mostAdvised && yet != "" {
		yet += " (" + strings.TrimSuffix(n.String(), " trials") + " should do)"
	}
	better := func(r decide.Row) bool { return r.Outcome == decide.Better }
	if found := c.metrics(better); found != "" && yet+never != "" { // what is known comes first
		said := fmt.Sprintf("No decision as a whole (%s), but %s is %s than %s%s", decide.Unclear, a,
			c.comparative(better, decide.Better), b, cmp.Or(c.inCells(better), c.size(better)))
		if yet != "" {
			said += "; " + few + " " + yet
		}
		if rest := c.unjudged(better); rest != "" {
			return said + rest
		}
		if never != "" {
			said += "; " + never + " cannot be compared" + c.reasons()
		}
		return said
	}
	between := fmt.Sprintf("No decision yet between %s and %s (%s)", b, a, decide.Unclear)
	switch {
	case yet != "" && never != "":
		return fmt.Sprintf("%s: %s %s, and %s cannot be compared", between, few, yet, never) + c.reasons()
	case never != "":
		return fmt.Sprintf("No decision between %s and %s (%s): %s cannot be compared", b, a, decide.Unclear, never) + c.reasons()
	case yet != "":
		return fmt.Sprintf("%s: %s %s", between, few, yet)
	}
	said := fmt.Sprintf("No decision between %s and %s (%s)", b, a, decide.Unclear)
	if left := c.metrics(func(r decide.Row) bool { return r.Outcome == decide.Unclear }); left != "" {
		said += ": whether " + left + " changed by more than the margin is open"
	}
	return said
}

// unjudged counts the workloads that do not carry an outcome because nothing can be judged
// there, and says why: "; the other 2 cannot be judged: …"; "" where there are none, or only
// one workload.
func (c Comparison) unjudged(carries func(decide.Row) bool) string {
	if !c.severalCells() {
		return ""
	}
	all, some, never := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, r := range c.Primary() {
		all[r.Cell] = true
		some[r.Cell] = some[r.Cell] || carries(r)
		never[r.Cell] = never[r.Cell] || r.Undecidable
	}
	carrying, n := 0, 0
	for cell := range all {
		switch {
		case some[cell]:
			carrying++
		case never[cell]:
			n++
		}
	}
	switch {
	case n == 0:
		return ""
	case n == len(all)-carrying && n == 1:
		return "; the other cannot be judged" + c.reasons()
	case n == len(all)-carrying:
		return fmt.Sprintf("; the other %d cannot be judged", n) + c.reasons()
	}
	return fmt.Sprintf("; %d cannot be judged", n) + c.reasons()
}

// requestsFailed is why figures of the others are in doubt; a remark says which and how many.
const requestsFailed = "requests failed"

// reasons are why rows cannot be decided: ", because requests failed and the figures are in doubt (check
// coalesced); missing on one side".
func (c Comparison) reasons() string {
	var notes, checks []string
	failed := false
	for _, r := range c.Primary() {
		switch {
		case !r.Undecidable:
		case r.Check == validity.Errors:
			failed = true
		case r.Check != "" && !slices.Contains(checks, r.Check):
			checks = append(checks, r.Check)
		case r.Check == "" && r.Note != "" && !slices.Contains(notes, r.Note):
			notes = append(notes, r.Note)
		}
	}
	var because []string
	if failed {
		because = append(because, requestsFailed)
	}
	switch {
	case len(checks) > 1:
		because = append(because, "the figures are in doubt (checks "+some(checks, maxChanges)+")")
	case len(checks) == 1:
		because = append(because, "the figures are in doubt (check "+checks[0]+")")
	}
	switch {
	case len(because) == 0 && len(notes) == 0:
		return ""
	case len(because) == 0:
		return ": " + some(notes, 2)
	case !failed && len(notes) == 0:
		return ": " + because[0]
	case !failed:
		return ": " + because[0] + "; " + some(notes, 2)
	case len(notes) == 0:
		return ", because " + words.And(because)
	}
	return ", because " + words.And(because) + "; " + some(notes, 2)
}

// size is the change that decides, of a comparison of one workload: ": TTFT p50 +12.7 %
// [+5.4, +20.5]". Of several metrics it is the one that is furthest beyond its margin, of
// those that are certain if any is, and the others are counted; "" for several workloads, whose
// sizes are a range.
func (c Comparison) size(carries func(decide.Row) bool) string {
	if c.severalCells() {
		return ""
	}
	only := func(is func(decide.Row) bool) []decide.Row {
		return slices.DeleteFunc(slices.Clone(c.Primary()), func(r decide.Row) bool { return !is(r) })
	}
	all, rows := only(carries), only(c.certain(carries))
	if len(rows) == 0 {
		rows = all
	}
	if len(rows) == 0 {
		return ""
	}
	most := slices.MaxFunc(rows, func(a, b decide.Row) int { return cmp.Compare(inMargins(a), inMargins(b)) })
	if most.NoRuns() {
		return ": " + most.Note
	}
	said := ": " + saidName([]decide.Row{most}) + " " + extent([]decide.Row{most}, most.Outcome) + doubtMark(most)
	if n := len(all) - 1; n > 0 {
		said += ", and " + words.Count(n, "more metric")
	}
	return said
}

// inMargins is how many margins a change is wide, on the scale of ratios; ∞ for one without a
// size, to requests that never end.
func inMargins(r decide.Row) float64 {
	if math.IsNaN(r.Change) {
		return math.Inf(1)
	}
	if points, _, _, ok := r.Points(); ok {
		return math.Abs(points) / r.Margin
	}
	return math.Abs(math.Log1p(r.Change)) / r.Margin
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

// certain leaves out the rows of percentiles that too few requests make uncertain.
func (c Comparison) certain(carries func(decide.Row) bool) func(decide.Row) bool {
	return func(r decide.Row) bool { return carries(r) && !r.Few() }
}

// inCells counts the cells that carry an outcome, where there are several: by what is
// certain, if anything is.
func (c Comparison) inCells(carries func(decide.Row) bool) string {
	if !c.severalCells() {
		return ""
	}
	if certain := c.certain(carries); slices.ContainsFunc(c.Primary(), certain) {
		carries = certain
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
	var keys []decide.Key
	of := map[decide.Key][]decide.Row{}
	for _, r := range c.Primary() {
		if !carries(r) {
			continue
		}
		if of[r.Key] == nil {
			keys = append(keys, r.Key)
		}
		of[r.Key] = append(of[r.Key], r)
	}
	var names []string
	for _, k := range keys {
		names = append(names, saidName(of[k]))
	}
	return some(names, maxChanges)
}

// saidName is the metric of some rows in a sentence, which says where too few requests
// make it uncertain.
func saidName(rows []decide.Row) string {
	if slices.ContainsFunc(rows, decide.Row.Few) {
		return shortName(rows[0]) + " (of few requests)"
	}
	return shortName(rows[0])
}

// margins are those of the primary metrics: "5 %", or "5 % (from p95 on 15 %, errors % 1 point)".
func (c Comparison) margins() string {
	least, most := math.Inf(1), 0.0
	var shares []string
	for _, r := range c.Primary() {
		if !r.Share() {
			least, most = min(least, r.Margin), max(most, r.Margin)
			continue
		}
		if said := shortName(r) + " " + InMargin(r); !slices.Contains(shares, said) {
			shares = append(shares, said)
		}
	}
	switch {
	case math.IsInf(least, 1):
		return strings.Join(shares, ", ")
	case least < most:
		shares = slices.Insert(shares, 0, inPercent(most)+" from p95 on")
	}
	if len(shares) == 0 {
		return inPercent(least)
	}
	return fmt.Sprintf("%s (%s)", inPercent(least), strings.Join(shares, ", "))
}

// tooCoarse says why the comparison could not have found what it must be able to.
func (c Comparison) tooCoarse() string {
	rows := c.Blind()
	worst := slices.MaxFunc(rows, func(a, b decide.Row) int { return cmp.Compare(finest(a), finest(b)) })
	name := shortName(worst)
	if math.IsInf(finest(worst), 1) {
		return fmt.Sprintf("a change of %s must be found, and %s shows none: %s", sized(worst, worst.MustDetect), name,
			cmp.Or(worst.Note, "no interval"))
	}
	return fmt.Sprintf("a change of %s must be found, and in %s this test finds %s and more",
		sized(worst, worst.MustDetect), name, sized(worst, worst.Detectable))
}

// finest is the smallest change that a row can show, ∞ where it can show none.
func finest(r decide.Row) float64 {
	if math.IsNaN(r.Detectable) {
		return math.Inf(1)
	}
	return r.Detectable
}
