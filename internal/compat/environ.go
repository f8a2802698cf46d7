package compat

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/schema"
)

// Variable is an environment variable of AIPerf's that means something here. Exactly one of
// Path, Read, Why and Told is set.
type Variable struct {
	Name string
	Path string // honoured: where it goes when it is not the default
	to   any    // what goes there; nil for the value itself
	Read string // honoured where it is read: what it says
	Why  string // refused: what to write instead
	Told string // without effect: how it is here
}

// Here says what becomes of it.
func (v Variable) Here() string {
	switch {
	case v.Path != "":
		return "sets " + v.Path
	case v.Read != "":
		return v.Read
	case v.Told != "":
		return "without effect: " + v.Told
	}
	return "refused: " + v.Why
}

// knob is a setting of AIPerf 0.13's environment: its default as Python writes it, and bounds
// such as ">=1 <=100".
type knob struct{ name, def, bounds, use string }

//go:embed environ.tsv
var environTable string

// knobs are all of them, in AIPerf's order.
func knobs() (out []knob) {
	for line := range strings.Lines(environTable) {
		c := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		if len(c) == 4 && strings.HasPrefix(c[0], "AIPERF_") {
			out = append(out, knob{c[0], c[1], c[2], c[3]})
		}
	}
	return out
}

// Variables are the rows, for the documentation.
func Variables() []Variable { return slices.Clone(variables) }

// Environment sorts the AIPERF_ names of an environment of NAME=VALUE: what they set, what is
// to be said of those without effect, the names that mean nothing here. A value that AIPerf
// refuses is refused.
func Environment(environ []string) (assigns []schema.Assignment, told, ignored []string, err error) {
	environ = slices.Sorted(slices.Values(environ))
	var all []knob
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "AIPERF_") {
			continue
		}
		if all == nil {
			all = knobs()
		}
		var k knob
		if i := slices.IndexFunc(all, func(k knob) bool { return k.name == name }); i >= 0 {
			k = all[i]
			if wrong := k.wrong(value); wrong != "" {
				return nil, nil, nil, diag.New(name+": "+wrong+", got "+strconv.Quote(value),
					"unset it: AIPerf's default is "+k.def)
			}
		}
		i := slices.IndexFunc(variables, func(v Variable) bool { return v.Name == name })
		switch {
		case i < 0:
			ignored = append(ignored, name)
		case k.asksNothing(value), variables[i].Read != "":
		case variables[i].Told != "":
			told = append(told, name+" has no effect here: "+variables[i].Told)
		case variables[i].Path == "":
			return nil, nil, nil, diag.New(name+": not supported here", "unset it: "+variables[i].Why)
		default:
			v := variables[i]
			if v.to == nil {
				v.to = k.value(value)
			}
			assigns = append(assigns, schema.Assign(v.Path, v.to, schema.Origin{Source: schema.ByEnv, Where: name}))
		}
	}
	return assigns, told, ignored, nil
}

// Kinds of values, by what the default looks like.
func (k knob) isBool() bool { return k.def == "True" || k.def == "False" }

func (k knob) isJSON() bool { return strings.HasPrefix(k.def, "[") || strings.HasPrefix(k.def, "{") }

func (k knob) isNumber() bool {
	_, err := strconv.ParseFloat(k.def, 64)
	return err == nil || k.bounds != ""
}

// wrong is what is wrong with a value; "" for nothing.
func (k knob) wrong(value string) string {
	value = strings.TrimSpace(value)
	switch {
	case value == "": // as if it were not set
	case k.isBool():
		if !slices.Contains([]string{"true", "false", "1", "0", "yes", "no", "on", "off", "t", "f", "y", "n"},
			strings.ToLower(value)) {
			return "must be true or false"
		}
	case k.isJSON():
		var v any
		err := json.Unmarshal([]byte(value), &v)
		if _, list := v.([]any); err != nil || list != strings.HasPrefix(k.def, "[") {
			return "must be JSON like " + strings.ReplaceAll(k.def, "'", `"`)
		}
	case k.isNumber():
		v, err := strconv.ParseFloat(value, 64)
		if whole := !strings.Contains(k.def, ".") && k.def != "None"; err != nil || whole && v != float64(int64(v)) {
			return map[bool]string{true: "must be a whole number", false: "must be a number"}[whole]
		}
		for _, bound := range strings.Fields(k.bounds) {
			op := strings.TrimRight(bound, "0123456789.e-")
			limit, err := strconv.ParseFloat(strings.TrimPrefix(bound, op), 64)
			held := map[string]bool{">": v > limit, ">=": v >= limit, "<": v < limit, "<=": v <= limit}[op]
			if err == nil && !held {
				return "must be " + map[string]string{
					">": "above ", ">=": "at least ", "<": "below ", "<=": "at most ",
				}[op] + strings.TrimPrefix(bound, op)
			}
		}
	}
	return ""
}

// value is what a value says.
func (k knob) value(value string) any {
	value = strings.TrimSpace(value)
	if v, err := strconv.ParseFloat(value, 64); err == nil && k.isNumber() {
		return v
	}
	var list []any
	if k.isJSON() && json.Unmarshal([]byte(value), &list) == nil {
		return list
	}
	return value
}

// asksNothing reports whether value is what AIPerf does anyway.
func (k knob) asksNothing(value string) bool {
	plain := func(s string) string {
		s = strings.ToLower(strings.Trim(strings.TrimSpace(s), "'"))
		switch s {
		case "1", "yes", "on", "y", "t":
			if k.isBool() {
				return "true"
			}
		case "0", "no", "off", "n", "f":
			if k.isBool() {
				return "false"
			}
		case "none":
			return ""
		}
		if v, err := strconv.ParseFloat(s, 64); err == nil {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
		return strings.ReplaceAll(strings.ReplaceAll(s, "'", `"`), " ", "")
	}
	return plain(value) == "" || plain(value) == plain(k.def)
}
