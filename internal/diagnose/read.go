package diagnose

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

// Dir is the report on a result directory.
func Dir(dir string) (*Report, error) {
	lock, err := resultdir.ReadLock(dir)
	if err != nil {
		return nil, &diag.Error{
			Place: dir, Message: err.Error(),
			Hint: "name the directory of a result, such as results/latest", Cause: err,
		}
	}
	var cells []Cell
	for i, c := range lock.Cells {
		cell, err := lockCell(i, c)
		if err != nil {
			return nil, &diag.Error{
				Place: dir, Message: err.Error(),
				Hint: "the directory is damaged: run the experiment again", Cause: err,
			}
		}
		cells = append(cells, cell)
	}
	e := &Evidence{}
	if err := e.read(dir); err != nil {
		hint := "the directory is damaged: run the experiment again"
		if errors.Is(err, fs.ErrNotExist) {
			hint = "it is made from Parquet tables: aiperf export " + dir +
				" writes them; a run that has not ended has none yet"
		}
		if _, unfinished := resultdir.ReadManifest(dir); unfinished != nil && errors.Is(err, fs.ErrNotExist) {
			return nil, &diag.Error{
				Place: dir, Message: "not finished: its tables are not written yet", Cause: err,
				Hint: "aiperf watch " + dir + " shows a run in progress; aiperf run … --resume finishes one that was interrupted",
			}
		}
		return nil, &diag.Error{Place: dir, Message: err.Error(), Hint: hint, Cause: err}
	}
	r := Of(cells, e)
	var resolved struct {
		Command string `json:"command"`
	}
	_ = resultdir.ReadJSON(filepath.Join(dir, resultdir.ResolvedName), &resolved) // without it advice has no command
	r.commands(dir, resolved.Command)
	return r, nil
}

// lockCell is a cell as the plan of a directory has it.
func lockCell(index int, c resultdir.LockCell) (Cell, error) {
	var point []sweep.Value
	for _, path := range slices.Sorted(maps.Keys(c.Point)) {
		v := c.Point[path]
		label := fmt.Sprint(v)
		if object, ok := v.(map[string]any); ok && object["label"] != nil {
			label = fmt.Sprint(object["label"])
		}
		point = append(point, sweep.Value{
			Axis: path[strings.LastIndex(path, ".")+1:], Path: path, Value: v,
			Label: label,
		})
	}
	var b struct {
		Phases []schema.Phase `json:"phases"`
	}
	if err := json.Unmarshal(c.Benchmark, &b); err != nil {
		return Cell{}, fmt.Errorf("%s: cell %d: %w", resultdir.LockName, index, err)
	}
	label := c.Short
	if label == "" {
		label = c.Label
	}
	return cellOf(index, label, point, b.Phases), nil
}

// PlanCells are the cells of a plan.
func PlanCells(p *sweep.Plan) (out []Cell) {
	for _, c := range p.Cells {
		out = append(out, cellOf(c.Index, c.Short(), c.Point, c.Resolved.Benchmark.Phases))
	}
	return out
}

// cellOf tells the load of a cell from what else it has.
func cellOf(index int, label string, point []sweep.Value, phases []schema.Phase) Cell {
	out := Cell{Index: index, Label: label}
	var rest, apart []string
	for _, v := range point {
		axis := sweep.AxisNamed(v.Axis)
		value, isNumber := number(v.Value)
		if axis.Load && isNumber && out.Axis == "" {
			out.Load, out.Axis = value, v.Axis
			if axis.Setting != "" {
				out.Axis = axis.Setting
			}
			continue
		}
		rest = append(rest, v.Path+"="+v.Label)
		if isNumber && inputLength(v.Path) && out.ISL == 0 {
			out.ISL = value
			continue
		}
		apart = append(apart, v.Path+"="+v.Label)
	}
	out.Group, out.Rest = strings.Join(rest, "\x00"), strings.Join(apart, "\x00")
	for _, p := range phases {
		if p.Kind != "warmup" {
			out.Rate, out.requests, out.timed = p.Rate, p.Requests, p.Duration != nil
			switch {
			case p.Concurrency > 0:
				out.flag, out.at = "concurrency", float64(p.Concurrency)
			case p.Rate > 0:
				out.flag, out.at = "request-rate", p.Rate
			}
			break
		}
	}
	return out
}

// inputLength reports whether a setting is the mean length of prompts.
func inputLength(path string) bool {
	path = strings.TrimSuffix(path, ".mean")
	return path == "isl" || strings.HasSuffix(path, ".isl")
}

func number(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case int:
		return float64(x), true
	case int64:
		return float64(x), true
	}
	return math.NaN(), false
}

// read takes the tables of a directory.
func (e *Evidence) read(dir string) error {
	among := func(names ...string) func(string) bool {
		return func(column string) bool { return slices.Contains(names, column) }
	}
	_, err := sinks.EachTable(dir, "metrics", among("cell_index", "trial", "level", "part", "span", "metric", "stat",
		"value", "n"), func(t *sinks.TableRows) error {
		texts := func(name string, i int) string { return at(t.Texts[name], i, "") }
		floats := func(name string, i int) float64 { return at(t.Floats[name], i, math.NaN()) }
		for i := range t.N {
			if texts("level", i) != "run" || wanted[texts("metric", i)] == nil {
				continue
			}
			row := sinks.MetricRow{
				Place: sinks.Place{Cell: int(floats("cell_index", i)), Trial: int(floats("trial", i))}, Level: "run",
				Part: texts("part", i), Window: texts("span", i),
				Metric: texts("metric", i), Stat: texts("stat", i), Value: floats("value", i),
			}
			if n := floats("n", i); !math.IsNaN(n) {
				row.N = int64(n)
			}
			e.Metric(&row)
		}
		return nil
	})
	if err != nil {
		return err
	}
	_, err = sinks.EachTable(dir, "checks", among("cell_index", "check", "severity", "detail"),
		func(t *sinks.TableRows) error {
			for i := range t.N {
				row := sinks.CheckRow{
					Place: sinks.Place{Cell: sinks.All}, Check: at(t.Texts["check"], i, ""),
					Severity: at(t.Texts["severity"], i, ""), Detail: at(t.Texts["detail"], i, ""),
				}
				if cell := at(t.Floats["cell_index"], i, math.NaN()); !math.IsNaN(cell) {
					row.Place.Cell = int(cell)
				}
				e.Check(&row)
			}
			return nil
		})
	return err
}

func at[T any](of []T, i int, none T) T {
	if i < len(of) {
		return of[i]
	}
	return none
}
