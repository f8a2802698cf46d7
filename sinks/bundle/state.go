package bundle

import (
	"math"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/redact"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/internal/seal"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/receipt"
)

// state is what the files of a directory amount to. Who checks a bundle makes it again of what
// it unpacked: the two must be the same.
func state(dir string) (*seal.Statement, error) {
	m, err := resultdir.ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	receipts, err := receipt.Read(dir)
	if err != nil {
		return nil, err
	}
	lock, err := resultdir.ReadLock(dir)
	if err != nil {
		return nil, err
	}
	st := &seal.Statement{Predicate: seal.Predicate{
		Experiment: m.Experiment, PlanHash: m.PlanHash, Verdict: m.Verdict.String(), Interrupted: m.Interrupted,
		Measured: m.Finished, MeasuredBy: m.Tool, Receipt: receipts.SHA256,
		Runs: []seal.Run{}, Cells: []seal.Cell{}, Inputs: []seal.Input{}, Redacted: []seal.Redaction{},
	}}
	p := &st.Predicate
	if err := stateRuns(p, dir, receipts); err != nil {
		return nil, err
	}
	if err := stateCells(p, dir, lock); err != nil {
		return nil, err
	}
	if err := stateInputs(p, dir); err != nil {
		return nil, err
	}
	var done []redact.Done
	if err := resultdir.ReadJSON(filepath.Join(dir, RedactionName), &done); err != nil {
		return nil, err
	}
	for _, d := range done {
		p.Redacted = append(p.Redacted, seal.Redaction{What: d.What, Words: d.Words, By: d.By})
	}
	return st, nil
}

func stateRuns(p *seal.Predicate, dir string, receipts *receipt.Document) error {
	rows, err := sinks.ReadTable(dir, "runs", among("run_id", "verdict"))
	if err != nil {
		return err
	}
	verdicts := map[string]string{}
	for i := range rows.N {
		verdicts[rows.Texts["run_id"][i]] = rows.Texts["verdict"][i]
	}
	for _, r := range receipts.Runs {
		p.Runs = append(p.Runs, seal.Run{
			Run: r.Run, Cell: r.Cell, Trial: r.Trial, Verdict: verdicts[r.Run], Receipt: r.SHA256,
		})
	}
	return nil
}

func stateCells(p *seal.Predicate, dir string, lock resultdir.Lock) error {
	rows, err := sinks.ReadTable(dir, "cells", nil)
	if err != nil {
		return err
	}
	number := func(column string, i int) *float64 {
		if v := rows.Floats[column]; i < len(v) && !math.IsNaN(v[i]) && !math.IsInf(v[i], 0) {
			return &v[i]
		}
		return nil
	}
	for i := range rows.N {
		c := seal.Cell{Figures: map[string]seal.Figure{}}
		if at := number("cell_index", i); at != nil && *at >= 0 && int(*at) < len(lock.Cells) {
			is := lock.Cells[int(*at)]
			if c.Cell = is.Short; c.Cell == "" {
				c.Cell = is.Label
			}
		}
		if n := number("trials", i); n != nil {
			c.Trials = int(*n)
		}
		if v := rows.Texts["verdict"]; i < len(v) {
			c.Verdict = v[i]
		}
		for _, f := range sinks.CellFigures() {
			if v := number(f.Name, i); v != nil {
				c.Figures[f.Name] = seal.Figure{Value: *v, Low: number(f.Name+"_low", i), High: number(f.Name+"_high", i)}
			}
		}
		p.Cells = append(p.Cells, c)
	}
	return nil
}

// stateInputs lists what the requests were made of: files, the data of each run, tokenizers.
func stateInputs(p *seal.Predicate, dir string) error {
	for name, sum := range resultdir.SourcesOf(dir) {
		p.Inputs = append(p.Inputs, seal.Input{What: "file", Name: name, SHA256: sum})
	}
	begun, err := resultdir.Begun(dir)
	if err != nil {
		return err
	}
	reports := resultdir.ReportsOf(dir)
	for _, run := range begun {
		var rep struct {
			Dataset     string `json:"dataset_sha256"`
			Tokenizer   string `json:"tokenizer"`
			Fingerprint string `json:"tokenizer_sha256"`
		}
		if err := reports.Read(run.Run, run.Dir, &rep); err != nil {
			continue // the run gave nothing
		}
		p.Inputs = append(p.Inputs, seal.Input{What: "data", Name: run.Run, SHA256: rep.Dataset})
		by := seal.Input{What: "tokenizer", Name: rep.Tokenizer, SHA256: rep.Fingerprint}
		if !slices.Contains(p.Inputs, by) {
			p.Inputs = append(p.Inputs, by)
		}
	}
	slices.SortFunc(p.Inputs, func(a, b seal.Input) int {
		return strings.Compare(a.What+"\x00"+a.Name, b.What+"\x00"+b.Name)
	})
	return nil
}

func among(names ...string) func(string) bool {
	return func(column string) bool { return slices.Contains(names, column) }
}

// Data are the digests of what the runs of a directory sent, by run.
func Data(dir string) map[string]string {
	var p seal.Predicate
	out := map[string]string{}
	if stateInputs(&p, dir) != nil {
		return out
	}
	for _, in := range p.Inputs {
		if in.What == "data" {
			out[in.Name] = in.SHA256
		}
	}
	return out
}
