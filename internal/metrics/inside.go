package metrics

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
)

// Rates of the steady window count parts: a request that began before
// the window or ended after it counts with the share of it that lies inside. Counting
// what ended inside alone loses up to one wave of a closed loop. Requests, tokens and
// mean lengths weigh a request by the same share, and the mean latency is the time that
// requests were under way in the window for each that was delivered there, so that
// they agree with each other, whatever the load and however few the requests:
//
//	rate × mean OSL = tokens/s
//	rate × mean latency = mean in flight
//
// The share of a streamed answer is what was delivered of it, by the stamps of its
// chunks: each is spread over the time since the one before, and the first counts when
// it came. Where a server's queue fills at the start of a run, its waiting
// requests have had a share of their time and nothing else: by time, a full server
// that is given twice the requests would seem to do more. Of an answer that came as a
// whole nothing but its time is known.
//
// A mean of the latencies themselves, weighed by the shares, would leave out the
// longest, whose answers came after the window; time for each delivered holds them, and
// is what a queue that grows makes the next request wait. The percentiles are those of
// the requests that were sent inside, and so are the means of all other times: a window
// shorter than a latency may have a mean that lies outside of them.

// inside is the share of r that lies in w.
func inside(r *record.Record, w Window) float64 {
	switch {
	case r.Sent == record.None || r.End == record.None:
		return 0
	case r.Sent >= w.Start && r.End <= w.End && (r.Sent < w.End || r.End > w.Start):
		return 1
	case r.End <= w.Start || r.Sent >= w.End:
		return 0
	case r.Streamed:
		if share, ok := delivered(r, w); ok {
			return share
		}
	}
	return overlap(r.Sent, r.End, w)
}

// overlap is the share of the time from a to b that lies in w.
func overlap(a, b int64, w Window) float64 {
	return float64(max(0, min(b, w.End)-max(a, w.Start))) / float64(b-a)
}

// residence is how many ns of r's latency lie in w.
func residence(r *record.Record, w Window) float64 {
	return max(0, float64(min(r.LastToken, w.End)-max(r.Sent, w.Start)))
}

// delivered is the share of r's content that came in w; false where it came at one
// time. What came in one read came since the read before; of the first nobody knows
// since when it was worked on, for it may have waited.
func delivered(r *record.Record, w Window) (share float64, ok bool) {
	before, last, n, reads := r.Sent, 0, 0, 0 // last: chunks of the newest read
	sum := 0.0
	flush := func(at int64) {
		if last > 0 {
			if reads++; reads == 1 {
				sum += float64(last) * truth(at > w.Start && at <= w.End)
			} else {
				sum += float64(last) * overlap(before, at, w)
			}
		}
	}
	at := int64(record.None)
	for _, x := range r.Chunks {
		if !x.IsContent() {
			continue
		}
		n++
		if x.At > at && x.At > before {
			if at != record.None {
				flush(at)
				before = at
			}
			at, last = x.At, 0
		}
		last++
	}
	if at == record.None {
		return 0, false
	}
	flush(at)
	return sum / float64(n), reads > 1
}

// weighed is what values amount to that count with weights (West's update of a
// weighted mean).
type weighed struct{ weight, mean, m2 float64 }

func (x *weighed) add(v, weight float64) {
	if math.IsNaN(v) || weight == 0 {
		return
	}
	x.weight += weight
	d := v - x.mean
	x.mean += d * weight / x.weight
	x.m2 += weight * d * (v - x.mean)
}

// total is Σ value × weight.
func (x *weighed) total() float64 { return x.mean * x.weight }

func (x *weighed) std() float64 { return math.Sqrt(max(0, x.m2/x.weight)) }

// steadyPart is what came in the steady window.
type steadyPart struct {
	requests, good, goodSent float64   // parts of successes; of those that met every SLO, by each clock
	time                     float64   // ns that successes were under way, up to their last content
	values                   []weighed // parallel to the catalogue: values of successes
	cutTokens                float64   // output tokens of requests that were cut off later
}

// count counts a success, r, of which share lies inside w.
func (p *steadyPart) count(r *record.Record, f flag, share float64, w Window) {
	p.requests += share
	p.time += residence(r, w)
	if f&good != 0 {
		p.good += share
	}
	if f&goodSent != 0 {
		p.goodSent += share
	}
}

// longerThanAny is by how much the time inside for each that was delivered may exceed the
// longest of them.
const longerThanAny = 1.25

// average puts the average of the steady window into the statistics of metric i. Where a
// queue grows, those under way wait far longer than any that was answered: that is not the
// mean of those, and the plain one stays.
func (p *steadyPart) average(i int, m *Metric, s *Stat) {
	switch x := &p.values[i]; {
	case m.parted() && x.weight > 0:
		s.Avg, s.Std = x.mean, x.std()
	case m.residence() && p.requests > 0:
		if v := p.time / p.requests / 1e6; v <= longerThanAny*s.Max {
			s.Avg = v
		}
	}
}

// cutTokens is how many output tokens of r, which was cut off, came inside w: nobody
// knows how long it would have lasted, so the stamps of its chunks say it. Where
// nobody counted its tokens, one for each chunk is the least.
func cutTokens(r *record.Record, w Window) float64 {
	chunks, came := 0, 0
	for _, x := range r.Chunks {
		if !x.IsContent() {
			continue
		}
		chunks++
		if x.At >= w.Start && x.At <= w.End {
			came++
		}
	}
	if r.OSL == record.None || chunks == 0 {
		return float64(came)
	}
	return float64(r.OSL) * float64(came) / float64(chunks)
}
