package audit

import (
	"math"
	"net/url"
)

// Scenario is a load on a server whose behaviour is known.
type Scenario struct {
	Name, Doc string
	Server    string // the built-in server's words, as in mock:?WORDS
	// Closed is how many requests are to be in flight. 0 is an open loop with Rate, in requests
	// per second, and Law: constant or poisson.
	Closed int
	Rate   float64
	Law    string
	// Warmup requests come before Requests, which are to be measured.
	Requests, Warmup int
	ISL, OSL         int // tokens
	// Tokenizer is what server and client count with: a folder with tokenizer.json; "" is the
	// server's own, which is this program's builtin.
	Tokenizer string
}

// Scenarios are all of them. Streams of the plain server take as long under any load, so what
// a client adds shows as a difference.
func Scenarios() []Scenario {
	return []Scenario{
		{
			Name: "single", Doc: "one stream at a time", Server: "ttft=20ms&itl=4ms&jitter=0.3",
			Closed: 1, Requests: 40, Warmup: 3, ISL: 64, OSL: 32,
		},
		{
			Name: "streams-64", Doc: "64 streams at once", Server: "ttft=60ms&itl=8ms&jitter=0.3",
			Closed: 64, Requests: 640, Warmup: 64, ISL: 64, OSL: 32,
		},
		{
			Name: "streams-1000", Doc: "1,000 streams at once", Server: "ttft=1s&itl=50ms&jitter=0.3",
			Closed: 1000, Requests: 3000, Warmup: 10, ISL: 64, OSL: 24,
		},
		{
			Name: "constant", Doc: "a constant rate", Server: "ttft=30ms&itl=5ms&jitter=0.3",
			Rate: 50, Law: "constant", Requests: 300, Warmup: 5, ISL: 64, OSL: 16,
		},
		{
			Name: "poisson", Doc: "a Poisson process", Server: "ttft=30ms&itl=5ms&jitter=0.3",
			Rate: 50, Law: "poisson", Requests: 300, Warmup: 5, ISL: 64, OSL: 16,
		},
		{
			Name: "pause", Doc: "the server stops for a second", Server: "ttft=30ms&itl=5ms&pause=1s@2s",
			Rate: 40, Law: "constant", Requests: 160, Warmup: 4, ISL: 64, OSL: 16,
		},
		{
			Name: "cut", Doc: "answers that break off, and refusals", Server: "ttft=20ms&itl=4ms&cut=0.1&error_rate=0.1&seed=3",
			Closed: 8, Requests: 160, Warmup: 8, ISL: 64, OSL: 32,
		},
		{
			Name: "errors-in-200", Doc: "error events in streams that began with 200", Server: "ttft=20ms&itl=4ms&stream_error=0.2&seed=3",
			Closed: 8, Requests: 160, Warmup: 8, ISL: 64, OSL: 32,
		},
		{
			Name: "long-prompts", Doc: "prompts of 8,000 tokens", Server: "ttft=50ms&itl=5ms",
			Closed: 4, Requests: 40, Warmup: 4, ISL: 8000, OSL: 16,
		},
		{
			Name: "awkward", Doc: "the role comes ahead, several tokens in an event, reasoning, usage with each event",
			Server: "ttft=40ms&itl=5ms&role=early&chunk=4&reasoning=8&usage=each",
			Closed: 4, Requests: 80, Warmup: 4, ISL: 64, OSL: 33,
		},
	}
}

// address is the server's.
func (s *Scenario) address() string {
	if s.Tokenizer == "" {
		return "mock:?" + s.Server
	}
	return "mock:?" + s.Server + "&tokenizer=" + url.QueryEscape(s.Tokenizer)
}

// open says whether requests are sent at a rate.
func (s *Scenario) open() bool { return s.Closed == 0 }

// seconds are how long the measured requests take at the rate; 0 in a closed loop.
func (s *Scenario) seconds() int {
	if s.open() {
		return int(math.Ceil(float64(s.Requests) / s.Rate))
	}
	return 0
}
