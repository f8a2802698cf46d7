package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// loading is a server that is being watched: answer is asked with the number of
// the look.
type loading struct {
	*httptest.Server
	mu    sync.Mutex
	looks []string
	posts []string
}

// A look may take as long as a busy machine needs.
func init() { listPatience, answerPatience = time.Hour, time.Hour }

// seen is what was asked so far, and the bodies that came.
func (s *loading) seen() (looks, posts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.looks), slices.Clone(s.posts)
}

func newLoading(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request)) *loading {
	t.Helper()
	s := &loading{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.looks = append(s.looks, r.Method+" "+r.URL.Path)
		if r.Method == http.MethodPost {
			s.posts = append(s.posts, r.Header.Get("Authorization")+" "+string(body))
		}
		n := len(s.looks)
		s.mu.Unlock()
		answer(n, w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// waiting is a plan that waits for urls; most looks come at once.
func waiting(t *testing.T, mode, urls string, sets ...string) *sweep.Plan {
	t.Helper()
	return sweeptest.PlanOf(t, append([]string{
		"benchmark.endpoint.urls=[" + urls + "]", "tokenizer.name=builtin", "datasets.main.prompts.isl=8",
		"benchmark.endpoint.wait_for_model_mode=" + mode, "benchmark.endpoint.wait_for_model_timeout=600",
		"benchmark.endpoint.wait_for_model_interval=0.001", "models=[demo]",
	}, sets...)...)
}

func awaited(ctx context.Context, plan *sweep.Plan) error {
	return awaitedBy(ctx, plan, nil)
}

func awaitedBy(ctx context.Context, plan *sweep.Plan, say func(string)) error {
	return await(ctx, plan, plan.Cells, &servers{}, &Options{Say: say})
}

func TestWait(t *testing.T) {
	t.Parallel()
	list := func(names ...string) string {
		for i, n := range names {
			names[i] = `{"id":"` + n + `"}`
		}
		return `200 {"data":[` + strings.Join(names, ",") + `]}`
	}
	const get, post, root = "GET /v1/models", "POST /v1/chat/completions", "GET /"
	for _, c := range []struct {
		name, mode string
		answers    []string // one for each look; any more is a mistake
		want       []string
		said       string // expressions, one for each line
	}{
		{"listed", "models", []string{"503 loading", "200 <html>", list(), list("other"), list("other", "demo")}, []string{get, get, get, get, get}, `waiting, 600 s at most: http\S+/v1/models returned 503: loading\nModel 'demo' ready at http\S+ after 5 attempts`},
		{"not listed yet", "models", []string{list("other", "more"), list("demo")}, []string{get, get}, `.*: Model 'demo' not yet in http\S+/v1/models, which lists other, more\nModel 'demo' ready at .* after 2 attempts`},
		{"no list", "models", []string{"404 none", "500 what"}, []string{get, root}, `http\S+ has no /v1/models and answers 500 — accepting as ready`},
		{"answers", "inference", []string{"503 loading", "500 broken", "422 so small"}, []string{post, post, post}, `.*: Inference probe to http\S+ with model 'demo' returned 503: loading\nInference probe ready at http\S+ after 3 attempts`},
		{"answers at once", "inference", []string{`200 {"choices":[{"message":{"content":"y"}}]}`}, []string{post}, `Inference probe ready at http\S+ after 1 attempt`},
		{"both", "both", []string{list("other"), list("demo"), "503 loading", "200 {}"}, []string{get, get, post, post}, `.*which lists other\nModel 'demo' ready at .*\nInference probe ready at .* after 2 attempts`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newLoading(t, func(n int, w http.ResponseWriter, r *http.Request) {
				if n > len(c.answers) {
					t.Errorf("look %d: %s %s", n, r.Method, r.URL.Path)
					return
				}
				var status int
				_, body, _ := strings.Cut(c.answers[n-1], " ")
				if _, err := fmt.Sscan(c.answers[n-1], &status); err != nil {
					t.Error(err)
				}
				w.WriteHeader(status)
				_, _ = io.WriteString(w, body)
			})
			var said []string
			say := func(line string) { said = append(said, line) }
			if err := awaitedBy(t.Context(), waiting(t, c.mode, s.URL, "benchmark.endpoint.api_key=sk-1"),
				say); err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(said, "\n"); !regexp.MustCompile("^" + c.said + "$").MatchString(text) {
				t.Errorf("said:\n%s\nwant %s", text, c.said)
			}
			looks, posts := s.seen()
			if diff := cmp.Diff(c.want, looks); diff != "" {
				t.Errorf("looks (-want +got):\n%s", diff)
			}
			for _, p := range posts {
				if !strings.HasPrefix(p, "Bearer sk-1 ") || !strings.Contains(p, `"demo"`) ||
					!strings.Contains(p, `"max_completion_tokens":1`) {
					t.Errorf("a look sends %s", p)
				}
			}
		})
	}
}

// A router that is ready for the model is waited for until it has as many workers for it;
// those of other models do not count.
func TestWaitForWorkers(t *testing.T) {
	t.Parallel()
	page := func(ready int) string {
		return fmt.Sprintf("# TYPE dynamo_frontend_model_workers gauge\n"+
			"dynamo_frontend_model_workers{model=\"demo\"} %d\ndynamo_frontend_model_workers{model=\"other\"} 8\n", ready)
	}
	for _, c := range []struct {
		name, timeout string
		ready         []int // at each look, the last one from then on
		said, err     string
	}{
		{"all come", "600", []int{5, 5, 8}, `waiting, 600 s at most: 5 of 8 workers of model 'demo' are ready at http\S+\n8 workers of model 'demo' ready at http\S+`, ""},
		{"more than asked for", "600", []int{9}, `9 workers of model 'demo' ready at http\S+`, ""},
		{"looked at once", "0", []int{5, 8}, "", `5 of 8 workers of model 'demo' are ready at http\S+`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pages := 0
			s := newLoading(t, func(_ int, w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/metrics" {
					_, _ = io.WriteString(w, `{"data":[{"id":"demo"}]}`)
					return
				}
				w.Header().Set("Content-Type", "text/plain; version=0.0.4")
				_, _ = io.WriteString(w, page(c.ready[min(pages, len(c.ready)-1)]))
				pages++
			})
			var said []string
			say := func(line string) {
				if !strings.HasPrefix(line, "Model 'demo' ready") {
					said = append(said, line)
				}
			}
			err := awaitedBy(t.Context(), waiting(t, "models", s.URL, "benchmark.endpoint.wait_for_workers=8",
				"benchmark.endpoint.wait_for_model_timeout="+c.timeout), say)
			if c.err == "" {
				if text := strings.Join(said, "\n"); err != nil || !regexp.MustCompile("^"+c.said+"$").MatchString(text) {
					t.Errorf("%v, said:\n%s\nwant %s", err, text, c.said)
				}
				return
			}
			if err == nil || !regexp.MustCompile("^"+c.err).MatchString(err.Error()) {
				t.Errorf("%v, want %s", err, c.err)
			}
		})
	}
}

// Every server is asked for every model, once for all cells.
func TestWaitForAll(t *testing.T) {
	t.Parallel()
	ok := func(_ int, w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }
	a, b := newLoading(t, ok), newLoading(t, ok)
	plan := waiting(t, "inference", a.URL+", "+b.URL, "models=[demo, other]",
		"sweep.parameters={\"benchmark.endpoint.timeout\": [10, 20]}")
	if len(plan.Cells) != 2 {
		t.Fatalf("%d cells", len(plan.Cells))
	}
	if err := awaited(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*loading{a, b} {
		_, posts := s.seen()
		all := strings.Join(posts, "\n")
		if len(posts) != 2 || !strings.Contains(all, `"demo"`) || !strings.Contains(all, `"other"`) {
			t.Errorf("asked:\n%s", all)
		}
	}
}

func TestWaitIsOver(t *testing.T) {
	t.Parallel()
	s := newLoading(t, func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "{\"error\":{\"message\":\"\\u001b[31msk-secret\\nis loading\"}}")
	})
	dir := filepath.Join(t.TempDir(), "out")
	plan := waiting(t, "inference", s.URL, "benchmark.endpoint.wait_for_model_timeout=0.01",
		"benchmark.endpoint.api_key=sk-secret")
	var said []string
	_, err := Run(t.Context(), t.Context(), plan, Options{
		Dir: dir, MoveAside: true,
		Say: func(line string) { said = append(said, line) },
	})
	var e *diag.Error
	if !errors.As(err, &e) || e.Exit() != diag.Failed || e.Hint == "" {
		t.Fatalf("%v, want a failure with a hint", err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("there is a result directory")
	}
	if !strings.HasPrefix(e.Message, "Timed out after 0.01 s waiting for model 'demo'") {
		t.Errorf("message %q", e.Message)
	}
	if len(said) > 1 { // none when the first look took all the time
		t.Errorf("%d lines said: %q", len(said), said)
	}
	for _, line := range append(said, e.Message) {
		if strings.Contains(line, "secret") || strings.ContainsAny(line, "\x1b\n") ||
			!strings.Contains(line, "*** is loading") && !strings.Contains(line, "gave no answer in time") {
			t.Errorf("%q", line)
		}
	}
}

// An interrupt ends the pause between two looks, and a look.
func TestWaitInterrupted(t *testing.T) {
	t.Parallel()
	for _, hang := range []bool{false, true} {
		ctx, stop := context.WithCancel(t.Context())
		s := newLoading(t, func(_ int, w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			stop()
			if hang {
				<-r.Context().Done()
			}
		})
		var e *diag.Error
		err := awaited(ctx, waiting(t, "inference", s.URL, "benchmark.endpoint.wait_for_model_interval=500"))
		if _, posts := s.seen(); !errors.As(err, &e) || e.Exit() != diag.Interrupted || len(posts) != 1 {
			t.Errorf("%v after %d looks", err, len(posts))
		}
	}
}

func TestWaitForBuiltInServer(t *testing.T) {
	t.Parallel()
	cfg, err := mockserver.ParseURL("mock:?ttft=0s&ready=60ms&models_ready=30ms&model=demo")
	if err != nil {
		t.Fatal(err)
	}
	s := mockserver.New(cfg)
	url, err := s.Start(0)
	if err != nil {
		t.Fatal(err)
	}
	err = awaited(t.Context(), waiting(t, "both", url))
	if closing := s.Close(); err != nil || closing != nil { // closed, so that all it answered is counted
		t.Fatal(err, closing)
	}
	if n := s.Stats(); n.OK != 1 || n.OutputTokens != 1 {
		t.Errorf("%d requests answered with %d tokens, want 1 and 1", n.OK, n.OutputTokens)
	}
}

// Whoever waits longer measures the same.
func TestWaitIsNoIdentity(t *testing.T) {
	t.Parallel()
	var ids []string
	for _, plan := range []*sweep.Plan{
		waiting(t, "both", "http://h:1"), waiting(t, "models", "http://h:1",
			"benchmark.endpoint.wait_for_model_timeout=0"),
		sweeptest.PlanOf(t, "benchmark.endpoint.urls=[http://h:1]", "tokenizer.name=builtin",
			"datasets.main.prompts.isl=8", "models=[demo]"),
	} {
		ids = append(ids, plan.Cells[0].ID)
	}
	if len(slices.Compact(ids)) != 1 {
		t.Errorf("identities %v, want one", ids)
	}
}
