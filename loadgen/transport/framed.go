package transport

import (
	"encoding/json"

	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// framed is an answer in AWS's event stream. SageMaker cuts what the model's
// container sends into PayloadParts wherever it likes: they are put together
// and read as the event stream, or the lines of JSON, that they are. Bedrock's
// messages are events themselves, a chunk's bytes in base64.
type framed struct {
	wire    wire.Frames
	r       *reception
	decided bool // whether the parts are lines
	isLines bool
}

func newFramed(r *reception) *framed {
	f := &framed{r: r}
	f.wire = wire.Frames{Message: f.message, Limit: int(r.maxBody)}
	return f
}

func (f *framed) message(messageType, eventType string, payload []byte) error {
	switch {
	case messageType != "event": // an exception ends the stream
		return f.r.sseEvent(failureOf(eventType, payload), true)
	case eventType == "PayloadPart":
		return f.part(payload)
	}
	var chunk struct{ Bytes []byte }
	if json.Unmarshal(payload, &chunk) == nil && len(chunk.Bytes) > 0 {
		payload = chunk.Bytes
	}
	return f.r.sseEvent(payload, false)
}

// part takes a piece of what the container sent.
func (f *framed) part(b []byte) error {
	if !f.decided {
		for _, c := range b {
			if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
				f.decided, f.isLines = true, c == '{' || c == '['
				break
			}
		}
	}
	if f.isLines {
		return f.r.lines.Feed(b)
	}
	return f.r.sse.Feed(b)
}

// failureOf is an exception as servers of other APIs spell an error.
func failureOf(kind string, payload []byte) []byte {
	text := string(payload)
	var said struct {
		Message         string
		OriginalMessage string
	}
	if json.Unmarshal(payload, &said) == nil && said.Message+said.OriginalMessage != "" {
		if text = said.Message; text == "" {
			text = said.OriginalMessage
		}
	}
	// texts can always be written
	b, _ := json.Marshal(map[string]any{"error": map[string]string{"type": kind, "message": text}})
	return b
}
