// Package validity is the verdict on a measurement as everybody says it: whether
// its numbers are the server's. The type, its words, their order and the words
// that tables use for them stand here and nowhere else. runner/verdict finds
// them; sinks and sweep/decide read, order and show them.
package validity

import "slices"

// Verdict on a measurement.
type Verdict int

// The verdicts, from good to bad: a comparison of two of them says which is
// worse, and max is the worst.
const (
	NotJudged Verdict = iota // nobody judged it: it was not run, or another program measured it
	Valid                    // the numbers are the server's
	Degraded                 // some of them are doubtful, or the load was not what was asked
	Invalid                  // they are wrong through the client
	Failed                   // nothing was measured that could be judged
)

// The words for verdicts: what people and files read, what the checks table
// calls what a check found, and how severe that is.
var (
	wordOf     = [...]string{"", "VALID", "DEGRADED", "INVALID", "FAILED"}
	markOf     = [...]string{"", "pass", "warn", "fail", ""}
	severityOf = [...]string{"", "none", "degraded", "invalid", ""}
)

// NotedMark is the word of the checks table for what is past its limit and moves
// no verdict.
const NotedMark = "note"

// String is the word people read, "" for NotJudged.
func (v Verdict) String() string { return wordOf[v] }

// Mark is the word of the checks table for what one check says.
func (v Verdict) Mark() string { return markOf[v] }

// Severity is how much it matters, as the checks table says it.
func (v Verdict) Severity() string { return severityOf[v] }

// Parse reads what String writes. A word that nobody knows is Invalid: a file
// that says something else than we write is not to be relied upon.
func Parse(word string) Verdict {
	if i := slices.Index(wordOf[:], word); i >= 0 {
		return Verdict(i)
	}
	return Invalid
}

// OfSeverity reads what Severity writes; another word is NotJudged.
func OfSeverity(word string) Verdict {
	return Verdict(max(slices.Index(severityOf[:], word), 0))
}

// MarshalText is the word that files hold.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (v *Verdict) UnmarshalText(b []byte) error {
	*v = Parse(string(b))
	return nil
}
