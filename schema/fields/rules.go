package fields

import (
	"regexp"
	"slices"
	"strings"
)

// Rule is what a rule within one object says: a condition in CUE, in the object's
// #rules, with its words as fields here. The table is generated from the CUE.
type Rule struct {
	Field string   // that it blames, below the object
	Text  string   // the message; \(type) stands for a value
	Hint  string   // what to do about it, "" for nothing
	By    string   // the member that asks for Field, to blame where Field is missing
	About []string // the members that its condition looks at
	// Compares are the members whose values it compares, those of one comparison
	// with blanks between them. Of the others of About it only matters whether they
	// are there and of what kind.
	Compares []string
}

var interpolated = regexp.MustCompile(`\\\\\\\([a-z_]+\\\)`)

// RuleOf is the rule that says text of field; nil for none.
func RuleOf(field, text string) *Rule {
	for i := range objectRules {
		if r := &objectRules[i]; r.Field == field && r.says(text) {
			return r
		}
	}
	return nil
}

func (r *Rule) says(text string) bool {
	if !strings.Contains(r.Text, `\(`) {
		return r.Text == text
	}
	pattern := interpolated.ReplaceAllString(regexp.QuoteMeta(r.Text), ".*")
	return regexp.MustCompile("^" + pattern + "$").MatchString(text)
}

// LooksAt reports whether the rule's condition looks at the member called name.
func (r *Rule) LooksAt(name string) bool { return r != nil && slices.Contains(r.About, name) }

// Compared reports whether a rule may hold or not by the value of the member called
// name in a part that has the members that has tells: a comparison with a member
// that is not there holds for no value.
func Compared(name string, has func(member string) bool) bool {
	for i := range objectRules {
		for _, c := range objectRules[i].Compares {
			members := strings.Fields(c)
			if slices.Contains(members, name) && !slices.ContainsFunc(members, func(m string) bool { return !has(m) }) {
				return true
			}
		}
	}
	return false
}
