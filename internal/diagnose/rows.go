package diagnose

import "strings"

// Catalogues are both as tables of the documentation.
func Catalogues() (rules, facts [][]string) {
	b := newBook()
	all := func(bounds []Bound, between string) string {
		var parts []string
		for _, x := range bounds {
			parts = append(parts, x.told(b.fact(x.Fact).Unit))
		}
		return strings.Join(parts, between)
	}
	for _, r := range b.rules {
		var cases []string
		for _, c := range r.Cases {
			cases = append(cases, all(c, ", "))
		}
		when := strings.Join(cases, "; or ")
		if when == "" {
			when = "nothing above does"
		}
		if len(r.Unless) > 0 {
			when += "; unless " + all(r.Unless, " or ")
		}
		if len(r.Yields) > 0 {
			when += "; gives way to a limit of the server where " + all(r.Yields, ", ")
		}
		certainty := string(r.Certainty)
		if len(r.Firm) > 0 {
			certainty += "; " + string(Shown) + " where " + all(r.Firm, ", ")
		}
		next := r.Next
		if r.ask != nil {
			next = "the first thing that is missing"
		}
		rules = append(rules, []string{"`" + r.Name + "`", r.Title, when, certainty, next})
	}
	for _, f := range Facts() {
		facts = append(facts, []string{"`" + f.Name + "`", f.Unit, f.Doc, f.Lacking})
	}
	return rules, facts
}
