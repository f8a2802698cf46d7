package telemetry

import (
	"slices"
	"sync"
)

// Measure is a figure of a run that no request tells: of its servers, its GPUs or the
// network. The table metrics has it, and gates, comparisons and objectives may name it.
type Measure struct {
	Tag, Unit, Doc string
	Stats          []string // that it has; one with a single statistic may stand alone
	LargerIsBetter bool
	Of             Kindred
	Formula        string // "" where the source says it
}

// Kindred is what a measure is of, and so which setting reads it.
type Kindred string

// What measures are of.
const (
	OfServer Kindred = "server"
	OfGPUs   Kindred = "GPUs"
)

// growing are the words of servers of which more is better.
var growing = []string{"prefix_hit_rate", "prefix_hits", "spec_accept", "spec_accepted", "generated_tokens"}

// Measures are all of them, the servers' first.
func Measures() []Measure {
	var out []Measure
	for _, w := range AllWords() {
		out = append(out, Measure{
			Tag: Tag(w.Name), Unit: w.Unit, Doc: w.Doc, Stats: w.Stats(), Of: OfServer,
			LargerIsBetter: slices.Contains(growing, w.Name),
		})
	}
	of := func(tag, stat, unit, doc, formula string, larger bool) {
		out = append(out, Measure{
			Tag: tag, Unit: unit, Doc: doc, Stats: []string{stat}, LargerIsBetter: larger, Of: OfGPUs, Formula: formula,
		})
	}
	of("gpu_count", "avg", "", "GPUs that were read, whether the server uses them or not", "", true)
	of("gpu_coverage", "avg", "ratio", "share of the window in which all GPUs are known", "", true)
	of("gpu_gap", "max", "s", "longest time without news of a GPU", "", false)
	of("gpu_torn_readings", "sum", "", "readings that lacked a GPU which others had", "", false)
	of("gpu_capped", "avg", "ratio",
		"share of the time for which a power or heat limit held clocks down, of the GPU where it was most",
		"growth of its power and thermal violation counters ÷ length of the window", false)
	of("gpu_power", "avg", "W", "mean power of all GPUs", "gpu_energy ÷ length of the window", false)
	of("gpu_energy", "sum", "J", "energy of all GPUs", "growth of their counters, else the area below their power", false)
	of("output_tokens_per_joule", "avg", "tokens/J", "output tokens for each joule of all GPUs", "output_token_throughput ÷ gpu_power", true)
	of("joules_per_request", "avg", "J/request", "energy of all GPUs for each request that was answered", "gpu_power ÷ request_throughput", false)
	of("watts_per_user", "avg", "W/user", "power of all GPUs for each request in flight", "gpu_power ÷ effective_concurrency", false)
	return out
}

// byTag are the measures by name: whoever estimates a statistic asks first whether it is
// one of these.
var byTag = sync.OnceValue(func() map[string]Measure {
	of := map[string]Measure{}
	for _, m := range Measures() {
		of[m.Tag] = m
	}
	return of
})

// MeasureOf is the measure called tag.
func MeasureOf(tag string) (Measure, bool) {
	m, ok := byTag()[tag]
	return m, ok
}

// MeasureTags are the names of all.
func MeasureTags() []string {
	var out []string
	for _, m := range Measures() {
		out = append(out, m.Tag)
	}
	return out
}
