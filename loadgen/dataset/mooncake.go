package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// replaying are the settings of traces.
var replaying = []string{
	"block_size", "synthesis", "replay_speedup", "trace_session_sample_ratio", "inter_turn_delay_cap_seconds", "max_idle_gap_cap_seconds",
	"trace_idle_gap_cap_seconds", "ignore_trace_delays", "open_loop_strict", "system_prompt", "system_prompt_file", "turn_delay_ratio", "cache_bust",
}

// mooncake is a recorded request of Mooncake's traces and of what AIPerf made
// of them: {"timestamp": ms, "input_length", "output_length", "hash_ids"}, or
// in place of the length text_input, messages or payload.
var mooncake = Format{
	Name: "mooncake_trace", Doc: "a recorded request: time, lengths and hashes of its blocks, or its text, messages or body", Trace: true, Promotes: true, Block: 512,
	Sampling: "sequential", Settings: replaying, fits: fitsMooncake, read: readMooncake, finish: finishTrace,
}

// inputs are the four ways in which a mooncake row says what was asked.
var inputs = []string{"input_length", "text_input", "messages", "payload"}

func fitsMooncake(r *files.Record) (bool, string) {
	n := 0
	for _, name := range inputs {
		if r.Fields.Has(name) {
			n++
		}
	}
	switch {
	case n == 0:
		return false, "it has no " + orList(inputs)
	case n > 1:
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

func readMooncake(r *reader, rec files.Record) error {
	f := rec.Fields
	if ok, why := fitsMooncake(&rec); !ok && !f.Has("messages") {
		return errors.New(why)
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
	return r.record(rec.Place, row, lit)
}

// row reads the lengths and hashes of a recorded request.
func (r *reader) row(f *files.Fields, in, out, hashes string) (row trace.Row, err error) {
	var ids []hash
	if _, err = f.Decode(in, &row.In, "a whole number of tokens"); err == nil {
		if _, err = f.Decode(out, &row.Out, "a whole number of tokens"); err == nil && hashes != "" {
			_, err = f.Decode(hashes, &ids, "a list of whole numbers from 0")
		}
	}
	if err != nil {
		return row, err
	}
	row.Blocks = r.blocks(ids)
	return row, nil
}

func (r *reader) blocks(ids []hash) []int32 {
	if len(ids) == 0 {
		return nil
	}
	out := make([]int32, len(ids))
	for i, id := range ids {
		out[i] = r.names.Of(uint64(id))
	}
	return out
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
	lit.extra, errs[4] = f.Object("extra")
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

// hash is the hash of a block: 64 bits, written with or without a sign.
type hash uint64

func (h *hash) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '-' {
		v, err := strconv.ParseInt(string(b), 10, 64)
		*h = hash(v)
		return err
	}
	v, err := strconv.ParseUint(string(b), 10, 64)
	*h = hash(v)
	return err
}
