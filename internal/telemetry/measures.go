package telemetry

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Measure is a figure of a run that no single request tells: of its servers, its GPUs or
// the network, or what a program of the user's makes of all requests. The table metrics has
// it, and gates, comparisons and objectives may name it.
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
	OfPlugin Kindred = "plug-in"
)

// growing are the words of servers of which more is better.
var growing = []string{"prefix_hit_rate", "prefix_hits", "spec_accept", "spec_accepted", "generated_tokens"}

// Measures are all of them, the servers' first and those of programs last.
func Measures() []Measure {
	out := builtIn()
	declared.RLock()
	defer declared.RUnlock()
	for _, tag := range slices.Sorted(maps.Keys(declared.of)) {
		out = append(out, declared.of[tag])
	}
	return out
}

func builtIn() (out []Measure) {
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
	for _, m := range builtIn() {
		of[m.Tag] = m
	}
	return of
})

// declared are the measures of programs, by name: an experiment, or a result, has told of
// them. They are known to the whole process, as those that are built in.
var declared = struct {
	sync.RWMutex
	of map[string]Measure
}{of: map[string]Measure{}}

// Declare makes measures of programs known. One that is known already must have the same
// unit and direction; a description is kept where the other one has none.
func Declare(all ...Measure) error {
	declared.Lock()
	defer declared.Unlock()
	for _, m := range all {
		had, known := declared.of[m.Tag]
		switch {
		case !known:
		case had.Unit != m.Unit || had.LargerIsBetter != m.LargerIsBetter:
			return fmt.Errorf("metric %s has two meanings: %s, and %s", m.Tag, had.sense(), m.sense())
		case m.Doc == "":
			continue
		}
		m.Stats, m.Of = []string{"avg"}, OfPlugin
		declared.of[m.Tag] = m
	}
	return nil
}

// sense is the unit with the direction.
func (m *Measure) sense() string {
	if m.LargerIsBetter {
		return fmt.Sprintf("unit %q, higher is better", m.Unit)
	}
	return fmt.Sprintf("unit %q, lower is better", m.Unit)
}

// MeasureOf is the measure called tag.
func MeasureOf(tag string) (Measure, bool) {
	if m, ok := byTag()[tag]; ok {
		return m, true
	}
	declared.RLock()
	defer declared.RUnlock()
	m, ok := declared.of[tag]
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
