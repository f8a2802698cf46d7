package resultdir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// finished makes dir a finished result directory with these files of ours.
func finished(t *testing.T, dir string, files ...string) {
	t.Helper()
	m := Manifest{}
	for _, name := range files {
		put(t, dir, name, "ours")
		m.Files = append(m.Files, ManifestFile{Path: name})
	}
	if err := WriteJSON(filepath.Join(dir, ManifestName), m); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// below lists the files below dir, "" for none.
func below(t *testing.T, dir string) string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func TestMoveAside(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, holds, stays, moves string }{
		{"nothing there", "", "", ""},
		{"somebody's notes", "notes.txt", "notes.txt", ""},
		{"finished results", "manifest.json requests.csv a/run.json", "", "a/run.json manifest.json requests.csv"},
		{"notes added later go along", "manifest.json requests.csv later.txt", "", "later.txt manifest.json requests.csv"},
		{"results of AIPerf's", "profile_export_aiperf.json inputs.json", "", "inputs.json profile_export_aiperf.json"},
		{"results that were killed", "journal.jsonl a/stream.arrow", "", "a/stream.arrow journal.jsonl"},
	} {
		dir := filepath.Join(t.TempDir(), "out")
		for name := range strings.FieldsSeq(c.holds) {
			put(t, dir, name, "{}")
		}
		to, err := MoveAside(dir)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if stays := below(t, dir); stays != c.stays {
			t.Errorf("%s: %q stays, want %q", c.name, stays, c.stays)
		}
		if (to != "") != (c.moves != "") || to != "" && (to != dir+".1" || below(t, to) != c.moves) {
			t.Errorf("%s: %q moved to %q, want %q", c.name, below(t, to), to, c.moves)
		}
	}
}

// What lay there before the first results keeps its place, and the next free
// number is taken.
func TestMoveAsideKeepsWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	put(t, dir, "notes.txt", "mine")
	put(t, dir, "logs/app.log", "mine")
	put(t, dir+".1", "older", "mine")
	d, err := Open(dir, planOf("a"), false)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "logs/aiperf.log", "ours")
	put(t, dir, "requests.csv", "ours")
	to, err := MoveAside(dir)
	if err != nil || to != dir+".2" {
		t.Fatalf("moved to %q, %v; want %s.2", to, err, dir)
	}
	if got, want := below(t, dir), "logs/app.log notes.txt"; got != want {
		t.Errorf("%q stays, want %q", got, want)
	}
	if got, want := below(t, to), "journal.jsonl logs/aiperf.log plan.lock.json requests.csv"; got != want {
		t.Errorf("%q moved, want %q", got, want)
	}
}

// A link to a directory stays the link: new results go where the old ones were.
func TestMoveAsideThroughALink(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	finished(t, filepath.Join(base, "disk", "real"), "requests.csv")
	link := filepath.Join(base, "out")
	if err := os.Symlink(filepath.Join("disk", "real"), link); err != nil {
		t.Skip(err)
	}
	to, err := MoveAside(link)
	if err != nil {
		t.Fatal(err)
	}
	if got := below(t, filepath.Join(base, "disk", "real.1")); got != "manifest.json requests.csv" {
		t.Errorf("beside the directory: %q", got)
	}
	if got := below(t, to); got != "manifest.json requests.csv" {
		t.Errorf("said to be in %s, which holds %q", to, got)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", st, err)
	}
	d, err := Open(link, planOf("a"), false)
	if err != nil {
		t.Fatalf("the link leads nowhere now: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := below(t, filepath.Join(base, "disk", "real")); !strings.Contains(got, "journal.jsonl") {
		t.Errorf("where the link leads: %q", got)
	}
}

// Where nothing can be made beside the directory, as with a mount point, the old
// results stay inside it, each time in a folder of their own. Here the name beside
// it would be too long.
func TestMoveAsideWithin(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), strings.Repeat("o", 254))
	plan := planOf("a")
	for n, want := range []string{"previous.1", "previous.2"} {
		d, err := Open(dir, plan, false)
		if err != nil {
			t.Fatal(err)
		}
		put(t, dir, "a/run.json", "ours")
		if err := errors.Join(WriteJSON(filepath.Join(dir, ManifestName), Manifest{}), d.Close()); err != nil {
			t.Fatal(err)
		}
		to, err := MoveAside(dir)
		if err != nil || to != filepath.Join(dir, want) ||
			below(t, to) != "a/run.json journal.jsonl manifest.json plan.lock.json" {
			t.Errorf("results %d went to %q, %v", n+1, to, err)
		}
	}
	if got := strings.Count(below(t, dir), "manifest.json"); got != 2 {
		t.Errorf("%d results left: %s", got, below(t, dir))
	}
}

func TestMoveAsideOfTheWorkingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	finished(t, dir, "requests.csv")
	t.Chdir(dir)
	to, err := MoveAside(".")
	if err != nil || below(t, dir) != "" || below(t, dir+".1") != "manifest.json requests.csv" {
		t.Errorf("moved to %q, %v: %q stays, %q moved", to, err, below(t, dir), below(t, dir+".1"))
	}
}

// Somebody else writing there keeps everything where it is.
func TestMoveAsideWaitsForNobody(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	d, err := Open(dir, planOf("a"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var e *diag.Error
	if to, err := MoveAside(dir); !errors.As(err, &e) || to != "" || !strings.Contains(e.Message, "another aiperf") {
		t.Errorf("moved to %q, %v; want a refusal", to, err)
	}
	if got := below(t, dir); !strings.Contains(got, "journal.jsonl") {
		t.Errorf("%q stays", got)
	}
}

// Only what the manifest lists is removed; what else was there goes back.
func TestDiscardRemovesOnlyWhatTheManifestLists(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	dir, old := filepath.Join(base, "out"), filepath.Join(base, "out.1")
	put(t, base, "outside", "mine")
	finished(t, old, "requests.csv", "a/run.json", "b/run.json", "../outside", "gone.csv")
	put(t, old, "notes.txt", "mine")
	put(t, old, "b/mine.txt", "mine")
	put(t, dir, "requests.csv", "new")
	put(t, dir, "b/run.json", "new")
	gone, err := Discard(old, dir)
	if err != nil || gone {
		t.Errorf("gone %v, %v; want that b/mine.txt stays", gone, err)
	}
	if got, want := below(t, base),
		"out.1/b/mine.txt out/b/run.json out/notes.txt out/requests.csv outside"; got != want {
		t.Errorf("left %q\nwant %q", got, want)
	}
	unfinished := filepath.Join(base, "out.2")
	put(t, unfinished, "journal.jsonl", "{}")
	if gone, err := Discard(unfinished, dir); gone || err != nil || below(t, unfinished) == "" {
		t.Errorf("unfinished results: gone %v, %v", gone, err)
	}
	whole := filepath.Join(base, "out.3")
	finished(t, whole, "requests.csv", "a/b/run.json")
	if gone, err := Discard(whole, dir); !gone || err != nil || holdsAny(whole) {
		t.Errorf("a whole directory: gone %v, %v", gone, err)
	}
}
