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
		if l.Has(IsOurs) && !slices.ContainsFunc(added, func(a string) bool { return path == a || strings.HasPrefix(path, a+".") }) {
			t.Errorf("%s: AIPerf has no such field, and no version added it", path)
		}
	}
}

func TestNewerVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{{"2.10", "2.9", true}, {"2.9", "2.10", false}, {"3.0", "2.1", true}, {"2.1", "2.1", false}, {"v2.2.0", "2.1", true}, {"latest", "2.1", false}, {"2", "1.0", false}, {"", "", false}} {
		if got := NewerVersion(c.a, c.b); got != c.want {
			t.Errorf("%q after %q: %v", c.a, c.b, got)
		}
	}
}
