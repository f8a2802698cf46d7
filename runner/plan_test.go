package runner

import (
	"testing"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// planOf expands a small experiment made of --set words.
func planOf(t *testing.T, sets ...string) *sweep.Plan {
	t.Helper()
	src := schema.Source{Command: "profile"}
	for _, s := range append([]string{"models.items=[{name: demo}]", "random_seed=7"}, sets...) {
		a, err := schema.ParseSet(s)
		if err != nil {
			t.Fatal(err)
		}
		src.Assignments = append(src.Assignments, a)
	}
	doc, err := schema.Load(src)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := sweep.Expand(doc)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
