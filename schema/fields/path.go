package fields

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"aiperf.dev/aiperf/internal/suggest"
	"aiperf.dev/aiperf/schema/source"
)

// PhaseAliases are bare names that mean a field of the profiling phase.
var PhaseAliases = func() (out []string) {
	for i := range leaves {
		if parent, name := source.Cut(leaves[i].Path); parent == "benchmark.phases.*" && leaves[i].Has(IsBare) {
			out = append(out, name)
		}
	}
	return out
}()

// aroundBody reports whether name is a field of the envelope, built here or not.
func aroundBody(name string) bool {
	return slices.Contains(leaves[0].Keys, name) || absentPaths[name] != nil
}

// Canonical turns a path as users write it (isl, dataset.isl, rate,
// phases.warmup.rate) into one rooted in the envelope.
func Canonical(path string) string {
	path = strings.TrimSpace(path)
	first, rest, _ := strings.Cut(path, ".")
	if first == "benchmark" && rest != "" {
		return "benchmark." + bodyPath(rest)
	}
	if name := SnakeCase(first); aroundBody(name) {
		return source.Join(name, rest)
	}
	return "benchmark." + bodyPath(path)
}

// bodyPath spells a path below benchmark without shorthands.
func bodyPath(path string) string {
	parts := strings.Split(path, ".")
	for i, p := range parts {
		if i > 0 && (parts[i-1] == "headers" || parts[i-1] == "extra") {
			break // the rest belongs to the user
		}
		parts[i] = SnakeCase(p)
	}
	if len(parts) == 1 {
		for _, a := range PhaseAliases {
			if parts[0] == a {
				return "phases.profiling." + a
			}
		}
	}
	switch parts[0] {
	case "isl", "osl":
		parts = append([]string{"datasets", "default"}, parts...)
	case "dataset":
		parts = append([]string{"datasets", "default"}, parts[1:]...)
	case "warmup", "profiling":
		parts = append([]string{"phases"}, parts...)
	case "url":
		parts = []string{"endpoint", "urls"}
	case "endpoint", "server_metrics", "gpu_telemetry":
		if len(parts) == 2 && parts[1] == "url" {
			parts[1] = "urls"
		}
	}
	if len(parts) > 2 && parts[0] == "datasets" && (parts[2] == "isl" || parts[2] == "osl") {
		parts = append([]string{"datasets", parts[1], "prompts"}, parts[2:]...)
	}
	return strings.Join(parts, ".")
}

// KnownPath says what is wrong with a path, or nothing.
func (x Table) KnownPath(path string) (hint string, ok bool) {
	at, l := "", x[""]
	for part := range strings.SplitSeq(path, ".") {
		name, next := x.child(at, l, part)
		if next == nil || name == "*" && !IsListPath(at) && !source.IsIndex(part) {
			words, deeper := append([]string{}, l.Keys...), ""
			if at == "benchmark" {
				words = append(words, PhaseAliases...)
				words = append(words, "isl", "osl")
				deeper = furtherIn(part)
			}
			return cmp.Or(gone(versions, path), deeper, suggest.Hint(part, words)), false
		}
		at, l = source.Join(at, name), next
	}
	return "", true
}

// furtherIn names the settings called word that stand deeper in the body, if
// they are few, for somebody who left out what they stand in.
func furtherIn(word string) string {
	var at []string
	for i := range leaves {
		body, within := strings.CutPrefix(leaves[i].Path, "benchmark.")
		if _, name := source.Cut(body); !within || name != SnakeCase(word) || name == body {
			continue
		}
		body = strings.Replace(strings.Replace(body, "datasets.*", "dataset", 1), "phases.*", "profiling", 1)
		if !strings.Contains(body, "*") {
			at = append(at, body)
		}
	}
	switch len(at) {
	case 1:
		return "it is " + at[0]
	case 2, 3:
		return "it is one of " + strings.Join(at, ", ")
	}
	return ""
}

// IsListPath reports whether members of the list at path have names.
func IsListPath(path string) bool {
	switch path {
	case "benchmark.phases", "benchmark.datasets", "benchmark.models.items":
		return true
	}
	return false
}

const (
	PhasePath   = "benchmark.phases.profiling"
	DatasetPath = "benchmark.datasets.main"
)

const EndpointPath = "benchmark.endpoint"

// Sweepable reports whether path belongs to a cell and not to the plan.
func Sweepable(path string) bool {
	return strings.HasPrefix(path, "benchmark.") || strings.HasPrefix(path, "variables.")
}

// SnakeCase leaves a key alone that starts with a capital: it is no key of
// ours, and the message should show it as it is.
func SnakeCase(s string) string {
	if s == "" || !unicode.IsLower(rune(s[0])) || strings.ToLower(s) == s {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
