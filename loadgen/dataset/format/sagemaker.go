package format

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// sagemaker is a request that Amazon SageMaker's data capture recorded: its
// messages are sent again at the recorded times, counted from the first.
var sagemaker = Format{
	Name: "sagemaker_data_capture", Doc: "a captured request and answer of a SageMaker endpoint", Trace: true,
	Complete: true,
	Sampling: "sequential", Settings: []string{"synthesis", "replay_speedup"},
	fits:    hasAll("captureData", "eventMetadata"),
	decoder: func(d *draft) decoder { return &captures{d} },
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

// captures are single requests in the order of time.
type captures struct{ *draft }

func (r *captures) read(rec files.Record) error {
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
		return fmt.Errorf("eventMetadata.inferenceTime: %q is not a time such as 2026-04-29T00:03:18Z",
			event.InferenceTime)
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
	t := conversation.Turn{
		Messages: ask.Messages, Tools: ask.Tools,
		MaxTokens: max(ask.MaxTokens, ask.MaxCompletionTokens), Timestamp: &since, Complete: true,
	}
	if s := r.cfg.Synthesis; s != nil && s.MaxOSL > 0 {
		t.MaxTokens = min(t.MaxTokens, s.MaxOSL)
	}
	return r.add(r.begin("", ""), t)
}

func isList(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '[' }

// finish sorts single requests by their time stamps and counts these from
// the first.
func (r *captures) finish() error {
	at := func(c *conversation.Conversation) time.Duration { return *c.Turns[0].Timestamp }
	slices.SortStableFunc(r.conversations,
		func(a, b conversation.Conversation) int { return cmp.Compare(at(&a), at(&b)) })
	zero, speed := at(&r.conversations[0]), r.speedup()
	for i := range r.conversations {
		c := &r.conversations[i]
		c.ID = conversation.SessionID(i)
		since := files.Scale(at(c)-zero, 1/speed)
		c.Turns[0].Timestamp = &since
	}
	return nil
}
