package telemetry

import (
	"bytes"
	"hash/maphash"
	"math"
	"strconv"
)

// pages reads page after page of one source. From one look to the next a page mostly keeps
// its lines, and only values change: then only values are read, which takes a twentieth of
// the time. What comes out is what Parse makes of each page.
type pages struct {
	shape *shape // of the last pages; nil where it is not known
	last  uint64 // hash of the last page without its values
	seed  maphash.Seed
}

// shape is a page without its values.
type shape struct {
	lines    []shapeLine
	families []Family // what Parse makes of it, with any values
	page     Page     // what with returned last, whose room it uses again
	values   []Value  // of page's families
}

// shapeLine is a comment, or the name and the labels of a sample.
type shapeLine struct {
	head   []byte
	sample bool
	to     []place // of its value; none where Parse leaves it out
}

// place is where a value stands.
type place struct{ family, value int }

// read is Parse(body). The page belongs to the reader, until the next one.
func (p *pages) read(body []byte) (*Page, error) {
	if p.shape != nil {
		if page := p.shape.with(body); page != nil {
			return page, nil
		}
	}
	page, err := Parse(body)
	if err != nil || len(page.Doubts) > 0 {
		p.shape, p.last = nil, 0
		return page, err
	}
	if p.seed == (maphash.Seed{}) {
		p.seed = maphash.MakeSeed()
	}
	// A shape costs as much as a page, and is made when it is seen for the second time.
	before := p.last
	switch p.last = hashOf(p.seed, body); {
	case p.last != before || before == 0:
		p.shape = nil
	case p.shape == nil:
		p.shape = shapeOf(body)
	}
	return page, nil
}

// eachLine calls f with the lines of a page that say something: comments whole, samples as
// head and value. It ends, and is false, where f is false or a line is no sample.
func eachLine(body []byte, f func(head, value []byte) bool) bool {
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0:
			continue
		case line[0] == '#':
			if !f(line, nil) {
				return false
			}
			continue
		}
		at, ok := valueAt(line)
		if !ok {
			return false
		}
		value, _, _ := bytes.Cut(bytes.TrimSpace(line[at:]), []byte(" "))
		if len(value) == 0 || !f(line[:at], value) {
			return false
		}
	}
	return true
}

// hashOf is a hash of a page without its values.
func hashOf(seed maphash.Seed, body []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	if !eachLine(body, func(head, _ []byte) bool {
		_, _ = h.Write(head)
		return h.WriteByte('\n') == nil
	}) {
		return 0
	}
	return h.Sum64()
}

// shapeOf is the shape of a page that Parse takes whole: where its values go is seen by
// numbering them. Nil where that cannot be told.
func shapeOf(body []byte) *shape {
	s := &shape{}
	numbered := make([]byte, 0, len(body))
	lineOf := map[float64]int{}
	ok := eachLine(body, func(head, value []byte) bool {
		numbered = append(numbered, head...)
		if value != nil {
			n := len(lineOf) + 1
			lineOf[float64(n)] = len(s.lines)
			numbered = strconv.AppendInt(append(numbered, ' '), int64(n), 10)
		}
		numbered = append(numbered, '\n')
		s.lines = append(s.lines, shapeLine{head: bytes.Clone(head), sample: value != nil})
		return true
	})
	page, err := Parse(numbered)
	if !ok || err != nil || len(page.Doubts) > 0 {
		return nil
	}
	s.families = page.Families
	for i := range s.families {
		for k, v := range s.families[i].Values {
			if line, numbered := lineOf[v.V]; numbered {
				s.lines[line].to = append(s.lines[line].to, place{i, k})
			} else if v.V != 0 { // 0 is what a page does not say: the count of a histogram without one
				return nil
			}
		}
	}
	return s
}

// with is the page of the shape that body is, until the next call; nil where it has another,
// or says what only Parse understands.
func (s *shape) with(body []byte) *Page {
	page := &s.page
	page.Families = append(page.Families[:0], s.families...)
	s.values = s.values[:0]
	for i := range s.families {
		s.values = append(s.values, s.families[i].Values...)
	}
	from := 0
	for i := range page.Families {
		f := &page.Families[i]
		to := from + len(f.Values)
		f.Values, from = s.values[from:to:to], to
	}
	n := 0
	ok := eachLine(body, func(head, value []byte) bool {
		if n == len(s.lines) {
			return false
		}
		line := &s.lines[n]
		if n++; line.sample != (value != nil) || !bytes.Equal(line.head, head) {
			return false
		}
		if value == nil {
			return true
		}
		v, err := strconv.ParseFloat(string(value), 64)
		if err != nil || bytes.ContainsAny(value, "pPxX_") {
			return false
		}
		for _, at := range line.to {
			f := &page.Families[at.family]
			to := &f.Values[at.value]
			if counts := to.Kind == Bucket || to.Kind == Count; counts && !wholeCount(v) {
				return false
			}
			to.V = v
		}
		return true
	})
	if !ok || n != len(s.lines) {
		return nil
	}
	for i := range page.Families {
		f := &page.Families[i]
		kept := f.Values[:0]
		for _, v := range f.Values {
			if !math.IsNaN(v.V) && !math.IsInf(v.V, 0) {
				kept = append(kept, v)
			}
		}
		if f.Values = kept; len(kept) == 0 {
			f.Values = nil
		}
	}
	return page
}

// wholeCount reports whether v is a count that every reader takes alike.
func wholeCount(v float64) bool { return v >= 0 && v < 1<<53 && v == math.Trunc(v) }
