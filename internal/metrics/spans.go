package metrics

import (
	"cmp"
	"math"
	"slices"

	"aiperf.dev/aiperf/internal/heap"
	"aiperf.dev/aiperf/internal/record"
)

// span is a level that the requests of a run keep up over time.
type span uint8

const (
	noSpan         span = iota
	wholeRequest        // requests in [sent, end)
	prefillPart         // requests in [sent, first content)
	decodePart          // requests in [first content, end)
	prefillRate         // Σ ISL / (first content − sent), tokens/s
	decodeRate          // Σ (OSL − 1) / number of gaps / gap, tokens/s
	tokenRate           // prefillRate + Σ (OSL − 1) / (end − first content)
	prefillPerSlot      // prefillRate / prefillPart
	decodePerSlot       // decodeRate / decodePart
	heldTokens          // Σ ISL over the request + OSL / chunks from each chunk on
	toldPart            // requests in [sent, end) that tell a TTFT, and an ITL where they have two tokens
	spans
)

// slots is the level whose requests bring about s.
func (s span) slots() span {
	switch s {
	case prefillPart, prefillRate, prefillPerSlot:
		return prefillPart
	case decodePart, decodeRate, decodePerSlot:
		return decodePart
	case toldPart:
		return toldPart
	}
	return wholeRequest
}

// lives holds what the time-weighted metrics need of every request that was
// sent. first is None for a request that did not stream; isl and osl are None
// for one that failed. row is its place in the gaps, -1 when it has none; below
// -1 it is in the gaps of what was sent in an earlier slice.
type lives struct{ sent, first, end, isl, osl, row ints }

func (l *lives) add(r *record.Record, row int) {
	if r.Warmup || r.Sent == record.None || r.End == record.None || r.End < r.Sent {
		return
	}
	first := int64(record.None)
	if r.Streamed && r.FirstToken != record.None {
		first = min(max(r.FirstToken, r.Sent), r.End)
	}
	isl, osl := r.ISL, r.OSL
	if !r.Succeeded() {
		isl, osl, row = record.None, record.None, -1
	}
	l.sent.add(r.Sent)
	l.first.add(first)
	l.end.add(r.End)
	l.isl.add(isl)
	l.osl.add(osl)
	l.row.add(int64(row))
}

// life is one of them.
type life struct {
	sent, first, end, isl, osl int64
	gaps                       []float32 // between its content events, ms; nil when it has no row
}

// at is life i; gaps gives those of a row.
func (l *lives) at(i int, gaps func(row int) []float32) life {
	x := life{l.sent.at(i), l.first.at(i), l.end.at(i), l.isl.at(i), l.osl.at(i), nil}
	if row := int(l.row.at(i)); row != -1 && x.first != record.None {
		x.gaps = gaps(row)
	} else {
		x.osl = record.None
	}
	return x
}

// sweep goes through lives in the order of time and says how long each level
// was held inside each of some windows.
type sweep struct {
	level   [spans]float64
	out     []*weights
	under   heap.Heap[*cursor] // in flight, the next moment first
	free    []*cursor          // ended, to be used again
	waiting []life             // sent after what has been gone through, in order
}

func newSweep(windows []Window) *sweep {
	s := &sweep{}
	for _, w := range windows {
		s.out = append(s.out, &weights{at: w.Start, end: w.End})
	}
	return s
}

// hold holds the present levels to t.
func (s *sweep) hold(t int64) {
	for _, w := range s.out {
		w.until(t, &s.level)
	}
}

// run takes more lives and goes on to the moment safe: whoever was in flight
// until then is known.
func (s *sweep) run(l *lives, gaps func(row int) []float32, safe int64) {
	sent := l.sent.all(nil)
	order := make([]int32, len(sent))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(sent[a], sent[b]) })
	early := s.waiting
	for len(order) > 0 || len(early) > 0 {
		var x life
		switch {
		case len(order) == 0 || len(early) > 0 && early[0].sent <= sent[order[0]]:
			x, early = early[0], early[1:]
		default:
			x, order = l.at(int(order[0]), gaps), order[1:]
		}
		if x.sent > safe {
			s.waiting = s.kept(x, early, l, order, gaps)
			break
		}
		s.until(x.sent)
		s.begin(x)
	}
	if safe == math.MaxInt64 {
		return
	}
	if len(early) == 0 && len(order) == 0 {
		s.waiting = nil
	}
	s.until(safe)
	for _, c := range s.under.All() { // the rows that their gaps belong to go away
		c.gaps = slices.Clone(c.gaps)
	}
}

// kept are the lives that wait: x, which is the first, and the rest.
func (s *sweep) kept(x life, early []life, l *lives, order []int32, gaps func(row int) []float32) []life {
	out := append(make([]life, 0, 1+len(early)+len(order)), x)
	out = append(out, early...)
	for _, i := range order {
		out = append(out, l.at(int(i), gaps))
	}
	for i := range out {
		out[i].gaps = slices.Clone(out[i].gaps)
	}
	slices.SortStableFunc(out, func(a, b life) int { return cmp.Compare(a.sent, b.sent) })
	return out
}

// begin puts a life in flight.
func (s *sweep) begin(x life) {
	if len(s.free) == 0 {
		s.free = append(s.free, &cursor{})
	}
	c := s.free[len(s.free)-1]
	s.free = s.free[:len(s.free)-1]
	c.begin(x)
	s.hold(c.due)
	c.step(&s.level)
	s.under.Push(c)
}

// until goes through every moment before t.
func (s *sweep) until(t int64) {
	for s.under.Len() > 0 && s.under.Top().due < t {
		c := s.under.Top()
		s.hold(c.due)
		if c.step(&s.level) {
			s.under.FixTop()
			continue
		}
		s.free = append(s.free, s.under.Pop())
		if s.under.Len() == 0 {
			s.level = [spans]float64{} // what rounding has left
		}
	}
}

// finish goes to the end of the windows.
func (s *sweep) finish() []*weights {
	s.until(math.MaxInt64)
	for _, w := range s.out {
		w.until(w.end, &s.level)
		w.flush()
	}
	return s.out
}

// cursor walks through one request's moments.
type cursor struct {
	due              int64 // its next moment
	stage            stage
	first, end       int64
	prefill, overall float64 // rates, tokens/s
	tokens           float64 // added so far
	perChunk         float64
	told             float64   // 1 where the request tells its latencies
	perGap           float64   // tokens of one gap that is not empty
	rate             float64   // of the present gap
	gaps             []float32 // still to come, ms
	at               float64   // of the last chunk, ns
}

// stage is the moment a cursor waits for.
type stage uint8

const (
	toSend stage = iota
	toFirst
	toChunk
	toEnd
)

// begin makes c the cursor of x.
func (c *cursor) begin(x life) {
	*c = cursor{due: x.sent, first: x.first, end: x.end, perChunk: math.NaN()}
	if c.first == record.None {
		return
	}
	if x.isl != record.None {
		c.tokens = float64(x.isl)
		if c.first > c.due {
			c.prefill = float64(x.isl) / seconds(c.first-c.due)
		}
	}
	if x.osl == record.None {
		return
	}
	c.gaps = x.gaps
	if x.osl > 0 {
		c.told = 1
	}
	c.perChunk = float64(x.osl) / float64(len(c.gaps)+1)
	if x.osl < 2 || c.end == c.first {
		return
	}
	c.overall = float64(x.osl-1) / seconds(c.end-c.first)
	open := 0
	for _, g := range c.gaps {
		if g > 0 {
			open++
		}
	}
	if open > 0 {
		c.perGap = float64(x.osl-1) / float64(open)
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// step applies the moment that is due and finds the next; false after the last.
func (c *cursor) step(level *[spans]float64) bool {
	switch c.stage {
	case toSend:
		level[wholeRequest]++
		if c.first == record.None {
			c.stage, c.due = toEnd, c.end
			return true
		}
		level[toldPart] += c.told
		level[prefillPart]++
		level[prefillRate] += c.prefill
		level[tokenRate] += c.prefill
		level[heldTokens] += c.tokens
		c.stage, c.due, c.at = toFirst, c.first, float64(c.first)
	case toFirst:
		level[prefillPart]--
		level[prefillRate] -= c.prefill
		level[tokenRate] += c.overall - c.prefill
		level[decodePart]++
		c.hold(level)
		if c.perGap == 0 && c.overall > 0 { // all came in one read: spread over what is known
			c.rate = c.overall
			level[decodeRate] += c.rate
		}
		c.nextChunk(level)
	case toChunk:
		level[decodeRate] -= c.rate
		c.rate = 0
		c.hold(level)
		c.nextChunk(level)
	default:
		level[wholeRequest]--
		if c.first != record.None {
			level[toldPart] -= c.told
			level[decodePart]--
			level[decodeRate] -= c.rate
			level[tokenRate] -= c.overall
			level[heldTokens] -= c.tokens
		}
		return false
	}
	return true
}

// hold counts a chunk's tokens.
func (c *cursor) hold(level *[spans]float64) {
	if !math.IsNaN(c.perChunk) {
		level[heldTokens] += c.perChunk
		c.tokens += c.perChunk
	}
}

// nextChunk passes over chunks of the same read.
func (c *cursor) nextChunk(level *[spans]float64) {
	for len(c.gaps) > 0 && c.gaps[0] == 0 {
		c.gaps = c.gaps[1:]
		c.hold(level)
	}
	if len(c.gaps) == 0 {
		c.stage, c.due = toEnd, c.end
		return
	}
	ns := float64(c.gaps[0]) * 1e6
	c.gaps = c.gaps[1:]
	c.at += ns
	c.stage, c.due = toChunk, min(int64(math.Round(c.at)), c.end)
	if c.perGap > 0 {
		c.rate = c.perGap / (ns / 1e9)
		level[decodeRate] += c.rate
	}
}

// Before orders by the next moment.
func (c *cursor) Before(d *cursor) bool { return c.due < d.due }
