// Package format reads conversations from files: one format a file, which owns what it has to
// remember between records. In go the records of a file, out come conversations, or a recorded
// load whose conversations are made when they are played.
//
// Steps: NewReader opens a file, a folder or a list; Detect says which format it has, and why; the
// row of the format makes a decoder, and the Reader hands it one record after another. Catalogue
// lists the formats.
package format

import (
	"slices"
	"strings"

	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// Format is one row of the catalogue: one way to write conversations down.
// Everything that is particular to it stands in its row and its file.
type Format struct {
	Name string
	Doc  string // what one record of it is, in one line
	// Family stands for the format and its like where formats are listed for a
	// person: "speed_bench_*"; "" for one that stands alone.
	Family string
	// Trace says that records are recorded load: lengths, time stamps, hashes
	// of blocks. It takes synthesis, block_size and the replay settings.
	Trace bool
	// Block is the number of tokens that one hash of a trace stands for when
	// nothing is said.
	Block int
	// Complete says that every turn carries its whole history.
	Complete bool
	// Verbatim says that whole bodies are sent as they were written: no system
	// prompt, no output length of ours.
	Verbatim bool
	// Streams says that a record says all of its conversation, so that a large
	// file can be read while it is played.
	Streams bool
	// Promotes says that its time stamps make a schedule of a phase whose flags
	// say nothing else, as in AIPerf.
	Promotes bool
	// Trees says that a record may start others: those that none starts are the
	// sessions, and without a bound each of them is played once, as in AIPerf.
	Trees bool
	// Sampling is the order of play when none is said.
	Sampling string
	// Settings are the fields of a dataset that this format takes beyond path,
	// records, format, entries, sampling, random_seed and osl.
	Settings []string

	// ownClock says that each record counts its times from its own beginning.
	ownClock bool
	// fits says whether a record looks like this format, and why or why not.
	fits func(r *files.Record) (bool, string)
	// decoder reads the records of one file into a draft.
	decoder func(d *draft) decoder
	// starts is the session that a record is and those that it starts; nil where
	// none starts others.
	starts func(r *files.Record) (id string, started []string)
}

// decoder reads the records of a format. What it has to know of earlier records it
// keeps itself.
type decoder interface {
	// read adds what a record says.
	read(rec files.Record) error
	// finish is called once, after the last record.
	finish() error
}

// joiner is a decoder by which records of one session that follow each other are one
// conversation: it is whole when another one has begun.
type joiner interface {
	decoder
	// handedOver says that the draft no longer holds its first conversation.
	handedOver()
}

// catalogue is in the order in which formats are tried: first those that give
// themselves away by fields of their own.
var catalogue = slices.Concat([]*Format{
	&dagJSONL, &multiTurn, &sagemaker, &inputsJSON, &bailian, &weka, &tracelab, &baseten, &dynamo, &burstGPT, &azure,
}, speedBench, []*Format{
	&mooncake, &rawPayload, &randomPool, &singleTurn, &table,
})

// Catalogue lists the formats of files and inline records.
func Catalogue() []Format {
	rows := make([]Format, len(catalogue))
	for i, f := range catalogue {
		rows[i] = *f
	}
	return rows
}

// Formats lists the names of the known formats.
func Formats() []string {
	names := make([]string, len(catalogue))
	for i, f := range catalogue {
		names[i] = f.Name
	}
	return names
}

// Streaming lists the formats of files that are read while they are played.
func Streaming() string {
	var names []string
	for _, f := range catalogue {
		if f.Streams {
			names = append(names, f.Name)
		}
	}
	return andList(names)
}

func named(name string) *Format {
	if i := slices.IndexFunc(catalogue, func(f *Format) bool { return f.Name == name }); i >= 0 {
		return catalogue[i]
	}
	return nil
}

// conversational are the settings of formats that hold texts of users.
var conversational = []string{"system_prompt", "system_prompt_file", "turn_delay_ratio", "cache_bust", "media_roots"}

// has is the test for formats that one of some fields gives away.
func has(names ...string) func(r *files.Record) (bool, string) {
	return func(r *files.Record) (bool, string) {
		for _, name := range names {
			if r.Fields.Has(name) {
				return true, "it has " + name
			}
		}
		return false, "it has no " + orList(names)
	}
}

// hasAll is the test for formats that several fields together give away.
func hasAll(names ...string) func(r *files.Record) (bool, string) {
	return func(r *files.Record) (bool, string) {
		for _, name := range names {
			if !r.Fields.Has(name) {
				return false, "it has no " + name
			}
		}
		return true, "it has " + andList(names)
	}
}

func orList(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

func andList(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
