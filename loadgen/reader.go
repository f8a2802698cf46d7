package loadgen

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/endpoint/claims"
)

// reader is one goroutine that reads answers. It may be given up while it is
// stuck in one: from then on nothing that it says counts.
type reader struct {
	answer answer // its buffers

	mu     sync.Mutex
	r      *request // what is being read, nil between
	since  int64
	wentOn bool // the turn after it was handed on
	lost   bool
}

func (rd *reader) begin(r *request, now int64) {
	rd.mu.Lock()
	rd.r, rd.since, rd.wentOn = r, now, false
	rd.mu.Unlock()
}

// goesOn notes that the turn after the answer is handed on; false when the
// reader was given up.
func (rd *reader) goesOn() bool {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.wentOn = true
	return !rd.lost
}

// end notes that the answer was read; false when the reader was given up.
func (rd *reader) end() bool {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	rd.r = nil
	return !rd.lost
}

// stuck gives the reader up if it has read the same answer since before.
func (rd *reader) stuck(before int64) (r *request, since int64, wentOn bool) {
	rd.mu.Lock()
	defer rd.mu.Unlock()
	if rd.r == nil || rd.since > before {
		return nil, 0, false
	}
	rd.lost = true
	return rd.r, rd.since, rd.wentOn
}

// Reading an answer takes microseconds; one of 64 MB takes seconds. Who reads
// for readLimit will not end, and once the run is aborted nobody waits for
// those who need more than watchdogMargin.
const readLimit = time.Minute

// watchEvery is how often is looked for them.
const watchEvery = time.Second

// readers are the goroutines that run a finisher, and who watches over them.
type readers struct {
	finisher *finisher
	now      func() int64
	limit    func() time.Duration // how long one answer may take

	work sync.WaitGroup // those that were not given up

	mu      sync.Mutex
	all     []*reader
	givenUp map[*phase]int
}

// readersAtOnce leaves processors to those who measure.
func readersAtOnce() int { return max(1, runtime.GOMAXPROCS(0)/2) }

func newReaders(f *finisher, now func() int64, aborted *atomic.Bool) *readers {
	limit := func() time.Duration {
		if aborted.Load() {
			return watchdogMargin
		}
		return readLimit
	}
	return &readers{finisher: f, now: now, limit: limit, givenUp: map[*phase]int{}}
}

// open starts n readers.
func (rs *readers) open(n int) {
	for range n {
		rs.all = append(rs.all, rs.start())
	}
}

func (rs *readers) start() *reader {
	rd := &reader{}
	rs.work.Add(1)
	go func() {
		if rs.run(rd) {
			rs.work.Done()
		}
	}()
	return rd
}

// run works until there is no more work; false when rd was given up.
func (rs *readers) run(rd *reader) bool {
	for {
		r, ok := rs.finisher.work.Pop()
		if !ok {
			return true
		}
		rd.begin(r, rs.now())
		if !rs.finisher.finish(r, rd) {
			return false
		}
	}
}

// wait returns when all work is done or given up. The mailbox must be closed.
func (rs *readers) wait() { rs.work.Wait() }

// watch replaces readers that are stuck, until stop.
func (rs *readers) watch(stop <-chan struct{}) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			rs.replace(rs.now())
		case <-stop:
			return
		}
	}
}

// replace gives up the readers that have read the same answer for too long, and
// puts new ones in their places. Their goroutines cannot be ended; when they do
// come back, they find that they are out.
func (rs *readers) replace(now int64) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for i, rd := range rs.all {
		r, since, wentOn := rd.stuck(now - int64(rs.limit()))
		if r == nil {
			continue
		}
		rs.givenUp[r.phase]++
		rs.all[i] = rs.start()
		rs.finisher.giveUp(r, time.Duration(now-since), wentOn)
		rs.work.Done()
	}
}

// note says what a phase gave up, "" for nothing.
func (rs *readers) note(p *phase) string {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	n := rs.givenUp[p]
	if n == 0 {
		return ""
	}
	return "reading did not end and was given up: " + words.Count(n, "answer")
}

// giveUp ends r, whose answer cannot be read, without its reader: what it left
// belongs to the reader, so nothing of it is used or taken back.
func (f *finisher) giveUp(r *request, took time.Duration, wentOn bool) {
	if r.goesOn && !wentOn {
		f.post(event{kind: playOver, phase: r.phase, play: r.play, turn: r.turn + 1, answered: r.end()})
	}
	a := &answer{usage: claims.NoUsage, first: record.None, firstOutput: record.None, last: record.None}
	a.fail("answer_not_read", fmt.Sprintf("reading the answer, of %d bytes, had not ended after %v and was given up",
		r.x.BytesReceived, took.Round(time.Second)))
	rec := f.record(r, a)
	rec.Status, rec.ErrorKind, rec.ErrorMessage = record.Client, a.errKind, a.errText
	f.judge(rec)
	f.book(r, rec)
	f.hand(finished{order: r.ended, rec: rec, unsettled: r.unsettled}, nil)
}
