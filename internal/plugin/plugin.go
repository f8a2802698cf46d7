// Package plugin runs programs that extend this one. In goes the folder of a plug-in,
// which holds a manifest and a program; out comes a Process that is asked in lines of
// JSON and answers in them. docs/plugins.md has the protocol.
//
// The steps: Open reads the manifest (manifest.go) and takes the digest of the files
// beside it (digest.go), Host.Start starts the program and shakes hands with it
// (process.go), Call and Stream ask it, Close ends it with all that it started. A program
// is trusted with nothing: what it prints is bounded in size and in time, and one that
// breaks the protocol is ended; from then on every call says why.
package plugin

import (
	"context"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/secret"
)

// Protocol is the version of the language that plug-ins are spoken to in.
const Protocol = 1

// Kind is one sort of plug-in: a row of the catalogue.
type Kind struct {
	Name string
	Doc  string
	// Takes are the keys of a manifest that only this kind has, Needs those that it must have.
	Takes, Needs []string
	// Patience is how long one answer may take where the manifest says nothing.
	Patience time.Duration
	// Probe is a question that every plug-in of the kind answers, for validate.
	Probe map[string]any
	Lines bool // it answers in several lines
}

// The kinds.
var (
	Dataset = &Kind{
		Name: "dataset", Doc: "conversations, before the load: dataset.type: plugin", Takes: []string{"format"},
		Patience: time.Minute, Probe: map[string]any{"conversations": map[string]any{"entries": 1, "seed": 0}}, Lines: true,
	}
	Endpoint = &Kind{
		Name: "endpoint", Doc: "bodies of requests and what answers say: endpoint.type: plugin",
		Takes: []string{"path", "streams", "response_field"}, Needs: []string{"path"}, Patience: 10 * time.Second,
	}
	Exporter = &Kind{
		Name: "exporter", Doc: "the finished results: artifacts.exporters", Patience: 10 * time.Minute,
	}
	Metric = &Kind{
		Name: "metric", Doc: "figures of all requests of a run: artifacts.metrics", Takes: []string{"columns", "metrics"},
		Needs: []string{"columns", "metrics"}, Patience: time.Minute,
		Probe: map[string]any{"figures": map[string]any{"window": "full", "seconds": 1}},
	}
	Grader = &Kind{
		Name: "grader", Doc: "whether an answer is right: accuracy.grader: plugin", Patience: 10 * time.Second,
		Probe: map[string]any{"grade": map[string]any{"answer": "", "truth": ""}},
	}
)

// Kinds are all kinds, in the order of a run.
func Kinds() []*Kind { return []*Kind{Dataset, Endpoint, Grader, Metric, Exporter} }

func kindNamed(name string) *Kind {
	i := slices.IndexFunc(Kinds(), func(k *Kind) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return Kinds()[i]
}

func kindNames() string {
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return strings.Join(names, ", ")
}

// Host is who runs plug-ins: whether that is allowed, and what they must not repeat. The
// zero value runs none.
type Host struct {
	Allow bool           // the user has said --allow-hooks
	Hide  *secret.Masker // of what a program prints
}

// Start starts the program of a plug-in, which lives until Close, the end of ctx, or its
// own first mistake.
func (h Host) Start(ctx context.Context, m *Manifest) (*Process, error) {
	if err := h.allowed(m); err != nil {
		return nil, err
	}
	return start(ctx, m, h.Hide)
}

// Allowed refuses to run a plug-in without permission.
func (h Host) allowed(m *Manifest) error {
	if h.Allow {
		return nil
	}
	return NotAllowed(m)
}

// NotAllowed is the refusal of a plug-in without permission.
func NotAllowed(m *Manifest) *diag.Error {
	return diag.New("plug-in "+m.Name+" runs "+strings.Join(m.Command, " ")+" on this machine",
		"check what "+m.Folder+" holds, then add --allow-hooks")
}
