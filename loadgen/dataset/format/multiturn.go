package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/schema"
)

// A multi_turn object is a conversation, or more turns of an earlier one with
// the same session_id:
//
//	{"session_id": "a", "turns": [{"text": "…"}, {"text": "…", "delay": 800}]}
//
// Turns have the fields of single_turn. A first turn of role system becomes
// the conversation's system prompt, as does a "system" field.

var multiTurn = Format{
	Name: "multi_turn", Doc: "a conversation with its turns", Sampling: "sequential", Settings: conversational,
	Streams: true,
	fits:    has("turns"), decoder: func(d *draft) decoder { return newMultiTurns(d) },
}

// LargeFile is the size from which on a file of conversations is read while it
// is played, in bytes: to read and count a smaller one takes seconds, and finds
// its mistakes before anything is sent.
const LargeFile = 64 << 20

// multiTurns knows the conversations that later records may go on with.
type multiTurns struct {
	*draft
	byID map[string]int  // conversation of a session_id
	past map[uint64]bool // hashes of the ids of those that were handed over
}

func newMultiTurns(d *draft) *multiTurns {
	return &multiTurns{draft: d, byID: map[string]int{}, past: map[uint64]bool{}}
}

func (r *multiTurns) read(rec files.Record) error {
	f := rec.Fields
	id, err := f.Str("session_id")
	if err != nil {
		return err
	}
	system, err := f.Str("system")
	if err != nil {
		return err
	}
	f.Pass("type")
	list, err := f.List("turns")
	if err != nil {
		return err
	}
	turns := make([]conversation.Turn, len(list))
	for i, raw := range list {
		tf, err := files.New(raw)
		if err == nil {
			turns[i], err = r.turn(tf, "")
		}
		if err != nil {
			return fmt.Errorf("turns[%d]: %w", i, err)
		}
		for _, name := range tf.Unused() {
			f.Set("turns[]."+name, nil) // reported with the object's own
		}
	}
	return r.join(id, system, turns)
}

// join adds the turns to the conversation called id, or to a new one.
func (r *multiTurns) join(id, system string, turns []conversation.Turn) error {
	i, known := r.byID[id]
	if !known && len(turns) > 0 && isSystem(&turns[0]) {
		system = conversation.JoinSystem(system, turns[0].Texts[0])
		turns = turns[1:]
	}
	if err := r.goesOn(id); err != nil {
		return err
	}
	if len(turns) == 0 {
		return errors.New("turns: a conversation needs at least one turn of the user")
	}
	if known && system != "" {
		return fmt.Errorf("session %q: the system prompt belongs to its first line", id)
	}
	if !known {
		i = r.begin(id, system)
	}
	if id != "" {
		r.byID[id] = i
	}
	return r.addAll(i, turns)
}

// handedOver keeps nothing of the first conversation but a hash of its id.
func (r *multiTurns) handedOver() {
	for id, i := range r.byID {
		if i == 0 {
			delete(r.byID, id)
			r.past[hashOfID(id)] = true
		} else {
			r.byID[id] = i - 1
		}
	}
}

// goesOn refuses more lines of a session that was handed over.
func (r *multiTurns) goesOn(id string) error {
	if id == "" || !r.past[hashOfID(id)] {
		return nil
	}
	return diag.Errorf("session %q goes on behind another one", id).
		Try(fmt.Sprintf("a file of more than %d MiB is read while it is played: keep the lines of a session together",
			LargeFile>>20))
}

func hashOfID(id string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id)
	return h.Sum64()
}

// isSystem tells a turn that is nothing but a system prompt.
func isSystem(t *conversation.Turn) bool {
	return t.Role == "system" && len(t.Texts) == 1 && t.Timestamp == nil && t.Delay == 0 && len(t.Extra) == 0
}

// LineFormat is the format of what Line writes.
func LineFormat() string { return multiTurn.Name }

// Line is a conversation as a line of a multi_turn file that reads back to the
// same conversation. One that this format has no words for, such as a whole
// body or recorded messages, is an error.
func Line(c *conversation.Conversation) ([]byte, error) {
	type turn struct {
		Texts     []any          `json:"texts,omitempty"`
		Images    []string       `json:"images,omitempty"`
		Audios    []string       `json:"audios,omitempty"`
		Videos    []string       `json:"videos,omitempty"`
		Role      string         `json:"role,omitempty"`
		Model     string         `json:"model,omitempty"`
		Output    int64          `json:"output_length,omitempty"`
		Timestamp *float64       `json:"timestamp,omitempty"`
		Delay     float64        `json:"delay,omitempty"`
		Extra     schema.Members `json:"extra,omitempty"`
	}
	line := struct {
		ID     string `json:"session_id"`
		System string `json:"system,omitempty"`
		Turns  []turn `json:"turns"`
	}{ID: c.ID, System: c.System}
	for i := range c.Turns {
		t := &c.Turns[i]
		w := turn{Role: t.Role, Model: t.Model, Output: t.MaxTokens, Delay: float64(t.Delay) / 1e6, Extra: t.Extra}
		if t.Timestamp != nil {
			ms := float64(*t.Timestamp) / 1e6
			w.Timestamp = &ms
		}
		if t.Query != "" {
			w.Texts = append(w.Texts, map[string]any{"name": "query", "contents": []string{t.Query}})
		}
		if len(t.Passages) > 0 {
			w.Texts = append(w.Texts, map[string]any{"name": "passages", "contents": t.Passages})
		}
		for _, text := range t.Texts {
			w.Texts = append(w.Texts, text)
		}
		for _, kind := range []struct {
			to   *[]string
			from []conversation.Media
		}{{&w.Images, t.Images}, {&w.Audios, t.Audios}, {&w.Videos, t.Videos}} {
			for i := range kind.from {
				*kind.to = append(*kind.to, kind.from[i].Address())
			}
		}
		line.Turns = append(line.Turns, w)
	}
	b, err := json.Marshal(line)
	if err == nil {
		err = readsBack(b, c)
	}
	return b, err
}

// readsBack reports whether line says all that c is.
func readsBack(line []byte, c *conversation.Conversation) error {
	r, err := newReader(schema.Dataset{}, nil, synth.Source{}, "")
	if err != nil {
		return err
	}
	f, err := files.New(line)
	if err == nil {
		err = newMultiTurns(&r.draft).read(files.Record{Fields: f})
	}
	if err != nil {
		return fmt.Errorf("conversation %s: %w", c.ID, err)
	}
	want := *c
	want.Opening, want.Turns = 0, slices.Clone(c.Turns)
	for i := range want.Turns {
		t := &want.Turns[i]
		t.ISL = 0 // counted when it is read
		for _, list := range []*[]conversation.Media{&t.Images, &t.Audios, &t.Videos} {
			*list = slices.Clone(*list)
			for k := range *list {
				(*list)[k].Length = 0 // known of media that were made here only
			}
		}
	}
	is, err1 := json.Marshal(&r.conversations[0])
	was, err2 := json.Marshal(&want)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if !bytes.Equal(is, was) {
		return diag.Errorf("conversation %s: a multi_turn file has no words for all of it", c.ID).
			Try("texts, media, output lengths, times and extra are written; whole bodies, recorded messages, tools and a user's context are not")
	}
	return nil
}
