package transport_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/transport"
)

// sumOf is the digest that an exchange has of the bytes.
func sumOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = io.WriteString(h, p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// What passes by has its size and digest; what is for reading is there.
func TestMediaPassBy(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("QUJD", 50_000), strings.Repeat("REVG", 30_000)
	two := `{"data":[{"b64_json":"` + a + `"},{"b64_json":"` + b + `"}],"usage":{"input_tokens":3}}`
	kept := `{"data":[{"b64_json":"` + a[:256] + `"},{"b64_json":"` + b[:256] + `"}],"usage":{"input_tokens":3}}`
	wav := "RIFF\x00\x00\x00\x00WAVE" + strings.Repeat("\x01\xff", 100_000)
	for _, c := range []struct {
		name, kind, body string
		change           func(*transport.Exchange)
		want             string // all events
		media            []string
		all              bool
	}{
		{"pictures in JSON", "application/json", two, nil, kept, []string{a, b}, false},
		{"a stream", "text/event-stream", "data: " + two + "\r\n\r\ndata: [DONE]\r\n\r\n", nil, kept + "[DONE]", []string{a, b}, false},
		{"a stream that says it is JSON", "application/json", "data: " + two + "\n\ndata: [DONE]\n\n", nil, kept + "[DONE]", []string{a, b}, false},
		{"JSON that says it is a stream", "text/event-stream", two, nil, kept, []string{a, b}, false},
		{"lines", "application/x-ndjson", two + "\n" + two + "\n", nil, kept + kept, []string{a, b, a, b}, false},
		{"all asked for", "application/json", two, func(x *transport.Exchange) { x.Detailed = true }, two, []string{a, b}, false},
		{"sound", "audio/wav", wav, nil, "", []string{wav}, true},
		{"sound, all asked for", "audio/wav", wav, func(x *transport.Exchange) { x.Detailed = true }, wav, []string{wav}, true},
		{"bytes", "application/octet-stream", wav, nil, "", []string{wav}, true},
		{"JSON as bytes", "application/octet-stream", two, nil, kept, []string{a, b}, false},
		{"text as bytes", "application/octet-stream", "a text, é", nil, "a text, é", nil, false},
		{"a video", "video/mp4", wav, func(x *transport.Exchange) { x.SizeOnly = true }, "", []string{wav}, true},
	} {
		if c.change == nil {
			c.change = func(*transport.Exchange) {}
		}
		for _, packed := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, packed %v", c.name, packed), func(t *testing.T) {
				t.Parallel()
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", c.kind)
					if !packed {
						_, _ = io.WriteString(w, c.body)
						return
					}
					w.Header().Set("Content-Encoding", "gzip")
					z := gzip.NewWriter(w)
					_, _ = io.WriteString(z, c.body)
					_ = z.Close()
				}))
				t.Cleanup(srv.Close)
				x := open(t, srv.URL).do(mediaToo, c.change)
				var all strings.Builder
				size := int64(0)
				for i, e := range x.Events {
					all.Write(x.Data(i))
					size += int64(e.End-e.Start) + e.Left
				}
				want := len(strings.NewReplacer("data: ", "", "\r", "", "\n", "").Replace(c.body))
				if c.all || !strings.Contains(c.name, "stream") && c.name != "lines" {
					want = len(c.body)
				}
				media := strings.Join(c.media, "")
				sum := ""
				if media != "" {
					sum = sumOf(c.media...)
				}
				if x.Status != record.OK || all.String() != c.want || size != int64(want) ||
					x.Media != int64(len(media)) || x.MediaSHA != sum || x.AllMedia != c.all {
					t.Errorf("%s %s: %d events, %.100q, %d bytes, media %d %s %v; want %.100q, %d, %d %s %v", x.Status,
						x.ErrorText,
						len(x.Events), all.String(), size, x.Media, x.MediaSHA, x.AllMedia, c.want, want, len(media),
						sum, c.all)
				}
			})
		}
	}
}

// mediaToo asks for what the rows of endpoint types that answer with media ask.
func mediaToo(x *transport.Exchange) { x.Path, x.Bulk, x.Opaque = "/", []string{"b64_json"}, true }

// An answer of 25 MB needs no more memory than its head, and one that ends
// too early is told.
func TestLargeAnswerInLittleMemory(t *testing.T) {
	t.Parallel()
	const pieces, size = 400, 64 << 10
	piece := []byte(strings.Repeat("QUJD", size/4))
	serve := func(n int, tail string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			kind := r.URL.Query().Get("kind")
			w.Header().Set("Content-Type", kind)
			if kind == "application/json" {
				_, _ = io.WriteString(w, `{"data":[{"b64_json":"`)
			}
			for range n {
				_, _ = w.Write(piece)
			}
			if tail == "cut" {
				panic(http.ErrAbortHandler)
			}
			if kind == "application/json" {
				_, _ = io.WriteString(w, `"}]}`)
			}
		}
	}
	srv := httptest.NewServer(serve(pieces, ""))
	defer srv.Close()
	broken := httptest.NewServer(serve(3, "cut"))
	defer broken.Close()
	h := sha256.New()
	for range pieces {
		_, _ = h.Write(piece)
	}
	want := hex.EncodeToString(h.Sum(nil)[:8])
	for _, kind := range []string{"application/json", "audio/mpeg"} {
		x := open(t, srv.URL+"?kind="+kind).do(mediaToo)
		if x.Status != record.OK || x.Media != pieces*size || x.MediaSHA != want {
			t.Errorf("%s: %s %s, %d bytes, digest %s; want %d, %s", kind, x.Status, x.ErrorText, x.Media, x.MediaSHA,
				pieces*size, want)
		}
		// Buffers keep the size that they grew to.
		if took := transport.Recorded(x); took > 256<<10 {
			t.Errorf("%s: %d bytes were held for an answer of %d", kind, took, pieces*size)
		}
		if len(x.Payload) > 1<<10 {
			t.Errorf("%s: %d bytes were kept", kind, len(x.Payload))
		}
		if y := open(t, broken.URL+"?kind="+kind).do(mediaToo); y.Status != record.Truncated {
			t.Errorf("%s, cut: %s %s", kind, y.Status, y.ErrorText)
		}
	}
}

// Larger than what is held of any answer, when all of it is asked for, too.
func TestLargeAnswerThatIsKept(t *testing.T) {
	t.Parallel()
	text := base64.StdEncoding.EncodeToString(make([]byte, 3<<20))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":[{"b64_json":"`+text+`"}]}`)
	}))
	defer srv.Close()
	r := open(t, srv.URL, func(cfg *transport.Config) { cfg.MaxBody = 1 << 20 })
	x := r.do(func(x *transport.Exchange) { x.Bulk, x.Detailed = []string{"b64_json"}, true })
	if x.Status != record.OK || len(x.Payload) != len(text)+26 || x.MediaSHA != sumOf(text) {
		t.Errorf("%s %s: %d bytes kept, digest %s", x.Status, x.ErrorText, len(x.Payload), x.MediaSHA)
	}
}
