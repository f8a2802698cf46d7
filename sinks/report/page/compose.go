package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

const (
	detailed   = 12  // cells that get charts of their own, if they fit
	fewest     = 3   // of those, however large they are
	detailMost = 300 // cells that are told one by one
	rowsMost   = 2000
	budget     = 1_800_000 // bytes that pictures may take together
	shown      = 3         // findings above the table
	dataMost   = 100       // rows of numbers below a chart
	barsMost   = 200       // bars of the timeline of the only cell: each is a line of the file
	barsOfSlot = 60        // of one slot: more could not be told apart
	barsTold   = 20        // bars of a chart that the numbers below it tell
	textLimit  = 400
	slowestFew = 5
)

// compose fills the page in.
func compose(d *chart.Data, said []string) (*Page, error) {
	p := &Page{Name: d.Name, Verdict: d.Verdict}
	d.ByLoad()
	d.ByWork()
	_, most := trialsOf(d)
	checks, err := readChecks(d)
	if err != nil {
		return nil, err
	}
	errs, err := readErrors(d)
	if err != nil {
		return nil, err
	}
	answers, scope := Answers(d, said)
	p.Scope = scope
	p.findings(placed(d, checks))
	p.Passed = len(checks) == 0
	if s := failures(errs, ofSystems(d, errs, "%s of %s requests of %s failed"), d.Requests.Total, d.AllFailed()); s != "" && d.AllFailed() {
		answers = slices.Insert(answers, 1, s)
	} else if s != "" && 2*failing(errs) > d.Requests.Total && d.Held() == nil {
		answers = append([]string{s}, answers...) // the figures are of the few others; a search asks for them
		p.dropFinding(validity.Errors)
	} else if s != "" && !putFinding(p.Findings, validity.Errors, s) {
		answers = append(answers, s)
	}
	if d.AllFailed() {
		p.dropFinding(validity.Errors)
	}
	answers = onceSaid(answers)
	answers[0] = begun(answers[0], d)
	for i, s := range answers { // a number and its unit stay on one line
		answers[i] = joinedUnit(s)
	}
	p.Answer, p.Rest = answers[0], answers[1:]
	if len(d.Compared) != 1 && len(p.Rest) > 0 { // what follows a comparison is about each result
		n := max(1, ofTiers(d, p.Rest))
		p.More, p.Rest = p.Rest[:n], p.Rest[n:]
	}
	if s := relied(d); s != "" {
		p.More = append([]string{s}, p.More...)
	}
	if s := interrupted(d); s != "" {
		p.More = append([]string{s}, p.More...)
	}
	p.answered(d)
	p.Levels = joinedUnit(levelsOf(d, append(slices.Clip(p.More), p.Answer)))
	p.Words = terms(d)
	p.told(d)
	p.tiles(d, errs)
	p.unjudged(d)
	p.table(d, most)
	p.pictures(d)
	p.details(d, checks, errs)
	alone(p.Charts)
	for i := range p.Details {
		alone(p.Details[i].Charts)
	}
	return p, p.facts(d)
}

// levelsOf says what the intervals of some sentences hold, which are of changes or of the figures of the only cell;
// "" where there is none, or the sentences say it.
func levelsOf(d *chart.Data, sentences []string) string {
	if !slices.ContainsFunc(sentences, func(s string) bool { return anyInterval.MatchString(s) }) {
		return ""
	}
	_, most := trialsOf(d)
	switch {
	case d.LevelsSaid != "":
		return "[ ] of changes: " + d.LevelsSaid + " · [ ] of the table: 95 %"
	case len(d.Cells) != 1 || slices.ContainsFunc(sentences, func(s string) bool {
		return strings.Contains(s, "interval")
	}):
		return ""
	case most > 1:
		return "[ ]: 95 % intervals over " + trials(d)
	}
	return "[ ]: 95 % intervals within the run"
}

// onceSaid leaves out of later sentences the parts that the first one has: of one workload it
// has the change that decides.
func onceSaid(sentences []string) []string {
	const between = " · "
	for i, s := range sentences[1:] {
		if parts := strings.Split(s, between); len(parts) > 1 {
			parts = slices.DeleteFunc(parts, func(part string) bool {
				return strings.Contains(strings.ToLower(sentences[0]), strings.ToLower(part))
			})
			sentences[i+1] = strings.Join(parts, between)
		}
	}
	return slices.DeleteFunc(sentences, func(s string) bool { return s == "" })
}

// begun is a sentence with a capital letter, unless it begins with a name that somebody gave.
func begun(sentence string, d *chart.Data) string {
	first, _, _ := strings.Cut(sentence, " ")
	plain := append([]string{metrics.Accuracy}, d.Axes...)
	if !slices.ContainsFunc(plain, func(a string) bool { return strings.HasPrefix(chart.Spoken(a)+" ", first+" ") }) {
		return sentence
	}
	return strings.ToUpper(sentence[:1]) + sentence[1:]
}

// answered brings into the head what belongs there, and takes from its sentence what is too long for it.
func (p *Page) answered(d *chart.Data) {
	if p.Verdict != validity.Invalid && len(p.Findings) > 1 {
		p.Findings, p.Folded = p.Findings[:1:1], p.Findings[1:]
	}
	if i := slices.IndexFunc(p.Rest, func(s string) bool { return strings.HasPrefix(s, "gates: ") }); i >= 0 {
		p.More = append(slices.Clip(p.More), p.Rest[i])
		p.Rest = slices.Delete(p.Rest, i, i+1)
	}
	if best, where, ok := strings.Cut(p.Answer, "; the limit lies "); ok {
		p.Answer, p.More = best, append([]string{"the limit lies " + where}, p.More...)
	}
	const clauses = 2 // the load that holds, and the one that is too much
	if parts := strings.SplitAfterN(p.Answer, "; ", clauses+1); d.Searched() && len(parts) > clauses {
		p.Answer = strings.TrimSuffix(strings.Join(parts[:clauses], ""), "; ")
		p.More = append([]string{parts[clauses]}, p.More...)
	}
}

// ofTiers is how many sentences it takes until each of several limits of a search has its answer, and the last one
// what it is an answer to; 0 where there is one limit.
func ofTiers(d *chart.Data, said []string) (n int) {
	for _, tier := range d.Tiers() {
		for i, s := range said {
			if strings.HasPrefix(strings.ToLower(s), strings.ToLower(tier.Name)+": ") {
				n = max(n, i+1)
			}
		}
	}
	for limit := false; n > 0 && n < len(said) && !limit; n++ {
		limit = strings.HasPrefix(strings.ToLower(said[n]), "limit: ")
	}
	return n
}

// interval is a value with its bounds.
func interval(s chart.Stat) string {
	return strings.TrimSpace(words.Number(s.Value) + " " + bounds(s))
}

// vague is the factor between the ends of an interval from which on it says nothing.
const vague = 10

// bounds are those of an interval, "" for none and for one that has no width in
// the digits that are shown.
func bounds(s chart.Stat) string {
	low, high := words.Number(s.Low), words.Number(s.High)
	switch {
	case math.IsNaN(s.Low) || math.IsNaN(s.High) || low == high:
		return ""
	case s.Low > 0 && s.High > vague*s.Low:
		return "too few trials"
	}
	return "[" + low + ", " + high + "]"
}

// putFinding gives the finding of a check other words; false where it does not stand above the
// figures.
func putFinding(list []Finding, check, detail string) bool {
	i := slices.IndexFunc(list, func(f Finding) bool { return f.Check == check })
	if i >= 0 {
		f := &list[i]
		f.Detail, f.At = detail, "" // it is of all of them
		f.Where = strings.Replace(f.Where, "the worst of", "in", 1)
	}
	return i >= 0
}

// dropFinding takes the finding of a check away, which the answer has said.
func (p *Page) dropFinding(check string) {
	p.Findings = slices.DeleteFunc(p.Findings, func(f Finding) bool { return f.Check == check })
}

// findings puts what is in doubt above everything, a line a check.
func (p *Page) findings(checks []doubt) {
	for _, g := range grouped(checks, p.Verdict) {
		if len(p.Findings) == shown {
			p.MoreFindings = "More below, cell by cell; aiperf checks DIR says all."
			break
		}
		p.Findings = append(p.Findings, g)
	}
}

// unjudged says that the verdict is not of results that another program wrote.
func (p *Page) unjudged(d *chart.Data) {
	n, whose := 0, ""
	for _, dir := range d.Dirs {
		if d.Foreign[dir] != "" {
			n++
			whose = d.Foreign[dir]
		}
	}
	if n == 0 || n == len(d.Dirs) {
		return
	}
	p.Scope = fmt.Sprintf("(%d of %s) · ", len(d.Dirs)-n, words.Count(len(d.Dirs), "result")) + p.Scope
	has := "has"
	if n > 1 {
		has = "have"
	}
	p.Unjudged = fmt.Sprintf("%d of %s %s no verdict and no checks: %s's files do not say whether the client kept up.",
		n, words.Count(len(d.Dirs), "result"), has, whose)
}

// details are the cells one by one. A large matrix shows pictures of some, as
// many as the page bears, and a huge one tells of some only, doubtful ones first;
// both is said.
func (p *Page) details(d *chart.Data, checks []doubt, errs []failed) {
	told := d.Cells
	if len(told) > detailMost {
		told = slices.Clone(told)
		slices.SortStableFunc(told, func(a, b *chart.Cell) int { return cmp.Compare(b.Verdict, a.Verdict) })
		for i := range p.Rows { // where nothing is told, no link leads
			if slices.Contains(told[detailMost:], d.Cells[i]) {
				p.Rows[i].Cells[0].Link = ""
			}
		}
		told = told[:detailMost]
		slices.SortFunc(told, func(a, b *chart.Cell) int { return a.Index - b.Index })
		p.Left = fmt.Sprintf("%d of %s cells are described here, those in doubt before others; the tables hold all.",
			detailMost, words.Whole(int64(len(d.Cells))))
	}
	pictured := p.pictured(d, told)
	if len(pictured) < len(told) {
		p.Sampled = fmt.Sprintf("%d of %s cells have charts of their own here; aiperf plot DIR draws them for every cell.",
			len(pictured), words.Whole(int64(len(d.Cells))))
	}
	for _, c := range told {
		x := Detail{
			Index: c.Index, Label: d.Label(c), Reason: words.Clip(c.Reason, textLimit), Verdict: c.Verdict,
			Slowest: slowest(d, c),
		}
		x.Checks = grouped(ofCell(checks, c), c.Verdict)
		x.Errors = errorsOf(errs, c)
		if s := failuresOf(d, errs, c); s != "" {
			putFinding(x.Checks, validity.Errors, s)
		}
		own, ok := pictured[c]
		switch {
		case ok && len(d.Cells) == 1: // the charts of the only cell are those of the page
			p.Charts = append(p.Charts, own.Charts...)
			for _, m := range own.Missing {
				p.lacks(m)
			}
		case ok:
			x.Charts = own.Charts
			for _, m := range own.Missing { // below the name of the cell
				x.Missing = append(x.Missing, &draw.Chart{
					Title: strings.TrimSuffix(m.Title, ": "+x.Label), Missing: m.Missing,
				})
			}
		}
		p.Details = append(p.Details, x)
	}
}

// pictured are the charts of cells spread over those that are told of: of all
// where they are few, else as many as the page has room for.
func (p *Page) pictured(d *chart.Data, told []*chart.Cell) map[*chart.Cell]*Page {
	size := len(p.Picture)
	if p.Head != nil {
		size += p.Head.size()
	}
	for i := range p.Charts {
		size += p.Charts[i].size()
	}
	out := map[*chart.Cell]*Page{}
	n := min(len(told), detailed)
	bars, ofSlot := barsMost, barsOfSlot
	if n > 1 { // many timelines, each looked at by few
		bars, ofSlot = barsMost*2/3, barsOfSlot*2/3
	}
	for i := 0; i < n; i++ {
		c := told[i*(len(told)-1)/max(n-1, 1)]
		own := &Page{}
		for _, r := range chart.Catalogue() {
			if r.Cellwise {
				if x := thin(r.Build(d, c), bars, ofSlot); x.Missing != "" {
					own.Missing = append(own.Missing, x)
				} else {
					own.Charts = append(own.Charts, pictured(x, Broad))
				}
			}
		}
		if i == 0 && len(told) > detailed { // what one takes, all take
			one := 1
			for k := range own.Charts {
				one += own.Charts[k].size()
			}
			n = min(n, max(fewest, (budget-size)/one))
		}
		out[c] = own
	}
	return out
}

// size is about how many bytes of the page a chart takes.
func (c *Chart) size() int {
	n := len(c.SVG) + len(c.Narrow)
	for _, p := range c.Numbers {
		for _, row := range p.Rows {
			n += 10
			for _, text := range row {
				n += len(text) + 9
			}
		}
	}
	return n
}

// thin keeps a page small, and the bars of a timeline so wide that they can be seen: of
// more than that the first ones, which is said.
func thin(c *draw.Chart, most, ofSlot int) *draw.Chart {
	if !strings.HasPrefix(c.ID, "timeline") || len(c.Panels) == 0 {
		return c
	}
	p := c.Panels[0]
	var begins []float64
	slots := map[float64]bool{}
	for _, s := range p.Series {
		for _, r := range s.Rects {
			begins = append(begins, r.X0)
			slots[math.Floor(r.Y0)] = true
		}
	}
	if most = min(most, ofSlot*len(slots)); len(begins) <= most {
		return c
	}
	slices.Sort(begins)
	end := begins[most-1]
	p.Series, p.Marks = slices.Clone(p.Series), nil
	p.X.Label, _, _ = strings.Cut(p.X.Label, " (the first")
	used := 0.0 // slots that still have a bar
	for k := range p.Series {
		p.Series[k].Rects = slices.DeleteFunc(slices.Clone(p.Series[k].Rects),
			func(r draw.Rect) bool { return r.X0 > end })
		for _, r := range p.Series[k].Rects {
			used = max(used, r.Y1)
		}
	}
	p.Y.Ticks = slices.DeleteFunc(slices.Clone(p.Y.Ticks), func(t draw.Tick) bool { return t.At > used })
	out := *c
	out.Panels = []draw.Panel{p}
	_, rest, cut := strings.Cut(c.Footer, cutMark)
	if !cut {
		rest = c.Footer
	}
	out.Footer = "the first " + words.Number(end) + cutMark + rest
	return &out
}

// cutMark stands in the footer of a timeline of which a part is shown.
const cutMark = " s · "

// slowest are the requests that took longest.
func slowest(d *chart.Data, c *chart.Cell) [][]string {
	r := d.Requests
	var ids []int // the slowest so far, the slowest first; of equal ones the first
	for i := range r.Cell {
		if r.Cell[i] != c || !r.OK[i] || !r.InWindow[i] {
			continue
		}
		at := len(ids)
		for at > 0 && cmp.Compare(r.Latency[i], r.Latency[ids[at-1]]) > 0 {
			at--
		}
		if at < slowestFew {
			ids = slices.Insert(ids[:min(len(ids), slowestFew-1)], at, i)
		}
	}
	var out [][]string
	for _, i := range ids {
		out = append(out, []string{
			figure(r.ID[i]), strconv.Itoa(r.Trial[i] + 1), words.Number(r.Sent[i]), words.Number(r.TTFT[i]),
			words.Number(r.Latency[i]), figure(r.OSL[i]),
		})
	}
	return out
}
