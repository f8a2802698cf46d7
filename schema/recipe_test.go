package schema_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
)

// The cells of the recipes that list them, as AIPerf prints them.
func TestRecipes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"concurrency-ramp":                                                   "phases.profiling.concurrency [1 3 7 19 52 139 373 1000]",
		"concurrency-ramp --concurrency-min 2":                               "phases.profiling.concurrency [2 5 12 29 70 169 412 1000]",
		"concurrency-ramp --concurrency-max 64":                              "phases.profiling.concurrency [1 2 3 6 11 20 35 64]",
		"concurrency-ramp --concurrency-max 4":                               "phases.profiling.concurrency [1 2 3 4]",
		"prefill-ttft-curve --streaming --isl-min 128":                       "datasets.main.prompts.isl [128 283 624 1378 3043 6720 14839 32768], phases.profiling.concurrency [1]",
		"prefill-ttft-curve --streaming --isl-max 4096":                      "datasets.main.prompts.isl [256 380 565 840 1248 1855 2756 4096], phases.profiling.concurrency [1]",
		"decode-itl-curve --streaming --osl-min 32 --concurrency-steps 2":    "datasets.main.prompts.osl [32 102 323 1024], phases.profiling.concurrency [1 200]",
		"decode-itl-curve --streaming --osl-steps 3 --concurrency-steps 2":   "datasets.main.prompts.osl [64 256 1024], phases.profiling.concurrency [1 200]",
		"pareto-sweep --streaming --isl-osl-pairs 128/64 --concurrency 1,16": "shape_128_64_c1 map[concurrency:1 isl:128 osl:64] [isl osl concurrency], shape_128_64_c16 map[concurrency:16 isl:128 osl:64] [isl osl concurrency]",
		"pareto-sweep --streaming --isl-osl-pairs 1/2,3/4 --concurrency 9":   "shape_1_2_c9 map[concurrency:9 isl:1 osl:2] [isl osl concurrency], shape_3_4_c9 map[concurrency:9 isl:3 osl:4] [isl osl concurrency]",
	} {
		d, err := profile(append([]string{"-m", "demo", "--search-recipe"}, strings.Fields(line)...))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := sweepLine(d.Sweep()); got != want {
			t.Errorf("%s:\n got %s\nwant %s", line, got, want)
		}
		if u := d.Unsupported(); len(u) > 0 {
			t.Errorf("%s: not supported: %v", line, u)
		}
		if err := everyCell(d); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func sweepLine(s schema.Sweep) string {
	var parts []string
	for _, a := range s.Axes {
		parts = append(parts, fmt.Sprint(strings.TrimPrefix(a.Path, "benchmark."), " ", a.Values))
	}
	for _, c := range s.Scenarios {
		parts = append(parts, fmt.Sprint(c.Name, " ", c.Values, " ", c.Named))
	}
	return strings.Join(parts, ", ")
}

// Recipes that search are adaptive searches of the concurrency with their limits; in the style
// of a grid they are one, with what is worked out of it.
func TestRecipesThatSearch(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"max-throughput-ttft-sla --streaming --ttft-sla-ms 200":                                                  "bayesian 1-1000 log-uniform, 30 iterations, maximize output_token_throughput.avg, [time_to_first_token.p95 < 200]",
		"max-throughput-itl-sla --streaming --tpot-sla-ms 20 --search-max-iterations 12":                         "bayesian 1-1000 log-uniform, 12 iterations, maximize output_token_throughput.avg, [inter_token_latency.p95 < 20]",
		"max-concurrency-under-sla --e2e-sla-ms 900 --error-rate-sla 0.01 --concurrency-max 64":                  "smooth_isotonic 1-64 log-uniform, 30 iterations, maximize output_token_throughput.avg, [request_latency.p99 < 900 request_error_rate.avg < 1]",
		"max-concurrency-under-sla --search-style monotonic --search-sla request_latency:p90:le:50":              "monotonic_sla 1-1000 log-uniform, 30 iterations, maximize output_token_throughput.avg, [request_latency.p90 <= 50]",
		"max-concurrency-under-sla --search-style grid --e2e-sla-ms 900 --concurrency-steps 3":                   "[1 32 1000], sla_breach_knee sla_breach.json, [request_latency.p99 < 900]",
		"max-goodput-under-slo --streaming --ttft-sla-ms 200 --itl-sla-ms 20 --e2e-sla-ms 900 --search-style bo": "bayesian 1-1000 log-uniform, 30 iterations, maximize goodput.avg, [good_request_fraction.avg >= 0.95]",
	} {
		d, err := profile(append([]string{"-m", "demo", "--search-recipe"}, strings.Fields(line)...))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		s := d.Sweep()
		got := fmt.Sprint(s.Filters)
		if a := s.Adaptive; a != nil {
			x, g := a.Space[0], a.Objectives[0]
			got = fmt.Sprintf("%s %g-%g %s, %d iterations, %s %s.%s, %s", a.Planner, x.Lo, x.Hi, x.Prior,
				a.MaxIterations, g.Direction, g.Metric, g.Stat, got)
		} else {
			got = fmt.Sprintf("%v, %s %s, %s", s.Axes[0].Values, s.PostProcess.Handler, s.PostProcess.File, got)
		}
		if name, _, _ := strings.Cut(line, " "); got != want || s.RecipeName != name {
			t.Errorf("%s (%s):\n got %s\nwant %s", line, s.RecipeName, got, want)
		}
	}
}

// What a recipe cannot do without, cannot stand, or does not read.
func TestRecipeMistakes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--search-recipe concurency-ramp":                                                                        `unknown recipe "concurency-ramp"`,
		"--search-recipe prefill-ttft-curve":                                                                     "the endpoint must stream",
		"--search-recipe prefill-ttft-curve --isl-min 128":                                                       "the endpoint must stream",
		"--search-recipe pareto-sweep --streaming":                                                               "needs --isl-osl-pairs",
		"--search-recipe pareto-sweep --streaming --isl-osl-pairs 128":                                           `expected input/output in tokens, got "128"`,
		"--search-recipe pareto-sweep --streaming --isl-osl-pairs 0/128":                                         `got "0/128"`,
		"--search-recipe pareto-sweep --streaming --isl-osl-pairs 8/8,8/8":                                       "8/8 is given twice",
		"--search-recipe pareto-sweep --streaming --isl-osl-pairs 8/8 --concurrency 4":                           "needs more than one cell",
		"--search-recipe concurrency-ramp --concurrency 1,2":                                                     "the list of --concurrency cannot be combined with it",
		"--search-recipe concurrency-ramp --isl 1,2":                                                             "the list of --isl cannot be combined with it",
		"--search-recipe concurrency-ramp --concurrency-min 8 --concurrency-max 8":                               "8 is not below 8",
		"--search-recipe concurrency-ramp --concurrency-steps 1":                                                 "must be at least 2, got 1",
		"--search-recipe max-concurrency-under-sla":                                                              "needs --ttft-sla-ms or --itl-sla-ms or --tpot-sla-ms or --e2e-sla-ms or --error-rate-sla or --search-sla",
		"--search-recipe max-concurrency-under-sla --ttft-sla-ms 20":                                             "the endpoint must stream",
		"--search-recipe max-goodput-under-slo --streaming --ttft-sla-ms 20 --e2e-sla-ms 9":                      "needs --itl-sla-ms or --tpot-sla-ms",
		"--search-recipe max-throughput-itl-sla --streaming --itl-sla-ms 20 --tpot-sla-ms 20":                    "mean the same",
		"--search-recipe max-throughput-ttft-sla --streaming --ttft-sla-ms 2 --search-space concurrency:1,8:int": "cannot be combined with a recipe",
		"--search-recipe max-throughput-ttft-sla --streaming --ttft-sla-ms 2 --search-metric goodput":            "cannot be combined with a recipe",
		"--search-recipe max-throughput-ttft-sla --streaming --ttft-sla-ms 2 --concurrency-min 2000":             "2000 is not below 1000",
		"--search-space concurrency:1,8:int --concurrency 1,2":                                                   "cannot be combined with an adaptive search",
		"--search-space concurency:1,8:int":                                                                      "unknown field concurency",
		"--search-space concurrency:1,8 --search-space concurrency:2,9":                                          "is a dimension twice",
		"--search-space concurrency:8,1:int":                                                                     "must be below hi",
		"--search-space concurrency:1,8:int --search-initial-points 9 --search-max-iterations 9":                 "leaves no iteration of 9",
		"--search-space concurrency:1,8:int --search-sla-tier a:request_latency:p95:lt:9":                        "of two to ten tiers",
		"--search-metric goodput":                                                                                "needs a setting that is searched",
		"--search-recipe concurrency-ramp --concurrency-max 1000000 --concurrency-steps 100000":                  "100000 cells; at most 10000",
	} {
		if _, err := profile(append([]string{"-m", "demo"}, strings.Fields(line)...)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", line, err, want)
		}
	}
	for line, want := range map[string]string{
		"--concurrency-min 2":                                        "--concurrency-min has no effect without --search-recipe",
		"--search-recipe concurrency-ramp --isl-min 3":               "--isl-min has no effect with --search-recipe concurrency-ramp",
		"--search-recipe concurrency-ramp --concurrency 3":           "--concurrency has no effect with --search-recipe, which sweeps it",
		"--ttft-sla-ms 3":                                            "--ttft-sla-ms has no effect without --search-recipe",
		"--search-sla request_latency:p95:lt:3":                      "--search-sla has no effect without a search (--search-space, --search-recipe) or a sweep",
		"--search-recipe concurrency-ramp --search-max-iterations 9": "--search-max-iterations has no effect with --search-recipe concurrency-ramp",
		"--image-format png":                                         "--image-format: has no effect without images",
		"--audio-depths 24":                                          "--audio-depths: has no effect without audio",
		"--warmup-request-count 0 --warmup-concurrency 2":            "--warmup-concurrency has no effect without a warmup phase",
	} {
		d, err := profile(append([]string{"-m", "demo"}, strings.Fields(line)...))
		if err != nil {
			t.Errorf("%s: %v", line, err)
		} else if said := strings.Join(slices.Concat(d.Warnings(), d.Notes(), idle(d)), "\n"); !strings.Contains(said,
			want) {
			t.Errorf("%s: warnings %q, want %s", line, said, want)
		}
	}
}

// idle is what has no effect in an experiment of one cell, in words.
func idle(d *schema.Document) []string {
	r, err := d.Resolve(nil)
	if err != nil {
		return nil // it is swept
	}
	d.Idle([]*schema.Resolved{r})
	return r.Idle()
}

// 0 of what may be left out is none.
func TestZeroIsNone(t *testing.T) {
	t.Parallel()
	base, err := profile([]string{"-m", "demo"})
	if err != nil {
		t.Fatal(err)
	}
	want, err := base.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"--warmup-request-count 0", "--num-warmup-requests 0", "--num-prefix-prompts 0",
		"--prefix-prompt-length 0 --prompt-prefix-pool-size 0",
	} {
		d, err := profile(append([]string{"-m", "demo"}, strings.Fields(line)...))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got, err := d.Resolve(nil); err != nil || string(got.JSON) != string(want.JSON) {
			t.Errorf("%s changes the body: %v", line, err)
		}
	}
	if _, err := profile([]string{"-m", "demo", "--request-count", "0"}); err == nil ||
		strings.Contains(err.Error(), "entries") {
		t.Errorf("--request-count 0: got %v, want one mistake about the flag", err)
	}
}
