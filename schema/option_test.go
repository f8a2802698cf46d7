package schema

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/flags"
)

// Every action the schema names exists, and every action is named.
func TestActions(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, o := range flags.Options() {
		if o.Do != "" && flags.Action(o.Do) == nil {
			t.Errorf("--%s: no action %s", o.Names[0], o.Do)
		}
		named[o.Do] = true
	}
	for _, a := range flags.FlagActions() {
		if !named[a.Name] {
			t.Errorf("no flag names the action %s", a.Name)
		}
	}
}

// A name means one flag; every flag has a group, a doc and a place to go.
func TestOptionNames(t *testing.T) {
	t.Parallel()
	seen, x := map[string]string{}, fields.New()
	for _, o := range flags.Options() {
		names := append([]string{}, o.Names...)
		for _, n := range []string{o.Neg, o.Short} {
			if n != "" {
				names = append(names, n)
			}
		}
		for _, n := range names {
			if p, dup := seen[n]; dup {
				t.Errorf("%s: %s and %s", n, p, o.Path)
			}
			seen[n] = o.Path
		}
		if _, ok := x.KnownPath(o.Path); !ok && o.Path != "benchmark" {
			t.Errorf("--%s: no path %s", o.Names[0], o.Path)
		}
		if o.Doc == "" || o.Group == "Other" {
			t.Errorf("--%s: doc %q, group %q", o.Names[0], o.Doc, o.Group)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	swept := map[string]bool{"--concurrency1, 2,,4": true, "--isl-stddev1,10": true}
	for _, c := range []struct {
		flag  string
		words []string
		want  map[string]any
	}{
		{"--streaming", nil, map[string]any{"benchmark.endpoint.streaming": true}},
		{"--no-set-consistent-seed", nil, map[string]any{"multi_run.set_consistent_seed": false}},
		{"--concurrency", []string{"8"}, map[string]any{"benchmark.phases.profiling.concurrency": int64(8)}},
		{"--concurrency", []string{"1, 2,,4"}, map[string]any{"benchmark.phases.profiling.concurrency": []any{int64(1), int64(2), int64(4)}}},
		{"--concurrency", []string{"7,"}, map[string]any{"benchmark.phases.profiling.concurrency": int64(7)}},
		{"--isl-stddev", []string{"1,10"}, map[string]any{"benchmark.datasets.main.prompts.isl.stddev": []any{1.0, 10.0}}},
		{"--request-rate", []string{"nan"}, map[string]any{"benchmark.phases.profiling.rate": "nan"}},
		{"--tokenizer", []string{"7"}, map[string]any{"benchmark.tokenizer.name": "7"}},
		{"-u", []string{"h1", "h2,https://h3"}, map[string]any{"benchmark.endpoint.urls": []any{"h1", "h2", "https://h3"}}},
		{"--extra-inputs", []string{"a:5", "b:+5", "c:1e3", "d:007", "e:.5", "f:-1.50", "g:TRUE", "h:none", "i:[1,2]", "j:1_0"}, map[string]any{"benchmark.endpoint.extra": map[string]any{"a": int64(5), "b": "+5", "c": "1e3", "d": "007", "e": 0.5, "f": -1.5, "g": true, "h": nil, "i": []any{int64(1), int64(2)}, "j": "1_0"}}},
		{"--goodput", []string{"request_latency:1_000"}, map[string]any{"benchmark.slos": map[string]any{"request_latency": int64(1000)}}},
		{"--request-count", []string{"100_000"}, map[string]any{"benchmark.phases.profiling.requests": int64(100000)}},
		{"--request-rate", []string{"+1_000.5"}, map[string]any{"benchmark.phases.profiling.rate": 1000.5}},
		{"--request-count", []string{"1__0"}, map[string]any{"benchmark.phases.profiling.requests": "1__0"}},
		{"-H", []string{"X-A:1", "Accept: a:b"}, map[string]any{"benchmark.endpoint.headers": map[string]any{"X-A": "1", "Accept": "a:b"}}},
		{"--extra-inputs", []string{"a:1,b:2", "stop:x,y", `t:{"u":1},v:2`, "w:http://h/a,b"}, map[string]any{"benchmark.endpoint.extra": map[string]any{
			"a": int64(1), "b": int64(2), "stop": "x,y", "t": `{"u":1},v:2`, "w": "http://h/a,b",
		}}},
		{"--extra-inputs", []string{"a:9007199254740992", `b:"9007199254740993"`}, map[string]any{"benchmark.endpoint.extra": map[string]any{"a": int64(1 << 53), "b": "9007199254740993"}}},
		{"--extra-inputs", []string{"a:1", "b:x", `{"c": {"d": [1, 2.5]}}`, "e:true", "f:[1]"}, map[string]any{"benchmark.endpoint.extra": map[string]any{
			"a": int64(1), "b": "x", "c": map[string]any{"d": []any{int64(1), 2.5}}, "e": true, "f": []any{int64(1)},
		}}},
		{"--goodput", []string{"request_latency:900 time_to_first_token:150.5"}, map[string]any{"benchmark.slos": map[string]any{"request_latency": int64(900), "time_to_first_token": 150.5}}},
		{"--goodput", []string{"TTFT:100 itl:10", "latency:900"}, map[string]any{"benchmark.slos": map[string]any{"request_latency": int64(900), "time_to_first_token": int64(100), "inter_token_latency": int64(10)}}},
		{"--random-seed", []string{"7"}, map[string]any{"random_seed": int64(7), "benchmark.datasets.main.random_seed": int64(7)}},
		{"--export-level", []string{"Summary"}, map[string]any{"benchmark.artifacts.records": false}},
		{"--arrival-pattern", []string{"concurrency-burst"}, map[string]any{"benchmark.phases.profiling.type": "concurrency"}},
		{"--user-centric-rate", []string{"2"}, map[string]any{"benchmark.phases.profiling.type": "user_centric", "benchmark.phases.profiling.rate": int64(2)}},
		{"--seq-dist", []string{"64|8,32:60;512,128|2:40"}, map[string]any{"benchmark.datasets.main.prompts.sequence_distribution": []any{
			map[string]any{
				"isl": flags.MeanShape("64", "8"), "osl": flags.MeanShape("32", "0"),
				"probability": int64(60),
			},
			map[string]any{
				"isl": flags.MeanShape("512", "0"), "osl": flags.MeanShape("128", "2"),
				"probability": int64(40),
			},
		}}},
	} {
		got := map[string]any{}
		for _, a := range flag1(t, c.flag, c.words...) {
			got[a.Path] = a.Value.Plain()
			if a.Origin.Where != c.flag || a.Axis != swept[c.flag+strings.Join(c.words, "")] {
				t.Errorf("%s %q: origin %v, axis %v", c.flag, c.words, a.Origin, a.Axis)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %q: %s", c.flag, c.words, diff)
		}
	}
}

func TestParseMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag  string
		words []string
		want  string
	}{
		{"--concurrency", []string{"1", "2"}, "--concurrency: takes one value, got 2"},
		{"--concurrency", []string{","}, "--concurrency: a list without values"},
		{"--extra-inputs", []string{"seed:9223372036854775808"}, "--extra-inputs: seed: 9223372036854775808 is beyond 2^63, more than a whole number can be | with quotes it is a text: seed:\"…\""},
		{"--extra-inputs", []string{`{"seed": [123456789012345678901]}`}, "--extra-inputs: whole number 123456789012345678901 is out of range"},
		{"--extra-inputs", []string{"novalue"}, `--extra-inputs: expected key:value, got "novalue"`},
		{"--goodput", []string{"ttft<100"}, `--goodput: expected metric:limit, got "ttft<100" | --goodput "ttft:100"`},
		{"--goodput", []string{"time_to_first_token <= 100"}, `--goodput: expected metric:limit, got "time_to_first_token <= 100" | --goodput "time_to_first_token:100"`},
		{"-H", []string{"Bearer abc"}, "-H: expected Name:Value | such as X-Team:blue"},
		{"--export-level", []string{"al"}, `--export-level: "al" is not one of summary, records, raw`},
		{"--input-file", []string{"/nowhere.jsonl"}, "--input-file: /nowhere.jsonl: no such file or directory"},
		{"--request-cancellation-rate", []string{"0"}, "--request-cancellation-rate: must be above 0, got 0 | leave it out to cancel nothing"},
		{"--seq-dist", []string{"64:50"}, `--seq-dist: "64:50" is not isl,osl:percent | such as 64,32:50;128,64:50`},
		{"--variant", []string{"concurrency=4"}, "--variant: a sweep needs at least two variants | give the flag at least twice"},
		{"--variant", []string{"concurrency=4", "concurency=8"}, "--variant: unknown field concurency | did you mean concurrency?"},
	} {
		for _, o := range flags.Options() {
			if !slices.Contains(o.Names, strings.TrimLeft(c.flag, "-")) && "-"+o.Short != c.flag {
				continue
			}
			_, err := o.Parse(c.flag, c.words)
			if got := lines(err, ""); got != c.want {
				t.Errorf("%s %q: got %s, want %s", c.flag, c.words, got, c.want)
			}
		}
	}
}
