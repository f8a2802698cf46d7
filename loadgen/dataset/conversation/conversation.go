// Package conversation is what is played: a Conversation of Turns with their texts and media, and
// the conversations that it starts. It is plain data; a format reads it from a file, the synthetic
// source writes it, and the engine sends it.
package conversation

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/media"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// Conversation is one or more turns that share a history.
type Conversation struct {
	ID     string // session_000000
	System string // system prompt; "" for none
	Turns  []Turn
	// Before are conversations that begin together with this one, Think how its
	// silent turns draw their delays; nil: they are as they say.
	Before []Start `json:",omitempty"`
	Think  *Think  `json:",omitempty"`

	// Known is what is known of the answer; nil: nothing is.
	Known *Known `json:",omitempty"`

	// All is how many requests a play sends with all that it starts; 0: its turns.
	All int64 `json:"-"`
	// Skipped is how many turns come before the first one here; −1 where that one
	// is none of the conversation's own.
	Skipped int `json:"-"`
	// Opening is the number of tokens of the first turn's request with system
	// prompt and context, where the conversation exists for one play only; 0
	// leaves it to be counted once by who plays it.
	Opening int64 `json:"-"`
}

// CountOpening fills in Opening.
func (c *Conversation) CountOpening(tok tokenizer.Tokenizer) {
	t := &c.Turns[0]
	c.Opening = 0
	if tok == nil || t.Raw != nil || t.Messages != nil || c.System == "" && t.Context == "" {
		return
	}
	var parts []string
	for _, s := range []string{c.System, t.Context} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	c.Opening = int64(tok.Count(strings.Join(append(parts, t.Texts...), " ")))
}

// Turn is one request of a conversation.
type Turn struct {
	Texts     []string // one text; several when prompts are batched (embeddings)
	Query     string   // what a reranker ranks Passages by
	Passages  []string
	Images    []Media
	Audios    []Media
	Videos    []Media
	Role      string // "" means user
	Model     string // "" means one of the experiment's models
	MaxTokens int64  // output tokens asked for; 0 means not said
	ISL       int64  // tokens of all texts joined with one space; 0 means not counted yet
	// a user message that opens the conversation, ahead of its history; the same in every turn
	Context string
	Answer  string // the recorded answer: it enters the history in place of the server's; "" for none
	// the whole list of messages as recorded: it replaces history, system prompt, context and texts
	Messages  json.RawMessage
	Tools     json.RawMessage // tool definitions that go with this and later turns
	Delay     time.Duration   // think time after the previous answer
	Timestamp *time.Duration  // when a trace sent it, since the trace's zero
	Extra     schema.Members  // merged into the body
	Raw       json.RawMessage // a whole body, sent as it is
	// Complete says that the turn holds its whole history: nothing of earlier
	// turns or their answers is put before it.
	Complete bool
	// Starts are conversations that begin when the turn is answered.
	Starts []Start `json:",omitempty"`
	// Silent says that nothing is sent: the turn waits for others, or starts them.
	Silent bool `json:",omitempty"`
}

// Start is a conversation that another one starts. Both are played as one
// session tree.
type Start struct {
	ID           string
	Conversation *Conversation `json:"-"`          // the one called ID
	Inherits     bool          `json:",omitempty"` // it goes on from the history of the one that starts it
	// the turn of that one that waits until this one is over; 0: none does
	JoinAt int `json:",omitempty"`
}

// Known makes a conversation of one turn a question with a known answer.
type Known struct {
	Item   string // its name
	Task   string // the part of the benchmark that it is from
	Truth  string // the answer, in the form that its grader reads
	Grader string // a name in internal/grade
}

// Think says how delays are drawn: log-normal about the delay that a turn says,
// which is the median; Sigma is the deviation of the logarithm.
type Think struct {
	Sigma    float64
	Min, Max time.Duration
}

// Requests is how many requests a play of c sends with all that it starts.
func (c *Conversation) Requests() int64 {
	if c.All > 0 {
		return c.All
	}
	return int64(len(c.Turns))
}

// RequestsFrom is how many of these are those of turn t and later ones, and of
// what these start.
func (c *Conversation) RequestsFrom(t int) (n int64) {
	for ; t < len(c.Turns); t++ {
		if !c.Turns[t].Silent {
			n++
		}
		n += c.RequestsOf(t)
	}
	return n
}

// RequestsOf is how many requests what turn t starts sends.
func (c *Conversation) RequestsOf(t int) int64 { return requestsOf(c.Turns[t].Starts) }

func requestsOf(list []Start) (n int64) {
	for i := range list {
		n += list[i].Conversation.Requests()
	}
	return n
}

// Sum fills in All; that of what c starts must be known.
func (c *Conversation) Sum() { c.All = max(1, c.RequestsFrom(0)+requestsOf(c.Before)) }

// EachStart hands over what c starts.
func (c *Conversation) EachStart(f func(*Start)) {
	for i := range c.Before {
		f(&c.Before[i])
	}
	for k := range c.Turns {
		for i := range c.Turns[k].Starts {
			f(&c.Turns[k].Starts[i])
		}
	}
}

// Drawn is c with the delays of its silent turns drawn; normal gives standard
// normal numbers, in the order of the turns.
func (c *Conversation) Drawn(normal func() float64) *Conversation {
	if c.Think == nil {
		return c
	}
	out := *c
	out.Turns = slices.Clone(c.Turns)
	for k := range out.Turns {
		if t := &out.Turns[k]; t.Silent && t.Delay > 0 {
			t.Delay = min(max(files.Scale(t.Delay, math.Exp(c.Think.Sigma*normal())), c.Think.Min), c.Think.Max)
		}
	}
	return &out
}

// Media is one image, sound or video: bytes, or an address that the server is
// to read itself.
type Media struct {
	URL    string // http(s) address; "" when Base64 is set
	Base64 string // the bytes, encoded once so that no request has to
	Format string // png, jpeg, wav, mp4, …
	UUID   string // name under which a server may cache an image; "" for none
	// Length of a sound or video, 0 when it is not known.
	Length time.Duration
}

// OfItems are the parts of a turn that items are.
func OfItems(items []media.Item) []Media {
	var out []Media
	for _, it := range items {
		out = append(out, OfItem(it))
	}
	return out
}

// OfItem is the part of a turn that an item is.
func OfItem(it media.Item) Media {
	return Media{URL: it.URL, Base64: it.Base64, Format: it.Format, Length: it.Length}
}

// kinds are the media types that browsers and APIs know by other names than
// kind/format.
var kinds = map[string]string{
	"png": "image/png", "jpeg": "image/jpeg", "jpg": "image/jpeg", "webp": "image/webp", "gif": "image/gif",
	"bmp": "image/bmp",
	"wav": "audio/wav", "mp3": "audio/mpeg", "flac": "audio/flac", "ogg": "audio/ogg", "m4a": "audio/mp4",
	"mp4": "video/mp4", "webm": "video/webm", "mov": "video/quicktime", "avi": "video/x-msvideo",
	"mkv": "video/x-matroska",
}

// Words are all texts of a turn, in the order in which they are counted.
func (t *Turn) Words() []string {
	if t.Query == "" && len(t.Passages) == 0 {
		return t.Texts
	}
	return slices.Concat([]string{t.Query}, t.Passages, t.Texts)
}

// mediaParts are what messages that are written out call their media.
var mediaParts = [][]byte{[]byte(`"image_url"`), []byte(`"input_audio"`), []byte(`"video_url"`)}

// HasMedia reports whether a turn has an image, a sound or a video.
func (c *Conversation) HasMedia() bool {
	return slices.ContainsFunc(c.Turns, func(t Turn) bool {
		return len(t.Images)+len(t.Audios)+len(t.Videos) > 0 ||
			slices.ContainsFunc(mediaParts, func(part []byte) bool { return bytes.Contains(t.Messages, part) })
	})
}

// MediaSize is the number of bytes its media take.
func (t *Turn) MediaSize() (n int) {
	for _, list := range [][]Media{t.Images, t.Audios, t.Videos} {
		for i := range list {
			n += len(list[i].Base64)
		}
	}
	return n
}

// Address is what stands in a request for a URL: the address itself or the
// bytes as a data: address.
func (m *Media) Address() string {
	if m.URL != "" {
		return m.URL
	}
	kind := kinds[m.Format]
	if kind == "" {
		kind = "application/octet-stream"
	}
	return "data:" + kind + ";base64," + m.Base64
}

// SessionID is the name of conversation i where nothing else names it.
func SessionID(i int) string {
	if i >= 1_000_000 {
		return "session_" + strconv.Itoa(i)
	}
	return "session_" + strconv.Itoa(1_000_000 + i)[1:]
}

// SessionNumber is the i of a SessionID.
func SessionNumber(id string) (i int, ok bool) {
	digits, ok := strings.CutPrefix(id, "session_")
	i, err := strconv.Atoi(digits)
	return i, ok && err == nil && i >= 0 && SessionID(i) == id
}

// JoinSystem puts two system prompts into one message.
func JoinSystem(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// CountTexts is the ISL of a turn: its texts joined with one space, encoded
// once. A set without a tokenizer is not counted.
func CountTexts(tok tokenizer.Tokenizer, texts []string) int64 {
	if tok == nil || len(texts) == 0 {
		return 0
	}
	if len(texts) == 1 {
		return int64(tok.Count(texts[0]))
	}
	return int64(tok.Count(strings.Join(texts, " ")))
}
