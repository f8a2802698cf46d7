package loadgen

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/endpoint"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/schema"
)

// renderer turns plays into requests ready to be written. What a request looks
// like depends on the seed, the phase and the places of its session and turn,
// never on when it is sent. Safe for concurrent use.
type renderer struct {
	job    *Job
	spec   *endpoint.Spec
	tok    tokenizer.Tokenizer
	path   string
	fixed  []byte // header lines of every request
	stream bool
	sticky bool
	models *models
	done   func(*transport.Exchange)

	pool sync.Pool // *request
	isl  sync.Map  // *dataset.Conversation → int64, the first turn's
}

func newRenderer(job *Job, done func(*transport.Exchange)) (*renderer, error) {
	e := &job.Endpoint
	fixed, err := fixedHeader(e)
	if err != nil {
		return nil, err
	}
	m, err := newModels(job.Models)
	if err != nil {
		return nil, err
	}
	r := &renderer{
		job: job, spec: job.Spec, tok: job.Tokenizer, path: job.Spec.Path, fixed: fixed,
		stream: e.Streaming && job.Spec.CanStream, sticky: e.ConnectionReuse == "sticky-user-sessions",
		models: m, done: done,
	}
	if e.Path != "" {
		r.path = "/" + strings.TrimPrefix(e.Path, "/")
	}
	r.pool.New = func() any { return &request{} }
	return r, nil
}

// fixedHeader is the user's header lines and the key.
func fixedHeader(e *schema.Endpoint) ([]byte, error) {
	var b []byte
	authorized := false
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		if err := transport.CheckHeader(name, e.Headers[name]); err != nil {
			return nil, fmt.Errorf("endpoint.headers: %w", err)
		}
		authorized = authorized || strings.EqualFold(name, "Authorization")
		b = fmt.Appendf(b, "%s: %s\r\n", name, e.Headers[name])
	}
	if e.APIKey != "" && !authorized {
		if transport.CheckHeader("Authorization", e.APIKey) != nil {
			return nil, fmt.Errorf("endpoint.api_key: it holds a control character; hint: is there a line end in it?")
		}
		b = fmt.Appendf(b, "Authorization: Bearer %s\r\n", e.APIKey)
	}
	return b, nil
}

// open starts play index of phase p with conversation c.
func (rd *renderer) open(p *phase, c casting, index int64) (*request, bool) {
	conv, turns, ok := c.next()
	if !ok {
		return nil, false
	}
	pl := &play{
		conversation: conv, turns: turns, index: index, id: uuid(p.keys.session, index, 0),
		model: rd.models.pick(p.keys.model, index), target: int(index % int64(max(1, len(rd.job.Endpoint.URLs)))),
	}
	return rd.render(p, pl, 0), true
}

// render makes turn t of the play a request.
func (rd *renderer) render(p *phase, pl *play, t int) *request {
	r := rd.pool.Get().(*request)
	header, body, bound := r.x.Header[:0], r.x.Body[:0], r.x.OnEvent
	*r = request{phase: p, play: pl, turn: t}
	turn := r.current()
	r.model = pl.model
	if turn.Model != "" {
		r.model = turn.Model
	}
	r.requestID = uuid(p.keys.request, pl.index, t)
	in := endpoint.Input{
		Model: r.model, System: pl.conversation.System, History: pl.history, Turn: turn, Stream: rd.stream,
		Legacy: rd.job.Endpoint.UseLegacyMaxTokens, Usage: rd.stream, Extra: rd.job.Endpoint.Extra,
	}
	r.x.Body, r.broken = rd.spec.Body(body, &in)
	r.x.Header = rd.header(header, r)
	r.isl = rd.count(&in, r)
	r.x.Detailed = rd.job.Detail != nil
	r.x.Target, r.x.Path, r.x.Stream = pl.target, rd.path, rd.stream
	r.x.CancelAfter, r.x.Deadline = p.cancelAfter(pl.index, t), record.None
	if rd.sticky {
		r.x.Affinity = pl.id
	}
	if p.countsPrefill && rd.stream {
		if bound == nil {
			bound = r.onEvent // once per request object: it is reused
		}
		r.x.OnEvent = bound
	}
	r.x.Done, r.x.User = rd.done, r
	return r
}

func (rd *renderer) header(b []byte, r *request) []byte {
	b = append(append(b, "X-Request-ID: "...), r.requestID...)
	b = append(append(b, "\r\nX-Correlation-ID: "...), r.play.id...)
	b = append(b, "\r\n"...)
	b = append(b, rd.fixed...)
	b = append(append(b, "X-Session-Affinity: "...), r.play.id...)
	return append(b, "\r\n"...)
}

// count is the request's ISL: the tokens of everything that the server has to
// read. A dataset that has counted a lone turn is believed.
func (rd *renderer) count(in *endpoint.Input, r *request) int64 {
	if !rd.spec.TakesText || rd.tok == nil || in.Turn.Raw != nil && in.Turn.ISL == 0 {
		return record.None
	}
	if in.Turn.ISL > 0 && in.System == "" && in.Turn.Context == "" && len(in.History) == 0 {
		return in.Turn.ISL
	}
	if in.Turn.Raw != nil {
		return in.Turn.ISL
	}
	if r.turn > 0 {
		return int64(rd.tok.Count(in.Text()))
	}
	if n, ok := rd.isl.Load(r.play.conversation); ok {
		return n.(int64)
	}
	n := int64(rd.tok.Count(in.Text()))
	rd.isl.Store(r.play.conversation, n)
	return n
}

// recycle takes back a request that nobody needs any more.
func (rd *renderer) recycle(r *request) {
	r.play, r.phase = nil, nil
	rd.pool.Put(r)
}

// onEvent watches for the first content, which frees the prefill slot.
func (r *request) onEvent(data []byte) {
	if !r.answered && r.phase.engine.render.spec.HasContent(data) {
		r.answered = true
		r.phase.engine.post(event{kind: firstContent, r: r})
	}
}

// keys are the roots of a phase's choices, one stream each.
type keys struct{ session, request, model, cancel uint64 }

func newKeys(root int64, phase string) keys {
	return keys{
		session: seed.Of(root, "session/"+phase), request: seed.Of(root, "request/"+phase),
		model: seed.Of(root, "model/"+phase), cancel: seed.Of(root, "cancellation/"+phase),
	}
}

// draw is value (index, turn) of the stream with this key: reachable directly,
// so that it does not depend on the order in which requests come.
func draw(key uint64, index int64, turn int) uint64 {
	return mix(mix(key+uint64(index)*0x9e3779b97f4a7c15) + uint64(turn)*0xd1b54a32d192ed03)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// uniform is draw as a number in [0, 1).
func uniform(key uint64, index int64, turn int) float64 {
	return float64(draw(key, index, turn)>>11) / (1 << 53)
}

// uuid is a version 4 UUID out of the stream.
func uuid(key uint64, index int64, turn int) string {
	var b [16]byte
	z := draw(key, index, turn)
	binary.BigEndian.PutUint64(b[:8], z)
	binary.BigEndian.PutUint64(b[8:], mix(z+0x9e3779b97f4a7c15))
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	var s [36]byte
	hex.Encode(s[0:8], b[0:4])
	hex.Encode(s[9:13], b[4:6])
	hex.Encode(s[14:18], b[6:8])
	hex.Encode(s[19:23], b[8:10])
	hex.Encode(s[24:], b[10:])
	s[8], s[13], s[18], s[23] = '-', '-', '-', '-'
	return string(s[:])
}

// cancelAfter is when request (index, turn) is cancelled on purpose, in ns after
// it was written; None for most. Bernoulli with the percentage asked for.
func (p *phase) cancelAfter(index int64, turn int) int64 {
	c := p.cfg.Cancellation
	if c == nil || p.warmup || uniform(p.keys.cancel, index, turn)*100 >= c.Rate {
		return record.None
	}
	return int64(math.Round(c.Delay * 1e9))
}
