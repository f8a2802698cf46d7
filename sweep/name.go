package sweep

import (
	"fmt"
	"strings"

	"aiperf.dev/aiperf/internal/pyrepr"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
)

// ArtifactName is what AIPerf calls the directory of an experiment:
//
//	<first model, / as _>[_multi]-openai-<endpoint type>-<stimulus>
//
// with the stimulus of the first cell's first phase that counts: concurrency8,
// request_rate5.0, both, fixed_schedule or user_centric-users4-qps2.0. The
// middle word is left out for endpoint types that are not OpenAI's.
func (p *Plan) ArtifactName() string {
	body := &p.Cells[0].Resolved.Benchmark
	model := "model"
	if items := body.Models.Items; len(items) > 0 {
		model = clean(strings.ReplaceAll(items[0].Name, "/", "_"))
		if len(items) > 1 {
			model += "_multi"
		}
	}
	parts := []string{model}
	if spec, ok := endpoint.Lookup(body.Endpoint.Type); ok && spec.OpenAI {
		parts = append(parts, "openai")
	}
	parts = append(parts, body.Endpoint.Type)
	for i := range body.Phases {
		if f := &body.Phases[i]; f.Kind != "warmup" && !f.ExcludeFromResults {
			parts = append(parts, stimulus(f)...)
			break
		}
	}
	return strings.Join(parts, "-")
}

func stimulus(f *schema.Phase) []string {
	if m, err := mode.Of(f); err == nil && m.Artifact != nil {
		return []string{m.Artifact(f, pyrepr.Float)}
	}
	var out []string
	if f.Concurrency > 0 {
		out = append(out, fmt.Sprintf("concurrency%d", f.Concurrency))
	}
	if f.Rate > 0 {
		out = append(out, "request_rate"+pyrepr.Float(f.Rate))
	}
	return out
}
