package format

import (
	"encoding/json"
	"fmt"
	"strings"

	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// table is a format of its own: a CSV or Parquet file, or records, whose
// fields are called by other names. columns says which is which.
var table = Format{
	Name: "table", Doc: "a row of a CSV or Parquet file; columns names those with texts and lengths",
	Sampling: "sequential", Streams: true,
	Settings: append([]string{"columns"}, conversational...), fits: fitsTable,
	decoder: func(d *draft) decoder { return &tableRows{singleTurns{draft: d}} },
}

// textColumns are the names under which published tables keep their prompts.
var textColumns = []string{"text", "prompt", "question", "instruction", "problem", "input", "query", "content"}

func fitsTable(r *files.Record) (bool, string) {
	for _, name := range textColumns {
		var s string
		if raw := r.Fields.Value(name); raw != nil && json.Unmarshal(raw, &s) == nil {
			return true, "it has the column " + name
		}
	}
	return false, "it has no column " + orList(textColumns)
}

// tableRows are records of single_turn under other names.
type tableRows struct{ singleTurns }

// read gives the columns the names that single_turn knows.
func (r *tableRows) read(rec files.Record) error {
	f := rec.Fields
	for ours, theirs := range r.cfg.Columns {
		if !f.Has(theirs) {
			return fmt.Errorf("columns.%s: the file has no column %s; it has %s", ours, theirs,
				strings.Join(f.Names(), ", "))
		}
		f.Rename(theirs, ours)
	}
	if !f.Has("text") && !f.Has("texts") {
		for _, name := range textColumns {
			if f.Has(name) {
				f.Rename(name, "text")
				break
			}
		}
	}
	return r.singleTurns.read(rec)
}
