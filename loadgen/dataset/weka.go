package dataset

import (
	"errors"
	"fmt"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

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
			return fmt.Errorf("block_size: %d, the sessions before have %d; hint: replay them apart", block, r.trace.block)
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
