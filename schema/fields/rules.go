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

// LooksAt tells whether the rule's condition looks at the member called name.
func (r *Rule) LooksAt(name string) bool { return r != nil && slices.Contains(r.About, name) }
