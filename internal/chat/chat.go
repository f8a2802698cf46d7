// Package chat talks to an inference server: a message goes out, the answer comes in pieces,
// and each answer has its times. In go an address, a model and messages, out come Answers
// and, at the end, the conversation as a data set has it.
package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// What a server may take and send.
const (
	connecting = 10 * time.Second
	silence    = 300 * time.Second // between two pieces of an answer
	mostEvent  = 4 << 20
	mostAnswer = 16 << 20
	mostError  = 64 << 10
)

// Config is whom a chat talks to.
type Config struct {
	Server    *url.URL
	Model     string
	System    string // "" for none
	Key       string // "" for none
	Forgets   bool   // every message stands alone
	Tokenizer tokenizer.Tokenizer
}

// Chat is one conversation.
type Chat struct {
	cfg     Config
	spec    *endpoint.Spec
	client  *http.Client
	hide    *secret.Masker
	history []message
	said    conversation.Conversation
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// New starts a conversation; nothing is sent yet.
func New(cfg Config) *Chat {
	c := &Chat{cfg: cfg, spec: endpoint.Usual(nil), hide: secret.NewMasker(cfg.Key), client: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: connecting}).DialContext,
			TLSHandshakeTimeout: connecting,
		},
		// A key goes to nobody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if cfg.System != "" {
		c.history = []message{{"system", cfg.System}}
	}
	c.said.System = cfg.System
	return c
}

// at is the address of a page of the API. The server's may end with /v1 or with the page.
func (c *Chat) at(page string) string {
	u := *c.cfg.Server
	path := strings.TrimSuffix("/"+strings.Trim(u.Path, "/"), c.spec.Path)
	if strings.HasSuffix(path, "/v1") {
		page = strings.TrimPrefix(page, "/v1")
	}
	u.Path = strings.TrimSuffix(path, "/") + page
	return u.String()
}

func (c *Chat) request(ctx context.Context, method, page string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.at(page), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "text/event-stream, application/json")
	if c.cfg.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.cfg.Key)
	}
	r, err := c.client.Do(req)
	if err != nil {
		return nil, c.unreached(err)
	}
	if r.StatusCode != http.StatusOK {
		defer r.Body.Close()
		return nil, c.refused(r)
	}
	return r, nil
}

// unreached is a request that got no answer.
func (c *Chat) unreached(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	return &diag.Error{
		Code: diag.Failed, Cause: err,
		Message: "cannot reach " + secret.Host(c.cfg.Server.String()) + ": " +
			strings.TrimPrefix(words.Clip(c.hide.Text(err.Error()), 160), "connect: "),
		Hint: "is the server running? the built-in one is -u mock:",
	}
}

// refused is an answer that is none, in the server's words.
func (c *Chat) refused(r *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(r.Body, mostError)) // what came says it
	said := c.saidWrong(b)
	hint := ""
	switch r.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		hint = "--api-key, or the variable OPENAI_API_KEY"
	case http.StatusNotFound:
		hint = "is the model right (-m), and does the server speak chat?"
	}
	return &diag.Error{
		Code: diag.Failed, Message: fmt.Sprintf("the server answered %d: %s", r.StatusCode, said), Hint: hint,
	}
}

// saidWrong is the message in an error of a server, or its beginning.
func (c *Chat) saidWrong(b []byte) string {
	var e struct {
		Error   json.RawMessage
		Message string
	}
	text := string(b)
	if json.Unmarshal(b, &e) == nil {
		var inner struct{ Message string }
		switch {
		case json.Unmarshal(e.Error, &inner) == nil && inner.Message != "":
			text = inner.Message
		case e.Message != "":
			text = e.Message
		}
	}
	return words.Clip(c.hide.Text(text), 200)
}

// Models are those that the server lists.
func (c *Chat) Models(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, connecting)
	defer cancel()
	r, err := c.request(ctx, http.MethodGet, "/v1/models", nil)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(io.LimitReader(r.Body, mostEvent)).Decode(&list); err != nil {
		return nil, &diag.Error{
			Code: diag.Failed, Message: "the server's list of models could not be read", Hint: "-m names one", Cause: err,
		}
	}
	var names []string
	for _, m := range list.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	return names, nil
}

// Use sets the model.
func (c *Chat) Use(model string) { c.cfg.Model = model }

// Answer is one answer with its times, which are AIPerf's: TTFT up to the first token of
// any kind, the rate over the whole answer, ITL over what follows the first token.
type Answer struct {
	Text      string
	Tokens    int64 // by the server where it says so
	Reasoning int64 // of them; 0 where nobody says
	First     time.Duration
	Latency   time.Duration
	Prompt    int64 // by the server; record.None where it does not say
	Cached    int64 // of it
	Cut       bool  // it was ended before its end
}

// Say sends a message and hands the pieces of the answer to show, made fit for a terminal.
// An answer that is ended by ctx is an answer as far as it came; one that fails leaves the
// conversation as it was.
func (c *Chat) Say(ctx context.Context, text string, show func(piece string)) (*Answer, error) {
	asked := append(c.history[:len(c.history):len(c.history)], message{"user", text})
	body, err := json.Marshal(map[string]any{
		"model": c.cfg.Model, "messages": asked, "stream": true,
		"stream_options": map[string]bool{"include_usage": true},
	})
	if err != nil {
		return nil, err
	}
	a := &reading{chat: c, show: show, usage: claims.NoUsage}
	silent, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	watch := time.AfterFunc(silence, func() { stop(errSilent) })
	defer watch.Stop()
	began := time.Now()
	r, err := c.request(silent, http.MethodPost, c.spec.Path, body)
	if err == nil {
		defer r.Body.Close()
		err = a.read(r, func() time.Duration { watch.Reset(silence); return time.Since(began) })
	}
	latency := time.Since(began)
	cut := ctx.Err() != nil
	switch {
	case errors.Is(context.Cause(silent), errSilent):
		err = &diag.Error{Code: diag.Failed, Message: fmt.Sprintf("nothing came for %s", words.Span(silence))}
	case cut && a.pieces > 0:
		err = nil
	}
	if err != nil {
		return nil, err
	}
	out := a.answer(latency)
	out.Cut = cut
	c.said.Turns = append(c.said.Turns, conversation.Turn{Texts: []string{text}, MaxTokens: out.Tokens})
	if !c.cfg.Forgets {
		c.history = append(asked, message{"assistant", out.Text})
	}
	return out, nil
}

var errSilent = errors.New("silent")

// Conversation is what was said so far, as a data set has it: the messages, and how long
// their answers were.
func (c *Chat) Conversation(id string) *conversation.Conversation {
	out := c.said
	out.ID = id
	return &out
}

// reading is an answer on its way in.
type reading struct {
	chat          *Chat
	show          func(string)
	text, thought strings.Builder
	usage         claims.Usage
	first, last   time.Duration
	pieces        int
	wrong         string
	ended         bool
}

// read takes the whole answer; now is the time since the request.
func (a *reading) read(r *http.Response, now func() time.Duration) error {
	stream := strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream")
	var at time.Duration
	sse := &wire.SSE{Limit: mostEvent, Event: func(data []byte, isError bool) error {
		if isError {
			a.wrong = a.chat.saidWrong(data)
			return errWrong
		}
		return a.event(data, true, at)
	}}
	var plain []byte
	buf := make([]byte, 32<<10)
	for !a.ended {
		n, err := r.Body.Read(buf)
		at = now()
		if n > 0 && stream {
			if err := sse.Feed(buf[:n]); err != nil {
				return a.broken(err)
			}
		}
		if !stream {
			plain = append(plain, buf[:n]...)
		}
		if len(plain) > mostAnswer || a.text.Len()+a.thought.Len() > mostAnswer {
			return &diag.Error{Code: diag.Failed, Message: fmt.Sprintf("the answer is larger than %d MiB", mostAnswer>>20)}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return a.broken(err)
		}
	}
	switch {
	case !stream:
		if err := a.event(plain, false, at); err != nil {
			return a.broken(err)
		}
	case !a.ended:
		if err := sse.EOF(func([]byte) bool { return true }); err != nil {
			return a.broken(err)
		}
	}
	if a.pieces == 0 {
		return &diag.Error{Code: diag.Failed, Message: "the answer has no text"}
	}
	return nil
}

var errWrong = errors.New("the server reported an error")

// broken is an answer that did not come to its end.
func (a *reading) broken(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case a.wrong != "":
		return &diag.Error{Code: diag.Failed, Message: "the server broke the answer off: " + a.wrong}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &diag.Error{Code: diag.Failed, Message: "the connection was closed before the end of the answer"}
	}
	return &diag.Error{Code: diag.Failed, Message: words.Clip(a.chat.hide.Text(err.Error()), 200), Cause: err}
}

// event reads one event, or the whole answer of a server that does not stream.
func (a *reading) event(data []byte, stream bool, at time.Duration) error {
	if stream && len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	c, err := a.chat.spec.Read(data, stream)
	if err != nil {
		return err
	}
	if c.ErrKind != "" || c.ErrText != "" {
		a.wrong = words.Clip(a.chat.hide.Text(c.ErrText), 200)
		return errWrong
	}
	a.usage.Merge(&c.Usage)
	a.ended = c.Kind == record.Done
	if c.Empty || c.Kind == record.Done || c.Choice != 0 {
		return nil
	}
	if a.pieces == 0 {
		a.first = at
	}
	a.pieces++
	a.last = at
	a.say(&a.thought, c.Reasoning)
	if c.Kind == record.Content {
		a.say(&a.text, c.Text)
	} else {
		a.say(&a.thought, c.Text)
	}
	return nil
}

// say shows a piece; the answer begins on a line of its own behind what the model thought.
func (a *reading) say(into *strings.Builder, piece string) {
	if piece == "" {
		return
	}
	if into == &a.text && a.text.Len() == 0 && a.thought.Len() > 0 {
		a.show("\n\n")
	}
	into.WriteString(piece)
	a.show(words.Clean(piece))
}

// answer is what was read.
func (a *reading) answer(latency time.Duration) *Answer {
	out := &Answer{
		Text: a.text.String(), Tokens: a.usage.Completion, First: a.first, Latency: max(a.last, a.first),
		Prompt: a.usage.Prompt, Cached: a.usage.Cached,
	}
	if out.Latency == 0 {
		out.Latency = latency
	}
	tok := a.chat.cfg.Tokenizer
	if out.Reasoning = a.usage.Reasoning; out.Reasoning == record.None {
		out.Reasoning = int64(tok.Count(a.thought.String()))
	}
	if out.Tokens == record.None {
		out.Tokens = int64(tok.Count(a.text.String()) + tok.Count(a.thought.String()))
	}
	return out
}

// Line is how fast the answer was.
func (a *Answer) Line() string {
	parts := []string{"TTFT " + words.Millis(a.First.Seconds()*1e3)}
	if s := a.Latency.Seconds(); s > 0 {
		parts = append(parts, words.Number(float64(a.Tokens)/s)+" tok/s")
	}
	if a.Tokens > 1 {
		parts = append(parts, "ITL "+words.Millis((a.Latency-a.First).Seconds()*1e3/float64(a.Tokens-1)))
	}
	tokens := words.Count(a.Tokens, "token")
	if a.Reasoning > 0 {
		tokens += ", " + words.Whole(a.Reasoning) + " of them reasoning"
	}
	parts = append(parts, tokens)
	if a.Prompt != record.None {
		prompt := words.Count(a.Prompt, "token") + " in"
		if a.Cached > 0 {
			prompt += ", " + words.Whole(a.Cached) + " of them cached"
		}
		parts = append(parts, prompt)
	}
	if a.Cut {
		parts = append(parts, "ended early")
	}
	return strings.Join(parts, " · ")
}
