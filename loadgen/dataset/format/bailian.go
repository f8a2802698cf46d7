package format

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// bailian is a request of Alibaba's Qwen traces (alibaba-edu,
// qwen-bailian-usagetraces-anon). A follow-up names the chat it follows; every
// row holds the whole input, history included. Times are in seconds, blocks
// have 16 tokens.
var bailian = Format{
	Name: "bailian_trace", Doc: "a request of Alibaba's Qwen traces, linked to the chat it follows", Trace: true,
	Block: 16, Complete: true,
	Sampling: "sequential", Settings: replaying, fits: hasAll("chat_id", "parent_chat_id", "input_length",
		"output_length"),
	decoder: func(d *draft) decoder { return &bailianRows{traceRows: newTraceRows(d)} },
}

// chat links a row of a bailian trace.
type chat struct{ id, parent, turn int64 }

// bailianRows knows which chat each row follows.
type bailianRows struct {
	traceRows
	chats []chat // by row
}

func (r *bailianRows) read(rec files.Record) error {
	f := rec.Fields
	row, err := r.row(f, "input_length", "output_length", "hash_ids")
	if err != nil {
		return err
	}
	var timed bool
	if row.At, timed, err = f.Seconds("timestamp"); err != nil {
		return err
	}
	if !timed {
		return errors.New("timestamp: missing")
	}
	row.Timed = true
	c := chat{turn: 1}
	for _, to := range []struct {
		name string
		v    *int64
	}{{"chat_id", &c.id}, {"parent_chat_id", &c.parent}, {"turn", &c.turn}} {
		if _, err := f.Decode(to.name, to.v, "a whole number"); err != nil {
			return err
		}
	}
	f.Pass("type")
	r.chats = append(r.chats, c)
	return r.record(rec.Place, row, nil)
}

// finish names the session of each row after the chat that its parents
// lead to, and puts the rows of a session in the order of their turns.
func (r *bailianRows) finish() error {
	parent := make(map[int64]int64, len(r.chats))
	for _, c := range r.chats {
		parent[c.id] = c.parent
	}
	rows := r.rows
	bySession := map[string][]int{}
	for i, c := range r.chats {
		rows[i].Session = strconv.FormatInt(root(parent, c.id), 10)
		bySession[rows[i].Session] = append(bySession[rows[i].Session], i)
	}
	out := make([]trace.Row, 0, len(rows))
	for i := range rows { // sessions keep the order of their first rows
		list := bySession[rows[i].Session]
		delete(bySession, rows[i].Session)
		slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(r.chats[a].turn, r.chats[b].turn) })
		for _, k := range list {
			out = append(out, rows[k])
		}
	}
	r.rows = out
	return r.traceRows.finish()
}

// root follows parents up to a chat that has none in the file; a circle ends
// where it began.
func root(parent map[int64]int64, id int64) int64 {
	for steps := 0; steps <= len(parent); steps++ {
		up, ok := parent[id]
		if _, known := parent[up]; !ok || up == -1 || up == id || !known {
			return id
		}
		id = up
	}
	return id
}
