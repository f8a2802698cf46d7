package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The SQL of docs/trend.md, on a store that the program wrote, gives what `aiperf trend` has.
func TestTrendSQL(t *testing.T) {
	t.Parallel()
	python(t)
	page, err := os.ReadFile(filepath.Join(repository(t), "docs", "trend.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "```sql\n")
	query, _, ok := strings.Cut(after, "```")
	if !ok || strings.Contains(query, `"""`) {
		t.Fatalf("docs/trend.md: want a block of SQL, got %q", query)
	}

	d := desk{dir: t.TempDir()}
	store := filepath.Join(d.dir, "history")
	for _, commit := range []string{"one", "two"} {
		dir := filepath.Join(d.dir, commit)
		measure(t, "profile", "-u", "mock:?ttft=8ms&itl=1ms&jitter=0.3", "-m", "mock", "--concurrency", "4",
			"--request-count", "40", "--streaming", "--tokenizer", "builtin", "--artifact-dir", dir, "--allow-invalid")
		measure(t, "trend", store, "--add", dir, "--commit", commit)
	}
	var want struct {
		Results []struct{ ID, Commit string }
		Series  []struct {
			Cell, Metric, Stat string
			Points             []struct {
				Result string
				Value  float64
			}
		}
	}
	if out := measure(t, "trend", store, "--output", "json"); json.Unmarshal(out, &want) != nil {
		t.Fatalf("aiperf trend printed %s", out)
	}
	commits := map[string]any{}
	for _, r := range want.Results {
		commits[r.ID] = r.Commit
	}
	var got [1][]map[string]any
	d.python(t, &got, []string{`import duckdb; duckdb.sql("""` + query + `""").project("commit, value")`}, "lines.py")
	for _, s := range want.Series {
		if s.Cell != "base" || s.Metric != "time_to_first_token" || s.Stat != "p50" {
			continue
		}
		if len(s.Points) != 2 || len(got[0]) != 2 {
			t.Fatalf("%d results in the store, DuckDB finds %v, want 2", len(s.Points), got[0])
		}
		for i, p := range s.Points {
			same(t, "DuckDB: TTFT p50", got[0][i]["value"], p.Value)
			if got[0][i]["commit"] != commits[p.Result] {
				t.Errorf("DuckDB: commit %v, want %v", got[0][i]["commit"], commits[p.Result])
			}
		}
		return
	}
	t.Fatalf("aiperf trend has no TTFT p50 of the cell base: %+v", want.Series)
}
