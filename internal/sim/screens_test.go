package sim

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"aiperf.dev/aiperf/internal/diagnose"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/results"
	"aiperf.dev/aiperf/sweep/decide"
)

// screen is what a terminal of so many columns shows of a plan.
func (o *Outcome) screen(t *testing.T, width int) string {
	t.Helper()
	r := o.Report()
	r.Dir, r.View, r.Width = "results/quickstart-20261124T115934Z", "report.html", width
	r.Terminal = true
	var b strings.Builder
	if err := r.WriteConsole(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// short holds a screen to its lines, each of which fits the terminal.
func short(t *testing.T, screen string, lines, width int) {
	t.Helper()
	if got := strings.Count(screen, "\n"); got > lines {
		t.Errorf("%d lines at %d columns, want at most %d:\n%s", got, width, lines, screen)
	}
	for line := range strings.SplitSeq(screen, "\n") {
		if words.Width(line) > width {
			t.Errorf("%d columns of %d: %s", words.Width(line), width, line)
		}
	}
}

// The result of a plan fits a terminal, with the answer in its first line:
// quick start 20 lines, one run 16, a comparison of two results 14, a matrix of 18 cells
// with limits and a gate that is missed 30.
func TestScreensAreShort(t *testing.T) {
	t.Parallel()
	widths := []int{80, 120, 200}

	t.Run("quick start", func(t *testing.T) {
		t.Parallel()
		dir := scratch(t)
		o, err := RunFile("../../examples/experiments/quickstart.cue", dir)
		if err != nil {
			t.Fatal(err)
		}
		light(t, o, filepath.Join(dir, "results"))
		for _, width := range widths {
			s := o.screen(t, width)
			short(t, s, 20, width)
			if first, _, _ := strings.Cut(s, "\n"); !strings.HasPrefix(first,
				"candidate is faster than baseline in 4 of 4 workloads (BETTER)") {
				t.Errorf("the first line is %s", first)
			}
			if strings.Contains(s, "not decided") || strings.Contains(s, "p50 and") {
				t.Errorf("something open beside a clear answer, or medians that are not certain:\n%s", s)
			}
		}
	})

	t.Run("one run", func(t *testing.T) {
		t.Parallel()
		for name, load := range loads(40) {
			o, err := Run(fmt.Sprintf(single, load[1], load[0]), scratch(t))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, width := range widths {
				lines := 16
				// a finding, or what replay has to say, takes lines of its own
				if r := o.Report(); len(r.Doubts)+len(r.Notices) > 0 {
					lines = 20
				}
				short(t, o.screen(t, width), lines, width)
			}
		}
	})

	t.Run("comparison", func(t *testing.T) {
		t.Parallel()
		var arms [2]decide.Arm
		for i, server := range []string{"ttft=32ms&itl=4ms&cv=0.1", "ttft=36ms&itl=4ms&cv=0.1"} {
			o := design{
				cells: []string{server}, trials: 5, requests: 100,
				phase: "type: concurrency, concurrency: 4",
			}.run(t)
			system, err := results.Read(o.Dir)
			if err != nil {
				t.Fatal(err)
			}
			arms[i] = system.Arm
			arms[i].Name = []string{"before", "after"}[i]
		}
		c, err := decide.Compare(arms[0], arms[1], decide.Terms{})
		if err != nil {
			t.Fatal(err)
		}
		for _, width := range widths {
			var b strings.Builder
			how := report.Screen{Width: width, Terminal: true}
			if err := (report.Comparison{Comparison: c}).WriteConsole(&b, how); err != nil {
				t.Fatal(err)
			}
			short(t, b.String(), 14, width)
			if !strings.HasPrefix(b.String(), "after is slower than before: TTFT p50 +") {
				t.Errorf("the answer is not first:\n%s", &b)
			}
		}
	})

	t.Run("matrix", func(t *testing.T) {
		t.Parallel()
		o, err := Run(matrix, scratch(t))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(o.Plan.Cells); got != 18 {
			t.Fatalf("%d cells", got)
		}
		for _, width := range widths {
			s := o.screen(t, width)
			short(t, s, 30, width)
			if width == 80 && !strings.Contains(strings.Join(strings.Fields(s), " "), "summary.md") {
				t.Errorf("columns are left out without a word:\n%s", s)
			}
			if !strings.HasPrefix(s, "Best throughput within the limits") ||
				!strings.Contains(s, "  ✗ TTFT p99 < 120 ms") {
				t.Errorf("no answer in the first line, or no gate that is missed:\n%s", s)
			}
		}
	})
}

// matrix is 18 cells: three axes, one of which varies the work.
const matrix = `
random_seed: 7
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=40ms&itl=5ms", type: chat, streaming: true}
  datasets: [{name: default, type: synthetic, entries: 64, prompts: {isl: 128, osl: 8}}]
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 124}]
  artifacts: {summary: [], records: []}
  slos: {time_to_first_token: 200, inter_token_latency: 15}
sweep:
  type: grid
  parameters:
    "datasets.default.prompts.isl": [128, 1024]
    concurrency: [1, 4, 16]
    endpoint:
      - {label: baseline, url: "mock:?step=4ms&batch=8&prefill=0.02ms&cv=0.1"}
      - {label: candidate, url: "mock:?step=3ms&batch=8&prefill=0.02ms&cv=0.1"}
      - {label: nightly, url: "mock:?step=3ms&batch=16&prefill=0.03ms&cv=0.1"}
multi_run: {num_runs: 3}
gates: ["time_to_first_token.p99 < 120", "error_rate == 0"]
`

// Two equal commands say the same of what can be relied on: the plan decides which
// percentiles are certain, not how independent the requests happened to be.
func TestTrustFollowsFromThePlan(t *testing.T) {
	t.Parallel()
	for requests, want := range map[int]string{
		200: ", enough for p50 and p90, not for p99",
		700: ", enough for p50 and p90, not for p99", 1200: ", enough for p50, p90 and p99",
	} {
		worth := map[bool]int{}
		for seed := range 4 {
			o, err := Run(fmt.Sprintf(strings.Replace(single, "cv=0.8", fmt.Sprintf("cv=0.2&seed=%d", seed), 1),
				"{name: default, type: synthetic, entries: 64, prompts: {isl: 8, osl: 4}}", fmt.Sprintf("type: concurrency, concurrency: 4, requests: %d", requests)), scratch(t))
			if err != nil {
				t.Fatal(err)
			}
			latency, _ := o.Report().Full.Get("request_latency")
			worth[stats.Certified(0.99, latency.NEff)]++
			if s := o.screen(t, 200); !strings.Contains(s, want) {
				t.Errorf("%d requests, seed %d (worth %.0f): want %q in\n%s", requests, seed, latency.NEff, want, s)
			}
		}
		if requests == 700 && len(worth) < 2 { // else the seeds show nothing
			t.Errorf("of %d requests the p99 was always, or never, supported: %v", requests, worth)
		}
	}
}

// Who follows the hint of a short run is not told another number: on servers that are steady, one
// run of so many requests makes every percentile of the table certain.
func TestTheHintIsFollowedOnce(t *testing.T) {
	t.Parallel()
	advised := regexp.MustCompile(`--request-count ([0-9]+) for a certain p99`)
	for _, server := range []string{"ttft=40ms&itl=5ms&cv=0.2", "step=5ms&batch=8&prefill=0.05ms&cv=0.2"} {
		for seed := range 4 {
			screen := func(requests string) string {
				o, err := Run(fmt.Sprintf(strings.Replace(single, "ttft=40ms&itl=5ms&cv=0.8", fmt.Sprintf("%s&seed=%d", server, seed), 1),
					"{name: default, type: synthetic, entries: 64, prompts: {isl: 64, osl: {mean: 16, stddev: 4}}}",
					"type: concurrency, concurrency: 8, requests: "+requests), scratch(t))
				if err != nil {
					t.Fatal(err)
				}
				return o.screen(t, 200)
			}
			first := screen([]string{"24", "60", "120", "300"}[seed])
			hint := advised.FindStringSubmatch(first)
			if hint == nil {
				t.Fatalf("%s, seed %d: no hint in\n%s", server, seed, first)
			}
			if s := screen(hint[1]); !strings.Contains(s, ", enough for p50, p90 and p99") {
				t.Errorf("%s, seed %d: --request-count %s was advised, and then\n%s", server, seed, hint[1], s)
			}
		}
	}
}

// The counts on the screen of a run are of the same requests, and add up.
func TestCountsOfGoodputAddUp(t *testing.T) {
	t.Parallel()
	o, err := Run(fmt.Sprintf(strings.Replace(single, "cv=0.8", "cv=0.8&error_rate=0.1", 1),
		"{name: default, type: synthetic, entries: 64, prompts: {isl: 8, osl: 4}}", "type: poisson, rate: 60, requests: 300")+
		"  slos: {time_to_first_token: 40, inter_token_latency: 6}\n", scratch(t))
	if err != nil {
		t.Fatal(err)
	}
	s := o.screen(t, 200)
	m := regexp.MustCompile(`(\d+) of 300 requests \(([0-9.]+) %\) met TTFT ≤ 40 ms and ITL ≤ 6 ms .*Goodput +[0-9.]+ req/s(?: in the steady window)?; (?:[0-9.]+ % met the limits if timed from sending; )?(\d+) missed ITL; (\d+)\s+missed TTFT(?: \((\d+) missed both\))?; (\d+) failed`).FindStringSubmatch(strings.Join(strings.Fields(s), " "))
	if m == nil {
		t.Fatalf("no limits and no goodput in\n%s", s)
	}
	sum := 0
	for _, i := range []int{1, 3, 4, 6} {
		n, _ := strconv.Atoi(m[i])
		sum += n
	}
	both, _ := strconv.Atoi(m[5]) // counted twice
	sum -= both
	// a screen with a finding is folded, its address clipped
	if !strings.Contains(s, "demo at mock:?ttft=40ms&itl=5ms&cv=0.8&") {
		t.Errorf("the address has lost its options:\n%s", s)
	}
	if met, _ := strconv.Atoi(m[1]); sum != 300 || m[2] != strings.TrimSuffix(words.Percent(float64(met)/300), " %") ||
		!strings.Contains(s, "Errors           "+m[6]+" of 300\n") {
		t.Errorf("the counts make %d of 300, or are not those of the share or of the errors:\n%s", sum, s)
	}
}

// The screens of one run, of a search and of a diagnosis have no sign that is not a mark, which aiperf help
// explains, or layout, which means everywhere the same.
func TestSignsOfOtherScreens(t *testing.T) {
	t.Parallel()
	known := "·…×÷≤≥<>=%+−[]()/µ→" + strings.Join(report.Marks(), "")
	walk := func(name, screen string) {
		for _, r := range screen {
			if r > unicode.MaxASCII && !unicode.IsLetter(r) && !strings.ContainsRune(known, r) {
				t.Errorf("%s: %q stands on a screen and is not a mark:\n%s", name, r, screen)
				return
			}
		}
	}
	diagnosed := func(name, dir string) {
		d, err := diagnose.Dir(dir)
		if err != nil {
			t.Fatal(name, err)
		}
		var b strings.Builder
		if err := d.WriteText(&b, 80); err != nil {
			t.Fatal(name, err)
		}
		walk("diagnosis of "+name, b.String())
		if n := strings.Count(b.String(), "Not known, and what would tell it"); n > 1 {
			t.Errorf("%s: %d lists of what is not known:\n%s", name, n, &b)
		}
	}
	for name, load := range loads(40) {
		o, err := Run(fmt.Sprintf(single, load[1], load[0]), scratch(t))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		walk(name, o.screen(t, 80))
		diagnosed(name, o.Dir)
	}
	s := server{words: "ttft=40ms&itl=5ms&workers=4"}
	res := s.find(t, searchText(s.words, "concurrency", "type: concurrency",
		`range: [1, 64], where: ["time_to_first_token < 100"], budget: {probes: 5}`, 60), scratch(t), false, nil)
	var b strings.Builder
	if err := res.Report().WriteConsole(&b); err != nil {
		t.Fatal(err)
	}
	walk("search", b.String())
	diagnosed("search", res.Dir)
}
