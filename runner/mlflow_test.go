package runner

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whether results are filed nowhere, with an MLflow server, or with one that is dead, hangs, fails,
// refuses its name or says something else, the same requests are sent, the exit code is the
// same, and from the first request of the plan to its last answer nobody speaks to it.
func TestMLflowIsLeftAloneUnderLoad(t *testing.T) {
	t.Parallel()
	answer := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}
	}
	found := answer(200, `{"experiment":{"experiment_id":"7"},"run":{"info":{"run_id":"r1","artifact_uri":"mlflow-artifacts:/7/r1/artifacts"}}}`)
	var mu sync.Mutex
	var order strings.Builder // r for a request, m for a call of MLflow's
	note := func(what byte) {
		mu.Lock()
		defer mu.Unlock()
		order.WriteByte(what)
	}
	noted := func() string { // since it was asked last
		mu.Lock()
		defer mu.Unlock()
		defer order.Reset()
		return order.String()
	}
	s := answering(t, func(int) { note('r') })
	var off map[string]int
	for _, c := range []struct {
		name   string
		server http.HandlerFunc // nil for none
		says   string
	}{
		{name: "off"},
		{"on", found, "filed as run r1"},
		{"dead", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "nothing is filed"},
		{"hangs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "nothing is filed"},
		{"hangs at first", hangsOnce(found), "filed as run r1"},
		{"fails", answer(500, "oh"), "it answers 500"},
		{"refuses its name", answer(403, "Invalid Host header - possible DNS rebinding attack detected"), "403, Invalid Host header"},
		{"is something else", answer(200, "<html>"), "nothing is filed"},
	} {
		noted()
		s.forget()
		sets := []string{"phases.profiling={type: concurrency, concurrency: 2, requests: 12}", "multi_run.num_runs=2"}
		if c.server != nil {
			m := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				note('m')
				c.server(w, r)
			}))
			t.Cleanup(m.Close)
			sets = append(sets, "benchmark.mlflow.tracking_uri="+m.URL)
		}
		var said strings.Builder
		res, err := Run(t.Context(), t.Context(), small(t, s, sets...), Options{
			Dir: t.TempDir() + "/out", Say: func(line string) { fmt.Fprintln(&said, line) },
		})
		if err != nil || len(res.Reports) != 2 {
			t.Fatalf("%s: %v, %+v", c.name, err, res)
		}
		if !strings.Contains(said.String(), c.says) {
			t.Errorf("%s: said %q, want %q", c.name, said.String(), c.says)
		}
		calls := noted()
		load, before := strings.Trim(calls, "m"), strings.HasPrefix(calls, "m")
		if load != strings.Repeat("r", 24) || before != (c.server != nil) {
			t.Errorf("%s: calls in the order %s", c.name, calls)
		}
		sent := map[string]int{}
		for _, body := range s.sorted() { // without the request's id, which is of its run
			_, body, _ = strings.Cut(body, " ")
			sent[body]++
		}
		if c.server == nil {
			off = sent
		} else if diff := cmp.Diff(off, sent); diff != "" {
			t.Errorf("%s: other requests (-off +this):\n%s", c.name, diff)
		}
	}
}

// hangsOnce is a server that does not answer its first call.
func hangsOnce(then http.HandlerFunc) http.HandlerFunc {
	var once sync.Once
	return func(w http.ResponseWriter, r *http.Request) {
		hung := false
		once.Do(func() {
			hung = true
			<-r.Context().Done()
		})
		if !hung {
			then(w, r)
		}
	}
}
