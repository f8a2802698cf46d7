package mockserver

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// What /tokenize counts is what usage reports count.
func TestTokenize(t *testing.T) {
	t.Parallel()
	b := start(t, "ttft=0ms&itl=0ms")
	defer b.stop()
	ask := func(body string) (status, count, tokens int) {
		resp, err := http.Post(b.url+"/tokenize", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var got struct {
			Count  int
			Tokens []int
		}
		raw, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode == http.StatusOK {
			err = json.Unmarshal(raw, &got)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, raw)
		}
		return resp.StatusCode, got.Count, len(got.Tokens)
	}
	want := count(t, "one two three")
	for body, n := range map[string]int{
		`{"model":"m","prompt":"one two three"}`:                   want,
		`{"messages":[{"role":"user","content":"one two three"}]}`: want, `{"prompt":""}`: 0,
	} {
		if status, c, ids := ask(body); status != http.StatusOK || c != n || ids != n {
			t.Errorf("%s: %d, count %d, %d tokens; want %d", body, status, c, ids, n)
		}
	}
	for _, body := range []string{`{}`, `nonsense`} {
		if status, _, _ := ask(body); status != http.StatusBadRequest {
			t.Errorf("%s: %d", body, status)
		}
	}
}
