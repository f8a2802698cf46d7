package dataset

import "slices"

// Format is one row of the catalogue: one way to write conversations down.
// Everything that is particular to it stands in its row and its file.
type Format struct {
	Name string
	Doc  string // what one record of it is, in one line
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
	// Sampling is the order of play when none is said.
	Sampling string
	// Settings are the fields of a dataset that this format takes beyond path,
	// records, format, entries, sampling, random_seed and osl.
	Settings []string

	// fits says whether a record looks like this format, and why or why not.
	fits func(r *record) (bool, string)
	// read adds what a record says to the reader's conversations.
	read func(r *reader, rec record) error
	// finish is called after the last record; nil where nothing is left to do.
	finish func(r *reader) error
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

func formatNamed(name string) *Format {
	if i := slices.IndexFunc(catalogue, func(f *Format) bool { return f.Name == name }); i >= 0 {
		return catalogue[i]
	}
	return nil
}

// conversational are the settings of formats that hold texts of users.
var conversational = []string{"system_prompt", "turn_delay_ratio", "cache_bust", "media_roots"}

// has is the test for formats that one of some fields gives away.
func has(names ...string) func(r *record) (bool, string) {
	return func(r *record) (bool, string) {
		for _, name := range names {
			if r.fields.has(name) {
				return true, "it has " + name
			}
		}
		return false, "it has no " + orList(names)
	}
}

// hasAll is the test for formats that several fields together give away.
func hasAll(names ...string) func(r *record) (bool, string) {
	return func(r *record) (bool, string) {
		for _, name := range names {
			if !r.fields.has(name) {
				return false, "it has no " + name
			}
		}
		return true, "it has " + andList(names)
	}
}
