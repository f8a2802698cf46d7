package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

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
	if b.fixed != "" && src.Stream != "warmup" {
		return nil, nil
	}
	b.tok, b.root = tok, src.Seeds.Text
	if src.Stream == "warmup" {
		b.root = int64(seed.Of(b.root, "warmup"))
	}
	return &b, nil
}

// mark is c as play n sends it, with what it starts. c itself is not changed.
func (b *buster) mark(c *Conversation, n int64) *Conversation {
	mark := b.fixed
	if mark == "" {
		mark = fmt.Sprintf("[rid:%012x]", seed.Of(b.root, fmt.Sprintf("cache_bust/%d", n))>>16)
	}
	return b.marked(c, mark, false)
}

// marked is c with the mark wherever a prompt begins: in the first turn, which later
// ones repeat as their history, and in each turn that holds its whole history
// itself. So a session finds its own beginning in the server's cache, and nobody
// else's. A conversation that inherits a history has the mark in that.
func (b *buster) marked(c *Conversation, mark string, inherits bool) *Conversation {
	out := *c
	out.Before = b.started(c.Before, mark)
	inSystem := b.system && c.System != ""
	if inSystem && !inherits {
		out.System = b.join(c.System, mark)
	}
	out.Turns = slices.Clone(c.Turns)
	for k := range out.Turns {
		t := &out.Turns[k]
		t.Starts = b.started(t.Starts, mark)
		if begins := k == 0 && !inherits || t.Complete; !begins || t.Silent {
			continue
		}
		switch {
		case t.Messages != nil:
			if inSystem && !t.Complete {
				break // they follow a system prompt that has it
			}
			t.Messages = b.intoMessages(t.Messages, mark)
		case len(t.Texts) > 0 && !inSystem:
			t.ISL += b.adds(t.Texts[0], mark)
			t.Texts = slices.Clone(t.Texts)
			t.Texts[0] = b.join(t.Texts[0], mark)
		}
	}
	out.CountOpening(b.tok)
	return &out
}

// edge is how many bytes next to a mark are counted with it, at least: a word
// further away has the same tokens with and without it.
const edge = 256

// adds is how many tokens longer text is with the mark. Texts of a trace are long
// and marked while load runs, so only what is next to the mark is counted.
func (b *buster) adds(text, mark string) int64 {
	if b.tok == nil {
		return 0
	}
	if b.suffix {
		if at := strings.LastIndexByte(text[:max(0, len(text)-edge)], ' '); at > 0 {
			text = text[at:]
		}
	} else if len(text) > edge {
		if at := strings.IndexByte(text[edge:], ' '); at >= 0 {
			text = text[:edge+at]
		}
	}
	return int64(b.tok.Count(b.join(text, mark)) - b.tok.Count(text))
}

func (b *buster) started(list []Start, mark string) []Start {
	list = slices.Clone(list)
	for i := range list {
		if s := &list[i]; s.Conversation != nil {
			s.Conversation = b.marked(s.Conversation, mark, s.Inherits)
		}
	}
	return list
}

// intoMessages puts the mark into the first message of the system, or of the
// user, as asked; into the first one of all where there is none.
func (b *buster) intoMessages(raw json.RawMessage, mark string) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return raw
	}
	role := `"user"`
	if b.system {
		role = `"system"`
	}
	at := max(0, slices.IndexFunc(list, func(m map[string]json.RawMessage) bool { return string(m["role"]) == role }))
	var text string
	var parts []json.RawMessage
	content := list[at]["content"]
	switch {
	case json.Unmarshal(content, &text) == nil:
		content = quoted(b.join(text, mark))
	case json.Unmarshal(content, &parts) == nil:
		part := json.RawMessage(`{"type":"text","text":` + string(quoted(mark)) + `}`)
		if b.suffix {
			parts = append(parts, part)
		} else {
			parts = slices.Insert(parts, 0, part)
		}
		content = plain(parts)
	}
	list[at]["content"] = content
	return plain(list)
}

// quoted is a text as JSON.
func quoted(text string) json.RawMessage { return plain(text) }

// plain is what came from JSON as JSON again, which it always can be.
func plain(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("dataset: messages are not plain data: " + err.Error())
	}
	return bytes.TrimSpace(b.Bytes())
}

func (b *buster) join(text, mark string) string {
	if b.suffix {
		return text + " " + mark
	}
	return mark + " " + text
}
