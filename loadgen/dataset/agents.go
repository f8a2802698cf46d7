package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// Two corpora hold sessions of coding agents.

// weka is a coding session that Weka's KV-cache tester recorded: one JSON
// object with its requests in order; subagents hold requests of their own.
// Hashes mean something within their session only.
var weka = Format{
	Name: "weka_trace", Doc: "a coding session of Weka's cache tester with its requests and subagents", Trace: true, Block: 64, Complete: true,
	Sampling: "sequential", Settings: append([]string{"use_think_time_only", "max_context_length"}, replaying...),
	fits: hasAll("requests", "block_size", "hash_id_scope"), read: readWeka, finish: finishTrace,
}

// wekaRequest is one entry of a session: a request, or a subagent with its own.
type wekaRequest struct {
	T         float64 // s
	Type      string  // n, s: a request; subagent
	Model     string
	In        int64
	Out       int64
	HashIDs   hashList      `json:"hash_ids"`
	ThinkTime *float64      `json:"think_time"` // s
	APITime   *float64      `json:"api_time"`   // s
	AgentID   string        `json:"agent_id"`
	Requests  []wekaRequest // of a subagent
}

func readWeka(r *reader, rec files.Record) error {
	f := rec.Fields
	id, err := f.Str("id")
	if err != nil {
		return err
	}
	if id == "" {
		return errors.New("id: missing")
	}
	if scope, err := f.Str("hash_id_scope"); err != nil || scope != "local" {
		return fmt.Errorf("hash_id_scope: %q is not local", scope)
	}
	var block int
	var list []wekaRequest
	if _, err := f.Decode("block_size", &block, "a whole number of tokens"); err != nil {
		return err
	}
	if block < 1 {
		return fmt.Errorf("block_size: %d is not a number of tokens", block)
	}
	if _, err := f.Decode("requests", &list, "a list of requests"); err != nil {
		return err
	}
	f.Pass() // totals and summaries
	if r.cfg.BlockSize == 0 {
		if r.trace == nil {
			r.cfg.BlockSize = block
		} else if r.trace.block != block {
			return diag.Errorf("block_size: %d, the sessions before have %d", block, r.trace.block).Try("replay them apart")
		}
	}
	w := wekaSession{r: r, place: rec.Place, id: id, scope: uint64(len(r.byID)+1) << 40}
	r.byID[id] = len(r.byID)
	return w.add(id, list)
}

// wekaSession adds the rows of one session.
type wekaSession struct {
	r         *reader
	place, id string
	scope     uint64
}

func (w *wekaSession) add(session string, list []wekaRequest) error {
	var before *wekaRequest
	for i := range list {
		q := &list[i]
		switch q.Type {
		case "n", "s":
			if err := w.request(session, q, before); err != nil {
				return fmt.Errorf("requests[%d]: %w", i, err)
			}
			before = q
		case "subagent":
			w.r.subagents++
			if err := w.add(fmt.Sprintf("%s::sa:%s", w.id, q.AgentID), q.Requests); err != nil {
				return fmt.Errorf("requests[%d]: %w", i, err)
			}
		default:
			return fmt.Errorf("requests[%d].type: %q is none of n, s, subagent", i, q.Type)
		}
	}
	return nil
}

func (w *wekaSession) request(session string, q, before *wekaRequest) error {
	if most := w.r.cfg.MaxContextLength; most > 0 && q.In+q.Out > most {
		w.r.skipped++
		return nil
	}
	if !(q.T >= 0 && q.T < files.MaxMillis/1000) {
		return fmt.Errorf("t: %g s is out of range", q.T)
	}
	row := trace.Row{Session: session, In: q.In, Out: q.Out, At: files.Scale(time.Second, q.T), Timed: true}
	ids := make(hashList, len(q.HashIDs))
	for i, h := range q.HashIDs {
		ids[i] = w.scope ^ h
	}
	row.Blocks = w.r.blocks(ids)
	if before != nil {
		gap := q.T - before.T
		if w.r.cfg.UseThinkTimeOnly {
			gap = 0
			if q.ThinkTime != nil {
				gap = *q.ThinkTime
			}
			row.Timed = false
		} else if before.APITime != nil {
			gap -= *before.APITime
		}
		row.Delay = files.Scale(time.Second, max(0, gap))
	}
	return w.r.record(w.place, row, nil)
}

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
