// Package verdict says whether the numbers of a run are the server's. In goes
// evidence: what the engine did, what the records show, what the host looked
// like. Out come findings, one per check of the catalogue, and the worst of them
// is the verdict. Nothing here runs, reads or writes anything.
package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/schema"
)

// Verdict on a measurement, in the words of everybody.
type Verdict = validity.Verdict

// The verdicts that checks give, from good to bad.
const (
	Valid    = validity.Valid
	Degraded = validity.Degraded
	Invalid  = validity.Invalid
)

// Finding is what one check found about one run, cell or plan.
type Finding struct {
	Check   string   `json:"check"`
	Kind    Kind     `json:"kind"`
	Verdict Verdict  `json:"verdict"`
	Noted   bool     `json:"noted,omitempty"` // past its limit, by a check that does not move the verdict
	Value   float64  `json:"value"`
	Warn    *float64 `json:"warn,omitempty"`
	Fail    *float64 `json:"fail,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Detail  string   `json:"detail,omitempty"`  // what it means, in words
	Because []string `json:"because,omitempty"` // what would explain it: the causes that were seen in the same run
	Try     string   `json:"try,omitempty"`     // what to do about it
	Taints  Touched  `json:"taints,omitempty"`  // the numbers that it touches, and how badly
	// what the check found beside Detail, of other numbers that it touches
	Also []string `json:"also,omitempty"`
	// how far single numbers may be off, where that is known
	Ranges validity.Ranges `json:"ranges,omitempty"`
	places []place         // where it does, of a finding over a plan
	told   bool            // as of its reading
}

// place is what a reading touches, and in which runs of the plan; nil: in all.
type place struct {
	spots  []Spot
	taints Touched
}

// Touched are the numbers that a finding touches, each with how badly: a metric,
// or one statistic of it ("inter_token_latency.p90"). * is all of them.
type Touched map[string]validity.Level

// Reading is one value of a check beside its limits. A limit that is NaN
// cannot be crossed. Below says that small values are the bad ones. A reading in
// another unit than its check's says so; the limits that an experiment sets are
// not for it.
type Reading struct {
	Value, Warn, Fail float64
	Unit              string // "" is the check's
	Below             bool
	Detail            string // the fact, as true of a clean run
	So                string // what follows when it is not clean
	Try               string // what to do about it
	// the metrics in doubt, or single statistics of them ("inter_token_latency.p90"); nil for the check's
	Touches []string
	// how far single numbers may be off, where the reading bounds them
	Ranges validity.Ranges
	At     []Spot // the runs of the plan in which they are; nil for all
	Mild   bool   // it marks the metrics and leaves the verdict alone
	Told   bool   // its words say why: nothing else that was seen explains it
	asked  bool   // the experiment set the limit: it counts whatever the kind
}

// crossed places the value among its limits.
func (r Reading) crossed() Verdict {
	beyond := func(limit float64) bool {
		if r.Below {
			return r.Value < limit
		}
		return r.Value > limit
	}
	switch {
	case beyond(r.Fail):
		return Invalid
	case beyond(r.Warn):
		return Degraded
	}
	return Valid
}

// Check is one row of the catalogue. Read returns no reading when the check
// does not apply: then it is absent, not passed. Of several readings the worst
// is told; each touches its own numbers.
type Check struct {
	ID      string
	Kind    Kind
	Unit    string
	Doc     string
	Reads   string   // the evidence that it rests on
	Limits  string   // what each verdict takes, unless the experiment sets its own
	Try     string   // what helps, as a rule
	Touches []string // the metrics that it makes doubtful
	Of      Of       // what it judges, where not every run
	Whole   bool     // it holds counts against the records, and says nothing where some were lost: sink does
	Read    func(*Evidence) []Reading
}

// checks is the catalogue of what is asked of every run. To add one, add a
// literal to the list of its kind and a test that flips it.
func checks() []Check { return slices.Concat(harms, workloads, causes, precisions) }

// Judge runs the catalogue over e. limits are the experiment's own thresholds.
func Judge(e *Evidence, limits map[string]schema.Threshold) []Finding {
	e.sortSamples()
	var found []Finding
	for _, c := range checks() {
		if c.Whole && e.lost() > 0 {
			continue
		}
		readings := c.Read(e)
		if len(readings) == 0 {
			continue
		}
		for i := range readings {
			override(&readings[i], limits[c.ID])
		}
		found = append(found, finding(c, readings))
	}
	explain(found)
	return found
}

// past is how far the value is beyond its first limit, as a ratio.
func (r Reading) past() float64 {
	limit := r.Warn
	if math.IsNaN(limit) {
		limit = r.Fail
	}
	if !(limit > 0) {
		return math.Abs(r.Value)
	}
	if r.Below {
		return limit / math.Max(r.Value, 1e-12)
	}
	return r.Value / limit
}

// mostCauses is how many causes stand under a harm.
const mostCauses = 1

// explain tells under each harm what was seen in the same run that would cause
// it, the furthest beyond its limit first.
func explain(found []Finding) {
	var seen []Finding
	for _, f := range found {
		if f.Kind == Cause && (f.Noted || f.Verdict > Valid) {
			seen = append(seen, f)
		}
	}
	slices.SortStableFunc(seen, func(a, b Finding) int { return cmp.Compare(b.Beyond(), a.Beyond()) })
	for i := range found {
		if f := &found[i]; f.Kind == Harm && f.Verdict > Valid && !f.told {
			for _, c := range seen[:min(len(seen), mostCauses)] {
				f.Because = append(f.Because, c.Detail)
			}
		}
	}
}

func override(r *Reading, t schema.Threshold) {
	if r.Unit != "" {
		return
	}
	if t.Warn != nil {
		r.Warn, r.asked = *t.Warn, true
	}
	if t.Fail != nil {
		r.Fail, r.asked = *t.Fail, true
	}
}

// finding tells the worst of the readings of a check. What each of them touches
// is touched.
func finding(c Check, readings []Reading) Finding {
	r := slices.MaxFunc(readings, func(a, b Reading) int {
		va, _ := c.gives(a)
		vb, _ := c.gives(b)
		return cmp.Or(cmp.Compare(va, vb), cmp.Compare(a.crossed(), b.crossed()), cmp.Compare(a.past(), b.past()))
	})
	f := Finding{
		Check: c.ID, Kind: c.Kind, Value: r.Value, Unit: cmp.Or(r.Unit, c.Unit), Detail: r.Detail,
		told: r.Told,
	}
	f.Verdict, f.Noted = c.gives(r)
	if r.crossed() > Valid {
		f.Detail, f.Try = r.Detail+r.So, r.Try
	}
	for _, one := range readings {
		if f.touch(c, one) && one.Detail != r.Detail && !slices.Contains(f.Also, one.Detail) {
			f.Also = append(f.Also, one.Detail)
		}
	}
	if !math.IsNaN(r.Warn) {
		f.Warn = &r.Warn
	}
	// one that cannot make the run INVALID would contradict the verdict
	reachable := r.asked || c.Kind.worst() == Invalid && !r.Mild
	if !math.IsNaN(r.Fail) && (reachable || math.IsNaN(r.Warn)) {
		f.Fail = &r.Fail
	}
	return f
}

// gives is what a reading does to the verdict: no more than its check's kind may,
// unless the experiment set the limit. Noted is one that is past its limit and
// does nothing.
func (c Check) gives(r Reading) (v Verdict, noted bool) {
	v, most := r.crossed(), c.Kind.worst()
	if r.Mild {
		most = Valid
	}
	if r.asked || v <= most {
		return v, false
	}
	return most, most == Valid
}

// touch marks the numbers of a reading that is past its limit, and reports whether it is.
func (f *Finding) touch(c Check, r Reading) bool {
	v, noted := c.gives(r)
	if v == Valid && !(r.Mild && noted) {
		return false
	}
	touches := r.Touches
	if touches == nil {
		touches = c.Touches
	}
	here := Touched{}
	for _, what := range touches {
		here[what] = validity.LevelOf(v)
		if f.Taints == nil {
			f.Taints = Touched{}
		}
		if here[what].Worse(f.Taints[what]) {
			f.Taints[what] = here[what]
		}
	}
	f.places = append(f.places, place{r.At, here})
	for number, by := range r.Ranges {
		if f.Ranges == nil {
			f.Ranges = validity.Ranges{}
		}
		if _, known := f.Ranges[number]; !known {
			f.Ranges[number] = by
		}
	}
	return true
}

// Word is the verdict on a run: INVALID where a finding that says so touches
// everything, or is about no number but about the run, and where of the numbers
// that the experiment asks for ("time_to_first_token.p99") none is left; without
// any, all that is measured on answers is asked for. Else single numbers are invalid, and the run is DEGRADED.
func Word(found []Finding, asked []string) Verdict {
	v := Worst(found)
	if v < Invalid {
		return v
	}
	for _, f := range found {
		if f.Verdict == Invalid && (len(f.Taints) == 0 || f.Taints[everything] == validity.Wrong) {
			return Invalid
		}
	}
	if len(asked) == 0 {
		for _, m := range metrics.Catalogue() {
			if onAnswers(&m) {
				asked = append(asked, m.Tag)
			}
		}
	}
	taints := Taints(found)
	left := func(name string) bool {
		tag, stat, _ := strings.Cut(name, ".")
		return taints.Of(tag, stat).Level != validity.Wrong
	}
	if slices.ContainsFunc(asked, left) {
		return Degraded
	}
	return Invalid
}

// Worst is the verdict over findings.
func Worst(found []Finding) Verdict {
	v := Valid
	for _, f := range found {
		v = max(v, f.Verdict)
	}
	return v
}

// CheckIDs are the names that verdict: may set limits for.
func CheckIDs() []string {
	var ids []string
	for _, c := range Describe() {
		ids = append(ids, c[0])
	}
	return ids
}

// Describe is every check with its kind and what it means, in order.
func Describe() [][2]string {
	var rows [][2]string
	for _, c := range checks() {
		rows = append(rows, [2]string{c.ID, string(c.Kind) + ": " + c.Doc})
	}
	for _, c := range planChecks {
		if c.ID != validity.Backlog { // it is a check of runs, too
			rows = append(rows, [2]string{c.ID, string(c.Kind) + ": " + c.Doc})
		}
	}
	return rows
}

// Marks says which metrics the check makes doubtful, in words.
func (c Check) Marks() string {
	switch {
	case slices.Contains(c.Touches, everything):
		return "every metric"
	case slices.Contains(c.Touches, answers):
		return "every metric of answers"
	}
	return strings.Join(c.Touches, ", ")
}

// Explain is the row of a check of runs or of plans, without how it reads.
func Explain(id string) (Check, bool) {
	for _, c := range checks() {
		if c.ID == id {
			return Check{
				ID: c.ID, Kind: c.Kind, Unit: c.Unit, Doc: c.Doc, Reads: c.Reads, Limits: c.Limits, Try: c.Try,
				Touches: c.Touches,
			}, true
		}
	}
	for _, c := range planChecks {
		if c.ID == id {
			return Check{
					ID: c.ID, Kind: c.Kind, Unit: c.Unit, Doc: c.Doc,
					Reads: "the runs of the plan, when all are done", Limits: c.Limits, Try: c.Try, Touches: c.Touches,
				},
				true
		}
	}
	return Check{}, false
}

// Clean tells whether it found nothing, not even something to note.
func (f Finding) Clean() bool { return f.Verdict == Valid && !f.Noted }

// TouchesAll tells whether the finding is about every number, or every one that is
// measured on answers.
func (f Finding) TouchesAll() bool {
	return f.Taints[everything] != validity.Sound || f.Taints[answers] != validity.Sound
}

// Sentence is what was found and why, as far as that was seen.
func (f Finding) Sentence() string {
	if why := f.Cause(); why != "" {
		return f.Detail + "; because " + why
	}
	return f.Detail
}

// Cause is what was seen to cause it, "" for nothing.
func (f Finding) Cause() string { return strings.Join(f.Because, ", and ") }

// Line is a finding as a person reads it.
func (f Finding) Line() string {
	s := fmt.Sprintf("%s %s: %s", f.Verdict, f.Check, f.Sentence())
	if f.Try != "" {
		s += "\n        try: " + f.Try
	}
	return s
}

// Limit is the one that was crossed, or the next one.
func (f Finding) Limit() *float64 {
	if f.Verdict == Invalid || f.Warn == nil {
		return f.Fail
	}
	return f.Warn
}

// Beyond is how far the value is past its limit, as a ratio.
func (f Finding) Beyond() float64 {
	if l := f.Limit(); l != nil && *l != 0 {
		return math.Abs(f.Value / *l)
	}
	return math.Abs(f.Value)
}
