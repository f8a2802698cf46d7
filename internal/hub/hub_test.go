package hub_test

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/hub"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The cache is found where Hugging Face's own tools keep it, by revision.
func TestFind(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HF_HUB_CACHE", "")
	t.Setenv("HUGGINGFACE_HUB_CACHE", "")
	t.Setenv("HF_HOME", home)
	repo := filepath.Join(home, "hub", "datasets--org--set")
	old, other := strings.Repeat("a", 40), strings.Repeat("b", 40)
	put(t, filepath.Join(repo, "snapshots", old, "x.json"), "{}")
	put(t, filepath.Join(repo, "snapshots", other, "data", "x.json"), "{}")
	long := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(repo, "snapshots", old), long, long); err != nil {
		t.Fatal(err)
	}
	find := func(revision string) (string, error) {
		s, err := hub.Repo{Kind: "datasets", Name: "org/set", Revision: revision}.Find()
		return s.Commit, err
	}
	if got, err := find(""); got != other || err != nil {
		t.Errorf("without refs: %s, %v; want the newest", got, err)
	}
	put(t, filepath.Join(repo, "refs", "main"), old+"\n")
	put(t, filepath.Join(repo, "refs", "refs", "convert", "parquet"), other)
	for revision, want := range map[string]string{"": old, "main": old, "refs/convert/parquet": other, other: other} {
		if got, err := find(revision); got != want || err != nil {
			t.Errorf("revision %q: %s, %v; want %s", revision, got, err, want)
		}
	}
	if _, err := find("v2"); !errors.Is(err, hub.ErrMissing) ||
		!strings.Contains(err.Error(), "revision v2; there are main, refs/convert/parquet") {
		t.Errorf("revision v2: %v", err)
	}
	for _, bad := range []string{"../../x", "a b", "/etc"} {
		if _, err := find(bad); err == nil || errors.Is(err, hub.ErrMissing) {
			t.Errorf("revision %q: %v", bad, err)
		}
	}
	for _, bad := range []string{"", "a/b/c", "../x", "a--b", "a/..", ".x"} {
		if _, err := (hub.Repo{Kind: "datasets", Name: bad}).Find(); err == nil || errors.Is(err, hub.ErrMissing) {
			t.Errorf("name %q: %v", bad, err)
		}
	}
	if _, err := (hub.Repo{Kind: "models", Name: "org/set"}).Find(); !errors.Is(err, hub.ErrMissing) ||
		!strings.Contains(err.Error(), "looked in "+filepath.Join(home, "hub", "models--org--set")) {
		t.Errorf("a model of that name: %v", err)
	}
	elsewhere := t.TempDir()
	t.Setenv("HF_HUB_CACHE", elsewhere)
	if got := hub.Folders(); !slices.Equal(got, []string{elsewhere}) {
		t.Errorf("HF_HUB_CACHE gives %q", got)
	}
}

// server is a hub with one data set of two files. Every body that is asked for
// from its start breaks off in the middle the first time.
type server struct {
	*httptest.Server
	mu     sync.Mutex // held while it answers
	files  map[string]string
	broken map[string]bool
	wrong  bool // it sends other bytes than it lists
	busy   int  // answers of 503 before it serves
	tokens []string
	ranges []string
}

func serve(t *testing.T) *server {
	t.Helper()
	s := &server{files: map[string]string{
		"README.md":               "---\nlicense: mit\n---\n",
		"data/train-0 of 1.jsonl": strings.Repeat("{\"text\":\"hello\"}\n", 5000),
	}, broken: map[string]bool{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens = append(s.tokens, r.Header.Get("Authorization"))
	switch {
	case strings.HasPrefix(r.URL.Path, "/api/datasets/org/gated"):
		http.Error(w, "gated", http.StatusForbidden)
	case r.URL.Path == "/api/datasets/org/set/revision/main":
		list := []map[string]any{}
		for name, text := range s.files {
			f := map[string]any{"rfilename": name, "size": len(text)}
			if len(text) > 1000 {
				f["lfs"] = map[string]any{"sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(text))), "size": len(text)}
			}
			sum := sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(text), text)))
			f["blobId"] = hex.EncodeToString(sum[:])
			list = append(list, f)
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": list})
	case strings.HasPrefix(r.URL.Path, "/datasets/org/set/resolve/"+commit+"/"):
		s.ranges = append(s.ranges, r.Header.Get("Range"))
		if s.busy > 0 {
			s.busy--
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/datasets/org/set/resolve/"+commit+"/")
		text, ok := s.files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if s.wrong {
			text = strings.ToUpper(text)
		}
		if r.Header.Get("Range") == "" && !s.broken[name] {
			s.broken[name] = true
			w.Header().Set("Content-Length", fmt.Sprint(len(text)))
			_, _ = w.Write([]byte(text[:len(text)/2])) // and the connection ends
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	default:
		http.NotFound(w, r)
	}
}

// A download that breaks off is continued where it broke, checked, and found
// by those who look into the cache.
func TestFetch(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HF_HUB_CACHE", home)
	t.Setenv("HF_HUB_OFFLINE", "")
	s := serve(t)
	s.busy = 1
	f := &hub.Fetcher{Endpoint: s.URL, Token: "hf_secret", Client: s.Client()}
	repo := hub.Repo{Kind: "datasets", Name: "org/set"}
	ctx := context.Background()
	list, err := f.List(ctx, repo)
	if err != nil || list.Commit != commit || len(list.Files) != 2 {
		t.Fatalf("List = %+v, %v", list, err)
	}
	for _, file := range list.Files {
		path, err := f.Get(ctx, repo, list.Commit, file)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); string(got) != s.files[file.Path] {
			t.Errorf("%s has %d bytes, want %d", file.Path, len(got), len(s.files[file.Path]))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.ranges,
		func(r string) bool { return r == fmt.Sprintf("bytes=%d-", len(s.files["data/train-0 of 1.jsonl"])/2) }) {
		t.Errorf("no download was continued: ranges %q", s.ranges)
	}
	if err := f.Finish(repo, list.Commit); err != nil {
		t.Fatal(err)
	}
	found, err := repo.Find()
	if err != nil || found.Commit != commit {
		t.Fatalf("Find = %+v, %v", found, err)
	}
	if files, err := hub.Files(found.Dir); err != nil || !slices.Equal(files,
		[]string{"README.md", "data/train-0 of 1.jsonl"}) {
		t.Errorf("Files = %q, %v", files, err)
	}
	asked := len(s.ranges)
	s.mu.Unlock()
	for _, file := range list.Files {
		if _, err := f.Get(ctx, repo, list.Commit, file); err != nil {
			t.Error(err)
		}
	}
	s.mu.Lock()
	if len(s.ranges) != asked {
		t.Errorf("what is there was fetched again: %q", s.ranges[asked:])
	}
	if slices.ContainsFunc(s.tokens, func(v string) bool { return v != "Bearer hf_secret" }) {
		t.Errorf("tokens %q", s.tokens)
	}
}

func TestFetchRefuses(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HF_HUB_CACHE", home)
	t.Setenv("HF_HUB_OFFLINE", "")
	s := serve(t)
	f := &hub.Fetcher{Endpoint: s.URL, Client: s.Client()}
	ctx := context.Background()
	repo := hub.Repo{Kind: "datasets", Name: "org/set"}
	list, err := f.List(ctx, repo)
	if err != nil {
		t.Fatal(err)
	}
	s.set(func() { s.wrong = true })
	for _, file := range list.Files {
		if _, err := f.Get(ctx, repo, list.Commit, file); err == nil ||
			!strings.Contains(err.Error(), "its checksum is") {
			t.Errorf("%s of other bytes: %v", file.Path, err)
		}
	}
	_ = filepath.WalkDir(home, func(path string, d os.DirEntry, _ error) error {
		if !d.IsDir() {
			t.Errorf("%s was left in the cache", path)
		}
		return nil
	})
	if _, err := f.List(ctx, hub.Repo{Kind: "datasets", Name: "org/gated"}); err == nil ||
		!strings.Contains(diag.Line(err), "set HF_TOKEN") {
		t.Errorf("gated: %v", err)
	}
	if _, err := f.List(ctx, hub.Repo{Kind: "datasets", Name: "org/none"}); err == nil ||
		!strings.Contains(err.Error(), "not on the hub (HTTP 404)") {
		t.Errorf("none: %v", err)
	}
	s.set(func() { s.files = map[string]string{"../../evil": "x"} })
	if _, err := f.List(ctx, repo); err == nil || !strings.Contains(err.Error(), "outside the repository") {
		t.Errorf("a path that escapes: %v", err)
	}
	t.Setenv("HF_HUB_OFFLINE", "1")
	if _, err := f.List(ctx, repo); err == nil || !strings.Contains(err.Error(), "HF_HUB_OFFLINE is set") {
		t.Errorf("offline: %v", err)
	}
}
