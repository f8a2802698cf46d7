package page_test

import (
	"html"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/sim"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/chart"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sinks/report/page"
	"aiperf.dev/aiperf/sweep/decide"
)

// answered is what the head of the report of an experiment says, and what was
// read for it.
func answered(t *testing.T, experiment string) (string, *chart.Data) {
	t.Helper()
	dirs := directories(t, []string{experiment}, nil)
	d, err := chart.Load(dirs...)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := page.Of(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, part := range [][2]string{{"<h1", "</header>"}, {`<section id="shows"`, "</section>"}} {
		_, after, _ := strings.Cut(string(doc), part[0])
		text, _, _ := strings.Cut(after, part[1])
		said += text
	}
	return html.UnescapeString(said), d
}

const overload = `
name: overload
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=15ms&itl=2ms&cv=0.3&workers=8", streaming: true}
  phases: {type: poisson, rate: 20, requests: 200}
  slos: {time_to_first_token: 100, inter_token_latency: 10}
sweep: {type: grid, parameters: {rate: [20, 80, 160, 320]}}
multi_run: {num_runs: 3}`

// Somebody who has the page alone learns which cell is best and how sure that
// is, which one is slow, and that its requests wait: the server answers eight at
// a time, and 320 a second are more than that.
func TestAnswersOfAnOverload(t *testing.T) {
	t.Parallel()
	said, d := answered(t, overload)
	said = strings.ReplaceAll(said, "\u00a0", " ") // numbers and their units stay together
	for _, want := range []string{
		"Best throughput within the limits: ", "slowest: rate 320, median latency ",
		" × that of rate ", " pass before the first token (network, queue, prompt)", " of 320 requests/s are answered: more come than the server takes", "knee at rate 160: 100 % more load gave ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	slow := d.Cells[3]
	if a, b := d.Get(d.Cells[0], "time_to_first_token", "avg").Value,
		d.Get(slow, "time_to_first_token", "avg").Value; b < 2*a {
		t.Errorf("TTFT %v and %v ms: there is no overload", a, b)
	}
}

// Where each token takes longer, the time is said to pass after the first one.
func TestAnswersOfSlowTokens(t *testing.T) {
	t.Parallel()
	said, _ := answered(t, `
name: tokens
benchmark:`+body+`
  endpoint: {url: "mock:", streaming: true}
  phases: {type: concurrency, concurrency: 2, requests: 50}
sweep:
  type: grid
  parameters:
    endpoint: [{label: quick, url: "mock:?ttft=20ms&itl=1ms"}, {label: slow, url: "mock:?ttft=20ms&itl=5ms"}]
multi_run: {num_runs: 3}`)
	if !strings.Contains(said, "slowest: slow, ") || !strings.Contains(said,
		"all pass after the first token (generating)") && !strings.Contains(said, "60.0 ms after it") {
		t.Error(said)
	}
}

// The page says how many trials count, not how many the best supplied cell has.
func TestTrialsThatCount(t *testing.T) {
	t.Parallel()
	for want, counts := range map[string][]int{
		"3 cells × 3 trials":      {3, 3, 3},
		"3 cells × 1 to 3 trials": {3, 1, 2}, // INVALID ones are left out
		"2 cells × 0 to 1 trial":  {1, 0},
		"1 cell × 5 trials":       {5},
		"2 cells · ":              {0, 0},
	} {
		d := &chart.Data{Requests: &chart.Requests{}}
		for _, n := range counts {
			d.Cells = append(d.Cells, &chart.Cell{Trials: n})
		}
		if _, scope := page.Answers(d, []string{"said"}); !strings.HasPrefix(scope, want) {
			t.Errorf("%v: %q, want %q", counts, scope, want)
		}
	}
}

// Two cells that do not differ have no slowest.
func TestAnswersOfNoise(t *testing.T) {
	t.Parallel()
	said, _ := answered(t, `
name: noise
benchmark:`+body+`
  endpoint: {url: "mock:", streaming: true}
  phases: {type: concurrency, concurrency: 2, requests: 50}
sweep:
  type: grid
  parameters:
    endpoint: [{label: one, url: "mock:?ttft=20ms&itl=1ms&cv=0.5&seed=1"}, {label: other, url: "mock:?ttft=20ms&itl=1ms&cv=0.5&seed=2"}]
multi_run: {num_runs: 3}`)
	if strings.Contains(said, "slowest") {
		t.Error(said)
	}
}

// Of a matrix each setting is told by itself: what the slowest cell would take with
// another one. Sixteen at a time is all that the server takes, so that three times
// as many answer no more requests a second.
func TestAnswersOfAMatrix(t *testing.T) {
	t.Parallel()
	said, d := answered(t, `
name: matrix
benchmark:`+body+`
  endpoint: {url: "mock:?step=6ms&batch=16&prefill=0.05ms", streaming: true}
  phases: {type: concurrency, concurrency: 4, requests: 200}
sweep: {type: grid, parameters: {concurrency: [4, 16, 48], isl: [64, 1024]}}
multi_run: {num_runs: 2}`)
	said = strings.ReplaceAll(said, "\u00a0", " ")
	for _, want := range []string{
		"slowest: isl 1024 · concurrency 48, ", "Largest effect: concurrency (4 takes ",
		", isl (64 takes ", "; concurrency 16 gives ", ": the requests that are added only make each other take longer",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	rate := map[string]float64{}
	for _, c := range d.Cells {
		rate[d.Label(c)] = d.Get(c, "request_throughput", "avg").Value
	}
	if a, b := rate["isl 1024 · concurrency 16"], rate["isl 1024 · concurrency 48"]; a == 0 || b > 1.05*a {
		t.Errorf("the server is not full: requests/s %v", rate)
	}
}

// Requests that fail are no sign of a queue, and are counted with their words.
func TestAnswersOfFailures(t *testing.T) {
	t.Parallel()
	said, _ := answered(t, `
name: failing
benchmark:`+body+`
  endpoint: {url: "mock:?ttft=15ms&itl=2ms&error_rate=0.4&error_status=503", streaming: true}
  phases: {type: poisson, rate: 10, requests: 300}
sweep: {type: grid, parameters: {rate: [10, 40], isl: [16, 64]}}
multi_run: {num_runs: 3}`)
	if strings.Contains(said, "queue") && !strings.Contains(said, "(network, queue, prompt)") ||
		strings.Contains(said, "they queue") {
		t.Error(said)
	}
	if !strings.Contains(said, "of 3,600 requests failed: ") || !strings.Contains(said, "http_503, “scripted failure") {
		t.Error(said)
	}
}

// Where no cell keeps the limits the nearest one is named.
func TestAnswersOfLimitsThatNothingKeeps(t *testing.T) {
	t.Parallel()
	work := t.TempDir()
	got, err := sim.Run(`
name: limits
benchmark:`+body+`
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.5", streaming: true}
  phases: {type: concurrency, concurrency: 2, requests: 100}
  slos: {time_to_first_token: 20}
sweep: {type: grid, parameters: {concurrency: [1, 4]}}
multi_run: {num_runs: 2}`, work)
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(got.Report().Sentences(), "\n")
	if !strings.Contains(said, "no cell meets them\nNearest: concurrency ") {
		t.Error(said)
	}
}

const limited = `
name: limited
benchmark:` + body + `
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.05&workers=2", streaming: true}
  phases: {type: concurrency, concurrency: 1, requests: 60}
  slos: {time_to_first_token: 40}
sweep: {type: grid, parameters: {concurrency: [1, 2, 8], isl: [8, 16]}}
multi_run: {num_runs: 3}`

// The cell that the head calls best carries the mark in the table; one that misses
// the limits is not called best, and prompts of two lengths are not a choice.
func TestBestIsOneCell(t *testing.T) {
	t.Parallel()
	said, d := answered(t, limited)
	if !strings.Contains(said, " at isl 8: ") || !strings.Contains(said, " at isl 16: ") {
		t.Errorf("the two lengths are not ranked by themselves in %s", said)
	}
	for _, c := range d.Cells {
		if c.At("concurrency") == 8 && c.Best != "" && !strings.HasSuffix(c.Best, " without limits") {
			t.Errorf("%s misses the limit and is best for %q", d.Label(c), c.Best)
		}
	}
}

// The figures of the head are of loads that keep the limits, and the table says which load does not.
func TestTilesKeepTheLimits(t *testing.T) {
	t.Parallel()
	_, d := answered(t, strings.Replace(limited, ", isl: [8, 16]", "", 1))
	doc, err := page.Of(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := html.UnescapeString(string(doc))
	for _, want := range []string{"at concurrency 2 within the limits", "<small>misses limits"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if never := "at concurrency 8</"; strings.Contains(text, never) {
		t.Errorf("a tile of a load that misses the limits: %q", never)
	}

	for _, c := range d.Cells { // a search has a share of its own
		c.Decision = "holds"
	}
	if doc, err = page.Of(d, nil); err != nil || strings.Contains(string(doc), "<small>misses limits") {
		t.Errorf("%v; the row of a load that holds says that it misses limits", err)
	}
}

// A result has no value on an axis that another one swept, and a verdict is not
// lent to results without checks.
func TestAnswersBesideForeignResults(t *testing.T) {
	t.Parallel()
	d, err := chart.Load(directories(t, []string{limited}, []string{"chat_stream", "errors"})...)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := page.Of(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := html.UnescapeString(string(doc))
	for _, never := range []string{"isl 0", "concurrency 0"} {
		if strings.Contains(text, never) {
			t.Errorf("the page says %q", never)
		}
	}
	for _, want := range []string{"(1 of 3 results) · ", "2 of 3 results have no verdict and no checks"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, c := range d.Cells {
		if d.Foreign[c.Dir] != "" && strings.Contains(d.Label(c), "0") {
			t.Errorf("a value that nobody set: %s", d.Label(c))
		}
	}
}

// The page of a directory draws what its comparison decided when it was measured, with
// those intervals, and not ones of its own.
func TestRecordedComparison(t *testing.T) {
	t.Parallel()
	out, err := sim.Run(compared, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d, err := page.Load([]string{out.Dir})
	if err != nil {
		t.Fatal(err)
	}
	type drawn struct {
		name, metric     string
		value, low, high float64
		better, worse    bool
	}
	want, got := map[drawn]bool{}, map[drawn]bool{}
	for _, r := range (report.Comparison{Comparison: out.Report().Results.Comparisons[0]}).Primary() {
		change, low, high, _ := report.ShownChange(r)
		want[drawn{
			r.Cell, metrics.Series(r.Key.Tag, r.Key.Stat), change, low, high, r.Outcome == decide.Better,
			r.Outcome == decide.Worse,
		}] = true
	}
	for _, c := range d.Changes() {
		got[drawn{c.Name, c.Metric, c.Value, c.Low, c.High, c.Ink() == draw.Good, c.Ink() == draw.Bad}] = true
	}
	if len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("drawn:  %v\ndecided: %v", got, want)
	}
}

// Each of several limits of a search has its answer above everything else, with what it is an answer to, and the first
// chart is that of the search.
func TestAnswersOfTiers(t *testing.T) {
	t.Parallel()
	_, d := answered(t, `
name: tiers
benchmark:`+body+`
  endpoint: {url: "mock:?ttft=15ms&itl=2ms&workers=2&queue=2", streaming: true}
  phases: {type: concurrency, requests: 60}
search:
  path: concurrency
  range: [1, 8]
  share: 0.9
  tiers: {all: {where: ["time_to_first_token < 60000"]}, now: {where: ["time_to_first_token < 0.001"]}}`)
	doc, err := page.Of(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	head, below, _ := strings.Cut(strings.ReplaceAll(html.UnescapeString(string(doc)), "\u00a0", " "), `class="tiles"`)
	for _, want := range []string{
		"<h1>all: ", "limit: 90 % of requests have ttft < 60000 ms", "now: the server does not serve a single user",
		"limit: 90 % of requests have ttft < 0.001 ms",
	} {
		if !strings.Contains(strings.ToLower(head), want) {
			t.Errorf("no %q above the figures: %s", want, head[strings.Index(head, "<header>"):])
		}
	}
	first, second := strings.Index(below, "The search"), strings.Index(below, "Latency against load")
	if first < 0 || second >= 0 && second < first {
		t.Errorf("the chart of the search stands at %d, that of latencies at %d", first, second)
	}
}

// A search sends more than the server takes: that most of its requests failed is not the
// answer, which names the load that holds, with its figures; probes stand by load, and bars at
// theirs.
func TestAnswerOfASearchBeyondTheServer(t *testing.T) {
	t.Parallel()
	said, d := answered(t, `
name: searched
benchmark:`+body+`
  endpoint: {url: "mock:?ttft=15ms&itl=2ms&workers=8&queue=8", streaming: true}
  phases: {type: concurrency, requests: 200}
search: {path: concurrency, range: [1, 64], where: ["time_to_first_token < 500"], share: 0.95}`)
	held := d.Held()
	if held == nil {
		t.Fatal("no load holds")
	}
	answer, rest, _ := strings.Cut(said, "</h1>")
	load := strings.TrimPrefix(d.Label(held), "concurrency ")
	answer = strings.ReplaceAll(strings.ReplaceAll(answer, `<span class="typed">built-in</span>`, "built-in"), "\u00a0", " ")
	if !strings.Contains(answer, ">The built-in server serves "+load+" users at once") {
		t.Errorf("the answer is %q", answer)
	}
	if !strings.Contains(rest, "requests failed") {
		t.Errorf("no word of the failures: %s", rest)
	}
	doc, err := page.Of(d, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := html.UnescapeString(string(doc))
	if n := strings.Count(text, "at "+d.Label(held)); n < 4 { // that of the errors among them
		t.Errorf("%d tiles are of %s", n, d.Label(held))
	}
	for i, c := range d.Cells[1:] {
		if c.At(d.Load()) < d.Cells[i].At(d.Load()) {
			t.Errorf("%s stands behind %s", d.Label(c), d.Label(d.Cells[i]))
		}
	}
	bar := regexp.MustCompile(`<tr><td>failed: [^<]*<td>([^<]*)`).FindAllStringSubmatch(text, -1)
	if len(bar) == 0 {
		bar = regexp.MustCompile(`<tr><td>([^<]*)<td>0 to [^<]*<td>[^<]*: failed: `).FindAllStringSubmatch(text, -1)
	}
	if len(bar) == 0 {
		t.Error("no bar of failures")
	}
	for _, b := range bar {
		if _, err := strconv.ParseFloat(b[1], 64); err != nil {
			t.Errorf("a bar stands at %q", b[1])
		}
	}
}
