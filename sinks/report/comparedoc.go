package report

import (
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sweep/decide"
)

// compareDoc is a comparison as data.
type compareDoc struct {
	Baseline  string       `json:"baseline"`
	Candidate string       `json:"candidate"`
	Outcome   string       `json:"outcome"`
	Headline  string       `json:"headline"`
	ExitCode  int          `json:"exit_code"`
	Paired    bool         `json:"paired"`
	Trials    int          `json:"trials"`
	Compared  int          `json:"primary_comparisons"`
	Rows      []compareRow `json:"rows"`
	Together  []compareRow `json:"all_cells,omitempty"`
	StampsA   []string     `json:"baseline_stamps,omitempty"` // kernel, application; both where they differ
	StampsB   []string     `json:"candidate_stamps,omitempty"`
	OnlyA     []string     `json:"only_baseline,omitempty"`
	OnlyB     []string     `json:"only_candidate,omitempty"`
}

type compareRow struct {
	Cell       string   `json:"cell"`
	Metric     string   `json:"metric"`
	Stat       string   `json:"stat"`
	Unit       string   `json:"unit"`
	Window     string   `json:"window"`
	Primary    bool     `json:"primary"`
	Baseline   *float64 `json:"baseline,omitempty"` // absent where there is none, or it is infinite
	Candidate  *float64 `json:"candidate,omitempty"`
	Change     *float64 `json:"change,omitempty"` // candidate/baseline − 1
	Low        *float64 `json:"low,omitempty"`
	High       *float64 `json:"high,omitempty"`
	Level      float64  `json:"level"`
	P          *float64 `json:"p,omitempty"`
	Margin     float64  `json:"margin"`
	Outcome    string   `json:"outcome"`
	Beyond     bool     `json:"beyond_margin"`
	Harmless   bool     `json:"harm_ruled_out"`
	N          int      `json:"n"`
	Detectable *float64 `json:"detectable,omitempty"`
	MustDetect float64  `json:"must_detect,omitempty"`
	TrialsLow  int      `json:"trials_if_equal_from,omitempty"` // how many would show that nothing changed, if nothing did
	TrialsHigh int      `json:"trials_if_equal_to,omitempty"`
	Note       string   `json:"note,omitempty"`
}

// Doc is the comparison as data: what JSON cannot hold is absent.
func (c Comparison) Doc() any {
	d := compareDoc{
		Baseline: c.Baseline, Candidate: c.Candidate, Outcome: string(c.Outcome()), Headline: c.Headline(), ExitCode: int(c.Exit()), Paired: c.Paired,
		Trials: c.Trials, Compared: c.Compared, StampsA: c.Stamps[0], StampsB: c.Stamps[1], OnlyA: c.OnlyBaseline, OnlyB: c.OnlyCandidate,
	}
	for _, r := range c.Rows {
		d.Rows = append(d.Rows, describeRow(r))
	}
	for _, r := range c.Together {
		d.Together = append(d.Together, describeRow(r))
	}
	return d
}

func describeRow(r decide.Row) compareRow {
	return compareRow{
		Cell: r.Cell, Metric: r.Key.Tag, Stat: r.Key.Stat, Unit: r.Unit, Window: r.Window, Primary: r.Primary,
		Baseline: metrics.OrNil(r.Base), Candidate: metrics.OrNil(r.Candidate), Change: metrics.OrNil(r.Change), Low: metrics.OrNil(r.Low), High: metrics.OrNil(r.High),
		Level: r.Level, P: metrics.OrNil(r.P), Margin: r.Margin, Outcome: string(r.Outcome), Beyond: r.BeyondMargin,
		Harmless: r.Harmless, N: r.N, Detectable: metrics.OrNil(r.Detectable), MustDetect: r.MustDetect, TrialsLow: r.Trials.Least, TrialsHigh: r.Trials.Most, Note: r.Note,
	}
}
