package report

import (
	"encoding/xml"
	"fmt"
	"io"

	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// A JUnit file as CI systems read it: suites of cases, each passed, failed or
// skipped.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
		Says     string      `xml:"system-out,omitempty"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Failure *junitText `xml:"failure,omitempty"`
		Skipped *junitText `xml:"skipped,omitempty"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
	}
)

func (s *junitSuite) add(c junitCase) {
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Skipped != nil {
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

// WriteJUnit writes the primary metrics as test cases: WORSE is a failure,
// UNDECIDED is skipped unless it counts as missed or harm is ruled out, and so is what
// could not have shown the change that must be found. The headline is the suite's
// output.
func (c Comparison) WriteJUnit(w io.Writer, undecided string) error {
	return writeJUnit(w, c.suite(undecided))
}

func (c Comparison) suite(undecided string) junitSuite {
	s := junitSuite{Name: words.Line(fmt.Sprintf("compare %s with %s", c.Baseline, c.Candidate)), Says: c.Headline()}
	for _, r := range c.Primary() {
		t := junitCase{Class: words.Line(r.Cell), Name: metricName(r)}
		text := &junitText{words.Line(fmt.Sprintf("%s: %s, baseline %s, candidate %s", outcome(r),
			change(r), value(r, r.Base), value(r, r.Candidate)))}
		switch {
		case r.Blind():
			t.Skipped = &junitText{"a change of " + sized(r, r.MustDetect) + " could not have been found: " +
				text.Message}
		case r.Outcome == decide.Unclear && r.Harmless:
		case r.Outcome == decide.Worse, r.Outcome == decide.Unclear && undecided == decide.AsMissed:
			t.Failure = text
		case r.Outcome == decide.Unclear && undecided != decide.AsPassed:
			t.Skipped = text
		}
		s.add(t)
	}
	return s
}

// WriteJUnit writes the gates as test cases, a suite per cell: a missed one is a
// failure; one that the interval leaves open passes or fails by the policy.
func (r *Report) WriteJUnit(w io.Writer) error {
	var suites []junitSuite
	for i := range r.Results.Cells {
		c := &r.Results.Cells[i]
		s := junitSuite{Name: words.Line(r.Plan.Name + ": " + c.Cell.Short())}
		for _, g := range c.Gates {
			t := junitCase{Class: words.Line(c.Cell.Short()), Name: words.Line(g.Gate.Expr)}
			if g.Unusable { // what spoiled the number fails by itself
				t.Skipped = &junitText{words.Line("cannot be judged: " + g.Text + " " + g.Note)}
			} else if g.Unmeasured {
				t.Failure = &junitText{words.Line("not measured: " + g.Text)}
			} else if !g.Held {
				t.Failure = &junitText{words.Line(string(g.State) + ": " + g.Text + " " + g.Note)}
			}
			s.add(t)
		}
		if c.Status == decide.Failed || c.Status == decide.Unusable {
			s.add(junitCase{Class: words.Line(c.Cell.Short()), Name: "measured", Failure: &junitText{string(c.Status)}})
		}
		r.validity(&s, c)
		suites = append(suites, s)
	}
	suites = append(suites, rulesSuites(r.Rules)...)
	for _, c := range r.Results.Comparisons {
		suites = append(suites, Comparison{Comparison: c}.suite(r.Plan.Experiment.Compare.Undecided))
	}
	return writeJUnit(w, suites...)
}

// rulesSuites are a suite for each set of rules: a rule that is not met is a failure, one that
// cannot be checked is skipped.
func rulesSuites(d *rules.Document) (suites []junitSuite) {
	if d == nil {
		return nil
	}
	for i := range d.Sets {
		set := &d.Sets[i]
		s := junitSuite{Name: words.Line("rules " + set.Spoken()), Says: words.Line(set.Said)}
		for k := range set.Rules {
			o := &set.Rules[k]
			_, why := o.Line()
			t := junitCase{Class: words.Line(set.Spoken()), Name: words.Line(o.Rule + ": " + o.Asks)}
			switch o.State {
			case rules.NotMet:
				t.Failure = &junitText{words.Line(why)}
			case rules.NotChecked:
				t.Skipped = &junitText{words.Line(why)}
			}
			s.add(t)
		}
		suites = append(suites, s)
	}
	return suites
}

// validity adds what of a cell is invalid and was asked for: what ends the program
// with 4 fails here, and where it was accepted on purpose it is skipped.
func (r *Report) validity(s *junitSuite, c *decide.CellResult) {
	add := func(name, why string) {
		t, text := junitCase{Class: words.Line(c.Cell.Short()), Name: name}, &junitText{words.Line(why)}
		if r.Plan.Experiment.AllowInvalid {
			t.Skipped = text
		} else {
			t.Failure = text
		}
		s.add(t)
	}
	for _, x := range r.Results.Spoiled(r.Plan) {
		if x.Cell == c {
			add("valid: "+x.Key.Spoken(), x.String())
		}
	}
	if c.Verdict == validity.Invalid {
		add("valid", "the measurement is INVALID: "+r.why(validity.Invalid))
	}
}

func writeJUnit(w io.Writer, suites ...junitSuite) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(junitSuites{Suites: suites}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
