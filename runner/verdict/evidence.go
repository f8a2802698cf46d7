package verdict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
)

// Evidence is all that the verdict on one run rests on: what the phases say
// they did, what the host looked like meanwhile, and what the records show.
// It is filled record by record, so it also can be rebuilt from a journal.
type Evidence struct {
	Phases       []*PhaseEvidence // profiling phases only
	Host         telemetry.Host
	BuiltIn      bool   // the server is the built-in one, on this machine
	Streaming    bool   // answers were asked for as streams
	served       served // the models that they name
	ServerTokens bool   // the server's token counts are the headline, by request
	TokenSource  string // a doubt about the client's counts; "" for none
	Journaled    int64  // records written
	Emitted      int64  // records handed over by the engine
	SinkError    string
	Stamps       string    // kernel, application: what arrival stamps are
	ClockJumps   int64     // of the wall clock, by more than 10 µs, as the transport saw them
	ClockJump    float64   // ms, the largest of them
	Identity     *Identity // nil where the server has no page that says what it serves
	StampError   StampError
	IgnoresEnd   bool  // the server was asked to ignore its end mark
	Shared       bool  // the prompts share text on purpose: a cache hit is what was asked for
	Reuse        Reuse // what the prompts declare of it
	Talks        bool  // conversations have several turns, or start others
	System       int64 // tokens of the system prompt that was asked for, which all prompts share
	// by the first session of a tree: the most tokens of a prompt and its answer so far, by the server's count
	talks    map[string]int64
	Apart    float64      // ms: how far apart several workers began a phase at most; 0 of one
	Lost     []LostWorker // that others went on without
	Headroom float64      // capacity of this machine ÷ what is planned; NaN when the plan is small
}

// StampError is what arrival stamps were late by, measured during the run, in ms;
// N is 0 where it was not measured.
type StampError struct {
	N                   int
	Mean, P50, P90, P99 float64
}

// PhaseEvidence is one profiling phase.
type PhaseEvidence struct {
	Result loadgen.PhaseResult

	Lateness, Wait, Connecting    []float64        // ms, all requests sent
	TTFT, Latency, ITL            []float64        // ms, successes
	TTFTIntended, LatencyIntended []float64        // ms, from the intended time
	TTFTPunctual, LatencyPunctual []float64        // ms, the same without what sending was late
	TTFTRunning                   []float64        // ms, the least that TTFT may be, had this program not stood still
	stops                         []telemetry.Stop // when it did, in order
	Ages                          []float64        // ms, from sending, of requests that were cut off
	ReceiveLag                    []float64        // ms
	TokenDiff                     []float64        // abs(server count / client count − 1)
	record.Counts                                  // by the records
	ClientFaults                  int64            // failures of our own making
	FirstFault                    string
	Unmade                        bool // the first of them is a request that could not be made
	Chunks, Coalesced             int64
	Asked, OffTarget              int64 // requests with an asked OSL; those that missed it
	Prompt, Cached                int64 // tokens by the server's count, without a chat template
	// those of the cached that neither the conversation's history nor the system prompt explains
	Unasked                    int64
	CacheTold                  int64     // answers that say how much of the prompt was cached
	TTFTCached, TTFTNew        []float64 // ms, of prompts that were cached by half and more, and of the others
	arrivals                   int64     // requests that were sent and ended
	lastSent, lastFree         int64     // ns since T0: when the last of them was sent, and when it could have been
	admitted, waited           int64     // requests that had a slot; of them waited for it more than 1 ms
	every                      int64     // of so many requests one is among the samples
	turn                       int64     // counts up to it
	residence                  float64   // Σ end − sent, ns
	whole                      int64     // answers in one piece
	resentRead                 int64     // requests sent once more that the server had read whole
	lost                       lost
	limits                     limits          // successes that have limits
	Counted                    int64           // answers whose output tokens the server counted
	Dimensions                 map[int64]int64 // by the length of their vectors: answers
	answered                   []answered
	stays                      []stay
	ends                       [len(boundTags)]ends
	followUps                  int     // requests after the first wave
	longestGap                 float64 // ms, the largest sent − intended − connecting of these
	turnaround, turnaroundOver float64 // their sums, ms: sent − intended − connecting and latency
	heldOpen, latency          float64 // sums over the successes, ms: end − last content, and latency
	Backwards                  int64   // negative spans between stamps of one request
	Errors                     Failures
	byWorker                   [][]float64 // ms, latencies of successes
}

// maxLengths bounds how many lengths of vectors are told apart.
const maxLengths = 16

// mostSamples bounds what is kept of the requests one by one. Of a longer phase
// every second is kept, then every fourth, and so on: of thirty thousand three
// hundred lie beyond the p99, and memory does not grow with the run.
const mostSamples = 1 << 16

// NewEvidence prepares for the phases of res; warmups count for nothing.
func NewEvidence(res loadgen.Result, host telemetry.Host) *Evidence {
	e := &Evidence{Host: host, Headroom: math.NaN()}
	for _, p := range res.Phases {
		if !p.Warmup {
			e.Phases = append(e.Phases, &PhaseEvidence{Result: p, Errors: Failures{}, stops: host.Hiccup.Stops})
		}
	}
	return e
}

// Add takes one record. Records may come in any order.
func (e *Evidence) Add(r *record.Record) {
	e.Journaled++
	if !r.Warmup {
		e.served.add(r)
	}
	own, known := e.history(r)
	for _, p := range e.Phases {
		if p.Result.Name == r.Phase && !r.Warmup {
			p.add(r)
			if r.Succeeded() && known {
				p.addCache(r, own, e.System)
			}
			if r.Status == record.OK && !r.Streamed {
				p.whole++
			}
			if r.ResentRead {
				p.resentRead++
			}
		}
	}
}

// Errors are the failures of all phases.
func (e *Evidence) Errors() Failures {
	all := Failures{}
	for _, p := range e.Phases {
		for _, x := range p.Errors {
			all.Add(*x)
		}
	}
	return all
}

func errorCount(r *record.Record) ErrorCount {
	e := ErrorCount{Kind: failureKind(r), Message: r.ErrorMessage, Count: 1, Cause: r.ErrorKind}
	if r.HTTPStatus != record.None && r.Status == record.HTTPError {
		e.HTTP = int(r.HTTPStatus)
	}
	return e
}

// failureKind is the short word for a failure, as error_kind of the table requests has it:
// "http_503". Of what no server said its status stands in front: "connection reset".
func failureKind(r *record.Record) string {
	switch {
	case r.HTTPStatus != record.None && r.Status == record.HTTPError:
		return cmp.Or(r.ErrorKind, fmt.Sprintf("http_%d", r.HTTPStatus))
	case r.ErrorKind != "" && r.ErrorKind != string(r.Status):
		return string(r.Status) + " " + r.ErrorKind
	}
	return string(r.Status)
}

func (p *PhaseEvidence) add(r *record.Record) {
	part := r.Part()
	p.Counts.Add(part, 1)
	switch part {
	case record.InUnsent:
		return // it has no times
	case record.InFailed:
		if r.Status == record.Client {
			p.ClientFaults++
			if p.FirstFault == "" {
				p.FirstFault, p.Unmade = r.ErrorMessage, r.ErrorKind == "request"
			}
		}
		p.Errors.Add(errorCount(r))
	}
	p.lost.add(r)
	if r.Sent != record.None && r.End != record.None {
		p.arrivals++
		p.lastSent, p.lastFree = max(p.lastSent, r.Sent),
			max(p.lastFree, r.Sent-int64(1e6*max(0, r.DispatchLateness())))
		p.residence += float64(r.End - r.Sent)
	}
	if w := r.AdmissionWait(); !math.IsNaN(w) {
		p.admitted++
		if w > 1 {
			p.waited++
		}
	}
	if p.sampled() {
		p.sample(r)
	}
	if backwards(r) {
		p.Backwards++
	}
	if !r.Succeeded() {
		return
	}
	if held := float64(r.End-r.LastToken) / 1e6; r.End != record.None && r.LastToken != record.None {
		p.heldOpen, p.latency = p.heldOpen+held, p.latency+r.Latency()
	}
	if r.Intended > p.Result.Start && r.Sent != record.None { // a follow-up, not the first wave
		p.followUps++
		gap := float64(r.Sent-r.Intended)/1e6 - r.ConnectTime()
		p.turnaround, p.longestGap = p.turnaround+gap, max(p.longestGap, gap)
		p.turnaroundOver += r.Latency()
	}
	if r.SLOSet {
		p.limits.add(r.SLOFailed == "", p.readLateBy(r) > resolution)
	}
	p.addTokens(r)
	for _, c := range r.Chunks {
		if c.IsContent() {
			p.Chunks++
			if c.SameRead {
				p.Coalesced++
			}
		}
	}
}

// sampled reports whether the next request is among the samples.
func (p *PhaseEvidence) sampled() bool {
	if len(p.Lateness) >= mostSamples || len(p.stays) >= mostSamples {
		p.thin()
	}
	p.turn++
	if p.turn < p.every {
		return false
	}
	p.turn = 0
	return true
}

// thin drops every second sample.
func (p *PhaseEvidence) thin() {
	p.every = 2 * max(p.every, 1)
	for _, s := range p.lists() {
		*s = everySecond(*s)
	}
	p.answered, p.stays = everySecond(p.answered), everySecond(p.stays)
}

// lists are the samples that are single numbers.
func (p *PhaseEvidence) lists() []*[]float64 {
	out := []*[]float64{
		&p.Lateness, &p.Wait, &p.Connecting, &p.TTFT, &p.Latency, &p.ITL, &p.TTFTIntended,
		&p.LatencyIntended, &p.TTFTPunctual, &p.LatencyPunctual, &p.TTFTRunning, &p.Ages, &p.ReceiveLag, &p.TokenDiff,
	}
	for i := range p.ends {
		out = append(out, &p.ends[i].low, &p.ends[i].high)
	}
	for i := range p.byWorker {
		out = append(out, &p.byWorker[i])
	}
	return out
}

func everySecond[T any](s []T) []T {
	for i := range len(s) / 2 {
		s[i] = s[2*i]
	}
	return s[:len(s)/2]
}

// sample keeps what single requests are asked for.
func (p *PhaseEvidence) sample(r *record.Record) {
	p.Lateness = appendFinite(p.Lateness, r.DispatchLateness())
	p.Wait = appendFinite(p.Wait, r.AdmissionWait())
	if r.Sent != record.None {
		p.Connecting = append(p.Connecting, r.ConnectTime())
	}
	if r.Status == record.Cut && r.Sent != record.None {
		p.Ages = append(p.Ages, float64(r.End-r.Sent)/1e6)
	}
	if r.Sent != record.None && r.End != record.None {
		from := r.Sent
		if r.Intended != record.None {
			from = min(from, r.Intended)
		}
		// so much earlier a client that never stands still has the answer
		late := int64(1e6 * max(0, r.DispatchLateness()))
		p.stays = append(p.stays, stay{from, r.End - late, r.Status == record.OK})
	}
	if !r.Succeeded() {
		return
	}
	if r.Sent != record.None && r.End != record.None {
		p.answered = append(p.answered, answered{r.Intended, r.Sent, float64(r.End-r.Sent) / 1e6})
	}
	p.TTFT = appendFinite(p.TTFT, r.TTFT())
	p.TTFTRunning = appendFinite(p.TTFTRunning, r.TTFT()-p.readLateBy(r))
	p.Latency = appendFinite(p.Latency, r.Latency())
	p.addWorker(r)
	p.ITL = appendFinite(p.ITL, r.ITL())
	p.TTFTIntended = appendFinite(p.TTFTIntended, r.TTFTFromIntended())
	p.LatencyIntended = appendFinite(p.LatencyIntended, r.LatencyFromIntended())
	late := max(0, r.DispatchLateness())
	p.TTFTPunctual = appendFinite(p.TTFTPunctual, r.TTFTFromIntended()-late)
	p.LatencyPunctual = appendFinite(p.LatencyPunctual, r.LatencyFromIntended()-late)
	p.bounds(r)
	p.ReceiveLag = appendFinite(p.ReceiveLag, r.ReceiveLag/1e3)
	if r.Dimensions != record.None {
		if p.Dimensions == nil {
			p.Dimensions = map[int64]int64{}
		}
		if _, known := p.Dimensions[r.Dimensions]; known || len(p.Dimensions) < maxLengths {
			p.Dimensions[r.Dimensions]++
		}
	}
	if r.UsageCompletion != record.None && r.OSL > 0 {
		p.TokenDiff = append(p.TokenDiff, math.Abs(float64(r.UsageCompletion)/float64(r.OSL)-1))
	}
}

// readSoon is how long after this program stood still it has read what had come meanwhile:
// as long as a nap may take to notice that it goes on.
const readSoon = int64(5 * time.Millisecond)

// readLateBy is by how much, in ms, r's first token may have come earlier than its
// stamp: it shares that with what was read together with it, as soon as this program
// went on, and may have waited for that since it stood still.
func (p *PhaseEvidence) readLateBy(r *record.Record) float64 {
	i := slices.IndexFunc(r.Chunks, func(c record.Chunk) bool { return c.IsContent() })
	if i < 0 {
		return 0
	}
	c := r.Chunks[i]
	after, _ := slices.BinarySearchFunc(p.stops, c.At-readSoon,
		func(s telemetry.Stop, at int64) int { return cmp.Compare(s.To, at) })
	if after == len(p.stops) || p.stops[after].From >= c.At || p.stops[after].To <= c.Low {
		return 0
	}
	return float64(c.At-max(c.Low, p.stops[after].From)) / 1e6
}

func (p *PhaseEvidence) addTokens(r *record.Record) {
	if r.UsageCompletion == record.None {
		return
	}
	p.Counted++
	if r.OSLRequested > 0 { // by the server's count: random text tokenizes to another number than was sent
		p.Asked++
		if off := math.Abs(float64(r.UsageCompletion - r.OSLRequested)); off > min(0.05*float64(r.OSLRequested), 50) {
			p.OffTarget++
		}
	}
}

// history is how many tokens of r's prompt the server knows from the conversation itself:
// the prompt of the turn before and its answer. It is false where these are not known.
// The records of a conversation come in the order of its turns.
func (e *Evidence) history(r *record.Record) (tokens int64, known bool) {
	if !e.Talks {
		return 0, true
	}
	talk := cmp.Or(r.RootSession, r.SessionID)
	if r.Turn > 0 || r.Depth > 0 {
		tokens, known = e.talks[talk]
	} else {
		known = true
	}
	if r.UsagePrompt != record.None {
		if e.talks == nil {
			e.talks = map[string]int64{}
		}
		e.talks[talk] = max(e.talks[talk], r.UsagePrompt+max(r.UsageCompletion, 0))
	}
	return tokens, known
}

// addCache notes what the server took from its prefix cache, without what it
// adds to any prompt: a chat template is cached for new prompts as well. The history of
// the conversation, own tokens of it, and a system prompt that was asked for explain
// more of it: a user's server has these as well.
func (p *PhaseEvidence) addCache(r *record.Record, own, system int64) {
	if r.UsagePrompt == record.None {
		return
	}
	template := int64(0)
	if r.ISL != record.None && r.ISL > 0 {
		template = max(0, r.UsagePrompt-r.ISL)
	}
	prompt, cached, unasked := r.UsagePrompt-template, int64(0), int64(0)
	if r.Cached != record.None {
		cached = max(0, r.Cached-template)
		unasked = max(0, r.Cached-max(template+system, own))
		p.CacheTold++
	}
	p.Prompt += prompt
	p.Cached += cached
	p.Unasked += unasked
	if ttft := r.TTFT(); len(p.TTFTCached)+len(p.TTFTNew) < mostSamples && !math.IsNaN(ttft) {
		if 2*unasked >= prompt {
			p.TTFTCached = append(p.TTFTCached, ttft)
		} else {
			p.TTFTNew = append(p.TTFTNew, ttft)
		}
	}
}

// backwards reports whether a later thing was stamped before an earlier one.
func backwards(r *record.Record) bool {
	last := int64(record.None)
	for _, t := range []int64{r.Admitted, r.Sent, r.FirstByte, r.FirstToken, r.LastToken, r.End} {
		if t == record.None {
			continue
		}
		if t < last {
			return true
		}
		last = t
	}
	return false
}

// sortSamples sorts the samples; the checks read quantiles from them.
func (e *Evidence) sortSamples() {
	var sorter stats.Sorter
	for _, p := range e.Phases {
		for _, s := range append(p.lists(), &p.TTFTCached, &p.TTFTNew) {
			sorter.Sort(*s)
		}
	}
}

// LatenessP99 is how late requests left, in ms: the 99th percentile over the
// phases' samples, NaN without any.
func (e *Evidence) LatenessP99() float64 {
	worst := math.NaN()
	for _, p := range e.Phases {
		if v := stats.Quantile(p.Lateness, 0.99); !(v <= worst) && !math.IsNaN(v) {
			worst = v
		}
	}
	return worst
}

// appendFinite adds v to a list unless it is not a number.
func appendFinite(s []float64, v float64) []float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return s
	}
	return append(s, v)
}
