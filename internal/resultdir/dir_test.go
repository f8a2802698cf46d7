package resultdir

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
)

// planOf is a plan of one run that is told by its hash.
func planOf(hash string) Plan {
	return Plan{
		Lock:   Lock{Schema: LockSchema, PlanHash: hash, Runs: []LockRun{{ID: "r1", Dir: "a"}}},
		Writes: []string{"requests.parquet", "checks.csv", "a"},
		Changed: func(begun Lock) []string {
			if begun.PlanHash == hash {
				return nil
			}
			return []string{begun.PlanHash + " → " + hash}
		},
	}
}

func TestOpenRefusesOthersResults(t *testing.T) {
	t.Parallel()
	plan := planOf("a")
	for _, name := range []string{"manifest.json", "plan.lock.json", "journal.jsonl", "profile_export_aiperf.json"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir, plan, false)
		var d *diag.Error
		if !errors.As(err, &d) || !strings.Contains(d.Hint, "--resume") || !strings.Contains(d.Message, name) {
			t.Errorf("Open over %s: %v, want a refusal that names it and --resume", name, err)
		}
	}
}

// Nothing is overwritten, whoever it belongs to; with --resume neither.
func TestOpenKeepsForeignFiles(t *testing.T) {
	t.Parallel()
	plan := planOf("a")
	for _, name := range []string{"requests.parquet", "checks.csv", "summary.md", "resolved.json", "experiment.yaml"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, resume := range []bool{false, true} {
			_, err := Open(dir, plan, resume)
			var d *diag.Error
			if !errors.As(err, &d) || !strings.Contains(d.Message, name) || d.Hint == "" {
				t.Errorf("Open over %s, resume %v: %v, want a refusal that names it", name, resume, err)
			}
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("Open over %s left %v, %v; want that file alone", name, left, err)
		}
	}
}

// What lay beside the results before is neither listed nor removed, and a link
// to a directory is as good as the directory.
func TestResultsAmongForeignFiles(t *testing.T) {
	t.Parallel()
	real := t.TempDir()
	theirs := []string{".draft.tmp", "logs/app.log", "notes.txt", "src/a.go"}
	for _, name := range theirs {
		path := filepath.Join(real, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte("mine"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(real, dir); err != nil {
		t.Skip(err)
	}
	plan := planOf("a")
	for _, resume := range []bool{false, true} { // what was there first is remembered
		d, err := Open(dir, plan, resume)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"requests.csv", "logs/aiperf.log", "src.json"} {
			if err := errors.Join(os.MkdirAll(filepath.Join(dir, "logs"), 0o755),
				os.WriteFile(filepath.Join(dir, name), []byte("ours"), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
		files, err := listFiles(dir, beside(d.Events), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range files {
			got = append(got, f.Path)
		}
		want := []string{"journal.jsonl", "logs/aiperf.log", "plan.lock.json", "requests.csv", "src.json"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("resume %v: listed (-want +got):\n%s", resume, diff)
		}
		if err := errors.Join(WriteJSON(filepath.Join(dir, ManifestName), Manifest{Files: files, Interrupted: true}),
			d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := MoveAside(dir); err != nil {
		t.Fatal(err)
	}
	d, err := Open(dir, plan, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, name := range theirs {
		if b, err := os.ReadFile(filepath.Join(real, name)); err != nil || string(b) != "mine" {
			t.Errorf("%s after an overwrite: %q, %v; want it untouched", name, b, err)
		}
	}
}

func TestOpenRefusesAnotherPlan(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	d, err := Open(dir, planOf("a"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, planOf("b"), true)
	var e *diag.Error
	if !errors.As(err, &e) || !strings.Contains(strings.Join(e.More, "\n"), "a → b") {
		t.Fatalf("resume with another plan: %v %+v, want the difference", err, e)
	}
	if _, err := os.Lstat(filepath.Join(dir, ".lock")); err == nil {
		t.Error("a refused resume left its lock file")
	}
	again, err := Open(dir, planOf("a"), true)
	if err != nil {
		t.Fatalf("resume with the same plan: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

// Another form of the lock is another identity of the same plan: it is refused with the
// version that can go on, and nothing is written.
func TestOpenRefusesAnotherForm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		LockName:    `{"schema": "plan.lock/1", "plan_hash": "a", "runs": [{"id": "r1", "dir": "a"}]}`,
		JournalName: `{"event":"begin","version":"0.9"}` + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, err := Open(dir, planOf("a"), true)
	var e *diag.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, `begun in the form "plan.lock/1"`) ||
		!strings.Contains(e.Hint, `("0.9")`) {
		t.Fatalf("%+v, want both forms and the version", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A cell that the plan's source made up is one of the plan that was begun.
func TestMadeCells(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	plan := planOf("a")
	plan.Lock.Cells = []LockCell{{ID: "listed"}}
	for i, resume := range []bool{false, true} {
		d, err := Open(dir, plan, resume)
		if err != nil {
			t.Fatal(err)
		}
		made := 0
		for _, e := range d.Events {
			if e.Made != nil {
				made++
			}
		}
		if made != i {
			t.Errorf("%d made cells in the journal of process %d", made, i)
		}
		if err := errors.Join(d.Note(Event{Event: "cell", Made: &LockCell{
			ID: "made", Label: "x=1",
			Point: map[string]any{"x": 1.0},
		}}), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := ReadLock(dir)
	if err != nil || len(lock.Cells) != 3 || lock.Cells[0].ID != "listed" || lock.Cells[2].Point["x"] != 1.0 {
		t.Errorf("%v: %+v", err, lock.Cells)
	}
}

func TestOneProcessPerDirectory(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	plan := planOf("a")
	d, err := Open(dir, plan, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, plan, true); err == nil || !strings.Contains(err.Error(), "another aiperf") {
		t.Errorf("second open: %v, want a refusal", err)
	}
	if !Held(dir) {
		t.Error("a directory that a process fills is not held")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	// The file stays where its process was killed; where locks cannot be known of,
	// somebody may be there.
	if err := os.WriteFile(filepath.Join(dir, lockName), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if Held(dir) && runtime.GOOS != "windows" {
		t.Error("a lock file that nobody locks holds the directory")
	}
}

func TestJournalSurvivesATornLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	j, _, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Event{
		{Event: "start", Run: "a", Attempt: 1},
		{Event: "done", Run: "a", Attempt: 1},
		{Event: "start", Run: "b", Attempt: 1},
	} {
		if err := j.add(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, JournalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := range whole {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		j, events, err := openJournal(dir)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if want := strings.Count(string(whole[:cut]), "\n"); len(events) != want {
			t.Fatalf("cut at %d: %d events, want %d", cut, len(events), want)
		}
		if err := errors.Join(j.add(Event{Event: "end"}), j.close()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readJournal(path); err != nil {
			t.Fatalf("cut at %d, after appending: %v", cut, err)
		}
	}
	for name, c := range map[string]struct {
		text   string
		events int // -1: refused
	}{
		"zeros of a power cut": {string(whole) + "\x00\x00\x00\x00", 3},
		"zeros with an end":    {string(whole) + "\x00\x00\n\x00\n", 3},
		"a last line torn":     {strings.TrimSuffix(string(whole), "}\n") + "\n", 2},
		"a first line torn":    {string(whole[3:]), -1},
		"nothing but zeros":    {"\x00\x00\x00", 0},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		events, _, err := readJournal(path)
		var refused *diag.Error
		if c.events < 0 && !errors.As(err, &refused) || c.events >= 0 && (err != nil || len(events) != c.events) {
			t.Errorf("%s: %d events, %v, want %d", name, len(events), err, c.events)
		}
	}
	if got := Last([]Event{
		{Event: "start", Run: "a"},
		{Event: "done", Run: "a"},
		{Event: "start", Run: "b"},
	}); got["a"].Event != "done" || got["b"].Event != "start" {
		t.Errorf("progress = %+v", got)
	}
}

func TestManifestFindsWhatChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"requests.parquet": "rows", "a/run.json": "{}"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := listFiles(dir, nil, map[string]int64{"requests.parquet": 4}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := Manifest{Files: files}
	if len(files) != 2 || *files[1].Rows != 4 || files[1].Kind != "table" || files[0].Kind != "run" {
		t.Errorf("files = %+v", files)
	}
	if bad := m.Verify(dir); len(bad) > 0 {
		t.Errorf("untouched: %v", bad)
	}
	if err := os.WriteFile(filepath.Join(dir, "a/run.json"), []byte("[]"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "requests.parquet")); err != nil {
		t.Fatal(err)
	}
	if bad := m.Verify(dir); len(bad) != 2 {
		t.Errorf("after a change and a loss: %v, want both", bad)
	}
}

// What was described while it was written is not read again; what has another
// size since then is.
func TestManifestKnowsWhatWasWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := Written{filepath.Join(dir, "same.csv"): {4, "as written"}, filepath.Join(dir, "grown.csv"): {3, "as written"}}
	for _, name := range []string{"same.csv", "grown.csv"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("rows"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := listFiles(dir, nil, nil, w)
	if err != nil || len(files) != 2 {
		t.Fatalf("%+v, %v", files, err)
	}
	read, _, err := Digest(filepath.Join(dir, "grown.csv"))
	if err != nil || files[0].SHA256 != read || files[0].Bytes != 4 || files[1].SHA256 != "as written" {
		t.Errorf("%+v, %v", files, err)
	}
}
