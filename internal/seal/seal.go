// Package seal is the file that a sealed result travels in: a compressed archive whose first
// entry states what all the others are, in the form that in-toto defines, and which may be
// signed. It knows nothing of what a result is made of.
//
// To write: fill a Statement, New makes the envelope, Sign adds a signature, Write packs it
// with the files. To read: Open checks the whole of a file and writes nothing; Unpack makes a
// directory of it; Statement.Signed says whose signature it carries.
package seal

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The names of the forms that are written and read. Another form is refused by its name.
const (
	StatementType = "https://in-toto.io/Statement/v1"
	PredicateType = "https://aiperf.dev/sealed-result/v1"
	Format        = "aiperf.bundle/1"
	payloadType   = "application/vnd.in-toto+json"
)

// Name is the first entry of a bundle: the envelope with the statement.
const Name = "seal.json"

// Statement says of each file of a bundle what its digest is, and of all of them together
// what was measured and what the verdict is.
type Statement struct {
	Type          string    `json:"_type"`
	Subject       []Subject `json:"subject"`
	PredicateType string    `json:"predicateType"`
	Predicate     Predicate `json:"predicate"`
}

// Subject is one file.
type Subject struct {
	Name   string `json:"name"`
	Digest Digest `json:"digest"`
}

// Digest is what in-toto calls a digest set, with the one digest that is used.
type Digest struct {
	SHA256 string `json:"sha256"`
}

// Predicate is what is stated: all that a reader who trusts the signature need not look up.
type Predicate struct {
	Format      string           `json:"format"`
	Tool        string           `json:"tool"` // the version of aiperf that sealed it
	Experiment  string           `json:"experiment"`
	PlanHash    string           `json:"plan_hash"` // of the plan with nothing redacted
	Verdict     string           `json:"verdict"`
	Interrupted bool             `json:"interrupted"` // the plan was not done
	Measured    time.Time        `json:"measured"`    // when the plan was over
	MeasuredBy  string           `json:"measured_by"` // the version of aiperf
	Receipt     string           `json:"receipt"`     // SHA-256 of the runs' receipts, as receipt.json has it
	Runs        []Run            `json:"runs"`
	Cells       []Cell           `json:"cells"`
	Inputs      []Input          `json:"inputs"`
	Redacted    []Redaction      `json:"redacted"`
	Bytes       map[string]int64 `json:"bytes"` // size of each file
}

// Run is a run with the verdict on it.
type Run struct {
	Run     string `json:"run"`
	Cell    string `json:"cell"`
	Trial   int    `json:"trial"`
	Verdict string `json:"verdict"`
	Receipt string `json:"receipt"` // SHA-256
}

// Cell is a cell with its key figures.
type Cell struct {
	Cell    string            `json:"cell"`
	Trials  int               `json:"trials"`
	Verdict string            `json:"verdict"`
	Figures map[string]Figure `json:"figures"` // by the name of the column in the table cells
}

// Figure is a number with its interval, where it has one.
type Figure struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
}

// Input is something from outside that the requests were made of.
type Input struct {
	What   string `json:"what"` // data, tokenizer, file
	Name   string `json:"name"`
	SHA256 string `json:"sha256"`
}

// Redaction is a kind of word that was replaced, and how many different ones there were.
type Redaction struct {
	What  string `json:"what"`
	Words int    `json:"words"`
	By    string `json:"by"` // what stands in their place
}

// parseStatement reads what an envelope carries. Forms that this program does not know are
// refused by their names.
func parseStatement(payload []byte) (*Statement, error) {
	var head struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Predicate     struct {
			Format string `json:"format"`
		} `json:"predicate"`
	}
	if err := json.Unmarshal(payload, &head); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	for _, f := range []struct{ what, is, want string }{
		{"statement", head.Type, StatementType},
		{"predicate", head.PredicateType, PredicateType},
		{"format", head.Predicate.Format, Format},
	} {
		if f.is != f.want {
			return nil, fmt.Errorf("%s: unknown %s %q; this program reads %q", Name, f.what, f.is, f.want)
		}
	}
	var s Statement
	if err := json.Unmarshal(payload, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	return &s, s.check()
}

// check holds the list of files against itself: each once, in order, each with a size.
func (s *Statement) check() error {
	if len(s.Subject) == 0 {
		return fmt.Errorf("%s: lists no file", Name)
	}
	if len(s.Subject) != len(s.Predicate.Bytes) {
		return fmt.Errorf("%s: %d files and %d sizes", Name, len(s.Subject), len(s.Predicate.Bytes))
	}
	last := ""
	for _, f := range s.Subject {
		if err := checkName(f.Name); err != nil {
			return err
		}
		if f.Name <= last {
			return fmt.Errorf("%s: %q is listed twice, or out of order", Name, f.Name)
		}
		last = f.Name
		if n, ok := s.Predicate.Bytes[f.Name]; !ok || n < 0 {
			return fmt.Errorf("%s: the size of %q is not stated", Name, f.Name)
		}
		if len(f.Digest.SHA256) != 64 || strings.Trim(f.Digest.SHA256, "0123456789abcdef") != "" {
			return fmt.Errorf("%s: %q has no SHA-256", Name, f.Name)
		}
	}
	return nil
}

// sizes are how many bytes the files have together.
func (s *Statement) sizes() (total int64, err error) {
	for _, n := range s.Predicate.Bytes {
		if total += n; total < 0 || n > mostBytes || total > mostBytes {
			return 0, errors.New("more bytes than a bundle may have")
		}
	}
	return total, nil
}

// Add lists a file. Files may come in any order.
func (s *Statement) Add(name, sha256 string, bytes int64) {
	if s.Predicate.Bytes == nil {
		s.Predicate.Bytes = map[string]int64{}
	}
	s.Predicate.Bytes[name] = bytes
	s.Subject = append(s.Subject, Subject{name, Digest{sha256}})
	slices.SortFunc(s.Subject, func(a, b Subject) int { return strings.Compare(a.Name, b.Name) })
}
