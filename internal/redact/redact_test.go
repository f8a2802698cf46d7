package redact_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/redact"
)

func TestText(t *testing.T) {
	t.Parallel()
	r := redact.New()
	r.Learn(redact.Host, "gpu-7.corp")
	r.Learn(redact.Host, "server")
	for _, c := range []struct{ text, want string }{
		{"the server did not keep up", "the server did not keep up"}, // a word of a language
		{"http://server:8000/v1", "http://host-2:8000/v1"},
		{"http://gpu-7.corp:8000/v1/chat/completions", "http://host-1:8000/v1/chat/completions"},
		{"http://127.0.0.1:8000 http://localhost http://[::1]:80 http://mock:", "http://127.0.0.1:8000 http://localhost http://[::1]:80 http://mock:"},
		{"urls_http___gpu-7.corp_8000", "urls_http___host-1_8000"}, // a folder named after an address
		{"dial tcp 10.1.2.3:8000: connection refused", "dial tcp host-3:8000: connection refused"},
		{"lookup gpu-7.corp on 10.1.2.3:53", "lookup host-1 on host-3:53"},
		{"dial tcp [fd00::1%eth0]:8000", "dial tcp host-4:8000"},
		{"127.0.0.1 and 0.0.0.0 and 999.1.1.1", "127.0.0.1 and 0.0.0.0 and 999.1.1.1"},
		{"GPU-0123abcd-0000-1111-2222-0123456789ab", "gpu-1"},
		{"00000000:3B:00.0", "gpu-2"},
		{"--input-file '/home/ann/q3 plan/a.jsonl'", "--input-file 'path-1/q3 plan/a.jsonl'"},
		{"/home/ann/traces/a.jsonl", "path-2/a.jsonl"},
		{`C:\Users\ann\a.jsonl`, "path-3/a.jsonl"},
		{"/v1/chat/completions", "/v1/chat/completions"},
		{"time_to_first_token.p99 < 200", "time_to_first_token.p99 < 200"},
		{"", ""},
	} {
		if got := r.Text(c.text); got != c.want {
			t.Errorf("Text(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// What stands under the name of a label is known by it; other words stay, and so do numbers
// and the way a document is written.
func TestJSON(t *testing.T) {
	t.Parallel()
	r := redact.New()
	raw := `{ "Hostname": "alpha", "pod":"bench-x", "UUID": "GPU-1", "n": 1.50, "model": "alpha",
	"http://node-9:9400/metrics": ["http://node-9:9400"], "url": "node-9:8000", "dir": "/a/b/c", "endpoint": "/v1/chat"}`
	want := `{ "Hostname": "host-1", "pod":"pod-1", "UUID": "gpu-1", "n": 1.50, "model": "alpha",
	"http://host-2:9400/metrics": ["http://host-2:9400"], "url": "host-2:8000", "dir": "path-1/c", "endpoint": "/v1/chat"}`
	if got := string(r.JSON([]byte(raw), r.Text)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	words := 0
	for _, row := range r.List() {
		words += row.Words
		if strings.Contains(row.What+row.Found+row.By, "alpha") {
			t.Errorf("the list itself holds a word: %+v", row)
		}
	}
	if words != 5 {
		t.Errorf("%d words, want 5: %+v", words, r.List())
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"http://a-1.b:80/c", "[::]", `C:\x`, "~/", "/home/", "1.2.3.4.5", `{"host":"x"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 1<<12 {
			return
		}
		a, b := redact.New(), redact.New()
		if x, y := a.Text(s), b.Text(s); x != y {
			t.Errorf("%q and %q of one text", x, y)
		}
		a.JSON([]byte(s), a.Text)
	})
}
