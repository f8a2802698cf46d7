package verdict

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/internal/words"
)

// Bound is a percentile that is only known to lie between two values: some of
// its stamps are intervals, because several events came in one read.
type Bound struct {
	Metric string  `json:"metric"`
	Stat   string  `json:"stat"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// ends are both ends of a metric that is computed from arrival stamps, in ms.
type ends struct{ low, high []float64 }

// boundTags are the metrics that have two ends, in the order of PhaseEvidence.ends.
var boundTags = [...]string{metrics.TimeToFirstToken, metrics.RequestLatency, metrics.InterTokenLatency}

// bounds takes both ends of r's spans: what arrived in a shared read came in
// (low, at].
//
//	time to first token  [low(first) − sent, at(first) − sent]
//	request latency      [low(last) − sent, at(last) − sent]
//	ITL                  [0, at(last) − low(first)] / (OSL − 1) of an answer in one read
func (p *PhaseEvidence) bounds(r *record.Record) {
	var first, last record.Chunk
	n, one := 0, false // one: all came in one read
	for _, c := range r.Chunks {
		if !c.IsContent() {
			continue
		}
		if n == 0 {
			first = c
		}
		one = n == 0 || one && c.SameRead
		last = c
		n++
	}
	if n == 0 || r.Sent == record.None || !r.Streamed {
		return
	}
	if r.FirstByte != record.None && r.FirstByte < first.At { // an answer's content cannot have come before its header
		first.Low, last.Low = max(first.Low, r.FirstByte), max(last.Low, r.FirstByte)
	}
	p.ends[0].add(first.Low-r.Sent, first.At-r.Sent, 1)
	p.ends[1].add(last.Low-r.Sent, last.At-r.Sent, 1)
	switch {
	case r.OSL <= 1:
	case one: // nothing but the read is known
		p.ends[itlEnds].add(0, last.At-first.Low, r.OSL-1)
	default:
		p.ends[itlEnds].add(last.At-first.At, last.At-first.At, r.OSL-1)
	}
}

func (e *ends) add(low, high, per int64) {
	scale := 1e6 * float64(per)
	e.low = append(e.low, max(0, float64(low))/scale)
	e.high = append(e.high, float64(high)/scale)
}

// resolution is that of the stamps, in ms: ends of a percentile that are closer are
// one value.
const resolution = 1e-3

// apart is how far two values of one percentile may be from each other before both
// are told, as a share.
const apart = 0.05

// itlEnds is where the ends of the inter token latency are among them.
const itlEnds = 2

// Bounds are the percentiles that have two ends. Intervals of the inter token latency
// over trials are not narrower than those of a run. The ends of the others are told
// where they are more than 5 % apart, and move nothing: an answer's last token nearly
// always shares its read with the end mark, and the read before it, which is its lower
// end, is as far away as a token takes. The samples must be sorted.
func (p *PhaseEvidence) Bounds() []Bound {
	var out []Bound
	for i, tag := range boundTags {
		e := &p.ends[i]
		for _, s := range []struct {
			name string
			q    float64
		}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
			low, high := stats.Quantile(e.low, s.q), stats.Quantile(e.high, s.q)
			least := resolution
			if i != itlEnds {
				least = apart * high
			}
			if high-low > least {
				out = append(out, Bound{tag, s.name, low, high})
			}
		}
	}
	return out
}

// Bounds are those of all phases; one phase is the rule.
func (e *Evidence) Bounds() []Bound {
	var out []Bound
	for _, p := range e.Phases {
		out = append(out, p.Bounds()...)
	}
	return out
}

// Notice is something a reader of the numbers should know that is no doubt
// about them.
type Notice struct {
	ID   string  `json:"id"`
	Text string  `json:"text"`
	Size float64 `json:"size"` // the larger, the more it matters
}

// Notices are what a reader of the run should know, one of each kind. shown is the
// statistic of a metric that the run's table has, so that a sentence names its numbers.
func (e *Evidence) Notices(shown func(tag string) (metrics.Stat, bool)) []Notice {
	worst := map[string]Notice{}
	take := func(notices ...Notice) {
		for _, n := range notices {
			if w, ok := worst[n.ID]; !ok || n.Size > w.Size {
				worst[n.ID] = n
			}
		}
	}
	take(e.intendedNotices(shown)...)
	for _, p := range e.Phases {
		take(slices.Concat(p.skippedNotices(), p.tokenNotices(e), p.backlogNotices(), p.connectingNotices())...)
	}
	return slices.SortedFunc(maps.Values(worst),
		func(a, b Notice) int { return cmp.Or(cmp.Compare(b.Size, a.Size), strings.Compare(a.ID, b.ID)) })
}

// NoticeCounts keeps the worst of each kind over many runs, and in how many it was.
type NoticeCounts map[string]counted

type counted struct {
	Notice
	runs int
}

func (n NoticeCounts) Add(more []Notice) {
	for _, x := range more {
		w := n[x.ID]
		if w.runs == 0 || x.Size > w.Size {
			w.Notice = x
		}
		w.runs++
		n[x.ID] = w
	}
}

func (n NoticeCounts) Lines() []string {
	var out []string
	ids := slices.SortedFunc(maps.Keys(n), func(a, b string) int { // the largest effect first
		return cmp.Or(cmp.Compare(n[b].Size, n[a].Size), strings.Compare(a, b))
	})
	for _, id := range ids {
		text := n[id].Text
		if n[id].runs > 1 {
			text += fmt.Sprintf(" (the worst of %d runs)", n[id].runs)
		}
		out = append(out, text)
	}
	return out
}

// whySentLater says why requests were sent after the time that the schedule
// wanted: they waited for a slot or for a connection, which users feel, or this program was
// late, which they would not. The largest sum decides.
func (e *Evidence) whySentLater() string {
	late, waited, connecting, worst := 0.0, 0.0, 0.0, 0.0
	for _, p := range e.Phases {
		if p.Result.Closed {
			continue
		}
		late, waited, connecting = late+stats.Sum(p.Lateness), waited+stats.Sum(p.Wait),
			connecting+stats.Sum(p.Connecting)
		if v := stats.Quantile(p.Lateness, 0.99); v > worst {
			worst = v
		}
	}
	switch {
	case connecting > max(late, waited):
		return "connections were opened for them before they were sent; users feel the second"
	case late > waited:
		return fmt.Sprintf("this client sent late, by %s (p99), so the second is too high", words.Millis(worst))
	}
	return "requests waited for a slot before they were sent; users feel the second"
}

// mostApart is the size of a notice about a percentile without an end.
const mostApart = 1e9

// intendedNotices say in words when p99 as the schedule saw it differs from p99
// as sent. In a closed loop no schedule wanted anything: a stall moves every
// later intended time.
func (e *Evidence) intendedNotices(shown func(tag string) (metrics.Stat, bool)) (out []Notice) {
	if !slices.ContainsFunc(e.Phases, func(p *PhaseEvidence) bool { return !p.Result.Closed }) {
		return nil
	}
	for _, m := range []struct{ sent, intended string }{
		{metrics.TimeToFirstToken, metrics.TimeToFirstTokenFromIntended},
		{metrics.RequestLatency, metrics.RequestLatencyFromIntended},
	} {
		sent, some := shown(m.sent)
		intended, both := shown(m.intended)
		d := intended.P99/sent.P99 - 1
		if !some || !both || !(d > apart) {
			continue
		}
		end, why := words.Millis(intended.P99), ""
		if math.IsInf(d, 1) {
			end, why = "∞", "requests that were cut off or never sent count as infinite"
		} else {
			why = e.whySentLater()
		}
		out = append(out, Notice{"intended." + m.sent, fmt.Sprintf("%s is %s from sending and %s from schedule: %s",
			metrics.Series(m.sent, "p99"), words.Millis(sent.P99), end, why), min(d, mostApart)})
	}
	return out
}

// connectingNotices say what opening connections cost, where it is a share of the time to
// first token that a limit of harm would be: from the schedule that contains it, from
// sending it does not.
func (p *PhaseEvidence) connectingNotices() []Notice {
	took, opened := 0.0, 0
	for _, v := range p.Connecting {
		if took += v; v > 0 {
			opened++
		}
	}
	name, answers := "time to first token", p.TTFTIntended
	if len(answers) == 0 {
		name, answers = "request latency", p.LatencyIntended
	}
	mean := took / float64(len(p.Connecting))
	share := mean / stats.Mean(answers)
	if !(share > harmDoubted) {
		return nil
	}
	return []Notice{{
		"connecting",
		fmt.Sprintf("%d of %s needed a new connection, which took %s on average; the %s from schedule includes it (%s of it), "+
			"the one from sending does not",
			opened, words.Count(int64(len(p.Connecting)), "request"), words.Millis(took/float64(opened)),
			name, words.Percent(share)), share,
	}}
}

// tokenNotices say when the client counts another number of output tokens than
// the server: text of a model with another tokenizer, or random text, does.
func (p *PhaseEvidence) tokenNotices(e *Evidence) []Notice {
	d := median(p.TokenDiff)
	if e.ServerTokens || !(d > harmDoubted) {
		return nil
	}
	return []Notice{{"tokens", fmt.Sprintf("the server and this program count output tokens differently: %s apart (median); --use-server-token-count uses the server's", words.Percent(d)), d}}
}
