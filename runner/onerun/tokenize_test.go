package onerun

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
)

// A server whose /tokenize counts another number than the run's tokenizer puts
// the run's counts in doubt; one that agrees, or has no such route, does not.
// It is asked once, and not at all where it counts itself or is none of those that can.
func TestServerTokenizerIsCompared(t *testing.T) {
	t.Parallel()
	tok, err := tokenizer.Open("builtin")
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := endpoint.Lookup("chat")
	known := []verdict.ServerIdentity{{Models: []string{"m"}, Counts: true}}
	for name, c := range map[string]struct {
		answer func(text string) (int, string)
		doubt  string
	}{
		"agrees":    {func(s string) (int, string) { return 200, tokens(tok.Count(s)) }, ""},
		"disagrees": {func(s string) (int, string) { return 200, tokens(tok.Count(s) + 1) }, "tokens counted with o200k_base, not the server's tokenizer"},
		"has none":  {func(string) (int, string) { return 404, "" }, ""},
		"nonsense":  {func(string) (int, string) { return 200, "<html>" }, ""},
	} {
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			_, text, _ := strings.Cut(string(raw), `"prompt":"`)
			text, _, _ = strings.Cut(text, `"}`)
			asked++
			status, body := c.answer(strings.NewReplacer(`\t`, "\t", `\n`, "\n", `\"`, `"`).Replace(text))
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}))
		m := &Opened{API: spec, Tokenizer: tok, Spec: Spec{Targets: []string{s.URL}, Benchmark: schema.Benchmark{
			Models: schema.Models{Items: []schema.Model{{Name: "m"}}}, Endpoint: schema.Endpoint{URLs: []string{s.URL}},
		}}}
		who := NewInquirer(&m.Benchmark.Endpoint, transport.Config{Targets: m.Targets})
		all := NewLoader()
		ask := func() string { return who.disagrees(context.Background(), m) }
		first := all.compared(m, ask)
		n := asked
		if second := all.compared(m, ask); second != first || asked != n {
			t.Errorf("%s: asked again", name)
		}
		if (first == "") != (c.doubt == "") || !strings.HasPrefix(first, c.doubt) {
			t.Errorf("%s: %q, want %q", name, first, c.doubt)
		}
		counts := m.Benchmark
		counts.Endpoint.UseServerTokenCount = true
		if !asksTokens(m, known) || asksTokens(m, []verdict.ServerIdentity{{Models: []string{"m"}}}) ||
			asksTokens(&Opened{API: spec, Spec: Spec{Benchmark: counts}}, known) {
			t.Errorf("%s: whether it is asked", name)
		}
		s.Close()
	}
}

func tokens(n int) string {
	return `{"tokens":[` + strings.TrimSuffix(strings.Repeat("1,", n), ",") + `]}`
}
