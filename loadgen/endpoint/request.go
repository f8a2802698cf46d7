package endpoint

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint/replay"
	"aiperf.dev/aiperf/schema"
)

// Open is the row of an endpoint's type, changed to what its settings say.
func Open(e *schema.Endpoint) (*Spec, error) {
	row, ok := Lookup(e.Type)
	if !ok {
		return nil, fmt.Errorf("endpoint type %s is not known", e.Type)
	}
	if stream := e.Extra.Raw("stream"); stream != nil && string(stream) != strconv.FormatBool(e.Streaming &&
		row.CanStream) {
		return nil, diag.Errorf("endpoint.extra: stream: %s contradicts endpoint.streaming",
			stream).Try("--streaming asks for streams, and reads them")
	}
	if !row.RPC && e.Path == "" && slices.ContainsFunc(e.URLs, isRPC) {
		return nil, diag.Errorf("%s: gRPC servers do not speak it", e.Type).Try("they speak " + speakers())
	}
	s := *row
	if s.Configure != nil {
		if err := s.Configure(&s, e); err != nil {
			return nil, err // it names its setting
		}
	}
	return &s, nil
}

// URLPath is the path of requests for a model; stream says whether they ask
// for one.
func (s *Spec) URLPath(model string, stream bool) string {
	path := s.Path
	if stream && s.StreamPath != "" {
		path = s.StreamPath
	}
	return WithModel(path, model)
}

// WithModel puts a model's name into the place that a path has for it.
func WithModel(path, model string) string {
	if !strings.Contains(path, "{model}") {
		return path
	}
	return strings.ReplaceAll(path, "{model}", url.PathEscape(model))
}

// Request appends the body of a request to dst. A turn that holds a whole body
// is sent as it is.
func (s *Spec) Request(dst []byte, in *Input) ([]byte, error) {
	if in.Turn.Raw != nil {
		return append(dst, in.Turn.Raw...), nil
	}
	if err := s.carries(in.Turn); err != nil {
		return dst, err
	}
	if s.extra != nil {
		in.Extra = s.extra
	}
	if truthy(in.Turn.Extra.Get("stream")) && !s.CanStream {
		return dst, diag.Errorf("%s: it cannot stream", s.Type).Try("take stream out of the turn's extra")
	}
	if !s.TakesSystem {
		if err := alone(s.Type, in); err != nil {
			return dst, err
		}
	}
	return s.Body(dst, in)
}

// Answer is what an answer adds to the history: said is its text, events its data.
func (s *Spec) Answer(said string, events replay.Events) Message {
	m := Message{Role: "assistant", Content: said}
	if s.Replay != nil {
		m.Elements = s.Replay(events)
	}
	if s.Stored != nil {
		m.Stored = s.Stored(events)
	}
	return m
}

// alone refuses what an API without conversations has no place for.
func alone(api string, in *Input) error {
	if in.System != "" || in.Turn.Context != "" {
		return fmt.Errorf("%s: no place for a system prompt or a user context", api)
	}
	if len(in.History) > 0 || in.Turn.Messages != nil {
		return fmt.Errorf("%s: conversations of one turn only", api)
	}
	return nil
}

// Fits tells, before anything is sent, whether the API can carry a turn: its
// media, those that the API cannot do without, and what else it needs.
func (s *Spec) Fits(t *dataset.Turn) error {
	if err := s.carries(t); err != nil || s.Check == nil || t.Raw != nil {
		return err
	}
	return s.Check(t)
}

// carries reports whether the API can carry the media of a turn.
func (s *Spec) carries(t *dataset.Turn) error {
	switch {
	case t.Raw != nil:
		return nil
	case s.Ready:
		return errNotReady
	}
	for _, m := range []struct {
		kind       Media
		name, hint string
		n          int
	}{
		{
			Images, "image", "--image-width-mean and --image-height-mean make some, an input file may name them",
			len(t.Images),
		},
		{Audios, "audio", "--audio-length-mean makes some, an input file may name them", len(t.Audios)},
		{Videos, "video", "--video-width and --video-height make some, an input file may name them", len(t.Videos)},
	} {
		switch {
		case m.n > 0 && s.Takes&m.kind == 0:
			return diag.Errorf("%s: no place for the dataset's %ss", s.Type,
				m.name).Try(fmt.Sprintf("%s take them", takers(m.kind)))
		case m.n == 0 && s.Needs&m.kind != 0:
			return diag.Errorf("%s: a turn without the %s that is to be sent", s.Type, m.name).Try(m.hint)
		}
	}
	return nil
}

// isRPC reports whether an address is spoken to by gRPC.
func isRPC(url string) bool {
	return strings.HasPrefix(url, "grpc://") || strings.HasPrefix(url, "grpcs://")
}

// speakers lists the APIs that gRPC servers speak.
func speakers() string {
	var names []string
	for _, s := range Catalogue() {
		if s.RPC {
			names = append(names, s.Type)
		}
	}
	return strings.Join(names, ", ")
}

// takers lists the APIs with a place for a kind of media.
func takers(kind Media) string {
	var names []string
	for _, s := range Catalogue() {
		if s.Takes&kind != 0 {
			names = append(names, s.Type)
		}
	}
	return strings.Join(names, ", ")
}

// setting takes one of the type's settings out of the extra inputs, where
// AIPerf has them.
func (s *Spec) setting(e *schema.Endpoint, name string) (value any, given bool) {
	if s.extra == nil {
		s.extra = append(schema.Members{}, e.Extra...)
	}
	value, given = s.extra.Get(name), s.extra.Has(name)
	s.extra = s.extra.Without(name)
	return value, given
}

// textSetting is a setting that must be text.
func (s *Spec) textSetting(e *schema.Endpoint, name, without string) (string, error) {
	v, given := s.setting(e, name)
	if !given {
		return without, nil
	}
	t, ok := v.(string)
	if !ok || t == "" {
		return "", (&diag.Error{Path: "endpoint.extra", Message: fmt.Sprintf("%s: want a text, not %s",
			name, kindOf(v))}).Try("in quotes it is one")
	}
	return t, nil
}

// kindOf names what a value is.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "an empty one"
	case bool:
		return "true or false"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return "a number"
}

// Missing says what is wrong with the items in the answer to a turn, "" for
// nothing: how many there are, and the highest of the places that scores are for.
func (s *Spec) Missing(t *dataset.Turn, extra schema.Members, items, places int64) string {
	if s.Given == nil || t.Raw != nil {
		return ""
	}
	all := mergedExtra(&Input{Turn: t, Extra: extra})
	n := int64(s.Given(t, all))
	if n > 0 && n != items {
		name := s.Items
		if items == 1 {
			name = strings.TrimSuffix(name, "s")
		}
		return fmt.Sprintf("the answer has %d %s, the request asked for %d", items, name, n)
	}
	if n > 0 && places > int64(len(t.Passages)) {
		return fmt.Sprintf("the answer has a score for index %d, the request has %d passages", places-1,
			len(t.Passages))
	}
	return ""
}

// unlessSaid is n, or 0 where one of the extra inputs changes what is answered.
func unlessSaid(n int, extra schema.Members, names ...string) int {
	for _, name := range names {
		if extra.Has(name) {
			return 0
		}
	}
	return n
}

// Limit is the number of output tokens that a recorded body asks for at most, 0
// where it says none. A body that says it in two ways means the newer one.
func Limit(body []byte) int64 {
	var said map[string]json.RawMessage
	if json.Unmarshal(body, &said) != nil {
		return 0
	}
	for _, name := range []string{"max_completion_tokens", "max_output_tokens", "max_tokens"} {
		if n, err := strconv.ParseInt(string(said[name]), 10, 64); err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// Text is what the server has to tokenize: every text of the request, joined
// with one space. Its token count is the request's ISL.
func (in *Input) Text() string {
	t := in.Turn
	if t.Raw != nil {
		texts, _ := bodyTexts(t.Raw)
		return strings.Join(texts, " ")
	}
	if in.System == "" && t.Context == "" && len(in.History) == 0 && t.Query == "" &&
		t.Messages == nil && t.Tools == nil && len(t.Texts) == 1 {
		return t.Texts[0]
	}
	var parts []string
	add := func(texts ...string) {
		parts = append(parts, slices.DeleteFunc(texts, func(s string) bool { return s == "" })...)
	}
	own := t.Messages
	switch {
	case in.complete() && !in.Apart:
		own = appendMessages(nil, in)
	case in.complete():
		add(in.System)
	default:
		add(in.System, t.Context)
		for _, m := range in.History {
			switch {
			case m.Elements != nil:
				add(jsonTexts(slices.Concat([]byte("["), m.Elements, []byte("]")))...)
				continue
			case m.Turn == nil:
				add(m.Content)
				continue
			}
			add(jsonTexts(m.Turn.Messages)...)
			add(slices.Clone(m.Turn.Texts)...)
		}
	}
	add(jsonTexts(own)...)
	add(t.Query)
	add(slices.Clone(t.Passages)...)
	if t.Messages == nil {
		add(slices.Clone(t.Texts)...)
	}
	add(toolTexts(t.Tools)...)
	return strings.Join(parts, " ")
}

// Tokens is how many tokens a body that the dataset holds ready has as numbers,
// where its API takes texts or those.
func (in *Input) Tokens() int64 {
	_, tokens := bodyTexts(in.Turn.Raw)
	return tokens
}
