package runner

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sweep/decide"
)

// Weights & Biases keeps runs that are to be synchronised later in a format of its own,
// which is not documented. So its own package files the results: a script that is written
// beside them, with all it needs in a JSON file.
const (
	wandbData   = "wandb_export.json"
	wandbScript = "wandb_upload.py"
)

//go:embed wandb_upload.py
var wandbProgram []byte

// forWandB writes the script and its data, and says how to run it.
func (r *runner) forWandB(o *outlets) {
	c := &o.bench.WandB
	if c.Project == "" {
		return
	}
	var config json.RawMessage = r.hide.JSON(r.plan.Cells[0].Resolved.JSON)
	type table struct {
		Name string  `json:"name"` // of the run there
		Rows [][]any `json:"rows"`
	}
	var tables []table
	for i := range r.result.Outcomes {
		x := &r.result.Outcomes[i]
		if rows := wandbRows(x); len(rows) > 0 {
			tables = append(tables, table{fmt.Sprintf("%s, trial %d", x.Run.Cell.Short(), x.Run.Trial+1), rows})
		}
	}
	short := r.plan.Hash[:min(len(r.plan.Hash), 8)]
	b, err := json.MarshalIndent(map[string]any{
		"project": c.Project, "entity": c.Entity, "run_name": c.RunName, "config": config,
		"tags":    append([]string{"aiperf-" + r.opt.Version, "benchmark-" + short}, c.Tags...),
		"columns": []string{"Metric", "avg", "min", "max", "p99", "p90", "p50", "std"}, "tables": tables,
		"artifact": "aiperf-" + r.plan.Hash[:min(len(r.plan.Hash), 12)], "files": r.filedFiles(nil),
	}, "", "  ")
	if err == nil {
		err = atomicfile.Write(filepath.Join(r.dir.Path, wandbData), append(b, '\n'))
	}
	if err == nil {
		err = atomicfile.Write(filepath.Join(r.dir.Path, wandbScript), wandbProgram)
	}
	if err != nil {
		r.opt.say("Weights & Biases: " + diag.Line(err))
		return
	}
	r.opt.say("Weights & Biases: python " + filepath.Join(r.dir.Path, wandbScript) +
		" files the results there (pip install wandb); WANDB_MODE=offline keeps them for later")
}

// wandbRows are the lines of AIPerf's table of a run.
func wandbRows(x *decide.Outcome) (rows [][]any) {
	for i := range x.Summaries {
		if x.Summaries[i].Window != decide.Full {
			continue
		}
		for _, s := range x.Summaries[i].Stats {
			m, ok := metrics.Lookup(s.Tag)
			if !ok || m.Group != metrics.Main {
				continue
			}
			name := m.Header
			if m.Unit != "" {
				name += " (" + m.Unit + ")"
			}
			row := []any{name}
			for _, v := range []float64{s.Avg, s.Min, s.Max, s.P99, s.P90, s.P50, s.Std} {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					row = append(row, nil)
				} else {
					row = append(row, math.Round(v*100)/100)
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}
