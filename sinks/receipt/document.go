package receipt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/resultdir"
)

// Schema names the form of receipt.json.
const Schema = "aiperf.receipt/1"

// Document is receipt.json: the receipts of all runs of a result directory, by cell and trial.
type Document struct {
	Schema string `json:"schema"`
	SHA256 string `json:"sha256"` // of the canonical form of runs
	Runs   []Run  `json:"runs"`
}

// Run is the receipt of one run.
type Run struct {
	Run     string   `json:"run"`  // its id in the tables
	Cell    string   `json:"cell"` // "concurrency 4"
	Trial   int      `json:"trial"`
	SHA256  string   `json:"sha256"` // Receipt.Hash
	Receipt *Receipt `json:"receipt"`
}

// NewDocument is the document of these runs. Their hashes are filled in.
func NewDocument(runs []Run) *Document {
	d := &Document{Schema: Schema, Runs: runs}
	for i := range d.Runs {
		d.Runs[i].SHA256 = d.Runs[i].Receipt.Hash()
	}
	d.SHA256 = d.hash()
	return d
}

// hash is that of runs in their canonical form: without spaces.
func (d *Document) hash() string {
	b, err := plain(d.Runs, "")
	if err != nil {
		panic(err) // of strings and finite numbers
	}
	return digest(bytes.TrimSpace(b))
}

// plain is JSON in which no character is written otherwise than it must be.
func plain(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}

// Bytes are the file.
func (d *Document) Bytes() ([]byte, error) { return plain(d, "  ") }

// largest bounds a receipt.json that is read, in bytes.
const largest = 256 << 20

// Read reads the receipt.json of a directory. Where there is none, the error is
// os.ErrNotExist.
func Read(dir string) (*Document, error) {
	path := filepath.Join(dir, resultdir.ReceiptName)
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err == nil && len(b) > largest {
		err = fmt.Errorf("more than %d MiB", largest>>20)
	}
	var d *Document
	if err == nil {
		d, err = Parse(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// Parse reads a document, and holds it against its hash.
func Parse(b []byte) (*Document, error) {
	var head struct {
		Schema, SHA256 string
		Runs           json.RawMessage
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return nil, err
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("written in %q, this program reads %q", head.Schema, Schema)
	}
	var runs bytes.Buffer
	if err := json.Compact(&runs, head.Runs); err != nil {
		return nil, err
	}
	if digest(runs.Bytes()) != head.SHA256 { // with the fields of newer programs, which are not read here
		return nil, errors.New("changed: its hash is not that of its contents")
	}
	d := &Document{Schema: head.Schema, SHA256: head.SHA256}
	if err := json.Unmarshal(head.Runs, &d.Runs); err != nil {
		return nil, err
	}
	for i := range d.Runs {
		if d.Runs[i].Receipt == nil {
			return nil, fmt.Errorf("run %q has no receipt", d.Runs[i].Run)
		}
	}
	return d, nil
}

// Follows says what d tells otherwise than made, which was made again of the same results; ""
// for nothing. Fields that the program that wrote d did not know are left out.
func (d *Document) Follows(made *Document) string {
	if len(d.Runs) != len(made.Runs) {
		return fmt.Sprintf("%d runs, and the tables have %d", len(d.Runs), len(made.Runs))
	}
	for i, had := range d.Runs {
		is := made.Runs[i]
		if had.Run != is.Run || had.Cell != is.Cell || had.Trial != is.Trial {
			return fmt.Sprintf("run %s, cell %s is run %s, cell %s in the tables", had.Run, had.Cell, is.Run, is.Cell)
		}
		for _, f := range Fields() {
			v, known := had.Receipt.values[f.Name]
			if w, ok := is.Receipt.values[f.Name]; known && (!ok || v.String() != w.String()) {
				return fmt.Sprintf("run %s: %s is %s, and by the tables %s", had.Run, f.Name, v, orUnknown(w, ok))
			}
		}
		if len(had.Receipt.Asked) > 0 && !slices.Equal(sorted(had.Receipt.Asked), sorted(is.Receipt.Asked)) {
			return fmt.Sprintf("run %s: other settings than the plan has", had.Run)
		}
	}
	return ""
}

func orUnknown(v value, known bool) string {
	if !known {
		return unknown
	}
	return v.String()
}

func sorted(facts []Fact) []Fact {
	return slices.SortedFunc(slices.Values(facts), func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
}
