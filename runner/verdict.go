package runner

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"aiperf.dev/aiperf/schema"
)

// Verdict on a measurement: whether its numbers are the server's.
type Verdict int

// The verdicts, from good to bad.
const (
	Valid Verdict = iota
	Degraded
	Invalid
)

// String is the word people read.
func (v Verdict) String() string { return [...]string{"VALID", "DEGRADED", "INVALID"}[v] }

// ParseVerdict reads what String writes; an unknown word is Invalid.
func ParseVerdict(s string) Verdict {
	for _, v := range []Verdict{Valid, Degraded} {
		if v.String() == s {
			return v
		}
	}
	return Invalid
}

// MarshalText is the word that files hold.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(b []byte) error {
	*v = ParseVerdict(string(b))
	return nil
}

// Finding is what one check found about one run, cell or plan.
type Finding struct {
	Check   string   `json:"check"`
	Verdict Verdict  `json:"verdict"`
	Value   float64  `json:"value"`
	Warn    *float64 `json:"warn,omitempty"`
	Fail    *float64 `json:"fail,omitempty"`
	Unit    string   `json:"unit,omitempty"`
	Detail  string   `json:"detail,omitempty"` // what it means, in words
	Try     string   `json:"try,omitempty"`    // what to do about it
}

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
	Try               string
}

// verdict places the value among its limits.
func (r Reading) verdict() Verdict {
	crossed := func(limit float64) bool {
		if r.Below {
			return r.Value < limit
		}
		return r.Value > limit
	}
	switch {
	case crossed(r.Fail):
		return Invalid
	case crossed(r.Warn):
		return Degraded
	}
	return Valid
}

// Check is one row of the catalogue. Read returns no reading when the check
// does not apply: then it is absent, not passed. Of several readings the worst
// counts.
type Check struct {
	ID, Unit, Doc string
	Read          func(*Evidence) []Reading
}

// Judge runs the catalogue over e. limits are the experiment's own thresholds.
func Judge(e *Evidence, limits map[string]schema.Threshold) []Finding {
	e.settle()
	var found []Finding
	for _, c := range checks {
		readings := c.Read(e)
		if len(readings) == 0 {
			continue
		}
		for i := range readings {
			override(&readings[i], limits[c.ID])
		}
		worst := slices.MaxFunc(readings, func(a, b Reading) int { return cmp.Compare(a.verdict(), b.verdict()) })
		found = append(found, finding(c.ID, cmp.Or(worst.Unit, c.Unit), worst))
	}
	return found
}

func override(r *Reading, t schema.Threshold) {
	if r.Unit != "" {
		return
	}
	if t.Warn != nil {
		r.Warn = *t.Warn
	}
	if t.Fail != nil {
		r.Fail = *t.Fail
	}
}

func finding(id, unit string, r Reading) Finding {
	f := Finding{Check: id, Verdict: r.verdict(), Value: r.Value, Unit: unit, Detail: r.Detail}
	if f.Verdict != Valid {
		f.Detail, f.Try = r.Detail+r.So, r.Try
	}
	if !math.IsNaN(r.Warn) {
		f.Warn = &r.Warn
	}
	if !math.IsNaN(r.Fail) {
		f.Fail = &r.Fail
	}
	return f
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
	ids := make([]string, 0, len(checks)+len(planChecks))
	for _, c := range checks {
		ids = append(ids, c.ID)
	}
	for _, c := range planChecks {
		ids = append(ids, c.ID)
	}
	return ids
}

// Describe is the documentation of every check, in order.
func Describe() [][2]string {
	var rows [][2]string
	for _, c := range checks {
		rows = append(rows, [2]string{c.ID, c.Doc})
	}
	for _, c := range planChecks {
		rows = append(rows, [2]string{c.ID, c.Doc})
	}
	return rows
}

// Line is a finding as a person reads it.
func (f Finding) Line() string {
	s := fmt.Sprintf("%s %s: %s", f.Verdict, f.Check, f.Detail)
	if f.Try != "" {
		s += "\n        try: " + f.Try
	}
	return s
}
