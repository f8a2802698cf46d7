package sinks

import (
	"math"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
)

// All stands for "not one": a row about every trial of a cell, or about the
// whole experiment.
const All = -1

// Place says what a row is about: a cell's index in the plan and a trial. The
// runner fills it; identity and axis columns follow from it.
type Place struct{ Cell, Trial int }

// requestRow is a record with what a table knows of it beside. Its times
// count from the experiment's T0.
type requestRow struct {
	record.Record
	start  int64 // unix ns
	steady bool
	chunks int64 // events with content
}

// keep sets what cannot be known later: when the request began, by a clock that
// the row is moved away from, and how many chunks there were. t0 is the run's T0 as
// unix ns; the record still counts from it.
func (r *requestRow) keep(t0 int64) {
	r.start = record.None
	for _, t := range []int64{r.Sent, r.Admitted, r.Intended} {
		if t != record.None {
			r.start = t0 + t
			break
		}
	}
	r.chunks = contents(&r.Record)
}

// contents counts the events with output.
func contents(r *record.Record) (n int64) {
	for i := range r.Chunks {
		if r.Chunks[i].IsContent() {
			n++
		}
	}
	return n
}

// keptLimits is whether the request kept all limits, of which missed is the first
// that it missed; record.None without limits, and where nobody can tell.
func keptLimits(r *requestRow, missed string) int64 {
	switch part := r.Part(); {
	case !r.SLOSet || part&record.Attempted == 0:
		return record.None
	case part == record.InCut && missed == "":
		return record.None
	default:
		return truth(part == record.InOK && missed == "")
	}
}

// shift moves every stamp by d ns.
func (r *requestRow) shift(d int64) {
	for _, t := range []*int64{
		&r.Intended, &r.Admitted, &r.Sent, &r.WriteEnd, &r.FirstByte, &r.FirstToken,
		&r.FirstOutput, &r.LastToken, &r.End, &r.CancelAsked,
	} {
		if *t != record.None {
			*t += d
		}
	}
}

// chunkRow is one event of a response.
type chunkRow struct {
	phase         string
	request       int64
	chunk         int64
	kind          string
	at            int64
	gap           float64 // since the content event before; NaN for the first and for what is not content
	bytes, tokens int64
	sameRead      bool
}

// appendChunks adds the rows of r's chunks, moved by d ns.
func appendChunks(dst []chunkRow, r *record.Record, d int64) []chunkRow {
	last := int64(record.None)
	each := int64(record.None) // tokens of an event that the server did not count
	if r.OSL > 0 && r.OSL == contents(r) {
		each = 1
	}
	for i, c := range r.Chunks {
		row := chunkRow{
			phase: r.Phase, request: r.RequestID, chunk: int64(i), kind: c.Kind.String(), at: c.At + d,
			gap: math.NaN(), bytes: int64(c.Bytes), tokens: int64(c.Tokens), sameRead: c.SameRead,
		}
		if c.Tokens == 0 {
			row.tokens = record.None
		}
		if c.IsContent() {
			if c.Tokens == 0 {
				row.tokens = each
			}
			if last != record.None {
				row.gap = float64(c.At-last) / 1e6
			}
			last = c.At
		}
		dst = append(dst, row)
	}
	return dst
}

// RunRow is a row of the runs table: one execution of a cell and trial. Times
// are unix ns (Started, Ended) or ns since the experiment's T0; record.None
// and NaN where unknown.
type RunRow struct {
	Place
	Started, Ended            int64
	Planned, Sent, OK, Failed int64
	Cancelled, Cut, Unsent    int64
	WindowStart, WindowEnd    int64
	SteadyStart, SteadyEnd    int64
	Seed                      int64
	ClientCPU                 float64 // share of the usable cores
	Verdict                   string
	Attempt                   int64
	Sentinel                  int64  // 1 to 3 of the sentinel's runs, record.None of trials
	Probe                     int64  // of a search, from 1; record.None without one
	Search, Decision          string // why the probe was made, and what its load showed then
	Path                      string // of its AIPerf files, relative to the result directory
	Replay                    ReplayRow
}

// ReplayRow is how close a replay came to its trace; NaN where nothing was
// replayed or nobody can know.
type ReplayRow struct{ Fidelity, LagP99, Dependencies, Input, Output, HitTrace, HitServer float64 }

// NoReplay is the row of a run that replays nothing.
func NoReplay() ReplayRow {
	nan := math.NaN()
	return ReplayRow{nan, nan, nan, nan, nan, nan, nan}
}

// CellRow is a row of the cells table. Pareto and Knee are 0, 1 or record.None.
type CellRow struct {
	Place
	Trials       int64
	Verdict      string
	Pareto, Knee int64
	BestFor      string
	Reason       string
	Decision     string   // of a search on the load
	CurveGood    float64  // the curve of a search at the load: the share of good requests
	CurveRate    float64  // and the requests per second; NaN where there is none
	N            int64    // requests that ended well, in all trials
	Figures      []Figure // in the order of CellFigures
}

// Figure is a number with its interval; NaN where there is none.
type Figure struct{ Value, Low, High float64 }

// CellFigure is a figure of the cells table: a statistic of a metric under a name that
// is short and says its unit.
type CellFigure struct{ Name, Tag, Stat, Unit, Doc string }

// CellFigures are the figures that people ask for.
func CellFigures() []CellFigure {
	return []CellFigure{
		{
			"output_tps", metrics.OutputTokenThroughput, "avg", "tokens/s",
			"output tokens per second, all requests together",
		},
		{"requests_per_s", metrics.RequestThroughput, "avg", "requests/s", "requests that ended well per second"},
		{"ttft_p50_ms", metrics.TimeToFirstToken, "p50", "ms", "time to first token, median"},
		{"ttft_p99_ms", metrics.TimeToFirstToken, "p99", "ms", "time to first token, 99th percentile"},
		{"itl_p50_ms", metrics.InterTokenLatency, "p50", "ms", "inter-token latency, median"},
		{"itl_p99_ms", metrics.InterTokenLatency, "p99", "ms", "inter-token latency, 99th percentile"},
		{"latency_p50_ms", metrics.RequestLatency, "p50", "ms", "latency of a request, median"},
		{"latency_p99_ms", metrics.RequestLatency, "p99", "ms", "latency of a request, 99th percentile"},
		{"tps_user", metrics.OutputTokenThroughputPerUser, "p50", "tokens/s", "tokens per second of one user, median"},
		{"error_share", metrics.ErrorRate, "avg", "ratio", "requests that failed, of those that were tried"},
		{
			"good_share", metrics.GoodRequestFraction, "avg", "ratio",
			"requests that kept all limits; null without limits",
		},
		{
			metrics.Accuracy, metrics.Accuracy, "avg", "ratio",
			"right answers, of those to questions with known answers that could be judged; null where none was asked",
		},
	}
}

// MetricRow is one statistic of one metric, of a run or of a cell.
type MetricRow struct {
	Place
	Level, Part          string // Part: of a target or a model, which
	Window, Metric, Stat string
	Value                float64
	Unit                 string
	Low, High, CV        float64 // of the interval; NaN when there is none
	N                    int64
	NEff                 float64
	Certified            int64 // 0, 1 or record.None
	Method               string
	Taint                string // the check that makes the number doubtful
	Better               string // higher or lower
}

// PluginMethod is the method of a figure that a plug-in tells.
const PluginMethod = "plugin"

// CheckRow is one check of a verdict.
type CheckRow struct {
	Place
	Level, Check, Kind, Severity, Verdict string
	Value, Limit                          float64
	Unit, Detail                          string
}
