package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// replaying are the settings of traces.
var replaying = []string{
	"block_size", "synthesis", "replay_speedup", "trace_session_sample_ratio", "inter_turn_delay_cap_seconds", "max_idle_gap_cap_seconds",
	"trace_idle_gap_cap_seconds", "ignore_trace_delays", "system_prompt", "system_prompt_file", "turn_delay_ratio", "cache_bust",
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
	if err := r.oneMode(row.Session, lit); err != nil {
		return err
	}
	return r.record(rec.Place, row, lit)
}

// oneMode refuses a session some of whose messages are all that is said and others
// only what is new: nobody could tell what its history is.
func (r *reader) oneMode(session string, lit *literal) error {
	if session == "" || lit == nil || lit.messages == nil {
		return nil
	}
	delta, known := r.modes[session]
	if known && delta != lit.delta {
		words := map[bool]string{true: "delta", false: "history"}
		return diag.Errorf("message_mode: %s, in a session that began with %s", words[lit.delta], words[delta]).
			Try("one mode for all rows of a session_id; history is meant where none is said")
	}
	if r.modes == nil {
		r.modes = map[string]bool{}
	}
	r.modes[session] = lit.delta
	return nil
}

// row reads the lengths and hashes of a recorded request.
func (r *reader) row(f *files.Fields, in, out, hashes string) (row trace.Row, err error) {
	var ids hashList
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

// blocks gives hashes their names. Rows have their blocks in common stretches
// of memory: a million small ones would take as much again to keep track of.
func (r *reader) blocks(ids hashList) []int32 {
	if len(ids) == 0 {
		return nil
	}
	if len(r.room) < len(ids) {
		r.room = make([]int32, max(stretch, len(ids)))
	}
	out := r.room[:len(ids):len(ids)]
	r.room = r.room[len(ids):]
	for i, id := range ids {
		out[i] = r.names.Of(id)
	}
	return out
}

// stretch is how many blocks are given room at once.
const stretch = 1 << 16

// measure remembers how many tokens the blocks of row stand for. It says where that
// is another number than before: then a hash is not one text.
func (t *traceRows) measure(place string, row *trace.Row) string {
	for k, b := range row.Blocks {
		for int(b) >= len(t.sizes) {
			t.sizes = append(t.sizes, -1)
		}
		n, before := row.Tokens(k, t.block), t.sizes[b]
		if before >= 0 && n != before {
			return fmt.Sprintf("%s: hash id %d of %d stands for %d tokens here and for %d before; a shorter block is taken for the beginning of the longer one", place, k+1, len(row.Blocks), n, before)
		}
		t.sizes[b] = n
	}
	return ""
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

// hashList is hashes of blocks: 64 bits each, written with or without a sign.
type hashList []uint64

// UnmarshalJSON reads a list of whole numbers. It is where the time goes when a
// trace is read, so it does without a decoder's steps for each number.
func (h *hashList) UnmarshalJSON(b []byte) error {
	list := (*h)[:0]
	if len(b) < 2 || b[0] != '[' {
		return errHashes
	}
	for at := 1; ; at++ { // b is JSON: a bracket ends it
		for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\n' || b[at] == '\r') {
			at++
		}
		if b[at] == ']' && len(list) == 0 {
			break
		}
		start := at
		for at < len(b) && strings.IndexByte("0123456789-", b[at]) >= 0 {
			at++
		}
		id, err := hashOf(b[start:at])
		if err != nil {
			return err
		}
		list = append(list, id)
		for b[at] == ' ' || b[at] == '\t' || b[at] == '\n' || b[at] == '\r' {
			at++
		}
		if b[at] == ']' {
			break
		}
		if b[at] != ',' {
			return errHashes
		}
	}
	*h = list
	return nil
}

var errHashes = errors.New("want a list of whole numbers")

// hashOf is one hash.
func hashOf(digits []byte) (uint64, error) {
	if len(digits) == 0 {
		return 0, errHashes
	}
	if digits[0] == '-' {
		v, err := strconv.ParseInt(string(digits), 10, 64)
		return uint64(v), err
	}
	if len(digits) > 18 { // the rest cannot be above 64 bits
		return strconv.ParseUint(string(digits), 10, 64)
	}
	var v uint64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errHashes
		}
		v = v*10 + uint64(c-'0')
	}
	return v, nil
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
