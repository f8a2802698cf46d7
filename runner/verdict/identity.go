package verdict

import (
	"fmt"
	"slices"
	"strings"
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

// Known tells whether there was anything to learn.
func (f ServerIdentity) Known() bool { return f.Models != nil }

// has tells whether the list holds a model of this name, whatever follows it.
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
		return otherModel, fmt.Sprintf("the server listed %s at the start and %s at the end", listed(f.Models), listed(now.Models))
	case !slices.Equal(f.Models, now.Models):
		return changedServer, fmt.Sprintf("the server listed %s at the start and %s at the end", listed(f.Models), listed(now.Models))
	case f.Server != now.Server:
		return changedServer, fmt.Sprintf("the Server header was %q at the start and %q at the end", f.Server, now.Server)
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
