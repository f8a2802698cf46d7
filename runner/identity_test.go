package runner

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

func TestIdentityCompared(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		before, after []face
		asked         []string
		want          float64
		words         string
	}{
		{"the same", faces("s", "a"), faces("s", "a"), []string{"a"}, 0, "the same models"},
		{"an adapter came", faces("s", "a"), faces("s", "a", "lora"), []string{"a"}, 1, "a, lora at the end"},
		{"the asked one went", faces("s", "a", "b"), faces("s", "b"), []string{"a"}, 2, "listed a at the start and b at the end"},
		{"asked for by a name that was never listed", faces("s", "a"), faces("s", "a"), []string{"alias"}, 0, "the same"},
		{"all are others", faces("s", "a"), faces("s", "b"), []string{"alias"}, 2, "b at the end"},
		{"another length", faces("s", "a of 4096 tokens"), faces("s", "a of 8192 tokens"), []string{"a"}, 2, "8192"},
		{"another server", faces("vllm/1", "a"), faces("vllm/2", "a"), []string{"a"}, 1, `"vllm/1" at the start and "vllm/2"`},
		{"silent at the end", faces("s", "a"), []face{{}}, []string{"a"}, 1, "not at the end"},
		{"many", faces("s", "a", "b", "c", "d", "e"), []face{{Server: "s", Models: []string{}}}, []string{"x"}, 2, "a, b, c and 2 more at the start and no model"},
	} {
		id := Identity{Before: c.before, After: c.after, Asked: c.asked}
		if got, words := id.compare(); got != c.want || !strings.Contains(words, c.words) {
			t.Errorf("%s: %v %q, want %v …%s…", c.name, got, words, c.want, c.words)
		}
	}
}

func TestInquirer(t *testing.T) {
	t.Parallel()
	var posts atomic.Int64
	list := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			posts.Add(1)
		}
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-1" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Server", "engine/1.2")
		fmt.Fprint(w, `{"data":[{"id":"b"},{"id":"a","root":"/models/a","max_model_len":4096,"created":1}]}`)
	}))
	defer list.Close()
	away := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/v1/models", http.StatusFound))
	defer away.Close()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>welcome</html>") }))
	defer page.Close()
	q := newInquirer(&schema.Endpoint{APIKey: "sk-1"}, transport.Config{Targets: []string{list.URL + "/v1", away.URL, page.URL, "127.0.0.1:1"}})
	want := []face{{"engine/1.2", []string{"a (/models/a) of 4096 tokens", "b"}}, {}, {}, {}}
	if diff := cmp.Diff(want, q.ask(t.Context())); diff != "" {
		t.Errorf("faces (-want +got):\n%s", diff)
	}
	if posts.Load() != 0 {
		t.Errorf("%d requests that a server would count", posts.Load())
	}
	never := func() []face { t.Error("a server without a list is asked again"); return nil }
	if id := identity([]face{{}, {}}, never, nil); id != nil {
		t.Errorf("identity of servers without a list: %+v, want none", id)
	}
}

func TestModelsURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://h:1":          "http://h:1/v1/models",
		"http://h:1/v1/":      "http://h:1/v1/models",
		"h:1":                 "http://h:1/v1/models",
		"https://h/proxy/v1":  "https://h/proxy/v1/models",
		"https://h/proxy?k=1": "https://h/proxy/v1/models?k=1",
		"http://":             "",
	} {
		if got := modelsURL(base); got != want {
			t.Errorf("modelsURL(%q) = %q, want %q", base, got, want)
		}
	}
}
