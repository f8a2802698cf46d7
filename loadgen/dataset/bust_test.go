package dataset_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/datasettest"
	"aiperf.dev/aiperf/schema"
)

// promptsOf are the prompts of a play as a server reads them, turn by turn, with
// what it starts: a complete turn is all there is, any other one follows what was
// said before.
func promptsOf(c *dataset.Conversation, history string) (all []string) {
	said := history + c.System
	for i := range c.Turns {
		t := &c.Turns[i]
		text := strings.Join(t.Texts, " ") + string(t.Messages)
		if said += " " + text; t.Complete {
			said = text
		}
		all = append(all, said)
		for _, s := range t.Starts {
			before := ""
			if s.Inherits {
				before = said
			}
			all = append(all, promptsOf(s.Conversation, before)...)
		}
	}
	return all
}

// With a mark no play finds anything of another one in the server's cache, and
// each finds its own beginning: where turns follow their history, where each turn
// holds it, where messages are recorded, and in what a session starts.
func TestCacheBustApartAndWithin(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("the same words again and again, said by everybody. ", 12)
	message := func(role, text string) any { return map[string]any{"role": role, "content": text} }
	said, asked := []any{message("system", long), message("user", "Hello. "+long)},
		[]any{message("user", "Hello. "+long)}
	then := []any{message("assistant", "Yes."), message("user", "More.")}
	weka := map[string]any{
		"id": "w", "block_size": 64, "hash_id_scope": "local", "requests": []any{
			map[string]any{"t": 0, "type": "n", "in": 200, "out": 2, "hash_ids": []int{1, 2, 3}},
			map[string]any{"t": 1, "type": "subagent", "agent_id": "a", "requests": []any{
				map[string]any{"t": 1, "type": "n", "in": 130, "out": 2, "hash_ids": []int{7, 8}},
				map[string]any{"t": 2, "type": "n", "in": 200, "out": 2, "hash_ids": []int{7, 8, 9}},
			}},
			map[string]any{"t": 3, "type": "n", "in": 300, "out": 2, "hash_ids": []int{1, 2, 3, 4}},
		},
	}
	for _, c := range []struct {
		format  string
		targets string
		records []any
	}{
		{"multi_turn", "first_turn_prefix system_prefix", []any{map[string]any{"turns": []any{map[string]any{"text": long}, map[string]any{"text": "And then? " + long}}}}},
		{"mooncake_trace", "system_prefix", []any{
			map[string]any{"session_id": "s", "timestamp": 0, "messages": said},
			map[string]any{"session_id": "s", "timestamp": 9, "messages": slices.Concat(said, then)},
		}},
		{"mooncake_trace", "first_turn_prefix system_prefix", []any{
			map[string]any{"session_id": "s", "timestamp": 0, "messages": asked},
			map[string]any{"session_id": "s", "timestamp": 9, "messages": slices.Concat(asked, then)},
		}},
		{"mooncake_trace", "first_turn_prefix system_prefix", []any{ // cumulative rows
			map[string]any{
				"session_id": "s", "timestamp": 0, "input_length": 1100,
				"output_length": 1, "hash_ids": []int{1, 2, 3},
			},
			map[string]any{
				"session_id": "s", "timestamp": 9, "input_length": 1600,
				"output_length": 1, "hash_ids": []int{1, 2, 3, 4},
			},
		}},
		{"weka_trace", "first_turn_prefix system_prefix", []any{weka}},
	} {
		for _, target := range append(strings.Fields(c.targets), "") {
			cfg := schema.Dataset{
				Name: "main", Type: "file", Format: c.format,
				Records: datasettest.Records(t, c.records...),
			}
			if target != "" {
				cfg.CacheBust = &schema.CacheBust{Target: target}
			}
			builtin := tok(t, "builtin")
			set := open(t, cfg, builtin, 1, "profiling")
			cache := &prefixCache{seen: map[string]bool{}}
			ask := func(play int64) (first, later int) {
				prompts := promptsOf(set.Play(0, play), "")
				for k, p := range prompts {
					if known := cache.ask(builtin.Encode(nil, p)); k == 0 {
						first = known
					} else {
						later += known
					}
				}
				return first, later
			}
			_, within := ask(0)
			later := len(promptsOf(set.At(0), "")) - 1
			first, again := ask(1)
			name := fmt.Sprintf("%s %q", c.format, target)
			if within == 0 {
				t.Errorf("%s: a session does not find its own beginning", name)
			}
			if target == "" && first == 0 {
				t.Errorf("%s: without a mark a second play finds nothing of the first", name)
			}
			// a mark may be a token longer, and a block end elsewhere
			if target != "" && (first != 0 || again > within+16*later || again < within-16*later) {
				t.Errorf("%s: a second play knows %d tokens of its first prompt and %d of later ones; the first one knew %d",
					name, first, again, within)
			}
		}
	}
}

// A marked text has the length that it is said to have, and nothing else of the
// conversation changes.
func TestCacheBustKeepsCounts(t *testing.T) {
	t.Parallel()
	builtin := tok(t, "builtin")
	for _, target := range []string{"first_turn_prefix", "first_turn_suffix"} {
		for _, text := range []string{"Hi", "What is this?", strings.Repeat("Words and more words, 12 of them; ", 40)} {
			cfg := schema.Dataset{Name: "main", Type: "file", Format: "single_turn", Records: datasettest.Records(t,
				map[string]any{"text": text}), CacheBust: &schema.CacheBust{Target: target}}
			set := open(t, cfg, builtin, 1, "profiling")
			for n := range int64(20) {
				turn := set.Play(0, n).Turns[0]
				if want := int64(builtin.Count(turn.Texts[0])); turn.ISL != want {
					t.Errorf("%s: %d tokens are said, %d are there: %q", target, turn.ISL, want, turn.Texts[0])
				}
			}
			if b, err := json.Marshal(set.At(0).Turns[0]); err != nil || strings.Contains(string(b), "rid:") {
				t.Errorf("the conversation itself was marked: %s %v", b, err)
			}
		}
	}
}
