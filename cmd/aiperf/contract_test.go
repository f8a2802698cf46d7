package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// contractRow is one command line with what AIPerf 0.13 does about it.
type contractRow struct {
	Name  string
	Argv  []string
	Exit  int
	From  string   // how it is known
	Files []string // below the artifact directory
	Keys  []string // of profile_export_aiperf.json, at its top
	Out   []string // expressions that stdout has lines for
	Never []string // expressions that stdout has none for
	// Holds are values in files: by file, then by place (data/0/session_id). The
	// first step into a file of lines is the number of the line.
	Holds map[string]map[string]json.RawMessage
	Lacks []string // keys that AIPerf writes and we do not, with Why
	Here  *int     // our exit code where it differs, with Why
	Why   string   // what differs
}

func contract(t *testing.T) []contractRow {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "testdata", "aiperf", "contract.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var rows []contractRow
	for s := bufio.NewScanner(f); s.Scan(); {
		var r contractRow
		if err := json.Unmarshal(s.Bytes(), &r); err != nil {
			t.Fatalf("row %d: %v", len(rows)+1, err)
		}
		rows = append(rows, r)
	}
	return rows
}

// TestContractRefusals walks the command lines that are refused, in this process: nothing
// is started, and each leaves its folder empty.
func TestContractRefusals(t *testing.T) {
	t.Setenv("HF_HOME", filepath.Join(t.TempDir(), "no-hub")) // as in aiperfWith
	t.Setenv("HF_HUB_CACHE", "")
	n := 0
	for _, r := range contract(t) {
		if r.wants(t) != diag.Usage {
			continue
		}
		n++
		t.Run(r.Name, func(t *testing.T) {
			dir := t.TempDir()
			words := r.words(t)
			t.Chdir(dir)
			var out, errs bytes.Buffer
			code := run(t.Context(), t.Context(), words, stdio{strings.NewReader(""), &out, &errs})
			if code != diag.Usage || out.Len() > 0 || errs.Len() == 0 || trace.MatchString(errs.String()) {
				t.Errorf("%q: exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", r.Argv, code, diag.Usage, &out, &errs)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%q leaves %v, %v", r.Argv, left, err)
			}
		})
	}
	if n < 100 {
		t.Errorf("%d rows are refused, want 100 at least", n)
	}
}

// TestContract walks recorded command lines: exit codes, files, keys and words
// are AIPerf's, save where a row says what differs and why.
func TestContract(t *testing.T) {
	t.Parallel()
	rows := contract(t)
	if len(rows) < 250 {
		t.Fatalf("%d rows, want 250 at least", len(rows))
	}
	root := t.TempDir()
	t.Run("rows", func(t *testing.T) {
		for _, r := range rows {
			if r.wants(t) == diag.Usage {
				continue
			}
			t.Run(r.Name, func(t *testing.T) {
				t.Parallel()
				dir := filepath.Join(root, r.Name)
				if err := os.Mkdir(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				r.walk(t, dir)
			})
		}
	})
	t.Run("shapes", func(t *testing.T) {
		seen := readShapes(t).check(t, root, added(t))
		for shape, least := range map[string]int{
			"profile": 60, "record": 200, "aggregate": 5, "sweep": 3,
			"collated": 1, "timeslices": 2, "raw": 5, "phase_manifest": 1, "run_config": 5, "ready": 60, "outputs": 2,
		} {
			if seen[shape] < least {
				t.Errorf("only %d files, or lines, of the shape %s, want %d at least", seen[shape], shape, least)
			}
		}
		t.Logf("files and lines by shape: %v", seen)
	})
	t.Run("CSV shapes", func(t *testing.T) {
		seen := checkCSVs(t, root, added(t))
		for name, least := range map[string]int{
			"profile_export_aiperf.csv":            60,
			"profile_export_aiperf_timeslices.csv": 2, "profile_export_aiperf_aggregate.csv": 5, "profile_export_aiperf_sweep.csv": 3,
		} {
			if seen[name] < least {
				t.Errorf("only %d files %s, want %d at least", seen[name], name, least)
			}
		}
		t.Logf("CSV files by name: %v", seen)
	})
	t.Run("models", func(t *testing.T) { readByAIPerf(t, root) })
}

// readByAIPerf lets AIPerf's own models read every file that the rows wrote.
// They come from a package index; where there is none, nothing is read.
func readByAIPerf(t *testing.T, root string) {
	if testing.Short() {
		t.Skip("installs AIPerf")
	}
	repository, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	venv := exec.Command(filepath.Join(repository, "internal", "repo", "venv.sh"), "aiperf")
	venv.Env = append(os.Environ(), "PIP_RETRIES=0", "PIP_DEFAULT_TIMEOUT=10")
	python, err := venv.Output()
	if err != nil || len(python) == 0 {
		t.Skipf("AIPerf cannot be installed here: %v", err)
	}
	out, err := exec.Command(strings.TrimSpace(string(python)), filepath.Join("testdata", "readers", "models.py"),
		root).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines[:len(lines)-1] {
		t.Error(line)
	}
	var files, commands int
	if _, err := fmt.Sscan(lines[len(lines)-1], &files, &commands); err != nil || commands < 60 {
		t.Errorf("%d files of %d command lines were read, want those of 60 at least: %v", files, commands, err)
	}
	t.Logf("AIPerf 0.13's models read %d files of %d command lines", files, commands)
}

// words are the row's command line, with the paths of recorded files.
func (r contractRow) words(t *testing.T) []string {
	t.Helper()
	recorded, err := filepath.Abs(filepath.Join("..", "..", "testdata", "aiperf", "config"))
	if err != nil {
		t.Fatal(err)
	}
	words := make([]string, len(r.Argv))
	for i, w := range r.Argv {
		w = strings.ReplaceAll(w, "DATA/", filepath.Join(recorded, "data")+"/")
		words[i] = strings.ReplaceAll(w, "REJECT/", filepath.Join(recorded, "reject")+"/")
	}
	return words
}

// wants is the exit code that the row asks of us.
func (r contractRow) wants(t *testing.T) diag.Code {
	t.Helper()
	switch {
	case r.Here != nil && r.Why == "":
		t.Fatalf("%s differs without a reason", r.Name)
	case r.Here != nil:
		return diag.Code(*r.Here)
	case r.Exit == 1 && r.From != "recorded run":
		return diag.Usage // scripts test for non-zero; we tell refusals from failures
	}
	return diag.Code(r.Exit)
}

func (r contractRow) walk(t *testing.T, dir string) {
	p := aiperf(t, dir, r.words(t)...)
	p.wants(r.wants(t))
	for _, name := range r.Files {
		if _, err := os.Stat(filepath.Join(dir, "out", filepath.FromSlash(name))); err != nil {
			t.Errorf("no file %s", name)
		}
	}
	for _, expr := range r.Out {
		if !regexp.MustCompile("(?m)" + expr).MatchString(p.out.String()) {
			t.Errorf("no line %s on stdout:\n%s", expr, p.out.String())
		}
	}
	for _, expr := range r.Never {
		if regexp.MustCompile("(?m)" + expr).MatchString(p.out.String()) {
			t.Errorf("stdout has a line %s:\n%s", expr, p.out.String())
		}
	}
	r.hasKeys(t, filepath.Join(dir, "out", "profile_export_aiperf.json"))
	for name, values := range r.Holds {
		doc := readDocument(t, filepath.Join(dir, "out", filepath.FromSlash(name)))
		for place, want := range values {
			if got, ok := valueAt(doc, place); !ok || !sameJSON(t, got, want) {
				t.Errorf("%s: %s is %s, want %s", name, place, got, want)
			}
		}
	}
}

// readDocument is a JSON file; one of lines is the list of them.
func readDocument(t *testing.T, path string) json.RawMessage {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".jsonl") {
		b = fmt.Appendf(nil, "[%s]", bytes.ReplaceAll(bytes.TrimSpace(b), []byte("\n"), []byte(",")))
	}
	return b
}

// valueAt is what stands at a place, as it is written; false where nothing does.
func valueAt(doc json.RawMessage, place string) (json.RawMessage, bool) {
	for step := range strings.SplitSeq(place, "/") {
		var o map[string]json.RawMessage
		var l []json.RawMessage
		switch i, err := strconv.Atoi(step); {
		case json.Unmarshal(doc, &o) == nil:
			doc = o[step]
		case json.Unmarshal(doc, &l) == nil && err == nil && i < len(l):
			doc = l[i]
		default:
			return nil, false
		}
		if doc == nil {
			return nil, false
		}
	}
	return doc, true
}

// sameJSON compares as written but for white space: 1.0 is not 1, and the order
// of members counts.
func sameJSON(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		t.Fatalf("not JSON: %s, %s", a, b)
	}
	return x.String() == y.String()
}

func (r contractRow) hasKeys(t *testing.T, path string) {
	if len(r.Keys) == 0 {
		return
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	missing := slices.DeleteFunc(slices.Clone(r.Keys), func(k string) bool { return doc[k] != nil })
	for _, k := range r.Lacks {
		if doc[k] != nil || r.Why == "" {
			t.Errorf("%s is there (or nothing says why it lacks): move it to keys", k)
		}
	}
	if len(missing) > 0 {
		t.Errorf("profile_export_aiperf.json lacks %s", strings.Join(missing, ", "))
	}
}
