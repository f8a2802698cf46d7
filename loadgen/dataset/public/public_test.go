package public_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/public"
)

// Files of a split are found in every layout that repositories of the hub have.
func TestPick(t *testing.T) {
	t.Parallel()
	card := "---\nlicense: mit\nconfigs:\n- config_name: main\n  data_files:\n  - split: train\n    path: main/train-*\n  - split: test\n    path:\n    - main/test-*.parquet\n    - more/**/test.parquet\n- config_name: other\n  data_files: other/*.parquet\n---\n# Card\n"
	for _, c := range []struct {
		what          string
		subset, split string
		card          string
		list          string
		want          string
	}{
		{"the card says", "main", "test", card, "README.md main/train-0.parquet main/test-0.parquet more/a/b/test.parquet other/test.parquet", "main/test-0.parquet more/a/b/test.parquet"},
		{"the card says one text", "other", "train", card, "main/train-0.parquet other/a.parquet other/b.parquet other/c/d.parquet", "other/a.parquet other/b.parquet"},
		{"the only configuration", "", "train", "---\nconfigs:\n- config_name: only\n  data_files: x/*.jsonl\n---\n", "x/a.jsonl y/a.jsonl", "x/a.jsonl"},
		{"shards", "", "train", "", "data/train-00000-of-00002.parquet data/train-00001-of-00002.parquet data/test-00000-of-00001.parquet", "data/train-00000-of-00002.parquet data/train-00001-of-00002.parquet"},
		{"folders of a subset", "clean", "test", "", "clean/test/0000.parquet clean/train.100/0000.parquet other/test/0000.parquet all/test/0000.parquet", "clean/test/0000.parquet"},
		{"val is validation", "", "val", "", "train.csv validation.csv test.csv", "validation.csv"},
		{"a file per split", "", "test", "", "train.jsonl test.jsonl contest.jsonl", "test.jsonl"},
		{"no split in any name", "", "train", "", "a.json dataset_infos.json .gitattributes", "a.json"},
		{"a subset that is no folder", "x", "train", "", "train.parquet", "train.parquet"},
		{"none of that split", "", "test", "", "train.parquet", ""},
		{"nothing at all", "", "train", "", "README.md script.py", ""},
	} {
		s := public.Set{Subset: c.subset, Split: c.split}
		got, err := s.Pick(strings.Fields(c.list), c.card)
		if strings.Join(got, " ") != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v; want %q", c.what, got, err, c.want)
		}
	}
	s, _ := public.Named("sharegpt")
	if got, err := s.Pick([]string{"HTML_cleaned_raw_dataset/a.json", s.File, "old.json"}, ""); err != nil ||
		!slices.Equal(got, []string{s.File}) {
		t.Errorf("a named file: %q, %v", got, err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A set is looked for as published, then as the hub converts it, then not at
// all: nothing is fetched.
func TestFind(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HF_HUB_CACHE", home)
	t.Chdir(t.TempDir())
	set, _ := public.Named("voxpopuli")
	if _, err := set.Find(""); err == nil || !strings.Contains(err.Error(),
		"facebook/voxpopuli: not in the cache; looked in "+filepath.Join(home, "datasets--facebook--voxpopuli")) ||
		!strings.Contains(diag.Line(err),
			"hint: --allow-download fetches it, as does: hf download --repo-type dataset facebook/voxpopuli") || strings.Contains(err.Error(), "\n") {
		t.Errorf("nothing there: %v", err)
	}
	repo := filepath.Join(home, "datasets--facebook--voxpopuli")
	put(t, filepath.Join(repo, "refs", "main"), "aaa")
	put(t, filepath.Join(repo, "snapshots", "aaa", "voxpopuli.py"), "raise SystemExit")
	put(t, filepath.Join(repo, "refs", "refs", "convert", "parquet"), "bbb")
	put(t, filepath.Join(repo, "snapshots", "bbb", "en", "test", "0000.parquet"), "PAR1")
	put(t, filepath.Join(repo, "snapshots", "bbb", "de", "test", "0000.parquet"), "PAR1")
	at, err := set.Find("")
	if want := []string{filepath.Join(repo, "snapshots", "bbb", "en", "test", "0000.parquet")}; err != nil ||
		!slices.Equal(at.Files, want) || at.Commit != "bbb" {
		t.Errorf("Find = %+v, %v; want %q", at, err, want)
	}
	gated, _ := public.Named("spgispeech")
	if _, err := gated.Find(""); err == nil ||
		!strings.Contains(diag.Line(err), "its terms must be accepted there first") {
		t.Errorf("gated: %v", err)
	}
	bench, _ := public.Named("spec_bench")
	if _, err := bench.Find(""); err == nil || !strings.Contains(err.Error(), "spec_bench: not on this machine") {
		t.Errorf("spec_bench: %v", err)
	}
	put(t, filepath.Join(public.Own(), bench.File), "{}")
	if at, err := bench.Find(""); err != nil || len(at.Files) != 1 {
		t.Errorf("spec_bench in AIPerf's cache: %+v, %v", at, err)
	}
	weka, _ := public.Named("weka_hf")
	if _, err := weka.Find(""); err == nil || !strings.Contains(diag.Line(err), "--hf-weka-dataset") {
		t.Errorf("weka_hf: %v", err)
	}
	folder := t.TempDir()
	put(t, filepath.Join(folder, "en", "test-0.jsonl"), "{}")
	if at, err := set.Find(folder); err != nil || len(at.Files) != 1 || at.Commit != "" {
		t.Errorf("a folder: %+v, %v", at, err)
	}
	if _, err := set.Find(filepath.Join(folder, "none")); err == nil {
		t.Error("a folder that is not there is taken")
	}
}

// Every row says where its files are and what its records become.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range public.Catalogue() {
		ways := 0
		for _, is := range []bool{
			s.Prompt != "", s.Template != "", s.Talk != "", s.Say != "", s.Spans,
			s.Format != "",
		} {
			if is {
				ways++
			}
		}
		if ways != 1 || seen[s.Name] || s.Title == "" || s.Repo == "" && s.Address == "" &&
			s.Name != "weka_hf" || s.Repo != "" && s.Split == "" {
			t.Errorf("%+v: %d ways to a prompt", s, ways)
		}
		seen[s.Name] = true
	}
	if len(seen) != 42 {
		t.Errorf("%d sets, AIPerf names 42", len(seen))
	}
}
