package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestChatAtATerminal: lines are messages, the first Ctrl-C ends an answer, the second the
// program; what fails is told, and the chat goes on.
func TestChatAtATerminal(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		last := string(b)[strings.LastIndex(string(b), `"content":`):]
		if strings.Contains(last, "fail") {
			http.Error(w, `{"error":{"message":"no such thing"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		word := map[bool]string{true: "unending", false: "answered"}[strings.Contains(last, "wait")]
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"`+word+`"}}]}`+"\n\n")
		w.(http.Flusher).Flush()
		if word == "unending" {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	p := openTerminal(t, 100, 40, nil, t.TempDir(), "trap : INT; aiperf chat -u "+s.URL+" -m demo; echo code $?")
	times := func(word string, n int) {
		t.Helper()
		p.until(word, func(*vt) bool { return strings.Count(p.said.String(), word) == n })
	}
	p.shows("Ctrl-D ends the chat.")
	p.keys("Hello\n")
	times("answered", 1)
	times("TTFT", 1)
	p.keys("fail\n")
	p.shows("aiperf: the server answered 400: no such thing")
	p.keys("wait\n")
	times("unending", 1)
	p.keys("\x03")
	p.shows("ended early")
	p.keys("Hello\n")
	times("answered", 2)
	times("TTFT", 3)
	p.keys("wait\n")
	times("unending", 2)
	p.keys("\x03")
	p.shows("code 130")
}
