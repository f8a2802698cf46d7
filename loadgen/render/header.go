package render

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/header"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// vars is what header lines may name in braces.
type vars struct {
	requestID string
	session   *Session
	turn      int
	model     string
	stream    bool
}

// placeholders are the names that a header's value may have in braces, each
// with what stands there in a request. Other braces are left as they are.
var placeholders = []struct {
	Name, Doc string
	append    func(dst []byte, v *vars) []byte
}{
	{
		"request_id", "the request's own UUID, fresh for each",
		func(b []byte, v *vars) []byte { return append(b, v.requestID...) },
	},
	{
		"session_id", "the UUID that all requests of a session share",
		func(b []byte, v *vars) []byte { return append(b, v.session.ID...) },
	},
	{
		"conversation_id", "the conversation's name in the dataset",
		func(b []byte, v *vars) []byte { return appendVisible(b, v.session.Conversation.ID) },
	},
	{
		"turn", "the turn's number in its session, from 0",
		func(b []byte, v *vars) []byte { return strconv.AppendInt(b, int64(v.turn), 10) },
	},
	{"model", "the model that the request names", func(b []byte, v *vars) []byte { return appendVisible(b, v.model) }},
}

// Placeholder is a name that headers may hold in braces.
type Placeholder struct{ Name, Doc string }

// Placeholders lists them, for help and documentation.
func Placeholders() (out []Placeholder) {
	for _, p := range placeholders {
		out = append(out, Placeholder{p.Name, p.Doc})
	}
	return out
}

// braced is what looks like a placeholder.
var braced = regexp.MustCompile(`\{[a-z]+(_[a-z]+)*\}`)

// Literal lists what looks like a placeholder in the headers of an endpoint and
// is none, so that it is sent as it stands. They are in the order of the headers,
// each once.
func Literal(e *schema.Endpoint) (words []string) {
	for _, h := range e.Headers {
		for _, word := range braced.FindAllString(h.Value, -1) {
			if then, _ := placeholder(word); then == nil && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	return words
}

// appendVisible adds text from a dataset without what would break its line.
func appendVisible(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c >= ' ' && c != 0x7f {
			dst = append(dst, c)
		}
	}
	return dst
}

// piece is text, followed by what a placeholder stands for.
type piece struct {
	text string
	then func(dst []byte, v *vars) []byte // nil: nothing
}

// headerOf is the header of every request, in AIPerf's order: who it is, the
// user's lines, what the API wants, the key, and what is sent and asked for. A user's line
// takes the place of any other of its name: a header that comes twice means to each server
// what it likes.
func headerOf(e *schema.Endpoint, spec *endpoint.Spec) ([]piece, error) {
	var b strings.Builder
	session, keyHeader, keyPrefix := "X-Correlation-ID", "Authorization", "Bearer "
	if e.SessionHeader != "" {
		session = e.SessionHeader
		if err := header.Check(session, ""); err != nil {
			return nil, &diag.Error{Path: "endpoint.session_header", Message: err.Error(), Cause: err}
		}
	}
	if spec.KeyHeader != "" {
		keyHeader, keyPrefix = spec.KeyHeader, ""
	}
	authorized, given := false, map[string]bool{}
	for _, h := range e.Headers {
		given[strings.ToLower(h.Name)] = true
	}
	unlessGiven := func(lines ...string) {
		for _, line := range lines {
			if name, _, _ := strings.Cut(line, ":"); !given[strings.ToLower(name)] {
				b.WriteString(line + "\r\n")
			}
		}
	}
	unlessGiven("X-Request-ID: {request_id}", session+": {session_id}")
	for _, h := range e.Headers {
		if err := header.Check(h.Name, h.Value); err != nil {
			return nil, &diag.Error{Path: "endpoint.headers", Message: err.Error(), Cause: err}
		}
		authorized = authorized || strings.EqualFold(h.Name, keyHeader)
		fmt.Fprintf(&b, "%s: %s\r\n", h.Name, h.Value)
	}
	if spec.Form() && given["content-type"] {
		return nil, (&diag.Error{
			Path:    "endpoint.headers",
			Message: "Content-Type: the body is a form and needs its own",
		}).Try("leave it out")
	}
	unlessGiven(spec.Headers...)
	pieces := compile(b.String())
	if e.APIKey != "" && !authorized {
		if header.Check("Authorization", e.APIKey) != nil {
			return nil, (&diag.Error{
				Path:    "endpoint.api_key",
				Message: "it holds a control character",
			}).Try("does it hold a line break?")
		}
		// braces in a key are its own
		pieces = append(pieces, piece{text: keyHeader + ": " + keyPrefix + e.APIKey + "\r\n"})
	}
	if !given["accept"] {
		pieces = append(pieces, piece{then: func(dst []byte, v *vars) []byte {
			return append(dst,
				transport.Accept(v.stream)...)
		}})
	}
	kind := spec.ContentType
	if kind == "" {
		kind = "application/json"
	}
	b.Reset()
	unlessGiven("Content-Type: "+kind, "X-Session-Affinity: {session_id}")
	return append(pieces, compile(b.String())...), nil
}

// compile cuts a template at its placeholders.
func compile(template string) (pieces []piece) {
	text := ""
	for template != "" {
		open := strings.IndexByte(template, '{')
		if open < 0 {
			break
		}
		text += template[:open]
		template = template[open:]
		then, rest := placeholder(template)
		if then == nil {
			text, template = text+"{", template[1:]
			continue
		}
		pieces = append(pieces, piece{text, then})
		text, template = "", rest
	}
	return append(pieces, piece{text: text + template})
}

// placeholder is what template begins with, and the rest; nil when it begins
// with no placeholder.
func placeholder(template string) (then func([]byte, *vars) []byte, rest string) {
	for _, p := range placeholders {
		if rest, ok := strings.CutPrefix(template, "{"+p.Name+"}"); ok {
			return p.append, rest
		}
	}
	return nil, template
}

// appendHeader renders the header lines of a request.
func (r *Renderer) appendHeader(dst []byte, v *vars) []byte {
	for i := range r.header {
		p := &r.header[i]
		dst = append(dst, p.text...)
		if p.then != nil {
			dst = p.then(dst, v)
		}
	}
	return dst
}
