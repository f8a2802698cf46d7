package endpoint

import (
	"bytes"
	"encoding/json"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/plugin"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/endpoint/scan"
	"aiperf.dev/aiperf/schema"
)

// program is an API that a plug-in speaks: it makes the bodies, and reads the answers
// unless its manifest says where in them the text lies.
var program = Spec{
	Type: "plugin", Title: "LLM",
	Doc:       "any JSON API: a program makes the bodies and reads the answers",
	CanStream: true, ProducesTokens: true, TakesText: true, TakesSystem: true, NoEnd: true,
	Takes: Images | Audios | Videos, Settings: []string{"plugin"}, Configure: configureProgram,
	Body: func(dst []byte, _ *Input) ([]byte, error) { return dst, errNoProgram },
	Read: readAny, HasContent: notEmpty(readAny), MayEnd: mayEndAny,
}

var errNoProgram = diag.Errorf("plugin: no program runs").Try("endpoint.plugin names its folder")

// configureProgram takes the path and the reading of answers from the manifest.
func configureProgram(s *Spec, e *schema.Endpoint) error {
	if e.Plugin == "" {
		return diag.Errorf("plugin: it needs endpoint.plugin").Try("--endpoint-plugin names the folder of the plug-in")
	}
	m, err := plugin.OpenAs(plugin.Endpoint.Name, e.Plugin)
	if err != nil {
		return &diag.Error{Path: "endpoint.plugin", Message: err.Error(), Hint: diag.Of(err).Hint, Cause: err}
	}
	if e.Streaming && !m.Streams {
		return &diag.Error{
			Path: "endpoint.streaming", Message: "plug-in " + m.Name + " reads no streams",
			Hint: "leave it out, or write streams: true into " + m.File + " if it does",
		}
	}
	s.Path, s.CanStream = m.Path, m.Streams
	s.Body = s.askForBody
	if m.ResponseField != "" {
		s.Read, err = readField(place{"response_field", "endpoint.plugin"}, m.ResponseField)
		s.HasContent, s.TextAt = notEmpty(s.Read), "response_field "+m.ResponseField
		return err
	}
	s.Read, s.MayEnd = s.askForText, nil
	s.HasContent = notDone // nobody is asked while a stream runs
	return nil
}

// notDone takes every event for content but the usual end mark.
func notDone(data []byte) bool { return len(data) > 0 && !bytes.Equal(bytes.TrimSpace(data), doneMark) }

// askForBody lets the plug-in make a body. It gets what templates get.
func (s *Spec) askForBody(dst []byte, in *Input) ([]byte, error) {
	if s.Ask == nil {
		return dst, errNoProgram
	}
	var made struct {
		Body json.RawMessage `json:"body"`
	}
	if err := s.Ask(map[string]any{"request": templateNames(in)}, &made); err != nil {
		return dst, err
	}
	if len(made.Body) == 0 {
		return dst, diag.Errorf("plugin: the program made no body").Try(`it answers {"id": 1, "body": {…}}`)
	}
	return withExtra(dst, made.Body, in)
}

// read is what a plug-in found in an answer, or in one event of a stream.
type read struct {
	Text      string          `json:"text"`
	Reasoning string          `json:"reasoning"`
	Finish    string          `json:"finish"`
	Last      bool            `json:"last"`
	Usage     json.RawMessage `json:"usage"`
	Failed    string          `json:"failed"` // the server reported an error
}

// askForText lets the plug-in read. The usual end mark of a stream needs no reading.
func (s *Spec) askForText(data []byte, stream bool) (Chunk, error) {
	if stream && !notDone(data) {
		return doneChunk(), nil
	}
	if s.Ask == nil {
		return Chunk{}, errNoProgram
	}
	var r read
	err := s.Ask(map[string]any{"event": map[string]any{"data": string(data), "stream": stream}}, &r)
	if err != nil {
		return Chunk{}, err
	}
	c := Chunk{Usage: claims.NoUsage, Finish: r.Finish, Last: r.Last}
	if r.Failed != "" {
		c.ErrKind, c.ErrText, c.Empty = "server", strings.ToValidUTF8(r.Failed[:min(len(r.Failed), maxErrText)], ""), true
		return c, nil
	}
	if len(r.Usage) > 0 {
		if err := usageOf(&scan.Scanner{Data: r.Usage}, &c); err != nil {
			return Chunk{}, unreadable("plugin: usage", r.Usage)
		}
	}
	c.finish(r.Text, "", r.Reasoning)
	if c.Empty && !stream {
		return Chunk{}, unreadable("plugin: the program found no text", data)
	}
	return c, nil
}
