package loadgen

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/transport"
)

// releaser takes back what an exchange holds.
type releaser interface{ Release(*transport.Exchange) }

// finisher turns ended requests into records: it reads the answer, counts its
// tokens, judges it, and renders the turn that follows. It works after the
// answer, so that measuring is never disturbed.
type finisher struct {
	job    *Job
	render *renderer
	post   func(event)
	wake   func()
	back   releaser
	secret masker
	urls   []string
	live   *meter
	work   *mailbox[*request]
	out    *mailbox[finished]
}

// finished is a record and its place in the order of completion.
type finished struct {
	order  int64
	rec    *record.Record
	detail any
}

// Said is the text of an answer, valid until the callee returns.
type Said struct{ Text, Reasoning, Tool []byte }

// tally counts how the requests of a phase ended.
type tally struct{ ok, failed, cancelled atomic.Int64 }

// linger is how long an ended request waits for others to be finished with, and
// a record to be collected with. Only what somebody waits for is finished with
// at once: an answer that a turn follows, and a failure, of which too many end
// the run.
const linger = 2 * time.Millisecond

// take accepts a request that has ended.
func (f *finisher) take(r *request) { f.work.put(r, r.goesOn || r.x.Status != record.OK) }

// finish turns r into a record. It returns false when rd was given up meanwhile:
// then r is not its business any more.
func (f *finisher) finish(r *request, rd *reader) bool {
	a := &rd.answer
	readAnswer(a, &r.x, f.render.spec)
	rec := f.record(r, a)
	if r.goesOn {
		next := f.follow(r, a, rec)
		if !rd.goesOn() {
			return false
		}
		f.post(next)
	}
	f.count(a, rec)
	f.judge(rec)
	var detail any
	if f.job.Detail != nil {
		detail = f.job.Detail(rec, &r.x, Said{Text: a.text, Reasoning: a.reasoning, Tool: a.tool})
	}
	if !rd.end() {
		return false
	}
	f.back.Release(&r.x)
	f.book(r, rec, detail)
	f.render.recycle(r)
	return true
}

func (f *finisher) judge(rec *record.Record) {
	if rec.SLOSet = f.job.Judge != nil; rec.SLOSet {
		rec.SLOFailed = f.job.Judge(rec)
	}
}

// book counts rec and hands it on.
func (f *finisher) book(r *request, rec *record.Record, detail any) {
	f.tally(r.phase, rec)
	f.live.add(rec)
	f.out.put(finished{order: r.ended, rec: rec, detail: detail}, false)
}

// follow renders the turn after r, with the answer in its history. Without an
// answer the conversation is over.
func (f *finisher) follow(r *request, a *answer, rec *record.Record) event {
	p, pl := r.phase, r.play
	if rec.Failed() {
		return event{kind: playOver, phase: p, play: pl, turn: r.turn + 1, at: r.end()}
	}
	due := p.followUp(r)
	turn := r.current()
	role := turn.Role
	if role == "" {
		role = "user"
	}
	pl.history = append(pl.history,
		endpoint.Message{Role: role, Content: strings.Join(turn.Texts, "\n")},
		endpoint.Message{Role: "assistant", Content: a.said()})
	return event{kind: turnReady, r: f.render.render(p, pl, r.turn+1), at: due}
}

// record copies everything that is known without counting tokens.
func (f *finisher) record(r *request, a *answer) *record.Record {
	x, p, turn := &r.x, r.phase, r.current()
	rec := record.New()
	rec.RequestID, rec.Phase, rec.Warmup = r.id, p.cfg.Name, p.warmup
	rec.SessionID, rec.SessionNum, rec.ConversationID, rec.Turn = r.play.id, r.play.num, r.play.conversation.ID, int64(r.turn)
	rec.Model, rec.URL = r.model, f.urls[r.play.target]
	rec.XRequestID, rec.XCorrelationID = r.requestID, r.play.id
	sum := sha256.Sum256(x.Body)
	rec.PromptSHA = hex.EncodeToString(sum[:8])
	rec.Intended, rec.Admitted = r.intended, r.admitted
	rec.Sent, rec.WriteEnd, rec.FirstByte, rec.End, rec.CancelAsked = x.Sent, x.WriteEnd, x.FirstByte, r.end(), x.CancelAsked
	rec.FirstToken, rec.FirstOutput, rec.LastToken = a.first, a.firstOutput, a.last
	rec.FinishReason, rec.Streamed = a.finish, x.Streamed
	rec.ISL = r.isl
	if turn.MaxTokens > 0 {
		rec.OSLRequested = turn.MaxTokens
	}
	rec.Chunks = append([]record.Chunk(nil), a.chunks...)
	rec.ReceiveLag, rec.Reused = x.ReceiveLag, x.Reused
	rec.BytesSent, rec.BytesReceived = x.BytesSent, x.BytesReceived
	rec.DNS, rec.Dial, rec.TLS = x.DNS, x.Dial, x.TLS
	f.status(r, a, &rec)
	rec.InWindow = !p.warmup && !p.cfg.ExcludeFromResults && !(r.late && rec.Status == record.Cancelled)
	return &rec
}

// tooManyRequests is the status of a server that limits the rate.
const tooManyRequests = 429

// cancelledStatus is the HTTP status of requests that we cancelled on purpose.
const cancelledStatus = 499

// status says how r ended, in the server's words where it said something.
func (f *finisher) status(r *request, a *answer, rec *record.Record) {
	x := &r.x
	rec.Status, rec.HTTPStatus = x.Status, x.HTTPStatus
	kind, text := x.ErrorKind, x.ErrorText
	switch {
	case x.Status == record.OK:
		rec.Status, kind, text = a.verdict(x, f.render.spec)
	case x.Status == record.Cancelled && r.late:
		kind, text = "grace_over", "cancelled: no answer before the phase's grace was over"
	case x.Status == record.Cancelled:
		rec.HTTPStatus = cancelledStatus
		kind, text = "cancelled", "cancelled on purpose"
	case x.Status == record.HTTPError:
		text = ownWords(x.Payload, text)
		if x.HTTPStatus == tooManyRequests {
			kind = "rate_limited"
		}
		if x.RetryAfter != "" {
			text += " (Retry-After: " + x.RetryAfter + ")"
		}
	}
	rec.ErrorKind, rec.ErrorMessage = kind, f.clean(text)
}

// count fills in the tokens. An answer's text is encoded as a whole: counting
// chunk by chunk would count their seams.
func (f *finisher) count(a *answer, rec *record.Record) {
	u := a.usage
	rec.UsagePrompt, rec.UsageCompletion, rec.UsageReasoning, rec.UsageTotal, rec.Cached = u.Prompt, u.Completion, u.Reasoning, u.Total, u.Cached
	if f.job.Endpoint.UseServerTokenCount {
		f.believe(rec)
		return
	}
	if !f.render.spec.ProducesTokens || f.render.tok == nil || a.content == 0 {
		return
	}
	rec.OutputTokens = f.tokens(a.text) + f.tokens(a.tool)
	rec.ReasoningTokens = f.tokens(a.reasoning)
	rec.OSL = rec.OutputTokens + rec.ReasoningTokens
}

func (f *finisher) tokens(text []byte) int64 {
	if len(text) == 0 {
		return 0
	}
	return int64(f.render.tok.Count(string(text)))
}

// believe takes the server's counts: output is completion without reasoning.
func (f *finisher) believe(rec *record.Record) {
	rec.ISL = rec.UsagePrompt
	if !f.render.spec.ProducesTokens || rec.UsageCompletion == record.None {
		return
	}
	rec.OSL, rec.OutputTokens, rec.ReasoningTokens = rec.UsageCompletion, rec.UsageCompletion, 0
	if rec.UsageReasoning != record.None {
		rec.ReasoningTokens = rec.UsageReasoning
		rec.OutputTokens -= rec.UsageReasoning
	}
}

// armedAfter is how many records there must be before their failures can stop
// the run.
func armedAfter(p *phase) int64 { return int64(max(p.cfg.Concurrency, 10)) }

// tally counts rec, and stops the phase when too many have failed.
func (f *finisher) tally(p *phase, rec *record.Record) {
	switch rec.Status {
	case record.OK:
		p.tally.ok.Add(1)
	case record.Cancelled:
		p.tally.cancelled.Add(1)
	default:
		p.tally.failed.Add(1)
	}
	limit := p.cfg.FailedRequestThreshold
	if limit == nil || p.failing.Load() {
		return
	}
	failed := p.tally.failed.Load()
	all := failed + p.tally.ok.Load() + p.tally.cancelled.Load()
	if all >= armedAfter(p) && float64(failed) > *limit*float64(all) {
		p.failing.Store(true)
		p.engine.failing.Store(true)
		f.wake()
	}
}
