package schema_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/schema"
)

// boundedFlags are AIPerf's flags with the type and the bounds of their values.
func boundedFlags(t *testing.T) (flags []struct {
	Name   string
	Type   string `json:"py_type"`
	Bounds map[string]float64
},
) {
	t.Helper()
	readJSON(t, "flags.json", &flags)
	return flags
}

// A number beyond the bounds that AIPerf gives a flag is refused in one line
// that names the flag and says the bound; so is a word that is not a number.
func TestFlagBoundsOfAIPerf(t *testing.T) {
	t.Parallel()
	beside := map[string][]string{
		"--user-context-prompt-length": {"--num-dataset-entries", "8"},
	}
	beyond := map[string]float64{"ge": -0.5, "gt": 0, "le": 0.5, "lt": 0}
	for _, f := range boundedFlags(t) {
		if f.Type != "int" && f.Type != "float" || absentFlag(f.Name) {
			continue
		}
		var words []string
		for kind, bound := range f.Bounds {
			step := beyond[kind]
			if f.Type == "int" {
				step *= 2
			}
			words = append(words, fmt.Sprint(bound+step))
		}
		if len(words) == 0 {
			words = []string{"many"}
		}
		for _, w := range words {
			if f.Name == "--warmup-request-count" && w == "0" {
				continue // no warmup
			}
			_, err := profile(append([]string{"-m", "demo-7b", f.Name, w}, beside[f.Name]...))
			var bad schema.Errors
			if errors.As(err, &bad); !slices.ContainsFunc(bad,
				func(e *schema.Error) bool { return e.Place == f.Name && saysBound(e.Message) }) {
				t.Errorf("%s %s: got %v, want the flag and what it takes", f.Name, w, err)
			}
		}
	}
}

func saysBound(message string) bool {
	return strings.HasPrefix(message, "must be ") || strings.HasPrefix(message, "expected a ") ||
		strings.Contains(message, " is not ")
}

// absentFlag reports whether a flag is known and not built: it has no bounds.
func absentFlag(name string) bool {
	return slices.ContainsFunc(schema.Options(), func(o schema.Option) bool {
		return o.Instead != "" && slices.Contains(o.Names, strings.TrimPrefix(name, "--"))
	})
}
