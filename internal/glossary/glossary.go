// Package glossary says what one word of the program means: a word of its
// screens, a metric, a check, a setting, a column of the tables, or a fact or finding of
// aiperf diagnose. In goes a name as a
// person would type it, out come lines of a label and a text, from the same rows that the
// pages in docs/ are made of.
package glossary

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/docgen"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
)

// Line is one thing that is said of a word.
type Line struct{ Label, Text string }

// Kind is a kind of words.
type Kind struct {
	Name string
	// Explain says what a word means; several entries where several things are
	// called so.
	Explain func(name string) ([][]Line, error)
	// Names are all words of the kind, sorted.
	Names func() []string
}

// Kinds are the kinds of words there are.
func Kinds() []Kind {
	return []Kind{
		{"term", explainTerm, termNames},
		{"metric", metric, metricNames},
		{"check", check, checkNames},
		{"setting", setting, settingNames},
		{"column", column, columnNames},
		{"fact", fact, factNames},
		{"finding", finding, findingNames},
	}
}

// Find is the kind called name.
func Find(name string) (Kind, bool) {
	kinds := Kinds()
	if i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name }); i >= 0 {
		return kinds[i], true
	}
	return Kind{}, false
}

func unknown(kind, name, near string) error {
	hint := "aiperf explain " + kind + " lists them"
	if near != "" {
		hint = "did you mean " + near + "?"
	}
	return diag.New("no "+kind+" is called "+name, hint)
}

func metricNames() []string {
	names := slices.Clone(metrics.Tags())
	names = append(names, telemetry.MeasureTags()...)
	for _, m := range metrics.NetworkMetrics() {
		names = append(names, m.Tag)
	}
	slices.Sort(names)
	return names
}

func metric(name string) ([][]Line, error) {
	m, ok := metrics.Lookup(strings.ToLower(name))
	if !ok { // as a heading has it
		m, ok = headed(name)
	}
	if lines := told(strings.ToLower(name)); !ok && lines != nil {
		return [][]Line{lines}, nil
	}
	if !ok { // ttft, tpot, e2e …
		near := metrics.Suggest(name)
		if m, ok = metrics.Lookup(near); !ok || !metrics.Short(name) {
			return nil, unknown("metric", name, near)
		}
	}
	better := m.Better() + " is better"
	if m.Neutral {
		better = "neither more nor less is better: it describes the work or the load"
	}
	values := "one value for a run"
	if m.Distribution() {
		values = "a distribution: " + strings.Join(m.Stats(), ", ")
	}
	window := "the profiling phase as a whole; beside it the steady window, where there is one"
	if m.Derived == nil && m.Group != metrics.Effective && m.Group != metrics.Active {
		window = "successful requests that were sent in the profiling phase"
		if m.Needs&metrics.FailedOnly != 0 {
			window = "failed requests that were sent in the profiling phase"
		}
		if m.Of != "" {
			window = "all requests that were sent in the profiling phase"
		}
	}
	out := []Line{
		{m.Tag, m.Header},
		{"unit", m.Unit + ", " + better},
		{"formula", m.Formula},
		{"values", values},
		{"window", window},
		{"found", m.Group.Words()},
	}
	if needs := m.Needs.Words(); len(needs) > 0 {
		out = append(out, Line{"needs", strings.Join(needs, ", ")})
	}
	if m.PerRequest() {
		out = append(out, Line{"SLO", fmt.Sprintf("slos: {%s: LIMIT} judges each request by it", m.Tag)})
	}
	if m.Elsewhere != "" {
		out = append(out, Line{"elsewhere", m.Elsewhere})
	}
	return [][]Line{out}, nil
}

// told is a figure that is read beside requests, by what the tables call it.
func told(tag string) []Line {
	m, ok := telemetry.MeasureOf(tag)
	if !ok {
		return roundTrip(tag)
	}
	unit, better := m.Unit, ", lower is better"
	if unit == "" {
		unit = "a count"
	}
	if m.LargerIsBetter {
		better = ", higher is better"
	}
	found := "in the table metrics, of each server's page of metrics (column part); aiperf diagnose reads it"
	if m.Of == telemetry.OfGPUs {
		found = "in the table metrics, of all GPUs that were read"
	}
	gate := fmt.Sprintf("--gate %q; of several pages the worst counts", example(m))
	if m.Of == telemetry.OfPlugin {
		found, gate = "in the table metrics, of runs with its plug-in", fmt.Sprintf("--gate %q", example(m))
	}
	out := []Line{{tag, cmp.Or(m.Doc, "what a plug-in makes of the requests of a run")}, {"unit", unit + better}}
	if m.Formula != "" {
		out = append(out, Line{"formula", m.Formula})
	}
	out = append(
		out,
		Line{"values", strings.Join(m.Stats, ", ")},
		Line{"window", "the profiling phase as a whole (full), and the steady window, where there is one"},
		Line{"found", found},
		Line{"gate", gate},
	)
	var names []string
	for _, x := range telemetry.Meanings() {
		if telemetry.Tag(x.Word) == tag && !slices.Contains(names, x.Metric) {
			names = append(names, x.Metric)
		}
	}
	if len(names) > 0 {
		out = append(out, Line{"elsewhere", strings.Join(names, ", ")})
	}
	return out
}

// example is a gate on the measure.
func example(m telemetry.Measure) string {
	name, sign := m.Tag, " < "
	if len(m.Stats) > 1 {
		name += "." + m.Stats[len(m.Stats)-1]
	}
	if m.LargerIsBetter {
		sign = " > "
	}
	return name + sign + "LIMIT"
}

// roundTrip is a metric of the network's round trip.
func roundTrip(tag string) []Line {
	for _, m := range metrics.NetworkMetrics() {
		if m.Tag == tag {
			return []Line{
				{tag, m.Header},
				{"unit", m.Unit + ", lower is better"},
				{"found", "in AIPerf's files and the table metrics, with --network-latency-automatic or --network-latency-mean"},
			}
		}
	}
	return nil
}

// headed is the metric that a heading or a title calls so, with or without its statistic and
// unit: "TTFT", "TTFT p99 ms".
func headed(name string) (*metrics.Metric, bool) {
	name = strings.TrimSuffix(strings.TrimSuffix(name, " ms"), " mean")
	for _, tag := range metrics.Tags() {
		m, ok := metrics.Lookup(tag)
		if !ok {
			continue
		}
		called := name
		if i := strings.LastIndex(name, " "); i >= 0 && slices.Contains(m.Stats(), name[i+1:]) {
			called = name[:i]
		}
		for _, is := range []string{m.Short, m.Header} {
			if strings.EqualFold(is, name) || strings.EqualFold(is, called) {
				return m, true
			}
		}
	}
	return nil, false
}

func checkNames() []string { return slices.Sorted(slices.Values(verdict.CheckIDs())) }

func check(name string) ([][]Line, error) {
	id := strings.ReplaceAll(strings.ToLower(name), "-", "_")
	c, ok := verdict.Explain(id)
	if !ok {
		return nil, unknown("check", name, suggest.Nearest(id, verdict.CheckIDs()))
	}
	out := []Line{{c.ID, c.Doc}, {"kind", string(c.Kind) + ": " + c.Kind.Words()}}
	if c.Unit != "" {
		out = append(out, Line{"unit", c.Unit})
	}
	if c.Reads != "" {
		out = append(out, Line{"reads", c.Reads})
	}
	if marks := c.Marks(); marks != "" {
		out = append(out, Line{"marks", marks})
	}
	return [][]Line{append(out, Line{"limits", c.Limits},
		Line{"your own", fmt.Sprintf("verdict: {%s: {warn: …, fail: …}}", c.ID)}, Line{"try", c.Try})}, nil
}

func columnNames() (names []string) {
	for _, t := range sinks.Tables() {
		fields, err := sinks.Columns(t.Name)
		if err != nil {
			continue
		}
		for _, f := range fields {
			names = append(names, f.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// column is what a column of the tables holds; tables that say the same of it have one
// entry.
func column(name string) (out [][]Line, err error) {
	name = suggest.Fold(name)
	for _, t := range sinks.Tables() {
		fields, err := sinks.Columns(t.Name)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			if f.Name != name {
				continue
			}
			same := slices.IndexFunc(out, func(lines []Line) bool { return lines[0].Text == plain(f.Doc) })
			if same >= 0 {
				out[same][1].Text += ", " + t.Name
				continue
			}
			lines := []Line{{f.Name, plain(f.Doc)}, {"column of", t.Name}}
			if f.Unit != "" {
				lines = append(lines, Line{"unit", f.Unit})
			}
			out = append(out, lines)
		}
	}
	if len(out) == 0 {
		return nil, unknown("column", name, suggest.Nearest(name, columnNames()))
	}
	return out, nil
}

func settings() ([]docgen.Setting, error) {
	js, err := schema.ReferenceJSON()
	if err != nil {
		return nil, err
	}
	return docgen.Settings(js, schema.Options())
}

func settingNames() []string {
	all, err := settings()
	if err != nil {
		return nil
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Key)
		for _, f := range s.Flags {
			names = append(names, strings.TrimPrefix(f, "--"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// setting finds fields by the last part of a path, narrowed by the part before
// it, or by a flag.
func setting(name string) ([][]Line, error) {
	all, err := settings()
	if err != nil {
		return nil, err
	}
	flag := "--" + strings.TrimLeft(name, "-")
	parts := strings.Split(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_"), ".")
	key := parts[len(parts)-1]
	var found []docgen.Setting
	for _, s := range all {
		if slices.Contains(s.Flags, flag) || s.Key == key {
			found = append(found, s)
		}
	}
	if len(parts) > 1 {
		found = narrowed(found, strings.TrimPrefix(strings.Join(parts, "."), "benchmark."))
	}
	if block := membersOf(all, name); len(found) == 0 && block != nil {
		return [][]Line{block}, nil
	}
	if len(found) == 0 {
		return nil, unknown("setting", name, suggest.Nearest(strings.TrimLeft(name, "-"), settingNames()))
	}
	var out [][]Line
	for _, s := range found {
		where := "the experiment itself"
		if s.Object != "" {
			where = s.Object
		}
		lines := []Line{{s.Key, plain(s.Doc)}, {"belongs to", where}, {"takes", plain(s.Type)}}
		for _, object := range link.FindAllStringSubmatch(s.Type, -1) {
			if members := membersOf(all, object[1]); members != nil {
				lines = append(lines, Line{
					"its settings", "aiperf explain setting " + object[1] + ": " + keysOf(members[1:]),
				})
			}
		}
		if s.Default != "" {
			lines = append(lines, Line{"default", s.Default})
		}
		if len(s.Flags) > 0 {
			lines = append(lines, Line{"flags", strings.Join(s.Flags, ", ")})
		}
		out = append(out, lines)
	}
	return out, nil
}

// membersOf are the settings of an object of the experiment, each with its sentence; nil
// where none is called so.
func membersOf(all []docgen.Setting, object string) (lines []Line) {
	for _, s := range all {
		if s.Object != "" && strings.EqualFold(s.Object, object) {
			if lines == nil {
				lines = []Line{{s.Object, "an object of these settings:"}}
			}
			text := plain(s.Doc)
			if s.Default != "" {
				text += " (" + s.Default + ")"
			}
			lines = append(lines, Line{s.Key, text})
		}
	}
	return lines
}

// keysOf are the names of settings, one after another.
func keysOf(lines []Line) string {
	names := make([]string, len(lines))
	for i, l := range lines {
		names[i] = l.Label
	}
	return strings.Join(names, ", ")
}

// link is one of Markdown.
var link = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)

// plain is Markdown as a terminal shows it.
func plain(s string) string {
	return strings.NewReplacer("`", "", "\\|", "|").Replace(link.ReplaceAllString(s, "$1"))
}

// narrowed keeps the fields whose flag goes to path; all where none does.
func narrowed(found []docgen.Setting, path string) []docgen.Setting {
	var flags []string
	for _, o := range schema.Options() {
		if o.Path == path || o.Path == "benchmark."+path || strings.HasSuffix(o.Path, "."+path) {
			for _, n := range o.Names {
				flags = append(flags, "--"+n)
			}
		}
	}
	var out []docgen.Setting
	for _, s := range found {
		if slices.ContainsFunc(s.Flags, func(f string) bool { return slices.Contains(flags, f) }) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return found
	}
	return out
}
