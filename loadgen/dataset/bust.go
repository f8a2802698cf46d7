package dataset

import (
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// buster puts a text that no other play has into each play of a conversation,
// so that a server's prefix cache recognises none of them: [rid:<12 hex>]. The
// two warmup targets mark the warmup's prompts only, all alike.
type buster struct {
	tok    tokenizer.Tokenizer
	system bool // into the system prompt; where there is none, into the first turn
	suffix bool
	fixed  string // the same text for every play
	root   int64
}

// bustTargets are the places, by their names in the schema.
var bustTargets = map[string]buster{
	"system_prefix": {system: true}, "system_suffix": {system: true, suffix: true},
	"first_turn_prefix": {}, "first_turn_suffix": {suffix: true},
	"warmup_isolation_system": {system: true, fixed: "[warmup]"}, "warmup_isolation_first_turn": {fixed: "[warmup]"},
}

// newBuster is nil when nothing is asked for.
func newBuster(cfg *schema.Dataset, tok tokenizer.Tokenizer, src source) (*buster, error) {
	ask := cfg.CacheBust
	if ask == nil {
		ask = cfg.Prompts.CacheBust
	}
	if ask == nil || ask.Target == "" || ask.Target == "none" {
		return nil, nil
	}
	b, ok := bustTargets[ask.Target]
	if !ok {
		return nil, fmt.Errorf("cache_bust.target %q: not a place for it", ask.Target)
	}
	if b.fixed != "" && src.stream != "warmup" {
		return nil, nil
	}
	b.tok, b.root = tok, src.seeds.Text
	if src.stream == "warmup" {
		b.root = int64(seed.Of(b.root, "warmup"))
	}
	return &b, nil
}

// mark is c as play n sends it. c itself is not changed.
func (b *buster) mark(c *Conversation, n int64) *Conversation {
	mark := b.fixed
	if mark == "" {
		mark = fmt.Sprintf("[rid:%012x]", seed.Of(b.root, fmt.Sprintf("cache_bust/%d", n))>>16)
	}
	out := *c
	if b.system && c.System != "" {
		out.System = b.join(c.System, mark)
		out.count(b.tok)
		return &out
	}
	out.Turns = slices.Clone(c.Turns)
	t := &out.Turns[0]
	if len(t.Texts) == 0 {
		return c // no text to put it into: a body or a list of messages sent as it is
	}
	t.Texts = slices.Clone(t.Texts)
	t.Texts[0] = b.join(t.Texts[0], mark)
	t.ISL = countTexts(b.tok, t.Texts)
	out.count(b.tok)
	return &out
}

func (b *buster) join(text, mark string) string {
	if b.suffix {
		return text + " " + mark
	}
	return mark + " " + text
}
