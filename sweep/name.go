package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/schema"
)

// Size is the plan in one line: cells, trials, requests and the least time.
func (p *Plan) Size() string {
	b := p.Bound()
	s := counted(len(p.Cells), "cell")
	if p.Trials > 1 {
		s += fmt.Sprintf(" × %d trials = %s", p.Trials, counted(len(p.Runs), "run"))
	}
	if b.Requests > 0 || !b.Open {
		s += ", "
		if b.Open {
			s += "at least "
		}
		s += counted(int(b.Requests), "request")
	}
	if b.AtLeast > 0 {
		s += fmt.Sprintf(", at least %v", b.AtLeast)
	}
	if b.Cooldown > 0 {
		s += fmt.Sprintf(" (+ cooldown %v)", b.Cooldown)
	}
	return s
}

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
