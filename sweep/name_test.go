package sweep_test

import (
	"testing"

	"aiperf.dev/aiperf/schema"
)

func TestArtifactName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind  string
		phase schema.Phase
		want  string
	}{
		{"chat", schema.Phase{Type: "concurrency", Concurrency: 4}, "Qwen_Qwen3-0.6B-openai-chat-concurrency4"},
		{"completions", schema.Phase{Type: "poisson", Rate: 5}, "Qwen_Qwen3-0.6B-openai-completions-request_rate5.0"},
		{"chat", schema.Phase{Type: "constant", Rate: 2.5, Concurrency: 3}, "Qwen_Qwen3-0.6B-openai-chat-concurrency3-request_rate2.5"},
		{"chat", schema.Phase{Type: "user_centric", Rate: 2, Users: 4}, "Qwen_Qwen3-0.6B-openai-chat-user_centric-users4-qps2.0"},
		{"nim_rankings", schema.Phase{Type: "fixed_schedule"}, "Qwen_Qwen3-0.6B-nim_rankings-fixed_schedule"},
	} {
		p := expand(t, &document{Phases: []schema.Phase{
			{Kind: "warmup", Type: "concurrency", Concurrency: 99},
			c.phase,
		}})
		body := &p.Cells[0].Resolved.Benchmark
		body.Models.Items, body.Endpoint.Type = []schema.Model{{Name: "Qwen/Qwen3-0.6B"}}, c.kind
		if got := p.ArtifactName(); got != c.want {
			t.Errorf("ArtifactName() = %q, want %q", got, c.want)
		}
	}
}
