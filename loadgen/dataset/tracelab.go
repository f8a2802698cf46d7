package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// tracelab is one round of a coding agent's session in the TraceLab corpus. It
// holds no text and no hashes, but how many input tokens a round took over
// from the one before (prefix_tokens) and how many are new: blocks are named
// so that each session reuses as many as it did.
var tracelab = Format{
	Name: "tracelab", Doc: "a round of a coding agent's session in the TraceLab corpus", Trace: true, Block: 64, Complete: true,
	Sampling: "sequential", Settings: replaying, fits: hasAll("session_id", "round_index", "input_tokens_total"), read: readTraceLab, finish: finishTraceLab,
}

// round is what orders the rows of a session.
type round struct{ index, prefix int64 }

func readTraceLab(r *reader, rec files.Record) error {
	f := rec.Fields
	row, err := r.row(f, "input_tokens_total", "output_tokens", "")
	if err != nil {
		return err
	}
	if row.Session, err = f.Str("session_id"); err != nil || row.Session == "" {
		return cmp.Or(err, errors.New("session_id: missing"))
	}
	var is round
	if _, err := f.Decode("round_index", &is.index, "a whole number"); err != nil {
		return err
	}
	if _, err := f.Decode("prefix_tokens", &is.prefix, "a whole number of tokens"); err != nil {
		return err
	}
	if at, ok := firstEvent(f.Value("timing_events")); ok {
		row.At, row.Timed = at, true
	}
	f.Pass()
	if row.In < 1 {
		r.skipped++
		return nil
	}
	r.rounds = append(r.rounds, is)
	return r.record(rec.Place, row, nil)
}

// firstEvent is the earliest time of a round, since 1970.
func firstEvent(raw json.RawMessage) (at time.Duration, ok bool) {
	var events []struct{ Timestamp, At, Time string }
	if json.Unmarshal(raw, &events) != nil {
		return 0, false
	}
	for _, e := range events {
		t, err := time.Parse(time.RFC3339Nano, cmp.Or(e.Timestamp, e.At, e.Time))
		if since := time.Duration(t.UnixNano()); err == nil && (!ok || since < at) {
			at, ok = since, true
		}
	}
	return at, ok
}

// finishTraceLab orders each session by its rounds, counts time from the first
// one of all, and names the blocks.
func finishTraceLab(r *reader) error {
	if r.trace == nil {
		return errors.New(r.cfg.Path + ": no records")
	}
	rows, block := r.trace.rows, r.trace.block
	order := make([]int, len(rows))
	zero, timed := time.Duration(0), false
	for i := range order {
		order[i] = i
		if rows[i].Timed && (!timed || rows[i].At < zero) {
			zero, timed = rows[i].At, true
		}
	}
	first := map[string]int{}
	for i := range rows {
		if _, ok := first[rows[i].Session]; !ok {
			first[rows[i].Session] = i
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(first[rows[a].Session], first[rows[b].Session]), cmp.Compare(r.rounds[a].index, r.rounds[b].index))
	})
	out := make([]trace.Row, len(rows))
	last := map[string][]int32{}
	next := int32(0)
	for k, i := range order {
		row := rows[i]
		if row.Timed {
			row.At -= zero
		}
		before := last[row.Session]
		kept := min(len(before), int(r.rounds[i].prefix)/block, int(row.In)/block)
		row.Blocks = slices.Clone(before[:kept])
		for int64(len(row.Blocks))*int64(block) < row.In {
			row.Blocks = append(row.Blocks, next)
			next++
		}
		last[row.Session], out[k] = row.Blocks, row
	}
	r.trace.rows, r.trace.back = out, ""
	return finishTrace(r)
}
