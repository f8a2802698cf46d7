package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// Restore makes the plan of a result directory again, from what the directory keeps. change
// may change the body of each cell before load reads it as an experiment of one cell; doc is
// that of the first.
func Restore(
	dir string, change func(body map[string]any) error, load func(file string) (*schema.Document, error),
) (plan *sweep.Plan, doc *schema.Document, err error) {
	lock, err := resultdir.ReadLock(dir)
	if err != nil {
		return nil, nil, err
	}
	var kept struct {
		Experiment map[string]any `json:"experiment"`
	}
	if err := resultdir.ReadJSON(filepath.Join(dir, resultdir.ResolvedName), &kept); err != nil {
		return nil, nil, err
	}
	delete(kept.Experiment, "search") // its runs are those that were made
	delete(kept.Experiment, "tables") // of this copy
	axes, err := axesOf(dir)
	if err != nil {
		return nil, nil, err
	}
	tmp, err := os.MkdirTemp("", "aiperf-")
	if err != nil {
		return nil, nil, err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // copies
	var bodies []*schema.Resolved
	for i, c := range lock.Cells {
		var body map[string]any
		if err := json.Unmarshal(c.Benchmark, &body); err != nil {
			return nil, nil, fmt.Errorf("%s: cell %s: %w", resultdir.LockName, c.ID, err)
		}
		if err := change(body); err != nil {
			return nil, nil, err
		}
		kept.Experiment["benchmark"] = body
		file := filepath.Join(tmp, "experiment.json")
		if err := resultdir.WriteJSON(file, kept.Experiment); err != nil {
			return nil, nil, err
		}
		d, err := load(file)
		if err != nil {
			return nil, nil, err
		}
		if i == 0 {
			doc = d
		}
		r, err := d.Resolve(nil)
		if err != nil {
			return nil, nil, err
		}
		bodies = append(bodies, r)
	}
	if doc == nil {
		return nil, nil, fmt.Errorf("%s has no cell", resultdir.LockName)
	}
	plan, err = sweep.Restore(lock, doc.Envelope(), axes, bodies)
	return plan, doc, err
}

// axesOf are the axes as the tables name them.
func axesOf(dir string) (axes []schema.Axis, err error) {
	rows, err := sinks.ReadTable(dir, "runs", func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	var kept []struct{ Name, Path string }
	if err := json.Unmarshal([]byte(rows.Meta["aiperf.axes"]), &kept); err != nil {
		return nil, fmt.Errorf("runs.parquet: aiperf.axes: %w", err)
	}
	for _, a := range kept {
		axes = append(axes, schema.Axis{Name: strings.TrimPrefix(a.Name, "axis_"), Path: a.Path})
	}
	return axes, nil
}
