// Package endpoint knows one inference API each: how a turn becomes a request
// body, and what a response says. It does no I/O and keeps no state.
//
// In goes an Input, out comes a body; in goes one event of a response, out
// comes a Chunk. Each API is one file with its row of the catalogue; body.go
// and json.go are the tools they write with, scan.go and reply.go the ones
// they read with.
package endpoint

import (
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
)

// Message is one entry of a conversation's history.
type Message struct{ Role, Content string }

// Input is all that a request body depends on.
type Input struct {
	Model   string
	System  string
	History []Message // earlier turns, both sides
	Turn    *dataset.Turn
	Stream  bool
	Legacy  bool           // max_tokens instead of max_completion_tokens
	Usage   bool           // ask the server to report usage while streaming
	Extra   map[string]any // the endpoint's extra inputs, merged last
}

// Event is one message of an event stream, or the whole body of a plain
// answer. Data is borrowed and valid only during the call.
type Event struct {
	Data []byte // after "data: ", or the body
}

// Chunk is what one event turned out to be.
type Chunk struct {
	Kind  record.Kind
	Empty bool   // carries no content: role only, keep-alive, finish mark
	Text  string // content or reasoning or tool text
	// Reasoning is set when the event carries reasoning beside Text: the whole
	// answer of a model that thinks, sent at once. Then Kind is that of Text.
	Reasoning string
	Finish    string // finish_reason if said
	Usage     Usage
	Tokens    int64  // tokens in this event if the server says so; 0 otherwise
	ErrKind   string // the server reported an error inside a 200: its type
	ErrText   string
}

// Usage is what the server claims; record.None where it does not say.
type Usage struct{ Prompt, Completion, Reasoning, Total, Cached int64 }

// NoUsage is the usage of a server that claims nothing.
var NoUsage = Usage{record.None, record.None, record.None, record.None, record.None}

// Said tells whether the server claimed anything.
func (u Usage) Said() bool { return u != NoUsage }

// Spec is one row of the catalogue: one inference API.
type Spec struct {
	Type           string // the endpoint type's name in the schema: chat
	Path           string // /v1/chat/completions
	Title          string // LLM Metrics, Embeddings Metrics
	CanStream      bool
	ProducesTokens bool
	TakesText      bool
	// Body appends the request body for in to dst.
	Body func(dst []byte, in *Input) ([]byte, error)
	// Read parses one event. stream says whether it came in an event stream.
	// It never trusts the data: anything unexpected is an error.
	Read func(data []byte, stream bool) (Chunk, error)
	// HasContent is the cheap test done while the stream runs: does the event
	// probably carry content? Wrong answers delay a prefill slot, nothing else.
	HasContent func(data []byte) bool
}
