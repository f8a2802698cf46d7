package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/secret"
)

// Server is what is done to the server around runs.
type Server struct {
	BeforeRun    []Hook `json:"before_run,omitempty"`
	AfterRun     []Hook `json:"after_run,omitempty"`
	BetweenCells []Hook `json:"between_cells,omitempty"`
}

// All are the hooks by their paths; a nil Server has none.
func (s *Server) All() map[string][]Hook {
	if s == nil {
		return nil
	}
	return map[string][]Hook{
		"benchmark.server.before_run": s.BeforeRun, "benchmark.server.after_run": s.AfterRun,
		"benchmark.server.between_cells": s.BetweenCells,
	}
}

// Hook is one call to the server or one command: what a Flip is, or an action of the
// server's own.
type Hook struct {
	Action  string   `json:"action,omitempty"`
	Call    string   `json:"call,omitempty"`
	Method  string   `json:"method"`
	Headers Headers  `json:"headers"`
	Body    Members  `json:"body,omitempty"`
	Command []string `json:"command,omitempty"`
	Timeout float64  `json:"timeout"` // seconds
}

// Says is what the hook does, without what a person may not see.
func (h *Hook) Says(hide *secret.Masker) string {
	switch {
	case h.Action != "":
		return h.Action
	case h.Call != "":
		return h.Method + " " + hide.Text(secret.URL(h.Call))
	}
	return hide.Text(strings.Join(h.Command, " "))
}

// The usual time of calls that AIPerf makes, in seconds.
const serverCall = 30

// ResetKVCache empties the server's prefix cache before each run.
type ResetKVCache struct {
	Off     bool     `json:"-"` // false was said
	Timeout *float64 `json:"timeout_seconds,omitempty"`
	Retry   float64  `json:"max_retry_seconds,omitempty"` // while the server is busy
	Path    string   `json:"path,omitempty"`              // "": those that are known are tried
}

// UnmarshalJSON takes true and false, too.
func (r *ResetKVCache) UnmarshalJSON(b []byte) error {
	type plain ResetKVCache
	off, err := toggled(b, (*plain)(r))
	r.Off = off
	return err
}

// Seconds are for one attempt.
func (r *ResetKVCache) Seconds() float64 { return given(r.Timeout) }

// ServerProfiler starts and stops the server's profiler around the measured phases.
type ServerProfiler struct {
	Off     bool     `json:"-"` // false was said
	Timeout *float64 `json:"timeout_seconds,omitempty"`
	Start   string   `json:"start_path,omitempty"`
	Stop    string   `json:"stop_path,omitempty"`
}

// UnmarshalJSON takes true and false, too.
func (p *ServerProfiler) UnmarshalJSON(b []byte) error {
	type plain ServerProfiler
	off, err := toggled(b, (*plain)(p))
	p.Off = off
	return err
}

// Seconds are for one call.
func (p *ServerProfiler) Seconds() float64 { return given(p.Timeout) }

// toggled reads an object, or true for an empty one; off where it is false.
func toggled(b []byte, object any) (off bool, err error) {
	switch string(bytes.TrimSpace(b)) {
	case "true":
		return false, nil
	case "false":
		return true, nil
	}
	return false, json.Unmarshal(b, object)
}

func given(seconds *float64) float64 {
	if seconds == nil {
		return serverCall
	}
	return *seconds
}

// check says what is wrong with a hook at a place.
func (h *Hook) check(b *Benchmark, at string, found blame) {
	grpc := slices.ContainsFunc(b.Endpoint.URLs, func(u string) bool { return strings.HasPrefix(u, "grpc") })
	switch {
	case h.Action == "" && h.Call == "" && len(h.Command) == 0:
		found(at, "needs an action, a call or a command",
			"such as {action: reset_prefix_cache}, {call: /flush_cache} or {command: [./restart.sh]}")
	case h.Method == "GET" && h.Body != nil:
		found(at+".body", "cannot be combined with method: GET", "leave one of them out")
	case grpc && (h.Action != "" || strings.HasPrefix(h.Call, "/")):
		found(at, "an action and a path need an HTTP server, and the endpoint speaks gRPC",
			"give a call with a full address, such as http://localhost:8000/flush_cache")
	case secret.InCommand(h.Command):
		found(at+".command", "holds a credential, which results would show",
			"a command has this program's environment: let it read the credential there")
	}
}
