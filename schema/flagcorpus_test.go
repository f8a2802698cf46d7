package schema_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/schema"
)

// recordedFlag is one option of AIPerf's profile command.
type recordedFlag struct {
	Name       string
	Aliases    []string
	Short      []string
	Negative   string
	Type       string `json:"py_type"`
	Default    any
	Choices    []any
	Repeatable bool
	MultiToken bool `json:"multi_token"`
	Group      string
	Sweeps     bool `json:"comma_list_sweeps"`
}

// diffFlag lists in what an option of ours differs from AIPerf's.
func diffFlag(f recordedFlag, o schema.Option) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, s := range f.Short {
		if "-"+o.Short != s {
			say("short %q, want %q", o.Short, s)
		}
	}
	if o.Instead != "" { // absent: as much as reading a command line needs
		if takes := f.Type != "bool"; takes == (o.Kind == "bool") {
			say("takes a value %v, want %v", !takes, takes)
		}
		if many := f.Repeatable || f.MultiToken; o.Many != many || o.Words != f.MultiToken {
			say("may be repeated %v, want %v", o.Many, many)
		}
		if f.Negative != "" && "--"+o.Neg != f.Negative {
			say("negative %q, want %q", o.Neg, f.Negative)
		}
		return out
	}
	if f.Negative != "" && "--"+o.Neg != f.Negative {
		say("negative %q, want %q", o.Neg, f.Negative)
	}
	if o.Group != f.Group {
		say("group %q, want %q", o.Group, f.Group)
	}
	if o.Sweep != f.Sweeps {
		say("sweeps %v, want %v", o.Sweep, f.Sweeps)
	}
	if many := f.Repeatable || f.MultiToken; o.Many != many {
		say("may be repeated %v, want %v", o.Many, many)
	}
	if o.Words != f.MultiToken {
		say("takes several words %v, want %v", o.Words, f.MultiToken)
	}
	if k := map[string]string{"int": "int", "float": "number", "bool": "bool"}[f.Type]; k != "" && k != o.Kind {
		say("kind %s, want %s", o.Kind, k)
	}
	if f.Choices != nil {
		var want []string
		for _, c := range f.Choices {
			want = append(want, fmt.Sprint(c))
		}
		if have := slices.Sorted(slices.Values(o.Enum)); !slices.Equal(have, slices.Sorted(slices.Values(want))) {
			say("choices %v, want %v", have, want)
		}
	}
	if want := typedDefault(f.Default); !sameDefault(o.Default, want) {
		say("default %q, want %q", o.Default, want)
	}
	return out
}

// typedDefault is a default as one would type it.
func typedDefault(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []any:
		words := make([]string, len(v))
		for i, w := range v {
			words[i] = typedDefault(w)
		}
		return strings.Join(words, ",")
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

func sameDefault(got, want string) bool {
	g, err1 := strconv.ParseFloat(got, 64)
	w, err2 := strconv.ParseFloat(want, 64)
	if err1 == nil && err2 == nil {
		return g == w
	}
	return strings.EqualFold(got, want)
}

// Every option of AIPerf exists with all its names, its default, its choices,
// its heading, and whether a comma list sweeps it.
func TestFlagsOfAIPerf(t *testing.T) {
	t.Parallel()
	byName := map[string]schema.Option{}
	for _, o := range schema.Options() {
		for _, n := range append(slices.Clone(o.Names), o.Neg) {
			if prev, dup := byName[n]; dup && n != "" {
				t.Errorf("--%s is a flag of %s and of %s", n, prev.Path, o.Path)
			}
			byName[n] = o
		}
		if o.Doc == "" {
			t.Errorf("--%s has no description", o.Names[0])
		}
	}
	var flags []recordedFlag
	readJSON(t, "flags.json", &flags)
	var c tally
	for _, f := range flags {
		main, ok := byName[strings.TrimPrefix(f.Name, "--")]
		if !ok {
			t.Errorf("%s is missing", f.Name)
			continue
		}
		for _, alias := range f.Aliases {
			if o, ok := byName[strings.TrimPrefix(alias, "--")]; !ok || o.Names[0] != main.Names[0] {
				t.Errorf("%s is no alias of %s", alias, f.Name)
			}
		}
		c.row(t, f.Name, flagDifferences, diffFlag(f, main))
	}
	t.Logf("%d flags agree, %d differ for a listed reason", c.agree, c.differ)
}

// Headings of help come in AIPerf's order.
func TestGroupsInAIPerfsOrder(t *testing.T) {
	t.Parallel()
	var flags []recordedFlag
	readJSON(t, "flags.json", &flags)
	built := map[string]bool{}
	for _, o := range schema.Options() {
		built[o.Group] = o.Instead == ""
	}
	var want, got []string
	for _, f := range flags {
		if !slices.Contains(want, f.Group) && built[f.Group] {
			want = append(want, f.Group)
		}
	}
	for _, o := range schema.Options() {
		if slices.Contains(want, o.Group) && !slices.Contains(got, o.Group) {
			got = append(got, o.Group)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("groups\n got %q\nwant %q", got, want)
	}
}

// commandLine splits words into assignments as the command does: options take
// one word, those that take several all words up to the next option.
func commandLine(argv []string) (file string, out []schema.Assignment, err error) {
	byName := map[string]schema.Option{}
	for _, o := range schema.Options() {
		for _, n := range o.Names {
			byName["--"+n] = o
		}
		if o.Short != "" {
			byName["-"+o.Short] = o
		}
		if o.Neg != "" {
			byName["--"+o.Neg] = o
		}
	}
	words := map[string][]string{}
	var order []string
	typed := map[string]string{}
	for i := 0; i < len(argv); i++ {
		name, value, joined := strings.Cut(argv[i], "=")
		o, ok := byName[strings.ReplaceAll(name, "_", "-")]
		if !ok {
			return "", nil, fmt.Errorf("unknown option %s", argv[i])
		}
		var got []string
		switch {
		case joined:
			got = []string{value}
		case o.Kind == "bool":
		case i+1 >= len(argv):
			return "", nil, fmt.Errorf("%s needs a value", name)
		default:
			i++
			got = []string{argv[i]}
			for o.Words && i+1 < len(argv) && !strings.HasPrefix(argv[i+1], "-") {
				i++
				got = append(got, argv[i])
			}
		}
		if o.Do == "config" {
			file = got[0]
			continue
		}
		main := o.Names[0]
		if _, again := words[main]; !again {
			order = append(order, main)
		} else if !o.Many {
			return "", nil, fmt.Errorf("%s is given twice", name)
		}
		words[main] = append(words[main], got...)
		typed[main] = strings.ReplaceAll(name, "_", "-")
	}
	for _, main := range order {
		as, err := byName["--"+main].Parse(typed[main], words[main])
		if err != nil {
			return "", nil, err
		}
		out = append(out, as...)
	}
	return file, out, nil
}

// profile is what `aiperf profile` makes of a command line.
func profile(argv []string) (*schema.Document, error) {
	var words []string
	for _, w := range argv {
		words = append(words, strings.ReplaceAll(w, "DATA/", corpus+"/data/"))
	}
	file, assignments, err := commandLine(words)
	if err != nil {
		return nil, err
	}
	return schema.Load(schema.Source{
		File: file, Assignments: assignments, Command: "profile", Tags: tags,
		Look: lookAt,
	})
}

// tags are the metrics of single requests that the recorded limits name.
var tags = []string{"request_latency", "time_to_first_token", "inter_token_latency"}

// recordedLine is a command line and the leaves it changed against
// `-m demo-7b`; "__absent__" is a leaf that went away.
type recordedLine struct {
	Name     string
	Argv     []string
	Outcome  string
	Resolved map[string]any
	Sweep    struct {
		Cells []recordedCell
	}
}

const absent = "__absent__"

// The bare command line has AIPerf's defaults, leaf by leaf.
func TestDefaultsOfAIPerf(t *testing.T) {
	t.Parallel()
	var want map[string]any
	readJSON(t, "cli_defaults.json", &want)
	d, err := profile([]string{"-m", "demo-7b"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	flatten(map[string]any{"benchmark": body(t, d, nil)}, "", got)
	for k, v := range want {
		if strings.HasPrefix(k, "benchmark.") && !same(got[k], v) {
			t.Errorf("%s: got %v, want %v", k, got[k], v)
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s: got %v, want nothing", k, v)
		}
	}
	e := d.Envelope()
	js, err := json.Marshal(e.MultiRun)
	if err != nil {
		t.Fatal(err)
	}
	var runs map[string]any
	if err := json.Unmarshal(js, &runs); err != nil {
		t.Fatal(err)
	}
	for k, v := range runs {
		if !same(v, want["multi_run."+k]) {
			t.Errorf("multi_run.%s: got %v, want %v", k, v, want["multi_run."+k])
		}
	}
}

// Every recorded command line resolves to AIPerf's leaves, or is refused as
// AIPerf refuses it.
func TestCommandLinesOfAIPerf(t *testing.T) {
	t.Parallel()
	var base map[string]any
	readJSON(t, "cli_defaults.json", &base)
	var c tally
	for _, r := range readRows[recordedLine](t, "cli_map.jsonl") {
		d, err := profile(r.Argv)
		var diff []string
		switch {
		case err != nil && r.Outcome == "refused":
		case err != nil:
			diff = []string{err.Error()}
		case r.Outcome == "refused":
			if len(d.Unsupported()) == 0 {
				diff = []string{"accepted, AIPerf refuses"}
			}
		default:
			diff = diffLine(t, d, r, base)
		}
		c.row(t, r.Name, lineDifferences, diff)
	}
	t.Logf("%d command lines agree, %d differ for a listed reason", c.agree, c.differ)
}

// diffLine compares the first cell with the leaves AIPerf changed, and the
// other leaves with those of the bare command line.
func diffLine(t *testing.T, d *schema.Document, r recordedLine, base map[string]any) []string {
	var point []schema.Assignment
	swept := map[string]bool{}
	if len(r.Sweep.Cells) > 0 {
		point = pointOf(d, 0, r.Sweep.Cells[0])
		for _, a := range point {
			swept[bare(a.Path)] = true
		}
	}
	got := map[string]any{}
	flatten(map[string]any{"benchmark": body(t, d, point)}, "", got)
	want := map[string]any{}
	for k, v := range base {
		if strings.HasPrefix(k, "benchmark.") {
			want[k] = v
		}
	}
	for k, v := range r.Resolved {
		if v == absent {
			delete(want, k)
		} else if strings.HasPrefix(k, "benchmark.") {
			want[k] = v
		}
	}
	var diff []string
	for k, v := range want {
		if h, ok := got[k]; !swept[bare(k)] && (!ok || !same(h, v)) {
			diff = append(diff, fmt.Sprintf("%s: got %v, want %v", k, h, v))
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok && !swept[bare(k)] {
			diff = append(diff, fmt.Sprintf("%s: got %v, want nothing", k, v))
		}
	}
	slices.Sort(diff)
	return diff
}

// bare spells a path without marks for members of lists.
func bare(path string) string { return strings.NewReplacer("[", ".", "]", "").Replace(path) }

// recordedMistake is an input AIPerf refuses, crashes on, or takes and should
// not.
type recordedMistake struct {
	Name, Kind string
	Input      any
	Verdict    string `json:"peer_verdict"`
	LateStop   string `json:"late_stop"`
}

// Every mistake that AIPerf refuses or stumbles over is refused, in a few
// lines that name a place.
func TestMistakesOfAIPerf(t *testing.T) {
	t.Parallel()
	var c tally
	for _, r := range readRows[recordedMistake](t, "reject.jsonl") {
		c.row(t, r.Name, mistakeDifferences, judge(r))
	}
	t.Logf("%d mistakes agree, %d differ for a listed reason", c.agree, c.differ)
}

func judge(r recordedMistake) []string {
	var d *schema.Document
	var err error
	if argv, ok := r.Input.([]any); ok {
		words := make([]string, len(argv))
		for i, w := range argv {
			words[i] = fmt.Sprint(w)
		}
		d, err = profile(words)
	} else {
		d, err = schema.Load(schema.Source{File: corpus + "/" + r.Input.(string), Command: "run", Tags: tags})
	}
	if err == nil {
		err = everyCell(d)
	}
	switch {
	case err == nil && (r.Verdict == "accepted" && r.LateStop == "" || r.Verdict == "ignored" &&
		len(d.Warnings())+len(idle(d)) > 0):
		return nil
	case err == nil && r.Verdict == "ignored":
		return []string{"accepted without a warning"}
	case err == nil:
		return []string{"accepted, AIPerf: " + r.Verdict + " " + r.LateStop}
	}
	if text := err.Error(); text == "" || strings.Count(text, "\n") > 8 || strings.Contains(text, "#") {
		return []string{"a poor message: " + text}
	}
	return nil
}

// everyCell resolves each value of each axis, so that cells say what is wrong
// with them.
func everyCell(d *schema.Document) error {
	if u := d.Unsupported(); len(u) > 0 {
		return u
	}
	s := d.Sweep()
	for _, a := range s.Axes {
		for i := range a.Values {
			if _, err := d.Resolve([]schema.Assignment{a.Assignment(i, a.Origin)}); err != nil {
				return err
			}
		}
	}
	if s.Design != nil {
		for _, dim := range s.Design.Dimensions {
			v := any(dim.Lo + 0.618*(dim.Hi-dim.Lo)) // somewhere within, and not whole
			if dim.Int {
				v = int64(dim.Hi)
			}
			if _, err := d.Resolve([]schema.Assignment{schema.Assign(dim.Path, v, dim.Origin)}); err != nil {
				return err
			}
		}
	}
	for _, sc := range s.Scenarios {
		if _, err := d.Resolve(sc.Assignments); err != nil {
			return err
		}
	}
	return nil
}

// The format of a file is found, and a trace is played by its time stamps.
func TestInferredFormat(t *testing.T) {
	t.Parallel()
	d, err := profile([]string{"-m", "demo", "--input-file", "DATA/moon.jsonl", "--fixed-schedule"})
	if err != nil {
		t.Fatal(err)
	}
	if u := d.Unsupported(); len(u) != 0 {
		t.Errorf("got %v, want nothing refused", u)
	}
}

// lookAt is what the program finds in a file.
func lookAt(path string) (schema.Records, error) {
	found, err := format.Detect(path)
	return schema.Records{Format: found.Format, Timed: found.Timed, Count: func() int64 { return format.Count(path) }},
		err
}
