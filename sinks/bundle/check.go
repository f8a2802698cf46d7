package bundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/seal"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/results"
)

// Finding is one thing that was looked at.
type Finding struct {
	What string `json:"what"` // files, signature, statement, figures, verdict
	State
	Said string   `json:"said"`
	More []string `json:"more,omitempty"` // what does not hold, a line each
}

// State is what came of it.
type State string

// The states.
const (
	Holds State = "holds"
	Wrong State = "wrong"
	Open  State = "not checked"
)

// Opened is a bundle whose files are as it states, unpacked.
type Opened struct {
	*seal.Bundle
	Dir string // an ordinary result directory; Close removes it
	own bool
}

// Unpack reads a bundle and makes a result directory of it: to, which must not be there, or a
// temporary one for "". Nothing is left of a bundle that is not as it states.
func Unpack(file, to string) (*Opened, error) {
	b, err := seal.Open(file)
	if err != nil {
		return nil, refused(file, err)
	}
	o := &Opened{Bundle: b, Dir: to}
	if to == "" {
		o.own = true
		if o.Dir, err = os.MkdirTemp("", "aiperf-"); err != nil {
			return nil, err
		}
	} else if err := os.Mkdir(to, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil, diag.New(to+": exists already", "name a directory that is not there yet")
		}
		return nil, err
	}
	if err := b.Unpack(o.Dir); err != nil {
		return nil, errors.Join(refused(file, err), os.RemoveAll(o.Dir))
	}
	return o, nil
}

// Close removes a temporary directory.
func (o *Opened) Close() {
	if o.own {
		_ = os.RemoveAll(o.Dir) // copies
	}
}

func refused(file string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return diag.New(file+": no such file", "aiperf bundle DIR -o "+file+" makes one")
	}
	return &diag.Error{Code: diag.Failed, Place: file, Message: err.Error(), Cause: err}
}

// Files says what Unpack has found of a bundle that it did not refuse.
func (o *Opened) Files() Finding {
	return Finding{
		What: "files", State: Holds,
		Said: fmt.Sprintf("%s, each with the digest that the statement gives it",
			words.Count(len(o.Statement().Subject), "file")),
	}
}

// Signature checks who signed; key is nil where nobody is expected.
func (o *Opened) Signature(key *seal.PublicKey) Finding {
	f := Finding{What: "signature", State: Open}
	switch {
	case key != nil && o.SignedBy(key):
		f.State, f.Said = Holds, "signed by the key "+key.ID()
	case key != nil && o.Signed():
		f.State, f.Said = Wrong, fmt.Sprintf("not by the key %s; it says to be by %s", key.ID(), o.Signatures[0].KeyID)
	case key != nil:
		f.State, f.Said = Wrong, "missing, although --key asks for one by "+key.ID()+""
	case o.Signed():
		f.Said = "says to be by " + o.Signatures[0].KeyID + "; not checked without the public key (--key)"
	default:
		f.Said = "this bundle is not signed, so anybody could have changed it and sealed it again"
	}
	return f
}

// Stated makes the statement again of the files and holds the two against each other.
func (o *Opened) Stated() Finding {
	f := Finding{What: "statement", State: Holds}
	made, err := state(o.Dir)
	if err != nil {
		f.State, f.Said = Wrong, "its files cannot be read: "+err.Error()
		return f
	}
	said, is := o.Statement().Predicate, made.Predicate
	is.Format, is.Tool, is.Bytes = said.Format, said.Tool, said.Bytes
	f.More = differences(said, is)
	if len(f.More) > 0 {
		f.State, f.Said = Wrong, "it says otherwise than the files"
		return f
	}
	figures := 0
	for _, c := range said.Cells {
		figures += len(c.Figures)
	}
	f.Said = fmt.Sprintf("verdict %s, %s and the receipts of %s are those of the files", said.Verdict,
		words.Count(figures, "figure"), words.Count(len(said.Runs), "run"))
	return f
}

// differences names the parts of a predicate that differ, with both values of the first.
func differences(said, is seal.Predicate) (lines []string) {
	a, b := reflect.ValueOf(said), reflect.ValueOf(is)
	for i := range a.NumField() {
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ",")
		x, y := plain(a.Field(i).Interface()), plain(b.Field(i).Interface())
		if x == y {
			continue
		}
		at := 0
		for at < min(len(x), len(y)) && x[at] == y[at] {
			at++
		}
		from := max(0, at-40)
		lines = append(lines, fmt.Sprintf("%s: stated %s, in the files %s", name, words.Clip(x[from:], 100), words.Clip(y[from:], 100)))
	}
	return lines
}

func plain(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// Figures computes every figure of a run again from its records, and the receipts from the
// tables.
func (o *Opened) Figures() Finding {
	f := Finding{What: "figures", State: Holds}
	said, bad, err := results.Recheck(o.Dir)
	for i, line := range bad {
		bad[i] = strings.ReplaceAll(line, o.Dir+string(filepath.Separator), "")
		bad[i] = strings.ReplaceAll(bad[i], o.Dir+": ", "")
	}
	switch {
	case err != nil:
		f.State, f.Said = Wrong, "cannot be computed again: "+strings.ReplaceAll(err.Error(), o.Dir, "")
	case len(bad) > 0:
		f.State, f.Said, f.More = Wrong, "do not follow from the records", bad[:min(len(bad), 5)]
	default:
		f.Said = said
	}
	return f
}

// Redacted is the list that the bundle declares, a line for each kind of word that occurred.
func (o *Opened) Redacted() (lines []string) {
	for _, r := range o.Statement().Predicate.Redacted {
		if r.Words > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d, as %s", r.What, r.Words, r.By))
		}
	}
	return lines
}

// Inputs are the files from outside that the requests were made of, by name.
func (o *Opened) Inputs() map[string]string { return resultdir.SourcesOf(o.Dir) }

// Wrongs reports whether anything does not hold.
func Wrongs(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.State == Wrong })
}
