package fields

import "slices"

// Names of behaviours live where the behaviour is: endpoint types in
// loadgen/endpoint, formats of data in loadgen/dataset, load modes in loadgen,
// kinds of sweeps in sweep. Those packages read this one, so what this one
// needs to know of their rows is generated: the enums in catalogue_gen.cue, the
// facts in catalogue_gen.go. internal/docgen makes both.

// EndpointType is what an experiment may rely on of an inference API.
type EndpointType struct {
	Name            string
	Streams         bool // sends an answer token by token
	StreamsRPC      bool // does so by gRPC
	Tokens          bool // answers with tokens
	Text            bool // requests hold text of ours
	System          bool // takes a system prompt and a context for each user
	LegacyMaxTokens bool // knows max_tokens and max_completion_tokens
	Files           bool // requests are forms with files, not JSON
	Ranks           bool // takes a query and passages
}

// DatasetFormat is what an experiment may rely on of a format of records.
type DatasetFormat struct {
	Name     string
	Trace    bool // recorded load: time stamps, lengths, hashes
	Complete bool // every turn carries its whole history
	Verbatim bool // whole bodies, sent as they are
	Promotes bool // its time stamps make a schedule of a phase that says nothing else
	Settings []string
}

// PhaseType is what an experiment may rely on of a load mode.
type PhaseType struct {
	Name     string
	Settings []string // fields of a phase that only some types take, and this one does
	Needs    []string // of these, what it cannot do without
}

// SweepType is what an experiment may rely on of a kind of sweep.
type SweepType struct {
	Name     string
	Settings []string // fields of the sweep that form its points
	Sampled  bool     // its points are drawn from dimensions
}

// EndpointNamed is the row called name, nil for a type that is not built.
func EndpointNamed(name string) *EndpointType {
	return row(endpointTypes, func(t EndpointType) string { return t.Name }, name)
}

func FormatNamed(name string) *DatasetFormat {
	return row(datasetFormats, func(f DatasetFormat) string { return f.Name }, name)
}

func row[T any](rows []T, name func(T) string, want string) *T {
	if i := slices.IndexFunc(rows, func(r T) bool { return name(r) == want }); i >= 0 {
		return &rows[i]
	}
	return nil
}

// RankingTypes are the endpoint types that take a query and passages.
func RankingTypes() (out []string) {
	for _, t := range endpointTypes {
		if t.Ranks {
			out = append(out, t.Name)
		}
	}
	return out
}

// Sampled tells whether the cells of a sweep of this type are drawn.
func Sampled(kind string) bool {
	t := row(sweepTypes, func(t SweepType) string { return t.Name }, kind)
	return t != nil && t.Sampled
}
