package runner_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/hub"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// A plan's data set and tokenizer come into the caches of this machine, from
// which everything else reads; what is there is not asked for again.
func TestFetch(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HF_HUB_CACHE", home)
	t.Setenv("HF_HUB_OFFLINE", "")
	const commit = "0123456789abcdef0123456789abcdef01234567"
	held := map[string]map[string]string{
		"datasets/openai/gsm8k": {
			"README.md": "---\nconfigs:\n- config_name: main\n  data_files:\n  - split: test\n    path: main/t-*.jsonl\n---\n", "main/t-0.jsonl": `{"question":"How many?"}` + "\n",
			"main/train.jsonl": `{"question":"never fetched"}`, "socratic/t-0.jsonl": `{"question":"never fetched"}`,
		},
		"models/acme/tiny": {"tokenizer.json": `{"model":{"type":"WordLevel","vocab":{"a":0,"[UNK]":1},"unk_token":"[UNK]"}}`, "model.safetensors": "never fetched", "tokenizer_config.json": "{}"},
	}
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		for repo, files := range held {
			if r.URL.Path == "/api/"+repo+"/revision/main" {
				var list []map[string]any
				for name, text := range files {
					list = append(list, map[string]any{"rfilename": name, "lfs": map[string]any{
						"size":   len(text),
						"sha256": fmt.Sprintf("%x", sha256.Sum256([]byte(text))),
					}})
				}
				_ = json.NewEncoder(w).Encode(map[string]any{"sha": commit, "siblings": list})
				return
			}
			if name, ok := strings.CutPrefix(r.URL.Path, "/"+strings.TrimPrefix(repo, "models/")+"/resolve/"+commit+
				"/"); ok {
				_, _ = w.Write([]byte(files[name]))
				return
			}
		}
		http.NotFound(w, r)
	}))
	defer server.Close()
	data := schema.Dataset{Name: "main", Type: "public", Dataset: "spec_al_gsm8k"}
	b := schema.Benchmark{Datasets: []schema.Dataset{data}, Tokenizer: schema.Tokenizer{
		Name:     "acme/tiny",
		Revision: "main",
	}, Models: schema.Models{Items: []schema.Model{{Name: "none/such"}}}}
	plan := &sweep.Plan{Cells: []*sweep.Cell{{Resolved: &schema.Resolved{Benchmark: b}}}}
	fetch := func() int {
		if err := runner.Fetch(context.Background(), plan, "",
			&hub.Fetcher{Endpoint: server.URL, Client: server.Client()}); err != nil {
			t.Fatal(err)
		}
		n := 0
		for len(asked) > 0 {
			if p := <-asked; strings.Contains(p, "train") || strings.Contains(p, "socratic") ||
				strings.Contains(p, "safetensors") {
				t.Errorf("%s was fetched", p)
			}
			n++
		}
		return n
	}
	if n := fetch(); n != 6 {
		t.Errorf("%d requests, want two lists and four files", n)
	}
	if n := fetch(); n != 0 {
		t.Errorf("%d requests for what is there", n)
	}
	tok, err := tokenizer.Open("acme/tiny")
	if err != nil {
		t.Fatal(err)
	}
	set, err := dataset.Open(data, tok, 1, "profiling")
	if err != nil || set.Len() != 1 || set.At(0).Turns[0].Texts[0] != "How many?" {
		t.Errorf("the set: %v, %v", set, err)
	}
	plan.Cells[0].Resolved.Benchmark.Tokenizer.Name = ""
	var said []string
	from := &hub.Fetcher{
		Endpoint: server.URL, Client: server.Client(),
		Say: func(line string) { said = append(said, line) },
	}
	if err := runner.Fetch(context.Background(), plan, "", from); err != nil || len(said) != 1 ||
		!strings.Contains(said[0], "none/such: not on the hub") {
		t.Errorf("a model that is nowhere: %v, %q", err, said)
	}
}
