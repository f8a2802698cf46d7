package runner

import (
	"time"

	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/scale"
	"aiperf.dev/aiperf/loadgen/stable"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/runner/verdict"
)

// RunReport is run.json: all about one execution of a cell that is not in its
// records. With the records it is enough to rebuild every table.
type RunReport struct {
	Schema    string        `json:"schema"` // aiperf.run/1
	Run       string        `json:"run"`
	Cell      string        `json:"cell"`
	Label     string        `json:"label"`
	Short     string        `json:"short,omitempty"` // the cell as a table calls it
	Trial     int           `json:"trial"`
	Attempt   int           `json:"attempt"`
	Seed      int64         `json:"seed"`
	Started   time.Time     `json:"started"` // T0 of the records
	Ended     time.Time     `json:"ended"`
	Benchmark string        `json:"benchmark_id"`
	Phases    []PhaseReport `json:"phases"`
	Host      HostReport    `json:"host"`
	// who sent it, where several processes did: their hosts, clocks and shares
	Workers []onerun.Sender `json:"workers,omitempty"`
	Dataset string          `json:"dataset_sha256"`
	// where its data came from, what was reached of what was asked for
	DataNotes []string        `json:"dataset_notes,omitempty"`
	Fidelity  *FidelityReport `json:"replay_fidelity,omitempty"` // of recorded load
	Swaps     grade.Swaps     `json:"swapped_answers,omitzero"`  // to questions with known answers
	// share of the input that a prefix cache which forgets nothing would know, each
	// conversation of the data played once
	PrefixHit   *float64          `json:"prefix_hit_rate,omitempty"`
	Tokenizer   string            `json:"tokenizer"`
	Fingerprint string            `json:"tokenizer_sha256,omitempty"` // tokenizer.Fingerprint; of one that can be asked here
	Stamps      string            `json:"stamps"`                     // kernel, application
	Findings    []verdict.Finding `json:"findings"`
	Verdict     verdict.Verdict   `json:"verdict"`
	// how far numbers in doubt may be off, where that is known, by metric and statistic
	Ranges   validity.Ranges `json:"ranges,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Bounds   []verdict.Bound `json:"bounds,omitempty"` // percentiles that are only bounded
	// percentiles between two bounds, because requests were cut off
	Censored []CensoredBound `json:"censored,omitempty"`
	Lateness *float64        `json:"dispatch_lateness_p99_ms,omitempty"`
	// requests that waited at the end beyond what the answers explain / all, of an open loop
	Backlog    *float64 `json:"backlog,omitempty"`
	BacklogMax *float64 `json:"backlog_limit,omitempty"` // the share above which the server did not keep up
	// something speaks of a queue: no interval within this run can be relied upon
	Queued bool `json:"queued,omitempty"`
	// ln(median latency of the second half / of the first)
	HalfShift *float64          `json:"half_shift,omitempty"`
	Notices   []verdict.Notice  `json:"notices,omitempty"`   // what a reader should know that is no doubt
	Identity  *verdict.Identity `json:"identity,omitempty"`  // what the server said it is
	Cancelled string            `json:"cancelled,omitempty"` // why the run ended early
	Aborted   string            `json:"aborted,omitempty"`   // the server died under the run: how that was seen
	// records that could not be written: how many, and why
	Lost      string               `json:"records_lost,omitempty"`
	AllFailed bool                 `json:"all_failed,omitempty"`
	Errors    []verdict.ErrorCount `json:"errors,omitempty"` // the most frequent, at most ten

	// how many failures come together, see stats.Together, 0 where nothing failed; and the design effect on the share
	// of good requests, 0 without limits
	FailedEffect float64 `json:"failed_effect,omitempty"`
	GoodEffect   float64 `json:"good_effect,omitempty"`

	SLOMissed  map[string]int64 `json:"slo_missed,omitempty"`         // by metric: successes that missed its limit
	SLOSeveral int64            `json:"slo_missed_several,omitempty"` // those that missed more than one limit

	// Pages are families of servers' pages of metrics that no run before it had told of, by
	// their source.
	Pages map[string][]telemetry.Family `json:"server_pages,omitempty"`

	// Figures are those of the whole span that the table cells has, by name, for those
	// who watch; the tables have all.
	Figures map[string]float64 `json:"figures,omitempty"`

	// Told are the figures that plug-ins made of the requests.
	Told []ToldFigure `json:"plugin_metrics,omitempty"`

	talks  bool  // its conversations have several turns, or start others
	system int64 // tokens of the system prompt that was asked for

	records string // SHA-256 of the run's records, where this process has read them
	servers []serverFigures
	network *metrics.Stat  // the round trip; nil where it is not known
	energy  []windowEnergy // of GPUs; nil where none was read
}

// PhaseReport is what one phase did; times in ns since Started.
type PhaseReport struct {
	Name   string `json:"name"`
	Warmup bool   `json:"warmup"`
	Start  int64  `json:"start_ns"`
	End    int64  `json:"end_ns"`
	// when the last request was over that was not cut off; absent where there is none
	Answered    *int64           `json:"answered_ns,omitempty"`
	Issued      int64            `json:"issued"`
	OK          int64            `json:"ok"`
	Failed      int64            `json:"failed"`
	Cancelled   int64            `json:"cancelled"`        // as the experiment asked
	Cut         int64            `json:"cut,omitempty"`    // cut off by the end of the phase
	Unsent      int64            `json:"unsent,omitempty"` // due and never sent
	Skipped     map[string]int64 `json:"skipped,omitempty"`
	Stop        string           `json:"stop"`
	Target      int              `json:"target,omitempty"`
	Rate        float64          `json:"rate,omitempty"`
	Open        bool             `json:"open_loop,omitempty"` // a clock says when requests go
	SteadyStart *int64           `json:"steady_start_ns,omitempty"`
	SteadyEnd   *int64           `json:"steady_end_ns,omitempty"`
	MeanFlight  *float64         `json:"mean_in_flight,omitempty"`
	HeldShare   *float64         `json:"concurrency_held,omitempty"`
	// Scale is what a phase decided that raises its own load; absent for any other.
	Scale *scale.Report `json:"adaptive_scale,omitempty"`
	// Stability is what a phase saw that ends by its own windows; absent for any other.
	Stability *stable.Report `json:"stability,omitempty"`
	// Branches are the sessions that others started; absent where none can.
	Branches *record.Branches `json:"branches,omitempty"`
}

// CensoredBound is a percentile of a run in which requests were cut off, in ms:
// Plain leaves them out, Low counts each with the age it had, High as never
// answered. High is absent where that is endless.
type CensoredBound struct {
	Metric string   `json:"metric"`
	Stat   string   `json:"stat"`
	Plain  float64  `json:"plain"`
	Low    float64  `json:"low"`
	High   *float64 `json:"high,omitempty"`
}

// HostReport is telemetry.Host without what could not be measured.
type HostReport struct {
	WallSeconds float64  `json:"wall_seconds"`
	Cores       int      `json:"cores"`
	CPUSeconds  *float64 `json:"cpu_seconds,omitempty"`
	CPUWorst    *float64 `json:"cpu_worst_second,omitempty"`
	SchedP99    *float64 `json:"sched_p99_ms,omitempty"`
	GCLongest   *float64 `json:"gc_longest_ms,omitempty"`
	HiccupP999  *float64 `json:"hiccup_p999_ms,omitempty"`
	HiccupMax   *float64 `json:"hiccup_longest_ms,omitempty"`
	HiccupLost  *float64 `json:"hiccup_lost,omitempty"`
	Throttled   *float64 `json:"throttled,omitempty"`
	Steal       *float64 `json:"steal,omitempty"`
	RunDelay    *float64 `json:"run_delay,omitempty"`
	WallJump    *float64 `json:"wall_jump_ms,omitempty"`
	Clock       string   `json:"clock_source,omitempty"`
}

func reportHost(h telemetry.Host) HostReport {
	return HostReport{
		WallSeconds: h.Wall.Seconds(), Cores: h.Cores, CPUSeconds: metrics.OrNil(h.CPUSeconds),
		CPUWorst: metrics.OrNil(h.CPUWorst),
		SchedP99: metrics.OrNil(h.SchedP99), GCLongest: metrics.OrNil(h.GCLongest),
		HiccupP999: metrics.OrNil(h.Hiccup.P999), HiccupMax: metrics.OrNil(h.Hiccup.Longest),
		HiccupLost: metrics.OrNil(h.Hiccup.Lost), Throttled: metrics.OrNil(h.Throttled), Steal: metrics.OrNil(h.Steal),
		RunDelay: metrics.OrNil(h.RunDelay), WallJump: metrics.OrNil(h.WallJump), Clock: h.Clock,
	}
}

func reportPhase(p loadgen.PhaseResult) PhaseReport {
	r := PhaseReport{
		Name: p.Name, Warmup: p.Warmup, Start: p.Start, End: p.End, Issued: p.Issued, OK: p.OK, Failed: p.Failed,
		Cancelled: p.CancelledCount, Cut: p.Cut, Unsent: p.Unsent, Skipped: p.Skipped, Stop: p.Stop, Target: p.Target,
		Rate: p.Rate,
		Open: !p.Closed, Scale: p.Scale, Stability: p.Stability, Branches: p.Branches,
		MeanFlight: metrics.OrNil(p.Gauge.Mean), HeldShare: metrics.OrNil(p.Gauge.HeldShare),
	}
	if p.Answered != record.None {
		r.Answered = &p.Answered
	}
	if g := p.Gauge; g.SteadyStart != record.None && g.SteadyEnd > g.SteadyStart {
		r.SteadyStart, r.SteadyEnd = &g.SteadyStart, &g.SteadyEnd
	}
	return r
}

// gaveUp tells whether the run ended itself because too many requests failed, or
// for want of a connection.
func (r *RunReport) gaveUp() bool {
	return r.Cancelled != "" && r.Cancelled != loadgen.Interrupted
}

// Broken is why the run is no measurement of its server although it began as one:
// it gave up, or the server died under it; "" when it is one.
func (r *RunReport) Broken() string {
	if r.gaveUp() {
		return r.Cancelled
	}
	return r.Aborted
}

// window is where the profiling phases of the run begin and end, which a request that
// was cut off does not stretch; ok is false when there was none.
func (r *RunReport) window() (start, end int64, ok bool) {
	for _, p := range r.Phases {
		if p.Warmup {
			continue
		}
		if !ok || p.Start < start {
			start = p.Start
		}
		last := p.End
		if p.Answered != nil {
			last = *p.Answered
		}
		end, ok = max(end, last), true
	}
	return start, end, ok
}

// steady is the run's steady window, when there is exactly one profiling phase
// and it has one: windows of several phases cannot be joined.
func (r *RunReport) steady() (start, end int64, ok bool) {
	var only *PhaseReport
	for i := range r.Phases {
		if p := &r.Phases[i]; !p.Warmup {
			if only != nil {
				return 0, 0, false
			}
			only = p
		}
	}
	if only == nil || only.SteadyStart == nil {
		return 0, 0, false
	}
	return *only.SteadyStart, *only.SteadyEnd, true
}

// counts are how the requests of the phase ended.
func (p *PhaseReport) counts() record.Counts {
	return record.Counts{OK: p.OK, Failed: p.Failed, Cut: p.Cut, Cancelled: p.Cancelled, Unsent: p.Unsent}
}

// Counts are how the requests of the measured phases ended.
func (r *RunReport) Counts() (n record.Counts) {
	for i := range r.Phases {
		if p := &r.Phases[i]; !p.Warmup {
			n = n.Plus(p.counts())
		}
	}
	return n
}
