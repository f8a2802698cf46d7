package format

import (
	"cmp"
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/schema"
)

// badRecord is what is wrong with one record, with its place. Those behind it may be sound.
type badRecord struct{ error }

func (b *badRecord) Unwrap() error { return b.error }

// refusedTurn is why a turn of a sound record cannot be sent: what is asked for does not go
// with the file, and one record stands for all.
type refusedTurn struct{ error }

func (t *refusedTurn) Unwrap() error { return t.error }

// toldRecords bounds the wrong records that are told one by one.
const toldRecords = 10

// broken are the wrong records of a file.
type broken struct {
	first error    // told with its hint
	also  []string // those behind it
	count int
}

func (b *broken) add(err error) {
	b.count++
	switch {
	case b.first == nil:
		b.first = err
	case len(b.also) < toldRecords-1:
		b.also = append(b.also, err.Error())
	}
}

// err is one mistake for all of them; nil for none.
func (b *broken) err() error {
	if b.count < 2 {
		return b.first
	}
	e := *diag.Of(b.first)
	e.Cause = cmp.Or(e.Cause, b.first)
	e.More = append(e.More, b.also...)
	if more := b.count - 1 - len(b.also); more > 0 {
		e.More = append(e.More, "and "+words.CountOf(more, "more record that is wrong", "more records that are wrong"))
	}
	return &e
}

// before is err, which ended the reading, told behind them.
func (b *broken) before(err error) error {
	if b.first == nil {
		return err
	}
	b.add(err)
	return b.err()
}

// ignored is a field that nothing has read.
type ignored struct {
	first   string // where it was seen first
	records int    // that have it
	like    string // a field that is read and has nearly its name; "" for none
}

// ignore counts the fields of a record that nothing has read.
func (r *Reader) ignore(rec files.Record) {
	for _, name := range rec.Fields.Unused() {
		is := r.ignored[name]
		if is == nil {
			is = &ignored{first: rec.Place, like: schema.Suggest(name, rec.Fields.Known())}
			r.ignored[name] = is
			r.ignoredOrder = append(r.ignoredOrder, name)
		}
		is.records++
	}
}

// toldFields bounds the ignored fields that are told one by one.
const toldFields = 10

// ignoredFields says which fields had no effect, in how many records; nil where all had one.
func (r *Reader) ignoredFields() []string {
	var out []string
	for i, name := range r.ignoredOrder {
		if i == toldFields {
			return append(out, fmt.Sprintf("%s: and %s", r.path(),
				words.CountOf(len(r.ignoredOrder)-i, "more field is ignored", "more fields are ignored")))
		}
		is := r.ignored[name]
		line := fmt.Sprintf("%s: field %q is ignored", is.first, name)
		if r.records > 1 {
			first := ""
			if r.cut {
				first = "the first "
			}
			line += fmt.Sprintf(", in %s of %s%s", words.Whole(is.records), first, words.Count(r.records, "record"))
		}
		if is.like != "" {
			line += "; did you mean " + is.like + "?"
		}
		out = append(out, line)
	}
	return out
}

// path is what holds the records.
func (r *Reader) path() string { return cmp.Or(strings.TrimSpace(r.cfg.Path), "records") }
