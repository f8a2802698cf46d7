package runner

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/stats"
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
var boundTags = [...]string{"time_to_first_token", "request_latency", "inter_token_latency"}

// bounds takes both ends of r's spans: what arrived in a shared read came in
// (low, at].
//
//	time to first token  [low(first) − sent, at(first) − sent]
//	request latency      [low(last) − sent, at(last) − sent]
//	ITL                  [low(last) − at(first), at(last) − low(first)] / (OSL − 1)
func (p *PhaseEvidence) bounds(r *record.Record) {
	var first, last record.Chunk
	n := 0
	for _, c := range r.Chunks {
		if !c.IsContent() {
			continue
		}
		if n == 0 {
			first = c
		}
		last = c
		n++
	}
	if n == 0 || r.Sent == record.None || !r.Streamed {
		return
	}
	p.ends[0].add(first.Low-r.Sent, first.At-r.Sent, 1)
	p.ends[1].add(last.Low-r.Sent, last.At-r.Sent, 1)
	if r.OSL > 1 {
		p.ends[2].add(last.Low-first.At, last.At-first.Low, r.OSL-1)
	}
}

func (e *ends) add(low, high, per int64) {
	scale := 1e6 * float64(per)
	e.low = append(e.low, max(0, float64(low))/scale)
	e.high = append(e.high, float64(high)/scale)
}

// apart is how far the ends of a percentile may be from each other before both
// are told, as a share.
const apart = 0.05

// Bounds are the percentiles whose ends are more than 5 % apart. The samples
// must be sorted.
func (p *PhaseEvidence) Bounds() []Bound {
	var out []Bound
	for i, tag := range boundTags {
		e := &p.ends[i]
		for _, s := range []struct {
			name string
			q    float64
		}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}} {
			low, high := stats.Quantile(e.low, s.q), stats.Quantile(e.high, s.q)
			if !math.IsNaN(low) && high-low > apart*high {
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

// Notices are what the phases have to say, one of each kind.
func (e *Evidence) Notices() []Notice {
	worst := map[string]Notice{}
	for _, p := range e.Phases {
		for _, n := range slices.Concat(p.boundNotices(), p.intendedNotices(), p.skippedNotices()) {
			if w, ok := worst[n.ID]; !ok || n.Size > w.Size {
				worst[n.ID] = n
			}
		}
	}
	var out []Notice
	for _, n := range worst {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b Notice) int { return compareText(a.ID, b.ID, a.Text, b.Text) })
	return out
}

// notices keeps the worst of each kind over many runs, and in how many it was.
type notices map[string]counted

type counted struct {
	Notice
	runs int
}

func (n notices) take(more []Notice) {
	for _, x := range more {
		w := n[x.ID]
		if w.runs == 0 || x.Size > w.Size {
			w.Notice = x
		}
		w.runs++
		n[x.ID] = w
	}
}

func (n notices) lines() []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(n)) {
		text := n[id].Text
		if n[id].runs > 1 {
			text += fmt.Sprintf(" (the worst of %d runs)", n[id].runs)
		}
		out = append(out, text)
	}
	return out
}

// boundNotices tells the percentile whose ends are furthest apart; the others
// stand in the run's report.
func (p *PhaseEvidence) boundNotices() []Notice {
	all := p.Bounds()
	if len(all) == 0 {
		return nil
	}
	gap := func(b Bound) float64 { return (b.High - b.Low) / b.High }
	b := slices.MaxFunc(all, func(a, b Bound) int { return cmp.Compare(gap(a), gap(b)) })
	text := fmt.Sprintf("%s %s lies between %s and %s: several chunks came in one read, so their stamps are bounds", b.Metric, b.Stat, ms(b.Low), ms(b.High))
	if len(all) > 1 {
		text += fmt.Sprintf(" (and %d more percentiles: bounds in run.json)", len(all)-1)
	}
	return []Notice{{"bounded", text, gap(b)}}
}

// intendedNotices say in words when p99 as the schedule saw it differs from p99
// as sent.
func (p *PhaseEvidence) intendedNotices() []Notice {
	var out []Notice
	for _, m := range []struct {
		tag            string
		sent, intended []float64
	}{{"time_to_first_token", p.TTFT, p.TTFTIntended}, {"request_latency", p.Latency, p.LatencyIntended}} {
		sent, intended := stats.Quantile(m.sent, 0.99), stats.Quantile(m.intended, 0.99)
		if d := intended/sent - 1; d > apart {
			out = append(out, Notice{"intended." + m.tag, fmt.Sprintf("%s p99 is %s from sending and %s from the time the schedule wanted: requests waited before they were sent; users feel the second",
				m.tag, ms(sent), ms(intended)), d})
		}
	}
	return out
}
