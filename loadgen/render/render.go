// Package render turns the turns of conversations into requests ready to be
// written: path, header, body and how many tokens they hold. What a request
// looks like depends on the seed, the phase and the places of its session and
// turn, never on when it is sent, so the same code renders what goes on the
// wire, ahead of its time, and what is kept for people to look at.
package render

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"weak"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/tokenizer/chat"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// Renderer renders the requests of one run. It is safe for concurrent use.
type Renderer struct {
	Spec      *endpoint.Spec
	Tokenizer tokenizer.Tokenizer // nil: nothing is counted
	Chat      *chat.Template      // prompts are counted inside it; nil: as they are
	Streaming bool                // answers are asked for as streams

	cfg    schema.Endpoint
	models *models
	header []piece
	path   string // of the user; "" means the API's own

	isl sync.Map // weak.Pointer[dataset.Conversation] → int64, the first turn's
}

// New prepares the rendering of requests to e.
func New(e *schema.Endpoint, m schema.Models, spec *endpoint.Spec, tok tokenizer.Tokenizer) (*Renderer, error) {
	header, err := headerOf(e, spec)
	if err != nil {
		return nil, err
	}
	chosen, err := newModels(m)
	if err != nil {
		return nil, err
	}
	r := &Renderer{
		Spec: spec, Tokenizer: tok, Streaming: e.Streaming && spec.CanStream, cfg: *e, models: chosen,
		header: header,
	}
	if e.Path != "" {
		path, _, _ := strings.Cut(e.Path, "#") // a fragment is the reader's, never the server's
		r.path = "/" + transport.Visible(strings.TrimPrefix(path, "/"))
	}
	return r, nil
}

// Session is one play of a conversation, as far as its requests depend on it.
type Session struct {
	Conversation *dataset.Conversation
	Index        int64 // ordinal in the phase: what its choices depend on
	ID           string
	Model        string // unless a turn names one
	history      []endpoint.Message
}

// Open starts play index of a phase.
func (r *Renderer) Open(k *Keys, c *dataset.Conversation, index int64) Session {
	return Session{Conversation: c, Index: index, ID: uuid(k.session, index, 0), Model: r.models.pick(k.model, index)}
}

// Child opens what turn t of s starts as its k-th: a session of its own, with
// the history of s where it goes on from it. Its choices depend on its place in
// the tree, never on when it starts.
func (r *Renderer) Child(k *Keys, s *Session, start *dataset.Start, t, nth int) Session {
	index := int64(draw(k.session+uint64(nth), s.Index, ^t) >> 1)
	child := Session{Conversation: start.Conversation, Index: index, ID: uuid(k.session, index, 0), Model: s.Model}
	if start.Inherits {
		child.history = s.history[:len(s.history):len(s.history)]
	}
	return child
}

// Turn is what a request was made of.
type Turn struct {
	Model, RequestID string
	ISL              int64 // tokens that the server has to read; record.None when nobody counts them
	Err              error // it could not be rendered
}

// Render makes turn t of s a request in x, in whose Header and Body it writes.
func (r *Renderer) Render(k *Keys, s *Session, t int, x *transport.Exchange) Turn {
	in := r.input(s, t)
	out := Turn{Model: in.Model, RequestID: uuid(k.request, s.Index, t)}
	x.Body, out.Err = r.Spec.Request(x.Body[:0], &in)
	x.Header = r.appendHeader(x.Header[:0], &vars{
		requestID: out.RequestID, session: s, turn: t, model: in.Model,
		stream: in.Stream,
	})
	x.Path, x.Stream = r.Path(in.Model, in.Stream), in.Stream
	out.ISL = r.count(&in, s.Conversation, t)
	return out
}

// input is all that the body of turn t depends on.
func (r *Renderer) input(s *Session, t int) endpoint.Input {
	turn := &s.Conversation.Turns[t]
	model := s.Model
	if turn.Model != "" {
		model = turn.Model
	}
	in := endpoint.Input{
		Model: model, System: s.Conversation.System, History: s.history, Turn: turn, Stream: r.Streaming,
		Legacy: r.cfg.UseLegacyMaxTokens, Extra: r.cfg.Extra, Each: r.cfg.PerChunkUsage,
		Counts: r.cfg.UseServerTokenCount, Apart: r.Spec.SystemApart,
	}
	if turn.Complete {
		in.History = nil
	}
	if stream, ok := turn.Extra.Get("stream").(bool); ok {
		in.Stream = stream && r.Spec.CanStream
	}
	in.Usage = in.Stream
	return in
}

// Path is where requests for model go, below the server's address.
func (r *Renderer) Path(model string, stream bool) string {
	if r.path == "" {
		return r.Spec.URLPath(model, stream)
	}
	return endpoint.WithModel(r.path, model)
}

// Answered takes turn t of s, and the answer to it, into the history.
func (s *Session) Answered(t int, answer endpoint.Message) {
	s.asked(t)
	if recorded := s.Conversation.Turns[t].Answer; recorded != "" {
		return // it stands there already
	}
	s.history = append(s.history, answer)
}

// asked takes turn t into the history, and its recorded answer if it has one.
func (s *Session) asked(t int) {
	turn := &s.Conversation.Turns[t]
	role := turn.Role
	if role == "" {
		role = "user"
	}
	s.history = append(s.history, endpoint.Message{Role: role, Turn: turn})
	if turn.Answer != "" {
		s.history = append(s.history, endpoint.Message{Role: "assistant", Content: turn.Answer})
	}
}

// Bodies are the requests of play index of c, each without the turns before it:
// their answers are the server's, so the history is not known beforehand. It ends
// at the first that cannot be rendered.
func (r *Renderer) Bodies(k *Keys, c *dataset.Conversation, index int64) (bodies [][]byte) {
	s := r.Open(k, c, index)
	for t := range c.Turns {
		if c.Turns[t].Silent {
			continue
		}
		in := r.input(&s, t)
		in.Shown = true
		b, err := r.Spec.Request(nil, &in)
		if err != nil {
			break
		}
		bodies = append(bodies, b)
	}
	return bodies
}

// count is a request's ISL: the tokens of everything that the server has to
// read. A dataset that has counted a lone turn is believed.
func (r *Renderer) count(in *endpoint.Input, c *dataset.Conversation, t int) int64 {
	if !r.Spec.TakesText || r.Tokenizer == nil {
		return record.None
	}
	if r.Chat != nil {
		return r.countChat(in, c, t)
	}
	if in.Turn.ISL > 0 && (in.Turn.Raw != nil || in.System == "") && in.Turn.Context == "" && len(in.History) == 0 {
		return in.Turn.ISL
	}
	if t > 0 || len(in.History) > 0 {
		return r.counted(in)
	}
	if c.Opening > 0 {
		return c.Opening
	}
	if n, ok := r.isl.Load(weak.Make(c)); ok {
		return n.(int64)
	}
	n := r.counted(in)
	r.keep(c, n)
	return n
}

// counted is the tokens of a request's texts; record.None where it has none,
// such as a picture alone: what the server reads of that, nobody here knows.
func (r *Renderer) counted(in *endpoint.Input) int64 {
	text, tokens := in.Text(), in.Tokens()
	if text == "" && tokens == 0 {
		return record.None
	}
	return tokens + int64(r.Tokenizer.Count(text))
}

// keep remembers the ISL of the first turn of c while somebody has c: many sets
// make their conversations anew for each play.
func (r *Renderer) keep(c *dataset.Conversation, isl int64) {
	of := weak.Make(c)
	if _, known := r.isl.Swap(of, isl); !known {
		runtime.AddCleanup(c, func(of weak.Pointer[dataset.Conversation]) { r.isl.Delete(of) }, of)
	}
}

// countChat is a request's ISL inside the chat template. A template that fails
// leaves it unknown: a wrong count would not show.
func (r *Renderer) countChat(in *endpoint.Input, c *dataset.Conversation, t int) int64 {
	first := t == 0 && len(in.History) == 0
	if n, ok := r.isl.Load(weak.Make(c)); ok && first {
		return n.(int64)
	}
	n, err := r.templated(in)
	if err != nil {
		n = record.None
	}
	if first && c.Opening == 0 { // a conversation that is played more than once
		r.keep(c, n)
	}
	return n
}

// templated is the number of tokens of a request inside the chat template.
func (r *Renderer) templated(in *endpoint.Input) (int64, error) {
	if r.Spec.Messages == nil {
		return record.None, fmt.Errorf("endpoint type %s: its prompts get no chat template", r.Spec.Type)
	}
	prompt, err := r.Chat.Render(r.Spec.Messages(in))
	if err != nil {
		return record.None, err
	}
	return int64(r.Tokenizer.Count(prompt)), nil
}

// CheckChat says why the chat template cannot render the first turn of c.
func (r *Renderer) CheckChat(c *dataset.Conversation) error {
	s := Session{Conversation: c}
	in := r.input(&s, 0)
	_, err := r.templated(&in)
	return err
}

// Wrapping is what the chat template puts around a text, in tokens; with a
// system prompt where the conversations have one, since it may replace one of
// the template's own.
func (r *Renderer) Wrapping(system string) (dataset.Wrapping, error) {
	const asked, said = "What is the answer", "This is the answer"
	var w dataset.Wrapping
	turn := dataset.Turn{Texts: []string{asked}}
	alone := endpoint.Input{System: system, Turn: &turn, Extra: r.cfg.Extra}
	later := alone
	later.History = []endpoint.Message{{Role: "user", Turn: &turn}, {Role: "assistant", Content: said}}
	first, err := r.templated(&alone)
	if err != nil {
		return w, err
	}
	both, err := r.templated(&later)
	if err != nil {
		return w, err
	}
	user, answer := r.Tokenizer.Count(asked), r.Tokenizer.Count(said)
	w.First = max(0, int(first)-user-r.Tokenizer.Count(system))
	w.Later = max(0, (int(both-first)-user-answer)/2) // of the two messages, one is the answer
	return w, nil
}
