package aiperf

import (
	"encoding/json"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/scale"
)

// RunInfo is what AIPerf's files say about a run besides its numbers.
type RunInfo struct {
	Version     string // aiperf_version
	BenchmarkID string
	SweepID     string // "" for a plain single run, which then says less about itself

	Seed            int64
	Trial           int    // 0-based
	RunLabel        string // run_0001
	VariationLabel  string // base, phases.profiling.concurrency=4
	VariationIndex  int
	VariationValues []Parameter
	CLICommand      string // secrets masked

	Config    InputConfig     // the resolved body, secrets masked
	Variables json.RawMessage `json:",omitempty"` // of the experiment; nil means none
	GPUs      bool            // GPU telemetry is not switched off: the files say what there is
	gpus      *gpuSet         // nil: nobody was asked, or not yet
	scores    scores          // of questions with known answers

	T0               time.Time // wall-clock moment of the records' zero
	Start, End       time.Time // the profiling window: phase start, last request complete
	WasCancelled     bool
	IncompleteReason string // "" when complete
	Phases           []PhaseName
	// Branches are those of the profiling phases together, or of the only phase
	// that the files are about; nil where no session can start another.
	Branches *record.Branches
	Warmup   *metrics.Summary `json:"-"` // nil without a warmup phase
}

// PhaseName is a phase of the run, in order. Start and End are ns since T0.
type PhaseName struct {
	Name       string
	Warmup     bool
	Start, End int64
	Cancelled  bool // it was ended before its time
	// Branches are the sessions that others started; nil where none can.
	Branches *record.Branches
	// Scale is what was decided in a phase that raises its own load; nil in any other.
	Scale *scale.Report
}

// Parameter is a swept path and a cell's value on it.
type Parameter struct {
	Name  string
	Value Plain
}

func parameters(ps []Parameter) object {
	o := object{}
	for _, p := range ps {
		o = o.with(p.Name, p.Value.V)
	}
	return o
}

// localTime is a moment as AIPerf writes it: local, without zone, in µs.
func localTime(t time.Time) string { return t.Local().Format("2006-01-02T15:04:05.000000") }

func (i *RunInfo) complete() bool { return !i.WasCancelled && i.IncompleteReason == "" }

func (i *RunInfo) incompleteReason() string {
	if i.IncompleteReason == "" && i.WasCancelled {
		return "Run cancelled before all records were processed."
	}
	return i.IncompleteReason
}

// telemetry is what the summaries say of GPUs; of none where nobody answered.
func (i *RunInfo) telemetry() *gpuSet {
	if i.gpus == nil {
		return &gpuSet{RunInfo: i}
	}
	return i.gpus
}

// runInfo is the member run_info.
func (i *RunInfo) runInfo() object {
	o := object{}.with("benchmark_id", i.BenchmarkID)
	if i.SweepID != "" {
		o = o.with("sweep_id", i.SweepID)
	}
	o = o.with("random_seed", i.Seed).with("trial", i.Trial)
	if i.SweepID != "" {
		o = o.with("run_label", i.RunLabel).with("variation_label", i.VariationLabel).
			with("variation_index", i.VariationIndex).with("variation_values", parameters(i.VariationValues))
	}
	return o.with("cli_command", i.CLICommand)
}
