package flags

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// flagAction is what a flag does that means more than "set a path": the
// schema names it with do=.
type flagAction func(o Option, at source.Origin, words []string) ([]lower.Assignment, error)

// Action is the row called name, nil for "".
func Action(name string) flagAction {
	for _, a := range FlagActions() {
		if a.Name == name && name != "" {
			return a.do
		}
	}
	return nil
}

// LimitNames are the names of screens that --goodput takes for metrics, in any case of letters.
var LimitNames = map[string]string{
	"ttft": "time_to_first_token", "ttst": "time_to_second_token", "ttfo": "time_to_first_output_token",
	"itl": "inter_token_latency", "tpot": "inter_token_latency", "icl": "inter_chunk_latency",
	"latency": "request_latency", "e2e": "request_latency", "e2el": "request_latency",
}

// limitTyped is a limit as other tools have it: "ttft<100", "inter_token_latency <= 10".
var limitTyped = regexp.MustCompile(`([a-z0-9_]+) *(?:<=|>=|<|>|=) *([0-9.]+)`)

// notALimit says what a limit of --goodput looks like, as far as possible with what was typed.
func notALimit(text string) error {
	var limits []string
	for _, m := range limitTyped.FindAllStringSubmatch(strings.ToLower(text), -1) {
		if LimitNames[m[1]] == "" && !strings.Contains(m[1], "_") { // which metric that is, is not known here
			limits = nil
			break
		}
		limits = append(limits, m[1]+":"+m[2])
	}
	hint := `--goodput "time_to_first_token:100 inter_token_latency:10" asks for a first token within 100 ms and a gap of 10 ms at most`
	if len(limits) > 0 {
		hint = `--goodput "` + strings.Join(limits, " ") + `"`
	}
	return diag.New(fmt.Sprintf("expected metric:limit, got %q", source.Short(text)), hint)
}

// FlagActions are the flags that need Go, by the name the schema gives them.
// What a flag means beside other flags is settled once all are known
// (schema/cmdline).
func FlagActions() []flagRow {
	return []flagRow{
		// the file is Source.File
		{"config", func(Option, source.Origin, []string) ([]lower.Assignment, error) { return nil, nil }},
		{"seed", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return each(o, at, words, "random_seed", fields.DatasetPath+".random_seed")
		}},
		{"header", header},
		{"extra", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return pairs(o, at, severalPairs(words), ":=", true)
		}},
		{"pairs", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return pairs(o, at, words, ":=", false)
		}},
		{"goodput", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			list := splitWords(words, " ")
			for i, w := range list {
				name, limit, ok := strings.Cut(w, ":")
				switch {
				case ok:
					name = cmp.Or(LimitNames[strings.ToLower(strings.TrimSpace(name))], name)
					list[i] = name + ":" + ungrouped(limit)
				case !strings.HasPrefix(strings.TrimSpace(w), "{"):
					return nil, notALimit(strings.Join(words, " "))
				}
			}
			return pairs(o, at, list, ":", true)
		}},
		{"input_file", inputFile},
		{"public_dataset", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return with(o, at, words, fields.DatasetPath+".type", fields.DatasetTypeTaking("dataset").Name)
		}},
		{"program", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return with(o, at, words, fields.DatasetPath+".type", fields.DatasetTypeTaking("plugin").Name)
		}},
		{"weka", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			out, err := with(o, at, words, fields.DatasetPath+".type", fields.DatasetTypeTaking("dataset").Name)
			return append(out, set(at, fields.DatasetPath+".dataset", "weka_hf")...), err
		}},
		{"types", func(o Option, at source.Origin, _ []string) ([]lower.Assignment, error) {
			return set(at, o.typePath(), o.Type), nil
		}},
		{"typed", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return with(o, at, words, o.typePath(), o.Type)
		}},
		{"start_offset", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return with(o, at, words, fields.PhasePath+".auto_offset", false)
		}},
		{"pattern", pattern},
		{"smoothness", plainFlag},
		{"rate", plainFlag},
		{"requests", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			if strings.HasPrefix(o.Path, fields.PhasePath) {
				return o.assign(at, words) // a measured phase of no requests is a mistake
			}
			return unlessZero(o, at, words)
		}},
		{"unless_zero", unlessZero},
		{"sessions", plainFlag},
		{"sweep_type", plainFlag},
		{"cache_bust", plainFlag},
		{"series", rateSeries},
		{"seq_dist", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			w, err := oneWord(words)
			if err != nil {
				return nil, err
			}
			list, err := sequenceDistribution(w)
			return set(at, o.Path, list), err
		}},
		{"cancel_rate", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			w, err := oneWord(words)
			if err == nil && source.NumberOf(o.value(w)) == 0 && fields.Coerce(w, false) != w {
				err = diag.New("must be above 0, got "+w, "leave it out to cancel nothing")
			}
			return set(at, o.Path, o.value(fmt.Sprint(w))), err
		}},
		{"milliseconds", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			w, err := oneWord(words)
			if ms, isNumber := fields.Coerce(w, false).(float64); isNumber {
				w = strconv.FormatFloat(ms/1e3, 'g', -1, 64)
			} else if ms, isNumber := fields.Coerce(w, false).(int64); isNumber {
				w = strconv.FormatFloat(float64(ms)/1e3, 'g', -1, 64)
			}
			return set(at, o.Path, o.value(w)), err
		}},
		{"media", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			out, err := plainFlag(o, at, words)
			parts := strings.Split(o.Path, ".") // benchmark.datasets.main.images.width.mean
			weak := source.Because(source.Follows, at.Where+" is given")
			return append(out, set(weak, strings.Join(parts[:4], ".")+".batch_size", int64(1))...), err
		}},
		{"khz", kilohertz},
		{"export_level", exportLevel},
		{"off", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return set(at, o.Path, false), nil
		}},
		{"verbose", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return verbosity(at, "DEBUG"), nil
		}},
		{"extra_verbose", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return verbosity(at, "TRACE"), nil
		}},
		{"variant", variants},
		{"search_space", searchSpace},
		{"search_sla", searchLimits},
		{"search_tier", searchTiers},
		{"gpu_telemetry", gpuTelemetry},
		{"server_metrics", serverMetrics},
		{"network_mean", networkMean},
		{"collector", collectorURL},
		{"streamed", streamed},
		{"mlflow_tag", func(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
			return pairs(o, at, words, ":", false)
		}},
	}
}

type flagRow struct {
	Name string
	do   flagAction
}

// plainFlag sets the flag's own path: the schema names an action only because
// other flags change what this one means.
func plainFlag(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	return o.assign(at, words)
}

// typePath is where the type of the object stands that the flag's value goes to.
func (o Option) typePath() string {
	object, _ := source.Cut(o.Path)
	return source.Join(object, "type")
}

// unlessZero sets nothing for 0: that many is none.
func unlessZero(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	out, err := o.assign(at, words)
	if len(out) == 1 && out[0].Value.Value == int64(0) {
		return nil, err
	}
	return out, err
}

// with sets the flag's path and one more.
func with(o Option, at source.Origin, words []string, path string, v any) ([]lower.Assignment, error) {
	out, err := o.assign(at, words)
	return append(set(at, path, v), out...), err
}

// each sets several paths to the flag's value.
func each(o Option, at source.Origin, words []string, paths ...string) ([]lower.Assignment, error) {
	w, err := oneWord(words)
	var out []lower.Assignment
	for _, p := range paths {
		out = append(out, set(at, p, o.value(w))...)
	}
	return out, err
}

func set(at source.Origin, path string, v any) []lower.Assignment {
	return []lower.Assignment{lower.Assign(path, v, at)}
}

func oneWord(words []string) (string, error) {
	if len(words) != 1 {
		return "", diag.New(fmt.Sprintf("takes one value, got %d", len(words)), "")
	}
	return words[0], nil
}

func splitWords(words []string, sep string) []string {
	var out []string
	for _, w := range words {
		for p := range strings.SplitSeq(w, sep) {
			if p = strings.TrimSpace(p); p != "" {
				out = append(out, p)
			}
		}
	}
	return out
}

// pairs reads key:value words, and JSON objects, into an object in their order that is
// laid over the field. Any byte of seps divides; with typed, values become numbers,
// booleans, lists and objects where they read so.
func pairs(o Option, at source.Origin, words []string, seps string, typed bool) ([]lower.Assignment, error) {
	m := source.ObjectNode(at)
	for _, w := range words {
		if strings.HasPrefix(strings.TrimSpace(w), "{") {
			object, err := source.JSONNode(w, at)
			switch {
			case err != nil && json.Valid([]byte(w)):
				return nil, err
			case err != nil || object.Kind != source.Object:
				return nil, diag.New(source.Short(w)+" is not a JSON object", "")
			}
			for _, f := range object.Fields {
				if err := putOnce(m, f.Name, f.Value); err != nil {
					return nil, err
				}
			}
			continue
		}
		i := strings.IndexAny(w, seps)
		if i <= 0 {
			return nil, diag.New(fmt.Sprintf("expected key%cvalue, got %q", seps[0], source.Short(w)), "")
		}
		key, value := strings.TrimSpace(w[:i]), strings.TrimSpace(w[i+1:])
		n := source.TextNode(value, at)
		if typed && key != templateKey {
			n = typedValue(value, at)
		}
		if err := putOnce(m, key, n); err != nil {
			return nil, err
		}
		if typed && key != templateKey && large(value) {
			return nil, diag.New(key+": "+source.Short(value)+" is beyond 2^63, more than a whole number can be",
				"with quotes it is a text: "+key+`:"…"`)
		}
	}
	return set(at, o.Path, m), nil
}

// putOnce adds a member that is not there yet.
func putOnce(to *source.Node, name string, v *source.Node) error {
	if to.Get(name) != nil {
		return diag.New(name+" is given twice", "keep one of them")
	}
	to.Put(name, v)
	return nil
}

// templateKey is the extra input that is a text whatever it looks like: a body
// may be JSON.
const templateKey = "payload_template"

// namedPair is the beginning of a pair whose name is a plain one.
var namedPair = regexp.MustCompile(`^\s*[A-Za-z_][A-Za-z0-9_.-]*:`)

// severalPairs takes a:1,b:2 apart, as AIPerf does. A word with quotes or brackets
// is one pair: JSON, a template or a path may stand in it.
func severalPairs(words []string) []string {
	var out []string
	for _, w := range words {
		list := strings.Split(w, ",")
		if strings.ContainsAny(w, "{[(\"'\n") || slices.ContainsFunc(list,
			func(p string) bool { return !namedPair.MatchString(p) }) {
			list = []string{w}
		}
		out = append(out, list...)
	}
	return out
}

// header reads Name:Value; a header's value is text whatever it looks like.
func header(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	headers := source.ObjectNode(at)
	for _, w := range words {
		if strings.HasPrefix(strings.TrimSpace(w), "{") {
			object, err := source.JSONNode(w, at)
			if err != nil || object.Kind != source.Object {
				return nil, diag.New("is not a JSON object of headers", "")
			}
			for _, f := range object.Fields {
				if err := putOnce(headers, f.Name, f.Value); err != nil {
					return nil, err
				}
			}
			continue
		}
		name, value, ok := strings.Cut(w, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, diag.New("expected Name:Value", "such as X-Team:blue") // the word may hold a secret
		}
		if err := putOnce(headers, name, source.TextNode(strings.TrimSpace(value), at)); err != nil {
			return nil, err
		}
	}
	return set(at, o.Path, headers), nil
}

// pattern is how gaps are drawn; AIPerf calls the closed loop a burst.
func pattern(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	w, err := oneWord(words)
	if t := fields.PatternNamed(suggest.Fold(w)); t != nil {
		w = t.Name
	}
	return set(at, o.Path, w), err
}

// kilohertz takes 48000 for 48.
func kilohertz(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	out, err := o.assign(at, words)
	for i := range out {
		out[i].Value, _ = out[i].Value.Replace("", func(_ string, n *source.Node) (*source.Node, diag.Errors) {
			if hz := source.NumberOf(n.Value); hz >= 1000 {
				return source.LeafNode(hz/1000, n.Origin), nil
			}
			return n, nil
		})
	}
	return out, err
}

// decimal is a number with a point, as AIPerf tells one from a word.
var decimal = regexp.MustCompile(`^-?(\d+\.\d*|\.\d+)$`)

// digits is a whole number with so many digits that it may be too large.
var digits = regexp.MustCompile(`^-?[1-9]\d{18,}$`)

// large reports whether a word is a whole number that an int64 has no place for.
func large(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return digits.MatchString(s) && err != nil
}

// typedValue reads a word as JSON where it is some, and true, false and none
// however they are written. As in AIPerf 007, +5 and 1e3 stay words.
func typedValue(s string, at source.Origin) *source.Node {
	if strings.EqualFold(s, "none") || strings.EqualFold(s, "null") {
		return &source.Node{Origin: at}
	}
	if decimal.MatchString(s) {
		return source.FromPlain(fields.Coerce(s, false), at)
	}
	if n, err := source.JSONNode(s, at); err == nil {
		if _, number := n.Value.(float64); !number {
			return n
		}
	}
	if b, ok := fields.Coerce(s, false).(bool); ok {
		return source.LeafNode(b, at)
	}
	return source.TextNode(s, at)
}

// serverMetrics takes addresses of pages of metrics; a word that is none is left out, as
// in AIPerf. Without any it asks for what is so anyway.
func serverMetrics(o Option, at source.Origin, words []string) ([]lower.Assignment, error) {
	if len(words) == 0 {
		return set(at, "benchmark.server_metrics.enabled", true), nil
	}
	urls := []any{}
	for _, w := range splitWords(words, ",") {
		if strings.Contains(w, ":") {
			urls = append(urls, withScheme(w))
		}
	}
	return set(at, o.Path, urls), nil
}
