// Package expose shows what a plan does while it is carried out as a page of Prometheus
// text, so that a dashboard has the client's side beside the server's. In go records,
// snapshots of the engine and steps of the plan, from one goroutine each; out comes
// GET /metrics. Whoever reads it never makes the load wait longer than a page is copied.
package expose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"

	"aiperf.dev/aiperf/internal/words"
)

// Server is the page while it is served.
type Server struct {
	*Page
	Address string // that it is served at, with the port that was chosen

	http *http.Server
	done chan struct{}
}

// Listen serves p at an address: a port alone, or :PORT, is one of this machine's loopback.
func Listen(ctx context.Context, address string, p *Page) (*Server, error) {
	at, err := Loopback(address)
	if err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", p.serve)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/metrics", http.StatusFound)
	})
	s := &Server{Page: p, Address: l.Addr().String(), done: make(chan struct{}), http: &http.Server{
		Handler: mux, ReadHeaderTimeout: patience, WriteTimeout: patience, IdleTimeout: time.Minute,
		MaxHeaderBytes: 1 << 16,
	}}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(l) // it ends with Close, and nobody scrapes for ever
	}()
	return s, nil
}

// patience is how long a reader may take.
const patience = 10 * time.Second

// Close ends the server at once. A nil Server is none.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	err := s.http.Close()
	<-s.done
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Loopback is the address that a person means: without a host it is 127.0.0.1.
func Loopback(address string) (string, error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("%s is not an address: %w", words.Line(address), err)
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// serve answers one scrape, as text.
func (p *Page) serve(w http.ResponseWriter, _ *http.Request) {
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	e := expfmt.NewEncoder(w, format)
	for _, f := range p.Families() {
		if err := e.Encode(f); err != nil {
			return // the reader has gone
		}
	}
}
