package results

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks/receipt"
	"aiperf.dev/aiperf/sweep/decide"
)

// alike are the parts of a benchmark's body that make a workload what it is. Two
// systems may differ in address, model and credentials; not in these.
var alike = []string{"endpoint.type", "endpoint.streaming", "tokenizer.name", "datasets", "phases"}

// cosmetic are leaves below them that change nothing that is measured.
var cosmetic = []string{"dir", "path", "file"}

// facts lists the leaves of those parts: "datasets.0.prompts.isl.value" is "512".
func facts(body json.RawMessage) []receipt.Fact {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var tree any
	if err := d.Decode(&tree); err != nil {
		return nil
	}
	var out []receipt.Fact
	for _, path := range alike {
		node, ok := tree, true
		for _, part := range strings.Split(path, ".") {
			object, isObject := node.(map[string]any)
			if node, ok = object[part]; !isObject || !ok {
				node, ok = nil, false
				break
			}
		}
		if ok {
			out = leaves(out, path, node)
		}
	}
	return out
}

func leaves(out []receipt.Fact, path string, node any) []receipt.Fact {
	switch v := node.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if !slices.Contains(cosmetic, k) {
				out = leaves(out, path+"."+k, v[k])
			}
		}
		return out
	case []any:
		for i, x := range v {
			out = leaves(out, fmt.Sprintf("%s.%d", path, i), x)
		}
		return out
	}
	value := fmt.Sprint(node)
	if _, number := node.(json.Number); number {
		value = strings.TrimSuffix(value, ".0") // as Python writes a whole one
	}
	if len(value) > longestFact {
		value = fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(value)))
	}
	return append(out, receipt.Fact{Name: path, Value: value})
}

// longestFact bounds a setting that is kept as it is, in bytes; of a longer one, such as an
// inline prompt, its digest stands.
const longestFact = 200

// phasesOf are the phases of a body, as far as their mode needs.
func phasesOf(body json.RawMessage) []schema.Phase {
	var b struct {
		Phases []schema.Phase `json:"phases"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil
	}
	return b.Phases
}

// alikeOf are facts as a comparison takes them.
func alikeOf(body json.RawMessage) (out []decide.Fact) {
	for _, f := range facts(body) {
		out = append(out, decide.Fact(f))
	}
	return out
}
