package audit

import (
	"regexp"
	"slices"
	"testing"
)

// aPlace is one that nothing stands in.
var aPlace = regexp.MustCompile(`\{[a-z]+\}`)

// Each recipe has a name of its own and a command for some scenario; in every command and
// file each place is one that is known; its report goes where it is looked for.
func TestRecipes(t *testing.T) {
	t.Parallel()
	all, err := Recipes()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range all {
		r := &all[i]
		names = append(names, r.Name)
		carried := 0
		for _, s := range Scenarios() {
			s.Tokenizer = "/tok"
			fill := places(&s, "/exe", "http://127.0.0.1:1", "/dir")
			command := r.command(&s, fill)
			if command == nil {
				continue
			}
			carried++
			told := slices.Clone(command)
			for _, text := range r.Files {
				told = append(told, fill.Replace(text))
			}
			for _, text := range told {
				if left := aPlace.FindString(text); left != "" {
					t.Errorf("%s, %s: nothing stands for %s", r.Name, s.Name, left)
				}
			}
			for _, place := range []string{"out", "requests", "isl", "osl"} {
				if !r.uses(&s, place) && !(place == "isl" && r.uses(&s, "prompts")) {
					t.Errorf("%s, %s: no %s", r.Name, s.Name, place)
				}
			}
		}
		if carried < 3 {
			t.Errorf("%s carries out %d scenarios", r.Name, carried)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(all) || len(all) < 8 {
		t.Errorf("recipes are %v", names)
	}
}

// A client that knows one law of arrivals is not asked for another.
func TestRecipeOfOneLaw(t *testing.T) {
	t.Parallel()
	r := Recipe{Open: []string{"x", "{rate}"}, Laws: []string{"poisson"}}
	if r.words(&Scenario{Rate: 1, Law: "constant"}) != nil || r.words(&Scenario{Rate: 1, Law: "poisson"}) == nil {
		t.Error("the law is not looked at")
	}
	if r.words(&Scenario{Closed: 1}) != nil {
		t.Error("a closed loop without a command")
	}
}

// What a client prints has its version somewhere.
func TestVersionInWords(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"guidellm version: 0.8.1": "0.8.1", "genai-bench version 0.0.5\n": "0.0.5", "0.13.0": "0.13.0",
		"Name: x\nVersion: 0.7.0\nSummary: 1": "0.7.0", "v0.32.0+cpu": "0.32.0+cpu", "none": "",
	} {
		if got := string(aVersion.Find([]byte(said))); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}
