package mode

import (
	"encoding/json"
	"testing"

	"aiperf.dev/aiperf/schema"
)

// Every row is whole: it can be told from the others, it says in words what it
// is, and the settings that it names exist.
func TestRowsAreWhole(t *testing.T) {
	t.Parallel()
	fields := phaseFields(t)
	seen := map[string]bool{}
	for _, m := range Catalogue() {
		if m.Name == "" || m.Title == "" || m.Doc == "" || m.open == nil {
			t.Errorf("%q: name, title, doc or open is missing", m.Name)
		}
		if seen[m.Name] || seen[m.Title] {
			t.Errorf("%s: its name or title stands twice", m.Name)
		}
		seen[m.Name], seen[m.Title] = true, true
		for _, s := range m.Takes {
			if !fields[s.Name] {
				t.Errorf("%s takes %s, which a phase does not have", m.Name, s.Name)
			}
			if m.Instead[s.Name] != "" {
				t.Errorf("%s takes %s and says what to do instead", m.Name, s.Name)
			}
		}
		if m.BySetting() && !fields[m.Name] {
			t.Errorf("%s is chosen by a setting that a phase does not have", m.Name)
		}
		if !m.Ends && m.Requests == 0 && !m.NeedsSet {
			t.Errorf("%s: nothing says how many requests it sends by default", m.Name)
		}
	}
}

// phaseFields are the settings of a phase, by their names in files.
func phaseFields(t *testing.T) map[string]bool {
	t.Helper()
	one, yes, many := int64(1), true, []schema.RatePoint{{}}
	b, err := json.Marshal(schema.Phase{
		Rate: 1, RateSeries: many, RateRamp: &schema.Ramp{}, Smoothness: 1, Users: 1,
		AutoOffset: &yes, StartOffset: &one, EndOffset: &one, Concurrency: 1, ConcurrencyRamp: &schema.Ramp{},
	})
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	for name := range m {
		fields[name] = true
	}
	return fields
}

func TestModeOfAPhase(t *testing.T) {
	t.Parallel()
	series := []schema.RatePoint{{TimeS: 0, QPS: 1}, {TimeS: 1, QPS: 2}}
	for want, p := range map[string]schema.Phase{
		"gamma":       {Type: "gamma"},
		"rate_series": {Type: "constant", RateSeries: series},
		"concurrency": {Type: "concurrency"},
	} {
		if m, err := Of(&p); err != nil || m.Name != want {
			t.Errorf("Of(%+v) = %v, %v; want %s", p, m, err, want)
		}
	}
	if _, err := Of(&schema.Phase{Type: "waves"}); err == nil {
		t.Error("an unknown type is no error")
	}
}
