package dataset

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// rawPayload is a request body per line, sent byte for byte. In a folder each
// file is one conversation whose lines are its turns.
var rawPayload = Format{
	Name: "raw_payload", Doc: "a whole request body; in a folder each file is a conversation", Complete: true, Verbatim: true, Streams: true,
	Sampling: "sequential", fits: fitsRawPayload, read: readRawPayload,
}

func fitsRawPayload(r *files.Record) (bool, string) {
	var list []json.RawMessage
	switch {
	case r.Fields.Has("conversation_id"):
		return false, "it has conversation_id"
	case json.Unmarshal(r.Fields.Value("messages"), &list) != nil || len(list) == 0:
		return false, "it has no list messages"
	}
	return true, "it has messages and nothing of a trace"
}

func readRawPayload(r *reader, rec files.Record) error {
	body := rec.Fields.Whole()
	if rec.File == "" {
		return r.add(r.begin("", ""), Turn{Raw: body, Complete: true})
	}
	i, known := r.byID[rec.File]
	if !known {
		i = r.begin(strings.TrimSuffix(path.Base(rec.File), path.Ext(rec.File)), "")
		r.byID[rec.File] = i
	}
	return r.add(i, Turn{Raw: body, Complete: true})
}

// inputsJSON is the inputs.json of an earlier run: the bodies of a session in
// their order.
var inputsJSON = Format{
	Name: "inputs_json", Doc: "a session of an earlier run's inputs.json with its request bodies", Complete: true, Verbatim: true,
	Sampling: "sequential", fits: hasAll("session_id", "payloads"), read: readInputsJSON,
}

func readInputsJSON(r *reader, rec files.Record) error {
	id, err := rec.Fields.Str("session_id")
	if err != nil {
		return err
	}
	list, err := rec.Fields.List("payloads")
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return errors.New("payloads: a session needs at least one body")
	}
	i := r.begin(id, "")
	for k, body := range list {
		if len(body) == 0 || body[0] != '{' {
			return fmt.Errorf("payloads[%d]: want a request body, an object", k)
		}
		if err := r.add(i, Turn{Raw: body, Complete: true}); err != nil {
			return err
		}
	}
	return nil
}

// sagemaker is a request that Amazon SageMaker's data capture recorded: its
// messages are sent again at the recorded times, counted from the first.
var sagemaker = Format{
	Name: "sagemaker_data_capture", Doc: "a captured request and answer of a SageMaker endpoint", Trace: true, Complete: true,
	Sampling: "sequential", Settings: []string{"synthesis", "replay_speedup"},
	fits: hasAll("captureData", "eventMetadata"), read: readSagemaker, finish: orderByTime,
}

// captured is one side of a captured exchange.
type captured struct{ Data, Encoding string }

func (c captured) body() (json.RawMessage, error) {
	switch c.Encoding {
	case "JSON":
		return json.RawMessage(c.Data), nil
	case "", "BASE64":
		b, err := base64.StdEncoding.DecodeString(c.Data)
		if err != nil {
			return nil, errors.New("data: cannot be decoded as base64")
		}
		return b, nil
	}
	return nil, fmt.Errorf("encoding %q: want JSON or BASE64", c.Encoding)
}

func readSagemaker(r *reader, rec files.Record) error {
	f := rec.Fields
	var capture struct{ EndpointInput, EndpointOutput captured }
	var event struct {
		EventID       string `json:"eventId"`
		InferenceTime string `json:"inferenceTime"`
	}
	if _, err := f.Decode("captureData", &capture, "the captured exchange"); err != nil {
		return err
	}
	if _, err := f.Decode("eventMetadata", &event, "the event"); err != nil {
		return err
	}
	f.Pass("eventVersion")
	at, err := time.Parse(time.RFC3339, event.InferenceTime)
	if err != nil {
		return fmt.Errorf("eventMetadata.inferenceTime: %q is not a time such as 2026-04-29T00:03:18Z", event.InferenceTime)
	}
	body, err := capture.EndpointInput.body()
	if err != nil {
		return fmt.Errorf("captureData.endpointInput: %w", err)
	}
	var ask struct {
		Messages            json.RawMessage
		Tools               json.RawMessage
		MaxTokens           int64 `json:"max_tokens"`
		MaxCompletionTokens int64 `json:"max_completion_tokens"`
	}
	if json.Unmarshal(body, &ask) != nil || !isList(ask.Messages) {
		return errors.New("captureData.endpointInput: no list of messages; only chat requests can be sent again")
	}
	since := time.Duration(at.UnixNano())
	t := Turn{Messages: ask.Messages, Tools: ask.Tools, MaxTokens: max(ask.MaxTokens, ask.MaxCompletionTokens), Timestamp: &since, Complete: true}
	if s := r.cfg.Synthesis; s != nil && s.MaxOSL > 0 {
		t.MaxTokens = min(t.MaxTokens, s.MaxOSL)
	}
	return r.add(r.begin("", ""), t)
}

func isList(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '[' }

// orderByTime sorts single requests by their time stamps and counts these from
// the first.
func orderByTime(r *reader) error {
	at := func(c *Conversation) time.Duration { return *c.Turns[0].Timestamp }
	slices.SortStableFunc(r.conversations, func(a, b Conversation) int {
		switch d := at(&a) - at(&b); {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
		return 0
	})
	zero, speed := at(&r.conversations[0]), r.speedup()
	for i := range r.conversations {
		c := &r.conversations[i]
		c.ID = sessionID(i)
		since := files.Scale(at(c)-zero, 1/speed)
		c.Turns[0].Timestamp = &since
	}
	return nil
}

// speedup is how much faster than recorded a trace is played.
func (r *reader) speedup() float64 {
	speed := 1.0
	if s := r.cfg.Synthesis; s != nil && s.SpeedupRatio > 0 {
		speed = s.SpeedupRatio
	}
	if r.cfg.ReplaySpeedup > 0 {
		speed *= r.cfg.ReplaySpeedup
	}
	return speed
}
