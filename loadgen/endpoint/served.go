package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"
	"mime"
	"mime/multipart"
	"strconv"
	"strings"
)

// Served is how the built-in server takes requests of an API and spells its
// answers. The functions append to b; Token and End are for APIs that stream.
type Served struct {
	Texts       []string // members of a request whose texts are the prompt, in order
	Items       []string // members whose entries are answered one by one
	Asked       []string // members with the output length asked for; the last one that is there counts
	Least       string   // member with the least output length
	Reasons     bool     // answers may begin with reasoning
	Calls       bool     // answers may be calls of functions
	Words       bool     // answers are text although nobody counts its tokens
	TimeHeaders bool     // answers say in x-…-time headers how long they took
	Lines       bool     // streams are lines of JSON, not events
	ByAccept    bool     // streams are asked for by the Accept line, not in the body
	// Steps is in how many events a stream of something else than tokens comes;
	// nil means one.
	Steps func(c *Call) int
	// Check says what is wrong with a request that the API does not take.
	Check func(c *Call) error

	Begin func(b []byte, s *Script) []byte               // first event of a stream, nil for none
	Token func(b []byte, s *Script, from, to int) []byte // tokens from..to, all of one kind
	End   func(b []byte, s *Script) []byte               // closing events
	Whole func(b []byte, s *Script) []byte               // an answer that is no stream
}

// Script is what the built-in server has decided about one answer.
type Script struct {
	ID        string
	N         int64 // ordinal of the request
	Created   int64 // Unix seconds
	Call      *Call
	In, Out   int  // tokens read, tokens of the whole answer
	Made      int  // tokens made so far
	Reasoning int  // leading tokens that are reasoning
	Calls     int  // function calls that the tokens after these are, 0 for prose
	Cached    int  // input tokens said to come from a cache
	Accepted  int  // tokens of a predicted answer said to be in the answer
	Rejected  int  // the same, said not to be
	Caches    bool // a cache was asked: a report says so also where it held nothing
	Dims      int  // length of a vector
	Media     int  // bytes of a picture, at least; 0 for one pixel

	Usage     bool // the answer ends with a usage report
	UsageEach bool // every event of a stream carries one
	UsageOff  bool // no report at all, also where the API always has one
	Lie       float64

	// Times are how long it read the prompt and how long it has been making
	// tokens, in ms.
	Times func() (read, made float64)

	Rng *rand.Rand
	// Words appends tokens from..to of the answer.
	Words func(b []byte, from, to int) []byte
}

// Finish is why the answer stopped, in the API's words: to have functions
// called, at the length asked for, or by itself.
func (s *Script) Finish(length, stop, calls string) string {
	if s.Calls > 0 {
		return calls
	}
	if s.Call.Asked > 0 {
		return length
	}
	return stop
}

// Claimed is a token count as a usage report says it.
func (s *Script) Claimed(n int) int { return int(math.Round(float64(n) * s.Lie)) }

// Call is what a request asks for, as the built-in server reads it.
type Call struct {
	Model        string
	Stream       bool
	IncludeUsage bool
	UsageEach    bool
	Asked        int // output tokens, 0 when not said
	Least        int
	Base64       bool
	Items        int // inputs that are answered one by one
	Text         string
	IDs          []int          // tokens that came as ids
	Media        int            // images, audios and videos, files included
	Fields       map[string]any // the whole request
}

// MaxTokens bounds what a request may make the built-in server remember.
const MaxTokens = 1 << 20

// Parse reads a request body as the API has it.
func (s *Served) Parse(raw []byte, contentType string) (Call, error) {
	f, files, err := fields(raw, contentType)
	if err != nil {
		return Call{}, err
	}
	options, _ := f["stream_options"].(map[string]any)
	c := Call{
		Stream: f["stream"] == true || f["stream"] == "true", IncludeUsage: options["include_usage"] == true,
		UsageEach: options["continuous_usage_stats"] == true, Base64: f["encoding_format"] == "base64", Media: files,
		Fields: f,
	}
	var ok bool
	if c.Model, ok = f["model"].(string); !ok && f["model"] != nil {
		return Call{}, errors.New("model must be a name")
	}
	for _, name := range s.Asked {
		if err := whole(f, name, &c.Asked); err != nil {
			return Call{}, err
		}
	}
	if s.Least != "" {
		if err := whole(f, s.Least, &c.Least); err != nil {
			return Call{}, err
		}
	}
	var texts []string
	for _, name := range s.Texts {
		texts = c.gather(texts, f[name])
	}
	c.Text = strings.Join(texts, " ")
	for _, name := range s.Items {
		c.Items += entries(f[name])
	}
	if s.Check != nil {
		err = s.Check(&c)
	}
	return c, err
}

// fields reads a JSON object or a form, and counts the form's files.
func fields(raw []byte, contentType string) (f map[string]any, files int, err error) {
	kind, params, _ := mime.ParseMediaType(contentType)
	if kind == "multipart/form-data" {
		return readForm(raw, params["boundary"])
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, 0, fmt.Errorf("the body is not the JSON expected: %w", err)
	}
	return f, 0, nil
}

// readForm reads a multipart form.
func readForm(raw []byte, boundary string) (map[string]any, int, error) {
	f, files := map[string]any{}, 0
	parts := multipart.NewReader(bytes.NewReader(raw), boundary)
	for {
		p, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return f, files, nil
		}
		if err != nil {
			return nil, 0, fmt.Errorf("the body is not the form expected: %w", err)
		}
		b, err := io.ReadAll(p)
		if err != nil {
			return nil, 0, fmt.Errorf("the body is not the form expected: %w", err)
		}
		if p.FileName() != "" {
			files++
			f[p.FormName()] = map[string]any{
				"file": p.FileName(), "type": p.Header.Get("Content-Type"),
				"size": float64(len(b)),
			}
			continue
		}
		f[p.FormName()] = string(b)
	}
}

// whole reads a count at a path of names into n, where it is given.
func whole(f map[string]any, path string, n *int) error {
	var v any = f
	for _, name := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	switch x := v.(type) {
	case nil:
		return nil
	case float64:
		*n = int(x)
		if float64(*n) == x && *n >= 0 && *n <= MaxTokens {
			return nil
		}
	case string:
		var err error
		if *n, err = strconv.Atoi(x); err == nil && *n >= 0 && *n <= MaxTokens {
			return nil
		}
	}
	return fmt.Errorf("%s must be a whole number from 0 to %d", path, MaxTokens)
}

// gather appends the texts inside a value, and counts token ids and media.
func (c *Call) gather(into []string, v any) []string {
	switch v := v.(type) {
	case string:
		into = append(into, v)
	case float64:
		c.IDs = append(c.IDs, int(v))
	case []any:
		for _, e := range v {
			into = c.gather(into, e)
		}
	case map[string]any:
		for _, name := range []string{"image_url", "input_audio", "video_url", "source"} {
			if v[name] != nil {
				c.Media++
			}
		}
		into = c.gather(into, v["content"])
		if t, ok := v["text"].(string); ok {
			into = append(into, t)
		}
		if v["datatype"] == "BYTES" { // a tensor of texts
			into = c.gather(into, v["data"])
		}
	}
	return into
}

// entries is how many inputs a value holds: one text, one list of ids, a list
// of either, or the texts of tensors.
func entries(v any) int {
	list, ok := v.([]any)
	switch {
	case v == nil:
		return 0
	case !ok:
		return 1
	case len(list) == 0:
		return 0
	}
	switch first := list[0].(type) {
	case float64:
		return 1
	case map[string]any:
		if first["datatype"] == nil {
			break
		}
		n := 0
		for _, tensor := range list {
			if t, _ := tensor.(map[string]any); t["datatype"] == "BYTES" {
				n += entries(t["data"])
			}
		}
		return n
	}
	return len(list)
}

// What the answers of OpenAI's APIs on the built-in server have in common.

// servedHead opens the object that every event of chat and completions is.
func servedHead(b []byte, s *Script, object string) []byte {
	return fmt.Appendf(b, `"id":"%s","object":"%s","created":%d,"model":%s`,
		s.ID, object, s.Created, quoted(s.Call.Model))
}

func quoted(s string) []byte { return appendString(nil, s) }

// servedUsage writes the report after made tokens.
func servedUsage(b []byte, s *Script, made int) []byte {
	in, out := s.Claimed(s.In), s.Claimed(made)
	b = fmt.Appendf(b, `"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d`, in, out, in+out)
	if s.Cached > 0 || s.Caches {
		b = fmt.Appendf(b, `,"prompt_tokens_details":{"cached_tokens":%d}`, s.Cached)
	}
	switch n := min(made, s.Reasoning); {
	case s.Accepted > 0 || s.Rejected > 0:
		b = fmt.Appendf(b, `,"completion_tokens_details":{"reasoning_tokens":%d,"accepted_prediction_tokens":%d,"rejected_prediction_tokens":%d}`,
			n, min(made, s.Accepted), s.Rejected)
	case n > 0:
		b = fmt.Appendf(b, `,"completion_tokens_details":{"reasoning_tokens":%d}`, n)
	}
	return append(b, '}')
}

// closeEvent ends an event, with the usage so far if every event has it.
func closeEvent(b []byte, s *Script, made int) []byte {
	if s.UsageEach {
		b = servedUsage(append(b, ','), s, made)
	}
	return append(b, "}\n\n"...)
}

// servedTail is the usage event, with no choices, and the end mark.
func servedTail(b []byte, s *Script, object string) []byte {
	if s.Usage {
		b = servedHead(append(b, "data: {"...), s, object)
		b = servedUsage(append(b, `,"choices":[],`...), s, s.Made)
		b = append(b, "}\n\n"...)
	}
	return append(b, "data: [DONE]\n\n"...)
}

// closeWhole ends an answer of chat or completions.
func closeWhole(b []byte, s *Script) []byte {
	b = fmt.Appendf(b, `,"finish_reason":"%s"}]`, s.Finish("length", "stop", "tool_calls"))
	if s.Usage {
		b = servedUsage(append(b, ','), s, s.Out)
	}
	return append(b, '}')
}

// servedCalls writes tokens from..to as a list of function calls, or of pieces
// of them: of each call the first piece has its id and name, and all pieces of
// its arguments together are a JSON object. Pieces in a stream say whose they
// are.
func servedCalls(b []byte, s *Script, from, to int, pieces bool) []byte {
	b = append(b, '[')
	for p := range s.calls(from, to) {
		b = append(comma(b), '{')
		if pieces {
			b = fmt.Appendf(b, `"index":%d,`, p.i)
		}
		if p.opens {
			b = fmt.Appendf(b, `"id":"%s","type":"function","function":{"name":"%s","arguments":"`, s.callID(p.i),
				callName)
		} else {
			b = append(b, `"function":{"arguments":"`...)
		}
		b = append(s.arguments(b, p), `"}}`...)
	}
	return append(b, ']')
}

// callName is the function that all calls are of.
const callName = "look_up"

// callPiece is tokens from..to of an answer as a piece of its function call i.
type callPiece struct {
	i, from, to   int
	opens, closes bool // it begins the call, it ends it
}

// calls are the pieces of function calls that tokens from..to are.
func (s *Script) calls(from, to int) iter.Seq[callPiece] {
	begins := func(i int) int { return s.Reasoning + i*(s.Out-s.Reasoning)/s.Calls }
	return func(yield func(callPiece) bool) {
		for i := 0; from < to; i++ {
			first, end := begins(i), begins(i+1)
			if end <= from {
				continue
			}
			until := min(to, end)
			if !yield(callPiece{i, from, until, from == first, until == end}) {
				return
			}
			from = until
		}
	}
}

func (s *Script) callID(i int) string { return fmt.Sprintf("call-%s-%d", s.ID, i) }

// arguments appends a piece of the arguments of a call, which are JSON, as they
// stand inside a JSON string.
func (s *Script) arguments(b []byte, p callPiece) []byte {
	if p.opens {
		b = append(b, `{\"text\":\"`...)
	}
	b = s.Words(b, p.from, p.to)
	if p.closes {
		b = append(b, `\"}`...)
	}
	return b
}
