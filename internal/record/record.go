// Package record holds what one request leaves behind: who it was, when each
// thing happened, how much was sent and received, and how it ended. Spans
// (TTFT, latency, …) are computed from the stamps here and nowhere else.
//
// A Record is filled by the load engine and immutable once emitted. It holds
// no pointers but strings and one slice, so a million of them are cheap.
package record

import "math"

// None marks an integer that could not be measured. A float uses NaN. Both
// become null in every table and are absent in every document, never 0.
const None = math.MinInt64

// Status says how a request ended.
type Status string

// The ways a request can end; Partition says which of them is what. Everything but
// OK stays out of success statistics.
const (
	OK         Status = "ok"
	HTTPError  Status = "http_error"  // the server answered with a status above 299
	Timeout    Status = "timeout"     // no complete answer within the time allowed
	Cancelled  Status = "cancelled"   // ended by us on purpose
	Cut        Status = "cut"         // under way when its phase, or the run, was over: it lasted at least until End
	Unsent     Status = "unsent"      // due by the schedule and never sent: it has Intended and no other stamp
	Truncated  Status = "truncated"   // the stream ended before its end
	ParseError Status = "parse_error" // the answer was not what the endpoint type promises
	Connection Status = "connection"  // no connection, or it broke before an answer
	Client     Status = "client"      // our own fault: no descriptors, no ports, a bug
)

// Record is one request. Times are nanoseconds since the run's T0 on the
// monotonic clock (see Clock); None when the thing did not happen.
type Record struct {
	// dispatch ordinal of its worker, from 0, warmup first, as Share numbers it; below 0 for unsent ones
	RequestID      int64
	Worker         int64  // which of the run's workers sent it, from 0
	Phase          string // name of the phase that sent it
	Warmup         bool   // the phase is a warmup: outside the results
	SessionID      string // one play of a conversation
	SessionNum     int64  // ordinal of that play in the run
	ParentSession  string // the session that started this one; "" where none did
	RootSession    string // the first of these, itself where none started it
	Depth          int64  // sessions between it and the root, 0 for the root
	ConversationID string // the conversation in the dataset
	Turn           int64  // 0-based within the conversation
	Model          string
	URL            string // where it was sent, without query or credentials
	PromptSHA      string // first 16 hex digits of SHA-256 over the request body
	XRequestID     string // as sent in the X-Request-ID header
	XCorrelationID string // as sent in the X-Correlation-ID header: one per session

	// The five stamps (and their companions). FirstToken, FirstOutput and
	// LastToken belong to the read that delivered the bytes.
	Intended    int64 // when the schedule wanted it sent
	Admitted    int64 // when its slots were granted
	Sent        int64 // first request byte handed to the kernel
	WriteEnd    int64 // last request byte handed to the kernel
	FirstByte   int64 // first byte of the response header
	FirstToken  int64 // first non-empty content: text, reasoning or tool call
	FirstOutput int64 // first non-empty content that is not reasoning
	LastToken   int64 // last non-empty content
	End         int64 // the response ended, or failed
	CancelAsked int64 // when a cancellation was due

	Status       Status
	HTTPStatus   int64 // None without an answer
	ErrorKind    string
	ErrorMessage string // the server's own words, at most 1 KB, secrets masked
	// the whole answer that refused it, at most 4 KB, secrets masked; "" where ErrorMessage is all of it
	ErrorBody    string
	FinishReason string
	Measured     bool   // its phase counts in the results, whatever became of it
	InWindow     bool   // counts in the results: profiling phase, ended inside its window
	Streamed     bool   // the answer came as an event stream
	ServedModel  string // the model that the answer names; "" where it names none

	// Of a question with a known answer; "" for any other request.
	Item      string // its name
	Answer    Answer // whether the answer is right; "" where none came
	AnswerWhy string // what is wrong with it, or why it was not judged, where there is something to say

	// Tokens. ISL and OSL are the headline counts; the Usage fields are what
	// the server claimed.
	ISL, OSL, OSLRequested, OutputTokens, ReasoningTokens            int64
	UsagePrompt, UsageCompletion, UsageReasoning, UsageTotal, Cached int64
	UsageAccepted, UsageRejected                                     int64 // of a predicted answer

	// What APIs of other things than text answer with, and what they were given.
	Items        int64   // vectors, scores, images, … of the answer; None for text
	ItemKind     string  // what they are: one of the kinds below; "" where nobody knows
	Dimensions   int64   // numbers in each vector; None without any
	Images       int64   // in the request; None without any
	MediaBytes   int64   // bytes of the answer's pictures, sounds and videos, as they stand in it; None without any
	MediaSHA     string  // first 16 hex digits of the SHA-256 of all these bytes
	AudioSeconds float64 // length of its sounds; NaN without any, or when not known

	// What the server says about its own work, or what was seen of a job's, in
	// ms; NaN where there is nothing.
	ServerQueue, ServerPrefill, ServerDecode float64
	VideoInference                           float64 // of a video: its making, by the server's own account
	// MB of GPU memory that it took at most, by the server's own account
	VideoMemory float64
	Download    float64 // from when a job was done to when its result had been fetched

	Chunks []Chunk // content events in order of arrival

	ReceiveLag float64 // µs, application stamp − kernel stamp, largest of the request; NaN if unknown
	Open       bool    // a clock said when it was due, and not the answer before it: SLOs are judged from Intended
	// first SLO that was missed; "" when all held or none is set; of a cut one: that it had missed by then
	SLOFailed      string
	SLOFailedSent  string // the same from Sent
	SLOSet         bool   // at least one SLO applies
	Reused         bool   // an existing connection carried it
	ResentRead     bool   // as Resent, where the server had read it whole before
	Resent         bool   // sent once more, on a fresh connection: the server had closed the one that was kept alive
	BytesSent      int64  // body and header
	BytesReceived  int64
	DNS, Dial, TLS int64 // ns spent; None when the connection was reused
	// ns before Sent in which its connection was being opened: the time of the network and the server,
	// and a client's price of it; None when it went out on a kept one
	Connecting int64
}

// Answer says what became of a question with a known answer.
type Answer string

// An answer is right, wrong, or cannot be judged: it is empty, was cut off at the token limit,
// holds no result, or cannot be compared. What cannot be judged is never wrong in silence.
const (
	Right     Answer = "right"
	Wrong     Answer = "wrong"
	NotJudged Answer = "not_judged"
)

// AtTokenLimit is why an answer ended before it was over.
const AtTokenLimit = "cut off at the token limit"

// What the items of an answer can be.
const (
	Vectors  = "vectors"
	Passages = "passages"
	Pictures = "images"
	Films    = "videos"
)

// Kind of a content event.
type Kind uint8

// The kinds, with the numbers they have in the journal.
const (
	Content Kind = iota
	Reasoning
	Tool
	Usage
	Done
)

// String is the word used in the tables.
func (k Kind) String() string {
	return [...]string{"content", "reasoning", "tool", "usage", "done"}[k]
}

// Chunk is one event of a response. At is when it arrived at the latest; Low
// is the earliest it can have arrived, equal to At when the stamp is exact.
type Chunk struct {
	At, Low  int64
	Bytes    int32 // payload bytes
	Tokens   int32 // tokens it carried, 0 when not known per chunk
	Kind     Kind
	SameRead bool // shared a read with the event before it
}

// IsContent reports whether the event carried text, reasoning or a tool call.
func (c Chunk) IsContent() bool { return c.Kind <= Tool }

// New returns a record in which nothing has been measured.
func New() Record {
	return Record{
		Intended: None, Admitted: None, Sent: None, WriteEnd: None, FirstByte: None, FirstToken: None,
		FirstOutput: None, LastToken: None, End: None, CancelAsked: None, HTTPStatus: None,
		ISL: None, OSL: None, OSLRequested: None, OutputTokens: None, ReasoningTokens: None,
		UsagePrompt: None, UsageCompletion: None, UsageReasoning: None, UsageTotal: None,
		Cached: None, UsageAccepted: None, UsageRejected: None,
		Items: None, Dimensions: None, Images: None, MediaBytes: None, AudioSeconds: math.NaN(), Download: math.NaN(),
		VideoInference: math.NaN(), VideoMemory: math.NaN(),
		ServerQueue: math.NaN(), ServerPrefill: math.NaN(), ServerDecode: math.NaN(),
		ReceiveLag: math.NaN(), BytesSent: None, BytesReceived: None, DNS: None, Dial: None, TLS: None,
		Connecting: None,
	}
}

// Part is the part of the partition that the request is in.
func (r *Record) Part() Parts { return r.Status.Part() }

// Censored tells that nobody knows how the request would have ended: it was cut
// off, or never sent. It is no failure of the server's, and no success.
func (r *Record) Censored() bool { return r.Part()&(InCut|InUnsent) != 0 }

// Succeeded reports whether the whole answer came. What did not succeed has no times
// and no tokens in any statistics of successes.
func (r *Record) Succeeded() bool { return r.Status == OK }

// Failed reports whether the request failed: neither cut off, nor cancelled as asked,
// nor never sent.
func (r *Record) Failed() bool { return r.Part() == InFailed }
