package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
)

// Identity is what the targets said they are, at the start and at the end of a
// run, and the models that were asked for.
type Identity struct {
	Before []ServerIdentity `json:"before"`
	After  []ServerIdentity `json:"after"`
	Asked  []string         `json:"asked"`
}

// ServerIdentity is what one target shows of itself.
type ServerIdentity struct {
	Server string   `json:"server,omitempty"` // the header
	Models []string `json:"models"`           // sorted; nil where there is no list
	// Counts says that it is a program whose /tokenize is known.
	Counts bool `json:"-"`
}

// Known reports whether there was anything to learn.
func (f ServerIdentity) Known() bool { return f.Models != nil }

// has reports whether the list holds a model of this name, whatever follows it.
func (f ServerIdentity) has(model string) bool {
	return slices.ContainsFunc(f.Models, func(m string) bool { return m == model || strings.HasPrefix(m, model+" ") })
}

// The levels of a change.
const (
	sameServer    = 0
	changedServer = 1
	otherModel    = 2
)

// compare finds the worst change over the targets.
func (id *Identity) compare() (level float64, words string) {
	level, words = sameServer, "the server showed the same models and Server header at the start and at the end"
	for i, b := range id.Before {
		if !b.Known() || i >= len(id.After) {
			continue
		}
		l, w := b.became(id.After[i], id.Asked)
		if l > level {
			level, words = l, w
		}
	}
	return level, words
}

// became says what changed from f to now.
func (f ServerIdentity) became(now ServerIdentity, asked []string) (float64, string) {
	kept := slices.ContainsFunc(f.Models, func(m string) bool { return slices.Contains(now.Models, m) })
	for _, m := range asked {
		if now.Known() && f.has(m) && !now.has(m) {
			return otherModel, fmt.Sprintf("the server listed %s at the start and %s at the end", m, listed(now.Models))
		}
	}
	switch {
	case !now.Known():
		return changedServer, "the server listed its models at the start and not at the end"
	case !kept && len(f.Models) > 0:
		return otherModel, fmt.Sprintf("the server listed %s at the start and %s at the end", listed(f.Models),
			listed(now.Models))
	case !slices.Equal(f.Models, now.Models):
		return changedServer, fmt.Sprintf("the server listed %s at the start and %s at the end", listed(f.Models),
			listed(now.Models))
	case f.Server != now.Server:
		return changedServer, fmt.Sprintf("the Server header was %q at the start and %q at the end", f.Server,
			now.Server)
	}
	return sameServer, ""
}

// listed is a list for people, at most three of it.
func listed(models []string) string {
	switch n := len(models); {
	case n == 0:
		return "no model"
	case n > 3:
		return strings.Join(models[:3], ", ") + fmt.Sprintf(" and %d more", n-3)
	}
	return strings.Join(models, ", ")
}

// identity compares what the server showed before and after, and the models that
// its answers name.
func identity(e *Evidence) []Reading {
	const try = "find out who restarted or replaced the server, then run again"
	level, said := -1.0, ""
	if e.Identity != nil {
		level, said = e.Identity.compare()
	}
	if other := e.served.changed(); other != "" && level < otherModel {
		level, said = otherModel, other
	}
	if level < 0 {
		return nil
	}
	return []Reading{{Value: level, Warn: 0, Fail: 1, Detail: said, Try: try}}
}

// served are the models that answers name, by where they came from and what was
// asked for there.
type served map[source]*naming

type source struct{ url, asked string }

// naming is the model that the first answer named, and those that named another.
type naming struct {
	first, other string // other is the first of them
	from         int64  // the request whose answer it was
	others, all  int64
}

// add takes in an answer that names its model.
func (s *served) add(r *record.Record) {
	if r.Status != record.OK || r.ServedModel == "" {
		return
	}
	if *s == nil {
		*s = served{}
	}
	at := source{r.URL, r.Model}
	n := (*s)[at]
	if n == nil {
		n = &naming{first: r.ServedModel}
		(*s)[at] = n
	}
	n.all++
	if r.ServedModel == n.first {
		return
	}
	if n.others++; n.other == "" {
		n.other, n.from = r.ServedModel, r.RequestID
	}
}

// changed says where answers began to name another model; "" for nowhere.
func (s served) changed() string {
	for _, at := range slices.SortedFunc(maps.Keys(s),
		func(a, b source) int { return cmp.Or(cmp.Compare(a.asked, b.asked), cmp.Compare(a.url, b.url)) }) {
		if n := s[at]; n.others > 0 {
			return fmt.Sprintf("answers for %s named the model %s at first, and %d of %d another one: %s from request %d on",
				words.Clip(at.asked, mostForeign), words.Clip(n.first, mostForeign), n.others,
				n.all, words.Clip(n.other, mostForeign), n.from)
		}
	}
	return ""
}
