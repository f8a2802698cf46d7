// Package diag is how the program says that something is wrong: one error type,
// and the exit codes it can end with.
//
// Whoever finds a mistake fills the fields in; the command line prints them.
// Nobody cuts a hint or a cause out of a text again: use errors.As and read the
// field. Messages are in lower case, without a period, and say what was expected
// and what came.
package diag

import "strings"

// Code is an exit code. Codes are stable, documented in docs/exit-codes.md, and
// never reused.
type Code int

// The exit codes of aiperf.
const (
	OK          Code = 0
	Failed      Code = 1
	Usage       Code = 2
	Missed      Code = 3
	Invalid     Code = 4
	Interrupted Code = 130
)

// Meaning is what an exit code says: in a few words for the help, and whole.
type Meaning struct {
	Code       Code
	Short, Doc string
}

// Meanings are all exit codes. The help, the README and docs/exit-codes.md are
// made from them.
func Meanings() []Meaning {
	return []Meaning{
		{OK, "success", "success"},
		{Failed, "the run failed", "the run failed: every request failed, results were lost, or a search lost its server"},
		{Usage, "usage", "the command line or the experiment is wrong; nothing was sent"},
		{
			Missed, "a gate missed or WORSE",
			"a gate was missed (an SLO or goodput is not a gate), a rule of --rules is not met, a comparison says WORSE, or the smallest load of a search fails",
		},
		{
			Invalid, "INVALID or UNDECIDED",
			"the measurement is INVALID, a comparison is UNDECIDED, a rule of --rules cannot be checked, or a search has no certain answer",
		},
		{Interrupted, "interrupted", "interrupted; partial results were written, marked so"},
	}
}

// Error is one mistake: where it is, what is wrong, what to do about it, and
// what it means for the exit code.
type Error struct {
	Code    Code   // 0 means Usage: most mistakes are found before anything is sent
	Place   string // "sweep.cue:14:3", "--isl", "" when nothing was written
	Path    string // as it was written, such as "benchmark.profiling.rate"; "" when no field is meant
	Field   string // the field at Path as the schema calls it, where that is another one
	Message string
	Hint    string   // the command or setting to try, "" when there is nothing to suggest
	More    []string // lines below the message, such as what differs between two plans
	Cause   error    // what a caller may ask for with errors.As, nil when there is none
	Unknown bool     // an unknown key: these are reported before wrong values
	Missing bool     // nothing stands where Path leads, and something must
	Ruled   bool     // about what several fields are together: another one may be the wrong one
	Kind    bool     // the value is of another kind than the field takes: what the field is for helps
	Twice   bool     // one thing is said twice, and one of both is left: nothing else is in doubt
	Taken   bool     // about a value taken from another field, which is the one to name if it is wrong too
}

// Error is the mistake in one line. A flag is its own name for the field, so
// the path is left out beside it, unless the field meant is another one, which is missing.
func (e *Error) Error() string {
	parts := make([]string, 0, 3)
	if e.Place != "" {
		parts = append(parts, e.Place)
	}
	if e.Path != "" && (!e.Typed() || e.Missing) {
		parts = append(parts, e.Path)
	}
	return strings.Join(append(parts, e.Message), ": ")
}

// Typed reports whether the mistake stands on the command line. Such a place begins with
// a dash, and that of a file never does: a path is not read as an option.
func (e *Error) Typed() bool { return strings.HasPrefix(e.Place, "-") }

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Exit is the code that the program ends with because of e.
func (e *Error) Exit() Code {
	if e.Code == OK {
		return Usage
	}
	return e.Code
}
