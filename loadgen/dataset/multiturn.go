package dataset

import (
	"errors"
	"fmt"
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
	fits: has("turns"), read: readMultiTurn,
}

func readMultiTurn(r *reader, rec record) error {
	f := rec.fields
	id, err := f.str("session_id")
	if err != nil {
		return err
	}
	system, err := f.str("system")
	if err != nil {
		return err
	}
	f.used["type"] = true
	list, err := f.list("turns")
	if err != nil {
		return err
	}
	turns := make([]Turn, len(list))
	for i, raw := range list {
		tf, err := newFields(raw)
		if err == nil {
			turns[i], err = r.turn(tf, "")
		}
		if err != nil {
			return fmt.Errorf("turns[%d]: %w", i, err)
		}
		for _, name := range tf.unused() {
			f.values["turns[]."+name] = nil // reported with the object's own
		}
	}
	return r.join(id, system, turns)
}

// join adds the turns to the conversation called id, or to a new one.
func (r *reader) join(id, system string, turns []Turn) error {
	i, known := r.byID[id]
	if !known && len(turns) > 0 && isSystem(&turns[0]) {
		system = joinSystem(system, turns[0].Texts[0])
		turns = turns[1:]
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
	for _, t := range turns {
		if err := r.add(i, t); err != nil {
			return err
		}
	}
	return nil
}

// isSystem tells a turn that is nothing but a system prompt.
func isSystem(t *Turn) bool {
	return t.Role == "system" && len(t.Texts) == 1 && t.Timestamp == nil && t.Delay == 0 && len(t.Extra) == 0
}
