package source

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func get(t *testing.T, ctx context.Context, url string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return Network(ctx).RoundTrip(r)
}

// A registry cannot fill the disk.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	chunk := make([]byte, 1<<20)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := maxAnswer>>20 + 1
		if r.URL.Path == "/most" {
			n--
		}
		for range n {
			if _, err := w.Write(chunk); err != nil {
				return // the reader had enough
			}
		}
	}))
	t.Cleanup(s.Close)
	for path, want := range map[string]string{"/most": "", "/more": "the answer is larger than 64 MB"} {
		res, err := get(t, t.Context(), s.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if n > maxAnswer || (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d bytes, %v; want %q", path, n, err, want)
		}
	}
}

// The first interrupt ends waiting for a registry, before and within its answer.
func TestInterruptEndsFetching(t *testing.T) {
	t.Parallel()
	hold := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/begun" {
			_, _ = w.Write([]byte("some"))
			w.(http.Flusher).Flush()
		}
		<-hold
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(hold) })

	ctx, interrupt := context.WithCancel(t.Context())
	res, err := get(t, ctx, s.URL+"/begun")
	if err != nil {
		t.Fatal(err)
	}
	interrupt()
	if _, err := io.ReadAll(res.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("within the answer: %v", err)
	}
	res.Body.Close()
	if res, err := get(t, ctx, s.URL+"/silent"); !errors.Is(err, context.Canceled) {
		t.Errorf("before the answer: %v, %v", res, err)
	}
}
