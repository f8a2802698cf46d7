package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/schema"
)

// dagJSONL is a conversation of an agent whose turns are lists of messages
// that are added to its history, and which may start other conversations.
var dagJSONL = Format{
	Name: "dag_jsonl", Doc: "an agent's conversation: turns of messages that may start other conversations",
	Sampling: "sequential",
	Settings: []string{"turn_delay_ratio", "system_prompt", "system_prompt_file"}, fits: fitsDAG, Trees: true,
	decoder: func(d *draft) decoder { return &dagLines{draft: d, byID: map[string]int{}} }, starts: startsDAG,
}

func fitsDAG(r *files.Record) (bool, string) {
	var turns []map[string]json.RawMessage
	if json.Unmarshal(r.Fields.Value("turns"), &turns) != nil || len(turns) == 0 {
		if r.Fields.Has("orchestrator") {
			return true, "it has orchestrator"
		}
		return false, "it has no turns"
	}
	for _, name := range []string{"messages", "forks", "spawns"} {
		if _, ok := turns[0][name]; ok {
			return true, "its turns have " + name
		}
	}
	return false, "its turns have no messages"
}

// dagLine is one line: a conversation, or an orchestrator, which sends nothing
// itself. Times are in ms.
type dagLine struct {
	SessionID    string           `json:"session_id"`
	ContextMode  string           `json:"context_mode"`
	Turns        []dagTurn        `json:"turns"`
	Before       []string         `json:"pre_session_spawns"`
	Orchestrator bool             `json:"orchestrator"`
	Spawns       []string         `json:"spawns"` // of an orchestrator
	Rounds       *json.RawMessage `json:"rounds"` // a number, or a list of dagRound
	ThinkTime    *float64         `json:"think_time_ms"`
	ThinkSigma   *float64         `json:"think_time_sigma"`
	ThinkMin     *float64         `json:"think_time_min_ms"`
	ThinkMax     *float64         `json:"think_time_max_ms"`
	Type         string           `json:"type"` // which names the format
}

// dagTurn is one turn of a conversation.
type dagTurn struct {
	Messages  json.RawMessage
	Model     string
	MaxTokens *int64          `json:"max_tokens"`
	Tools     json.RawMessage `json:"tools"`
	Extra     schema.Members
	Forks     []dagFork
	Spawns    []dagSpawn
	Delay     float64
}

// dagFork is an id, or an object: then the conversation may go on beside it.
type dagFork struct {
	Child      string
	Background bool
}

func (f *dagFork) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &f.Child) == nil {
		return nil
	}
	type object dagFork
	return files.Strict(b, (*object)(f))
}

// dagSpawn is an id, or an object that says which later turn waits for its
// children; an id has the next turn wait.
type dagSpawn struct {
	Children []string
	JoinAt   *int `json:"join_at"`
}

func (s *dagSpawn) UnmarshalJSON(b []byte) error {
	var id string
	if json.Unmarshal(b, &id) == nil {
		s.Children = []string{id}
		return nil
	}
	type object dagSpawn
	return files.Strict(b, (*object)(s))
}

// dagRound is one round of an orchestrator: what it starts, and how long it
// waits before it does.
type dagRound struct {
	Spawns    []string
	ThinkTime *float64 `json:"think_time_ms"`
}

// withResponses is the context mode of conversations whose turns hold their
// whole history.
const withResponses = "message_array_with_responses"

// dagLines ties conversations together when all are there.
type dagLines struct {
	*draft
	byID   map[string]int // conversation of a session_id
	places []string       // of the conversations
}

func (r *dagLines) read(rec files.Record) error {
	var line dagLine
	if err := files.Strict(rec.Fields.Whole(), &line); err != nil {
		return err
	}
	rec.Fields.Pass()
	if line.SessionID == "" {
		return errors.New("session_id: missing")
	}
	if known, twice := r.byID[line.SessionID]; twice {
		return fmt.Errorf("session_id: %q is already at %s", line.SessionID, r.places[known])
	}
	if m := line.ContextMode; m != "" && m != withResponses && m != "deltas_without_responses" {
		return fmt.Errorf("context_mode: %q is neither deltas_without_responses nor %s", m, withResponses)
	}
	if err := line.check(); err != nil {
		return err
	}
	i := r.begin(line.SessionID, "")
	r.byID[line.SessionID] = i
	r.places = append(r.places, rec.Place)
	r.conversations[i].Before = starts(line.Before, 0)
	if line.Orchestrator {
		return r.orchestrator(i, &line)
	}
	for k := range line.Turns {
		if err := r.dagTurn(i, k, &line); err != nil {
			return fmt.Errorf("turns[%d]: %w", k, err)
		}
	}
	return unlike("pre_session_spawns", line.Before)
}

// startsDAG is the session of a line and those that it starts. What is wrong with a
// line is said when it is read.
func startsDAG(rec *files.Record) (id string, started []string) {
	var line dagLine
	if json.Unmarshal(rec.Fields.Whole(), &line) != nil {
		return "", nil
	}
	started = append(started, line.Before...)
	if line.Orchestrator {
		rounds, _, _ := line.plan()
		for _, round := range rounds {
			started = append(started, round.Spawns...)
		}
	}
	for i := range line.Turns {
		for _, f := range line.Turns[i].Forks {
			started = append(started, f.Child)
		}
		for _, s := range line.Turns[i].Spawns {
			started = append(started, s.Children...)
		}
	}
	return line.SessionID, started
}

// check refuses what a conversation and an orchestrator do not share.
func (line *dagLine) check() error {
	think := line.ThinkTime != nil || line.ThinkSigma != nil || line.ThinkMin != nil || line.ThinkMax != nil
	switch {
	case !line.Orchestrator && len(line.Turns) == 0:
		return diag.Errorf("turns: a conversation needs at least one").
			Try("only an orchestrator (\"orchestrator\": true) has none")
	case !line.Orchestrator && (line.Rounds != nil || think):
		return diag.Errorf("rounds and think_time_*: only an orchestrator has them").Try("a turn has a delay")
	case !line.Orchestrator && len(line.Spawns) > 0:
		return errors.New("spawns: write those of a conversation in its turns")
	case !line.Orchestrator:
		return nil
	case len(line.Turns) > 0 || len(line.Before) > 0:
		return errors.New("orchestrator: it sends nothing, so it has neither turns nor pre_session_spawns")
	case line.Rounds == nil && think:
		return errors.New("think_time_*: it is waited before each round, and there are no rounds")
	case line.ThinkSigma == nil && (line.ThinkMin != nil || line.ThinkMax != nil):
		return errors.New("think_time_min_ms and think_time_max_ms: they bound what think_time_sigma draws, which is missing")
	case line.ThinkSigma != nil && (line.ThinkTime == nil || !(*line.ThinkSigma > 0 && *line.ThinkSigma <= 10)):
		return errors.New("think_time_sigma: want a number above 0, up to 10, and think_time_ms, its median")
	}
	for _, ms := range []*float64{line.ThinkTime, line.ThinkMin, line.ThinkMax} {
		if ms != nil && !(*ms >= 0 && *ms < files.MaxMillis) {
			return fmt.Errorf("think_time_*: %g ms is out of range", *ms)
		}
	}
	if line.ThinkMin != nil && line.ThinkMax != nil && *line.ThinkMin > *line.ThinkMax {
		return fmt.Errorf("think_time_min_ms: %g is above think_time_max_ms, %g", *line.ThinkMin, *line.ThinkMax)
	}
	return nil
}

// maxRounds bounds the rounds of an orchestrator.
const maxRounds = 1 << 20

// plan is what an orchestrator does: one round that nobody waits for, or rounds
// that each wait for the one before.
func (line *dagLine) plan() (rounds []dagRound, waits bool, err error) {
	if line.Rounds == nil {
		return []dagRound{{Spawns: line.Spawns}}, false, nil
	}
	var n int
	switch {
	case json.Unmarshal(*line.Rounds, &n) == nil:
		if n < 1 || n > maxRounds {
			return nil, true, fmt.Errorf("rounds: %d is not from 1 to %d", n, maxRounds)
		}
		for range n {
			rounds = append(rounds, dagRound{Spawns: line.Spawns})
		}
	case files.Strict(*line.Rounds, &rounds) != nil || len(rounds) == 0:
		return nil, true, errors.New(`rounds: want a number, or a list of {"spawns": […], "think_time_ms": …}`)
	case len(line.Spawns) > 0:
		return nil, true, errors.New("spawns: each round of the list has its own")
	default:
		var all []string
		for _, d := range rounds {
			all = append(all, d.Spawns...)
		}
		if err := unlike("rounds", all); err != nil {
			return nil, true, diag.Errorf("%w", err).Try("rounds as a number start the same ones again")
		}
	}
	return rounds, true, nil
}

// orchestrator makes the silent turns of conversation i: one for each round,
// and one that waits for the last.
func (r *dagLines) orchestrator(i int, line *dagLine) error {
	c := &r.conversations[i]
	rounds, waits, err := line.plan()
	if err != nil {
		return err
	}
	for k, round := range rounds {
		if len(round.Spawns) == 0 {
			return diag.Errorf("orchestrator: it starts nothing").Try("give it spawns, or rounds with spawns")
		}
		if err := unlike("spawns", round.Spawns); err != nil {
			return err
		}
		t := conversation.Turn{Silent: true, Starts: starts(round.Spawns, 0)}
		think := line.ThinkTime
		if round.ThinkTime != nil {
			think = round.ThinkTime
		}
		if think != nil {
			if !(*think >= 0 && *think < files.MaxMillis) {
				return fmt.Errorf("rounds[%d].think_time_ms: %g ms is out of range", k, *think)
			}
			t.Delay = r.delayed(*think)
		}
		if waits {
			t.Starts = starts(round.Spawns, k+1)
		}
		c.Turns = append(c.Turns, t)
	}
	if waits {
		c.Turns = append(c.Turns, conversation.Turn{Silent: true})
	}
	if line.ThinkSigma != nil {
		c.Think = &conversation.Think{Sigma: *line.ThinkSigma, Max: r.delayed(files.MaxMillis)}
		if line.ThinkMin != nil {
			c.Think.Min = r.delayed(*line.ThinkMin)
		}
		if line.ThinkMax != nil {
			c.Think.Max = r.delayed(*line.ThinkMax)
		}
	}
	return nil
}

// delayed is a number of ms as the dataset's turn_delay_ratio has it.
func (r *dagLines) delayed(ms float64) time.Duration {
	d := files.Scale(time.Millisecond, ms)
	if ratio := r.cfg.TurnDelayRatio; ratio != 0 {
		d = files.Scale(d, ratio)
	}
	return d
}

func (r *dagLines) dagTurn(i, k int, line *dagLine) error {
	t := &line.Turns[k]
	if err := checkMessages(t.Messages); err != nil {
		return err
	}
	if !(t.Delay >= 0 && t.Delay < files.MaxMillis) {
		return fmt.Errorf("delay: %g ms is out of range", t.Delay)
	}
	out := conversation.Turn{
		Messages: t.Messages, Tools: t.Tools, Model: t.Model,
		Extra: t.Extra, Complete: line.ContextMode == withResponses,
		Delay: files.Scale(time.Millisecond, t.Delay),
	}
	if t.MaxTokens != nil {
		if out.MaxTokens = *t.MaxTokens; out.MaxTokens < 1 {
			return fmt.Errorf("max_tokens: %d is not a number of tokens", out.MaxTokens)
		}
	}
	var forked, spawned []string
	for _, f := range t.Forks {
		if !f.Background && k < len(line.Turns)-1 {
			return diag.Errorf("forks: %q ends the conversation, and turns follow", f.Child).
				Try(fmt.Sprintf(`{"child": %q, "background": true} goes on beside it`, f.Child))
		}
		forked = append(forked, f.Child)
		out.Starts = append(out.Starts, conversation.Start{ID: f.Child, Inherits: true})
	}
	for _, s := range t.Spawns {
		join := k + 1
		if s.JoinAt != nil {
			if join = *s.JoinAt; join <= k || join >= len(line.Turns) {
				return fmt.Errorf("spawns: join_at %d is not a later turn of the conversation (%d to %d)", join, k+1,
					len(line.Turns)-1)
			}
		}
		if join == len(line.Turns) {
			join = 0 // nothing is left to wait
		}
		if len(s.Children) == 0 {
			return errors.New("spawns: an entry without children")
		}
		spawned = append(spawned, s.Children...)
		out.Starts = append(out.Starts, starts(s.Children, join)...)
	}
	if err := errors.Join(unlike("forks", forked), unlike("spawns", spawned)); err != nil {
		return err
	}
	return r.add(i, out)
}

// starts are conversations that begin afresh.
func starts(ids []string, join int) (out []conversation.Start) {
	for _, id := range ids {
		out = append(out, conversation.Start{ID: id, JoinAt: join})
	}
	return out
}

// unlike refuses an id that stands in a list twice.
func unlike(field string, ids []string) error {
	seen := map[string]bool{}
	for _, id := range ids {
		if seen[id] {
			return fmt.Errorf("%s: %q appears twice", field, id)
		}
		seen[id] = true
	}
	return nil
}

// finish ties conversations to those that they start, and keeps apart those
// that are played by themselves.
func (r *dagLines) finish() error {
	if err := r.tie(); err != nil {
		return err
	}
	started := make([]bool, len(r.conversations))
	for i := range r.conversations {
		r.conversations[i].EachStart(func(s *conversation.Start) { started[r.byID[s.ID]] = true })
	}
	if err := r.measureTrees(); err != nil {
		return err
	}
	var roots []conversation.Conversation
	for i := range r.conversations {
		if !started[i] {
			roots = append(roots, r.conversations[i])
		}
	}
	if len(roots) < len(r.conversations) {
		r.within, r.conversations = r.conversations, roots
	}
	return nil
}

// tie finds the conversation of every id, and holds it against the rules.
func (r *dagLines) tie() error {
	forkedAt := make([]string, len(r.conversations)) // where a conversation is forked
	before := make([]string, len(r.conversations))   // where it is spawned before a session
	for i := range r.conversations {
		c := &r.conversations[i]
		for k := -1; k < len(c.Turns); k++ {
			list, at := c.Before, fmt.Sprintf("%s: pre_session_spawns", r.places[i])
			if k >= 0 {
				list, at = c.Turns[k].Starts, fmt.Sprintf("%s: turns[%d]", r.places[i], k)
			}
			for n := range list {
				s := &list[n]
				child, ok := r.byID[s.ID]
				switch {
				case !ok:
					return fmt.Errorf("%s: %q is not a session_id of the file", at, s.ID)
				case child == i:
					return fmt.Errorf("%s: %q starts itself", at, s.ID)
				}
				s.Conversation = &r.conversations[child]
				if k < 0 {
					before[child] = at
				}
				if !s.Inherits {
					continue
				}
				if forkedAt[child] != "" {
					return diag.Errorf("%s: %q is forked by %s, too", at, s.ID, forkedAt[child]).
						Try("a fork goes on from one history, a spawn begins afresh and may have several")
				}
				forkedAt[child] = at
				if first := s.Conversation.Turns[0]; first.Complete || first.Silent {
					return diag.Errorf("%s: %q is forked and has no use for a history (%s)", at, s.ID,
						map[bool]string{true: "context_mode " + withResponses, false: "orchestrator"}[first.Complete]).
						Try("spawn it")
				}
			}
		}
	}
	for i := range r.conversations {
		if forkedAt[i] != "" && before[i] != "" {
			return diag.Errorf("%s: %q is forked by %s, too", before[i], r.conversations[i].ID, forkedAt[i]).
				Try("what begins before a session has no history")
		}
		if err := r.systemFirst(i, forkedAt[i] != ""); err != nil {
			return err
		}
	}
	return nil
}

// systemFirst refuses a system prompt where chat templates drop it: anywhere
// but at the beginning of what is sent.
func (r *dagLines) systemFirst(i int, forked bool) error {
	c := &r.conversations[i]
	for k := range c.Turns {
		var list []struct{ Role string }
		if !bytes.Contains(c.Turns[k].Messages, []byte(`"system"`)) ||
			json.Unmarshal(c.Turns[k].Messages, &list) != nil {
			continue
		}
		for n, m := range list {
			opens := k == 0 && !forked || c.Turns[k].Complete && n == 0
			if m.Role == "system" && !opens {
				return diag.Errorf("%s: turns[%d].messages[%d]: a system message that is not the first one sent",
					r.places[i], k, n).
					Try("chat templates read it at the beginning only")
			}
		}
	}
	return nil
}

// maxTree bounds the requests of one play with all that it starts.
const maxTree = 10_000_000

// measureTrees counts what each conversation sends with all that it starts. One
// that comes back to itself is an error, and one that grows beyond all bounds,
// which shared spawns can make it in few lines.
func (r *dagLines) measureTrees() error {
	waiting := make([]int, len(r.conversations)) // starters that are not ordered yet
	for i := range r.conversations {
		r.conversations[i].EachStart(func(s *conversation.Start) { waiting[r.byID[s.ID]]++ })
	}
	var order []int
	for i, n := range waiting {
		if n == 0 {
			order = append(order, i)
		}
	}
	for k := 0; k < len(order); k++ {
		r.conversations[order[k]].EachStart(func(s *conversation.Start) {
			child := r.byID[s.ID]
			if waiting[child]--; waiting[child] == 0 {
				order = append(order, child)
			}
		})
	}
	if len(order) < len(r.conversations) {
		return r.circle(waiting)
	}
	for _, i := range slices.Backward(order) {
		c := &r.conversations[i]
		if c.Sum(); c.Requests() > maxTree {
			return fmt.Errorf("%s: a play of %q is more than %d requests with all that it starts", r.places[i], c.ID,
				maxTree)
		}
	}
	return nil
}

// circle names a circle among the conversations that wait for a starter: each
// has one that waits, too, so walking upwards comes back.
func (r *dagLines) circle(waiting []int) error {
	up := make([]int, len(r.conversations))
	at := -1
	for i := range r.conversations {
		if waiting[i] == 0 {
			continue
		}
		at = i
		r.conversations[i].EachStart(func(s *conversation.Start) { up[r.byID[s.ID]] = i })
	}
	seen := make([]bool, len(r.conversations))
	for !seen[at] {
		seen[at], at = true, up[at]
	}
	path := []string{r.conversations[at].ID}
	for i := up[at]; i != at; i = up[i] {
		path = append(path, r.conversations[i].ID)
	}
	path = append(path, r.conversations[at].ID)
	slices.Reverse(path)
	if n := len(path); n > 8 {
		path = append(append(path[:4:4], fmt.Sprintf("… %d more …", n-8)), path[n-4:]...)
	}
	return diag.Errorf("%s: a circle: %s", r.places[at], strings.Join(path, " → ")).
		Try("who waits for itself never begins")
}
