package capture

import (
	"bytes"
	"encoding/json"
	"slices"

	"aiperf.dev/aiperf/internal/secret"
)

// keep gives a row the request itself: messages and what goes with them where a replay can
// send these to any server, else the whole body.
func (r *recorder) keep(out *row, e *exchange, body map[string]json.RawMessage) {
	for name, v := range body {
		body[name] = masked(v, e.credentials)
	}
	var prompt string
	switch {
	case e.spec.Type == chatAPI && len(body["messages"]) > 0:
		out.Messages, out.Tools = body["messages"], body["tools"]
		if string(out.Tools) == "null" {
			out.Tools = nil
		}
	case e.spec.Type == completionsAPI && json.Unmarshal(body["prompt"], &prompt) == nil && prompt != "":
		out.Text = prompt
	default:
		out.Payload, _ = json.Marshal(body) // of JSON
		return
	}
	extra := map[string]json.RawMessage{}
	for name, v := range body {
		if !slices.Contains(apart, name) && !secret.Name(name) && string(v) != "null" {
			extra[name] = v
		}
	}
	if len(extra) > 0 {
		out.Extra, _ = json.Marshal(extra) // of JSON
	}
}

// The APIs whose requests a trace has words for.
const (
	chatAPI        = "chat"
	completionsAPI = "completions"
)

// apart are the members of a body that a replay says itself.
var apart = []string{
	"messages", "prompt", "tools", "model", "stream", "stream_options", "max_tokens", "max_completion_tokens",
}

// masked is JSON without the credentials that the request had in its header lines, and
// without what looks like one.
func masked(raw json.RawMessage, credentials []string) json.RawMessage {
	var own []string
	for _, w := range credentials {
		if bytes.Contains(raw, []byte(w)) {
			own = append(own, w)
		}
	}
	if len(own) > 0 {
		return secret.NewMasker(own...).JSON(raw)
	}
	return (*secret.Masker)(nil).JSON(raw)
}

// media reports whether a body carries more than texts.
func media(body []byte) bool {
	for _, mark := range []string{`"image_url"`, `"input_image"`, `"input_audio"`, `"video_url"`, `"audio_url"`} {
		if bytes.Contains(body, []byte(mark)) {
			return true
		}
	}
	return false
}
