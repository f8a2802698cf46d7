package format

import (
	"encoding/json"
	"fmt"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// azure records arrivals and lengths, and nothing of what was said.
var azure = Format{
	Name: "azure_trace", Doc: "a row of Azure's LLM inference traces: date and time, context and generated tokens",
	Trace: true, Block: 512,
	Sampling: "sequential", Settings: replaying, fits: hasAll("TIMESTAMP", "ContextTokens", "GeneratedTokens"),
	decoder: func(d *draft) decoder { return &azureRows{traceRows: newTraceRows(d)} },
}

// azureRows count their times from the first one.
type azureRows struct {
	traceRows
	zero *time.Duration
}

func (r *azureRows) read(rec files.Record) error {
	row, err := r.row(rec.Fields, "ContextTokens", "GeneratedTokens", "")
	if err != nil {
		return err
	}
	if row.At, err = r.since(rec.Fields, "TIMESTAMP"); err != nil {
		return err
	}
	row.Timed = true
	if row.In < 1 || row.Out < 1 {
		r.skipped++
		return nil
	}
	return r.record(rec.Place, row, nil)
}

// layouts are how date and time are written in traces.
var layouts = []string{
	"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999",
}

// since reads a date and time, or a number of s, counted from the first one of
// the file.
func (r *azureRows) since(f *files.Fields, name string) (time.Duration, error) {
	f.Pass(name)
	var s float64
	if json.Unmarshal(f.Value(name), &s) == nil {
		return r.fromFirst(files.Scale(time.Second, s))
	}
	var text string
	if err := json.Unmarshal(f.Value(name), &text); err != nil || text == "" {
		return 0, fmt.Errorf("%s: want a date and time", name)
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, text); err == nil {
			return r.fromFirst(time.Duration(at.UnixNano()))
		}
	}
	return 0, fmt.Errorf("%s: %q is not a date and time", name, text)
}

func (r *azureRows) fromFirst(at time.Duration) (time.Duration, error) {
	if r.zero == nil {
		r.zero = &at
	}
	if at < *r.zero {
		return 0, diag.Errorf("the time lies before that of the first row").Try("sort the file by time")
	}
	return at - *r.zero, nil
}
