package schema

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cuelang.org/go/cue"

	"aiperf.dev/aiperf/schema/fields"
)

// recordedPath is one field of AIPerf's own configuration schema.
type recordedPath struct {
	Path     string
	Default  any
	Const    []any
	Enum     []any
	Variants []string
	Bounds   struct {
		GE, GT, LE, LT *float64
	}
}

func recordedPaths(t *testing.T) []recordedPath {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "aiperf", "config", "config_paths.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []recordedPath
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var r recordedPath
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	return rows
}

var distributionRow = regexp.MustCompile(`^dist\(\w+\)`)

// ourPath spells a recorded path as the index does: canonical, members of
// lists as stars. The phases are recorded once more as one mapping.
func ourPath(p string) string {
	p = distributionRow.ReplaceAllString(p, "benchmark.datasets[].turns")
	p = strings.ReplaceAll(p, "[]", ".*")
	for _, r := range [][2]string{
		{"benchmark.model.", "benchmark.models."},
		{"benchmark.dataset.", "benchmark.datasets.*."},
		{"benchmark.warmup.", "benchmark.phases.*."},
		{"benchmark.profiling.", "benchmark.phases.*."},
	} {
		if rest, ok := strings.CutPrefix(p, r[0]); ok {
			p = r[1] + rest
		}
	}
	if rest, ok := strings.CutPrefix(p, "benchmark.phases."); ok && !strings.HasPrefix(rest, "*") {
		p = "benchmark.phases.*." + rest
	}
	if rest, ok := strings.CutPrefix(p, "benchmark.datasets.*."); ok {
		for _, k := range []string{"isl", "osl"} {
			if rest == k || strings.HasPrefix(rest, k+".") {
				p = "benchmark.datasets.*.prompts." + rest
			}
		}
	}
	return p
}

// Every path of AIPerf's configuration exists, with its default, its words and
// its bounds.
func TestPathsOfAIPerf(t *testing.T) {
	t.Parallel()
	s, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	x := fields.New()
	agree, absent, used := 0, 0, map[string]bool{}
	for _, r := range recordedPaths(t) {
		var diff []string
		l := x[ourPath(r.Path)]
		switch {
		case l == nil && isAbsent(strings.ReplaceAll(ourPath(r.Path), "models.*", "models.items.*")):
			absent++
			continue
		case l == nil:
			diff = []string{"missing"}
		case l.Lower != "":
		default:
			diff = append(diffDefault(l, r), diffWords(l, r)...)
			diff = append(diff, diffBounds(s, l, r)...)
		}
		switch listed := listedPath(r.Path); {
		case len(diff) == 0:
			agree++
		case listed != "":
			used[listed] = true
		default:
			t.Errorf("%s: %s", r.Path, strings.Join(diff, "; "))
		}
	}
	for p := range pathDifferences {
		if !used[p] {
			t.Errorf("%s agrees with AIPerf, yet is listed as a difference", p)
		}
	}
	t.Logf("%d paths agree, %d differ for a listed reason, %d are absent by the table", agree, len(used), absent)
}

// listedPath is the row of pathDifferences that p belongs to; a row that ends
// in a star speaks for all paths that begin so.
func listedPath(p string) string {
	for row := range pathDifferences {
		if prefix, many := strings.CutSuffix(row, "*"); row == p || many && strings.HasPrefix(p, prefix) {
			return row
		}
	}
	return ""
}

// diffDefault compares the defaults. A default that holds for some types only
// is compared for these.
func diffDefault(l *fields.Leaf, r recordedPath) []string {
	if r.Default == nil || l.Def == "" && (r.Default == false || fmt.Sprint(r.Default) == "map[]") {
		return nil
	}
	if len(l.When) > 0 && len(r.Variants) > 0 && !anyVariant(l.When, r.Variants) {
		return []string{"the default holds for other types"}
	}
	var have any
	if l.Def != "" {
		if err := json.Unmarshal([]byte(l.Def), &have); err != nil {
			return []string{err.Error()}
		}
	}
	if fmt.Sprint(have) != fmt.Sprint(r.Default) {
		return []string{fmt.Sprintf("default %v, want %v", have, r.Default)}
	}
	return nil
}

// anyVariant reports whether a default holds for one of AIPerf's variants of
// the object (SyntheticDataset is type synthetic).
func anyVariant(when, variants []string) bool {
	return slices.ContainsFunc(when, func(w string) bool {
		return slices.ContainsFunc(variants,
			func(v string) bool { return strings.EqualFold(strings.TrimSuffix(v, "Dataset"), w) })
	})
}

// diffWords looks for words of AIPerf's that ours does not take.
func diffWords(l *fields.Leaf, r recordedPath) (out []string) {
	for _, w := range append(r.Enum, r.Const...) {
		s, ok := w.(string)
		if ok && len(l.Enum) > 0 && l.Word(s) == "" {
			out = append(out, fmt.Sprintf("does not take %q", s))
		}
	}
	return out
}

// diffBounds tries the values on both sides of each bound.
func diffBounds(s *compiled, l *fields.Leaf, r recordedPath) (out []string) {
	try := func(v float64, want bool) {
		text := strconv.FormatFloat(v, 'f', -1, 64)
		d := s.part(l.Path)
		ok := false
		for _, a := range arms(d) {
			ok = ok || a.Unify(s.ctx.CompileString(text)).Validate(cue.Concrete(true)) == nil
		}
		if ok != want {
			out = append(out, fmt.Sprintf("takes %s: %v, want %v", text, ok, want))
		}
	}
	for _, b := range []struct {
		at      *float64
		in, out float64 // what a step from the bound leads to
		allowed bool    // the bound itself
	}{
		{r.Bounds.GE, +1, -1, true}, {r.Bounds.GT, +1, -1, false}, {r.Bounds.LE, -1, +1, true}, {r.Bounds.LT, -1, +1, false},
	} {
		if b.at == nil {
			continue
		}
		try(*b.at, b.allowed)
		try(*b.at+b.out, false)
	}
	return out
}

// Closed: a key that is no field is refused in every object of the schema.
func TestUnknownKeysAreRefused(t *testing.T) {
	t.Parallel()
	s, err := compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range fields.New() {
		if !l.Has(fields.IsObject) || l.Has(fields.IsFree) {
			continue
		}
		def := arm(s.part(l.Path), cue.StructKind)
		if def.Unify(s.ctx.CompileString(`{zzz_no_field: 1}`)).Err() == nil {
			t.Errorf("%s takes a key that is no field", l.Path)
		}
	}
}

func isAbsent(path string) bool {
	row, _ := fields.AbsentAt(path)
	return row != nil
}
