package onerun

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
)

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
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w,
			"<html>welcome</html>")
	}))
	defer page.Close()
	q := NewInquirer(&schema.Endpoint{APIKey: "sk-1"},
		transport.Config{Targets: []string{list.URL + "/v1", away.URL, page.URL, "127.0.0.1:1"}})
	want := []verdict.ServerIdentity{
		{Server: "engine/1.2", Models: []string{"a (/models/a) of 4096 tokens", "b"}},
		{},
		{},
		{},
	}
	if diff := cmp.Diff(want, q.ask(t.Context())); diff != "" {
		t.Errorf("faces (-want +got):\n%s", diff)
	}
	if posts.Load() != 0 {
		t.Errorf("%d requests that a server would count", posts.Load())
	}
	never := func() []verdict.ServerIdentity { t.Error("a server without a list is asked again"); return nil }
	if id := identity([]verdict.ServerIdentity{{}, {}}, never, nil); id != nil {
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
		if got := serverURL(base, "/v1/models"); got != want {
			t.Errorf("serverURL(%q) = %q, want %q", base, got, want)
		}
	}
}

// A run that a second Ctrl-C ends says nothing about who answers at its end.
func TestIdentityOfACutRun(t *testing.T) {
	t.Parallel()
	list := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"a"}]}`)
	}))
	defer list.Close()
	who := NewInquirer(&schema.Endpoint{}, transport.Config{Targets: []string{list.URL}})
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		ctx  context.Context
		seen bool
	}{{t.Context(), true}, {ended, false}} {
		o, out := &identified{who: who, before: who.ask(t.Context())}, &Result{}
		if err := o.Stop(c.ctx, out); err != nil || (out.Identity != nil) != c.seen {
			t.Errorf("identity %+v, %v; want one: %v", out.Identity, err, c.seen)
		}
	}
}
