package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// marks remembers which signs the table used.
type marks struct {
	front, wide, knee, ms bool
	small                 unsupported
	fewest, most          float64 // values of a run behind an unsupported percentile
	least                 sample  // of these, those that are worth least
	doubted               touched
}

// sample is so many values of a metric in a run, and how many independent ones they are worth.
type sample struct {
	metric         string
	n, worth, sent float64 // values, independent ones, and the requests that were sent for them
	load           decide.Waiting
}

// few remembers a percentile of too few requests.
func (m *marks) few(c *decide.CellResult, h metrics.Headline) {
	n, worth := c.Headline().Least(h.Tag), c.Headline().Effective(h.Tag)
	if n == 0 || failed(c) {
		return
	}
	planned := int64(0)
	if c.Cell.Resolved != nil {
		planned = sweep.Planned(c.Cell.Resolved.Benchmark.Phases)
	}
	if !m.small.keep(h.Stat, cmp.Or(planned, int64(n)), worth) {
		return
	}
	if m.most == 0 || worth*m.least.n < m.least.worth*n {
		m.least = sample{metrics.Series(h.Tag, ""), n, worth, max(n, float64(planned)), c.Waiting()}
	}
	if m.most == 0 {
		m.fewest = n
	}
	m.fewest, m.most = min(m.fewest, n), max(m.most, n)
}

// signs are the remarks on a cell.
func (r *Report) signs(c *decide.CellResult, legend *marks) string {
	if c.Trials == 0 {
		return strings.ReplaceAll(string(c.Status), "_", " ")
	}
	var signs []string
	most := r.folded >= mostFolds // there is no room for their legend
	misses := c.Misses()
	if misses == "" && c.MissesSoFar() != "" {
		misses = c.MissesSoFar() + " so far"
	}
	if c.Front == decide.OnFront && misses == "" && !most {
		signs, legend.front = append(signs, starMark), true
	}
	best, enough := r.advised(c)
	switch {
	case misses != "":
		signs = append(signs, "misses "+misses)
	case enough:
		signs = append(signs, "choose")
	case best:
		signs = append(signs, "best")
	}
	if c.Knee && misses == "" && !most {
		signs, legend.knee = append(signs, "knee"), true
	}
	if c.Verdict == validity.Invalid {
		signs = append(signs, validity.Invalid.String())
	}
	if c.Status == decide.Partial || c.Stopped != nil {
		signs = append(signs, fmt.Sprintf("%d of %d trials", c.Trials, r.Plan.Trials))
	}
	return strings.Join(signs, " ")
}

// advised reports whether the cell is best by the first objective, and whether it is the load
// that is enough: then the one with a little more is not called best.
func (r *Report) advised(c *decide.CellResult) (best, enough bool) {
	best = len(r.Results.Objectives) > 0 && slices.Contains(c.BestFor, r.Results.Objectives[0].Name)
	for _, b := range r.asked() {
		enough = enough || b.Choose == c
		best = best && !(b.Choose != nil && b.Cell == c)
	}
	return best, enough
}

// legend says what the signs of a table mean, and what to type where one can be removed.
func (r *Report) legend(s *sheet, t *grid, m *marks) {
	var parts []string
	most := r.folded >= mostFolds // only marks that change a decision
	switch {
	case most:
	case t.shows("±"):
		parts = append(parts, fmt.Sprintf("± %.0f %% interval", 100*r.Results.Level))
	case t.shows("["):
		parts = append(parts, fmt.Sprintf("[ ] %.0f %% interval", 100*r.Results.Level))
	}
	if m.ms {
		parts = append(parts, "times in ms")
	}
	if m.front {
		parts = append(parts, starMark+" no row is better in both "+r.objectives()+r.withoutStar())
	}
	if m.knee {
		parts = append(parts, "knee: more load adds latency")
	}
	if enough := max(enoughTrials, r.Plan.Trials+2+r.Plan.Trials%2); m.wide {
		parts = append(parts, wideMark+": too few trials, try "+schema.TrialsOption(enough))
	}
	doubted := r.doubted(m.doubted)
	if r.folded > 0 && len(doubted) > 0 && strings.Contains(doubted[len(doubted)-1], ":") { // it takes a line
		defer s.phrases(doubted)
	} else {
		parts = append(parts, doubted...)
	}
	if line := m.indicative(r.longer, r.folded > 0); line != "" && !(most && len(doubted) > 0) {
		parts = append(parts, line)
	}
	s.phrases(parts)
}

// byErrorsMark is the line on figures that nothing but failed requests makes doubtful.
var byErrorsMark = validity.FailedMark + " " + validity.Taint{Check: "errors", Level: validity.Doubtful}.Sentence()

// doubted says what the marks of doubt mean, and what to type where the line of other
// findings has not said it; of failed requests it says which figures are without them.
func (r *Report) doubted(lines touched) []string {
	said := len(r.Doubts) > max(maxDoubts-r.folded, 1)
	failures := ""
	if i := slices.Index(lines, byErrorsMark); i >= 0 && r.Requests.OK > 0 {
		lines, failures = slices.Delete(slices.Clone(lines), i, i+1), r.survivors()
	}
	if r.folded > 0 { // the findings stand above: one phrase a mark
		for i, line := range lines {
			mark, _, _ := strings.Cut(line, " (check ")
			lines[i] = mark
		}
		lines = slices.Compact(lines)
	}
	switch {
	case len(lines) == 0:
	case said: // the findings above end with the command
		lines[len(lines)-1] += ", see above"
	default:
		lines[len(lines)-1] += ": aiperf checks " + r.Dir
	}
	if failures != "" {
		lines = append(lines, failures)
	}
	return lines
}

// indicative says which percentiles rest on too few requests, and what gives enough: where
// consecutive requests are similar, as many more as they are worth less.
func (m *marks) indicative(longer func(requests float64) (flag, value, takes string), short bool) string {
	if len(m.small) == 0 {
		return ""
	}
	q := percentileOf[m.small[len(m.small)-1]]
	need, ok := m.least.need(q)
	if !ok {
		return words.And(m.small) + " uncertain: try " + m.least.unsteady()
	}
	flag, value, takes := longer(need)
	try := "--" + flag + " " + value
	if takes != "" {
		try += ", " + takes
	}
	if short {
		return words.And(m.small) + " uncertain: " + try
	}
	of := words.Grouped(m.fewest)
	if m.most > m.fewest {
		of += " to " + words.Grouped(m.most)
	}
	return fmt.Sprintf("%s uncertain, of %s requests a run: %s%s", words.And(m.small), of, try, m.least.alike(q))
}

// longer is the flag that makes every run of the plan have so many requests, and how long it takes
// then: "request-count", "1200", "about 12m in all".
func (r *Report) longer(requests float64) (flag, value, takes string) {
	return runsOf(requests, r.everyCell(), r.Plan.Trials)
}

// runsOf is the same of some cells, at the rates that they had.
func runsOf(requests float64, cells []*decide.CellResult, trials int) (flag, value, takes string) {
	counted, slowest, all := true, 0.0, 0.0
	for _, c := range cells {
		counted = counted && c.Cell.Resolved != nil && sweep.Planned(c.Cell.Resolved.Benchmark.Phases) > 0
		if e, ok := c.Full.Get(decide.Key{Tag: metrics.RequestThroughput, Stat: "avg"}); ok && e.Mean > 0 {
			slowest = max(slowest, requests/e.Mean)
			all += requests / e.Mean * float64(trials)
		}
	}
	flag, value = "request-count", fmt.Sprintf("%.0f", requests)
	if all == 0 {
		return flag, value, ""
	}
	if !counted { // time ends the runs
		slowest = decide.RoundSeconds(slowest)
		flag, value = "benchmark-duration", fmt.Sprintf("%.0f", slowest)
		all = slowest * float64(len(cells)*trials)
	}
	return flag, value, "about " + words.Span(time.Duration(all*1e9)) + " in all"
}

// mostAsked is how many times the requests that independent ones take a person is told to send.
// Where it would be more, the server or the machine changed over the run: a longer run would
// show more of that.
const mostAsked = 20

// need is how many requests make quantile q certain; false where more would not.
func (s sample) need(q float64) (requests float64, ok bool) {
	requests = decide.RequestsFor(q, s.worth, s.sent)
	return requests, requests <= mostAsked*decide.RequestsFor(q, 0, 0)
}

// fewRounds is how many times each user of a closed loop had a turn where the number says more than
// that of the requests.
const fewRounds = 20

// unsteady says what to do where more requests would not help, and why.
func (s sample) unsteady() string {
	count := fmt.Sprintf("%s requests count as %.0f", words.Grouped(s.n), max(1, math.Floor(s.worth)))
	rounds := s.sent / max(1, float64(s.load.Users))
	switch w := s.load; {
	case w.Asked > 0:
		return slower(w, s.metric)
	case w.Users > 1 && rounds >= 2 && rounds < fewRounds:
		return fmt.Sprintf("a lower --concurrency, or a longer run: all %d users begin at once, and "+
			"%s requests are %.0f rounds of them; "+
			"those of a round have similar %s, so that %s", w.Users, words.Grouped(s.sent), math.Floor(rounds), s.metric, count)
	case w.Users > 1:
		return fmt.Sprintf("a lower --concurrency, or a longer run: %s of the %d users rises and falls together, so that %s",
			s.metric, w.Users, count)
	case w.Open:
		return fmt.Sprintf("a lower rate or a longer run, or look for what changes over the run: "+
			"%s rises and falls so slowly that %s",
			s.metric, count)
	}
	return fmt.Sprintf("a quieter machine, or look for what changes over the run: %s rises and falls so slowly that %s",
		s.metric, count)
}

// alike says why so many requests are asked for: consecutive ones are similar, so that n of
// them say as much as fewer independent ones; "" where the plain number is asked for.
func (s sample) alike(q float64) string {
	if s.worth > 0.8*s.n || decide.RequestsFor(q, s.worth, s.sent) <= decide.RequestsFor(q, s.sent, s.sent) {
		return ""
	}
	return fmt.Sprintf(" (so many because %s consecutive requests with similar %s say as much as %.0f independent ones)",
		words.Grouped(s.n), s.metric, max(1, math.Floor(s.worth)))
}

// withoutStar says what a row without a star is: shown to be worse in both, or not known.
func (r *Report) withoutStar() string {
	worse, open := 0, 0
	for i := range r.Results.Cells {
		switch r.Results.Cells[i].Front {
		case decide.Dominated:
			worse++
		case decide.Open:
			open++
		}
	}
	switch {
	case open == 0:
		return ""
	case worse == 0:
		return "; the same may be true of the others"
	}
	return "; the same may be true of " + words.Count(open, "other")
}

// objectives are the two that the front is about.
func (r *Report) objectives() string {
	if o := r.Results.Objectives; len(o) == 2 {
		return o[0].Name + " and " + o[1].Name
	}
	return "throughput and latency"
}
