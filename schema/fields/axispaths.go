package fields

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema/source"
)

// AxisDefinition is what a published schema says about the paths of a sweep: which
// there are, spelled as Canonical takes them, and what kind of values they have.
// It comes from the table that flags come from.
func AxisDefinition() string {
	byKind, table := map[string][]string{}, New()
	for i := range leaves {
		l := &leaves[i]
		if !Sweepable(l.Path) || l.Lower != "" {
			continue
		}
		kind := l.axisKind(table)
		byKind[kind] = append(byKind[kind], spellings(l.Path)...)
		if l.Has(IsFree) && len(l.Keys) == 0 {
			byKind[anyValue] = append(byKind[anyValue], spellings(l.Path+".+")...)
		}
	}
	for kind, shorthands := range map[string][]string{
		"string | {...}": {"model"},
		listValue:        {"url", "endpoint[.]url"},
		objectValue:      {"dataset", "warmup", "profiling"},
	} {
		byKind[kind] = append(byKind[kind], shorthands...)
	}
	var b strings.Builder
	b.WriteString("package schema\n\n// Values by the path that they go to: a field of the benchmark or a variable.\n#AxisValues: {\n")
	for _, kind := range slices.Sorted(maps.Keys(byKind)) {
		slices.Sort(byKind[kind])
		fmt.Fprintf(&b, "\t[=~#\"^(benchmark[.])?(%s)$\"#]: [(%s), ...(%s)]\n",
			strings.Join(slices.Compact(byKind[kind]), "|"), kind, kind)
	}
	fmt.Fprintf(&b, "\t[=~#\"^variables[.].+$\"#]: [(%s), ...(%[1]s)]\n}\n", anyValue)
	return b.String()
}

// AxisNames are the paths that sweeps are made of, in the words that people use for
// them, each with the field that it means: what is sent and how. Any other field's path
// is as good.
func AxisNames() map[string]string {
	out := map[string]string{"model": "benchmark.model", "url": "benchmark.endpoint.urls"}
	for i := range leaves {
		l := &leaves[i]
		if !Sweepable(l.Path) || l.Lower != "" || l.Has(IsUnsupported) {
			continue
		}
		parts := source.SplitPath(strings.TrimPrefix(l.Path, "benchmark."))
		if len(parts) > 2 && parts[1] == "*" {
			switch {
			case parts[0] == "datasets":
				parts = append([]string{"dataset"}, parts[2:]...)
			case len(parts) == 3 && slices.Contains(PhaseAliases, parts[2]):
				parts = parts[2:]
			}
		}
		of := slices.Contains([]string{"endpoint", "dataset", "tokenizer"}, parts[0]) || l.Has(IsBare)
		if name := strings.Join(parts, "."); of && len(parts) < 3 && !strings.ContainsAny(name, "*+") {
			out[name] = l.Path
		}
	}
	for _, name := range []string{"isl", "osl"} {
		out[name], out["dataset."+name] = "benchmark.datasets.*.prompts."+name, "benchmark.datasets.*.prompts."+name
	}
	return out
}

// axisKind is what the values of an axis on l are, as CUE.
func (l *Leaf) axisKind(x Table) string {
	switch {
	case l.Has(IsShape):
		return "number | {...} | #Late"
	case l.Has(IsNumber) && !l.Has(IsText|IsObject|IsDuration|IsBool) && len(l.Enum) == 0:
		return "number | #Late"
	case l.Has(IsBool) && !l.Has(IsText|IsObject|IsNumber|IsList) && len(l.Enum) == 0:
		return "bool | #LateBool"
	case len(l.Enum) > len(l.Unbuilt)+1 && !l.Has(IsText|IsObject|IsNumber|IsBool|IsList):
		var words []string
		for _, w := range l.Enum {
			if !slices.Contains(l.Unbuilt, w) {
				words = append(words, strconv.Quote(w))
			}
		}
		return strings.Join(words, " | ")
	case l.Is&kinds == IsText && !l.Has(IsDuration|IsFree), len(l.Enum) > 0 && l.Is&kinds == 0:
		return "string"
	case l.Is&kinds == IsList && len(l.Enum) == 0 && x[source.Join(l.Path, "*")].Has(IsObject) &&
		!x[source.Join(l.Path, "*")].Has(IsText):
		return "[...]"
	case l.Is&kinds == IsList && len(l.Enum) == 0:
		return listValue
	case len(l.Enum) == 0 && l.Is&kinds == IsObject:
		return objectValue
	case l.Has(IsDuration) && len(l.Enum) == 0 && l.Is&kinds&^IsList == IsText|IsNumber &&
		(!l.Has(IsList) || l.Has(IsBare)):
		return "number | string" // a list in a phase is an axis itself
	}
	return anyValue
}

// kinds are the traits that say what kind of value a field takes.
const kinds = IsText | IsList | IsObject | IsNumber | IsBool

// What axes take whose values are not told apart further; null says nothing.
const (
	anyValue    = "!=null"
	objectValue = "{...}"
	listValue   = "string | [...]" // one word stands for a list of one
)

// spellings are the ways to write a path below benchmark, as patterns.
func spellings(path string) (out []string) {
	parts := source.SplitPath(strings.TrimPrefix(path, "benchmark."))
	words := make([]string, len(parts))
	for i, p := range parts {
		switch p {
		case "*":
			words[i] = `[^.]+`
		case "+":
			words[i] = `.+`
		default:
			words[i] = eitherCase(p)
		}
	}
	all := strings.Join(words, "[.]")
	out = append(out, all)
	if len(parts) < 3 || parts[1] != "*" {
		return out
	}
	rest := strings.Join(words[2:], "[.]")
	switch parts[0] {
	case "phases":
		out = append(out, "(warmup|profiling)[.]"+rest)
		if len(parts) == 3 && slices.Contains(PhaseAliases, parts[2]) {
			out = append(out, rest)
		}
	case "datasets":
		out = append(out, "dataset[.]"+rest)
		if short, lengths := strings.CutPrefix(rest, "prompts[.]"); lengths &&
			(parts[3] == "isl" || parts[3] == "osl") {
			out = append(out, "dataset[.]"+short, "datasets[.][^.]+[.]"+short, short)
		}
	}
	return out
}

// eitherCase is a key in snake_case or camelCase.
func eitherCase(key string) string {
	if camel := camelCase(key); camel != key {
		return "(" + regexp.QuoteMeta(key) + "|" + camel + ")"
	}
	return regexp.QuoteMeta(key)
}

// camelCase is a key as AIPerf's files may spell it, too.
func camelCase(s string) string {
	parts := strings.Split(s, "_")
	for i := 1; i < len(parts); i++ {
		if parts[i] != "" {
			parts[i] = strings.ToUpper(parts[i][:1]) + parts[i][1:]
		}
	}
	return strings.Join(parts, "")
}
