package acceptance

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"aiperf.dev/aiperf/internal/audit"
	"aiperf.dev/aiperf/internal/stats"
)

// audited is a load in which every quantity of an audit is there: warmup, several tokens in an
// event, refusals and answers that break off.
var audited = audit.Scenario{
	Name: "mutations", Server: "ttft=20ms&itl=4ms&chunk=2&error_rate=0.1&cut=0.05&seed=3",
	Closed: 8, Requests: 120, Warmup: 8, ISL: 48, OSL: 24,
}

// ours is the recipe of this program.
func ours(t *testing.T) audit.Recipe {
	t.Helper()
	all, err := audit.Recipes()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(r audit.Recipe) bool { return r.Name == "self" })
	return all[i]
}

// carriedOut is what an audit says of a recipe.
func carriedOut(t *testing.T, r audit.Recipe, s audit.Scenario, dir string) []audit.Line {
	t.Helper()
	res, err := audit.Run(t.Context(), built(t), &r, &s, dir)
	if err != nil {
		t.Fatal(err)
	}
	return res.Lines
}

// off are the quantities that do not agree, and why.
func off(said []audit.Line) map[string]string {
	out := map[string]string{}
	for _, l := range said {
		if l.Off != "" {
			out[l.Quantity] = l.Off
		}
	}
	return out
}

// An audit of this program finds no difference in what does not depend on the machine, and
// each of the ways in which a client may be wrong is found, by the quantity that it is about.
func TestAuditSelf(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	said := carriedOut(t, ours(t), audited, dir)
	honest := off(said)
	for _, quantity := range []string{
		"requests sent", "requests reported", "failures", "warmup counted", "answers left early", "connections",
		"input tokens", "output tokens",
	} {
		if why, differs := honest[quantity]; differs {
			t.Errorf("%s: %s", quantity, why)
		}
	}
	for _, l := range said {
		if l.Time && l.Off == "shorter than the server took" && l.Quantity[:3] != "ITL" {
			t.Errorf("%s: says %v, is %v", l.Quantity, *l.Says, *l.Is)
		}
	}

	truth, err := audit.ReadTruth(filepath.Join(dir, "truth.jsonl"), audited.Warmup)
	if err != nil {
		t.Fatal(err)
	}
	read := func() []export { return lines[export](t, filepath.Join(dir, "out", "profile_export.jsonl")) }
	// What is rewritten below is summed up as the program does it.
	for _, l := range audit.Score(&audited, summedUp(read()), truth) {
		i := slices.IndexFunc(said, func(o audit.Line) bool { return o.Quantity == l.Quantity })
		if says := said[i].Says; says != nil && !l.Asked && math.Abs(*says-*l.Says) > 1e-3*math.Abs(*says) {
			t.Errorf("%s: the program says %v, its records %v", l.Quantity, *says, *l.Says)
		}
	}
	for _, m := range mutations {
		found := off(audit.Score(&audited, summedUp(m.rewrite(read())), truth))
		if _, ok := found[m.found]; !ok {
			t.Errorf("%s: %s is not found off", m.name, m.found)
		}
		for quantity := range found {
			if _, before := honest[quantity]; !before && quantity != m.found && !slices.Contains(m.besides, quantity) {
				t.Errorf("%s: %s is found off as well", m.name, quantity)
			}
		}
	}
}

// What a client does differently from what it was asked is found in the log alone.
func TestAuditFindsAnotherLoad(t *testing.T) {
	t.Parallel()
	rate := audit.Scenario{
		Name: "rate", Server: "ttft=5ms&itl=1ms", Rate: 60, Law: "constant", Requests: 150, ISL: 16, OSL: 4,
	}
	for _, c := range []struct {
		name     string
		scenario audit.Scenario
		change   func(words []string) []string
		found    string
	}{
		{"fewer in flight", audited, filled("{concurrency}", "7"), "most in flight"},
		{"fewer requests", audited, filled("{requests}", "119"), "requests sent"},
		{"longer answers", audited, filled("{osl}", "23"), "output tokens asked"},
		{"longer prompts", audited, filled("{isl}", "64"), "input tokens asked"},
		{"a connection for each request", audited, func(words []string) []string {
			return append(words, "--connection-reuse-strategy", "never")
		}, "connections"},
		{"another process of arrivals", rate, filled("{law}", "poisson"), "spread of gaps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := ours(t)
			r.Closed, r.Open = c.change(slices.Clone(r.Closed)), c.change(slices.Clone(r.Open))
			if found := off(carriedOut(t, r, c.scenario, t.TempDir())); found[c.found] == "" {
				t.Errorf("%s is not found off, but %v", c.found, found)
			}
		})
	}
}

// filled puts a value in the place of what is asked.
func filled(place, value string) func([]string) []string {
	return func(words []string) []string {
		for i, w := range words {
			if w == place {
				words[i] = value
			}
		}
		return words
	}
}

// mutations are clients that report wrongly what they measured, each found by one quantity;
// besides are others that follow from it.
var mutations = []struct {
	name    string
	rewrite func(rows []export) []export
	found   string
	besides []string
}{
	{"stamps tokens late", each(func(e export) {
		add(e, "time_to_first_token", 1000)
		add(e, "request_latency", 1000)
	}), "TTFT p50", []string{"TTFT avg", "TTFT p90", "TTFT p99", "latency avg", "latency p50", "latency p90", "latency p99"}},
	{"takes the header for the first token", each(func(e export) {
		set(e, "time_to_first_token", 1)
	}), "TTFT p50", []string{"TTFT avg", "TTFT p90", "TTFT p99"}},
	{"reads tokens together", each(func(e export) {
		add(e, "inter_token_latency", -0.9*e.number("inter_token_latency"))
	}), "ITL p50", []string{"ITL avg", "ITL p90", "ITL p99"}},
	{"divides by the number of events", each(func(e export) {
		add(e, "inter_token_latency", 2*e.number("inter_token_latency"))
	}), "ITL avg", []string{"ITL p50", "ITL p90", "ITL p99"}},
	{"ends answers when the connection is closed", each(func(e export) {
		add(e, "request_latency", 1000)
	}), "latency p50", []string{"latency avg", "latency p90", "latency p99"}},
	{"forgets failures", func(rows []export) []export {
		return slices.DeleteFunc(rows, func(e export) bool { return e.Error != nil })
	}, "failures", []string{"requests reported"}},
	{"takes failures for answers", func(rows []export) []export {
		for i := range rows {
			rows[i].Error = nil
		}
		return rows
	}, "failures", []string{"throughput"}},
	{"counts the warmup", func(rows []export) []export {
		for i := range rows {
			rows[i].Metadata.Phase = "profiling"
		}
		return rows
	}, "warmup counted", []string{
		"requests reported", "failures", "throughput", "TTFT avg", "TTFT p50", "TTFT p90", "TTFT p99", "ITL avg", "ITL p50", "ITL p90", "ITL p99",
		"latency avg", "latency p50", "latency p90", "latency p99",
	}},
	{"leaves out what was last", func(rows []export) []export {
		last := slices.IndexFunc(rows, func(e export) bool { return e.Metadata.Phase == "profiling" && e.Error == nil })
		return slices.Delete(rows, last, last+1)
	}, "requests reported", []string{"throughput", "TTFT p90", "TTFT p99", "latency p90", "latency p99", "ITL p90", "ITL p99"}},
	{"counts events for tokens", each(func(e export) {
		set(e, "output_sequence_length", e.number("output_sequence_length")/2)
	}), "output tokens", nil},
	{"counts a chat template", each(func(e export) {
		add(e, "input_sequence_length", 7)
	}), "input tokens", nil},
}

// each rewrites the answers, one by one.
func each(change func(e export)) func([]export) []export {
	return func(rows []export) []export {
		for _, e := range rows {
			if e.Error == nil {
				change(e)
			}
		}
		return rows
	}
}

func set(e export, metric string, v float64) {
	m := e.Metrics[metric]
	m.Value = v
	e.Metrics[metric] = m
}

func add(e export, metric string, by float64) { set(e, metric, e.number(metric)+by) }

// summedUp is the report of a client with these records.
func summedUp(rows []export) audit.Report {
	var ok, failed float64
	values := map[string][]float64{}
	first, last := math.Inf(1), math.Inf(-1)
	for _, e := range rows {
		if e.Metadata.Phase != "profiling" {
			continue
		}
		first, last = min(first, e.Metadata.Start), max(last, e.Metadata.End)
		if e.Error != nil {
			failed++
			continue
		}
		ok++
		for metric := range maps.Keys(e.Metrics) {
			if v := e.number(metric); !math.IsNaN(v) {
				values[metric] = append(values[metric], v)
			}
		}
	}
	out := audit.Report{
		"request_count": {"avg": ok}, "error_request_count": {"avg": failed},
		"request_throughput": {"avg": ok / (last - first) * 1e9},
	}
	for metric, v := range values {
		slices.Sort(v)
		out[metric] = map[string]float64{
			"avg": stats.Mean(v), "p50": stats.Quantile(v, 0.5), "p90": stats.Quantile(v, 0.9), "p99": stats.Quantile(v, 0.99),
		}
	}
	return out
}
