package cluster

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/telemetry"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/transport"
)

// merger brings the records of all workers into the order of completion. Each worker's
// are in that order, so a record may go when every other worker has told of a later one.
type merger struct {
	to    func(r *record.Record, beside []byte)
	parts []part
}

// part is what one worker has told and what has not gone.
type part struct {
	next    int64 // number of the batch that is waited for
	early   map[int64]*batch
	records []record.Record
	beside  [][]byte     // each of them
	upTo    int64        // end of the last one
	taken   int64        // how many came
	left    loadgen.Left // what they say, if this worker is lost; nil where nobody asks
}

// mostHeld bounds the records that wait for a worker which tells nothing, as one whose
// answers take long does: then the order is that in which they came.
const mostHeld = 1 << 16

func newMerger(n int64, to func(*record.Record, []byte)) *merger {
	m := &merger{to: to, parts: make([]part, n)}
	for i := range m.parts {
		m.parts[i] = part{early: map[int64]*batch{}, upTo: math.MinInt64}
	}
	return m
}

// add takes a batch. One that came before is left out.
func (m *merger) add(b *batch) {
	if b.K < 0 || b.K >= int64(len(m.parts)) {
		return
	}
	p := &m.parts[b.K]
	if b.N >= p.next {
		p.early[b.N] = b
	}
	for q := p.early[p.next]; q != nil; q = p.early[p.next] {
		delete(p.early, p.next)
		p.next++
		for i := range q.Records {
			q.Records[i].Worker = b.K
			p.upTo = max(p.upTo, q.Records[i].End)
		}
		p.records, p.taken = append(p.records, q.Records...), p.taken+int64(len(q.Records))
		if q.Beside == nil {
			q.Beside = make([][]byte, len(q.Records))
		}
		p.beside = append(p.beside, q.Beside...)
		if p.left != nil {
			for i := range q.Records {
				p.left.Add(&q.Records[i])
			}
		}
	}
	m.emit(false)
}

// came is how many batches of worker k have come, each counted once.
func (m *merger) came(k int64) int64 { return m.parts[k].next + int64(len(m.parts[k].early)) }

// flush hands over what is left.
func (m *merger) flush() { m.emit(true) }

// emit hands over what is in order; all: whatever is there.
func (m *merger) emit(all bool) {
	held, safe := 0, int64(math.MaxInt64)
	for i := range m.parts {
		held += len(m.parts[i].records)
		safe = min(safe, m.parts[i].upTo)
	}
	for all || held > 0 {
		first := -1
		for i := range m.parts {
			p := &m.parts[i]
			if len(p.records) > 0 && (first < 0 || p.records[0].End < m.parts[first].records[0].End) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		p := &m.parts[first]
		if !all && held <= mostHeld && p.records[0].End > safe {
			return
		}
		m.to(&p.records[0], p.beside[0])
		p.records, p.beside = p.records[1:], p.beside[1:]
		held--
	}
}

// together is what the live view shows of all workers: counts and rates add up, and of
// latencies the slowest worker's are shown.
func together(all []*loadgen.Snapshot) (x loadgen.Snapshot, ok bool) {
	for _, l := range all {
		if l == nil {
			continue
		}
		if !ok {
			x, ok = *l, true
			continue
		}
		if l.Start > x.Start { // it is in a later phase
			x.Phase, x.Warmup, x.Start = l.Phase, l.Warmup, l.Start
		}
		x.Planned, x.Sent, x.Done, x.Failed = x.Planned+l.Planned, x.Sent+l.Sent, x.Done+l.Done, x.Failed+l.Failed
		x.Cancelled, x.Cut = x.Cancelled+l.Cancelled, x.Cut+l.Cut
		x.InFlight, x.Target = x.InFlight+l.InFlight, x.Target+l.Target
		x.RequestsPerSecond += l.RequestsPerSecond
		x.OutputTokensPerSecond += l.OutputTokensPerSecond
		for _, v := range [][2]*float64{
			{&x.LagP99, &l.LagP99},
			{&x.TTFTP50, &l.TTFTP50},
			{&x.TTFTP99, &l.TTFTP99},
			{&x.ITLP50, &l.ITLP50},
			{&x.ITLP99, &l.ITLP99},
			{&x.LatencyP50, &l.LatencyP50},
			{&x.LatencyP99, &l.LatencyP99},
		} {
			*v[0] = larger(*v[0], *v[1])
		}
	}
	return x, ok
}

// larger is the larger of two, of which one may be unknown.
func larger(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

// besides is what a machine was like that two workers share: their CPU adds up.
func besides(a, b telemetry.Host) telemetry.Host {
	cpu, busiest, delay := a.CPUSeconds+b.CPUSeconds, a.CPUWorst+b.CPUWorst, a.RunDelay+b.RunDelay
	a = worst(a, b)
	a.CPUSeconds, a.CPUWorst, a.RunDelay = cpu, busiest, delay
	return a
}

// worst is what two machines were like at their worst.
func worst(a, b telemetry.Host) telemetry.Host {
	a.Wall, a.Cores = max(a.Wall, b.Wall), max(a.Cores, b.Cores)
	a.CPUSeconds, a.CPUWorst = larger(a.CPUSeconds, b.CPUSeconds), larger(a.CPUWorst, b.CPUWorst)
	a.RunDelay = larger(a.RunDelay, b.RunDelay)
	a.SchedP99, a.GCLongest = larger(a.SchedP99, b.SchedP99), larger(a.GCLongest, b.GCLongest)
	a.Throttled, a.Steal = larger(a.Throttled, b.Throttled), larger(a.Steal, b.Steal)
	a.WallJump = larger(a.WallJump, b.WallJump)
	a.Hiccup.P999, a.Hiccup.Longest = larger(a.Hiccup.P999, b.Hiccup.P999), larger(a.Hiccup.Longest, b.Hiccup.Longest)
	a.Hiccup.Lost = larger(a.Hiccup.Lost, b.Hiccup.Lost)
	a.Hiccup.N += b.Hiccup.N
	a.Hiccup.Stops = append(a.Hiccup.Stops, b.Hiccup.Stops...)
	return a
}

// addStats adds up what two workers say of their connections.
func addStats(a, b transport.Stats) transport.Stats {
	a.Dials, a.Reconnects = a.Dials+b.Dials, a.Reconnects+b.Reconnects
	a.Reused, a.Resent = a.Reused+b.Reused, a.Resent+b.Resent
	a.Exact, a.Interval = a.Exact+b.Exact, a.Interval+b.Interval
	a.ClockJumps, a.ClockJump = a.ClockJumps+b.ClockJumps, max(a.ClockJump, b.ClockJump)
	if a.Stamps == "" || b.Stamps == "application" {
		a.Stamps = b.Stamps
	}
	a.Closers = append(a.Closers, b.Closers...)
	a.Endless, a.Unasked = append(a.Endless, b.Endless...), append(a.Unasked, b.Unasked...)
	a.Older = append(a.Older, b.Older...)
	if b.StampError.P99 > a.StampError.P99 || a.StampError.N == 0 {
		a.StampError = b.StampError
	}
	return a
}
