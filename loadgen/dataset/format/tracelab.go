package format

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// tracelab is one round of a coding agent's session in the TraceLab corpus. It
// holds no text and no hashes, but how many input tokens a round took over
// from the one before (prefix_tokens) and how many are new: blocks are named
// so that each session reuses as many as it did. Times are AIPerf's: a round was
// sent at its last input and ended with its last output, and each session counts
// from its own beginning. So is who started whom, which no row says: a session
// that lies wholly within a call of a tool that starts agents, of the same user
// and project, is that call's subagent.
var tracelab = Format{
	Name: "tracelab", Doc: "a round of a coding agent's session in the TraceLab corpus", Trace: true, Block: 64,
	Complete: true,
	Sampling: "sequential", Settings: replaying, ownClock: true,
	fits:    hasAll("session_id", "round_index", "input_tokens_total"),
	decoder: func(d *draft) decoder { return &labRows{wekaRows: wekaRows{traceRows: newTraceRows(d)}} },
}

// round is a row of the corpus.
type round struct {
	place, session, model string
	index, prefix         int64
	in, out               int64
	sent, ends            time.Duration // since 1970
	timed                 bool
	owner                 string // user and project
	codex                 bool
	span                  span // of all that it says a time of
	calls                 []span
	spawned, waited       span // of Codex's tools that start agents and wait for them
}

// labRows gathers the rounds until all are there.
type labRows struct {
	wekaRows
	rounds []round
}

func (r *labRows) read(rec files.Record) error {
	f := rec.Fields
	row, err := r.row(f, "input_tokens_total", "output_tokens", "")
	if err != nil {
		return err
	}
	is := round{place: rec.Place, span: never, spawned: never, waited: never}
	if is.session, err = f.Str("session_id"); err != nil || is.session == "" {
		return cmp.Or(err, errors.New("session_id: missing"))
	}
	var reasoning int64
	for name, to := range map[string]*int64{
		"round_index": &is.index, "prefix_tokens": &is.prefix,
		"reasoning_output_tokens": &reasoning,
	} {
		if _, err := f.Decode(name, to, "a whole number"); err != nil {
			return err
		}
	}
	provider, _ := f.Str("provider")
	is.codex = provider == "codex"
	is.model, _ = f.Str("model")
	is.owner = string(f.Value("user")) + " " + string(f.Value("project"))
	is.in, is.out = max(1, row.In), max(1, row.Out+reasoning)
	is.events(f.Value("timing_events"))
	is.tools(f.Value("tools"))
	f.Pass()
	if !is.timed {
		r.skipped++ // nobody knows where in its session it belongs
	}
	r.rounds = append(r.rounds, is)
	return nil
}

// spawnCall is how long a call of a tool that starts an agent takes at least: a
// shorter one did not wait for it.
const spawnCall = 10 * time.Second

// tools finds the calls that start agents. Those of Claude wait for them; those
// of Codex do not, so of a session only the time from the first start to the
// last wait is known.
func (is *round) tools(raw json.RawMessage) {
	var list []struct {
		Name    string   `json:"tool_name"`
		From    string   `json:"emitted_at"`
		To      string   `json:"result_at"`
		Latency *float64 `json:"tool_wall_latency_ms"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, tool := range list {
		from, okFrom := stamp(tool.From)
		to, okTo := stamp(tool.To)
		if okFrom {
			is.span.widen(from)
		}
		if okTo {
			is.span.widen(to)
		}
		switch {
		case is.codex && tool.Name == "spawn_agent" && okFrom:
			is.spawned.widen(from)
		case is.codex && tool.Name == "wait_agent" && okTo:
			is.waited.widen(to)
		case !is.codex && (tool.Name == "Agent" || tool.Name == "Task") && okFrom && okTo && tool.Latency != nil &&
			*tool.Latency >= float64(spawnCall/time.Millisecond):
			is.calls = append(is.calls, span{from, to, time.Duration(int64(*tool.Latency)) * time.Millisecond})
		}
	}
}

// events are when a round was sent and when its last output came. Where several
// tools answered, it was sent after the last of them.
func (is *round) events(raw json.RawMessage) {
	var events []struct {
		Type      string `json:"event_type"`
		Timestamp string
	}
	if json.Unmarshal(raw, &events) != nil {
		return
	}
	in, out := never, never
	for _, e := range events {
		at, ok := stamp(e.Timestamp)
		if !ok {
			continue
		}
		is.span.widen(at)
		switch e.Type {
		case "user_message", "tool_result":
			in.widen(at)
		case "text", "reasoning", "tool_call":
			out.widen(at)
		}
	}
	is.timed = in != never || out != never
	is.sent = out.from
	if in != never {
		is.sent = in.to
	}
	is.ends = is.sent
	if out != never {
		is.ends = max(is.sent, out.to)
	}
}

// stamp is a time since 1970; one without a zone is UTC.
func stamp(text string) (time.Duration, bool) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	return time.Duration(t.UnixNano()), err == nil
}

// span is a stretch of time; took is what the recorder says that it took.
type span struct{ from, to, took time.Duration }

var never = span{from: math.MaxInt64, to: math.MinInt64}

func (s *span) widen(at time.Duration) { s.from, s.to = min(s.from, at), max(s.to, at) }

// labSession are the rounds of a session in the order of time.
type labSession struct {
	name   string
	rounds []*round
	span   span
	calls  []span
	owner  string
	parent *labSession // that started it
	call   span        // by this call
}

// finish makes sessions of the rounds as weka_trace has them.
func (r *labRows) finish() error {
	var all []*labSession
	of := map[string]*labSession{}
	for i := range r.rounds {
		is := &r.rounds[i]
		s := of[is.session]
		if s == nil {
			s = &labSession{name: is.session, span: never, owner: is.owner}
			of[is.session], all = s, append(all, s)
		}
		s.rounds = append(s.rounds, is)
	}
	for _, s := range all {
		s.order()
	}
	findParents(all)
	var alone []*labSession // subagents that nothing comes before in their parent
	block := int64(cmp.Or(r.cfg.BlockSize, r.format.Block))
	names := map[string]string{}
	for queue := all; len(queue) > 0; queue, alone = alone, nil {
		for _, s := range queue {
			if s.parent != nil || len(s.rounds) == 0 {
				continue
			}
			id := safeName(s.name)
			if other, taken := names[id]; taken {
				return diag.Errorf("%s: the sessions %q and %q become one name, %s", r.cfg.Path, other, s.name, id).
					Try("rename one of them: other signs than letters, digits, dot, hyphen and underscore are written as _")
			}
			names[id] = s.name
			list, left := s.list(all, block)
			alone = append(alone, left...)
			if err := r.session(s.rounds[0].place, id, list); err != nil {
				return fmt.Errorf("%s: session %s: %w", r.cfg.Path, s.name, err)
			}
		}
	}
	if len(r.rows) == 0 {
		return diag.Errorf("%s: no record can be sent (%s without times were left out)",
			r.cfg.Path, words.CountOf(r.skipped, "one", "ones")).
			Try("timing_events of a round holds when it was sent")
	}
	r.back = ""
	return r.wekaRows.finish()
}

// order gathers what the rounds say of the session, and leaves those with times.
func (s *labSession) order() {
	spawned, waited := never, never
	for _, is := range s.rounds {
		s.span = span{from: min(s.span.from, is.span.from), to: max(s.span.to, is.span.to)}
		s.calls = append(s.calls, is.calls...)
		spawned.from, waited.to = min(spawned.from, is.spawned.from), max(waited.to, is.waited.to)
	}
	if s.rounds[0].codex {
		s.calls = nil
		if waited.to > spawned.from {
			s.calls = []span{{spawned.from, waited.to, waited.to - spawned.from}}
		}
	}
	s.rounds = slices.DeleteFunc(s.rounds, func(is *round) bool { return !is.timed })
	slices.SortStableFunc(s.rounds, func(a, b *round) int {
		return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.index, b.index))
	})
}

// findParents has the shortest call around a session start it. What a subagent
// starts stays a session of its own, as in AIPerf.
func findParents(all []*labSession) {
	type link struct {
		parent *labSession
		call   span
	}
	links := map[*labSession]link{}
	for _, s := range all {
		if s.span == never {
			continue
		}
		for _, p := range all {
			for _, call := range p.calls {
				if p == s || p.owner != s.owner || s.span.from < call.from || s.span.to > call.to {
					continue
				}
				if best, ok := links[s]; !ok || cmp.Or(cmp.Compare(call.to-call.from, best.call.to-best.call.from),
					cmp.Compare(call.from, best.call.from), cmp.Compare(p.name, best.parent.name)) < 0 {
					links[s] = link{p, call}
				}
			}
		}
	}
	for s, l := range links {
		if _, grandchild := links[l.parent]; !grandchild {
			s.parent, s.call = l.parent, l.call
		}
	}
}

// list is the session with its subagents as weka_trace has it, and the
// subagents that have no place in it.
func (s *labSession) list(all []*labSession, block int64) (list []wekaRequest, left []*labSession) {
	zero, next := s.rounds[0].sent, uint64(1)
	own := s.requests(zero, block, &next)
	behind := map[int][]wekaRequest{}
	for _, child := range all {
		if child.parent != s || len(child.rounds) == 0 {
			continue
		}
		took := float64(child.call.took.Milliseconds())
		agent := wekaRequest{
			Type: "subagent", T: seconds(child.call.from - zero), AgentID: safeName(child.name),
			Duration: &took,
		}
		agent.Requests = child.requests(zero, block, &next)
		for i := range agent.Requests {
			agent.Requests[i].T = max(agent.Requests[i].T, agent.T)
		}
		at := -1
		for i := range own {
			if own[i].T <= agent.T {
				at = i
			}
		}
		if at < 0 {
			child.parent = nil
			left = append(left, child)
			continue
		}
		behind[at] = append(behind[at], agent)
	}
	for i := range own {
		slices.SortStableFunc(behind[i], func(a, b wekaRequest) int { return cmp.Compare(a.T, b.T) })
		list = append(append(list, own[i]), behind[i]...)
	}
	return list, left
}

// requests names the blocks of each round, of which the last part of an input
// has none: as many as it took over, and new ones.
func (s *labSession) requests(zero time.Duration, block int64, next *uint64) (list []wekaRequest) {
	var before hashList
	for _, is := range s.rounds {
		n := int(is.in / block)
		ids := slices.Clone(before[:max(0, min(len(before), int(min(is.prefix, is.in)/block), n))])
		for ; len(ids) < n; *next++ {
			ids = append(ids, *next)
		}
		took := seconds(is.ends - is.sent)
		list = append(list, wekaRequest{
			T: seconds(is.sent - zero), Type: "n", Model: is.model,
			In: is.in, Out: is.out, HashIDs: ids, APITime: &took,
		})
		before = ids
	}
	return list
}

// seconds are d in s, to the microsecond.
func seconds(d time.Duration) float64 { return d.Round(time.Microsecond).Seconds() }

// safeName is a session's name without signs that names of sessions have.
func safeName(name string) string {
	name = unsafeSigns.ReplaceAllString(name, "_")
	return name[:min(len(name), 150)]
}

var unsafeSigns = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
