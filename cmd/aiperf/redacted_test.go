package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/sinks"
)

// Nothing that is passed on says where on this machine it was measured, or what the machine is
// called: neither the documents, nor the tables, nor the records.
func TestBundleSaysNothingOfTheMachine(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	data := filepath.Join(root, "secret-project", "trace.jsonl")
	if err := os.MkdirAll(filepath.Dir(data), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, []byte(`{"text": "a b c", "output_length": 4}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	experiment := `
benchmark:
  model: m
  endpoint: {type: chat, url: 'mock:?ttft=1ms&itl=1ms&osl=4', streaming: true}
  tokenizer: {name: builtin}
  dataset: {type: file, path: '` + data + `', format: single_turn}
  phases: {type: concurrency, requests: 6, concurrency: 2}
multi_run: {num_runs: 2}
allow_invalid: true
`
	if err := os.WriteFile(filepath.Join(root, "x.yaml"), []byte(experiment), 0o644); err != nil {
		t.Fatal(err)
	}
	from, dir := filepath.Join(root, "from"), filepath.Join(root, "dir")
	aiperf(t, root, "run", filepath.Join(root, "x.yaml"), "--artifact-dir", from).wants(diag.OK, diag.Invalid)
	aiperf(t, root, "bundle", from, "-o", "x.aiperf").wants(diag.OK)
	aiperf(t, root, "verify", "x.aiperf", "--recompute", "--unpack", dir).wants(diag.OK, diag.Invalid)
	kept := false
	check := func(where, text string) {
		for _, word := range []string{root, "secret-project"} {
			if strings.Contains(text, word) {
				t.Errorf("%s says %s: %.200s", where, word, text[max(0, strings.Index(text, word)-80):])
			}
		}
		kept = kept || strings.Contains(text, "path-1/trace.jsonl")
	}
	err := filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		if table, ok := strings.CutSuffix(e.Name(), ".parquet"); ok {
			rows, err := sinks.ReadTable(dir, table, nil)
			if err != nil {
				return err
			}
			for column, texts := range rows.Texts {
				check(table+"."+column, strings.Join(texts, "\n"))
			}
			for key, text := range rows.Meta {
				check(table+" "+key, text)
			}
			if host := rows.Meta["aiperf.host"]; !strings.Contains(host, `"host-1"`) {
				t.Errorf("%s says that the client is %s", table, host)
			}
			return nil
		}
		b, err := os.ReadFile(at)
		check(e.Name(), string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !kept {
		t.Error("nothing says what the data set is called")
	}
	a, err := sinks.OpenArchive(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	check("about the records", string(a.About))
	if !bytes.Contains(a.About, []byte("aiperf.kept/")) {
		t.Errorf("about the records: %.100s", a.About)
	}
	for _, run := range []string{"profile_runs/run_0001", "profile_runs/run_0002"} {
		journal, err := a.Journal(run, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		_, err = sinks.ReadJournal(journal, func(r *record.Record) error {
			n++
			check("a record", strings.Join([]string{r.URL, r.ErrorMessage, r.ErrorBody, r.SessionID, r.ConversationID}, " "))
			return nil
		})
		if err != nil || n != 6 {
			t.Errorf("%s: %d records, %v", run, n, err)
		}
	}
}
