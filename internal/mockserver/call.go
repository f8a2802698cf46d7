package mockserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// call is what a request body asks for.
type call struct {
	model        string
	stream       bool
	includeUsage bool
	usageEach    bool
	asked        int // output tokens, 0 when not said
	least        int
	base64       bool
	items        int // embeddings or documents asked for
	text         string
	ids          int // tokens that came as ids
}

// body is the union of the request bodies of all endpoints.
type body struct {
	Model   string `json:"model"`
	Stream  bool   `json:"stream"`
	Options struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	MaxTokens           *int   `json:"max_tokens"`
	MaxCompletionTokens *int   `json:"max_completion_tokens"`
	MaxOutputTokens     *int   `json:"max_output_tokens"`
	MinTokens           int    `json:"min_tokens"`
	EncodingFormat      string `json:"encoding_format"`

	Messages, Prompt, Input, Instructions, Query, Documents, Passages, Texts any
}

// parseCall reads a request body.
func parseCall(raw []byte) (call, error) {
	var b body
	if err := json.Unmarshal(raw, &b); err != nil {
		return call{}, fmt.Errorf("the body is not the JSON expected: %w", err)
	}
	c := call{
		model: b.Model, stream: b.Stream, includeUsage: b.Options.IncludeUsage, usageEach: b.Options.ContinuousUsage,
		least: b.MinTokens, base64: b.EncodingFormat == "base64",
	}
	for _, n := range []*int{b.MaxTokens, b.MaxOutputTokens, b.MaxCompletionTokens} {
		if n != nil {
			c.asked = *n
		}
	}
	if c.asked < 0 || c.least < 0 || c.asked > maxTokens || c.least > maxTokens {
		return call{}, fmt.Errorf("max_tokens and min_tokens must be from 0 to %d", maxTokens)
	}
	var texts []string
	for _, v := range []any{b.Instructions, b.Messages, b.Prompt, b.Input, b.Query, b.Documents, b.Passages, b.Texts} {
		texts = gather(texts, v, &c.ids)
	}
	c.text = strings.Join(texts, " ")
	c.items = entries(b.Input) + entries(b.Documents) + entries(b.Passages) + entries(b.Texts)
	return c, nil
}

// maxTokens bounds what a request may make us remember.
const maxTokens = 1 << 20

// gather appends the texts inside a value and counts token ids.
func gather(into []string, v any, ids *int) []string {
	switch v := v.(type) {
	case string:
		into = append(into, v)
	case float64:
		*ids++
	case []any:
		for _, e := range v {
			into = gather(into, e, ids)
		}
	case map[string]any:
		into = gather(into, v["content"], ids)
		if t, ok := v["text"].(string); ok {
			into = append(into, t)
		}
	}
	return into
}

// entries is how many inputs a value holds: one text, one list of ids, or a
// list of either.
func entries(v any) int {
	switch v := v.(type) {
	case nil:
		return 0
	case []any:
		if len(v) > 0 {
			if _, ids := v[0].(float64); ids {
				return 1
			}
		}
		return len(v)
	}
	return 1
}

// counter counts input tokens.
type counter struct{ tok tokenizer.Tokenizer }

// count is the tokens of a request: its texts joined by one space, and the ids.
func (c counter) count(q *call) int { return c.tok.Count(q.text) + q.ids }
