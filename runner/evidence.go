package runner

import (
	"fmt"
	"math"

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
	ServerTokens bool   // the server's token counts are the headline, by request
	TokenSource  string // a doubt about the client's counts; "" for none
	Journaled    int64  // records written
	Emitted      int64  // records handed over by the engine
	SinkError    string
	Stamps       string    // kernel, application: what arrival stamps are
	ClockJumps   int64     // of the wall clock, by more than 10 µs, as the transport saw them
	ClockJump    float64   // ms, the largest of them
	Identity     *Identity // nil where the server has no page that says what it serves
	Headroom     float64   // capacity of this machine ÷ what is planned; NaN when the plan is small
	Errors       failures
	Missed       map[string]int64 // SLO → successes in the window that missed it first
}

// PhaseEvidence is one profiling phase.
type PhaseEvidence struct {
	Result loadgen.PhaseResult

	Lateness, Wait                []float64 // ms, all requests sent
	TTFT, Latency, ITL            []float64 // ms, successes
	TTFTIntended, LatencyIntended []float64 // ms, from the intended time
	ReceiveLag                    []float64 // ms
	TokenDiff                     []float64 // abs(server count / client count − 1)
	OK, Failed, Cancelled         int64
	ClientFaults                  int64 // failures of our own making
	Chunks, Coalesced             int64
	Asked, OffTarget              int64 // requests with an asked OSL; those that missed it
	Prompt, Cached                int64 // tokens by the server's count
	lives                         []residence
	answered                      []answered
	ends                          [len(boundTags)]ends
	followUps                     int     // requests after the first wave
	turnaround, turnaroundOver    float64 // their sums, ms: sent − intended and latency
	Backwards                     int64   // negative spans between stamps of one request
	FirstError                    string
}

// residence is one request's time in the system, ns since T0.
type residence struct{ intended, sent, end int64 }

// newEvidence prepares for the phases of res; warmups count for nothing.
func newEvidence(res loadgen.Result, host telemetry.Host) *Evidence {
	e := &Evidence{Host: host, Headroom: math.NaN(), Errors: failures{}, Missed: map[string]int64{}}
	for _, p := range res.Phases {
		if !p.Warmup {
			e.Phases = append(e.Phases, &PhaseEvidence{Result: p, lives: make([]residence, 0, p.Issued), answered: make([]answered, 0, p.OK)})
		}
	}
	return e
}

// Add takes one record. Records may come in any order.
func (e *Evidence) Add(r *record.Record) {
	e.Journaled++
	if r.Failed() && !r.Warmup {
		e.Errors.add(ErrorCount{Kind: failureKind(r), Message: r.ErrorMessage, Count: 1})
	}
	if r.SLOFailed != "" && r.InWindow && !r.Failed() && !r.Warmup {
		e.Missed[r.SLOFailed]++
	}
	for _, p := range e.Phases {
		if p.Result.Name == r.Phase && !r.Warmup {
			p.add(r)
		}
	}
}

// failureKind is the short word for a failure: "http_error 503".
func failureKind(r *record.Record) string {
	switch {
	case r.HTTPStatus != record.None && r.Status == record.HTTPError:
		return fmt.Sprintf("%s %d", r.Status, r.HTTPStatus)
	case r.ErrorKind != "" && r.ErrorKind != string(r.Status):
		return string(r.Status) + " " + r.ErrorKind
	}
	return string(r.Status)
}

func (p *PhaseEvidence) add(r *record.Record) {
	switch {
	case r.Status == record.OK:
		p.OK++
	case r.Status == record.Cancelled:
		p.Cancelled++
	default:
		p.Failed++
		if r.Status == record.Client {
			p.ClientFaults++
		}
		if p.FirstError == "" {
			p.FirstError = string(r.Status) + ": " + r.ErrorMessage
		}
	}
	p.Lateness = p.appendFinite(p.Lateness, r.DispatchLateness())
	p.Wait = p.appendFinite(p.Wait, r.AdmissionWait())
	if r.Sent != record.None && r.End != record.None {
		p.lives = append(p.lives, residence{r.Intended, r.Sent, r.End})
		if !r.Failed() {
			p.answered = append(p.answered, answered{r.Intended, r.Sent, float64(r.End-r.Sent) / 1e6})
		}
	}
	if backwards(r) {
		p.Backwards++
	}
	if r.Failed() {
		return
	}
	p.TTFT = p.appendFinite(p.TTFT, r.TTFT())
	p.Latency = p.appendFinite(p.Latency, r.Latency())
	p.ITL = p.appendFinite(p.ITL, r.ITL())
	p.TTFTIntended = p.appendFinite(p.TTFTIntended, r.TTFTFromIntended())
	p.LatencyIntended = p.appendFinite(p.LatencyIntended, r.LatencyFromIntended())
	p.bounds(r)
	p.ReceiveLag = p.appendFinite(p.ReceiveLag, r.ReceiveLag/1e3)
	if r.Intended > p.Result.Start && r.Sent != record.None { // a follow-up, not the first wave
		p.followUps++
		p.turnaround += float64(r.Sent-r.Intended) / 1e6
		p.turnaroundOver += r.Latency()
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

func (p *PhaseEvidence) addTokens(r *record.Record) {
	if r.UsageCompletion != record.None && r.OSL > 0 {
		p.TokenDiff = append(p.TokenDiff, math.Abs(float64(r.UsageCompletion)/float64(r.OSL)-1))
	}
	if r.OSLRequested > 0 && r.OSL != record.None {
		p.Asked++
		if off := math.Abs(float64(r.OSL - r.OSLRequested)); off > min(0.05*float64(r.OSLRequested), 50) {
			p.OffTarget++
		}
	}
	if r.UsagePrompt != record.None {
		p.Prompt += r.UsagePrompt
		p.Cached += max(r.Cached, 0)
	}
}

// backwards tells whether a later thing was stamped before an earlier one.
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

// settle sorts the samples; the checks read quantiles from them.
func (e *Evidence) settle() {
	var sorter stats.Sorter
	for _, p := range e.Phases {
		for _, s := range [][]float64{p.Lateness, p.Wait, p.TTFT, p.Latency, p.ITL, p.TTFTIntended, p.LatencyIntended, p.ReceiveLag, p.TokenDiff} {
			sorter.Sort(s)
		}
		for i := range p.ends {
			sorter.Sort(p.ends[i].low)
			sorter.Sort(p.ends[i].high)
		}
	}
}

// appendFinite adds v to one of p's lists unless it is no number. A list gets
// room for all requests at once: growing would leave it behind several times.
func (p *PhaseEvidence) appendFinite(s []float64, v float64) []float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return s
	}
	if s == nil {
		s = make([]float64, 0, p.Result.Issued)
	}
	return append(s, v)
}

// littles compares the gauge with throughput × residence over the steady
// window: N = X·R. ok is false when there is no such window. slack is what may
// be missing: one request's share of the window, and the client's own time
// between an answer and the next request, in which the gauge counts a slot that
// no request holds; how large that may be is turnaround's question.
func (p *PhaseEvidence) littles() (diff, slack float64, ok bool) {
	g := p.Result.Gauge
	span := float64(g.SteadyEnd - g.SteadyStart)
	if g.SteadyStart == record.None || span <= 0 || !(g.SteadyMean > 0) {
		return 0, 0, false
	}
	var residence, own float64
	var ended int
	for _, r := range p.lives {
		if r.end > g.SteadyStart && r.end <= g.SteadyEnd {
			ended++
			residence += float64(r.end - r.sent)
			own += float64(max(0, r.sent-r.intended))
		}
	}
	if ended == 0 {
		return 0, 0, false
	}
	inSystem := residence / span // = (ended / span) × (residence / ended)
	slack = residence/float64(ended)/span + own/(own+residence)
	return math.Abs(g.SteadyMean-inSystem) / g.SteadyMean, slack, true
}
