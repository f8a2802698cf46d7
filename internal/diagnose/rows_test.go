package diagnose_test

import (
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diagnose"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/sinks"
)

// figures are those of a run by name, as an expression names them; looks is how often its
// page was read.
type figures map[string]float64

const looksName = "looks"

// rowsOf are rows of the table metrics of the trials of one cell.
func rowsOf(trials ...figures) (rows []sinks.MetricRow) {
	for i, of := range trials {
		for name, v := range of {
			metric, stat, _ := strings.Cut(name, ".")
			if metric == looksName {
				continue
			}
			row := sinks.MetricRow{
				Place: sinks.Place{Trial: i}, Level: "run", Window: "full", Metric: metric,
				Stat: stat, Value: v, N: int64(of[looksName]),
			}
			if strings.HasPrefix(metric, "server_") {
				row.Part = "http://a/metrics"
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// busy is a run of 200 requests in 20 s, whose server says about itself what the client saw.
func busy(more figures) figures {
	of := figures{
		looksName: 60, metrics.RequestCount + ".avg": 200, metrics.RequestThroughput + ".avg": 10,
		metrics.RequestLatency + ".avg": 400, metrics.TimeToFirstToken + ".avg": 51,
		"server_running.avg": 4, "server_running.p50": 4, "server_running.max": 5, "server_waiting.avg": 0, "server_waiting.p50": 0, "server_kv_use.p50": 0.2, "server_kv_use.max": 0.3,
		"server_e2e.count": 203, "server_e2e.sum": 80, "server_ttft.count": 200, "server_ttft.sum": 10, "server_itl.count": 3000, "server_itl.sum": 30,
		"server_queue_time.count": 200, "server_queue_time.sum": 0.2,
	}
	for name, v := range more {
		of[name] = v
	}
	return of
}

// waiting are figures of a server whose five slots are in use.
var waiting = figures{
	"server_running.avg": 5, "server_running.p50": 5, "server_waiting.avg": 3, "server_waiting.p50": 3,
	"server_queue_time.sum": 30,
}

// rowCases are tables that make a rule true, and ones that nearly do.
var rowCases = []struct {
	name   string
	trials []figures
	checks []sinks.CheckRow
	rate   float64
	want   string
	says   string
}{
	{"only this run", []figures{busy(nil)}, nil, 0, "not_known", "What limits the server here is not known"},
	{"others, half as much again", []figures{busy(figures{"server_e2e.count": 320})}, nil, 0, "other_clients", "it finished 57 % more requests"},
	{"a few requests at the window's edges", []figures{busy(figures{"server_e2e.count": 215})}, nil, 0, "not_known", ""},
	{"others, of a run too short to tell", []figures{busy(figures{"server_e2e.count": 320, looksName: 3})}, nil, 0, "not_known", ""},
	{"the client sent late", []figures{busy(nil)}, tripped("turnaround", "degraded", "gaps in the client make throughput read 38 % too low"), 0, "client", "The client sent less load than requested: gaps"},
	{"the client sent a little less, and requests wait for a slot", []figures{busy(waiting)}, tripped("concurrency_held", "degraded", "97.1 % of the requested concurrency was in flight"), 0, "admission", "at most 5 ran at once"},
	{"the client sent much less, and requests wait for a slot", []figures{busy(waiting)}, tripped("concurrency_held", "invalid", "70 % of the requested concurrency was in flight"), 0, "client", "70 %"},
	{"the client did not send late", []figures{busy(nil)}, tripped("turnaround", "none", ""), 0, "not_known", ""},
	{"a cache that was warm from the second trial on", []figures{busy(figures{"server_prefix_hit_rate.avg": 0}), busy(figures{"server_prefix_hit_rate.avg": 0.85})}, nil, 0, "cache_changed", "differs by 85 points"},
	{"a cache that helped all trials alike", []figures{busy(figures{"server_prefix_hit_rate.avg": 0.80}), busy(figures{"server_prefix_hit_rate.avg": 0.85})}, nil, 0, "not_known", ""},
	{"a server that changed", []figures{busy(nil)}, []sinks.CheckRow{{Place: sinks.Place{Cell: sinks.All, Trial: sinks.All}, Check: "drift", Severity: "degraded", Detail: "12 % slower from the first trial to the last"}}, 0, "drift", "12 % slower"},
	{"an open loop that is not kept up with, and nothing that explains it", []figures{busy(nil)}, tripped("backlog", "degraded", "more requests were waiting"), 12, "overloaded", "it answers 10 of 12 requests/s"},
	{"an open loop that is kept up with", []figures{busy(nil)}, tripped("backlog", "none", ""), 10, "not_bound", "keeps up with 10 requests/s"},
	{"time outside the engine", []figures{busy(figures{metrics.TimeToFirstToken + ".avg": 70})}, nil, 0, "front_end", "29 % of the time to first token is spent outside the engine: the client waits 70.0 ms, the engine reports 50.0 ms"},
	{"the means are of other requests", []figures{busy(figures{metrics.TimeToFirstToken + ".avg": 70, "server_ttft.count": 150})}, nil, 0, "not_known", ""},
	{"a power limit that holds clocks down", []figures{busy(figures{"gpu_capped.avg": 0.4})}, nil, 0, "power_capped", "A power or heat limit held a GPU's clocks down for 40 % of the time"},
	{"a power limit that is seldom reached", []figures{busy(figures{"gpu_capped.avg": 0.05})}, nil, 0, "not_known", ""},
	{"all slots in use, and no room in the KV cache", []figures{busy(figures{"server_running.avg": 5, "server_waiting.avg": 3, "server_waiting.p50": 3, "server_running.p50": 5, "server_queue_time.sum": 30, "server_kv_use.max": 0.9, "server_kv_use.p50": 0.88})}, nil, 0, "kv_cache", "no room for another request"},
	{"all slots in use, and room in the KV cache", []figures{busy(figures{"server_running.avg": 5, "server_waiting.avg": 3, "server_waiting.p50": 3, "server_running.p50": 5, "server_queue_time.sum": 30})}, nil, 0, "admission", "at most 5 ran at once"},
	{"they wait, but what runs is below its most", []figures{busy(figures{"server_waiting.avg": 3, "server_waiting.p50": 3, "server_queue_time.sum": 30})}, nil, 0, "queue", "what they wait for is not known"},
}

// tripped is what a check of the verdict said.
func tripped(check, severity, detail string) []sinks.CheckRow {
	return []sinks.CheckRow{{Check: check, Severity: severity, Detail: detail}}
}

// What the built-in server cannot bring about alone: each finding where its figures are,
// and none where they nearly are.
func TestFindingsOfRows(t *testing.T) {
	t.Parallel()
	for _, c := range rowCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cell := diagnose.Cell{Label: "cell", Rate: c.rate}
			got := diagnose.Of([]diagnose.Cell{cell}, diagnose.Rows(rowsOf(c.trials...), c.checks)).Cells[0]
			if got.Finding != c.want || !strings.Contains(got.Sentence, c.says) &&
				!strings.Contains(got.Sentence, strings.ToLower(c.says)) {
				t.Errorf("%s: %s\nwant %s, with %q\nfor %+v\nopen %+v", got.Finding, got.Sentence, c.want, c.says,
					got.For, got.Open)
			}
			if got.Next == "" || !strings.HasSuffix(got.Sentence, ".") {
				t.Errorf("sentence %q, next %q", got.Sentence, got.Next)
			}
		})
	}
}

// Each rule has a scenario on the built-in server that makes it true and one that nearly does.
func TestEachRuleHasCases(t *testing.T) {
	t.Parallel()
	holds, nearly := map[string]bool{}, map[string]bool{"not_known": true} // which nothing comes near
	for _, s := range scenarios {
		for _, finding := range s.want {
			holds[finding] = true
		}
		nearly[s.near] = nearly[s.near] || !slices.Contains(s.want, s.near)
	}
	for _, r := range diagnose.Rules() {
		if !holds[r.Name] || !nearly[r.Name] {
			t.Errorf("%s: a scenario that makes it true: %v, one that nearly does: %v", r.Name, holds[r.Name], nearly[r.Name])
		}
	}
}

// Every rule asks for facts that there are, and every row says what it is.
func TestCatalogues(t *testing.T) {
	t.Parallel()
	rules, facts := diagnose.Catalogues() // which looks each fact up
	for _, row := range append(rules, facts...) {
		if row[0] == "``" || row[len(row)/2] == "" {
			t.Errorf("%q", row)
		}
	}
	if last := rules[len(rules)-1]; last[0] != "`not_known`" {
		t.Errorf("the last rule is %s: a cell that no rule explains would have none", last[0])
	}
}

// Runs too short for gauges show a cap where requests wait at two neighbouring loads and as many ran at
// once at both; not where fewer did, nor where the most is all that was sent.
func TestCapOfShortRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		most   float64
		lower  float64
		capped bool
	}{{8, 16, true}, {7, 16, false}, {8, 8, false}} {
		var cells []diagnose.Cell
		var rows []sinks.MetricRow
		for i, load := range []float64{c.lower, 32} {
			most := []float64{c.most, 8}[i]
			cells = append(cells, diagnose.Cell{Index: i, Label: "cell", Axis: "concurrency", Load: load})
			for _, row := range rowsOf(busy(waiting), busy(waiting)) {
				if row.Place.Cell = i; row.Metric == "server_running" {
					row.N = 5
					if row.Stat == "max" {
						row.Value = most
					}
				}
				rows = append(rows, row)
			}
		}
		got := diagnose.Of(cells, diagnose.Rows(rows, nil)).Cells[1]
		if said := strings.Contains(got.Sentence, "among the 8 that the server runs"); said != c.capped || got.Finding != "queue" {
			t.Errorf("%+v: %s: %s", c, got.Finding, got.Sentence)
		}
	}
}

// Failed requests come before any limit, once for one cell and beside each of several.
func TestFailuresComeFirst(t *testing.T) {
	t.Parallel()
	const said = "40 of 200 requests failed: http_500"
	checks := []sinks.CheckRow{{Check: "errors", Severity: "degraded", Detail: said}}
	text := func(cells ...diagnose.Cell) string {
		var b strings.Builder
		if err := diagnose.Of(cells, diagnose.Rows(rowsOf(busy(nil)), checks)).WriteText(&b, 200); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got, want := text(diagnose.Cell{Label: "a"}), said+"; the figures below are of those that succeeded.\n"; !strings.HasPrefix(
		got, want) || strings.Count(got, said) != 1 {
		t.Errorf("one cell:\n%s", got)
	}
	got := text(diagnose.Cell{Label: "a"}, diagnose.Cell{Index: 1, Label: "b"})
	if !strings.HasPrefix(got, "Requests failed in 1 of 2 cells; ") || strings.Count(got, "failed     "+said) != 1 {
		t.Errorf("two cells:\n%s", got)
	}
	figures := rowsOf(busy(nil))
	for trial := range 2 { // the check is of the first one
		for tag, n := range map[string]float64{"error_request_count": float64(40 * trial), "request_count": 160} {
			figures = append(figures, sinks.MetricRow{
				Place: sinks.Place{Trial: trial}, Level: "run", Window: "full", Metric: tag, Stat: "avg", Value: n,
			})
		}
	}
	var b strings.Builder
	err := diagnose.Of([]diagnose.Cell{{Label: "a"}}, diagnose.Rows(figures, checks)).WriteText(&b, 200)
	if err != nil ||
		!strings.HasPrefix(b.String(), "40 of 360 requests failed: http_500; ") {
		t.Errorf("two trials: %v\n%s", err, &b)
	}
	checks[0].Severity = "none"
	if got := text(diagnose.Cell{Label: "a"}); strings.Contains(got, "failed") {
		t.Errorf("none failed:\n%s", got)
	}
}
