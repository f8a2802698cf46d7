// Package prove shows why a server was slow, by an experiment: each of its cells changes
// one thing about the load that was slow, and which times follow tells the causes apart.
//
// In go a load and what is known of it (Base, of a result directory by Read); out comes an
// experiment that anybody can read and run (Base.Experiment), and of what it gave the cause,
// or that the causes are not separable (Judge). causes.go holds the changes and what each
// cause expects of them, as data. Nothing here sends anything.
package prove

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
)

// Experiment is one that is ready to run.
type Experiment struct {
	Text   []byte // JSON, as any experiment
	Trials int
	Length time.Duration // of the measured phase of a run
	Takes  time.Duration // all of it, about
}

// Bounds of an experiment. The number of trials is even, for every second one runs in the
// reverse order.
const (
	fewestTrials = 4
	usualTrials  = 6
	mostTrials   = 12
	fewRequests  = 60  // of a run, as measured
	enough       = 400 // requests: more of them in a run say less than another trial
	perLatency   = 4   // a run is so many requests long
	perRun       = 200 * time.Millisecond
	// mostOften ends a run in which so many times as many requests are sent as the load had
	// answered: a server that refuses at once would be asked again at once until the time is over.
	mostOften = 12
)

// Experiment is that for a budget of time. An error says how much time it takes at least.
func (b *Base) Experiment(budget time.Duration) (*Experiment, error) {
	latency := time.Duration(b.Latency * float64(time.Millisecond))
	warmup := max(3*latency/2, 200*time.Millisecond)
	least := max(perLatency*latency, time.Duration(fewRequests/b.Rate*float64(time.Second)), 300*time.Millisecond)
	beside := warmup + latency + perRun // the last answers are awaited
	cells := time.Duration(1 + len(Changes()))
	trials := min(int(budget/cells/(least+beside))/2*2, mostTrials)
	if trials < fewestTrials {
		needs := fewestTrials * cells * (least + beside)
		return nil, &diag.Error{
			Code: diag.Invalid,
			Message: fmt.Sprintf("the budget of %s is too short for an experiment: a request takes %s, and %.2g are answered each second",
				words.Span(budget), words.Span(latency.Round(time.Millisecond)), b.Rate),
			Hint: "--budget " + longer(needs),
		}
	}
	if trials > usualTrials { // longer runs first, then more of them
		most := max(least, time.Duration(enough/b.Rate*float64(time.Second)))
		trials = min(max(usualTrials, int(budget/cells/(most+beside))/2*2), mostTrials)
	}
	length := budget/cells/time.Duration(trials) - beside
	length = min(length, max(2*least, time.Duration(2*enough/b.Rate*float64(time.Second))))
	text, err := b.text(trials, warmup, length, latency)
	return &Experiment{text, trials, length, time.Duration(trials) * cells * (length + beside)}, err
}

// Look is a short run of a load that was not measured yet, a cell's benchmark as the plan
// resolved it: its measured phase for a time. It says what Base has to know.
func Look(benchmark []byte, length time.Duration) ([]byte, error) {
	var of object
	if err := json.Unmarshal(benchmark, &of); err != nil {
		return nil, fmt.Errorf("the cell's benchmark: %w", err)
	}
	if _, made := dataset(of); made {
		return nil, diag.New("--prove: the requests of this experiment are not single turns of made-up text",
			"measure it first, then name the result: aiperf diagnose --prove DIR makes prompts of the same lengths")
	}
	kept := parts(of)
	kept["datasets"] = of["datasets"]
	phases, _ := of["phases"].([]any)
	for _, v := range phases {
		phase, _ := v.(object)
		if phase["kind"] == "warmup" {
			continue
		}
		delete(phase, "requests")
		delete(phase, "sessions")
		phase["duration"] = seconds(length)
		kept["phases"] = []any{phase}
		break
	}
	return json.MarshalIndent(object{"name": "look", "random_seed": 1, "benchmark": kept, "allow_invalid": true}, "", "  ")
}

// parts are those of a benchmark that say whom is asked, and how.
func parts(benchmark object) object {
	kept := object{}
	for _, name := range []string{"models", "endpoint", "tokenizer"} {
		if v, ok := benchmark[name]; ok && !empty(v) {
			kept[name] = v
		}
	}
	pages, _ := benchmark["server_metrics"].(object)
	if urls, _ := pages["urls"].([]any); pages["enabled"] == false || len(urls) > 0 {
		kept["server_metrics"] = pages
	}
	return kept
}

// empty removes what says nothing, and reports whether nothing is left.
func empty(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case bool:
		return !x // every setting of these parts is off unless it is on
	case string:
		return x == ""
	case []any:
		return len(x) == 0
	case object:
		for name, below := range x {
			if empty(below) {
				delete(x, name)
			}
		}
		return len(x) == 0
	}
	return false
}

// longer is a time as the command line takes it, rounded up.
func longer(d time.Duration) string {
	if d > 10*time.Minute {
		return fmt.Sprintf("%.0fm", math.Ceil(d.Minutes()))
	}
	return fmt.Sprintf("%.0fs", 5*math.Ceil(d.Seconds()/5))
}

// object is a part of an experiment.
type object = map[string]any

func (b *Base) text(trials int, warmup, length, latency time.Duration) ([]byte, error) {
	var benchmark object
	if err := json.Unmarshal(b.Benchmark, &benchmark); err != nil {
		return nil, fmt.Errorf("the cell's benchmark: %w", err)
	}
	kept := parts(benchmark)
	if endpoint, ok := kept["endpoint"].(object); ok && b.Streams {
		endpoint["streaming"] = true // which the time between tokens takes
	}
	entries := min(max(int(4*b.Rate*(warmup+length).Seconds()), 256), 8192)
	data, made := dataset(benchmark)
	b.Made = made
	prompts, _ := data["prompts"].(object)
	if prompts == nil {
		prompts = object{}
		data["prompts"] = prompts
	}
	isl, osl := spread(prompts["isl"]), spread(prompts["osl"])
	prompts["isl"] = object{"mean": "{{ isl }}", "stddev": "{{ isl_spread }}"}
	prompts["osl"] = object{"mean": "{{ osl }}", "stddev": "{{ osl_spread }}"}
	data["entries"] = entries
	kept["datasets"] = []any{data}
	most := func(d time.Duration) int { return int(b.Users + mostOften*b.Rate*d.Seconds()) }
	kept["phases"] = []any{
		object{
			"name": "warmup", "type": "concurrency", "concurrency": "{{ load }}", "duration": seconds(warmup),
			"requests": most(warmup), "grace_period": seconds(10 * latency),
		},
		object{
			"name": "profiling", "type": "concurrency", "concurrency": "{{ load }}", "duration": seconds(length),
			"requests": most(length), "grace_period": seconds(10*latency + time.Second), "seamless": true,
		},
	}
	n := func(v float64) int { return max(1, int(math.Round(v))) }
	shorter, prefix := object{"isl_spread": isl / 2}, 0.0
	as := object{"load": n(b.Users), "isl_spread": isl, "osl": n(b.OSL), "osl_spread": osl}
	for name, length := range prefixes(data) { // part of a prompt's length, and as much of it is cut off
		as[name], shorter[name] = n(length), n(length/2)
		data["prefix_prompts"].(object)[name] = "{{ " + name + " }}"
		prefix += length
	}
	as["isl"] = n(b.ISL - prefix)
	shorter["isl"] = n((b.ISL - prefix) / 2)
	runs := []any{object{"name": unchanged}}
	for i, less := range []object{
		{"load": n(b.Users / 4)},
		shorter,
		{"osl": n(b.OSL / 2), "osl_spread": osl / 2},
	} {
		runs = append(runs, object{"name": Changes()[i].Name, "variables": less})
	}
	return json.MarshalIndent(object{
		"name": "prove", "random_seed": 1, "variables": as, "benchmark": kept,
		"sweep":     object{"type": "scenarios", "runs": runs},
		"multi_run": object{"num_runs": trials}, "allow_invalid": true, // findings are about single figures
	}, "", "  ")
}

func seconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }

// dataset is that of the load where it is one of single turns that are made, else one that
// is made.
func dataset(benchmark object) (data object, made bool) {
	all, _ := benchmark["datasets"].([]any)
	if len(all) == 1 {
		d, _ := all[0].(object)
		prompts, _ := d["prompts"].(object)
		_, turns := d["turns"]
		_, pairs := prompts["sequence_distribution"]
		if d["type"] == "synthetic" && prompts != nil && !turns && !pairs {
			return d, false
		}
	}
	return object{"name": "main", "type": "synthetic", "prompts": object{}}, true
}

// prefixes are the lengths of what prompts share, by their names.
func prefixes(data object) map[string]float64 {
	shared, _ := data["prefix_prompts"].(object)
	out := map[string]float64{}
	for _, name := range []string{"length", "shared_system_length", "user_context_length"} {
		if v, ok := shared[name].(float64); ok && v >= 1 {
			out[name] = v
		}
	}
	return out
}

// spread is the standard deviation of a length.
func spread(v any) float64 {
	length, _ := v.(object)
	s, _ := length["stddev"].(float64)
	return s
}
