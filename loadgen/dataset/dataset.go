// Package dataset makes conversations: synthetic ones from shapes, or real
// ones from files and inline records. In goes a schema.Dataset, out comes a
// Set of conversations in a fixed order, and a Sampler that says which of them
// is played next. The same seed gives the same texts.
//
// Steps: Open picks the source by the dataset's type and format; a source
// yields all conversations at once; their texts are counted with the
// experiment's tokenizer, so that nothing is left to do while load runs.
package dataset

import (
	"encoding/json"
	"time"
)

// Conversation is one or more turns that share a history.
type Conversation struct {
	ID     string // session_000000
	System string // system prompt; "" for none
	Turns  []Turn
}

// Turn is one request of a conversation.
type Turn struct {
	Texts     []string        // one text; several when prompts are batched (embeddings)
	Role      string          // "" means user
	Model     string          // "" means one of the experiment's models
	MaxTokens int64           // output tokens asked for; 0 means not said
	ISL       int64           // tokens of Texts joined with one space; 0 means not counted yet
	Context   string          // a user message that opens the conversation, ahead of its history; the same in every turn
	Delay     time.Duration   // think time after the previous answer
	Timestamp *time.Duration  // when a trace sent it, since the trace's zero
	Extra     map[string]any  // merged into the body
	Raw       json.RawMessage // a whole body, sent as it is
}
