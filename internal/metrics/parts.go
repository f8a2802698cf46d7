package metrics

import (
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// Part is what the requests to one target, of one model, or of one kind amount to.
type Part struct {
	Kind, Name string // target and its address, model and its name, or request and Question or Other
	Summaries  []Summary
}

// Full is a metric of the whole run.
func (p *Part) Full(tag string) (Stat, bool) {
	if len(p.Summaries) == 0 {
		return Stat{}, false
	}
	return p.Summaries[0].Get(tag)
}

// Headline is a metric of the steady window, or of the whole run where there is none.
func (p *Part) Headline(tag string) (Stat, bool) {
	if len(p.Summaries) > 1 {
		if s, ok := p.Summaries[1].Get(tag); ok {
			return s, true
		}
	}
	return p.Full(tag)
}

// partKinds are what a run is split by.
var partKinds = []struct {
	name string
	of   func(*record.Record) string
}{
	{"target", func(r *record.Record) string { return r.URL }},
	{"model", func(r *record.Record) string { return r.Model }},
	{"request", asking},
}

// The parts of a run in which questions with known answers stand among other requests, and
// have lengths of their own.
const (
	Question = "question"
	Other    = "other"
)

func asking(r *record.Record) string {
	if r.Item != "" {
		return Question
	}
	return Other
}

// maxParts bounds how many parts of a kind are kept: each holds statistics of
// its own.
const maxParts = 64

// Parts sums a run up target by target and so on.
type Parts struct {
	opt    Options
	unsent bool        // some arrivals went nowhere
	kinds  []partition // parallel to partKinds
}

// partition is the split by one kind.
type partition struct {
	on     bool
	names  []string // in order of their first request
	by     map[string]*Collector
	beyond bool // there are too many: none is kept
}

// NewParts splits by target and by model, where the run has several of them, and by whether
// a request asks a question, where some do.
func NewParts(opt Options, targets, models, questions bool) *Parts {
	p := &Parts{opt: opt}
	for _, on := range []bool{targets, models, questions} {
		p.kinds = append(p.kinds, partition{on: on, by: map[string]*Collector{}})
	}
	return p
}

// Add takes one record. One that was never sent belongs to no part.
func (p *Parts) Add(r *record.Record) {
	if r.Part() == record.InUnsent {
		p.unsent = true
		return
	}
	for i := range p.kinds {
		if k := &p.kinds[i]; k.on && !k.beyond {
			k.add(p.opt, partKinds[i].of(r), r)
		}
	}
}

func (k *partition) add(opt Options, name string, r *record.Record) {
	c := k.by[name]
	if c == nil {
		if len(k.names) == maxParts {
			k.beyond, k.names, k.by = true, nil, nil
			return
		}
		c = NewCollector(opt)
		k.by[name], k.names = c, append(k.names, name)
	}
	c.Add(r)
}

// Parts are all parts with requests in the window, by kind and name. A kind
// with one part says what the whole run says, and is left out.
func (p *Parts) Parts() (out []Part) {
	for i := range p.kinds {
		k := &p.kinds[i]
		if len(k.names) < 2 {
			continue
		}
		slices.Sort(k.names)
		for _, name := range k.names {
			out = append(out, Part{partKinds[i].name, name, p.summaries(k.by[name])})
		}
	}
	return out
}

// summaries are those of one part. Arrivals that were never sent count as
// endless in some metrics, and nobody knows to whom they would have gone: the
// parts do not have those metrics then.
func (p *Parts) summaries(c *Collector) []Summary {
	all := c.Summaries()
	if !p.unsent {
		return all
	}
	for i := range all {
		all[i].Stats = slices.DeleteFunc(all[i].Stats, func(s Stat) bool {
			m, _ := Lookup(s.Tag)
			return fromIntended(s.Tag) || m != nil && m.Of != ""
		})
	}
	return all
}

// Notes say what is not told.
func (p *Parts) Notes() (out []string) {
	for i := range p.kinds {
		if p.kinds[i].beyond {
			out = append(out, fmt.Sprintf("metrics have no rows for each %s: there are more than %d", partKinds[i].name,
				maxParts))
		}
	}
	return out
}
