package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
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
	ownClock: true, fits: hasAll("requests", "block_size", "hash_id_scope"), read: readWeka, finish: finishTrace,
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
	Duration  *float64      `json:"duration_ms"`
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
	if most := r.cfg.MaxContextLength; most > 0 && peak(list) > most { // a session is played as a whole or not at all
		r.skipped += count(list)
		return nil
	}
	w := wekaSession{r: r, place: rec.Place, id: id, scope: uint64(len(r.byID)+1) << 40, agents: map[string]bool{}}
	r.byID[id] = len(r.byID)
	return w.add(id, list)
}

// wekaSession adds the rows of one session.
type wekaSession struct {
	r         *reader
	place, id string
	scope     uint64
	agents    map[string]bool // agent_ids so far
}

// subagent is an entry of a session that a turn starts.
type subagent struct {
	name       string
	at         int     // its place in the list
	start, end float64 // s
	entry      *wekaRequest
}

// streamTurn is a request of a session as a turn of its stream.
type streamTurn struct {
	at     int     // its place in the list
	row    int32   // of the trace
	t      float64 // s
	before float64 // end of the turn before it, s; 0 for the first
}

// add adds the requests of one stream, and behind them those of its subagents.
func (w *wekaSession) add(session string, list []wekaRequest) error {
	var turns []streamTurn
	var agents []subagent
	var before *wekaRequest
	for i := range list {
		q := &list[i]
		switch q.Type {
		case "n", "s":
			turn := streamTurn{at: i, t: q.T}
			if w.r.trace != nil {
				turn.row = int32(len(w.r.trace.rows))
			}
			if before != nil {
				turn.before = before.ends()
			}
			if err := w.request(session, q, before); err != nil {
				return fmt.Errorf("requests[%d]: %w", i, err)
			}
			turns, before = append(turns, turn), q
		case "subagent":
			name := fmt.Sprintf("%s%s%s", w.id, agentMark, cmp.Or(q.AgentID, fmt.Sprint(len(w.agents))))
			if w.agents[name] {
				return diag.Errorf("requests[%d].agent_id: %q stands there twice", i, q.AgentID).Try("each subagent of a session has a name of its own")
			}
			w.agents[name] = true
			agents = append(agents, subagent{name: name, at: i, start: q.T, end: q.agentEnds(), entry: q})
		default:
			return fmt.Errorf("requests[%d].type: %q is none of n, s, subagent", i, q.Type)
		}
	}
	for k := range agents {
		if err := w.subagent(turns, &agents[k]); err != nil {
			return fmt.Errorf("requests[%d]: %w", agents[k].at, err)
		}
	}
	return nil
}

// agentMark stands in the name of a subagent's session, behind that of its root.
const agentMark = "::sa:"

// joinSlack is how much earlier than the end of a subagent the turn may be that
// waits for it, in s: recorded times are rounded.
const joinSlack = 1e-6

// subagent has the turn before it in the list start it, and the first turn
// behind it that came after its end wait for it; without one, nobody waits. One
// that no turn comes before is left out, as in AIPerf.
func (w *wekaSession) subagent(turns []streamTurn, a *subagent) error {
	var from *streamTurn
	link := trace.Branch{Join: -1}
	for k := range turns {
		switch t := &turns[k]; {
		case t.at < a.at:
			from = t
		case link.Join < 0 && t.t+joinSlack >= a.end:
			link.Join = t.row
			if !w.r.cfg.UseThinkTimeOnly { // it thinks from the later end on
				row := &w.r.trace.rows[t.row]
				row.Delay = min(row.Delay, files.Scale(time.Second, max(0, t.t-max(a.end, t.before))))
			}
		}
	}
	if from == nil || len(a.entry.Requests) == 0 {
		w.r.skipped += len(a.entry.Requests)
		return nil
	}
	for i := range a.entry.Requests { // some recorders count from the start of the subagent
		if q := &a.entry.Requests[i]; q.T+joinSlack < a.start {
			q.T += a.start
		}
	}
	link.From, link.Child = from.row, int32(len(w.r.trace.rows))
	if err := w.add(a.name, a.entry.Requests); err != nil {
		return err
	}
	if len(w.r.trace.rows) == int(link.Child) {
		return nil // all of it is a subagent's subagents
	}
	if !w.r.cfg.UseThinkTimeOnly {
		first := &w.r.trace.rows[link.Child]
		first.Delay = max(0, first.At-files.Scale(time.Second, a.start))
	}
	w.r.trace.branches = append(w.r.trace.branches, link)
	return nil
}

// ends is when the answer was over, in s.
func (q *wekaRequest) ends() float64 {
	if q.APITime == nil || !(*q.APITime > 0) || math.IsInf(*q.APITime, 1) {
		return q.T
	}
	return q.T + *q.APITime
}

// agentEnds is when the last answer of a subagent was over, in s.
func (q *wekaRequest) agentEnds() float64 {
	if q.Duration != nil {
		return q.T + max(0, *q.Duration/1000)
	}
	end := q.T
	for i := range q.Requests {
		r := q.Requests[i]
		if r.T+joinSlack < q.T {
			r.T += q.T
		}
		end = max(end, r.ends())
	}
	return end
}

// peak is the largest context of the requests, with those of subagents.
func peak(list []wekaRequest) (n int64) {
	for i := range list {
		n = max(n, list[i].In+max(1, list[i].Out), peak(list[i].Requests))
	}
	return n
}

// count is how many requests these are.
func count(list []wekaRequest) (n int) {
	for i := range list {
		if n += count(list[i].Requests); list[i].Type != "subagent" {
			n++
		}
	}
	return n
}

func (w *wekaSession) request(session string, q, before *wekaRequest) error {
	if !(q.T >= 0 && q.T < files.MaxMillis/1000) {
		return fmt.Errorf("t: %g s is out of range", q.T)
	}
	row := trace.Row{Session: session, In: q.In, Out: max(1, q.Out), At: files.Scale(time.Second, q.T), Timed: true}
	ids := make(hashList, len(q.HashIDs))
	for i, h := range q.HashIDs {
		ids[i] = w.scope ^ h
	}
	row.Blocks = w.r.blocks(ids)
	if w.r.cfg.UseThinkTimeOnly {
		row.Timed = false
	}
	if before != nil {
		gap := q.T - before.ends()
		if w.r.cfg.UseThinkTimeOnly {
			gap = 0
			if q.ThinkTime != nil {
				gap = *q.ThinkTime
			}
		}
		row.Delay = files.Scale(time.Second, max(0, gap))
	}
	return w.r.record(w.place, row, nil)
}

// tracelab is one round of a coding agent's session in the TraceLab corpus. It
// holds no text and no hashes, but how many input tokens a round took over
// from the one before (prefix_tokens) and how many are new: blocks are named
// so that each session reuses as many as it did. Times are AIPerf's: a round was
// sent at its last input and ended with its last output, and each session counts
// from its own beginning.
var tracelab = Format{
	Name: "tracelab", Doc: "a round of a coding agent's session in the TraceLab corpus", Trace: true, Block: 64, Complete: true,
	Sampling: "sequential", Settings: replaying, ownClock: true,
	fits: hasAll("session_id", "round_index", "input_tokens_total"), read: readTraceLab, finish: finishTraceLab,
}

// round is what the rows of a session are ordered and timed by.
type round struct {
	index, prefix int64
	ends          time.Duration // since 1970
}

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
	var reasoning int64
	for name, to := range map[string]*int64{"round_index": &is.index, "prefix_tokens": &is.prefix, "reasoning_output_tokens": &reasoning} {
		if _, err := f.Decode(name, to, "a whole number"); err != nil {
			return err
		}
	}
	if row.At, is.ends, row.Timed = roundTimes(f.Value("timing_events")); !row.Timed {
		f.Pass()
		r.skipped++ // nobody knows where in its session it belongs
		return nil
	}
	f.Pass()
	row.In, row.Out = max(1, row.In), max(1, row.Out+reasoning)
	r.rounds = append(r.rounds, is)
	return r.record(rec.Place, row, nil)
}

// roundTimes are when a round was sent and when its last output came, since
// 1970. Where several tools answered, it was sent after the last of them.
func roundTimes(raw json.RawMessage) (sent, ends time.Duration, ok bool) {
	var events []struct {
		Type      string `json:"event_type"`
		Timestamp string
	}
	if json.Unmarshal(raw, &events) != nil {
		return 0, 0, false
	}
	var first time.Duration
	asked, said := false, false
	for _, e := range events {
		t, err := time.Parse(time.RFC3339Nano, e.Timestamp)
		if err != nil {
			if t, err = time.Parse("2006-01-02T15:04:05.999999999", e.Timestamp); err != nil {
				continue
			}
		}
		at := time.Duration(t.UnixNano())
		switch e.Type {
		case "user_message", "tool_result":
			if !asked || at > sent {
				sent, asked = at, true
			}
		case "text", "reasoning", "tool_call":
			if !said || at < first {
				first = at
			}
			if !said || at > ends {
				ends = at
			}
			said = true
		}
	}
	if !asked {
		sent = first
	}
	return sent, max(ends, sent), asked || said
}

// finishTraceLab puts the rounds of each session in the order of time and names
// the blocks, of which the last part of an input has none.
func finishTraceLab(r *reader) error {
	if r.trace == nil {
		return diag.Errorf("%s: no record can be sent (%s without times were left out)", r.cfg.Path, words.CountOf(r.skipped, "one", "ones")).
			Try("timing_events of a round says when it was sent")
	}
	rows, block := r.trace.rows, r.trace.block
	order := make([]int, len(rows))
	first := map[string]int{}
	for i := range order {
		order[i] = i
		if _, ok := first[rows[i].Session]; !ok {
			first[rows[i].Session] = i
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(first[rows[a].Session], first[rows[b].Session]), cmp.Compare(rows[a].At, rows[b].At), cmp.Compare(r.rounds[a].index, r.rounds[b].index))
	})
	out := make([]trace.Row, len(rows))
	next, zero, ended := int32(0), time.Duration(0), time.Duration(0)
	for k, i := range order {
		row := rows[i]
		var before []int32
		if k == 0 || out[k-1].Session != row.Session {
			zero = row.At
		} else {
			before, row.Delay = out[k-1].Blocks, max(0, row.At-ended)
		}
		ended = r.rounds[i].ends
		row.At -= zero
		n := int(row.In) / block
		row.Blocks = slices.Clone(before[:max(0, min(len(before), int(r.rounds[i].prefix)/block, n))])
		for len(row.Blocks) < n {
			row.Blocks = append(row.Blocks, next)
			next++
		}
		out[k] = row
	}
	r.trace.rows, r.trace.back = out, ""
	return finishTrace(r)
}
