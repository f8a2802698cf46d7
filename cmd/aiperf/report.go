package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/sweep"
)

// report prints a result on stdout, as text or as one JSON document.
func (a *app) report(res *runner.Result, asJSON bool) error {
	if res.Finished != nil {
		return a.reportFinished(res, asJSON)
	}
	why := res.NothingMeasured()
	if why != nil {
		a.complain(why.Message, hintFor(why.Message))
		fmt.Fprintf(a.Err, "nothing was measured; what was tried is in %s/\n", res.Dir)
	}
	a.allFailed(res)
	switch {
	case asJSON:
		return a.writeDoc(describeResult(res))
	case why != nil:
		return nil
	}
	return res.Report().WriteConsole(a.Out)
}

// hintFor is what to try when no run of a plan could be measured.
func hintFor(message string) string {
	switch {
	case strings.Contains(message, "cannot reach"):
		return "is the server running there? try the command against the built-in one: --url mock:"
	case strings.Contains(message, "descriptor") || strings.Contains(message, "ports"):
		return "fewer connections at once (concurrency), or a higher limit (ulimit -n)"
	}
	return ""
}

// reportFinished says again what a finished directory holds.
func (a *app) reportFinished(res *runner.Result, asJSON bool) error {
	if asJSON {
		return a.writeDoc(res.Finished)
	}
	a.complain(res.Dir+": complete already, nothing was run", "")
	b, err := os.ReadFile(filepath.Join(res.Dir, "summary.md"))
	if err != nil {
		return err
	}
	_, err = a.Out.Write(b)
	return err
}

// resultDoc is --output json: the report as data.
type resultDoc struct {
	Experiment  string     `json:"experiment"`
	Dir         string     `json:"dir"`
	PlanHash    string     `json:"plan_hash"`
	Verdict     string     `json:"verdict"`
	ExitCode    int        `json:"exit_code"`
	Interrupted bool       `json:"interrupted"`
	Seconds     float64    `json:"seconds"`
	Sent        int64      `json:"sent"`
	Failed      int64      `json:"failed"`
	Checks      []checkDoc `json:"checks"`
	Cells       []cellDoc  `json:"cells"`
	Conclusions []string   `json:"conclusions,omitempty"`
}

type checkDoc struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"`
	Runs    int    `json:"runs"`
	Detail  string `json:"detail"`
	Try     string `json:"try,omitempty"`
}

type cellDoc struct {
	ID      string                         `json:"id"`
	Label   string                         `json:"label"`
	Point   map[string]any                 `json:"point"`
	Status  string                         `json:"status"`
	Trials  int                            `json:"trials"`
	Verdict string                         `json:"verdict,omitempty"`
	Pareto  *bool                          `json:"pareto,omitempty"` // absent where it was not judged
	Knee    bool                           `json:"knee"`
	BestFor []string                       `json:"best_for,omitempty"`
	Metrics map[string]map[string]estimate `json:"metrics"` // tag → statistic
	Gates   []gateDoc                      `json:"gates,omitempty"`
}

type estimate struct {
	Mean float64  `json:"mean"`
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	N    int      `json:"n"`
	Unit string   `json:"unit"`
}

type gateDoc struct {
	Gate string `json:"gate"`
	Held bool   `json:"held"`
	Text string `json:"text"`
}

func describeResult(res *runner.Result) resultDoc {
	r := res.Report()
	d := resultDoc{
		Experiment: res.Plan.Name, Dir: res.Dir, PlanHash: res.Plan.Hash, Verdict: r.Verdict, ExitCode: res.ExitCode(),
		Interrupted: res.Interrupted, Seconds: r.Elapsed.Seconds(), Sent: r.Sent, Failed: r.Failed, Checks: []checkDoc{},
	}
	for _, x := range r.Doubts {
		d.Checks = append(d.Checks, checkDoc{x.Check, x.Verdict, x.Runs, x.Detail, x.Try})
	}
	for i := range res.Results.Cells {
		d.Cells = append(d.Cells, describeCell(&res.Results.Cells[i]))
	}
	for _, b := range res.Results.Best {
		d.Conclusions = append(d.Conclusions, b.Sentence)
	}
	if u := res.Results.UnderSLO; u != nil {
		d.Conclusions = append(d.Conclusions, u.Sentence)
	}
	return d
}

func describeCell(c *sweep.CellResult) cellDoc {
	d := cellDoc{
		ID: c.Cell.ID, Label: c.Cell.Label, Point: map[string]any{}, Status: string(c.Status), Trials: c.Trials, Verdict: c.Verdict,
		Knee: c.Knee, BestFor: c.BestFor, Metrics: map[string]map[string]estimate{},
	}
	if c.FrontKnown {
		d.Pareto = &c.Pareto
	}
	for _, v := range c.Cell.Point {
		d.Point[v.Axis] = v.Natural()
	}
	for k, e := range c.Full {
		if math.IsNaN(e.Mean) || math.IsInf(e.Mean, 0) {
			continue
		}
		if d.Metrics[k.Tag] == nil {
			d.Metrics[k.Tag] = map[string]estimate{}
		}
		x := estimate{Mean: e.Mean, N: e.N, Unit: c.Info[k.Tag].Unit}
		if e.HasInterval() {
			x.Low, x.High = &e.Low, &e.High
		}
		d.Metrics[k.Tag][k.Stat] = x
	}
	for _, g := range c.Gates {
		d.Gates = append(d.Gates, gateDoc{g.Gate.Expr, g.Held, g.Text})
	}
	return d
}
