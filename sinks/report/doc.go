package report

import (
	"maps"
	"math"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/rules"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/sweep/decide"
)

// Doc is --output json: the report as data.
type Doc struct {
	Experiment  string           `json:"experiment"`
	Dir         string           `json:"dir"`
	PlanHash    string           `json:"plan_hash"`
	Verdict     validity.Verdict `json:"verdict"`
	ExitCode    diag.Code        `json:"exit_code"`
	Interrupted bool             `json:"interrupted"`
	Seconds     float64          `json:"seconds"`
	Sent        int64            `json:"sent"`
	Failed      int64            `json:"failed"`
	Cut         int64            `json:"cut,omitempty"`
	Cancelled   int64            `json:"cancelled,omitempty"`
	Unsent      int64            `json:"unsent,omitempty"`
	Checks      []checkDoc       `json:"checks"`
	Spoiled     []string         `json:"asked_for_and_invalid,omitempty"`
	Cells       []cellDoc        `json:"cells"`
	Conclusions []string         `json:"conclusions,omitempty"`
	Search      *searchDoc       `json:"search,omitempty"`
	Comparisons []any            `json:"comparisons,omitempty"`
	Rules       []rules.Judged   `json:"rules,omitempty"`
}

type checkDoc struct {
	Check   string           `json:"check"`
	Verdict validity.Verdict `json:"verdict"`
	Runs    int              `json:"runs"`
	Detail  string           `json:"detail"`
	Try     string           `json:"try,omitempty"`
}

type cellDoc struct {
	ID      string           `json:"id"`
	Label   string           `json:"label"`
	Point   map[string]any   `json:"point"`
	Status  string           `json:"status"`
	Trials  int              `json:"trials"`
	Verdict validity.Verdict `json:"verdict,omitempty"`
	// front, dominated, undecided; absent where it was not judged
	Front   string   `json:"front,omitempty"`
	Knee    bool     `json:"knee"`
	BestFor []string `json:"best_for,omitempty"`
	// of the metrics, as tables have it: steady where every run has one
	Window  string                         `json:"window"`
	Metrics map[string]map[string]interval `json:"metrics"` // tag → statistic
	Gates   []gateDoc                      `json:"gates,omitempty"`
}

type interval struct {
	Mean   float64  `json:"mean"` // geometric where the method is log_t, see metrics.method
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	N      int      `json:"n"`
	Unit   string   `json:"unit"`
	Method string   `json:"method,omitempty"`
}

type gateDoc struct {
	Gate  string `json:"gate"`
	Held  *bool  `json:"held,omitempty"` // absent where the number cannot be used
	State string `json:"state"`          // HELD, MISSED, UNDECIDED
	Text  string `json:"text"`
	Note  string `json:"note,omitempty"`
}

// Doc is r as data. code is what the program ends with.
func (r *Report) Doc(code diag.Code, interrupted bool) Doc {
	d := Doc{
		Experiment: r.Plan.Name, Dir: r.Dir, PlanHash: r.Plan.Hash, Verdict: r.Verdict, ExitCode: code,
		Interrupted: interrupted, Seconds: r.Elapsed.Seconds(), Sent: r.Requests.In(record.WasSent),
		Failed: r.Requests.Failed, Cut: r.Requests.Cut, Cancelled: r.Requests.Cancelled, Unsent: r.Requests.Unsent,
		Checks: []checkDoc{}, Spoiled: r.Spoiled,
	}
	for _, x := range r.Doubts {
		d.Checks = append(d.Checks, checkDoc{x.Check, x.Verdict, x.Runs, x.Said(), x.Try})
	}
	for i := range r.Results.Cells {
		d.Cells = append(d.Cells, describeCell(&r.Results.Cells[i]))
	}
	d.Conclusions, d.Search = r.Sentences(), r.searchDoc()
	for _, c := range r.Results.Comparisons {
		d.Comparisons = append(d.Comparisons, Comparison{Comparison: c}.Doc())
	}
	if r.Rules != nil {
		d.Rules = r.Rules.Brief()
	}
	return d
}

// Only leaves out the metrics of cells that keep does not want.
func (d Doc) Only(keep func(tag, stat string) bool) Doc {
	for _, c := range d.Cells {
		for tag, stats := range c.Metrics {
			maps.DeleteFunc(stats, func(stat string, _ interval) bool { return !keep(tag, stat) })
			if len(stats) == 0 {
				delete(c.Metrics, tag)
			}
		}
	}
	return d
}

func describeCell(c *decide.CellResult) cellDoc {
	d := cellDoc{
		ID: c.Cell.ID, Label: c.Cell.Label, Point: map[string]any{}, Status: string(c.Status), Trials: c.Trials,
		Verdict: c.Verdict,
		Front:   string(c.Front), Knee: c.Knee, BestFor: c.BestFor, Metrics: map[string]map[string]interval{},
	}
	for _, v := range c.Cell.Point {
		d.Point[v.Axis] = v.Natural()
	}
	d.Window = c.Headline().Window()
	for k, e := range c.Headline().All() {
		if math.IsNaN(e.Mean) || math.IsInf(e.Mean, 0) {
			continue
		}
		if d.Metrics[k.Tag] == nil {
			d.Metrics[k.Tag] = map[string]interval{}
		}
		x := interval{Mean: e.Mean, N: e.N, Unit: c.Info[k.Tag].Unit, Method: e.Method}
		if e.HasInterval() {
			x.Low, x.High = &e.Low, &e.High
		}
		d.Metrics[k.Tag][k.Stat] = x
	}
	for _, g := range c.Gates {
		x := gateDoc{Gate: g.Gate.Expr, State: string(g.State), Text: g.Text, Note: g.Note}
		if !g.Unusable {
			x.Held = &g.Held
		}
		d.Gates = append(d.Gates, x)
	}
	return d
}
