package validity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Level is how badly a finding touches a number.
type Level string

// The levels. A doubtful number is kept, marked and not ranked; an invalid one is
// left out, as if it had not been measured.
const (
	Sound    Level = ""
	Doubtful Level = "doubtful"
	Wrong    Level = "invalid"
)

// LevelOf is what a finding of a verdict does to the numbers it touches.
func LevelOf(v Verdict) Level {
	if v >= Invalid {
		return Wrong
	}
	return Doubtful
}

// Worse reports whether l is worse than other.
func (l Level) Worse(other Level) bool { return l.rank() > other.rank() }

func (l Level) rank() int { return slices.Index([]Level{Sound, Doubtful, Wrong}, l) }

// Taint is the finding that touches a number, and how badly. The zero value is a
// number that nothing touches.
type Taint struct {
	Check    string
	Level    Level
	Runs, Of int // of a number over trials: in how many of them it is that; 0 for a number of one run
}

// None reports whether nothing touches the number.
func (t Taint) None() bool { return t.Level == Sound }

// Gone reports whether the number is invalid wherever it was measured: there is
// none left.
func (t Taint) Gone() bool { return t.Level == Wrong && t.Runs == t.Of }

// What stands behind numbers that a finding touches.
const (
	DoubtMark   = "~"
	FailedMark  = "†" // failed requests have no part in it, and nothing else is doubted
	InvalidMark = "!"
)

// Mark is the sign behind the number, "" for one that nothing touches.
func (t Taint) Mark() string {
	switch t.Level {
	case Doubtful:
		if t.Check == Errors {
			return FailedMark
		}
		return DoubtMark
	case Wrong:
		return InvalidMark
	}
	return ""
}

// partly reports whether only some of the trials are touched.
func (t Taint) partly() bool { return t.Runs < t.Of }

// String is the taint as tables have it, "turnaround: invalid in 2 of 5 trials";
// "" for none.
func (t Taint) String() string {
	switch {
	case t.None():
		return ""
	case t.partly():
		return fmt.Sprintf("%s: %s in %d of %d trials", t.Check, t.Level, t.Runs, t.Of)
	}
	return t.Check + ": " + string(t.Level)
}

// Sentence is the taint as people read it, beside the number: "in doubt (check turnaround)",
// "invalid in 2 of 5 trials, which are left out (check turnaround)".
func (t Taint) Sentence() string {
	if t.None() {
		return ""
	}
	return t.said() + " (check " + t.Check + ")"
}

// Aside is the same in brackets: "in doubt, check turnaround".
func (t Taint) Aside() string {
	if t.None() {
		return ""
	}
	return t.said() + ", check " + t.Check
}

func (t Taint) said() string {
	switch {
	case t.Level == Doubtful:
		return "in doubt"
	case t.partly():
		return fmt.Sprintf("invalid in %d of %d trials, which are left out", t.Runs, t.Of)
	}
	return "invalid"
}

// ParseTaint reads what String writes. The name of a check alone, which older
// directories hold, is a doubt.
func ParseTaint(s string) Taint {
	if s == "" {
		return Taint{}
	}
	check, rest, told := strings.Cut(s, ": ")
	t := Taint{Check: check, Level: Doubtful}
	level, trials, partly := strings.Cut(rest, " in ")
	if told && Level(level) == Wrong {
		t.Level = Wrong
	}
	if runs, of, ok := strings.Cut(strings.TrimSuffix(trials, " trials"), " of "); partly && ok {
		t.Runs, _ = strconv.Atoi(runs)
		t.Of, _ = strconv.Atoi(of)
	}
	return t
}

// Range is how far a number in doubt may be off: it lies between 1−Less and 1+More times
// what is reported.
type Range struct {
	Less float64 `json:"less,omitempty"`
	More float64 `json:"more,omitempty"`
}

// Ranges are those of the numbers of a run that are in doubt by no more than that, by
// metric and statistic ("inter_token_latency.p90").
type Ranges map[string]Range

// Drop forgets the ranges of the numbers that something else touches, too.
func (r Ranges) Drop(what string) {
	delete(r, what)
	for name := range r {
		if strings.HasPrefix(name, what+".") {
			delete(r, name)
		}
	}
}

// Taints are what findings do to the numbers of one run, by metric
// ("inter_token_latency") or, where only some of its statistics are touched, by
// metric and statistic ("inter_token_latency.p90").
type Taints map[string]Taint

// Add notes that a check touches something, unless something as bad does. A backlog gives
// way, since over the trials it may be none, and so do checks whose doubts do not count
// for one who measures what they are about.
func (t Taints) Add(what, check string, level Level) {
	was := t[what]
	yields := slices.Contains([]string{Backlog, OSLHonoured, Errors}, was.Check)
	if level.Worse(was.Level) || level == was.Level && yields {
		t[what] = Taint{Check: check, Level: level}
	}
}

// Of is what touches a statistic of a metric.
func (t Taints) Of(metric, stat string) Taint {
	whole, one := t[metric], t[metric+"."+stat]
	if one.Level.Worse(whole.Level) {
		return one
	}
	return whole
}

// Metric is the worst of what touches any statistic of a metric.
func (t Taints) Metric(metric string) Taint {
	worst := t[metric]
	for what, one := range t {
		if strings.HasPrefix(what, metric+".") && (one.Level.Worse(worst.Level) || one.Level == worst.Level &&
			one.Check < worst.Check) {
			worst = one
		}
	}
	return worst
}

// Backlog is the check that says that a load is more than the server keeps up
// with. Over trials their mean decides, so what single runs say of it is read
// beside the mean.
const Backlog = "backlog"

// OSLHonoured is the check that says that answers have another length than was asked for.
const OSLHonoured = "osl_honoured"

// Stable is the check that says that a load did not become stable.
const Stable = "stable"

// Errors is the check that says that requests failed.
const Errors = "errors"

// Lateness is the check that says that requests went late through the client: what
// misses a limit then may have kept it.
const Lateness = "dispatch_lateness"
