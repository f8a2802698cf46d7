package format

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/agents"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// weka is a coding session that Weka's KV-cache tester recorded: one JSON
// object with its requests in order; subagents hold requests of their own.
// Hashes mean something within their session only.
var weka = Format{
	Name: "weka_trace", Doc: "a coding session of Weka's cache tester with its requests and subagents", Trace: true,
	Block: 64, Complete: true,
	Sampling: "sequential", Settings: append([]string{"use_think_time_only", "max_context_length"}, replaying...),
	ownClock: true, fits: hasAll("requests", "block_size", "hash_id_scope"),
	decoder: func(d *draft) decoder { return &wekaRows{traceRows: newTraceRows(d)} },
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

// wekaRows reads sessions, each of which has hashes of its own.
type wekaRows struct {
	traceRows
	sessions map[string]bool // names so far
}

func (r *wekaRows) read(rec files.Record) error {
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
		if len(r.rows) == 0 {
			r.block = block
		} else if r.block != block {
			return diag.Errorf("block_size: %d, the sessions before have %d", block, r.block).Try("replay them apart")
		}
	}
	if most := r.cfg.MaxContextLength; most > 0 && peak(list) > most { // a session is played as a whole or not at all
		r.skipped += count(list)
		return nil
	}
	return r.session(rec.Place, id, list)
}

// session adds a session with its requests.
func (r *wekaRows) session(place, id string, list []wekaRequest) error {
	w := wekaSession{r: r, place: place, id: id, scope: uint64(len(r.sessions)+1) << 40, agents: map[string]bool{}}
	if r.sessions == nil {
		r.sessions = map[string]bool{}
	}
	r.sessions[id] = true
	return w.add(id, list)
}

// wekaSession adds the rows of one session.
type wekaSession struct {
	r         *wekaRows
	place, id string
	scope     uint64
	agents    map[string]bool // agent_ids so far
}

// agentMark stands in the name of a subagent's session, behind that of its root;
// flatMark in that of an agent that only its hashes tell apart.
const (
	agentMark = "::sa:"
	flatMark  = "fa:"
)

// agentRequest is a request and its place in the list.
type agentRequest struct {
	at int
	*wekaRequest
}

// started is an agent that a turn of another one starts.
type started struct {
	sessions   []agentSession
	named      bool    // the recorder knew of it
	at         int     // the place of the first of its requests in the list
	start, end float64 // s
	from, join *streamTurn
}

// agentSession are requests that become one session.
type agentSession struct {
	name     string
	requests []agentRequest
	nested   []started
}

// streamTurn is a request of a session as a turn of its stream.
type streamTurn struct {
	at     int     // its place in the list
	row    int32   // of the trace
	t      float64 // s
	before float64 // end of the turn before it, s; 0 for the first
}

// add adds the requests of a list: those of its main agent as one session, and
// behind it all that this one starts.
func (w *wekaSession) add(session string, list []wekaRequest) error {
	all, err := w.sessions(session, session+"::", list)
	if err != nil {
		return err
	}
	main := all[0]
	if len(all) == 1 {
		slices.SortFunc(main.requests, func(a, b agentRequest) int { return cmp.Compare(a.at, b.at) }) // as recorded
	}
	for k, s := range all[1:] {
		q := s.requests[0]
		main.nested = append(main.nested, started{
			sessions: all[1+k : 2+k],
			at:       q.at, start: q.T, end: chainEnd(s.requests),
		})
	}
	return w.addSession(&main, 0)
}

// sessions takes a list apart: its main agent comes first, with what its turns
// start, then those that only their hashes tell apart, named behind mark.
func (w *wekaSession) sessions(name, mark string, list []wekaRequest) ([]agentSession, error) {
	var own []agents.Request
	main := agentSession{name: name}
	for i := range list {
		q := &list[i]
		switch q.Type {
		case "n", "s":
			own = append(own, agents.Request{
				Place: i, T: q.T, End: q.ends(), Out: q.Out, Model: q.Model,
				Hashes: q.HashIDs,
			})
		case "subagent":
			agent, err := w.subagent(i, q)
			if err != nil {
				return nil, err
			}
			main.nested = append(main.nested, agent)
		default:
			return nil, fmt.Errorf("requests[%d].type: %q is not one of n, s, subagent", i, q.Type)
		}
	}
	first, others := agents.Split(own)
	main.requests = chainOf(list, first)
	all := []agentSession{main}
	for k, requests := range others {
		all = append(all, agentSession{
			name:     fmt.Sprintf("%s%s%03d", mark, flatMark, k),
			requests: chainOf(list, requests),
		})
	}
	return all, nil
}

func chainOf(list []wekaRequest, of []agents.Request) (out []agentRequest) {
	for _, q := range of {
		out = append(out, agentRequest{q.Place, &list[q.Place]})
	}
	return out
}

// chainEnd is when the last answer of the requests was over, in s.
func chainEnd(list []agentRequest) float64 {
	end := math.Inf(-1)
	for _, q := range list {
		end = max(end, q.ends())
	}
	return end
}

// subagent is an entry of a list that names an agent.
func (w *wekaSession) subagent(at int, q *wekaRequest) (started, error) {
	name := fmt.Sprintf("%s%s%s", w.id, agentMark, cmp.Or(q.AgentID, fmt.Sprint(len(w.agents))))
	if w.agents[name] {
		return started{}, diag.Errorf("requests[%d].agent_id: %q appears twice", at, q.AgentID).
			Try("give each subagent of a session a different name")
	}
	w.agents[name] = true
	end := q.agentEnds()
	for i := range q.Requests { // some recorders count from the start of the subagent
		if r := &q.Requests[i]; r.T+agents.Slack < q.T {
			r.T += q.T
		}
	}
	all, err := w.sessions(name, name+":", q.Requests)
	if err != nil {
		err = fmt.Errorf("requests[%d]: %w", at, err)
	}
	return started{sessions: all, named: true, at: at, start: q.T, end: end}, err
}

// addSession adds the requests of a session, the first of which comes so much
// later than what starts it, in s, and behind them what they start.
func (w *wekaSession) addSession(s *agentSession, later float64) error {
	var turns []streamTurn
	var before *wekaRequest
	for _, q := range s.requests {
		turn := streamTurn{at: q.at, t: q.T, row: int32(len(w.r.rows))}
		if before != nil {
			turn.before = before.ends()
		}
		if err := w.request(s.name, q.wekaRequest, before); err != nil {
			return fmt.Errorf("requests[%d]: %w", q.at, err)
		}
		if before == nil && later > 0 && !w.r.cfg.UseThinkTimeOnly {
			w.r.rows[turn.row].Delay = files.Scale(time.Second, later)
		}
		turns, before = append(turns, turn), q.wekaRequest
	}
	for k := range s.nested {
		w.link(turns, &s.nested[k])
	}
	for k := range s.nested {
		if err := w.start(s.nested, &s.nested[k]); err != nil {
			return err
		}
	}
	return nil
}

// link has the turn before an agent in the list start it, and the first turn
// behind it that came after its end wait for it; without one, nobody waits.
func (w *wekaSession) link(turns []streamTurn, a *started) {
	for k := range turns {
		switch t := &turns[k]; {
		case t.at < a.at, k == 0 && !a.named:
			a.from = t
		case t.at > a.at && t.t+agents.Slack >= a.end && (a.join == nil || t.at < a.join.at):
			a.join = t
		}
	}
	if a.join != nil && a.from != nil && a.join.row <= a.from.row {
		a.join = nil // a list out of order: nobody waits for what comes later
	}
	if a.join != nil && !w.r.cfg.UseThinkTimeOnly { // it thinks from the later end on
		row := &w.r.rows[a.join.row]
		row.Delay = min(row.Delay, files.Scale(time.Second, max(0, a.join.t-max(a.end, a.join.before))))
	}
}

// start adds the sessions of an agent. A subagent that no turn comes before is
// left out, as in AIPerf; an agent that was not named is started by the first
// turn then. Agents that the same turn starts and the same one waits for begin
// together, at the first one's time.
func (w *wekaSession) start(all []started, a *started) error {
	if a.from == nil {
		for _, s := range a.sessions {
			w.r.skipped += len(s.requests)
		}
		return nil
	}
	begins := a.start
	for i := range all {
		if b := &all[i]; b.named == a.named && b.from == a.from && b.join == a.join {
			begins = min(begins, b.start)
		}
	}
	link := trace.Branch{From: a.from.row, Join: -1}
	if a.join != nil {
		link.Join = a.join.row
	}
	for k := range a.sessions {
		s := &a.sessions[k]
		if len(s.requests) == 0 {
			continue
		}
		link.Child = int32(len(w.r.rows))
		w.r.branches = append(w.r.branches, link)
		if err := w.addSession(s, s.requests[0].T-begins); err != nil {
			return err
		}
	}
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
		if r.T+agents.Slack < q.T {
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
