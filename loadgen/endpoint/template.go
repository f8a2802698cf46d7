package endpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
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
	Takes: Images | Audios | Videos, Configure: configureTemplate,
	Body: templateBody("template.body", nil), Read: readAny, HasContent: notEmpty(readAny),
	Served: Served{
		Texts: []string{"text", "texts", "input", "inputs", "prompt", "messages", "query"}, Asked: []string{"max_tokens"},
		Token: servedTextToken, End: servedTextEnd, Whole: servedText,
	},
}

// raw sends what the dataset holds, and finds the answer itself.
var raw = Spec{
	Type: "raw", Title: "LLM",
	Doc:       "bodies that the dataset holds ready, to any API",
	CanStream: true, ProducesTokens: true, TakesText: true, TakesSystem: true, NoEnd: true, Ready: true, Bytes: true,
	Body: func(dst []byte, _ *Input) ([]byte, error) { return dst, errNotReady },
	Read: readAny, HasContent: notEmpty(readAny),
	Served: Served{
		Texts: []string{"text", "texts", "input", "inputs", "prompt", "messages", "query"}, Asked: []string{"max_tokens"},
		Token: servedTextToken, End: servedTextEnd, Whole: servedText,
	},
}

var errNotReady = diag.Errorf("raw: the dataset holds no bodies").Try("dataset.format raw_payload or inputs_json has them")

// named are the templates that AIPerf knows by name.
var named = map[string]string{"nv-embedqa": `{"text": {{ texts|tojson }}}`}

func configureTemplate(s *Spec, e *schema.Endpoint) error {
	text, err := s.textSetting(e, "payload_template", "")
	if err != nil {
		return err
	}
	field, err := s.textSetting(e, "response_field", "")
	if err != nil {
		return err
	}
	if e.Template != nil {
		text, field = e.Template.Body, e.Template.ResponseField
	}
	if text == "" {
		return diag.Errorf("template: it needs template.body").Try("--extra-inputs payload_template:FILE names a file with it")
	}
	if s.Body, err = openTemplate("template.body", text); err != nil || field == "" {
		return err
	}
	if s.Read, err = readField("response_field", field); err == nil {
		s.HasContent, s.TextAt = notEmpty(s.Read), "response_field "+field
	}
	return err
}

// openTemplate makes bodies of a template: one known by name, a file, or the
// text itself. place is the setting that it stands in.
func openTemplate(place, text string) (func([]byte, *Input) ([]byte, error), error) {
	if known, ok := named[text]; ok {
		text = known
	} else if !strings.ContainsAny(text, "{\n") {
		b, err := os.ReadFile(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		text = string(b)
	}
	t, err := jinja.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", place, oneLine(err.Error()))
	}
	body := templateBody(place, t)
	return body, probe(body)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// probe renders a template once, so that one that yields no JSON, or does not
// end, is said before anything is sent.
func probe(body func([]byte, *Input) ([]byte, error)) error {
	_, err := body(nil, &Input{Model: "model", Turn: &dataset.Turn{
		Texts: []string{"text"}, MaxTokens: 1, Query: "query", Passages: []string{"passage"},
		Images: []dataset.Media{{URL: "http://image"}}, Audios: []dataset.Media{{URL: "http://audio"}}, Videos: []dataset.Media{{URL: "http://video"}},
	}})
	return err
}

// templateBody renders a template with AIPerf's names.
func templateBody(place string, t *jinja.Template) func([]byte, *Input) ([]byte, error) {
	return func(dst []byte, in *Input) ([]byte, error) {
		if t == nil {
			return dst, errors.New(place + ": not configured")
		}
		text, err := t.Run(templateNames(in))
		if err != nil {
			return dst, diag.Errorf("%s: %s", place, oneLine(err.Error())).Try(diag.Of(err).Hint)
		}
		text = strings.TrimSpace(text)
		if !json.Valid([]byte(text)) {
			return dst, diag.Errorf("%s: it does not make JSON but %q", place, short(text)).Try("write {{ text|tojson }} for a string")
		}
		extra := mergedExtra(in)
		if len(extra) == 0 {
			b := bytes.NewBuffer(dst)
			err := json.Compact(b, []byte(text))
			return b.Bytes(), err
		}
		return mergeInto(place, dst, text, extra)
	}
}

// mergeInto adds members to an object.
func mergeInto(place string, dst []byte, object string, extra map[string]any) ([]byte, error) {
	var all map[string]any
	dec := json.NewDecoder(strings.NewReader(object))
	dec.UseNumber() // digit for digit
	if err := dec.Decode(&all); err != nil {
		return dst, errors.New(place + ": extra inputs need a body that is an object")
	}
	for k, v := range extra {
		all[k] = v
	}
	return appendValue(dst, all)
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
		"text": "texts", "image": "images", "audio": "audios", "video": "videos", "query": "queries", "passage": "passages",
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

// readField reads the answer at a JMESPath (jmespath.org). A miss is an error.
func readField(place, path string) (func([]byte, bool) (Chunk, error), error) {
	query, err := jmespath.Compile(path)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %s", place, path, oneLine(err.Error()))
	}
	return func(data []byte, stream bool) (Chunk, error) {
		c := claims(data, stream)
		if c.Kind == record.Done || c.ErrKind != "" {
			return c, nil
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			return Chunk{}, unreadable("malformed JSON", data)
		}
		found, err := query.Search(v)
		if err != nil {
			return Chunk{}, unreadable(place+" "+path+": "+oneLine(err.Error()), data)
		}
		out := Chunk{Usage: c.Usage, Timings: c.Timings, Finish: c.Finish}
		text, items, ok := textOf(found)
		switch {
		case ok:
			out.Items = items
			out.finish(text, "", "")
			if items > 0 && text == "" {
				out.Kind, out.Empty = record.Content, false
			}
		case stream:
			out.finish("", "", "") // an event without it: a role, a finish mark
		default:
			return Chunk{}, unreadable(place+" "+path+" is not there", data)
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
