package report

import (
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/internal/words"
)

// rules say how the result stands to the rules of others, and which it does not meet.
func (r *Report) rules(s *sheet) {
	if r.Rules == nil {
		return
	}
	for i := range r.Rules.Sets {
		j := &r.Rules.Sets[i]
		s.part(advice)
		s.wrapped(words.Pad("rules", r.labelWidth()), j.Said)
		said := 0
		for k := range j.Rules {
			o := &j.Rules[k]
			if o.State != rules.NotMet && (r.folded > 0 || o.State == rules.Met) {
				continue
			}
			if said++; said > mostGates && !r.whole {
				continue
			}
			head, text := o.Line()
			s.part(missed)
			s.wrapped("  "+head+"    ", text)
		}
		if left := said - mostGates; left > 0 && !r.whole {
			s.wrapped("  … ", "and "+words.Count(left, "other rule")+": aiperf checks "+r.Dir+" --rules "+j.Spoken())
		}
	}
}

// rulesSentences say how the result stands to each set of rules, and which it does not meet.
func (r *Report) rulesSentences() (out []string) {
	if r.Rules == nil {
		return nil
	}
	for _, j := range r.Rules.Sets {
		out = append(out, "rules: "+j.Said)
		for k := range j.Rules {
			o := &j.Rules[k]
			_, text := o.Line()
			switch o.State {
			case rules.NotMet:
				out = append(out, o.Rule+" is not met: "+text)
			case rules.NotChecked:
				out = append(out, o.Rule+": "+text)
			}
		}
	}
	return out
}
