package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
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

	// joins says that records of one session that follow each other are one
	// conversation.
	joins bool
	// ownClock says that each record counts its times from its own beginning.
	ownClock bool
	// fits says whether a record looks like this format, and why or why not.
	fits func(r *files.Record) (bool, string)
	// read adds what a record says to the reader's conversations.
	read func(r *reader, rec files.Record) error
	// finish is called after the last record; nil where nothing is left to do.
	finish func(r *reader) error
	// starts is the session that a record is and those that it starts; nil where
	// none starts others.
	starts func(r *files.Record) (id string, started []string)
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

// streaming names the formats that large files can have.
func streaming() (names []string) {
	for _, f := range catalogue {
		if f.Streams {
			names = append(names, f.Name)
		}
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

// Found is what Detect makes of a file.
type Found struct {
	Format string
	Why    string     // a clause: "20 records look like it: it has turns"
	Timed  bool       // the first record has a time stamp: a schedule can replay it
	Not    []Rejected // the other formats, in the catalogue's order
}

// Rejected says why a format was not taken.
type Rejected struct {
	Format, Why string
	Alike       bool // another format of its family stands before it
}

// looked is how many records are read to find a format.
const looked = 20

// patience is how many records that cannot be read are passed over to find these.
const patience = 1000

// errEnough ends the reading of records early.
var errEnough = errors.New("enough records")

// Detect finds the format of the file at path from its first records. A file
// that fits none, or whose records fit different ones, is an error that names
// the line.
func Detect(path string) (Found, error) {
	sample, err := sampleOf(func(f func(files.Record) error) error { return files.All(path, f) })
	if err != nil {
		return Found{}, err
	}
	found, err := detect(sample)
	if err != nil {
		return Found{}, err
	}
	return found, nil
}

// sampleOf are the first records that can be read. When none can, what is wrong with the first
// one is the error: the file is not what it was taken for.
func sampleOf(each func(func(files.Record) error) error) (sample []files.Record, err error) {
	var bad error
	wrong := 0
	err = each(func(r files.Record) error {
		if r.Bad != nil {
			bad = cmp.Or(bad, r.Bad)
			if wrong++; wrong == patience {
				return errEnough
			}
			return nil
		}
		if sample = append(sample, r); len(sample) == looked {
			return errEnough
		}
		return nil
	})
	if len(sample) > 0 {
		return sample, nil // whoever reads on meets what is behind them
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return nil, cmp.Or(bad, err)
}

// Count is the number of records of the file at path, as far as it can be read.
func Count(path string) (n int64) {
	_ = files.Each(path, func(files.Record) error { n++; return nil }) // playing it says what is wrong
	return n
}

// Roots is the number of sessions of the file at path that no other one starts,
// as far as it can be read; 0 where the format knows no such thing.
func Roots(path, format string) int64 {
	f := formatNamed(format)
	if f == nil || f.starts == nil {
		return 0
	}
	started := map[string]bool{} // false: so far only seen by itself
	_ = files.Each(path, func(r files.Record) error {
		id, others := f.starts(&r)
		if _, seen := started[id]; !seen {
			started[id] = false
		}
		for _, o := range others {
			started[o] = true
		}
		return nil
	}) // playing it says what is wrong
	n := int64(0)
	for id, is := range started {
		if id != "" && !is {
			n++
		}
	}
	return n
}

// detect chooses among the formats that fit the first record the first one
// that fits all. Beside an error the format is the first one's, where it has one.
func detect(sample []files.Record) (Found, error) {
	if len(sample) == 0 {
		return Found{}, errors.New("no records")
	}
	if f := announced(sample[0].Fields); f != nil {
		return found(f, sample, fmt.Sprintf("the first record says type: %s", f.Name)), nil
	}
	var first error
	var among string
	for _, f := range catalogue {
		ok, why := f.fits(&sample[0])
		if !ok {
			continue
		}
		bad := misfitting(f, sample)
		if first == nil {
			among, first = f.Name, bad
		}
		if bad == nil {
			return found(f, sample, fmt.Sprintf("%s like it: %s", words.CountOf(len(sample), "record looks", "records look"), why)), nil
		}
	}
	if first != nil {
		return Found{Format: among}, first
	}
	if ok, why := fitsMooncake(&sample[0]); !ok && given(&sample[0]) > 1 {
		return Found{}, diag.Errorf("%s: %s", sample[0].Place, why).Try("one of them says what is sent: input_length has a prompt of that length made")
	}
	return Found{}, diag.Errorf("%s: fields %s fit no known format (%s)", sample[0].Place, strings.Join(sample[0].Fields.Names(), ", "), known()).Try("single_turn has \"text\", multi_turn has \"turns\"; format says which it is")
}

// known names the formats for a person; those of one family stand as one.
func known() string {
	var names, families []string
	for _, f := range catalogue {
		switch {
		case f.Family == "":
			names = append(names, f.Name)
		case !slices.Contains(families, f.Family):
			families = append(families, f.Family)
		}
	}
	return strings.Join(append(names, families...), ", ")
}

// announced is the format that a record's "type" names.
func announced(f *files.Fields) *Format {
	name, err := f.Str("type")
	if err != nil {
		return nil
	}
	return formatNamed(name)
}

func found(f *Format, sample []files.Record, why string) Found {
	out := Found{Format: f.Name, Why: why, Timed: sample[0].Fields.Timed()}
	for i, other := range catalogue {
		if ok, not := other.fits(&sample[0]); other != f {
			if ok {
				not = "it fits, too, but " + f.Name + " is tried first"
			}
			alike := other.Family != "" && slices.ContainsFunc(catalogue[:i], func(f *Format) bool { return f.Family == other.Family })
			out.Not = append(out.Not, Rejected{other.Name, not, alike})
		}
	}
	return out
}

// misfitting names the first record that is not like the first one.
func misfitting(f *Format, sample []files.Record) error {
	for _, r := range sample[1:] {
		if err := misfit(f, &r); err != nil {
			return err
		}
	}
	return nil
}

// misfit is why a record behind others does not have their format; nil when it has.
func misfit(f *Format, r *files.Record) error {
	if ok, why := f.fits(r); !ok {
		return diag.Errorf("%s: not %s like the records before it: %s", r.Place, f.Name, why).Try("a file holds records of one format")
	}
	return nil
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
