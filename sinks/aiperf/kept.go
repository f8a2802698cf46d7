package aiperf

import (
	"encoding/json"
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/sinks"
)

// Kept is what the files of a plan are made of beside its records: plain data, which
// outlasts the process that measured.
type Kept struct {
	Schema  string    `json:"schema"` // KeptSchema
	Several bool      `json:"several"`
	Runs    []KeptRun `json:"runs"`
	Over    Over      `json:"over"`
	// Families are those of servers' pages of metrics, by source, then name.
	Families map[string]map[string]telemetry.Family `json:"families,omitempty"`
}

// KeptSchema names the form of Kept.
const KeptSchema = "aiperf.kept/1"

// ReadKept reads what the archive of a result directory keeps beside the records.
func ReadKept(about []byte) (k Kept, err error) {
	if err := json.Unmarshal(about, &k); err != nil {
		return k, err
	}
	if k.Schema != KeptSchema {
		return k, fmt.Errorf("written in %q, this program reads %q: use the version of aiperf that wrote it", k.Schema,
			KeptSchema)
	}
	return k, nil
}

// KeptRun is one run.
type KeptRun struct {
	ID      string  `json:"id"`
	Dir     string  `json:"dir"` // in the result directory, "" for the top
	Profile Profile `json:"profile"`
	// Data is what its requests were made of, in the words of who makes them, and
	// DataSHA256 what came of it.
	Data       json.RawMessage `json:"data"`
	DataSHA256 string          `json:"data_sha256"`
}

// Summaries are the statistics of the run's journal: full, then steady if there is one.
func (r *KeptRun) Summaries(journal string) ([]metrics.Summary, error) {
	c := metrics.NewCollector(r.Profile.Options)
	_, err := sinks.ReadMeasured(journal, func(rec *record.Record) error { c.Add(rec); return nil })
	return c.Summaries(), err
}

// WithoutPlace is k without what only says where and how it was measured: commands, settings
// as a whole, folders of that machine. What figures follow from stays.
func (k Kept) WithoutPlace() Kept {
	k.Runs = slices.Clone(k.Runs)
	for i := range k.Runs {
		r := &k.Runs[i]
		if r.Profile.Info != nil {
			info := *r.Profile.Info
			info.CLICommand, info.Config = "", InputConfig{}
			r.Profile.Info = &info
		}
		r.Profile.Dir, r.Profile.Log, r.Data = "", "", nil
	}
	k.Over = Over{}
	return k
}

// Bytes are k as the archive keeps it.
func (k Kept) Bytes() ([]byte, error) { return json.Marshal(k) }
