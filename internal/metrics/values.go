package metrics

import (
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/record"
)

// Names of sums that are no metrics of their own.
const (
	oslMismatch      = "\x00osl_mismatch"
	usageDiscrepancy = "\x00usage_discrepancy"
	// withCancelled before the tag of a metric of failures: for AIPerf what was
	// cancelled as asked is one, too.
	withCancelled = "\x00cancelled "
)

// Limits of AIPerf's two warnings.
const (
	MismatchShare    = 0.05 // of the tokens asked for
	MismatchTokens   = 50.0
	DiscrepancyShown = 10.0 // %
)

// spanMS is b − a in ms, NaN when either is missing.
func spanMS(a, b int64) float64 {
	if a == record.None || b == record.None {
		return math.NaN()
	}
	return float64(b-a) / 1e6
}

// count is n as a number, NaN when not measured.
func count(n int64) float64 {
	if n == record.None {
		return math.NaN()
	}
	return float64(n)
}

// some is count where 0 means that there is no such text.
func some(n int64) float64 {
	if n == 0 {
		return math.NaN()
	}
	return count(n)
}

func osl(r *record.Record) float64             { return count(r.OSL) }
func isl(r *record.Record) float64             { return count(r.ISL) }
func outputTokens(r *record.Record) float64    { return some(r.OutputTokens) }
func reasoningTokens(r *record.Record) float64 { return count(r.ReasoningTokens) }

// secondToken is the gap between the first two content events, in ms.
func secondToken(r *record.Record) float64 {
	if !r.Streamed {
		return math.NaN()
	}
	first := int64(record.None)
	for _, c := range r.Chunks {
		if !c.IsContent() {
			continue
		}
		if first != record.None {
			return spanMS(first, c.At)
		}
		first = c.At
	}
	return math.NaN()
}

// chunkGaps appends the gaps between consecutive content events, in ms;
// nothing when one of them would be negative.
func chunkGaps(r *record.Record, into []float64) []float64 {
	if !r.Streamed {
		return into
	}
	began, last := len(into), int64(record.None)
	for _, c := range r.Chunks {
		if !c.IsContent() {
			continue
		}
		if last != record.None {
			if c.At < last {
				return into[:began]
			}
			into = append(into, spanMS(last, c.At))
		}
		last = c.At
	}
	return into
}

// perUser is 1000 / ITL, in tokens/s.
func perUser(r *record.Record) float64 { return per(1000, r.ITL()) }

// endToEnd is OSL / latency, in tokens/s.
func endToEnd(r *record.Record) float64 { return per(1000*osl(r), r.Latency()) }

// latencyPerToken is latency / OSL, in ms, of what has a first token and a prompt.
func latencyPerToken(r *record.Record) float64 {
	if !(r.TTFT() > 0 && isl(r) > 0) {
		return math.NaN()
	}
	return per(r.Latency(), osl(r))
}

// prefillPerUser is ISL / TTFT, in tokens/s.
func prefillPerUser(r *record.Record) float64 { return per(1000*isl(r), r.TTFT()) }

// oslDiff is 100 · (OSL − asked) / asked.
func oslDiff(r *record.Record) float64 {
	asked := count(r.OSLRequested)
	return 100 * per(osl(r)-asked, asked)
}

// mismatched tells 1 when abs(OSL − asked) > min(5 % of asked, 50), else 0.
func mismatched(r *record.Record) float64 {
	asked, got := count(r.OSLRequested), osl(r)
	if !(asked > 0) || math.IsNaN(got) {
		return math.NaN()
	}
	return truth(math.Abs(got-asked) > min(MismatchShare*asked, MismatchTokens))
}

// diffPct is 100 · abs(server − client) / client.
func diffPct(server, client int64) float64 {
	s, c := count(server), count(client)
	return 100 * per(math.Abs(s-c), c)
}

// discrepant tells 1 when a usage field is more than 10 % off, else 0.
func discrepant(r *record.Record) float64 {
	worst := math.NaN()
	for _, d := range [...]float64{
		diffPct(r.UsagePrompt, r.ISL), diffPct(r.UsageCompletion, r.OSL), diffPct(r.UsageReasoning, r.ReasoningTokens),
	} {
		if !math.IsNaN(d) && !(d <= worst) {
			worst = d
		}
	}
	if math.IsNaN(worst) {
		return worst
	}
	return truth(worst > DiscrepancyShown)
}

// goodOne is 1 when the record met every SLO, 0 when it missed one.
func goodOne(r *record.Record) float64 {
	if !r.SLOSet {
		return math.NaN()
	}
	return truth(r.SLOFailed == "")
}

// rightOne is 1 for a right answer and 0 for a wrong one.
func rightOne(r *record.Record) float64 {
	if r.Answer != record.Right && r.Answer != record.Wrong {
		return math.NaN()
	}
	return truth(r.Answer == record.Right)
}

// notJudged is 1 for an answer that could not be judged, and 0 for one that was.
func notJudged(r *record.Record) float64 {
	if r.Answer == "" {
		return math.NaN()
	}
	return truth(r.Answer == record.NotJudged)
}

// judgedOne is 1 for an answer that is right or wrong.
func judgedOne(r *record.Record) float64 {
	if math.IsNaN(rightOne(r)) {
		return math.NaN()
	}
	return 1
}

// answeredOne is 1 for an answer to a question with a known answer.
func answeredOne(r *record.Record) float64 {
	if r.Answer == "" {
		return math.NaN()
	}
	return 1
}

// connecting is a part of opening the connection, in ms.
func connecting(r *record.Record, ns int64) float64 {
	if r.Reused && ns == record.None {
		return 0
	}
	return count(ns) / 1e6
}

// lookup is 0 where the address needed none.
func lookup(r *record.Record) float64 {
	if r.DNS == record.None && r.Dial != record.None {
		return 0
	}
	return connecting(r, r.DNS)
}

// tcpAndTLS is dial + handshake; a plain connection has no handshake.
func tcpAndTLS(r *record.Record) float64 {
	dial := connecting(r, r.Dial)
	if r.TLS == record.None {
		return dial
	}
	return dial + connecting(r, r.TLS)
}

func connectionOverhead(r *record.Record) float64 { return lookup(r) + tcpAndTLS(r) }

// reused is unknown for a request that never had a connection.
func reused(r *record.Record) float64 {
	if r.Sent == record.None {
		return math.NaN()
	}
	return truth(r.Reused)
}

// neverBlocked is 0 for every request that was sent.
func neverBlocked(r *record.Record) float64 { return ifSent(r, 0) }

// oneChunk is 1 for every request that was sent.
func oneChunk(r *record.Record) float64 { return ifSent(r, 1) }

func ifSent(r *record.Record, v float64) float64 {
	if r.Sent == record.None {
		return math.NaN()
	}
	return v
}

// reads counts the reads that delivered events.
func reads(r *record.Record) float64 {
	n := 0
	for i, c := range r.Chunks {
		if i == 0 || !c.SameRead { // the first may share its read with an event that is no chunk
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return float64(n)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// overflowWords are what servers say when the input does not fit.
func overflowWords() []string {
	return []string{
		"context length", "context_length", "maximum context", "context window", "max_model_len",
		"too many tokens", "prompt is too long", "input is too long",
	}
}

// overflowed reports whether the server refused the request because it is too
// long for the model.
func overflowed(r *record.Record) bool {
	if r.Status != record.HTTPError || r.HTTPStatus != 400 && r.HTTPStatus != 413 && r.HTTPStatus != 422 {
		return false
	}
	said := strings.ToLower(r.ErrorKind + " " + r.ErrorMessage)
	for _, w := range overflowWords() {
		if strings.Contains(said, w) {
			return true
		}
	}
	return false
}
