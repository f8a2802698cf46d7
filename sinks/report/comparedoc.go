package report

import (
	"encoding/json"
	"math"
	"os"

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
	Unlike    []unlikeDoc  `json:"unlike,omitempty"` // by the receipts of both
}

type compareRow struct {
	Cell      string   `json:"cell"`
	Metric    string   `json:"metric"`
	Stat      string   `json:"stat"`
	Unit      string   `json:"unit"`
	Window    string   `json:"window"`
	Primary   bool     `json:"primary"`
	Baseline  *float64 `json:"baseline,omitempty"` // absent where there is none, or it is infinite
	Candidate *float64 `json:"candidate,omitempty"`
	Change    *float64 `json:"change,omitempty"` // candidate/baseline − 1
	Low       *float64 `json:"low,omitempty"`
	High      *float64 `json:"high,omitempty"`
	Level     float64  `json:"level"`
	EqualLow  *float64 `json:"equal_low,omitempty"` // of the interval at 0.9, which decides EQUIVALENT and NOT WORSE
	EqualHigh *float64 `json:"equal_high,omitempty"`
	P         *float64 `json:"p,omitempty"`
	Share     bool     `json:"share,omitempty"` // margin, detectable, must_detect are parts of the whole: 0.01 is a point
	Margin    float64  `json:"margin"`
	Outcome   string   `json:"outcome"`
	Beyond    bool     `json:"beyond_margin"`
	Harmless  bool     `json:"harm_ruled_out"`
	N         int      `json:"n"`
	// of a percentile in a run, the fewest of any, and how many independent ones they are worth
	Values     float64  `json:"values,omitempty"`
	Worth      float64  `json:"values_worth,omitempty"`
	Detectable *float64 `json:"detectable,omitempty"`
	MustDetect float64  `json:"must_detect,omitempty"`
	// how many would show that nothing changed, if nothing did
	TrialsLow   int    `json:"trials_if_equal_from,omitempty"`
	TrialsHigh  int    `json:"trials_if_equal_to,omitempty"`
	Note        string `json:"note,omitempty"`
	Undecidable bool   `json:"undecidable,omitempty"` // more trials do not decide it
	Whatever    bool   `json:"whatever,omitempty"`    // decided, wherever the figures in doubt may lie
	Check       string `json:"check,omitempty"`       // that puts its figures in doubt
	// what makes it a comparison of two workloads, which was asked for all the same
	NotTheSame []string `json:"not_the_same,omitempty"`
}

// Doc is the comparison as data: what JSON cannot hold is absent.
func (c Comparison) Doc() any {
	d := compareDoc{
		Baseline: c.Baseline, Candidate: c.Candidate, Outcome: string(c.Outcome()),
		Headline: c.Headline(), ExitCode: int(c.Exit()), Paired: c.Paired,
		Trials: c.Trials, Compared: c.Compared, StampsA: c.Stamps[0], StampsB: c.Stamps[1],
		OnlyA: c.OnlyBaseline, OnlyB: c.OnlyCandidate, Unlike: c.unlikeDocs(),
	}
	for _, r := range c.Rows {
		d.Rows = append(d.Rows, c.describeRow(r))
	}
	for _, r := range c.Together {
		d.Together = append(d.Together, c.describeRow(r))
	}
	return d
}

func (c Comparison) describeRow(r decide.Row) compareRow {
	return compareRow{
		NotTheSame: c.fatal(r.Cell),
		Cell:       r.Cell, Metric: r.Key.Tag, Stat: r.Key.Stat, Unit: r.Unit, Window: r.Window, Primary: r.Primary,
		Baseline: metrics.OrNil(r.Base), Candidate: metrics.OrNil(r.Candidate), Change: metrics.OrNil(r.Change),
		Low: metrics.OrNil(r.Low), High: metrics.OrNil(r.High),
		EqualLow: metrics.OrNil(r.EqualLow), EqualHigh: metrics.OrNil(r.EqualHigh),
		Level: r.Level, P: metrics.OrNil(r.P), Share: r.Share(), Margin: r.Margin,
		Outcome: string(r.Outcome), Beyond: r.BeyondMargin,
		Harmless: r.Harmless, N: r.N, Values: r.Count, Worth: r.Effective, Detectable: metrics.OrNil(r.Detectable),
		MustDetect: r.MustDetect, TrialsLow: r.Trials.Least, TrialsHigh: r.Trials.Most, Note: r.Note,
		Undecidable: r.Undecidable, Check: r.Check, Whatever: r.Whatever,
	}
}

// ReadComparisons gives the comparisons of a report as data, summary.json, with what a
// page draws of them.
func ReadComparisons(path string) (out []Comparison, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var doc struct{ Comparisons []compareDoc }
	if err := json.Unmarshal(b, &doc); err != nil {
		return nil, err
	}
	for _, c := range doc.Comparisons {
		of := &decide.Comparison{
			Baseline: c.Baseline, Candidate: c.Candidate, Paired: c.Paired, Trials: c.Trials,
			Compared: c.Compared,
		}
		for _, r := range c.Rows {
			of.Rows = append(of.Rows, r.row())
		}
		out = append(out, Comparison{Comparison: of})
	}
	return out, nil
}

// row is what describeRow described, without what follows from the catalogue of metrics
// alone for one that is not in it.
func (r *compareRow) row() decide.Row {
	out := decide.Row{
		Cell: r.Cell, Key: decide.Key{Tag: r.Metric, Stat: r.Stat}, Header: r.Metric, Unit: r.Unit, Window: r.Window,
		Primary: r.Primary,
		Base:    orNaN(r.Baseline), Candidate: orNaN(r.Candidate), Change: orNaN(r.Change), Low: orNaN(r.Low),
		High: orNaN(r.High), EqualLow: orNaN(r.EqualLow), EqualHigh: orNaN(r.EqualHigh),
		Level: r.Level, P: orNaN(r.P), Margin: r.Margin,
		Outcome: decide.Verdict(r.Outcome), BeyondMargin: r.Beyond, Harmless: r.Harmless, N: r.N, Count: r.Values,
		Effective: r.Worth, Detectable: orNaN(r.Detectable), MustDetect: r.MustDetect, Note: r.Note,
		Undecidable: r.Undecidable, Check: r.Check, Whatever: r.Whatever,
	}
	if m, ok := metrics.Lookup(r.Metric); ok {
		out.Header, out.LargerIsBetter = m.Header, m.LargerIsBetter
	}
	return out
}

func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
