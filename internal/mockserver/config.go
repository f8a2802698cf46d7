// Package mockserver is a truthful inference server. In goes a Config (or the
// query of a mock: URL); out comes a server on loopback that speaks the
// OpenAI-style APIs with scripted timing, and a log of when it really received
// each request and really sent each token.
//
// The steps: a goroutine per connection reads requests and works out what to
// answer; one scheduler owns every answer in progress and writes each token at
// its absolute time, or when the simulated engine's batch step ends; a logger
// writes a line per request. Spawn runs the server in a child process, so that
// it shares neither heap nor scheduler with the client it serves.
package mockserver

import (
	"io"
	"time"
)

// Usage says when an answer carries a usage report.
type Usage string

// The modes.
const (
	UsageAsked Usage = "asked" // streams: if stream_options asks; else always
	UsageOn    Usage = "on"
	UsageOff   Usage = "off"
	UsageEach  Usage = "each" // on every chunk of a stream
)

// Role says when a chat stream sends its role-only first event.
type Role string

// The choices.
const (
	RoleEarly Role = "early" // with the header, as soon as the request is accepted
	RoleFirst Role = "first" // just before the first token
	RoleNone  Role = "none"
)

// Shape of the jitter.
type Shape string

// The shapes. All have mean 1.
const (
	LogNormal   Shape = "lognormal"   // Jitter is its standard deviation
	Uniform     Shape = "uniform"     // Jitter is half its width
	Exponential Shape = "exponential" // its standard deviation is 1 whatever is asked for
)

// Config scripts a server. Build it with Defaults or ParseURL.
type Config struct {
	// Plain timing, used when Step is 0: the first token leaves TTFT +
	// Prefill × input tokens after the request was read, the others ITL apart.
	TTFT, ITL time.Duration
	// Batched timing: every step takes Step + Seq × running sequences +
	// Prefill × input tokens that join, gives each sequence a token, and runs
	// at most Batch sequences; the others wait in line. TTFT is then a fixed
	// time before the line.
	Step, Seq time.Duration
	Batch     int
	Prefill   time.Duration // per input token
	// of each request in a front end that handles one at a time, before the clock of the engine's own figures begins
	Front  time.Duration
	Jitter float64 // relative spread of every time above
	Shape  Shape

	// Random times of requests, as coefficients of variation: Spread is of a
	// factor on all times of one request, correlated by Memory with that of the
	// request before it (an AR(1) process of its logarithm); TTFTSpread and
	// ITLSpread are of each first token and of each later one, on top.
	Spread, TTFTSpread, ITLSpread float64
	Memory                        float64
	// All times grow by Drift of themselves a second from the first request on,
	// and are multiplied by Slowdown from SlowFrom after it on.
	Drift    float64
	Slowdown float64
	SlowFrom time.Duration
	// Workers answer one request each, the others wait in line: at most Queue of
	// them, if it is not 0; more are refused with 503. Plain timing only.
	Workers, Queue int
	// RateLimit is how many requests a second are let in, in the long run and in
	// any burst; more are refused with 429. 0 means no limit.
	RateLimit float64
	// ConcurrencyLimit is how many requests are let in at a time; more are refused with 429. 0 means no limit.
	ConcurrencyLimit int
	// Crash ends the server as soon as so many requests are in flight. 0 means never.
	Crash int
	// Overload is a factor on all times from the moment on at which so many requests are in flight: a server that does
	// not come back from its first overload.
	Overload Crowd
	// Hump is a factor on the steps in which so many sequences run, batched timing: more of them may be faster again.
	Hump Crowd
	// Until so long after its first request the server has no models to list, and
	// answers nothing: both give 503.
	ModelsReady, Ready time.Duration

	OSL       int     // output tokens when the request names none
	OSLSpread float64 // coefficient of variation of these, log-normal
	MaxOSL    int     // cap on what a request may ask; 0 means none
	Chunk     int     // tokens per event
	Reasoning int     // leading tokens that are reasoning; chat only
	ToolCalls int     // function calls that an answer of chat, messages or responses is made of, after its reasoning
	Role      Role
	Usage     Usage
	Lie       float64  // usage counts are the true ones times this
	Cached    float64  // share of the prompt reported as read from cache, in place of a cache
	Accepted  int      // tokens of a predicted answer reported as accepted, at most the answer's
	Rejected  int      // the same, reported as rejected
	Cache     int      // blocks of prompts in a true prefix cache, 0 for none; what it holds is not read again
	Block     int      // tokens of a block
	KVBlocks  int      // blocks for all running sequences together, batched timing; 0 for no limit
	Dims      int      // length of an embedding
	Media     int      // KiB of each picture and video; 0 for a picture of one pixel and a video by its length
	Redirects int      // of a video's download
	Models    []string // names served; others are answered 404; empty: any name is
	Tokenizer string   // what prompts are counted with; "" is the default encoding

	Knows Knowledge

	// Faults, as shares of the requests, drawn from Seed by order of arrival.
	ErrorRate   float64
	ErrorStatus []int   // statuses to draw from
	Cut         float64 // the connection breaks half way through the answer
	HTML        float64 // 200 with a page instead of an answer
	Empty       float64 // a stream without content
	StreamError float64 // an error event half way through a stream
	// All sending stops PauseAt after the first request, for PauseFor.
	PauseAt, PauseFor time.Duration

	Metrics Speech // whose words /metrics is in
	GPUs    int    // on the page at GPUPath, 0 for no such page
	// PowerCap is the most that a GPU may take, in W; what would take more is slowed down. 0 for no limit.
	PowerCap float64

	Seed uint64
	Keep bool      // whoever starts it for a run keeps its log with the results
	Log  io.Writer // one JSON line per request; nil means no log
}

// Crowd is a factor on times while From to To requests are there. From 0 means no factor.
type Crowd struct {
	Factor   float64
	From, To int
}

// at is the factor while n requests are there.
func (c Crowd) at(n int) float64 {
	if c.From == 0 || n < c.From || n > c.To {
		return 1
	}
	return c.Factor
}

// Defaults is the server behind a bare mock: URL: a small engine whose latency
// depends on its load.
func Defaults() Config {
	return Config{
		Knows: Knowledge{Right: 1},
		Step:  5 * time.Millisecond, Batch: 16, Prefill: 20 * time.Microsecond, Shape: LogNormal,
		OSL: 16, Chunk: 1, Role: RoleEarly, Usage: UsageAsked, Lie: 1, Slowdown: 1, Block: 16, Dims: 16,
		ErrorStatus: []int{500}, Metrics: SpeaksVLLM,
	}
}
