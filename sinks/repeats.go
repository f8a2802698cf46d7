package sinks

import (
	"encoding/binary"
	"errors"

	"github.com/apache/arrow/go/v17/arrow"

	"aiperf.dev/aiperf/internal/record"
)

// A schedule goes on while its server is gone, and its requests fail alike, perhaps
// by the million. In the journal the first of them has a row; those that follow it
// are counted there and packed: per request, what may differ,
//
//	varint   of each integer, its difference from the request before
//	uvarint  of each text, its number among those so far; the next free one is new,
//	         and its length and bytes follow
//
// Readers give every request its row back.

// Columns of the journal behind those of the requests.
const (
	repeatsColumn       = "repeats"        // further requests that failed as this one
	repeatsPackedColumn = "repeats_packed" // what of them differs
)

var errRepeats = errors.New("packed repeats: damaged")

// repeatFields are these columns, of a journal.
func repeatFields() []arrow.Field {
	return []arrow.Field{
		{Name: repeatsColumn, Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: repeatsPackedColumn, Type: arrow.BinaryTypes.Binary, Nullable: true},
	}
}

// alike packs requests that failed alike, and unpacks them.
type alike struct {
	ints, texts []column[requestRow] // those that may differ
	same        []column[requestRow] // and all others
	skip        map[string]bool      // of texts: read past, and not wanted
	names       []string             // texts of the repeats, by number

	head, last requestRow
	open       bool // further requests may follow head
	n          int32
	packed     []byte
}

func newAlike(cols []column[requestRow]) *alike {
	a := &alike{}
	for _, c := range cols {
		switch {
		case !c.varies:
			a.same = append(a.same, c)
		case c.int != nil:
			a.ints = append(a.ints, c)
		default:
			a.texts = append(a.texts, c)
		}
	}
	return a
}

// unconnected reports whether r failed for want of a connection: many may fail so.
func unconnected(r *record.Record) bool {
	return r.Status == record.Connection && r.Sent == record.None && len(r.Chunks) == 0
}

// begin takes row for one that others may be counted with.
func (a *alike) begin(row *requestRow) {
	a.head, a.last, a.open, a.n, a.packed, a.names = *row, *row, true, 0, a.packed[:0], a.names[:0]
}

// number is that of a text; the next free one when it is new.
func (a *alike) number(text string) int {
	for i, known := range a.names {
		if known == text {
			return i
		}
	}
	return len(a.names)
}

// maxNames bounds the texts of one row, which are looked through for each request.
const maxNames = 64

// add counts row with the head, and reports whether that was possible.
func (a *alike) add(row *requestRow) bool {
	if !a.open || len(a.names) > maxNames {
		return false
	}
	for i := range a.same {
		if !a.same[i].equal(&a.head, row) {
			return false
		}
	}
	for i := range a.ints {
		c := &a.ints[i]
		a.packed = binary.AppendVarint(a.packed, *c.int(row)-*c.int(&a.last))
	}
	for i := range a.texts {
		text := *a.texts[i].text(row)
		n := a.number(text)
		a.packed = binary.AppendUvarint(a.packed, uint64(n))
		if n == len(a.names) {
			a.names = append(a.names, text)
			a.packed = append(binary.AppendUvarint(a.packed, uint64(len(text))), text...)
		}
	}
	a.last = *row
	a.n++
	return true
}

// unpack appends the n requests that were counted with head.
func (a *alike) unpack(dst []requestRow, head *requestRow, n int32, packed []byte) ([]requestRow, error) {
	a.names = a.names[:0]
	ok := true
	unsigned := func() int {
		v, k := binary.Uvarint(packed)
		if ok = ok && k > 0 && v < 1<<31; !ok {
			return 0
		}
		packed = packed[k:]
		return int(v)
	}
	row := *head
	row.Chunks = nil
	for range n {
		for i := range a.ints {
			d, k := binary.Varint(packed)
			if k <= 0 {
				return dst, errRepeats
			}
			packed = packed[k:]
			*a.ints[i].int(&row) += d
		}
		for i := range a.texts {
			number := unsigned()
			if number == len(a.names) && ok {
				size := unsigned()
				if !ok || size > len(packed) {
					return dst, errRepeats
				}
				a.names = append(a.names, string(packed[:size]))
				packed = packed[size:]
			}
			if !ok || number >= len(a.names) {
				return dst, errRepeats
			}
			if c := &a.texts[i]; !a.skip[c.Name] {
				*c.text(&row) = a.names[number]
			}
		}
		dst = append(dst, row)
	}
	if len(packed) > 0 {
		return dst, errRepeats
	}
	return dst, nil
}
