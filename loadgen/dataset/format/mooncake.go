package format

import (
	"encoding/json"
	"errors"
	"fmt"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// mooncake is a recorded request of Mooncake's traces and of what AIPerf made
// of them: {"timestamp": ms, "input_length", "output_length", "hash_ids"}, or
// in place of the length text_input, messages or payload.
var mooncake = Format{
	Name: "mooncake_trace", Doc: "a recorded request: time, lengths and hashes of its blocks, or its text, messages or body",
	Trace: true, Promotes: true, Block: 512,
	Sampling: "sequential", Settings: replaying, fits: fitsMooncake,
	decoder: func(d *draft) decoder { return &mooncakeRows{traceRows: newTraceRows(d), deltas: map[string]bool{}} },
}

// inputs are the four ways in which a mooncake row says what was asked.
var inputs = []string{"input_length", "text_input", "messages", "payload"}

// given is how many of the ways a row has.
func given(r *files.Record) (n int) {
	for _, name := range inputs {
		if r.Fields.Has(name) {
			n++
		}
	}
	return n
}

func fitsMooncake(r *files.Record) (bool, string) {
	switch {
	case given(r) == 0:
		return false, "it has no " + orList(inputs)
	case given(r) > 1:
		return false, "it has more than one of " + andList(inputs)
	case !r.Fields.Has("messages"):
		return true, "it has " + r.Fields.First(inputs)
	}
	for _, name := range []string{"timestamp", "delay", "output_length", "session_id", "message_mode"} {
		if r.Fields.Has(name) {
			return true, "it has messages and " + name
		}
	}
	return false, "its messages have nothing of a trace beside them"
}

// mooncakeRows knows whether the messages of a session are all of its history.
type mooncakeRows struct {
	traceRows
	deltas   map[string]bool // by session: only what is new
	captured int             // rows that aiperf capture wrote
	sized    bool            // one of them said how many tokens a block has
}

func (r *mooncakeRows) read(rec files.Record) error {
	f := rec.Fields
	if ok, why := fitsMooncake(&rec); !ok && !f.Has("messages") {
		return errors.New(why)
	}
	c, err := r.capture(f)
	if err != nil {
		return err
	}
	row, err := r.row(f, "input_length", "output_length", "hash_ids")
	if err != nil {
		return err
	}
	if row.Session, err = f.Str("session_id"); err != nil {
		return err
	}
	f.Pass("type")
	if at, err := f.Millis("timestamp"); err != nil {
		return err
	} else if at != nil {
		row.At, row.Timed = *at, true
	}
	if delay, err := f.Millis("delay"); err != nil {
		return err
	} else if delay != nil {
		row.Delay = *delay
	}
	lit, err := readLiteral(f)
	if err != nil {
		return err
	}
	if err := r.oneMode(row.Session, lit); err != nil {
		return err
	}
	if c != nil && lit != nil {
		row.In, row.Blocks = c.In, r.blocks(c.Blocks)
	}
	return r.record(rec.Place, row, lit)
}

// beside is what aiperf capture adds to a row: how the blocks were cut and, where the
// row has texts, what they would be as lengths and hashes.
type beside struct {
	Block  int64    `json:"block_size"`
	In     int64    `json:"input_tokens"`
	Blocks hashList `json:"hash_ids"`
}

// capture reads it; nil for a row that has none.
func (r *mooncakeRows) capture(f *files.Fields) (*beside, error) {
	var c beside
	if is, err := f.Decode("capture", &c, "an object as aiperf capture writes it"); err != nil || !is {
		return nil, err
	}
	r.captured++
	switch {
	case c.Block == 0 || r.cfg.BlockSize > 0:
	case c.Block < 0 || c.Block > conversation.MaxTokens:
		return nil, fmt.Errorf("capture.block_size: %d is not a number of tokens", c.Block)
	case r.sized && r.block != int(c.Block):
		return nil, diag.Errorf("capture.block_size: %d, the rows before have %d", c.Block, r.block).
			Try("replay them apart")
	default:
		r.block, r.sized = int(c.Block), true
	}
	return &c, nil
}

// finish makes the rows a store. Those of a capture have their whole history each.
func (r *mooncakeRows) finish() error {
	r.complete = r.complete || r.captured == len(r.rows)
	return r.traceRows.finish()
}

// oneMode refuses a session some of whose messages are all that is said and others
// only what is new: nobody could tell what its history is.
func (r *mooncakeRows) oneMode(session string, lit *literal) error {
	if session == "" || lit == nil || lit.messages == nil {
		return nil
	}
	delta, known := r.deltas[session]
	if known && delta != lit.delta {
		words := map[bool]string{true: "delta", false: "history"}
		return diag.Errorf("message_mode: %s, in a session that began with %s", words[lit.delta], words[delta]).
			Try("use one mode for all rows of a session_id; without one it is history")
	}
	r.deltas[session] = lit.delta
	return nil
}

// readLiteral is what a row says in words, nil when it says lengths only.
func readLiteral(f *files.Fields) (*literal, error) {
	lit := &literal{}
	var mode string
	var errs [7]error
	lit.text, errs[0] = f.Str("text_input")
	lit.messages, errs[1] = f.Raw("messages", '[', "a list of messages")
	lit.tools, errs[2] = f.Raw("tools", '[', "a list of tool definitions")
	lit.payload, errs[3] = f.Raw("payload", '{', "a request body")
	_, errs[4] = f.Decode("extra", &lit.extra, "an object")
	mode, errs[5] = f.Str("message_mode")
	lit.model, errs[6] = f.Str("model")
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	lit.delta = mode == "delta"
	switch {
	case mode != "" && mode != "delta" && mode != "history":
		return nil, fmt.Errorf("message_mode: %q is neither history nor delta", mode)
	case lit.delta && lit.messages == nil:
		return nil, errors.New("message_mode: delta goes with messages only")
	case lit.tools != nil && lit.messages == nil:
		return nil, errors.New("tools: go with messages only")
	case lit.text == "" && f.Has("text_input"):
		return nil, errors.New("text_input: is empty")
	}
	if lit.messages != nil {
		if err := checkMessages(lit.messages); err != nil {
			return nil, err
		}
	}
	if lit.text == "" && lit.messages == nil && lit.payload == nil && lit.extra == nil && lit.model == "" {
		return nil, nil
	}
	return lit, nil
}

// checkMessages refuses a list whose messages have no role.
func checkMessages(raw json.RawMessage) error {
	var list []struct{ Role *string }
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return errors.New("messages: want a list of objects with a role")
	}
	for i := range list {
		if list[i].Role == nil {
			return fmt.Errorf("messages[%d]: has no role", i)
		}
	}
	return nil
}

// Mooncake is a row as a line of a mooncake_trace file.
func Mooncake(r *trace.Row) ([]byte, error) {
	line := struct {
		Timestamp *float64 `json:"timestamp,omitempty"`
		Session   string   `json:"session_id,omitempty"`
		Delay     *float64 `json:"delay,omitempty"`
		In        int64    `json:"input_length"`
		Out       int64    `json:"output_length,omitempty"`
		Blocks    []int32  `json:"hash_ids,omitempty"`
	}{Session: r.Session, In: r.In, Out: r.Out, Blocks: r.Blocks}
	if r.Timed {
		ms := float64(r.At) / 1e6
		line.Timestamp = &ms
	}
	if r.Delay > 0 && !r.Timed {
		ms := float64(r.Delay) / 1e6
		line.Delay = &ms
	}
	return json.Marshal(line)
}
