package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// dagJSONL is a conversation of an agent whose turns are lists of messages
// that are added to its history, and which may start other conversations.
var dagJSONL = Format{
	Name: "dag_jsonl", Doc: "an agent's conversation: turns of messages that may start other conversations", Sampling: "sequential",
	Settings: []string{"turn_delay_ratio", "system_prompt", "system_prompt_file"}, fits: fitsDAG, read: readDAG,
}

func fitsDAG(r *files.Record) (bool, string) {
	var turns []map[string]json.RawMessage
	if json.Unmarshal(r.Fields.Value("turns"), &turns) != nil || len(turns) == 0 {
		if r.Fields.Has("orchestrator") {
			return true, "it has orchestrator"
		}
		return false, "it has no turns"
	}
	if _, ok := turns[0]["messages"]; !ok {
		return false, "its turns have no messages"
	}
	return true, "its turns have messages"
}

// dagTurn is one turn; forks and spawns are ids or objects.
type dagTurn struct {
	Messages  json.RawMessage
	Model     string
	MaxTokens int64           `json:"max_tokens"`
	Tools     json.RawMessage `json:"tools"`
	Extra     map[string]any
	Forks     []json.RawMessage
	Spawns    []json.RawMessage
	Delay     float64 // ms
}

func readDAG(r *reader, rec files.Record) error {
	f := rec.Fields
	id, err := f.Str("session_id")
	if err != nil {
		return err
	}
	if id == "" {
		return errors.New("session_id: missing")
	}
	if _, known := r.byID[id]; known {
		return fmt.Errorf("session_id: %q appears twice", id)
	}
	if f.Has("orchestrator") || f.Has("rounds") || f.Has("pre_session_spawns") {
		return errors.New("orchestrator, rounds and pre_session_spawns: not built; hint: write the spawns of an agent's own turns")
	}
	mode, err := f.Str("context_mode")
	if err != nil {
		return err
	}
	list, err := f.List("turns")
	if err != nil {
		return err
	}
	i := r.begin(id, "")
	r.byID[id] = i
	for k, raw := range list {
		if err := r.dagTurn(i, raw, mode == "message_array_with_responses"); err != nil {
			return fmt.Errorf("turns[%d]: %w", k, err)
		}
	}
	if len(list) == 0 {
		return errors.New("turns: a conversation needs at least one")
	}
	return nil
}

func (r *reader) dagTurn(i int, raw json.RawMessage, complete bool) error {
	var t dagTurn
	if err := files.Strict(raw, &t); err != nil {
		return err
	}
	if err := checkMessages(t.Messages); err != nil {
		return err
	}
	if len(t.Forks)+len(t.Spawns) > 0 {
		return errors.New("forks and spawns: not built; hint: conversations without them are played")
	}
	if !(t.Delay >= 0 && t.Delay < files.MaxMillis) || t.MaxTokens < 0 {
		return errors.New("delay and max_tokens: want numbers from 0")
	}
	return r.add(i, Turn{
		Messages: t.Messages, Tools: t.Tools, Model: t.Model, MaxTokens: t.MaxTokens, Extra: t.Extra, Complete: complete,
		Delay: files.Scale(time.Millisecond, t.Delay),
	})
}
