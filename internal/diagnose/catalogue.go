package diagnose

import (
	"math"

	"aiperf.dev/aiperf/internal/metrics"
)

// Fact is a number that rules ask for: a row of the catalogue.
type Fact struct {
	Name string
	Unit string // ms, share, requests, factor; "" for yes (1) or no (0)
	Doc  string
	// Lacking says what to do where it is not known.
	Lacking string
	of      func(*facts) float64
}

// What to do where a fact is not known.
const (
	needsPage     = "let the server's page of metrics be read (server metrics are on by default; SGLang needs --enable-metrics, llama.cpp --metrics)"
	needsTimes    = "use a server that reports queue, prefill and decode times at /metrics (vLLM, TensorRT-LLM)"
	needsLooks    = "measure for at least 5 s, so that the server's gauges are read often enough"
	needsLoads    = "measure at twice the load too"
	needsOne      = "measure at concurrency 1 too"
	needsOneByOne = "it cannot be told here: the server reads several prompts at once, or takes a fixed time for each"
	needsSameHits = "let the prefix cache help as much at every load, with prompts that share nothing"
	needsHigher   = "a higher load shows where the limit is"
	needsBetween  = "measure loads between this one and the next: the limit is reached between them"
	needsKV       = "use a server that reports the use of its KV cache at /metrics"
	needsCapped   = "let the GPUs' exporter publish DCGM_FI_DEV_POWER_VIOLATION and DCGM_FI_DEV_THERMAL_VIOLATION"
	needsCounter  = "use a server that counts looked-up and found prompt tokens at /metrics"
)

// Facts are the catalogue, in the order of the documentation.
func Facts() []Fact {
	return []Fact{
		{
			"client_limits", "", "a check says that the client sent late, less, or fewer at once than asked", "",
			(*facts).clientLimits,
		},
		{
			"client_slight", "", "client_limits, and no run is INVALID for it: less than a tenth of the load is missing", "",
			(*facts).clientSlight,
		},
		{
			"foreign", "share", "requests that the server finished beyond this run's own / own", needsPage,
			(*facts).foreign,
		},
		{
			"queue_share", "share", "of a request's time at the server, the part in its queue; from the server's histograms, else waiting / (waiting + running) by Little's law",
			needsPage, (*facts).queueShare,
		},
		{
			"queue_ms", "ms", "mean time in the server's queue", needsTimes,
			func(f *facts) float64 { return f.mean(func(t *trial) float64 { return t.each("queue_time") }) },
		},
		{
			"queue_steps", "factor", "mean time in the queue / time of a token: an engine that joins requests at its next step has below 1",
			needsTimes, func(f *facts) float64 { return f.get("queue_ms") / f.get("itl_ms") },
		},
		{
			"waiting", "requests", "requests in the queue, weighted with time", needsLooks,
			func(f *facts) float64 { return f.gauge("waiting", "avg") },
		},
		{
			"waiting_median", "requests", "requests in the queue, half of the time at least", needsLooks,
			func(f *facts) float64 { return f.gauge("waiting", "p50") },
		},
		{
			"running", "requests", "requests being worked on, weighted with time", needsLooks,
			func(f *facts) float64 { return f.gauge("running", "avg") },
		},
		{
			"running_most", "requests", "most requests being worked on at once", needsLooks,
			func(f *facts) float64 { return f.gauge("running", "max") },
		},
		{
			"running_flat", "share", "median of the requests being worked on / most of them: near 1 at a cap", needsLooks,
			func(f *facts) float64 {
				return f.mean(func(t *trial) float64 { return t.gauge("running", "p50") / t.gauge("running", "max") })
			},
		},
		{
			"running_cap", "requests", "running_most where running_flat is near 1, or where requests wait at two neighbouring loads and as many ran at once, at most, at both",
			needsLooks, (*facts).runningCap,
		},
		{
			"kv_median", "share", "of the KV cache in use, half of the time at least", needsKV,
			func(f *facts) float64 { return f.gauge("kv_use", "p50") },
		},
		{
			"kv_most", "share", "of the KV cache in use, at most", needsKV,
			func(f *facts) float64 { return f.gauge("kv_use", "max") },
		},
		{
			"kv_room", "requests", "how many more requests the free part of the KV cache would hold, each as large as those that ran",
			needsKV, func(f *facts) float64 {
				return (1 - f.get("kv_most")) / (f.get("kv_most") / f.get("running_most"))
			},
		},
		{
			"preempted", "share", "times that a request lost its place in the KV cache / requests", needsKV,
			(*facts).preempted,
		},
		{
			"outside_ms", "ms", "what the client waits for the first token beyond what the server reports", needsPage,
			(*facts).outside,
		},
		{
			"outside_share", "share", "of the client's time to first token, the part that the server does not report",
			needsPage, func(f *facts) float64 { return f.get("outside_ms") / f.get("ttft_ms") },
		},
		{
			"outside_growth", "factor", "outside_ms / the same at the lowest load", needsLoads,
			func(f *facts) float64 { return f.against("outside_ms") },
		},
		{"prefill_ms", "ms", "mean time from a request's turn to its first token", needsTimes, (*facts).prefill},
		{
			"decode_ms", "ms", "mean time from the first token to the last", needsTimes,
			func(f *facts) float64 { return f.mean(func(t *trial) float64 { return t.each("decode_time") }) },
		},
		{"itl_ms", "ms", "mean time between tokens", needsPage, (*facts).itl},
		{
			"latency_ms", "ms", "mean request latency of the client", "",
			func(f *facts) float64 { return f.client(metrics.RequestLatency) },
		},
		{"ttft_ms", "ms", "mean time to first token of the client, over the whole run", "", func(f *facts) float64 {
			return f.mean(func(t *trial) float64 {
				if t.whole != nil {
					t = t.whole
				}
				return t.of(metrics.TimeToFirstToken)
			})
		}},
		{
			"rate", "requests/s", "requests served each second", "",
			func(f *facts) float64 { return f.client(metrics.RequestThroughput) },
		},
		{
			"prompt_ms", "ms", "time that the prompt of one request takes alone: prefill_ms at concurrency 1, without the step that makes the first token",
			needsOne, (*facts).prompt,
		},
		{
			"prefill_use", "share", "of the time, the part that prompts take in an engine that reads one after the other: rate × prompt_ms (utilization law); not known where that is more than all of it, or another figure says that prompts are not read so",
			needsOne, (*facts).prefillUse,
		},
		{
			"isl_growth", "exponent", "growth of prompt_ms with the prompts, over cells that differ in ISL alone: ln(prompt_ms ratio) / ln(ISL ratio); 1 is proportional",
			"measure a second input length too, for example --isl 512,2048", (*facts).islGrowth,
		},
		{
			"prefill_growth", "factor", "prefill_ms / the same at the lowest load", needsLoads,
			func(f *facts) float64 { return f.against("prefill_ms") },
		},
		{
			"itl_growth", "factor", "itl_ms / the same at the lowest load", needsLoads,
			func(f *facts) float64 { return f.against("itl_ms") },
		},
		{
			"decode_growth", "factor", "itl_ms / the same at the lowest load, without the part that prompts of others take: × (1 − prefill_use)",
			needsOne, func(f *facts) float64 {
				return f.get("itl_growth") * (1 - f.get("prefill_use"))
			},
		},
		{
			"gain", "exponent", "growth of throughput with the load since the next lower one: ln(throughput ratio) / ln(load ratio); 1 is proportional",
			needsLoads, func(f *facts) float64 { return gain(f.lower, f) },
		},
		{
			"gain_next", "exponent", "gain from this load to the next higher one", needsLoads,
			func(f *facts) float64 { return gain(f, f.higher) },
		},
		{"gain_last", "exponent", "gain at the highest load", needsLoads, func(f *facts) float64 {
			if f.higher != nil {
				return math.NaN()
			}
			return f.get("gain")
		}},
		{"kept_up", "", "an open loop's requests were answered as fast as they came", "", (*facts).keptUp},
		{
			"hit_rate", "share", "of the prompt tokens, those that the prefix cache had", needsCounter,
			func(f *facts) float64 {
				return f.mean(func(t *trial) float64 { return t.says("prefix_hit_rate", "avg") })
			},
		},
		{"hit_spread", "share", "largest hit rate of a trial less the smallest", needsCounter, (*facts).hitSpread},
		{
			"gpu_capped", "share", "of the time, the part for which a power or heat limit held a GPU's clocks down", needsCapped,
			func(f *facts) float64 { return f.mean(func(t *trial) float64 { return t.of(cappedShare) }) },
		},
		{
			"drift", "", "the check drift says that the server changed while the plan was carried out", "",
			func(f *facts) float64 { return f.tripped("drift") },
		},
	}
}
