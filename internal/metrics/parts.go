package metrics

import (
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// Part is what the requests to one target, or of one model, amount to.
type Part struct {
	Kind, Name string // target and its address, or model and its name
	Summaries  []Summary
}

// Full is a metric of the whole run.
func (p *Part) Full(tag string) (Stat, bool) {
	if len(p.Summaries) == 0 {
		return Stat{}, false
	}
	return p.Summaries[0].Get(tag)
}

// partKinds are what a run is split by.
var partKinds = []struct {
	name string
	of   func(*record.Record) string
}{
	{"target", func(r *record.Record) string { return r.URL }},
	{"model", func(r *record.Record) string { return r.Model }},
}

// maxParts bounds how many parts of a kind are kept: each holds statistics of
// its own.
const maxParts = 64

// Parts sums a run up target by target and model by model.
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

// NewParts splits by target and by model, where the run has several of them.
func NewParts(opt Options, targets, models bool) *Parts {
	p := &Parts{opt: opt}
	for _, on := range []bool{targets, models} {
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
