package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/jmespath/go-jmespath"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/jinja"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// template is an API of the user's own: its body is a template, and its answer
// lies where they say.
var template = Spec{
	Type: "template", Title: "LLM",
	Doc: "any JSON API: the body is a Jinja template", GenAI: []string{"template"},
	CanStream: true, ProducesTokens: true, TakesText: true, TakesSystem: true, NoEnd: true, Bytes: true,
	Takes: Images | Audios | Videos, Settings: []string{"template"}, Configure: configureTemplate,
	Body: templateBody(bodyPlace, nil), Read: readAny, HasContent: notEmpty(readAny), MayEnd: mayEndAny,
	Served: Served{
		Texts: []string{"text", "texts", "input", "inputs", "prompt", "messages", "query"},
		Asked: []string{"max_tokens"},
		Token: servedTextToken, End: servedTextEnd, Whole: servedText,
	},
}

// raw sends what the dataset holds, and finds the answer itself.
var raw = Spec{
	Type: "raw", Title: "LLM",
	Doc:       "bodies that the dataset holds ready, to any API",
	CanStream: true, ProducesTokens: true, TakesText: true, TakesSystem: true, NoEnd: true, Ready: true, Bytes: true,
	Body: func(dst []byte, _ *Input) ([]byte, error) { return dst, errNotReady },
	Read: readAny, HasContent: notEmpty(readAny), MayEnd: mayEndAny,
	Served: Served{
		Texts: []string{"text", "texts", "input", "inputs", "prompt", "messages", "query"},
		Asked: []string{"max_tokens"},
		Token: servedTextToken, End: servedTextEnd, Whole: servedText,
	},
}

var errNotReady = diag.Errorf("raw: the dataset holds no bodies").Try("dataset.format raw_payload or inputs_json has them")

// named are the templates that AIPerf knows by name.
var named = map[string]string{"nv-embedqa": `{"text": {{ texts|tojson }}}`}

// templateOf is the template and where the text lies in its answers, with the places where
// these settings stand.
func (s *Spec) templateOf(e *schema.Endpoint) (text, field string, body, at place, err error) {
	body, at = place{"payload_template", extraPath}, place{"response_field", extraPath}
	if text, err = s.textSetting(e, body.name, ""); err == nil {
		field, err = s.textSetting(e, at.name, "")
	}
	if err == nil && e.Template != nil {
		text, field, body, at = e.Template.Body, e.Template.ResponseField, bodyPlace,
			place{"response_field", "endpoint.template.response_field"}
	}
	return text, field, body, at, err
}

func configureTemplate(s *Spec, e *schema.Endpoint) error {
	text, field, body, at, err := s.templateOf(e)
	if err != nil {
		return err
	}
	if text == "" {
		return diag.Errorf("template: it needs template.body").Try("--extra-inputs payload_template:FILE names a file with it")
	}
	if err = s.useTemplate(body, text); err != nil || field == "" {
		return err
	}
	if s.Read, err = readField(at, field); err == nil {
		s.HasContent, s.TextAt = notEmpty(s.Read), "response_field "+field
	}
	return err
}

// place is where a setting stands: what it is called in a request's error, and
// the field.
type place struct{ name, path string }

const extraPath = "endpoint.extra"

var bodyPlace = place{"template.body", "endpoint.template.body"}

// wrong is an error in the setting, for its author.
func (p place) wrong(err error) error {
	e := &diag.Error{Path: p.path, Message: err.Error(), Hint: diag.Of(err).Hint, Cause: err}
	if p.path == extraPath { // which has several
		e.Message = p.name + ": " + e.Message
	}
	return e
}

// WithTemplate is e with the template itself where it names a file that holds one, for
// whoever has not that file.
func WithTemplate(e schema.Endpoint) (_ schema.Endpoint, err error) {
	if e.RPC != nil && IsTemplateFile(e.RPC.Body) {
		own := *e.RPC
		own.Body, err = readTemplate(rpcPlace("body"), own.Body)
		e.RPC = &own
	}
	if e.Type != template.Type || err != nil {
		return e, err
	}
	var s Spec
	text, field, at, _, err := s.templateOf(&e)
	if err != nil || !IsTemplateFile(text) {
		return e, err
	}
	text, err = readTemplate(at, text)
	e.Template = &schema.BodyTemplate{Body: text, ResponseField: field}
	return e, err
}

// IsTemplateFile tells whether a template is the name of a file that holds one.
func IsTemplateFile(text string) bool {
	return text != "" && named[text] == "" && !strings.ContainsAny(text, "{\n")
}

func readTemplate(at place, file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", at.wrong(diag.Errorf("no such file: %s", short(file)).
			Try("it is the name of a file, or the template itself, which has braces: {\"prompt\": {{ text|tojson }}}"))
	}
	return string(b), nil
}

// useTemplate makes bodies of a template: one known by name, a file, or the text
// itself.
func (s *Spec) useTemplate(at place, text string) error {
	if known, ok := named[text]; ok {
		text = known
	} else if IsTemplateFile(text) {
		var err error
		if text, err = readTemplate(at, text); err != nil {
			return err
		}
	}
	t, err := jinja.Parse(text)
	if err != nil {
		return at.wrong(errors.New(oneLine(err.Error())))
	}
	if err := probe(t); err != nil {
		return at.wrong(err)
	}
	s.Body = templateBody(at, t)
	s.Check = func(turn *dataset.Turn) error {
		if _, err := appendRendered(nil, t, &Input{Model: "model", Turn: turn, Extra: s.extra}); err != nil {
			return at.wrong(err)
		}
		return nil
	}
	return nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// probe renders a template once, so that one that yields no JSON, or does not
// end, is said before anything is sent.
func probe(t *jinja.Template) error {
	_, err := appendRendered(nil, t, &Input{Model: "model", Turn: &dataset.Turn{
		Texts: []string{"text"}, MaxTokens: 1, Query: "query", Passages: []string{"passage"},
		Images: []dataset.Media{{URL: "http://image"}}, Audios: []dataset.Media{{URL: "http://audio"}},
		Videos: []dataset.Media{{URL: "http://video"}},
	}})
	return err
}

// templateBody renders a template with AIPerf's names.
func templateBody(at place, t *jinja.Template) func([]byte, *Input) ([]byte, error) {
	return func(dst []byte, in *Input) ([]byte, error) {
		if t == nil {
			return dst, errors.New(at.name + ": not configured")
		}
		dst, err := appendRendered(dst, t, in)
		if err != nil {
			err = fmt.Errorf("%s: %w", at.name, err)
		}
		return dst, err
	}
}

func appendRendered(dst []byte, t *jinja.Template, in *Input) ([]byte, error) {
	text, err := t.Run(templateNames(in))
	if err != nil {
		return dst, diag.Errorf("%s", oneLine(err.Error())).Try(diag.Of(err).Hint)
	}
	text = strings.TrimSpace(text)
	if !json.Valid([]byte(text)) {
		return dst, noJSON(text)
	}
	return withExtra(dst, []byte(text), in)
}

// withExtra appends a body that is JSON, with the extra inputs in it.
func withExtra(dst, body []byte, in *Input) ([]byte, error) {
	extra := mergedExtra(in)
	if len(extra) == 0 {
		b := bytes.NewBuffer(dst)
		err := json.Compact(b, body)
		return b.Bytes(), err
	}
	var object schema.Members
	if json.Unmarshal(body, &object) != nil || object == nil {
		return dst, errors.New("extra inputs need a body that is an object")
	}
	return appendMembers(dst, object.With(extra)), nil
}

// noJSON says where a text is no JSON, and why it may be so.
func noJSON(text string) error {
	fault := len(text)
	var syntax *json.SyntaxError
	if err := json.Unmarshal([]byte(text), new(any)); errors.As(err, &syntax) && syntax.Offset > 0 {
		fault = int(syntax.Offset) - 1
	}
	e := diag.Errorf("it does not make JSON but %q", short(text))
	if len(text) > shown {
		from := max(0, fault-shown/2)
		e = diag.Errorf("it does not make JSON: byte %d of %d, in %q", fault+1,
			len(text), short(strings.ToValidUTF8(text[from:], "")))
	}
	switch rest := text[min(fault, len(text)):]; {
	case strings.HasPrefix(rest, "None"):
		return e.Try("None stands for a missing value, such as max_tokens without --osl: give it one, or write {{ max_tokens|tojson }}, which then writes null")
	case strings.HasPrefix(rest, "True"), strings.HasPrefix(rest, "False"):
		return e.Try("write {{ stream|tojson }} for true or false")
	}
	return e.Try("write {{ text|tojson }} for a string")
}

func short(s string) string {
	if len(s) > shown {
		s = strings.ToValidUTF8(s[:shown], "")
	}
	return s
}

// templateNames are the names that a template may use.
func templateNames(in *Input) map[string]any {
	t := in.Turn
	n := map[string]any{
		"model": in.Model, "stream": in.Stream, "role": nil, "system": in.System,
		"max_tokens": nil, "turn": len(in.History) / 2, "queries": list(t.Query), "passages": t.Passages,
		"texts": t.Texts, "images": addresses(t.Images), "audios": addresses(t.Audios), "videos": addresses(t.Videos),
	}
	if t.Role != "" {
		n["role"] = t.Role
	}
	if t.MaxTokens > 0 {
		n["max_tokens"] = int(t.MaxTokens)
	}
	for one, many := range map[string]string{
		"text": "texts", "image": "images", "audio": "audios", "video": "videos", "query": "queries",
		"passage": "passages",
	} {
		l, _ := n[many].([]string)
		if n[one] = ""; len(l) > 0 {
			n[one] = l[0]
		}
		if l == nil {
			n[many] = []string{}
		}
	}
	named := map[string]any{}
	if t.Query != "" {
		named["query"] = n["queries"]
	} else {
		n["query"] = nil
	}
	if len(t.Passages) > 0 {
		named["passages"] = n["passages"]
	} else {
		n["passage"] = nil
	}
	n["texts_by_name"] = named
	n["turns"] = turns(in)
	return n
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func addresses(media []dataset.Media) []string {
	var out []string
	for i := range media {
		out = append(out, media[i].Address())
	}
	return out
}

// turns is the conversation as role and content.
func turns(in *Input) []any {
	out := []any{}
	for _, m := range in.History {
		content := m.Content
		if m.Turn != nil {
			content = strings.Join(m.Turn.Texts, " ")
		}
		out = append(out, map[string]any{"role": m.Role, "content": content})
	}
	return append(out, map[string]any{"role": roleOf(in), "content": strings.Join(in.Turn.Texts, " ")})
}

// calls finds the functions in a compiled path, which tells its parts in no other
// way.
var calls = regexp.MustCompile(`ASTFunctionExpression \{\s*value: "([^"]*)"`)

// compilePath reads a JMESPath. A function that there is not is found here: the
// library looks for it only where an answer leads there.
func compilePath(at place, path string) (*jmespath.JMESPath, error) {
	wrong := func(why string) error { return at.wrong(fmt.Errorf("%q: %s", path, why)) }
	tree, err := jmespath.NewParser().Parse(path)
	if err != nil {
		return nil, wrong(oneLine(err.Error()))
	}
	for _, call := range calls.FindAllStringSubmatch(tree.PrettyPrint(0), -1) {
		if _, err := jmespath.Search(call[1]+"()", nil); err != nil &&
			strings.HasPrefix(err.Error(), "unknown function") {
			return nil, wrong("there is no function " + call[1])
		}
	}
	return jmespath.Compile(path)
}

var quotedWord = regexp.MustCompile(`"([^"]+)"`)

// pathError is what went wrong with a path, without the names that Go has for
// kinds of values.
func pathError(err error) string {
	text := oneLine(err.Error())
	_, expected, ok := strings.Cut(text, "expected: []jmespath.jpType")
	if !ok {
		return text
	}
	var kinds []string
	for _, m := range quotedWord.FindAllStringSubmatch(expected, -1) {
		kinds = append(kinds, m[1])
	}
	return "a function in it takes " + strings.Join(kinds, " or ") + ", and gets something else"
}

// readField reads the answer at a JMESPath (jmespath.org). A miss is an error.
func readField(at place, path string) (func([]byte, bool) (Chunk, error), error) {
	query, err := compilePath(at, path)
	if err != nil {
		return nil, err
	}
	return func(data []byte, stream bool) (Chunk, error) {
		c := claimed(data, stream)
		if c.Kind == record.Done || c.ErrKind != "" {
			return c, nil
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			return Chunk{}, unreadable("malformed JSON", data)
		}
		found, err := query.Search(v)
		if err != nil {
			return Chunk{}, missed(at.name+" "+path+": "+pathError(err), data)
		}
		out := Chunk{Usage: c.Usage, Timings: c.Timings, Finish: c.Finish}
		text, items, ok := textOf(found)
		switch {
		case ok:
			if out.Items = items; items > 0 {
				out.Thing = record.Vectors // lists of numbers
			}
			out.finish(text, "", "")
			if items > 0 && text == "" {
				out.Kind, out.Empty = record.Content, false
			}
		case stream:
			out.finish("", "", "") // an event without it: a role, a finish mark
		default:
			return Chunk{}, missed(at.name+" "+path+" is not there", data)
		}
		return out, nil
	}, nil
}

// textOf is a value that a path leads to as text: strings are joined, numbers
// are a vector.
func textOf(v any) (text string, items int64, ok bool) {
	switch v := v.(type) {
	case string:
		return v, 0, true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), 0, true
	case bool:
		return strconv.FormatBool(v), 0, true
	case []any:
		if len(v) == 0 {
			return "", 0, false
		}
		if _, number := v[0].(float64); number {
			return "", 1, true
		}
		var all strings.Builder
		for _, e := range v {
			t, n, _ := textOf(e)
			all.WriteString(t)
			items += n
		}
		return all.String(), items, true
	case map[string]any:
		b, err := json.Marshal(v)
		return string(b), 0, err == nil
	}
	return "", 0, false
}
