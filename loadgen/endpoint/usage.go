package endpoint

import (
	"slices"

	"aiperf.dev/aiperf/internal/record"
)

// The names servers give to the same claim. The first of a list that is there
// wins; 0 is a claim, too.
var (
	promptNames     = []string{"prompt_tokens", "input_tokens", "promptTokenCount", "inputTokens", "input_token_count"}
	completionNames = []string{"completion_tokens", "output_tokens", "candidatesTokenCount", "outputTokens", "generated_token_count"}
	totalNames      = []string{"total_tokens", "totalTokens", "totalTokenCount"}
	reasoningNames  = []string{"reasoning_tokens", "thoughtsTokenCount"}
	cachedNames     = []string{"cached_tokens", "cache_read_input_tokens", "cacheReadInputTokens", "cachedContentTokenCount", "prompt_cache_hit_tokens"}
	// Servers that count the cached part of a prompt apart from its input
	// tokens name it so; prompt is then the sum.
	apartNames = []string{"cache_read_input_tokens", "cache_creation_input_tokens", "cacheReadInputTokens", "cacheWriteInputTokens"}
)

// claim is a value and its place in the list of names that it was found under.
type claim struct {
	value int64
	place int
}

func (c *claim) offer(names []string, key []byte, v int64) {
	if v == record.None || v < 0 {
		return
	}
	if i := slices.Index(names, string(key)); i >= 0 && i <= c.place {
		c.value, c.place = v, i
	}
}

// usageOf reads a usage object into a chunk, with the times in it.
func usageOf(s *scanner, c *Chunk) error {
	u, t, err := readUsage(s)
	if c.Usage = u; t != nil {
		c.Timings = t
	}
	return err
}

// readUsage reads a usage object; null and anything else claim nothing.
func readUsage(s *scanner) (Usage, *Timings, error) {
	if s.peek() != '{' { // null, on every chunk of some servers
		return NoUsage, nil, s.skip()
	}
	var times *Timings
	unsaid := claim{record.None, 1 << 10}
	prompt, completion, total, reasoning, cached := unsaid, unsaid, unsaid, unsaid, unsaid
	apart := int64(0)
	entry := func(key []byte) error {
		if s.peek() == '{' {
			return s.object(func(key []byte) error {
				v, err := s.integer()
				reasoning.offer(reasoningNames, key, v)
				cached.offer(cachedNames, key, v)
				return err
			})
		}
		if at, ok := usageTimes[string(key)]; ok {
			if times == nil {
				none := NoTimings
				times = &none
			}
			v, err := s.decimal()
			*at(times) = v * 1e3
			return err
		}
		v, err := s.integer()
		prompt.offer(promptNames, key, v)
		completion.offer(completionNames, key, v)
		total.offer(totalNames, key, v)
		reasoning.offer(reasoningNames, key, v)
		cached.offer(cachedNames, key, v)
		if v > 0 && slices.Contains(apartNames, string(key)) {
			apart += v
		}
		return err
	}
	err := s.object(entry)
	if prompt.value != record.None && prompt.place > 0 {
		prompt.value += apart
	}
	return Usage{prompt.value, completion.value, reasoning.value, total.value, cached.value}, times, err
}
