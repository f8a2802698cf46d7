package fields

import "slices"

// LaterAIPerf is the value of aiperf_semantics for what AIPerf does after 0.13.
const LaterAIPerf = "later"

// Names of behaviours live where the behaviour is: endpoint types in
// loadgen/endpoint, formats of data in loadgen/dataset, load modes in loadgen,
// kinds of sweeps in sweep. Those packages read this one, so what this one
// needs to know of their rows is generated: the enums in catalogue_gen.cue, the
// facts in catalogue_gen.go. internal/docgen makes both.

// EndpointType is what an experiment may rely on of an inference API.
type EndpointType struct {
	Name            string
	Streams         bool     // sends an answer token by token
	StreamsRPC      bool     // does so by gRPC
	Tokens          bool     // answers with tokens
	Text            bool     // requests hold text of ours
	System          bool     // takes a system prompt and a context for each user
	LegacyMaxTokens bool     // knows max_tokens and max_completion_tokens
	Files           bool     // requests are forms with files, not JSON
	Ranks           bool     // takes a query and passages
	Images          bool     // takes images beside text
	Audio           bool     // takes sounds
	Video           bool     // takes videos
	UsageAsked      bool     // reports usage in a stream where it is asked to
	Templated       bool     // hands messages to the model's chat template
	KeyHeader       string   // that carries a key; "": Authorization
	Settings        []string // fields of an endpoint that only some types take, and this one does
}

// Takes reports whether the type, if there is one, takes a setting that only some
// take.
func (t *EndpointType) Takes(setting string) bool {
	return t != nil && slices.Contains(t.Settings, setting)
}

// PublicSet is what an experiment may rely on of a published data set.
type PublicSet struct {
	Name   string
	Format string // of files, that its records have; "" for columns of its own
}

// PublicSetNamed is the row of the published data set called name.
func PublicSetNamed(name string) *PublicSet {
	return row(publicSets, func(s PublicSet) string { return s.Name }, name)
}

// FormatsTaking are the formats of records that take a setting.
func FormatsTaking(setting string) (out []*DatasetFormat) {
	for i := range datasetFormats {
		if f := &datasetFormats[i]; slices.Contains(f.Settings, setting) {
			out = append(out, f)
		}
	}
	return out
}

// Takes reports whether the format, if it is known, takes a setting that only some
// take.
func (f *DatasetFormat) Takes(setting string) bool {
	return f != nil && slices.Contains(f.Settings, setting)
}

// DatasetType is what an experiment may rely on of a place that conversations
// come from.
type DatasetType struct {
	Name     string
	Made     bool     // conversations are written here, not recorded
	Settings []string // fields of a data set that only some types take, and this one does
}

// DatasetFormat is what an experiment may rely on of a format of records.
type DatasetFormat struct {
	Name     string
	Trace    bool // recorded load: time stamps, lengths, hashes
	Complete bool // every turn carries its whole history
	Verbatim bool // whole bodies, sent as they are
	Promotes bool // its time stamps make a schedule of a phase that says nothing else
	Trees    bool // some records start others: without a bound, all that none starts are played once
	Settings []string
}

// PhaseType is what an experiment may rely on of a load mode.
type PhaseType struct {
	Name     string
	Settings []string // fields of a phase that only some types take, and this one does
	Pattern  string   // its word for --arrival-pattern, "" where a flag of its own chooses it
	Presumed string   // the setting that means it where no type is said
	Closed   bool     // no clock says when to send
	Ends     bool     // ends by itself
	Timed    bool     // sends by the time stamps of the records
	Turns    int      // least number of turns of a conversation
	Requests int64    // sent where nothing bounds the phase; 0: it has to be said
	PerSlot  int64    // of these, by each slot at least
	Primed   bool     // goes on from the middle of sessions
}

// SweepType is what an experiment may rely on of a kind of sweep.
type SweepType struct {
	Name     string
	Settings []string // fields of the sweep that only some types take, and this one does
	Sampled  bool     // its points are drawn from dimensions
	InStep   bool     // its axes move together
}

// Setting is a field of an object that only some types of the object take. The
// rules that follow are generated into the object's #rules.
type Setting struct {
	Name string
	// Needed is what to do when it is missing; "" where it may be left out.
	Needed string
	// Or are the settings of which one may stand in its place.
	Or []string
	// Only is what to do about it where the type does not take it; "" is to use a
	// type that does.
	Only string
}

// EndpointNamed is the row called name, nil for a type that is not built.
func EndpointNamed(name string) *EndpointType {
	return row(endpointTypes, func(t EndpointType) string { return t.Name }, name)
}

// EndpointsThat are the names of the endpoint types that a question is true of.
func EndpointsThat(is func(*EndpointType) bool) (out []string) {
	for i := range endpointTypes {
		if is(&endpointTypes[i]) {
			out = append(out, endpointTypes[i].Name)
		}
	}
	return out
}

// DatasetTypeNamed is the row of the type of data set called name.
func DatasetTypeNamed(name string) *DatasetType {
	return row(datasetTypes, func(t DatasetType) string { return t.Name }, name)
}

// DatasetTypeTaking is the row of the type of data set that takes a setting which
// only one takes.
func DatasetTypeTaking(setting string) *DatasetType {
	return row(datasetTypes, func(t DatasetType) bool { return t.Takes(setting) }, true)
}

// DatasetTypePresumed is the row of the type where none is said.
func DatasetTypePresumed() *DatasetType {
	return row(datasetTypes, func(t DatasetType) bool { return t.Made }, true)
}

// DatasetTypes are the types whose conversations are written here, or the others.
func DatasetTypes(made bool) (out []string) {
	for _, t := range datasetTypes {
		if t.Made == made {
			out = append(out, t.Name)
		}
	}
	return out
}

// DatasetMade reports whether the conversations of a type of data set are written
// here; "" is no type.
func DatasetMade(name string) bool {
	t := DatasetTypeNamed(name)
	return name == "" || t != nil && t.Made
}

// Takes reports whether the type, if there is one, takes a setting that only some
// take.
func (t *DatasetType) Takes(setting string) bool {
	return t != nil && slices.Contains(t.Settings, setting)
}

func FormatNamed(name string) *DatasetFormat {
	return row(datasetFormats, func(f DatasetFormat) string { return f.Name }, name)
}

// PhaseNamed is the row of the load mode called name.
func PhaseNamed(name string) *PhaseType {
	return row(phaseTypes, func(t PhaseType) string { return t.Name }, name)
}

// PatternNamed is the row of the load mode that --arrival-pattern calls word.
func PatternNamed(word string) *PhaseType {
	return row(phaseTypes, func(t PhaseType) string { return t.Pattern }, word)
}

// PhasePresumed is the row of the load mode that a setting means where no type is
// said; without one, the closed loop.
func PhasePresumed(setting string) *PhaseType {
	if setting == "" {
		return row(phaseTypes, func(t PhaseType) bool { return t.Closed }, true)
	}
	return row(phaseTypes, func(t PhaseType) string { return t.Presumed }, setting)
}

// ArrivalPatterns are the words of --arrival-pattern.
func ArrivalPatterns() (out []string) {
	for _, t := range phaseTypes {
		if t.Pattern != "" {
			out = append(out, t.Pattern)
		}
	}
	return out
}

// PhaseTimed is the row of the load mode that sends by time stamps.
func PhaseTimed() *PhaseType {
	return row(phaseTypes, func(t PhaseType) bool { return t.Timed }, true)
}

// Takes reports whether the type, if there is one, takes a setting that only some
// take.
func (t *PhaseType) Takes(setting string) bool {
	return t != nil && slices.Contains(t.Settings, setting)
}

// SweepNamed is the row of the kind of sweep called name.
func SweepNamed(name string) *SweepType {
	return row(sweepTypes, func(t SweepType) string { return t.Name }, name)
}

// SweepNames are the kinds of sweeps.
func SweepNames() (out []string) {
	for _, t := range sweepTypes {
		out = append(out, t.Name)
	}
	return out
}

// Takes reports whether the kind, if there is one, takes a setting that only some
// take.
func (t *SweepType) Takes(setting string) bool {
	return t != nil && slices.Contains(t.Settings, setting)
}

// SweepTaking is the first kind of sweep that takes a setting, in step or not.
func SweepTaking(setting string, inStep bool) *SweepType {
	return row(sweepTypes, func(t SweepType) bool { return t.Takes(setting) && t.InStep == inStep }, true)
}

// TypesTaking are the types of an object (a data set, a phase or a sweep) that
// take a setting of its.
func TypesTaking(setting string) (out []string) {
	for _, t := range datasetTypes {
		if t.Takes(setting) {
			out = append(out, t.Name)
		}
	}
	for _, t := range phaseTypes {
		if t.Takes(setting) {
			out = append(out, t.Name)
		}
	}
	for _, t := range sweepTypes {
		if t.Takes(setting) {
			out = append(out, t.Name)
		}
	}
	return out
}

func row[T any, K comparable](rows []T, name func(T) K, want K) *T {
	if i := slices.IndexFunc(rows, func(r T) bool { return name(r) == want }); i >= 0 {
		return &rows[i]
	}
	return nil
}
