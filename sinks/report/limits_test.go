package report

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// underLimits is a sweep over loads of which each ended so in its limits.
func underLimits(outcomes ...decide.SLOOutcome) *Report {
	r := &Report{
		Plan:    &sweep.Plan{Trials: 3, Axes: []schema.Axis{{Name: "concurrency"}}},
		Results: &decide.Results{Level: 0.95}, Dir: "out",
	}
	level := func(v float64) stats.Estimate { return stats.Estimate{Mean: v, Low: 0.98 * v, High: 1.02 * v, N: 3} }
	for i, o := range outcomes {
		load := strconv.Itoa(1 << i)
		var benchmark schema.Benchmark
		benchmark.SLOs = map[string]float64{metrics.TimeToFirstToken: 60, metrics.InterTokenLatency: 8}
		known := map[decide.Key]stats.Estimate{
			{Tag: metrics.GoodRequestFraction, Stat: "avg"}: level(0.9 - 0.1*float64(i)),
		}
		for _, k := range []decide.Key{
			{Tag: metrics.OutputTokenThroughput, Stat: "avg"},
			{Tag: metrics.TimeToFirstToken, Stat: "p50"},
			{Tag: metrics.TimeToFirstToken, Stat: "p99"},
			{Tag: metrics.InterTokenLatency, Stat: "p99"},
			{Tag: metrics.RequestLatency, Stat: "avg"},
			{Tag: metrics.RequestThroughput, Stat: "avg"},
		} {
			known[k] = level(1234)
		}
		r.Results.Cells = append(r.Results.Cells, decide.CellResult{
			Trials: 3, SLOs: []decide.SLOOutcome{o}, Full: decide.Known(known),
			Cell: &sweep.Cell{
				Index: i, Point: []sweep.Value{{Axis: "concurrency", Label: load}},
				Resolved: &schema.Resolved{Benchmark: benchmark},
			},
		})
	}
	return r
}

var (
	keptLimit = decide.SLOOutcome{State: decide.Held, Held: true}
	missed99  = decide.SLOOutcome{State: decide.Missed}
	soFarKept = decide.SLOOutcome{State: decide.Undecided, Held: true}
	soFarNot  = decide.SLOOutcome{State: decide.Undecided}
	inDoubt   = decide.SLOOutcome{State: decide.Undecided, Undecidable: true}
)

// The sentence on limits says which cells it counts, long and short, and how a missed one
// becomes an exit code, where no gate asks for that already.
func TestLimitsNameTheirCells(t *testing.T) {
	t.Parallel()
	const limits = "must meet TTFT ≤ 60 ms and ITL ≤ 8 ms: "
	r := underLimits(keptLimit, soFarKept, soFarNot, inDoubt, missed99, missed99)
	want := "99 % " + limits + "1 of 6 cells does for certain (concurrency 1), 2 miss (concurrency 16 and 32), " +
		"2 not decided yet (concurrency 2 and 4), 1 cannot be decided (concurrency 8); " +
		"limits do not change the exit code: to fail with 3, add --gate 'good_request_fraction >= 0.99'"
	if got := r.limitsSentence(true); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
	if got := r.LimitsSentence(); !strings.Contains(got, "2 miss (concurrency 16 and 32)") {
		t.Errorf("%q", got)
	}
	r.Command = "aiperf profile -m demo"
	if got := r.LimitsSentence(); !strings.HasSuffix(got, "--exit-codes full") {
		t.Errorf("%q", got)
	}
	r.Plan.Gates = []sweep.Gate{{Expr: "good_request_fraction >= 0.99"}}
	if got := r.LimitsSentence(); strings.Contains(got, "exit code") {
		t.Errorf("a gate asks for it: %q", got)
	}
	r = underLimits(missed99, missed99, missed99, missed99, missed99)
	if got := r.limitsSentence(true); !strings.Contains(got, "0 of 5 cells do, 5 miss (concurrency 1, 2, 4 and 2 more)") {
		t.Errorf("%q", got)
	}
	r = underLimits(keptLimit, keptLimit)
	if got := r.limitsSentence(true); strings.Contains(got, "exit code") || strings.Contains(got, "(") {
		t.Errorf("%q", got)
	}
}

// However narrow the terminal is, the table has the figures of the limits before others, and
// says of each row that it misses them, if only so far.
func TestTheTableShowsLimits(t *testing.T) {
	t.Parallel()
	r := underLimits(keptLimit, soFarKept, soFarNot, missed99)
	cols := headlines(r.Results)
	for width := 70; width < 160; width++ {
		g, _ := r.table(cols, width)
		head := strings.Join(g.head, "|")
		for _, name := range []string{"out tok/s", "TTFT p99 ms", "ITL p99 ms"} {
			if !strings.Contains(head, name) {
				t.Fatalf("%d columns: no %s in %s", width, name, head)
			}
		}
		if len(g.without) == 0 && !strings.Contains(head, "TTFT p50 ms|TTFT p99 ms|ITL p99 ms") {
			t.Fatalf("%d columns: another order: %s", width, head)
		}
		var signs []string
		for _, row := range g.rows {
			signs = append(signs, row[len(row)-1])
		}
		if want := []string{"", "", "misses limits so far", "misses limits"}; !slices.Equal(signs, want) {
			t.Fatalf("%d columns: %q, want %q", width, signs, want)
		}
	}
}

// A gate has its figure in the table, too.
func TestTheTableShowsGates(t *testing.T) {
	t.Parallel()
	r := underLimits(keptLimit)
	c := &r.Results.Cells[0]
	c.Cell.Resolved.Benchmark.SLOs = nil
	c.Gates = []decide.GateOutcome{{Gate: &decide.Gate{Gate: sweep.Gate{Expr: "request_latency.avg < 9"}}, State: decide.Held}}
	g, _ := r.table(headlines(r.Results), 60)
	if head := strings.Join(g.head, "|"); !strings.Contains(head, "latency mean ms") {
		t.Errorf("%s", head)
	}
}

// A finding names the cells whose runs have it.
func TestFindingsNameTheirCells(t *testing.T) {
	t.Parallel()
	at := func(load string) *sweep.Cell {
		return &sweep.Cell{Point: []sweep.Value{{Axis: "concurrency", Label: load}}}
	}
	d := Doubt{Check: "coalesced", Detail: "tokens arrived together", Runs: 2, Cells: []*sweep.Cell{at("1"), at("2")}}
	want := "tokens arrived together (check coalesced, in 2 of 15 runs, at concurrency 1 and 2; this is the worst)"
	if got := d.sentence(15); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
