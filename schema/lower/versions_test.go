package lower

import (
	"regexp"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/source"
)

// later is a history with a field that was renamed and one that was removed.
var later = []fields.Version{
	{Name: "2.0"},
	{Name: "2.1", Changes: []fields.Change{{Path: "gates", Kind: fields.Added, Doc: "conditions"}}},
	{Name: "2.2", Changes: []fields.Change{
		{Path: "benchmark.endpoint.max_wait", Kind: fields.Renamed, To: "timeout", Doc: "seconds"},
		{Path: "benchmark.phases.*.ramp", Kind: fields.Renamed, To: "concurrency_ramp", Doc: "the same"},
		{Path: "benchmark.gone", Kind: fields.Removed, Doc: "say runtime in its place"},
	}},
}

// upgraded reads text, brings it to the newest version and gives its text, the
// new names that the tree has, and what was said.
func upgraded(t *testing.T, text string) (rewritten, said string, root *source.Node) {
	t.Helper()
	root, bad := source.ReadYAML("e.yaml", []byte(text))
	if bad == nil {
		_, bad = Surface(fields.New(), root)
	}
	if bad != nil {
		t.Fatal(bad)
	}
	edits, bad := Upgrade(root, later)
	var lines []string
	for _, e := range edits {
		lines = append(lines, e.At.Where+": "+e.Note)
	}
	for _, e := range bad {
		lines = append(lines, e.Place+": "+e.Message+" | "+e.Hint)
	}
	out, bad := Rewrite("e.yaml", []byte(text), edits)
	for _, e := range bad {
		lines = append(lines, e.Place+": "+e.Hint)
	}
	return string(out), strings.Join(lines, "\n"), root
}

func TestUpgradeRenames(t *testing.T) {
	t.Parallel()
	const text = "\ufeff# ours\r\nschemaVersion: '2.0' # old\r\nmodel: dämo\r\nendpoint: {url: \"höst\", maxWait: 5} # seconds\r\nwarmup: {ramp: 1}\r\nprofiling:\r\n  \"ramp\": 2\r\n"
	out, said, root := upgraded(t, text)
	want := strings.NewReplacer("'2.0'", "'2.2'", "maxWait", "timeout", "ramp", "concurrency_ramp").Replace(text)
	if out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	if want := `e.yaml:2:16: schemaVersion: "2.0" is "2.2" now
e.yaml:4:25: benchmark.endpoint.max_wait: maxWait is timeout since version 2.2
e.yaml:5:10: benchmark.phases.0.ramp: ramp is concurrency_ramp since version 2.2
e.yaml:7:3: benchmark.phases.1.ramp: ramp is concurrency_ramp since version 2.2`; said != want {
		t.Errorf("said\n%s\nwant\n%s", said, want)
	}
	for _, path := range []string{
		"benchmark.endpoint.timeout", "benchmark.phases.warmup.concurrency_ramp",
		"benchmark.phases.profiling.concurrency_ramp",
	} {
		if root.At(path) == nil {
			t.Errorf("no %s", path)
		}
	}
}

// A sweep names fields by their paths, and lays objects over them.
func TestUpgradeRenamesInSweeps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want, said string }{
		"axes": {
			"sweep:\n  parameters: {endpoint.maxWait: [1, 2], 'phases.warmup.ramp': [3], ramp.duration: [4], isl: [8]}\n",
			"sweep:\n  parameters: {endpoint.timeout: [1, 2], 'phases.warmup.concurrency_ramp': [3], ramp.duration: [4], isl: [8]}\n",
			"sweep.parameters.endpoint.maxWait: endpoint.maxWait is endpoint.timeout since version 2.2\n" +
				"sweep.parameters.phases.warmup.ramp: phases.warmup.ramp is phases.warmup.concurrency_ramp since version 2.2",
		},
		"in step": {
			"sweep: {axes: [{zip: {\"benchmark.endpoint.max_wait\": [1]}}], derive: {profiling.ramp: concurrency}}\n",
			"sweep: {axes: [{zip: {\"benchmark.endpoint.timeout\": [1]}}], derive: {profiling.concurrency_ramp: concurrency}}\n",
			"sweep.axes.zip.benchmark.endpoint.max_wait: benchmark.endpoint.max_wait is benchmark.endpoint.timeout since version 2.2\n" +
				"sweep.derive.profiling.ramp: profiling.ramp is profiling.concurrency_ramp since version 2.2",
		},
		"values": {
			"sweep: {parameters: {endpoint: [{url: 'mock:', maxWait: 1}, {max_wait: 2}]}}\n",
			"sweep: {parameters: {endpoint: [{url: 'mock:', timeout: 1}, {timeout: 2}]}}\n",
			"sweep.parameters.endpoint.0.max_wait: maxWait is timeout since version 2.2\n" +
				"sweep.parameters.endpoint.1.max_wait: max_wait is timeout since version 2.2",
		},
		"samples": {
			"sweep: {type: sobol, dimensions: [{path: endpoint.max_wait, lo: 1, hi: 2}, {path: endpoint, choices: [{max_wait: 1}]}]}\n",
			"sweep: {type: sobol, dimensions: [{path: endpoint.timeout, lo: 1, hi: 2}, {path: endpoint, choices: [{timeout: 1}]}]}\n",
			"sweep.dimensions.0.path: endpoint.max_wait is endpoint.timeout since version 2.2\n" +
				"sweep.dimensions.1.path.0.max_wait: max_wait is timeout since version 2.2",
		},
		"named cells": {
			"sweep: {type: scenarios, runs: [{name: a, benchmark: {endpoint: {maxWait: 1}, profiling: {ramp: 2}}}]}\n",
			"sweep: {type: scenarios, runs: [{name: a, benchmark: {endpoint: {timeout: 1}, profiling: {concurrency_ramp: 2}}}]}\n",
			"sweep.runs.0.benchmark.endpoint.max_wait: maxWait is timeout since version 2.2\n" +
				"sweep.runs.0.benchmark.phases.0.ramp: ramp is concurrency_ramp since version 2.2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, said, _ := upgraded(t, "schemaVersion: \"2.1\"\n"+c.text)
			if want := "schemaVersion: \"2.2\"\n" + c.want; out != want {
				t.Errorf("got\n%s\nwant\n%s", out, want)
			}
			_, said, _ = strings.Cut(said, "\n")
			if places := placed.ReplaceAllString(said, ""); places != c.said {
				t.Errorf("said\n%s\nwant\n%s", places, c.said)
			}
		})
	}
}

var placed = regexp.MustCompile(`(?m)^e\.yaml:[0-9]+:[0-9]+: `)

func TestUpgradeLeavesAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"schemaVersion: \"2.2\"\nendpoint: {maxWait: 5}\n",         // of this version: an unknown key
		"endpoint: {maxWait: 5}\nbenchmark: {gone: 1}\n",           // says no version: of this one
		"schemaVersion: \"2.2\"\nbenchmark: {gone: 1, other: 2}\n", // the same
	} {
		if out, said, _ := upgraded(t, text); out != text || said != "" {
			t.Errorf("%q became %q: %s", text, out, said)
		}
	}
}

func TestUpgradeRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"schemaVersion: \"2.1\"\nbenchmark:\n  gone: 1\n":                                                "e.yaml:3:3: removed in version 2.2 | say runtime in its place",
		"schemaVersion: \"2.1\"\nbenchmark: {endpoint: {timeout: 1, max_wait: 2}}\n":                     "e.yaml:2:36: is called timeout since version 2.2, which is given too | keep one of them",
		"schemaVersion: \"2.1\"\nsweep: {parameters: {gone.x: [1]}}\n":                                   "e.yaml:2:22: removed in version 2.2 | say runtime in its place",
		"schemaVersion: \"2.1\"\nsweep: {parameters: {endpoint.max_wait: [1], endpoint.timeout: [2]}}\n": "e.yaml:2:22: is called endpoint.timeout since version 2.2, which is given too | keep one of them",
		"schemaVersion: !!str 2.1\nmodel: demo\n":                                                        "change it by hand",
	} {
		if _, said, _ := upgraded(t, text); !strings.Contains(said, want) {
			t.Errorf("%q: said %s, want %s", text, said, want)
		}
	}
}

func TestKnownVersion(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		`"2.0"`: "", `"2.2"`: "", `null`: "", `"{{ v }}"`: "",
		`"2.3"`:    `"2.3" is newer than this program | this program knows up to 2.2; update aiperf`,
		`"v9.0.0"`: `"v9.0.0" is newer than this program | this program knows up to 2.2; update aiperf`,
		`"1.9"`:    `"1.9" is not a version of the schema | this program knows up to 2.2: 2.0, 2.1, 2.2`,
		`latest`:   `"latest" is not a version of the schema | this program knows up to 2.2: 2.0, 2.1, 2.2`,
		`2.2`:      `expected text, got a number | in quotes, such as "2.2"`,
		`{a: 1}`:   `expected text, got an object | such as "2.2"`,
	} {
		root, bad := source.ReadYAML("e.yaml", []byte("schemaVersion: "+version+"\n"))
		if bad != nil {
			t.Fatal(bad)
		}
		got := ""
		for _, e := range KnownVersion(root, later) {
			got = e.Message + " | " + e.Hint
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}
