package dataset

import (
	"errors"
	"fmt"
	"strings"
)

// Found is what Detect makes of a file.
type Found struct {
	Format string
	Why    string     // a clause: "20 records look like it: it has turns"
	Timed  bool       // the first record has a time stamp: a schedule can replay it
	Not    []Rejected // the other formats, in the catalogue's order
}

// Rejected says why a format was not taken.
type Rejected struct{ Format, Why string }

// looked is how many records are read to find a format.
const looked = 20

// errEnough ends the reading of records early.
var errEnough = errors.New("enough records")

// Detect finds the format of the file at path from its first records. A file
// that fits none, or whose records fit different ones, is an error that names
// the line.
func Detect(path string) (Found, error) {
	var sample []record
	err := eachRecord(path, func(r record) error {
		if sample = append(sample, r); len(sample) == looked {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return Found{}, err
	}
	return detect(sample)
}

// detect chooses among the formats that fit the first record the first one
// that fits all.
func detect(sample []record) (Found, error) {
	if len(sample) == 0 {
		return Found{}, errors.New("no records")
	}
	if f := announced(sample[0].fields); f != nil {
		return found(f, sample, fmt.Sprintf("the first record says type: %s", f.Name)), nil
	}
	var misfit error
	for _, f := range catalogue {
		ok, why := f.fits(&sample[0])
		if !ok {
			continue
		}
		bad := misfitting(f, sample)
		if misfit == nil {
			misfit = bad
		}
		if bad == nil {
			return found(f, sample, fmt.Sprintf("%s like it: %s", count(len(sample), "record looks", "records look"), why)), nil
		}
	}
	if misfit != nil {
		return Found{}, misfit
	}
	return Found{}, fmt.Errorf("%s: fields %s fit no known format (%s); hint: single_turn has \"text\", multi_turn has \"turns\"; format says which it is",
		sample[0].place, strings.Join(sample[0].fields.names(), ", "), known())
}

// known names the formats for a person; those of one family stand as one.
func known() string {
	var names []string
	for _, f := range catalogue {
		if !strings.HasPrefix(f.Name, "speed_bench_") {
			names = append(names, f.Name)
		}
	}
	return strings.Join(append(names, "speed_bench_*"), ", ")
}

// announced is the format that a record's "type" names.
func announced(f *fields) *Format {
	name, err := f.str("type")
	if err != nil {
		return nil
	}
	return formatNamed(name)
}

func found(f *Format, sample []record, why string) Found {
	out := Found{Format: f.Name, Why: why, Timed: sample[0].fields.timed()}
	for _, other := range catalogue {
		if ok, not := other.fits(&sample[0]); other != f {
			if ok {
				not = "it fits, too, but " + f.Name + " is tried first"
			}
			out.Not = append(out.Not, Rejected{other.Name, not})
		}
	}
	return out
}

// misfitting names the first record that is not like the first one.
func misfitting(f *Format, sample []record) error {
	for _, r := range sample[1:] {
		if ok, why := f.fits(&r); !ok {
			return fmt.Errorf("%s: not %s like the records before it: %s; hint: a file holds records of one format", r.place, f.Name, why)
		}
	}
	return nil
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
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
