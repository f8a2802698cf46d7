package loadgen

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/queue"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/secret"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
)

// releaser takes back what an exchange holds.
type releaser interface{ Release(*transport.Exchange) }

// finisher turns ended requests into records: it reads the answer, counts its
// tokens, judges it, and renders the turn that follows. It works after the
// answer, so that measuring is never disturbed.
type finisher struct {
	job   *Job
	maker *maker
	post  func(event)
	wake  func()
	back  releaser
	hide  *secret.Masker
	urls  addresses
	live  *meter
	work  *queue.Mailbox[*request]
	out   *queue.Mailbox[finished]

	mu   sync.Mutex
	late []lateOne
}

// finished is a record and its place in the order of completion. When its request was
// admitted may come later, by itself, without a record.
type finished struct {
	order     int64
	rec       *record.Record
	detail    any
	unsettled bool
	admitted  int64
}

// Said is the text of an answer, valid until the callee returns.
type Said struct {
	Text, Reasoning, Tool []byte
	Asked                 *dataset.Known // the question, where its answer is known
	// Judged is what Job.Grade says of an answer that came. Who keeps it longer finds it
	// complete when the record is emitted.
	Judged *grade.Judgement
}

// linger is how long an ended request waits for others to be finished with, and
// a record to be collected with. Only what somebody waits for is finished with
// at once: an answer that a turn follows, and a failure, of which too many end
// the run.
const linger = 20 * time.Millisecond

// accept queues a request that has ended.
func (f *finisher) accept(r *request) { f.work.Put(r, r.goesOn || r.x.Status != record.OK) }

// finish turns r into a record. It returns false when rd was given up meanwhile:
// then r is not its business any more.
func (f *finisher) finish(r *request, rd *reader) bool {
	if r.silent {
		return f.pass(r, rd)
	}
	a := &rd.answer
	readAnswer(a, &r.x, f.maker.Spec)
	rec := f.record(r, a)
	if r.goesOn {
		next := f.follow(r, a, rec)
		if !rd.goesOn() {
			return false
		}
		f.post(next)
	}
	f.count(a, rec)
	said := Said{Text: a.text, Reasoning: a.reasoning, Tool: a.tool, Asked: r.play.Conversation.Known}
	later := f.grade(rec, &said)
	f.judge(rec)
	var detail any
	if f.job.Detail != nil {
		detail = f.job.Detail(rec, &r.x, said)
	}
	if !rd.end() {
		return false
	}
	f.back.Release(&r.x)
	f.book(r, rec)
	f.hand(finished{order: r.ended, rec: rec, detail: detail, unsettled: r.unsettled}, later)
	f.maker.recycle(r)
	return true
}

func (f *finisher) judge(rec *record.Record) {
	if rec.SLOSet = f.job.Judge != nil; rec.SLOSet {
		rec.SLOFailed, rec.SLOFailedSent = f.job.Judge(rec)
	}
}

// grade judges the answer to a question, or returns what does so later.
func (f *finisher) grade(rec *record.Record, said *Said) (later func()) {
	if said.Asked == nil || f.job.Grade == nil {
		return nil
	}
	if said.Judged = new(grade.Judgement); !rec.Succeeded() {
		return nil
	}
	judge := func(of Said) {
		*of.Judged = f.job.Grade(of.Asked, of)
		rec.Answer, rec.AnswerWhy = judgedAs(of.Judged, rec.FinishReason)
	}
	if f.job.Slow == nil || !f.job.Slow(said.Asked) {
		judge(*said)
		return nil
	}
	rec.Answer, rec.AnswerWhy = record.NotJudged, "not reached before the run was stopped"
	of := *said
	of.Text, of.Reasoning, of.Tool = slices.Clone(said.Text), slices.Clone(said.Reasoning), slices.Clone(said.Tool)
	return func() {
		judge(of)
		f.judge(rec)
	}
}

// hand gives a record to the collector: at once, or, where its answer is judged later,
// with all that came after it when settle has done that.
func (f *finisher) hand(one finished, later func()) {
	if later == nil {
		f.out.Put(one, false)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.late = append(f.late, lateOne{one, later})
}

// lateOne is a record whose answer is judged when nothing is sent any more.
type lateOne struct {
	finished
	judge func()
}

// settle judges what waits for it, on all processors; once the run is aborted, nothing.
func (f *finisher) settle(aborted *atomic.Bool) {
	var all sync.WaitGroup
	turn := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, one := range f.late {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			if !aborted.Load() {
				one.judge()
			}
			f.out.Put(one.finished, false)
		})
	}
	all.Wait()
}

// judgedAs is what becomes of an answer. One that was cut off is wrong only
// where it says clearly what is wrong: what is read out of its middle is no answer.
func judgedAs(j *grade.Judgement, finish string) (record.Answer, string) {
	why, short := j.Reason, strings.Contains(finish, "length") || strings.Contains(finish, "max_tokens")
	if short && j.Outcome != grade.Right {
		why = record.AtTokenLimit
	}
	switch {
	case j.Outcome == grade.Right:
		return record.Right, ""
	case j.Outcome == grade.NotJudged, short && j.Unparsed:
		return record.NotJudged, why
	}
	return record.Wrong, why
}

// book counts rec.
func (f *finisher) book(r *request, rec *record.Record) {
	f.tally(r.phase, rec)
	f.live.add(rec)
	if r.phase.scaling.read(rec) {
		f.wake()
	}
}

// pass is finish for a request that was not sent.
func (f *finisher) pass(r *request, rd *reader) bool {
	if r.goesOn {
		next := f.next(r)
		if !rd.goesOn() {
			return false
		}
		f.post(next)
	}
	if !rd.end() {
		return false
	}
	f.maker.recycle(r)
	return true
}

// follow renders what follows r, with the answer in its history. Without an
// answer the conversation is over.
func (f *finisher) follow(r *request, a *answer, rec *record.Record) event {
	if !rec.Succeeded() {
		return event{kind: playOver, phase: r.phase, play: r.play, turn: r.turn + 1, answered: r.end()}
	}
	r.play.Answered(r.turn, f.maker.Spec.Answer(a.said(), dataOf(&r.x)))
	return f.next(r)
}

// next renders what follows r: the first turns of what its turn starts, and the
// turn after it.
func (f *finisher) next(r *request) event {
	p, pl, end := r.phase, r.play, r.end()
	ev := event{kind: turnReady, phase: p, play: pl, turn: r.turn, answered: end}
	from := end
	if r.silent && r.turn == 0 && pl.depth == 0 { // the delay of a later turn, and of a child, lies before it
		from = later(end, int64(r.current().Delay))
	}
	ev.starts = f.maker.starts(p, pl, r.current().Starts, r.turn)
	for _, c := range ev.starts {
		c.intended = p.startAt(c.current(), from)
	}
	if !r.last() {
		ev.at = p.followUp(r)
		ev.r = f.maker.request(p, pl, r.turn+1)
	}
	return ev
}

// record copies everything that is known without counting tokens.
func (f *finisher) record(r *request, a *answer) *record.Record {
	x, p, turn := &r.x, r.phase, r.current()
	rec := record.New()
	rec.RequestID, rec.Phase, rec.Warmup = r.id, p.cfg.Name, p.warmup
	rec.SessionID, rec.SessionNum, rec.ConversationID, rec.Turn = r.play.ID, r.play.num,
		r.play.Conversation.ID, r.play.number(r.turn)
	rec.ParentSession, rec.RootSession, rec.Depth = r.play.from, r.play.root, r.play.depth
	rec.Model, rec.URL = r.Model, f.urls.of(x.Target, f.maker.Path(r.Model, x.Stream))
	rec.XRequestID, rec.XCorrelationID = r.RequestID, r.play.ID
	sum := sha256.Sum256(x.Body)
	rec.PromptSHA = hex.EncodeToString(sum[:8])
	rec.Intended, rec.Admitted, rec.Open = r.intended, r.admitted, !p.load.Closed
	rec.Sent, rec.WriteEnd, rec.FirstByte, rec.End, rec.CancelAsked = x.Sent, x.WriteEnd, x.FirstByte, r.end(),
		x.CancelAsked
	rec.FirstToken, rec.FirstOutput, rec.LastToken = a.first, a.firstOutput, a.last
	rec.FinishReason, rec.Streamed = words.Line(f.hide.Text(a.finish)), x.Streamed
	rec.ServedModel = words.Line(f.hide.Text(a.model))
	rec.ISL = r.ISL
	if k := r.play.Conversation.Known; k != nil { // its answer is as long as it is
		rec.Item = k.Item
	} else if n := asked(turn); n > 0 && f.maker.Spec.ProducesTokens { // nothing else is asked for it
		rec.OSLRequested = n
	}
	rec.Chunks = append([]record.Chunk(nil), a.chunks...)
	rec.ReceiveLag, rec.Reused, rec.Resent, rec.ResentRead = x.ReceiveLag, x.Reused, x.Resent, x.ResentRead
	rec.BytesSent, rec.BytesReceived = x.BytesSent, x.BytesReceived
	rec.DNS, rec.Dial, rec.TLS, rec.Connecting = x.DNS, x.Dial, x.TLS, x.Connecting
	things(r, a, f.maker.Spec, &rec)
	f.status(r, a, &rec)
	if x.Media > 0 && rec.Status == record.OK {
		rec.MediaBytes, rec.MediaSHA = x.Media, x.MediaSHA
	}
	rec.Measured = p.counts()
	rec.InWindow = rec.Measured && rec.Status != record.Cut
	if r.shunned && r.turn == 0 && rec.Depth == 0 && len(r.starts) == 0 {
		nameless(&rec)
	}
	return &rec
}

// nameless takes away what a request would have been known by, had it been sent: a
// schedule that goes on while its server is gone has many, and without names they
// are alike.
func nameless(rec *record.Record) {
	rec.SessionID, rec.RootSession, rec.XRequestID, rec.XCorrelationID, rec.PromptSHA = "", "", "", "", ""
}

// asked is how many tokens an answer may have at most, 0 where nothing says.
func asked(t *dataset.Turn) int64 {
	if t.Raw != nil {
		return endpoint.Limit(t.Raw)
	}
	return t.MaxTokens
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
	case x.Status == record.OK, x.Status == record.Truncated && a.done: // nothing after an end mark counts
		rec.Status, kind, text = a.verdict(x, f.maker.Spec)
		if wrong := f.maker.Spec.Missing(r.current(), f.job.Endpoint.Extra, a.items, a.places); wrong != "" &&
			rec.Status == record.OK {
			rec.Status, kind, text = record.ParseError, "count", wrong
		}
	case x.Status == record.Cancelled && r.late:
		rec.Status = record.Cut
		kind, text = cutWords(r.phase)
	case x.Status == record.Cancelled:
		rec.HTTPStatus = cancelledStatus
		// AIPerf's words
		kind, text = "cancelled", fmt.Sprintf("Request cancelled %.3fs after being sent", float64(x.CancelAfter)/1e9)
	case x.Status == record.HTTPError:
		if len(x.Events) == 0 { // else they are what came before a gRPC stream failed
			text = OwnWords(x.Payload, text)
		}
		if x.HTTPStatus == tooManyRequests {
			kind = "rate_limited"
		}
		if x.RetryAfter != "" {
			text += " (Retry-After: " + x.RetryAfter + ")"
		}
	}
	rec.ErrorKind, rec.ErrorMessage = kind, f.clean(text)
	if x.Status == record.HTTPError && len(x.Events) == 0 && string(x.Payload) != rec.ErrorMessage {
		rec.ErrorBody = f.verbatim(x.Payload)
	}
}

// count fills in the tokens. An answer's text is encoded as a whole: counting
// chunk by chunk would count their seams.
func (f *finisher) count(a *answer, rec *record.Record) {
	u := a.usage
	rec.UsagePrompt, rec.UsageCompletion, rec.UsageReasoning, rec.UsageTotal, rec.Cached = u.Prompt, u.Completion,
		u.Reasoning, u.Total, u.Cached
	rec.UsageAccepted, rec.UsageRejected = u.Accepted, u.Rejected
	if f.job.Endpoint.UseServerTokenCount {
		f.believe(rec)
		return
	}
	if !f.maker.Spec.ProducesTokens || f.maker.Tokenizer == nil || a.content == 0 || a.media ||
		len(a.text)+len(a.tool)+len(a.reasoning) == 0 { // pictures, say, have no tokens
		return
	}
	output, reasoning := f.tokens(a.output()), f.tokens(a.reasoning)
	if tokenizer.Err(f.maker.Tokenizer) != nil {
		return // unknown, rather than wrong
	}
	rec.OutputTokens, rec.OSL = output, output+reasoning
	if len(a.reasoning) > 0 { // else there is none, which is not a count of 0
		rec.ReasoningTokens = reasoning
	}
}

func (f *finisher) tokens(text []byte) int64 {
	if len(text) == 0 {
		return 0
	}
	return int64(f.maker.Tokenizer.Count(string(text)))
}

// believe takes the server's counts: output is completion without reasoning, which
// may be 0 or not said.
func (f *finisher) believe(rec *record.Record) {
	rec.ISL = rec.UsagePrompt
	if !f.maker.Spec.ProducesTokens || rec.UsageCompletion == record.None {
		return
	}
	rec.OSL, rec.OutputTokens, rec.ReasoningTokens = rec.UsageCompletion, rec.UsageCompletion, rec.UsageReasoning
	if rec.UsageReasoning != record.None {
		rec.OutputTokens -= rec.UsageReasoning
	}
}

// armedAfter is how many records there must be before their failures can stop
// the run.
func armedAfter(p *phase) int64 { return int64(max(p.cfg.Concurrency, 10)) }

// cutWords says why r's phase cut off what was under way.
func cutWords(p *phase) (kind, text string) {
	if p.engine.interrupted.Load() {
		return "interrupted", "cut off: the run was stopped"
	}
	if p.engine.stalled.Load() {
		return "stalled", "cut off: nothing came from the server any more"
	}
	return "grace_over", "cut off: no answer before the phase's grace was over"
}

// tally counts rec, and stops the phase when too many have failed.
func (f *finisher) tally(p *phase, rec *record.Record) {
	t := &p.books.tally
	switch rec.Status {
	case record.OK:
		t.ok.Add(1)
	case record.Cancelled:
		t.cancelled.Add(1)
	case record.Cut:
		t.cut.Add(1)
	default:
		t.failed.Add(1)
	}
	if rec.ErrorKind == missedKind {
		t.missed.Add(1)
	}
	failed, all, limit := t.failed.Load(), t.all(), p.cfg.FailedRequestThreshold
	if all < armedAfter(p) || p.tooMany.Load() != nil {
		return
	}
	why := tooMany{failed: failed, of: all}
	switch {
	case t.missed.Load() == all: // a mistake in a setting, which every further answer only repeats
		why.missed = rec.ErrorMessage
	case limit == nil || float64(failed) <= *limit*float64(all):
		return
	}
	p.tooMany.CompareAndSwap(nil, &why)
	p.engine.failing.Store(true)
	f.wake()
}

// things fills in what is no text, and what is known of the server's own work.
func things(r *request, a *answer, spec *endpoint.Spec, rec *record.Record) {
	if a.items > 0 {
		rec.Items = a.items
		rec.ItemKind = cmp.Or(spec.Items, a.thing)
	}
	if a.dims > 0 {
		rec.Dimensions = a.dims
	}
	if n := len(r.current().Images); n > 0 {
		rec.Images = int64(n)
	}
	var sound time.Duration
	for i := range r.current().Audios {
		sound += r.current().Audios[i].Length
	}
	if sound > 0 {
		rec.AudioSeconds = sound.Seconds()
	}
	t := &a.timings
	rec.ServerQueue, rec.ServerPrefill, rec.ServerDecode = t.Queue, t.Prefill, t.Decode
	rec.VideoInference, rec.VideoMemory = t.Inference, t.PeakMemory
	if j := r.job; j.begun > 0 && j.made >= j.begun { // a job, as its steps saw it
		rec.ServerQueue, rec.ServerDecode = float64(j.begun-rec.Sent)/1e6, float64(j.made-j.begun)/1e6
		if j.fetched >= j.made {
			rec.Download = float64(j.fetched-j.made) / 1e6
		}
	}
}

// collect hands the records to emit in the order in which their requests ended,
// until all have come. Several finishers work at once, so it holds back what is
// ahead of its turn, and what is not known in full.
func (f *finisher) collect(emit func(finished)) {
	ahead := map[int64]finished{}
	var next int64
	for {
		one, ok := f.out.Pop()
		if !ok {
			return
		}
		if half, two := ahead[one.order]; two {
			one = f.join(one, half)
		}
		ahead[one.order] = one
		for one, ok = ahead[next]; ok && one.rec != nil && !one.unsettled; one, ok = ahead[next] {
			delete(ahead, next)
			next++
			emit(one)
		}
	}
}

// join puts a record together with when its request was admitted.
func (f *finisher) join(a, b finished) finished {
	if a.rec == nil {
		a, b = b, a
	}
	a.unsettled, a.rec.Admitted = false, b.admitted
	f.judge(a.rec) // which may have asked for it
	return a
}

// emit hands over a record, its details first where they are wanted.
func (j *Job) emit(f finished) {
	if f.rec.Status == record.Unsent {
		j.Unsent(f.rec)
		return
	}
	if j.Keep != nil {
		j.Keep(f.rec, f.detail)
	}
	j.Emit(f.rec)
}
