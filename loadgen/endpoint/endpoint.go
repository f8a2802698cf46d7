// Package endpoint knows one inference API each: how a turn becomes a request
// body, and what a response says. It does no I/O and keeps no state.
//
// In goes an Input, out comes a body; in goes one event of a response, out
// comes a Chunk. Each API is one file with its row of the catalogue; body.go
// and json.go are the tools they write with, package scan and reply.go the ones
// they read with.
package endpoint

import (
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
	"aiperf.dev/aiperf/loadgen/endpoint/replay"
	"aiperf.dev/aiperf/schema"
)

// Message is one entry of a conversation's history: an answer, or an earlier
// turn with all that was sent of it.
type Message struct {
	Role, Content string
	Turn          *dataset.Turn // what was sent; nil for an answer
	// Elements are what an answer is in the list of messages, with commas
	// between, where Content does not say all of it; nil: it does.
	Elements []byte
	Stored   string // an answer's name at the server that keeps it; "" where nobody knows one
}

// Input is all that a request body depends on.
type Input struct {
	Model   string
	System  string
	History []Message // earlier turns, both sides
	Turn    *dataset.Turn
	Stream  bool
	Legacy  bool           // max_tokens instead of max_completion_tokens
	Usage   bool           // ask the server to report usage while streaming
	Each    bool           // ask for it with every event
	Apart   bool           // the system prompt stands beside the messages
	Shown   bool           // to look at: a form becomes the object that AIPerf's inputs.json has for it
	Counts  bool           // the server's own counts of tokens are what is reported
	Extra   schema.Members // the endpoint's extra inputs, merged last
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
	Text  string // content or reasoning or tool text; it may lie in the data that was read, and lasts as long
	// Reasoning is set when the event carries reasoning beside Text: the whole
	// answer of a model that thinks, sent at once. Then Kind is that of Text. It
	// lasts as long as Text.
	Reasoning string
	Finish    string // finish_reason if said
	Model     string // the model that answers, if said; it lasts as long as Text
	Last      bool   // nothing after it counts; it may carry content itself
	Usage     claims.Usage
	// Marked says that it is of an API whose streams end with a mark or a finish
	// reason, where the endpoint type alone does not say so.
	Marked bool
	Choice int64 // which of several answers to the request it is of, from 0
	// Final says that Text repeats what earlier events of the same Part carried
	// in pieces: it counts only if there were none.
	Final   bool
	Part    int64  // which part of the answer Text belongs to, where the API says so
	Items   int64  // vectors, scores, images, … in this event; 0 for APIs of text
	Thing   string // what they are: record.Vectors, …; "" where the API says so, or nobody
	Dims    int64  // numbers in each vector; 0 without vectors
	Places  int64  // one more than the highest place that a score is for; 0 without
	Tokens  int64  // tokens in this event if the server says so; 0 otherwise
	ErrKind string // the server reported an error inside a 200: its type
	ErrText string
	Timings *claims.Timings // what the server says about its own work, nil for nothing
}

// Spec is one row of the catalogue: one inference API, with every fact that
// the rest of the program asks about it.
type Spec struct {
	Type  string // the endpoint type's name in the schema: chat
	Doc   string // one line for help and documentation
	Title string // what its results are called: LLM, Embeddings, Rankings
	// Path of the API below the server's address; StreamPath where streams have
	// another one. {model} stands for the model's name.
	Path, StreamPath string
	// RPCStreamPath is that of streams where only gRPC servers have them.
	RPCStreamPath string
	// GenAI are the names that GenAI-Perf has for it.
	GenAI []string

	OpenAI          bool // AIPerf's names of result directories carry "openai"
	CanStream       bool
	ProducesTokens  bool   // answers are text, so output tokens can be counted
	TakesText       bool   // requests are text, so input tokens can be counted
	TakesSystem     bool   // has a place for a system prompt, a user context and a history
	SystemApart     bool   // the system prompt stands beside the messages, not among them
	LegacyMaxTokens bool   // knows max_tokens and max_completion_tokens
	Ranks           bool   // takes a query and passages
	Items           string // what it answers with beside text: record.Vectors, …; "" for text and for what is not known
	// Given is how many items the answer to a turn must have, with the extra
	// inputs that go with it; 0 where nobody can know. nil: never.
	Given func(t *dataset.Turn, extra schema.Members) int
	Takes Media // what a request may carry beside text
	Needs Media // and without what it makes no sense
	// Settings are the fields of the endpoint that only some types take, and this one does.
	Settings []string
	// UsageAsked says that its streams report usage when asked to (stream_options).
	UsageAsked bool
	Ready      bool // it sends bodies that the dataset holds ready, and makes none
	RPC        bool // gRPC servers speak it

	// Bulk are members of its JSON answers that hold pictures or sounds: of their
	// texts size, digest and beginning are all that is kept.
	Bulk  []string
	Bytes bool // an answer may be sound, pictures or bytes, by its content type

	// TextAt and EndAt are the settings that say where in an answer its text lies,
	// and what the last message of a stream is known by, as "rpc.text out.text";
	// "" where the API itself says so.
	TextAt, EndAt string

	NoEnd bool // its streams have no end mark that is known: their end is that of the connection's answer

	ContentType string   // of the request; "" means application/json
	Headers     []string // header lines of the API's own, as Name: value
	KeyHeader   string   // header of the key; "" means Authorization: Bearer

	// Configure, if set, changes this copy of the row to what the settings ask
	// for, or says what is wrong with them.
	Configure func(s *Spec, e *schema.Endpoint) error
	// Check, if set, says what a turn lacks beside its media. It is asked before
	// anything is sent.
	Check func(t *dataset.Turn) error
	// Body appends the request body for in to dst. Call Request, which sees to
	// what all APIs have in common.
	Body func(dst []byte, in *Input) ([]byte, error)
	// Messages, if set, are what a server hands to the model's chat template for
	// in: the messages, the tools, and the variables that the request gives it.
	// APIs whose prompts get no template have none.
	Messages func(in *Input) (messages, tools []byte, more map[string]any)
	// Read parses one event. stream says whether it came in an event stream.
	// It never trusts the data: anything unexpected is an error.
	Read func(data []byte, stream bool) (Chunk, error)
	// HasContent is the cheap test done while the stream runs: does the event
	// probably carry content? Wrong answers delay a prefill slot, nothing else.
	HasContent func(data []byte) bool
	// MayEnd is the cheap test for the last event of a stream, for APIs that end with
	// another mark than [DONE]; see Ends. nil: there is none.
	MayEnd func(data []byte) bool
	// Replay, if set, makes Elements of an answer for the requests after it; nil
	// where its text is all of it.
	Replay func(replay.Events) []byte
	// Stored, if set, is the name under which the server keeps an answer and all
	// that led to it, so that the next request need not bring it again; "" for none.
	Stored func(replay.Events) string
	// Next, for requests of several steps, says what is asked after an answer;
	// a Step without a name means that it was the last.
	Next func(Reply) (Step, error)
	// Served is how the built-in server speaks the API.
	Served Served
	// Ask, if set, asks the program of the row's plug-in; several goroutines do.
	Ask func(question map[string]any, answer any) error

	extra schema.Members // extra inputs without the settings of Configure; nil means all
}

// Ends reports whether an event is the last of its stream, by the API's own mark:
// nothing that follows it belongs to the answer. It is asked while the stream runs,
// and allocates nothing for the events before the last.
func (s *Spec) Ends(data []byte) bool {
	if s.MayEnd == nil || !s.MayEnd(data) {
		return false
	}
	c, err := s.Read(data, true)
	return err == nil && (c.Last || c.Kind == record.Done) && c.ErrKind == ""
}

// catalogue has one row per inference API, in the order of help and docs.
var catalogue = []*Spec{
	&chat, &completions, &responses, &messages,
	&embeddings, &nimEmbeddings, &chatEmbeddings,
	&cohereRankings, &teiRankings, &nimRankings,
	&tgi, &llamaCpp, &ollama, &solidoRAG,
	&imageGeneration, &imageEdit, &imageRetrieval, &videoGeneration, &audioTranscription,
	&kserveChat, &kserveCompletions, &kserveEmbeddings, &kserveV1, &kserveV2, &kserveV2Embeddings,
	&template, &rpc, &raw, &program,
}

// Catalogue lists the inference APIs, the default one first.
func Catalogue() []*Spec { return append([]*Spec(nil), catalogue...) }

// Usual is the inference API that is meant where none is named: the first of the
// catalogue or, for a turn of a query and passages, the first that ranks them.
func Usual(t *dataset.Turn) *Spec {
	if t != nil && t.Query != "" && len(t.Passages) > 0 {
		for _, s := range catalogue {
			if s.Ranks {
				return s
			}
		}
	}
	return catalogue[0]
}

// Lookup finds an inference API by the name its schema gives it.
func Lookup(typ string) (*Spec, bool) {
	for _, s := range catalogue {
		if s.Type == typ {
			return s, true
		}
	}
	return nil, false
}

// GenAI is our name of what GenAI-Perf calls an endpoint type.
func GenAI(name string) (typ string, ok bool) {
	for _, s := range catalogue {
		if slices.Contains(s.GenAI, name) {
			return s.Type, true
		}
	}
	return "", false
}

// Reply is what the answer to one step of a request was.
type Reply struct {
	Step      string // its name; "" for the first
	Submitted string // path of the first, without its query
	Body      []byte
}

// Step is what is sent next in a request of several steps: a GET.
type Step struct {
	Name   string
	Path   string        // below the server's address
	URL    string        // elsewhere, where no key and no header of ours goes
	After  time.Duration // to wait before
	Binary bool          // the answer is no text: its size counts
	Status string        // how the work stands, in the server's word
	// Working says that the server has begun: the wait in its queue is over.
	Working bool
}

// Media is a set of kinds of media.
type Media uint8

// The kinds.
const (
	Images Media = 1 << iota
	Audios
	Videos
)

func (m Media) String() string {
	var names []string
	for _, k := range []struct {
		kind Media
		name string
	}{{Images, "images"}, {Audios, "sounds"}, {Videos, "videos"}} {
		if m&k.kind != 0 {
			names = append(names, k.name)
		}
	}
	return strings.Join(names, ", ")
}
