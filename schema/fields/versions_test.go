package fields

import (
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema/source"
)

// The newest version is this program's, each comes after the one before, and
// what they say of fields is so.
func TestVersions(t *testing.T) {
	t.Parallel()
	all := Versions()
	if newest := all[len(all)-1].Name; newest != source.SchemaVersion {
		t.Errorf("the newest row is %s, the program has %s", newest, source.SchemaVersion)
	}
	x := New()
	var added []string
	for i, v := range all {
		if i > 0 && !NewerVersion(v.Name, all[i-1].Name) {
			t.Errorf("%s stands after %s", v.Name, all[i-1].Name)
		}
		for _, c := range v.Changes {
			parent, _ := source.Cut(c.Path)
			switch c.Kind {
			case Added:
				added = append(added, c.Path)
				if x[c.Path] == nil {
					t.Errorf("%s: %s was added, and is not there", v.Name, c.Path)
				}
			case Renamed:
				if x[c.Path] != nil || x[source.Join(parent, c.To)] == nil {
					t.Errorf("%s: %s is not %s now", v.Name, c.Path, c.To)
				}
			case Removed:
				if x[c.Path] != nil {
					t.Errorf("%s: %s was removed, and is there", v.Name, c.Path)
				}
			default:
				t.Errorf("%s: %s: no kind of change", v.Name, c.Path)
			}
			if c.Doc == "" {
				t.Errorf("%s: %s: says nothing", v.Name, c.Path)
			}
		}
	}
	for path, l := range x {
		if l.Has(IsOurs) && !slices.ContainsFunc(added,
			func(a string) bool { return path == a || strings.HasPrefix(path, a+".") }) {
			t.Errorf("%s: AIPerf has no such field, and no version added it", path)
		}
	}
}

func TestNewerVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"2.10", "2.9", true},
		{"2.9", "2.10", false},
		{"3.0", "2.1", true},
		{"2.1", "2.1", false},
		{"v2.2.0", "2.1", true},
		{"latest", "2.1", false},
		{"2", "1.0", false},
		{"", "", false},
	} {
		if got := NewerVersion(c.a, c.b); got != c.want {
			t.Errorf("%q after %q: %v", c.a, c.b, got)
		}
	}
}

// What a file of no version, or a command line, calls by an older name is refused
// with the new one.
func TestUnknownNamesTheSuccessor(t *testing.T) { // not parallel: the history is replaced
	defer func(was []Version) { versions = was }(versions)
	versions = append(slices.Clone(versions), Version{Name: "2.2", Changes: []Change{
		{Path: "benchmark.endpoint.max_wait", Kind: Renamed, To: "timeout", Doc: "seconds"},
		{Path: "benchmark.phases.*.users_rate", Kind: Renamed, To: "rate", Doc: "per second"},
		{Path: "benchmark.gone", Kind: Removed, Doc: "say runtime in its place"},
	}})
	x := New()
	for path, want := range map[string]string{
		"endpoint.maxWait":         "is called timeout since version 2.2",
		"endpoint.max_wait.mean":   "is called timeout since version 2.2",
		"profiling.users_rate":     "is called rate since version 2.2",
		"phases.warmup.users_rate": "is called rate since version 2.2",
		"users_rate":               "is called rate since version 2.2",
		"gone":                     "removed in version 2.2: say runtime in its place",
		"endpoint.timeuot":         "did you mean timeout?",
		"max_wait":                 "",
	} {
		if hint, ok := x.KnownPath(Canonical(path)); ok || hint != want {
			t.Errorf("%s: %q, %v; want %q", path, hint, ok, want)
		}
	}
	root, bad := source.ReadYAML("e.yaml",
		[]byte("benchmark: {endpoint: {max_wait: 1, urls: [a]}, phases: [{users_rate: 2}], gone: 3}\n"))
	if bad != nil {
		t.Fatal(bad)
	}
	var hints []string
	for _, e := range x.UnknownFields(root) {
		hints = append(hints, e.Hint)
	}
	if want := []string{
		"is called timeout since version 2.2", "is called rate since version 2.2",
		"removed in version 2.2: say runtime in its place",
	}; !slices.Equal(hints, want) {
		t.Errorf("hints %q, want %q", hints, want)
	}
}
