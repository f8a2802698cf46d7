package report

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// drawn is a comparison whose rows have random outcomes.
func drawn(rng *rand.Rand) Comparison {
	c := compared()
	outcomes := []decide.Verdict{
		decide.Worse, decide.Better, decide.Equivalent, decide.Unclear, decide.Equivalent,
		decide.Unclear,
	}
	most := 1 + rng.IntN(len(outcomes))
	for i := range c.Rows {
		r := &c.Rows[i]
		r.Outcome, r.Primary = outcomes[rng.IntN(most)], rng.IntN(5) > 0
		r.Harmless = r.Outcome == decide.Better || r.Outcome == decide.Equivalent || r.Outcome == decide.Unclear &&
			rng.IntN(2) == 0
		if rng.IntN(10) == 0 {
			r.MustDetect = .1
		}
	}
	return c
}

// No word stands in a headline that the rows do not carry, and every writer takes it
// from the one function.
func TestHeadlineIsCarriedByTheRows(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(20, 9))
	seen := map[string]bool{}
	for range 2_000 {
		c := drawn(rng)
		head := c.Headline()
		has := func(ok func(decide.Row) bool) bool { return slices.ContainsFunc(c.Primary(), ok) }
		is := func(v decide.Verdict) func(decide.Row) bool {
			return func(r decide.Row) bool { return r.Outcome == v }
		}
		not := func(v decide.Verdict) func(decide.Row) bool {
			return func(r decide.Row) bool { return r.Outcome != v }
		}
		open := has(func(r decide.Row) bool { return !r.Harmless })
		found := regexp.MustCompile(`\((WORSE|BETTER|EQUIVALENT|NOT WORSE|UNDECIDED)\)`).FindAllStringSubmatch(head, -1)
		if len(found) != 1 {
			t.Fatalf("%q: %d outcomes", head, len(found))
		}
		words := found[0][1]
		seen[words] = true
		for word, carried := range map[string]bool{
			"WORSE":      has(is(decide.Worse)),
			"BETTER":     has(is(decide.Better)) && !open,
			"EQUIVALENT": !has(not(decide.Equivalent)) && len(c.Primary()) > 0,
			"NOT WORSE":  !open && len(c.Primary()) > 0,
			"UNDECIDED":  has(is(decide.Unclear)) || open || len(c.Blind()) > 0 || len(c.Primary()) == 0,
		} {
			if words == word && !carried {
				t.Fatalf("%q: no row carries %s\n%+v", head, word, c.Rows)
			}
		}
		for writer, said := range written(t, c) {
			if !strings.Contains(said, oneSpace(head)) {
				t.Fatalf("%s does not say %q:\n%s", writer, head, said)
			}
			if n := strings.Count(said, oneSpace(head)); n != 1 {
				t.Fatalf("%s says it %d times:\n%s", writer, n, said)
			}
		}
	}
	if len(seen) != 5 {
		t.Errorf("outcomes that came up: %v", seen)
	}
}

// oneSpace is text without its line breaks and escapes of XML and HTML.
func oneSpace(s string) string {
	s = strings.NewReplacer("&#xA;", "\n", "&amp;", "&", "&lt;", "<", "&gt;", ">").Replace(s)
	return strings.Join(strings.Fields(s), " ")
}

// written is a comparison as each writer has it.
func written(t *testing.T, c Comparison) map[string]string {
	t.Helper()
	out := map[string]string{}
	take := func(name string, write func(*strings.Builder) error) {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		out[name] = oneSpace(b.String())
	}
	r := Report{
		Plan:    &sweep.Plan{Experiment: schema.Experiment{Compare: &schema.Compare{}}},
		Results: &decide.Results{Comparisons: []*decide.Comparison{c.Comparison}},
	}
	take("the screen of compare", func(b *strings.Builder) error { return c.WriteConsole(b, Screen{}) })
	take("Markdown", func(b *strings.Builder) error { return c.WriteMarkdown(b) })
	take("JUnit", func(b *strings.Builder) error { return c.WriteJUnit(b, "") })
	take("the screen of run, and summary.md", func(b *strings.Builder) error { return r.WriteConsole(b) })
	take("JUnit of run", func(b *strings.Builder) error { return r.WriteJUnit(b) })
	take("JSON", func(b *strings.Builder) error {
		doc, err := json.Marshal(c.Doc())
		var back struct{ Headline string }
		if err == nil {
			err = json.Unmarshal(doc, &back)
		}
		b.WriteString(back.Headline)
		return err
	})
	out["JSON of run"] = oneSpace(strings.Join(r.Doc(0, false).Conclusions, "\n"))
	out["the page and the manifest"] = oneSpace(strings.Join(r.Sentences(), "\n"))
	return out
}
