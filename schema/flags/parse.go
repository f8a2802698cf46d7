package flags

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/fields"
	"aiperf.dev/aiperf/schema/lower"
	"aiperf.dev/aiperf/schema/source"
)

// Parse reads the words of a flag that was typed as name; a flag that may be
// repeated gets the words of all its repetitions at once. A comma list on a
// Sweep option gives one assignment that is an axis. Values are checked later,
// with everything else.
func (o Option) Parse(name string, words []string) ([]lower.Assignment, error) {
	at := source.Origin{Source: source.ByFlag, Flag: o.Names[0], Where: dashed(name)}
	o.off = o.Neg != "" && strings.TrimLeft(name, "-") == o.Neg
	if bad := o.blank(at, words); bad != nil {
		return nil, bad
	}
	if bad := o.misfit(at, words); bad != nil {
		return nil, bad
	}
	if o.Instead != "" {
		return o.absentFlag(at, words)
	}
	return o.act(at, words)
}

// act is what the flag's action makes of its words, or what they say plainly.
func (o Option) act(at source.Origin, words []string) ([]lower.Assignment, error) {
	act := Action(o.Do)
	if act == nil {
		return o.assign(at, words)
	}
	if o.Kind == "bool" && len(words) == 1 && fields.Coerce(words[0], true) == false {
		return nil, nil // not asked for
	}
	out, err := act(o, at, words)
	var one *diag.Error
	switch bad, many := err.(diag.Errors); {
	case many:
		return nil, bad
	case errors.As(err, &one):
		return nil, diag.Errors{{Path: o.Path, Place: at.Where, Message: one.Message, Hint: one.Hint}}
	case err != nil:
		return nil, diag.Errors{{Path: o.Path, Place: at.Where, Message: err.Error()}}
	}
	return out, nil
}

// blank refuses a flag without a word that it needs, and an empty one: no
// setting has an empty value.
func (o Option) blank(at source.Origin, words []string) diag.Errors {
	switch {
	case o.Kind == "bool":
		return nil
	case len(words) == 0 && !o.Bare:
		return diag.Errors{{Path: o.Path, Place: at.Where, Message: "needs a value"}}
	case slices.ContainsFunc(words, func(w string) bool { return strings.TrimSpace(w) == "" }):
		return diag.Errors{{Path: o.Path, Place: at.Where, Message: "must not be empty", Hint: "leave the flag out"}}
	}
	return nil
}

// misfit refuses a word that a flag with a meaning of its own cannot take
// though its field could; all other words are checked with the fields they set.
func (o Option) misfit(at source.Origin, words []string) diag.Errors {
	if o.Do == "" || len(words) != 1 {
		return nil
	}
	w := words[0]
	switch _, truth := fields.Coerce(w, true).(bool); {
	case o.Kind == "bool" && !truth:
		return diag.Errors{{Path: o.Path, Place: at.Where, Message: fmt.Sprintf("expected true or false, got %q",
			source.Short(w)), Kind: true}}
	case o.Kind == "string" && !o.Many && len(o.Enum) > 0 && fields.New().At(o.Path).Takes(w) &&
		!slices.ContainsFunc(o.Enum, func(e string) bool { return suggest.Fold(e) == suggest.Fold(w) }):
		return diag.Errors{{Path: o.Path, Place: at.Where, Message: fmt.Sprintf("%q is not one of %s", source.Short(w),
			strings.Join(o.Enum, ", ")), Hint: suggest.DidYouMean(w, o.Enum)}}
	}
	return nil
}

// dashed is a flag as it is typed.
func dashed(name string) string {
	switch {
	case strings.HasPrefix(name, "-"):
		return name
	case len(name) == 1:
		return "-" + name
	}
	return "--" + name
}

func (o Option) assign(at source.Origin, words []string) ([]lower.Assignment, error) {
	one := func(v any) []lower.Assignment { return set(at, o.Path, v) }
	switch {
	case o.Kind == "bool" && len(words) == 0:
		return one(!o.off), nil
	case o.Many:
		return one(o.values(words)), nil
	case len(words) != 1:
		return nil, diag.Errors{{
			Path: o.Path, Place: at.Where,
			Message: fmt.Sprintf("takes one value, got %d", len(words)),
		}}
	case o.Sweep && strings.Contains(words[0], ","):
		values := o.points(words[0])
		if len(values) == 1 {
			return one(values[0]), nil
		}
		if len(values) == 0 {
			return nil, diag.Errors{{Path: o.Path, Place: at.Where, Message: "a list without values"}}
		}
		out := one(values)
		out[0].Axis = true
		return out, nil
	}
	return one(o.value(words[0])), nil
}

// value is one word as the field takes it; what is not a number stays a word, and
// is refused with the field's other rules.
func (o Option) value(word string) any {
	switch o.Kind {
	case "string":
		return word
	case "bool":
		return fields.Coerce(word, true)
	}
	return fields.Coerce(ungrouped(word), false)
}

// grouped is a number whose digits are set apart, as Python reads them: single
// underscores between digits.
var grouped = regexp.MustCompile(`^\s*[+-]?\d+(_\d+)*(\.\d+(_\d+)*)?([eE][+-]?\d+(_\d+)*)?\s*$`)

// ungrouped is 100000 for 100_000, and any other word as it is.
func ungrouped(word string) string {
	if strings.Contains(word, "_") && grouped.MatchString(word) {
		return strings.ReplaceAll(word, "_", "")
	}
	return word
}

func (o Option) values(words []string) []any {
	out := []any{}
	for _, w := range words {
		parts := []string{w}
		if o.Split {
			parts = strings.Split(w, ",")
		}
		for _, p := range parts {
			if p = strings.TrimSpace(p); p != "" || !o.Split {
				out = append(out, o.value(p))
			}
		}
	}
	return out
}

// points are the values of a comma list; spaces and empty elements do no
// harm. Widths of distributions are numbers with a fraction, as in AIPerf,
// whose labels show it.
func (o Option) points(list string) []any {
	var out []any
	for w := range strings.SplitSeq(list, ",") {
		if w = strings.TrimSpace(w); w == "" {
			continue
		}
		v := o.value(w)
		if i, ok := v.(int64); ok && o.Kind == "number" && o.At != "mean" {
			v = float64(i)
		}
		out = append(out, v)
	}
	return out
}

// ParseSet reads path=value; the value is YAML (a scalar, or a list or mapping
// in one line).
func ParseSet(text string) (lower.Assignment, error) {
	at := source.Origin{Source: source.BySet, Where: "--set"}
	path, value, ok := strings.Cut(text, "=")
	if path = strings.TrimSpace(path); !ok || path == "" {
		return lower.Assignment{}, diag.Errors{{
			Place:   at.Where,
			Message: fmt.Sprintf("expected path=value, got %q", text), Hint: "such as --set concurrency=8",
		}}
	}
	at.Flag, at.Where = path, "--set "+path
	n, bad := source.ReadValue(value)
	if bad != nil {
		return lower.Assignment{}, diag.Errors{{Place: at.Where, Message: bad[0].Message}}
	}
	a := lower.Assign(fields.Canonical(path), n.Plain(), at)
	if n.Kind == source.Object && strings.HasPrefix(a.Path, fields.EndpointPath) {
		a.Value = n.Of(at) // requests carry its members in this order
	}
	if n.Kind == source.List && axisPath(a.Path) {
		a.Axis = len(n.Items) > 0
	}
	return a, nil
}

// axisPath reports whether a list at path can only be an axis: the field takes
// one value.
func axisPath(path string) bool {
	_, last := source.Cut(path)
	return strings.HasPrefix(path, "benchmark.phases.") && slices.Contains(fields.PhaseAliases, last) ||
		last == "isl" || last == "osl" || last == "mean"
}
