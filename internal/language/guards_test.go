package language

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cuelang.org/go/cue/cuecontext"
	"cuelang.org/go/cue/load"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/race"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
)

// How many experiments are drawn, and from where: for a longer look
//
//	go test ./internal/language -run TestGuards -drawn 5000 -from 1000
var (
	drawn = flag.Int("drawn", 40, "draw `N` experiments with guards and comprehensions")
	from  = flag.Uint64("from", 1, "begin with the seed `N`")
)

// An experiment that is written with guards, comprehensions, definitions,
// references and defaults is the experiment that these leave. Each one here is drawn
// as data, some with a mistake in it, and written in CUE at random. The program takes
// the CUE as it takes the data, with the same plan or the same mistakes; CUE itself
// exports the data; and the published schemas say what they say of any other file.
func TestGuards(t *testing.T) {
	t.Parallel()
	n := *drawn
	if race.Enabled { // which asks something else
		n = min(n, 12)
	}
	v, data := drawnExperiments(t, n)
	export := v.exported()
	taken, lost := 0, 0
	for i := range v.docs {
		d := &v.docs[i]
		d.ours = validate(d.file)
		bad := cmp.Or(caught(d.ours), placed(d.ours))
		if bad == "" && data[i] != nil {
			d.vet = v.vet(d)
			d.json = d.vet
			plain := d.file + ".data.json"
			write(t, plain, text(data[i]))
			bad = differs(d, plain)
			switch {
			case d.ours != nil || bad != "":
				bad = cmp.Or(bad, d.disagree())
			case d.vet != nil && ruleLost.MatchString(d.vet.Error()):
				lost++
			default:
				taken++
				bad = cmp.Or(same(export(d), text(data[i])), d.disagree())
			}
		}
		if bad != "" {
			t.Errorf("seed %d: %s\n%s\n%s\n%s", *from+uint64(i), bad, text(data[i]), d.text, d.file)
		}
	}
	t.Logf("%d experiments drawn, %d of them valid; in %d cue vet has a guard and a rule of the schema wait for each other", n, taken, lost)
	if taken < n/4 || taken == n || lost > n/8 {
		t.Errorf("%d of %d valid experiments, %d lost to cue vet, show little", taken, n, lost)
	}
}

// ruleLost is what cue vet says where CUE evaluates a rule of the published schema
// before a guard has put in the field that it asks for.
var ruleLost = regexp.MustCompile(`circular dependency in evaluation of conditionals|#rules|field is required but not present|incomplete value "?_`)

// drawnExperiments writes n experiments into folders of a module. Beside each is its
// data; nil for those whose text was torn afterwards, which only must not be fatal.
func drawnExperiments(t *testing.T, n int) (*validators, []object) {
	t.Helper()
	dir := vendored(t)
	var docs []document
	var data []object
	for i := range n {
		w := &writer{rnd: rand.New(rand.NewPCG(*from+uint64(i), 20))}
		exp := w.experiment()
		d, team := w.document(i, exp)
		if w.often(25) {
			d.text, exp = w.torn(d.text), nil
		}
		write(t, filepath.Join(dir, d.folder(i), "team", "team.cue"), team)
		docs, data = append(docs, d), append(data, exp)
	}
	return validatorsIn(t, dir, docs), data
}

// caught is what is said of an experiment that could not be evaluated.
func caught(err error) string {
	if err != nil && strings.Contains(err.Error(), "cannot be evaluated") {
		return err.Error()
	}
	return ""
}

// differs says how what is said of an experiment in CUE differs from what is said of
// its data: the mistakes, or the plan.
func differs(d *judged, plain string) string {
	if d.ours != nil {
		if cue, json := mistakes(d.ours), mistakes(validate(plain)); !slices.Equal(cue, json) {
			return fmt.Sprintf("mistakes in CUE %q, in its data %q", cue, json)
		}
		return ""
	}
	want, err := planned(plain)
	if err != nil {
		return fmt.Sprintf("valid in CUE, its data is not: %v", err)
	}
	if got, err := planned(d.file); got != want {
		return fmt.Sprintf("the plan is %s (%v), that of its data %s", got, err, want)
	}
	return ""
}

// exported is cue export, with a schema that says nothing.
func (v *validators) exported() func(d *judged) string {
	open := "package schema\n#Experiment: {...}\n"
	for _, def := range definitions {
		open += def + ": {...}\n"
	}
	over := map[string]load.Source{}
	// the pattern is a good one
	published, _ := filepath.Glob(filepath.Join(v.dir, "cue.mod/pkg/aiperf.dev/schema/*.cue"))
	for _, file := range published {
		over[file] = load.FromString("package schema\n")
	}
	over[published[0]] = load.FromString(open)
	return func(d *judged) string {
		inst := load.Instances([]string{"."}, &load.Config{
			Dir: filepath.Dir(d.file), ModuleRoot: v.dir,
			Overlay: over, Env: []string{"CUE_REGISTRY=none"},
		})[0]
		js, err := cuecontext.New().BuildInstance(inst).MarshalJSON()
		if err != nil {
			return err.Error()
		}
		return string(js)
	}
}

// same says where two texts are not the same JSON.
func same(got, want string) string {
	var g, w any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil || !reflect.DeepEqual(g, w) {
		return "cue export: " + got
	}
	return ""
}

// planned is the identity of an experiment's plan: its cells, seeds and trials.
func planned(file string) (string, error) {
	d, err := schema.Load(schema.Source{File: file, Command: "validate", Tags: metrics.Tags()})
	if err != nil {
		return "", err
	}
	plan, err := sweep.Expand(d)
	if err != nil {
		return "", err
	}
	return plan.Hash, nil
}

// mistakes are what is said of an experiment, without the places.
func mistakes(err error) (out []string) {
	var bad diag.Errors
	if err != nil && !errors.As(err, &bad) {
		return []string{err.Error()}
	}
	for _, e := range bad {
		out = append(out, e.Path+": "+e.Message)
	}
	slices.Sort(out)
	return out
}

// placed says which mistake has no place in a file.
func placed(err error) string {
	var bad diag.Errors
	if err == nil || !errors.As(err, &bad) {
		return ""
	}
	for _, e := range bad {
		var line, column int
		file, at, _ := strings.Cut(e.Place, ".cue:")
		if n, _ := fmt.Sscanf(at, "%d:%d", &line, &column); n != 2 {
			return "no place: " + e.Error()
		}
		text, err := os.ReadFile(file + ".cue")
		if err != nil {
			return err.Error()
		}
		if lines := strings.Split(string(text), "\n"); line < 1 || line > len(lines) || column < 1 ||
			column > len(lines[line-1]) {
			return "a place that is not there: " + e.Error()
		}
	}
	return ""
}

// object is a map in the order in which it is written.
type object []member

type member struct {
	key   string
	value any // object, []any, string, int, bool
}

// text is v as JSON.
func text(v any) string {
	var parts []string
	switch v := v.(type) {
	case object:
		for _, m := range v {
			parts = append(parts, strconv.Quote(m.key)+": "+text(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, it := range v {
			parts = append(parts, text(it))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}

// writer draws experiments and writes them in CUE.
type writer struct {
	rnd   *rand.Rand
	loops int      // for clauses that may still be written
	names int      // of fields, used
	above []string // declarations at the top of the file
	team  *writer  // of the package beside it, nil within that
	inner int      // how deep what is written stands within others
}

func (w *writer) often(percent int) bool { return w.rnd.IntN(100) < percent }

func pick[T any](w *writer, of ...T) T { return of[w.rnd.IntN(len(of))] }

// experiment is a small experiment; two in five have a mistake.
func (w *writer) experiment() object {
	maybe := func(percent int, m ...member) object {
		if w.often(percent) {
			return m
		}
		return nil
	}
	endpoint := append(object{{"url", "mock:"}}, maybe(40, member{"streaming", true})...)
	streaming := len(endpoint) > 1
	endpoint = append(endpoint, maybe(30, member{"headers", pick(w, object{}, object{{"X-A", "b"}},
		object{{"X-A", "b"}, {"X-B", "c"}, {"X-C", "d"}})})...)
	endpoint = append(endpoint, maybe(30,
		member{"extra", pick(w, object{}, object{{"temperature", 0}, {"nested", object{{"a", []any{1, 2, 3}}}}})})...)
	endpoint = append(endpoint, maybe(20, member{"timeout", 30})...)
	dataset := object{{"entries", 2}, {"isl", pick[any](w, 8, object{{"mean", 8}, {"stddev", 1}})}}
	dataset = append(dataset, maybe(40, member{"osl", pick[any](w, 4, object{{"mean", 4}})})...)
	phase := object{{"requests", w.rnd.IntN(20) + 4}}
	phase = append(phase, maybe(50, member{"type", "concurrency"})...)
	phase = append(phase, maybe(60, member{"concurrency", w.rnd.IntN(3) + 1})...)
	body := object{{"model", "demo"}, {"endpoint", endpoint}, {"dataset", dataset}}
	if w.often(25) {
		body = append(body, member{"phases", []any{
			object{{"name", "up"}, {"kind", "warmup"}, {"type", "concurrency"}, {"requests", 2}},
			append(object{{"name", "main"}, {"kind", "profiling"}}, phase...),
		}})
	} else {
		body = append(append(body, maybe(30, member{"warmup", object{{"requests", 2}}})...), member{"profiling", phase})
	}
	if streaming {
		body = append(body, maybe(40, member{
			"slos",
			pick(w, object{}, object{{"time_to_first_token", 200}, {"inter_token_latency", 15}}),
		})...)
	}
	body = append(body, maybe(20, member{"artifacts", object{}})...)
	exp := append(maybe(30, member{"name", "drawn"}), member{"benchmark", body})
	exp = append(exp, maybe(20, member{"multi_run", pick(w, object{}, object{{"num_runs", 2}})})...)
	exp = append(exp, maybe(20, member{"gates", []any{"error_rate == 0", "request_count > 0"}})...)
	exp = append(exp, maybe(20, member{"random_seed", 7})...)
	switch w.rnd.IntN(5) {
	case 0:
		axes := append(object{{"concurrency", []any{1, 2, 4}}}, maybe(50, member{"dataset.isl", []any{8, 16}})...)
		exp = append(exp, member{"sweep", object{{"type", "grid"}, {"parameters", axes}}})
	case 1:
		exp = append(exp, member{"sweep", object{{"type", "scenarios"}, {"runs", []any{
			object{{"name", "small"}, {"benchmark", object{{"dataset", object{{"isl", 4}}}}}},
			object{{"name", "large"}, {"benchmark", object{{"dataset", object{{"isl", 32}}}}}},
		}}}})
	case 2:
		exp = append(exp, member{"sweep", object{{"parameters", object{{"endpoint", []any{
			object{{"label", "a"}, {"url", "mock:?ttft=1ms"}}, object{{"label", "b"}, {"url", "mock:?ttft=2ms"}},
		}}}}}})
	}
	if w.often(40) {
		exp = w.mistaken(exp, "").(object)
	}
	return exp
}

// mistaken is v with one mistake, somewhere in it.
func (w *writer) mistaken(v any, path string) any {
	o, ok := v.(object)
	if !ok || strings.HasSuffix(path, ".headers") || strings.HasSuffix(path, ".extra") ||
		strings.HasSuffix(path, ".parameters") {
		return v
	}
	o = slices.Clone(o)
	if i := w.rnd.IntN(len(o) + 2); i < len(o) {
		if _, deeper := o[i].value.(object); deeper || len(o) == 0 {
			o[i].value = w.mistaken(o[i].value, path+"."+o[i].key)
			return o
		}
		if n, number := o[i].value.(int); number {
			o[i].value = pick[any](w, -n-1, "many", true)
			return o
		}
	}
	return append(o, member{pick(w, "zzz", "strming", "reqests"), pick[any](w, 1, "x", object{{"a", 1}})})
}

// document is the experiment in CUE, as the document of this number.
// with the package beside it.
func (w *writer) document(number int, exp object) (d document, team string) {
	w.loops = 4
	w.team = &writer{rnd: w.rnd, loops: 4}
	value := w.value(exp, "#Experiment")
	var b strings.Builder
	team = "package team\n"
	fmt.Fprintf(&b, "package experiment\n\nimport (\n\t\"aiperf.dev/schema\"\n\t\"list\"\n")
	if len(w.team.above) > 0 {
		fmt.Fprintf(&b, "\t\"local.invalid/experiments/cue%03d/team\"\n", number)
		team += "\nimport (\n\t\"aiperf.dev/schema\"\n\t\"list\"\n)\n\n" + known + strings.Join(w.team.above, "") +
			"#Used: schema.#Experiment\n_used: list.Sort([1], list.Ascending)\n"
	}
	fmt.Fprintf(&b, ")\n\n%s%s_used: list.Sort([1], list.Ascending)\n\nschema.#Experiment & %s\n", known,
		strings.Join(w.above, ""), value)
	return document{kind: "guards", name: "drawn.cue", ext: ".cue", text: b.String()}, team
}

// torn is text with one word changed.
func (w *writer) torn(text string) string {
	head, body, _ := strings.Cut(text, known)
	words := word.FindAllStringIndex(body, -1)
	at := words[w.rnd.IntN(len(words))]
	by := pick(w, "_", "int", "string", "{}", "[]", "null", "_n", "_words", "\"x\"", "-1", "(1 | 2)",
		"(*1 | 2 | {if _off {a: 1}})", "_|_", "{if _off {a: 1}}", "{if _open {a: 1}}", "[for x in _words {x}]")
	return head + known + "_open: bool\n" + body[:at[0]] + by + body[at[1]:]
}

// word is a value or a name.
var word = regexp.MustCompile(`"[a-z0-9_ =>]+"|\b[0-9]+\b|\b(true|false|_on|_off|_words|_n)\b`)

// known are what guards ask.
const known = "_on: true\n_off: false\n_n: 3\n_words: {a: 1, b: 2}\n"

// definitions are those of the schema that a key of the experiment has.
var definitions = map[string]string{
	"benchmark": "#Benchmark", "endpoint": "#Endpoint", "dataset": "#Dataset",
	"profiling": "#Phase", "warmup": "#Phase", "multi_run": "#MultiRun",
}

// value is v in CUE. def is its definition in the schema, "" where it has none.
func (w *writer) value(v any, def string) string {
	w.inner++
	defer func() { w.inner-- }()
	switch v := v.(type) {
	case object:
		return w.object(v, def)
	case []any:
		return w.list(v)
	}
	return w.scalar(v)
}

// name is a new one for a field at the top.
func (w *writer) name(prefix string) string {
	w.names++
	return fmt.Sprintf("%s%d", prefix, w.names)
}

// hoisted is a reference to an expression that is written elsewhere: at the top of
// the file, or in the package beside it.
func (w *writer) hoisted(v any, def string) string {
	to, prefix, from := w, pick(w, "_h", "#H"), ""
	if w.team != nil && w.often(40) {
		to, prefix, from = w.team, "#T", "team."
	}
	name := to.name(prefix)
	text := to.value(v, def)
	if def != "" && prefix != "_h" && w.often(50) {
		text = "schema." + def + " & " + text
	}
	to.above = append(to.above, name+": "+text+"\n")
	return from + name
}

func (w *writer) object(o object, def string) string {
	if w.inner > 1 && w.inner < 6 && w.often(12) {
		return w.hoisted(o, def)
	}
	var parts []string
	for len(o) > 0 {
		n := 1 + w.rnd.IntN(min(len(o), 3))
		parts = append(parts, w.part(o[:n]))
		o = o[n:]
	}
	for w.often(30) {
		parts = slices.Insert(parts, w.rnd.IntN(len(parts)+1), w.nothing())
	}
	if len(parts) == 1 && strings.HasPrefix(parts[0], "{") && w.often(50) {
		return parts[0]
	}
	return "{\n" + strings.Join(parts, "\n") + "\n}"
}

// part declares members, in one of the ways that there are.
func (w *writer) part(ms []member) string {
	plain := func() string {
		var out []string
		for _, m := range ms {
			out = append(out, w.field(m))
		}
		return strings.Join(out, "\n")
	}
	if w.inner > 7 {
		return plain()
	}
	braces := func() string { return "{\n" + plain() + "\n}" }
	switch w.rnd.IntN(12) {
	case 0, 1:
		return "if " + w.holds() + " " + braces()
	case 2:
		return "if " + w.holds() + " if " + w.holds() + " " + braces()
	case 3:
		return "if " + w.holds() + " {\n" + w.nothing() + "\n" + w.part(ms) + "\n}"
	case 4:
		if w.loop() {
			return "for x in [1] " + pick(w, "", "if x > 0 ", "let y = x ") + braces()
		}
	case 5:
		if words, ok := words(ms); ok && w.loop() {
			return "for k, v in " + words + " {\n(k): v\n}"
		}
	case 6:
		return braces() // embedded
	case 7:
		if w.inner < 5 && len(ms) == 1 {
			name := w.name("L")
			return "let " + name + " = " + w.value(ms[0].value, definitions[ms[0].key]) +
				"\n" + strconv.Quote(ms[0].key) + ": " + name
		}
	case 8:
		if w.loop() {
			return "for x in [0, 1, 2] if x == 1 " + braces()
		}
	}
	return plain()
}

// loop takes one of the for clauses that the limit of a file leaves.
func (w *writer) loop() bool {
	w.loops--
	return w.loops >= 0
}

// words are members with scalars as a struct on one line.
func words(ms []member) (string, bool) {
	for _, m := range ms {
		switch m.value.(type) {
		case object, []any:
			return "", false
		}
	}
	return text(object(ms)), true
}

func (w *writer) holds() string {
	return pick(w, "true", "_on", "!_off", "_n > 2", "_words.a == 1", "_words.a != _|_", "list.Contains([1, 2], 2)")
}

// nothing is a declaration that leaves nothing.
func (w *writer) nothing() string {
	if w.often(20) && w.loop() {
		return pick(w, "for x in [] {zzz: x}", "for x in [1, 2] if x > 2 {\"zzz\\(x)\": 1}")
	}
	return "if " + pick(w, "false", "_off", "!_on", "_n > 7", "_words.b == 1", "_words.b == _|_") + " " + pick(w,
		"{zzz: 1}", "{zzz: {if true {a: 1}}}", "{requests: 77, url: \"x\"}", "{}")
}

// field is one member; now and then it is said twice, or by a longer path.
func (w *writer) field(m member) string {
	key := m.key
	if strings.ContainsAny(key, "-.") || w.often(20) {
		key = strconv.Quote(key)
	}
	if o, ok := m.value.(object); ok && len(o) == 1 && w.often(40) {
		return key + ": " + strconv.Quote(o[0].key) + ": " + w.value(o[0].value, definitions[o[0].key])
	}
	out := key + ": " + w.value(m.value, definitions[m.key])
	switch {
	case w.often(5) && text(m.value) != "{}":
		out += "\n" + key + ": _"
	case w.often(8):
		out += "\n" + key + ": " + w.value(m.value, definitions[m.key])
	}
	return out
}

func (w *writer) list(l []any) string {
	var parts []string
	for _, it := range l {
		one := w.value(it, "")
		switch w.rnd.IntN(5) {
		case 0:
			one = "if " + w.holds() + " {" + one + "}"
		case 1:
			if w.loop() {
				one = "for x in [1] {" + one + "}"
			}
		}
		if w.often(15) {
			one = "if _off {\"zzz\"}, " + one
		}
		parts = append(parts, one)
	}
	whole := "[" + strings.Join(parts, ", ") + "]"
	switch {
	case w.often(15):
		return "list.Concat([" + whole + ", []])"
	case w.often(20) && w.loop():
		return "[for x in " + whole + " {x}]"
	}
	return whole
}

func (w *writer) scalar(v any) string {
	t := text(v)
	kind := map[reflect.Kind]string{
		reflect.String: "string", reflect.Int: "int",
		reflect.Bool: "bool",
	}[reflect.TypeOf(v).Kind()]
	switch w.rnd.IntN(14) {
	case 0:
		return "*" + t + " | " + kind
	case 1:
		return kind + " & " + t
	case 2:
		return "{if true {" + t + "}}"
	case 3:
		return "[if _off {null}, " + t + "][0]"
	case 4:
		return "{a: " + t + "}.a"
	case 5:
		if w.inner < 6 {
			return w.hoisted(v, "")
		}
	case 6:
		switch v := v.(type) {
		case int:
			return fmt.Sprintf("%d + _n", v-3)
		case string:
			return strconv.Quote(v[:len(v)/2]) + " + " + strconv.Quote(v[len(v)/2:])
		}
	case 7:
		if s, ok := v.(string); ok {
			return `"\(` + strconv.Quote(s) + `)"`
		}
	}
	return t
}
