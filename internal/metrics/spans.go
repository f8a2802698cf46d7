package metrics

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

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
	spans
)

// slots is the level whose requests bring about s.
func (s span) slots() span {
	switch s {
	case prefillPart, prefillRate, prefillPerSlot:
		return prefillPart
	case decodePart, decodeRate, decodePerSlot:
		return decodePart
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
	if r.Failed() {
		isl, osl, row = record.None, record.None, -1
	}
	l.sent.add(r.Sent)
	l.first.add(first)
	l.end.add(r.End)
	l.isl.add(isl)
	l.osl.add(osl)
	l.row.add(int64(row))
}

// sweep goes through the lives in the order of time and says how long each
// level was held inside w. gaps gives those between the content events of a row, in ms.
func (l *lives) sweep(gaps func(row int) []float32, w Window) *weights {
	sent := l.sent.all(nil)
	order := make([]int32, len(sent))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(sent[a], sent[b]) })
	out := &weights{at: w.Start, end: w.End}
	var under, free cursors // in flight; ended, to be used again
	for next := 0; next < len(order) || len(under) > 0; {
		if next < len(order) && (len(under) == 0 || sent[order[next]] <= under[0].due) {
			if len(free) == 0 {
				free = append(free, &cursor{})
			}
			c := free.Pop().(*cursor)
			l.begin(c, int(order[next]), gaps)
			out.until(c.due)
			c.step(&out.level)
			heap.Push(&under, c)
			next++
			continue
		}
		c := under[0]
		out.until(c.due)
		if c.step(&out.level) {
			heap.Fix(&under, 0)
			continue
		}
		free = append(free, heap.Pop(&under).(*cursor))
		if len(under) == 0 {
			out.level = [spans]float64{} // what rounding has left
		}
	}
	out.until(w.End)
	return out
}

// cursor walks through one request's moments.
type cursor struct {
	due              int64 // its next moment
	stage            stage
	first, end       int64
	prefill, overall float64 // rates, tokens/s
	tokens           float64 // added so far
	perChunk         float64
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

// begin makes c the cursor of life i.
func (l *lives) begin(c *cursor, i int, gaps func(row int) []float32) {
	*c = cursor{due: l.sent.at(i), first: l.first.at(i), end: l.end.at(i), perChunk: math.NaN()}
	if c.first == record.None {
		return
	}
	if isl := l.isl.at(i); isl != record.None {
		c.tokens = float64(isl)
		if c.first > c.due {
			c.prefill = float64(isl) / seconds(c.first-c.due)
		}
	}
	osl, row := l.osl.at(i), int(l.row.at(i))
	if osl == record.None || row == -1 {
		return
	}
	c.gaps = gaps(row)
	c.perChunk = float64(osl) / float64(len(c.gaps)+1)
	if osl < 2 || c.end == c.first {
		return
	}
	c.overall = float64(osl-1) / seconds(c.end-c.first)
	open := 0
	for _, g := range c.gaps {
		if g > 0 {
			open++
		}
	}
	if open > 0 {
		c.perGap = float64(osl-1) / float64(open)
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

// cursors is a heap, the next moment first.
type cursors []*cursor

func (h cursors) Len() int           { return len(h) }
func (h cursors) Less(i, j int) bool { return h[i].due < h[j].due }
func (h cursors) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *cursors) Push(x any)        { *h = append(*h, x.(*cursor)) }
func (h *cursors) Pop() any {
	last := len(*h) - 1
	c := (*h)[last]
	*h = (*h)[:last]
	return c
}
