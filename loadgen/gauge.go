package loadgen

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
)

// heldPart of the target counts as the target held.
const heldPart = 0.95

// gauge integrates a level over time: how many are in flight. It sees starts
// and ends only, never records, so that the two can be checked on each other.
//
// An end is told when the client notices it, which is late where it stood still. So
// what happened last waits until it is in order: as much of it as may be told in
// another one, which is what is in flight, and what it is followed by.
type gauge struct {
	news  []news  // not in the sums yet, in order of time
	wait  int     // so many of them stay out
	need  float64 // level that counts as held, 0 without a target
	start int64
	at    int64 // up to here the sums below run
	level int
	max   int
	area  float64 // ∫ level dt
	held  int64   // time at or above need

	lastSend, heldAtSend int64

	// Against the target of the moment, which a ramp raises; up to the last send.
	target, aimed           int     // aimed is the newest
	filled                  bool    // it was reached
	filledArea, targetArea  float64 // ∫ min(level, target) dt, ∫ target dt since it was reached
	filledAtSend, aimAtSend float64

	reached, left    int64 // first reached, last left need
	since, sinceLeft int   // sent since it was reached, and of them before it was last left
	firstLeave       int64 // when the first was over; record.None before
}

// news is a change of the level, or of the target where by is 0.
type news struct {
	at     int64
	by     int
	target int
}

func newGauge(target int, start int64) gauge {
	return gauge{
		wait: 4*target + 64, need: heldPart * float64(target), target: target, aimed: target, start: start, at: start,
		lastSend: start,
		reached:  record.None, left: record.None, firstLeave: record.None,
	}
}

// advance integrates up to now.
func (g *gauge) advance(now int64) {
	if now <= g.at {
		return
	}
	dt := now - g.at
	g.area += float64(g.level) * float64(dt)
	if g.up() {
		g.held += dt
	}
	if g.filled {
		g.filledArea += float64(min(g.level, g.target)) * float64(dt)
		g.targetArea += float64(g.target) * float64(dt)
	}
	g.at = now
}

// aim says that target is what is wanted from now on.
func (g *gauge) aim(target int, now int64) {
	if g.need > 0 && target != g.aimed {
		g.aimed = target
		g.hear(news{at: now, target: target})
	}
}

// enter counts one more.
func (g *gauge) enter(now int64) { g.hear(news{at: now, by: 1}) }

// leave counts one less since at.
func (g *gauge) leave(at int64) { g.hear(news{at: at, by: -1}) }

// hear puts n in its place among what happened last.
func (g *gauge) hear(n news) {
	g.news = append(g.news, n)
	for i := len(g.news) - 1; i > 0 && g.news[i-1].at > n.at; i-- {
		g.news[i-1], g.news[i] = n, g.news[i-1]
	}
	if len(g.news) >= 2*g.wait {
		g.sum(g.wait)
	}
}

// sum adds up the first n of the news.
func (g *gauge) sum(n int) {
	for _, x := range g.news[:n] {
		switch x.by {
		case 0:
			g.advance(x.at)
			g.target = x.target
			g.fill()
		case 1:
			g.more(x.at)
		default:
			g.less(x.at)
		}
	}
	g.news = append(g.news[:0], g.news[n:]...)
}

// fill notes that the target of the moment is reached for the first time.
func (g *gauge) fill() { g.filled = g.filled || g.need > 0 && g.target > 0 && g.level >= g.target }

// up reports whether the target is held.
func (g *gauge) up() bool { return g.need > 0 && float64(g.level) >= g.need }

func (g *gauge) more(now int64) {
	g.advance(now)
	g.level++
	g.max = max(g.max, g.level)
	g.lastSend, g.heldAtSend = now, g.held
	g.filledAtSend, g.aimAtSend = g.filledArea, g.targetArea
	g.fill()
	if g.reached != record.None {
		g.since++
	}
	if g.up() && g.reached == record.None {
		g.reached = g.at
	}
}

func (g *gauge) less(at int64) {
	g.advance(at)
	g.area -= float64(g.at - at) // of what came later than what waits
	if g.firstLeave == record.None {
		g.firstLeave = g.at
	}
	was := g.up()
	g.level--
	if was && !g.up() {
		g.left, g.sinceLeft = g.at, g.since
	}
}

// open is the steady window of a load that a clock sends: from the first answer,
// or the end of a ramp, until the last request is sent. What drains after it is no
// part of a rate; what was on its way before the first answer is not, either.
func (g *gauge) open(ramp int64) (start, end int64, ok bool) {
	g.sum(len(g.news))
	start = max(g.firstLeave, g.start+ramp)
	return start, g.lastSend, g.firstLeave != record.None && g.lastSend > start
}

// result sums up at the end of the phase, whose last answer that was not cut off
// ended at whole: what was cut off stretches no window.
func (g *gauge) result(end, whole int64) Gauge {
	g.sum(len(g.news))
	g.advance(end)
	r := Gauge{
		Mean: ratio(g.area, float64(end-g.start)), Max: g.max,
		HeldShare: math.NaN(), HeldRatio: math.NaN(),
		SteadyStart: record.None, SteadyEnd: record.None,
	}
	if g.need == 0 {
		return r
	}
	r.HeldRatio = ratio(g.filledAtSend, g.aimAtSend)
	r.HeldShare = ratio(float64(g.heldAtSend), float64(g.lastSend-g.start))
	// Where the users sent less than one request each in it, as in a run of one round, those few are
	// the followers of the fastest answers, and no picture of the load.
	if left := min(g.left, whole); g.reached != record.None && left > g.reached && g.sinceLeft >= g.target {
		r.SteadyStart, r.SteadyEnd = g.reached, left
	}
	return r
}

// ratio is a/b, NaN for an empty b.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return math.NaN()
	}
	return a / b
}
