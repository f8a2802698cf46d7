package decide

import (
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep"
)

// Outcome is what one run gave.
type Outcome struct {
	Run                         sweep.Run
	Summaries                   []metrics.Summary // windows "full" and "steady"
	Parts                       []metrics.Part    // the same of each target and of each model, where there are several
	Verdict                     validity.Verdict  // VALID, DEGRADED, INVALID; "" when not judged
	Apart                       validity.Verdict  // the same without what the run says of its backlog
	Taints                      validity.Taints   // what findings do to the run's numbers
	Ranges                      validity.Ranges   // how far numbers in doubt may be off, where that is known
	Backlog                     *Backlog          // of an open loop that can tell; nil otherwise
	OK, Failed, Cancelled, Sent int64
	Cut, Unsent                 int64
	Records                     int64       // lines in the run's journal
	Beside                      Beside      // what servers and GPUs said meanwhile
	Ends                        []Ends      // of the percentiles that shared reads leave open, in the full window
	Sample                      []float64   // sorted values of SampleTag's metric; nil where no rule asks for them
	Answers                     Scores      // to questions with known answers; nil where none was asked
	Swaps                       grade.Swaps // among these answers
	Why                         string      // the plan's source gave the run; "" where no outcome decided that
	Err                         string      // why there is no result; "" for a run that measured
	Gone                        bool        // because the server was not there, or went away
	// how many of the failed requests come together, and the design effect on the share of good ones; 0 where nothing
	// failed, without limits, and where it is not known
	FailedEffect, GoodEffect float64

	Tiers       []TierGood // of a search with several limits, in the plan's order
	Took        time.Duration
	Interrupted bool // a signal cut it short: Err says where
}

// Backlog is the share of a run's requests that waited at its end beyond what its
// answers explain, and the share above which the server did not keep up.
type Backlog struct{ Share, Limit float64 }

// Ends are the least and the most that a percentile of a run may be: whole answers
// came in one read, of which only two times are known.
type Ends struct {
	Key
	Low, High float64
}

// TierGood are the good requests of a run by one of several limits.
type TierGood struct {
	Share  float64      // of those attempted
	Open   float64      // how much larger it may be: cut off before their limit was over
	Effect float64      // design effect within the run
	Part   metrics.Part // the share as a row of the tables
}

// Counts are how the requests of the run ended.
func (o *Outcome) Counts() record.Counts {
	return record.Counts{OK: o.OK, Failed: o.Failed, Cut: o.Cut, Cancelled: o.Cancelled, Unsent: o.Unsent}
}

// measured reports whether the run has numbers.
func (o *Outcome) measured() bool { return o.Err == "" && len(o.Summaries) > 0 }

// window is the run's summary of a window, nil without.
func (o *Outcome) window(name string) *metrics.Summary {
	for i := range o.Summaries {
		if o.Summaries[i].Window == name {
			return &o.Summaries[i]
		}
	}
	return nil
}

// stat is a metric of a window of the run.
func (o *Outcome) stat(window, tag string) (metrics.Stat, bool) {
	if s := o.window(window); s != nil {
		return s.Get(tag)
	}
	return metrics.Stat{}, false
}

// Figure is a statistic of the run over its full window; false where it has none.
func (o *Outcome) Figure(k Key) (float64, bool) {
	s, ok := o.stat(Full, k.Tag)
	if !ok || !o.measured() {
		return 0, false
	}
	v := s.Value(k.Stat)
	return v, metrics.Finite(v)
}

// open is how much less and how much more a statistic may be than its value. What
// shared reads leave open is known of the full window, and is as much in the steady
// one, whose requests are nearly all of them.
func (o *Outcome) open(window string, k Key) (less, more float64) {
	if less, more, known := o.besideOpen(window, k); known {
		return less, more
	}
	if k.Stat == "avg" {
		st, _ := o.stat(window, k.Tag)
		return 0, st.Open
	}
	for _, e := range o.Ends {
		if e.Key != k {
			continue
		}
		if st, ok := o.stat(Full, k.Tag); ok {
			v := st.Value(k.Stat)
			return max(0, v-e.Low), max(0, e.High-v)
		}
	}
	return 0, 0
}

// Key is a metric and a statistic of it: time_to_first_token, p99. A scalar
// metric has the statistic avg.
type Key struct{ Tag, Stat string }

// String is AIPerf's name for it in aggregate files: time_to_first_token_p99.
func (k Key) String() string { return k.Tag + "_" + k.Stat }

// Spoken is the name in an expression.
func (k Key) Spoken() string { return k.Tag + "." + k.Stat }

// ParseKey reads a metric as an expression names it, time_to_first_token.p99; a
// scalar may stand alone.
func ParseKey(s string, tags []string) (Key, *diag.Error) {
	tag, stat, dotted := strings.Cut(s, ".")
	if !slices.Contains(tags, tag) {
		e := diag.New("unknown metric "+tag, "aiperf plugins --category metric lists them")
		near := meant(s, tags)
		if dotted {
			near, _, _ = strings.Cut(meant(tag, tags), ".")
		}
		if near != "" {
			e.Hint = "did you mean " + near + "?"
		}
		return Key{}, e
	}
	single, scalar := alone(tag)
	known := statsOfTag(tag)
	switch {
	case !dotted && !scalar:
		return Key{}, diag.New(tag+" has no single value", "name a statistic: "+tag+"."+usual(tag))
	case !dotted:
		stat = single
	case !slices.Contains(known, stat):
		return Key{}, diag.New("unknown statistic "+stat, "known: "+strings.Join(known, ", "))
	}
	return Key{tag, stat}, nil
}
