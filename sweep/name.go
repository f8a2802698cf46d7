package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema"
)

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(strconv.Itoa(n)) + " " + what
}

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
	switch body.Endpoint.Type {
	case "chat", "completions", "embeddings", "responses", "chat_embeddings", "image_generation":
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
	switch f.Type {
	case "fixed_schedule":
		return []string{"fixed_schedule"}
	case "user_centric":
		return []string{"user_centric", fmt.Sprintf("users%d", f.Users), "qps" + pyFloat(f.Rate)}
	}
	var out []string
	if f.Concurrency > 0 {
		out = append(out, fmt.Sprintf("concurrency%d", f.Concurrency))
	}
	if f.Rate > 0 {
		out = append(out, "request_rate"+pyFloat(f.Rate))
	}
	return out
}
