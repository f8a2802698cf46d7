package acceptance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"aiperf.dev/aiperf/internal/mockserver"
)

// inputs.json holds the bodies that are sent, byte for byte but for its line breaks:
// options and roles included. Earlier turns are not in it, since only the server
// gives the answers to them.
func TestInputsAreWhatIsSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		words string
		holds []string // each body has them
		turns int
	}{
		"chat": {
			"--endpoint-type chat --streaming --num-dataset-entries 4 --conversation-num 4 --conversation-turn-mean 3 --conversation-turn-stddev 0 --conversation-turn-delay-mean 0 " +
				"--shared-system-prompt-length 8 --user-context-prompt-length 4 --isl 16 --osl 4 --extra-inputs temperature:0.5 --extra-inputs stop:a<b&c",
			[]string{`"include_usage":true`, `"role":"system"`, `"temperature":0.5`, `"stop":"a<b&c"`},
			3,
		},
		"chat without a stream": {"--endpoint-type chat --request-count 4 --num-dataset-entries 4 --isl 16 --osl 4 --use-legacy-max-tokens", []string{`"max_tokens":4`}, 1},
		"completions":           {"--endpoint-type completions --streaming --request-count 4 --num-dataset-entries 4 --isl 16 --osl 4 --extra-inputs echo:true", []string{`"echo":true`, `"include_usage":true`}, 1},
		"embeddings":            {"--endpoint-type embeddings --request-count 4 --num-dataset-entries 4 --isl 16 -b 3 --extra-inputs dimensions:8", []string{`"dimensions":8`, `"input":[`}, 1},
		"rankings":              {"--endpoint-type nim_rankings --request-count 4 --num-dataset-entries 4 --rankings-passages-mean 3 --extra-inputs truncate:END", []string{`"truncate":"END"`, `"passages":[`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, sent := recorded(t)
			dir := filepath.Join(t.TempDir(), "out")
			args := strings.Fields("profile -m demo --tokenizer builtin --concurrency 2 --ui none --artifact-dir " +
				dir + " -u " + url)
			measure(t, append(args, strings.Fields(c.words)...)...)
			var inputs struct {
				Data []struct{ Payloads []json.RawMessage }
			}
			raw, err := os.ReadFile(filepath.Join(dir, "inputs.json"))
			if err == nil {
				err = json.Unmarshal(raw, &inputs)
			}
			if err != nil {
				t.Fatal(err)
			}
			var shown []string
			for _, s := range inputs.Data {
				if len(s.Payloads) != c.turns {
					t.Errorf("%d bodies of a session, want %d", len(s.Payloads), c.turns)
				}
				for _, p := range s.Payloads {
					var b bytes.Buffer
					if err := json.Compact(&b, p); err != nil {
						t.Fatal(err)
					}
					shown = append(shown, b.String())
				}
			}
			got := sent()
			slices.Sort(got)
			slices.Sort(shown)
			if len(shown) != 4*c.turns || !slices.Equal(got, shown) {
				t.Errorf("sent\n%s\n\nshown\n%s", strings.Join(got, "\n"), strings.Join(shown, "\n"))
			}
			for _, b := range shown {
				for _, want := range c.holds {
					if !strings.Contains(b, want) {
						t.Errorf("no %s in %s", want, b)
					}
				}
			}
		})
	}
}

// history is an earlier turn and its answer.
var history = regexp.MustCompile(`\{"role":"user","content":"(?:[^"\\]|\\.)*"\},\{"role":"assistant","content":"(?:[^"\\]|\\.)*"\},`)

// recorded is the built-in server behind one that keeps the bodies of requests; sent
// are those without earlier turns in them.
func recorded(t *testing.T) (address string, sent func() []string) {
	t.Helper()
	cfg, err := mockserver.ParseURL("mock:?ttft=1ms&itl=1ms")
	if err != nil {
		t.Fatal(err)
	}
	server := mockserver.New(cfg)
	behind, err := server.Start(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	to, err := url.Parse(behind)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var bodies []string
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.URL.Path != "/tokenize" && r.Method == http.MethodPost { // it is asked how it counts, beforehand
			mu.Lock()
			bodies = append(bodies, history.ReplaceAllString(string(b), ""))
			mu.Unlock()
		}
		r.Body = io.NopCloser(bytes.NewReader(b))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(bodies)
	}
}
