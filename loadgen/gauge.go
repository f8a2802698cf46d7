package loadgen

import (
	"math"

	"aiperf.dev/aiperf/internal/record"
)

// heldPart of the target counts as the target held.
const heldPart = 0.95

// gauge integrates a level over time: how many are in flight. It sees starts
// and ends only, never records, so that the two can be checked on each other.
type gauge struct {
	need  float64 // level that counts as held, 0 without a target
	start int64
	at    int64 // up to here the sums below run
	level int
	max   int
	area  float64 // ∫ level dt
	held  int64   // time at or above need

	lastSend, heldAtSend int64

	// Against the target of the moment, which a ramp raises; up to the last send.
	target                  int
	filled                  bool    // it was reached
	filledArea, targetArea  float64 // ∫ min(level, target) dt, ∫ target dt since it was reached
	filledAtSend, aimAtSend float64

	reached, left         int64   // first reached, last left need
	firstLeave            int64   // when the first was over; record.None before
	areaReached, areaLeft float64 // area at these
}

func newGauge(target int, start int64) gauge {
	return gauge{
		need: heldPart * float64(target), target: target, start: start, at: start, lastSend: start,
		reached: record.None, left: record.None, firstLeave: record.None,
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
	if g.need == 0 || target == g.target {
		return
	}
	g.advance(now)
	g.target = target
	g.fill()
}

// fill notes that the target of the moment is reached for the first time.
func (g *gauge) fill() { g.filled = g.filled || g.need > 0 && g.target > 0 && g.level >= g.target }

// up tells whether the target is held.
func (g *gauge) up() bool { return g.need > 0 && float64(g.level) >= g.need }

// enter counts one more.
func (g *gauge) enter(now int64) {
	g.advance(now)
	g.level++
	g.max = max(g.max, g.level)
	g.lastSend, g.heldAtSend = now, g.held
	g.filledAtSend, g.aimAtSend = g.filledArea, g.targetArea
	g.fill()
	if g.up() && g.reached == record.None {
		g.reached, g.areaReached = g.at, g.area
	}
}

// leave counts one less.
func (g *gauge) leave(now int64) {
	g.advance(now)
	if g.firstLeave == record.None {
		g.firstLeave = g.at
	}
	was := g.up()
	g.level--
	if was && !g.up() {
		g.left, g.areaLeft = g.at, g.area
	}
}

// open is the steady window of a load that a clock sends: from the first answer,
// or the end of a ramp, until the last request is sent. What drains after it is no
// part of a rate; what was on its way before the first answer is not, either.
func (g *gauge) open(ramp int64) (start, end int64, ok bool) {
	start = max(g.firstLeave, g.start+ramp)
	return start, g.lastSend, g.firstLeave != record.None && g.lastSend > start
}

// result sums up at the end of the phase.
func (g *gauge) result(end int64) Gauge {
	g.advance(end)
	r := Gauge{
		Mean: ratio(g.area, float64(end-g.start)), Max: g.max,
		HeldShare: math.NaN(), HeldRatio: math.NaN(), SteadyMean: math.NaN(),
		SteadyStart: record.None, SteadyEnd: record.None,
	}
	if g.need == 0 {
		return r
	}
	r.HeldRatio = ratio(g.filledAtSend, g.aimAtSend)
	r.HeldShare = ratio(float64(g.heldAtSend), float64(g.lastSend-g.start))
	if g.reached != record.None && g.left > g.reached {
		r.SteadyStart, r.SteadyEnd = g.reached, g.left
		r.SteadyMean = ratio(g.areaLeft-g.areaReached, float64(g.left-g.reached))
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
