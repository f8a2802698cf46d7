package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

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

// DetectInline is the format of records that stand in an experiment, "" where none is
// recognised.
func DetectInline(records []json.RawMessage) string {
	sample, err := sampleOf(func(f func(files.Record) error) error { return files.EachInline(records, f) })
	if err != nil {
		return ""
	}
	found, _ := detect(sample) //nolint:errcheck // it is refused when it is played
	return found.Format
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
	f := named(format)
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
			return found(f, sample, fmt.Sprintf("%s like it: %s",
				words.CountOf(len(sample), "record looks", "records look"), why)), nil
		}
	}
	if first != nil {
		return Found{Format: among}, first
	}
	if ok, why := fitsMooncake(&sample[0]); !ok && given(&sample[0]) > 1 {
		return Found{}, diag.Errorf("%s: %s", sample[0].Place, why).
			Try("one of them is needed: with input_length, a prompt of that length is made")
	}
	return Found{}, diag.Errorf("%s: fields %s fit no known format (%s)", sample[0].Place,
		strings.Join(sample[0].Fields.Names(), ", "), known()).
		Try("single_turn has \"text\", multi_turn has \"turns\"; format says which it is")
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
	return named(name)
}

func found(f *Format, sample []files.Record, why string) Found {
	out := Found{Format: f.Name, Why: why, Timed: sample[0].Fields.Timed()}
	for i, other := range catalogue {
		if ok, not := other.fits(&sample[0]); other != f {
			if ok {
				not = "it fits, too, but " + f.Name + " is tried first"
			}
			alike := other.Family != "" && slices.ContainsFunc(catalogue[:i],
				func(f *Format) bool { return f.Family == other.Family })
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
		return diag.Errorf("%s: not %s like the records before it: %s", r.Place, f.Name, why).
			Try("a file holds records of one format")
	}
	return nil
}
