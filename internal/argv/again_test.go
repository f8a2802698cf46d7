package argv_test

import (
	"testing"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/schema"
)

// The command that measured something, with one flag changed, is what a person would type:
// it has the flag once, a folder that is not there yet, and no secret left out.
func TestAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words []string // after the subcommand
		with  string   // the subcommand
		flag  string
		want  string
	}{
		{[]string{"ab.cue"}, "run", "num-profile-runs", "aiperf run ab.cue --num-profile-runs 9"},
		{
			[]string{"ab.cue", "--artifact-dir", "out/before", "--num-profile-runs", "3", "--resume"},
			"run", "num-profile-runs",
			"aiperf run ab.cue --artifact-dir out/before-2 --num-profile-runs 9",
		},
		{
			[]string{"ab.cue", "--artifact-dir=before-2", "--num_profile_runs=3"},
			"run", "num-profile-runs",
			"aiperf run ab.cue --artifact-dir before-3 --num-profile-runs 9",
		},
		{
			[]string{"-m", "demo", "-u", "mock:?ttft=1ms&itl=2ms", "--set", "multi_run.num_runs=3", "--artifact-dir", "a b"},
			"profile", "num-profile-runs",
			"aiperf profile -m demo -u 'mock:?ttft=1ms&itl=2ms' --artifact-dir 'a b' --num-profile-runs 9",
		},
		{
			[]string{"-m", "it's", "--num-requests", "40", "--streaming"},
			"profile", "request-count",
			`aiperf profile -m 'it'\''s' --streaming --request-count 9`,
		},
		{[]string{"-m", "demo", "--api-key", "sesame"}, "profile", "request-count", "--request-count 9"},
		{[]string{"-"}, "run", "request-count", "--request-count 9"},
	} {
		command := argv.Masked(c.with, append([]string{"aiperf", c.with}, c.words...), schema.Options())
		if got := argv.Again(command, argv.Change{Flag: c.flag, Value: "9"}); got != c.want {
			t.Errorf("%q: %q, want %q", command, got, c.want)
		}
	}
	for _, command := range []string{"", "simulation", "aiperf run 'ab"} {
		if got := argv.Again(command, argv.Change{Flag: "request-count", Value: "9"}); got != "--request-count 9" {
			t.Errorf("%q: %q", command, got)
		}
	}
	got := argv.Again("aiperf run 'ab.cue' --set 'search.range=[1,8]' --set 'search.share=0.9'",
		argv.Change{Flag: "set", Value: "search.range=[1, 16]"}, argv.Change{Flag: "num-profile-runs", Value: "4"})
	if want := "aiperf run ab.cue --set search.share=0.9 --set 'search.range=[1, 16]' --num-profile-runs 4"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
