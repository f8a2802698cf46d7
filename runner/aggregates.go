package runner

import (
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks/aiperf"
	"aiperf.dev/aiperf/sweep"
)

// overRuns is what AIPerf's files over trials and cells say, where AIPerf
// puts them: aggregate/ for several runs of one cell, aggregate/<cell>/ (or
// <cell>/aggregate/ when trials are independent) for the cells of a sweep, and
// sweep_aggregate/ beside them, or in aggregate/ when trials of all cells take
// turns. A cell of one run has its aggregate too, as in
// AIPerf; a single run has none.
func (r *runner) overRuns() (o aiperf.Over, err error) {
	swept := len(r.plan.Axes) > 0 || len(r.plan.Cells) > 1
	if !swept && r.plan.Trials < 2 {
		return o, nil
	}
	for i := range r.result.Results.Cells {
		c := r.result.Results.Cells[i].Cell
		f := aiperf.CellFiles{Dir: "aggregate", Aggregate: r.aggregate(c, swept)}
		if len(f.Runs) == 0 {
			continue
		}
		switch {
		case swept && r.plan.Order == "independent":
			f.Dir = filepath.Join(c.DirName, "aggregate")
		case swept:
			f.Dir = filepath.Join("aggregate", c.DirName)
		}
		if f.Collate, f.Records, err = r.collated(c, swept); err != nil {
			return o, err
		}
		o.Cells = append(o.Cells, f)
	}
	if !swept {
		return o, nil
	}
	o.DesignDir, o.SweepDir = "sweep_aggregate", "sweep_aggregate"
	if r.plan.Design != nil {
		o.Design = samplingDesign(r.plan)
	}
	if r.plan.Trials > 1 && r.plan.Order != "independent" {
		o.SweepDir = filepath.Join("aggregate", "sweep_aggregate")
	}
	o.Sweep, o.History = r.sweepSummary(), r.history()
	return o, nil
}

// collated are the requests of c's trials that are brought together, as AIPerf does for one
// cell whose trials end when they agree. Without the runs' records there is
// nothing to bring together.
func (r *runner) collated(c *sweep.Cell, swept bool) (wanted bool, runs []aiperf.CollatedRun, err error) {
	artifacts := &c.Resolved.Benchmark.Artifacts
	if r.plan.MultiRun.Convergence == nil || swept || !contains(artifacts.Records, "jsonl") {
		return false, nil, nil
	}
	names, err := aiperf.ProfileNames(artifacts.Prefix)
	if err != nil {
		return false, nil, err
	}
	for i := range r.result.Outcomes {
		if o := &r.result.Outcomes[i]; o.Run.Cell == c && o.Err == "" && len(o.Summaries) > 0 {
			runs = append(runs, aiperf.CollatedRun{
				Label:   o.Run.Label,
				Records: filepath.Join(o.Run.Dir, names.Records),
			})
		}
	}
	return true, runs, nil
}

// samplingDesign is how the cells of p were drawn.
func samplingDesign(p *sweep.Plan) *aiperf.Design {
	d := &aiperf.Design{Type: p.Type, Samples: p.Design.Samples, Seed: p.BaseSeed}
	d.Scramble.V, d.Optimization.V = p.Kind().Drawn(p.Design)
	if p.Design.Seed != nil {
		d.Seed = *p.Design.Seed
	}
	for _, x := range p.Design.Dimensions {
		path := strings.TrimPrefix(x.Path, "benchmark.")
		d.Dimensions = append(d.Dimensions, aiperf.DesignDimension{
			Path: path, Lo: x.Lo, Hi: x.Hi, Log: x.Log,
			Int: x.Int, Choices: aiperf.Plains(x.Choices),
		})
	}
	for _, c := range p.Cells {
		row := make([]aiperf.Plain, len(d.Dimensions))
		for i, x := range d.Dimensions {
			row[i].V = c.Values[x.Path]
		}
		d.Points = append(d.Points, row)
	}
	return d
}

// aggregate is what the trials of c say together.
func (r *runner) aggregate(c *sweep.Cell, swept bool) aiperf.Aggregate {
	a := aiperf.Aggregate{
		Version: aiperfVersion, Level: r.result.Results.Level, Cooldown: r.plan.MultiRun.CooldownSeconds,
		Model: c.Resolved.Benchmark.Models.Items[0].Name,
	}
	if swept {
		a.VariationLabel, a.VariationValues, a.SweepMode = c.Label, parameters(c), r.plan.Order
	}
	for i := range r.result.Outcomes {
		o := &r.result.Outcomes[i]
		switch {
		case o.Run.Cell != c || o.Run.Sentinel > 0:
		case o.Err != "" || len(o.Summaries) == 0:
			a.Failed = append(a.Failed, aiperf.FailedRun{Label: o.Run.Label, Error: o.Err})
		default:
			a.Runs = append(a.Runs, aiperf.AggregateRun{Label: o.Run.Label, Dir: o.Run.Dir})
		}
	}
	return a
}

func (r *runner) sweepSummary() *aiperf.SweepSummary {
	s := &aiperf.SweepSummary{
		NumRuns: len(r.plan.Runs), Mode: r.plan.Order, Level: r.result.Results.Level,
		Trials: r.plan.Trials,
	}
	for _, x := range r.plan.Axes {
		s.Parameters = append(s.Parameters, aiperf.SweepParameter{
			Path:   strings.TrimPrefix(x.Path, "benchmark."),
			Values: aiperf.Plains(x.Values),
		})
	}
	if len(r.plan.Runs) == 0 { // a source made them up, and the cells
		s.NumRuns = len(r.result.Outcomes)
		for k := range s.Parameters {
			s.Parameters[k].Values = nil
			for _, c := range r.plan.Cells {
				if v := (aiperf.Plain{V: c.Point[k].Value}); !slices.Contains(s.Parameters[k].Values, v) {
					s.Parameters[k].Values = append(s.Parameters[k].Values, v)
				}
			}
		}
	}
	s.Recipe, s.Filters, s.Post = r.plan.RecipeName, r.plan.Filters, postProcess(r.plan.PostProcess)
	for _, c := range r.plan.Cells {
		a := r.aggregate(c, true)
		s.Failed = append(s.Failed, a.Failed...)
		s.Successful += len(a.Runs)
		if len(a.Runs) == 0 {
			continue
		}
		cell := aiperf.SweepCell{Point: parameters(c), Named: map[string]aiperf.Plain{}}
		if s.Post != nil {
			for name, v := range c.Values {
				cell.Named[name] = aiperf.Plain{V: v}
			}
		}
		for _, run := range a.Runs {
			cell.Dirs = append(cell.Dirs, run.Dir)
		}
		s.Cells = append(s.Cells, cell)
	}
	return s
}

// summaryOf is the summary of the run whose folder is dir.
func (r *runner) summaryOf(dir string) *metrics.Summary {
	for i := range r.result.Outcomes {
		if o := &r.result.Outcomes[i]; o.Run.Dir == dir && len(o.Summaries) > 0 {
			return &o.Summaries[0]
		}
	}
	return nil
}

// parameters are the values a cell has on the axes, by their paths.
func parameters(c *sweep.Cell) []aiperf.Parameter {
	var out []aiperf.Parameter
	for _, v := range c.Point {
		out = append(out, aiperf.Parameter{
			Name:  strings.TrimPrefix(v.Path, "benchmark."),
			Value: aiperf.Plain{V: v.Value},
		})
	}
	return out
}
