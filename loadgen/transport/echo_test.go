package transport

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/record"
)

// Echoes that wait are late by what they waited.
func TestEchoesAreLate(t *testing.T) {
	t.Parallel()
	now := int64(1)
	e := &echoes{clock: func() int64 { return now }}
	for i := range 200 {
		e.note(int64(i+1) * int64(time.Microsecond))
	}
	if got := e.result(); got.N != 200 || got.Mean != 100.5 || got.P50 != 100 || got.P90 != 180 || got.P99 != 198 ||
		got.Max != 200 {
		t.Errorf("%+v, want 200 echoes, 100.5, 100, 180, 198 and 200 µs", got)
	}
	for range 3 * maxEchoes {
		e.note(1)
	}
	if len(e.late) != maxEchoes {
		t.Errorf("%d samples are kept, want %d", len(e.late), maxEchoes)
	}
	var none *echoes
	if none.read(); none.result() != (StampError{}) {
		t.Error("no echoes and a result")
	}
}

// Where stamps are the application's their error is measured while chunks come;
// where they are the kernel's nothing is.
func TestStampErrorIsMeasured(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 200 {
			w.Write([]byte("data: a\n\n")) //nolint:errcheck // the client looks
			w.(http.Flusher).Flush()
		}
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	measure := func(http2, kernel bool) Stats {
		cl, err := Open(Config{Targets: []string{s.URL}, Clock: record.NewClock(), HTTP2: http2})
		if err != nil {
			t.Fatal(err)
		}
		if !kernel && cl.kernelStamps {
			cl.kernelStamps = false
			cl.listen()
		}
		for range 4 {
			done := make(chan *Exchange, 1)
			cl.Start(&Exchange{
				Path: "/", Stream: true, Deadline: record.None, CancelAfter: record.None,
				Done: func(x *Exchange) { done <- x },
			})
			if x := <-done; x.Status != record.OK || len(x.Events) != 200 {
				t.Fatalf("%s %s, %d events", x.Status, x.ErrorText, len(x.Events))
			}
		}
		if err := cl.Close(); err != nil {
			t.Fatal(err)
		}
		return cl.Stats()
	}
	if got := measure(true, true); got.StampError.N == 0 || !(got.StampError.P99 > 0) || got.Stamps != "application" {
		t.Errorf("HTTP/2: %+v", got)
	}
	for _, kernel := range []bool{true, false} { // true where the kernel has them
		if got := measure(false, kernel); (got.StampError.N != 0) != (got.Stamps == "application") {
			t.Errorf("HTTP/1.1: %+v", got)
		}
	}
}
