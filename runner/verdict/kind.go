package verdict

import (
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/validity"
)

// Kind is what a check asks, and with it what it may do to the verdict.
type Kind string

// The kinds of checks. Only the first two move the verdict, unless an experiment
// sets a limit of its own.
const (
	// Harm: by how much is a reported number wrong through us?
	Harm Kind = "harm"
	// Workload: did the server, or the load, do something else than was asked?
	// Never INVALID.
	Workload Kind = "workload"
	// Cause: what would explain harm? It is shown under a harm that tripped.
	Cause Kind = "cause"
	// Precision: is there enough of it? It marks the number.
	Precision Kind = "precision"
)

// Words say what the kind asks, and what it may do to the verdict.
func (k Kind) Words() string {
	switch k {
	case Harm:
		return "how wrong a number is because of this program; can make a run DEGRADED or INVALID"
	case Workload:
		return "whether the server or the load differs from what was asked for; can make a run DEGRADED"
	case Cause:
		return "a possible reason for harm, shown below it; does not change the verdict"
	}
	return "whether there are enough samples; marks the number and does not change the verdict"
}

// worst is the hardest verdict that a check of the kind may give.
func (k Kind) worst() Verdict {
	switch k {
	case Harm:
		return Invalid
	case Workload:
		return Degraded
	}
	return Valid
}

// The limits of harm: of the number itself, and in its unit. What is within
// either of them is no harm.
const (
	harmDoubted, harmShown     = 0.02, 0.10
	doubtedSpanMS, shownSpanMS = 0.05, 1.0
)

// harmOf places what a number in ms is wrong by: DEGRADED above 2 % of it and
// above 50 µs, INVALID above 10 % and above 1 ms.
func harmOf(wrong, number float64) Reading {
	return Reading{
		Value: wrong / number,
		Warn:  max(harmDoubted, doubtedSpanMS/number), Fail: max(harmShown, shownSpanMS/number),
	}
}

// The metrics that a finding touches, by what they rest on. everything stands
// for all of the catalogue.
const everything = "*"

// answers stands for what is measured on answers. How many requests failed, or
// were good, is no less certain because many failed.
const answers = "*answers"

var (
	firstToken   = metrics.Resting(metrics.FirstToken)
	wholeAnswer  = metrics.Resting(metrics.WholeAnswer)
	gaps         = metrics.Resting(metrics.Gaps)
	fromIntended = metrics.Resting(metrics.SinceIntended)
	rates        = metrics.Resting(metrics.PerSecond)
	inFlight     = metrics.Resting(metrics.InFlight)
	tokenCounts  = metrics.Resting(metrics.TokenCounts)
	outcomes     = metrics.Resting(metrics.Outcomes)

	// good is what SLOs judge; perToken are times between tokens over a whole answer.
	good     = judgedBySLOs()
	perToken = slices.DeleteFunc(metrics.Resting(metrics.Gaps), func(tag string) bool {
		return tag == metrics.InterChunkLatency || tag == metrics.TimeToSecondToken ||
			tag == metrics.OutputTokenThroughputPerUser
	})

	all = []string{everything}
)

func judgedBySLOs() (tags []string) {
	for _, m := range metrics.Catalogue() {
		if m.Needs&metrics.Limits != 0 {
			tags = append(tags, m.Tag)
		}
	}
	return tags
}

// Ranges are how far numbers in doubt may be off: of those that a finding bounds, and that
// no other one touches.
func Ranges(found []Finding) validity.Ranges {
	out := validity.Ranges{}
	for i := range found {
		maps.Copy(out, found[i].Ranges)
	}
	for i := range found {
		taints := Taints(found[i : i+1])
		for number := range out {
			tag, stat, _ := strings.Cut(number, ".")
			if _, bounded := found[i].Ranges[number]; !bounded && !taints.Of(tag, stat).None() {
				delete(out, number)
			}
		}
	}
	for i := range found { // two that bound the same number add up nowhere
		for number, r := range found[i].Ranges {
			if was, ok := out[number]; ok && was != r {
				delete(out, number)
			}
		}
	}
	return out
}

// Taints are the numbers that findings touch, each with the check of the worst of
// them.
func Taints(found []Finding) validity.Taints {
	out := validity.Taints{}
	for i := range found {
		f := &found[i]
		for _, what := range slices.Sorted(maps.Keys(f.Taints)) {
			level := f.Taints[what]
			if what != everything && what != answers {
				out.Add(what, f.Check, level)
				continue
			}
			for _, m := range metrics.Catalogue() {
				if what == everything || onAnswers(&m) {
					out.Add(m.Tag, f.Check, level)
				}
			}
		}
	}
	return out
}

// onAnswers tells whether a metric is measured on answers: not how many there were.
func onAnswers(m *metrics.Metric) bool { return m.Over != metrics.Share && m.Over != metrics.Events }
