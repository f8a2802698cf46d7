package runner

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/mockserver"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
	"aiperf.dev/aiperf/sweep/sweeptest"
)

// notInACleanRun are the metrics on which a clean run of texts has no number, with why: a
// gate on one of them can only be missed.
var notInACleanRun = map[string]string{
	"error_isl":                              "of requests that failed",
	"good_request_fraction_from_sent":        "of an open loop",
	"goodput_from_sent":                      "of an open loop",
	"reasoning_token_count":                  "the model does not reason",
	"total_reasoning_tokens":                 "the model does not reason",
	"usage_prompt_cache_read_tokens":         "the server says nothing of it",
	"usage_reasoning_tokens":                 "the server says nothing of it",
	"usage_reasoning_tokens_diff_pct":        "the server says nothing of it",
	"usage_accepted_prediction_tokens":       "no answer is predicted",
	"usage_rejected_prediction_tokens":       "no answer is predicted",
	"total_usage_accepted_prediction_tokens": "no answer is predicted",
	"total_usage_rejected_prediction_tokens": "no answer is predicted",
	"total_usage_prompt_cache_read_tokens":   "the server says nothing of it",
	"total_usage_reasoning_tokens":           "the server says nothing of it",
	"overall_usage_prompt_cache_read_pct":    "the server says nothing of it",
	"audio_duration":                         "of sound",
	"audio_throughput":                       "of sound",
	"image_latency":                          "of pictures in requests",
	"image_throughput":                       "of pictures in requests",
	"made_image_throughput":                  "of pictures in answers",
	"num_images":                             "of pictures in requests",
	"num_made_images":                        "of pictures in answers",
	"num_passages":                           "of rankings",
	"num_vectors":                            "of embeddings",
	"num_videos":                             "of videos",
	"passage_throughput":                     "of rankings",
	"rtfx":                                   "of sound",
	"time_to_first_partial_image":            "of pictures in answers",
	"vector_dimensions":                      "of embeddings",
	"vector_throughput":                      "of embeddings",
	"video_download_time":                    "of videos",
	"video_generation_time":                  "of videos",
	"video_inference_time":                   "of videos",
	"video_peak_memory":                      "of videos",
	"video_queue_time":                       "of videos",
	"video_throughput":                       "of videos",
}

// least is a condition that every number meets: spans between a stamp of the
// kernel and one of ours may be a little below 0.
const least = " > -1e12"

// A clean run holds a gate on every statistic of every metric of the catalogue
// that it can have: nothing counted is 0, and 0 is a value.
func TestCleanRunHoldsAGateOnEveryMetric(t *testing.T) {
	t.Parallel()
	cfg, err := mockserver.ParseURL("mock:?ttft=1ms&itl=1ms")
	if err != nil {
		t.Fatal(err)
	}
	server := mockserver.New(cfg)
	url, err := server.Start(0)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	plan := sweeptest.PlanOf(t, "benchmark.endpoint.urls=["+url+"]", "benchmark.endpoint.streaming=true",
		"tokenizer.name=builtin", "tables.formats=[csv]", "allow_invalid=true",
		"benchmark.slos={request_latency: 100000}", "datasets.main.prompts.isl=8", "datasets.main.prompts.osl=6", "phases.profiling={type: concurrency, concurrency: 4, requests: 40}")
	for _, m := range metrics.Catalogue() {
		if m.Needs&metrics.Answers != 0 { // it asks no questions
			continue
		}
		for _, stat := range m.Stats() {
			plan.Gates = append(plan.Gates, sweep.Gate{
				Expr:   decide.Key{Tag: m.Tag, Stat: stat}.Spoken() + least,
				Origin: m.Tag + "." + stat,
			})
		}
	}
	if err := decide.CheckGates(plan, metrics.Tags()); err != nil {
		t.Fatal(err)
	}
	res, err := Run(t.Context(), t.Context(), plan, Options{Dir: t.TempDir() + "/out"})
	if err != nil {
		t.Fatal(err)
	}
	if len(res.Outcomes) != 1 || res.Outcomes[0].OK != 40 {
		t.Fatalf("no clean run: %+v", res.Outcomes)
	}
	missed := map[string]bool{}
	for _, g := range res.Results.Cells[0].Gates {
		if !g.Held {
			tag, _, _ := strings.Cut(g.Gate.Origin, ".")
			missed[tag] = true
		}
	}
	got, want := slices.Sorted(maps.Keys(missed)), slices.Sorted(maps.Keys(notInACleanRun))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics that a clean run of texts has no number of (-listed +missed):\n%s", diff)
	}
}
