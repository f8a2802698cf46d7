package transport

import (
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// StampError is how late the application's stamps are, as measured during the
// run: N echoes, in µs. N is 0 where no stamp is the application's.
type StampError struct {
	N                        int
	Mean, P50, P90, P99, Max float64
}

// echoes measure how late a stamp of the application's is. After some reads,
// chosen at random, a byte is written to a loopback socket of our own, whose
// reader waits like all others: from the write to the reader's stamp passes what
// a byte of a server would have waited, too. Echoes follow reads because that is
// when readers queue for a processor: at regular times they miss the bursts.
type echoes struct {
	clock func() int64
	near  net.Conn
	far   net.Conn
	ended sync.WaitGroup

	reads   atomic.Int64 // that could have been chosen
	sent    atomic.Int64 // when the echo under way was written; 0 when none is
	mu      sync.Mutex
	late    []int64 // ns
	samples int64
}

// The first reads are chosen often, so that short runs know, too; the later ones
// seldom, so that it costs nothing.
const (
	allReads    = 32
	oftenReads  = 512
	chosenOften = 4
	chosenLater = 64
	maxEchoes   = 1 << 14 // kept; more replace earlier ones at random
)

// newEchoes opens the socket. Without one nothing is measured.
func newEchoes(clock func() int64) *echoes {
	near, far, err := socketPair()
	if err != nil {
		return nil
	}
	e := &echoes{clock: clock, near: near, far: far}
	e.ended.Go(e.listen)
	return e
}

// listen is the reader.
func (e *echoes) listen() {
	var b [1]byte
	for {
		if _, err := e.far.Read(b[:]); err != nil {
			return
		}
		e.note(e.clock() - e.sent.Load())
		e.sent.Store(0)
	}
}

func (e *echoes) note(late int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.samples++
	if len(e.late) < maxEchoes {
		e.late = append(e.late, late)
	} else if i := rand.Int64N(e.samples); i < maxEchoes { //nolint:gosec // which sample is kept is no secret
		e.late[i] = late
	}
}

// read says that a stamp of the application's was taken just now.
func (e *echoes) read() {
	if e == nil {
		return
	}
	every := chosenLater
	switch n := e.reads.Add(1); {
	case n <= allReads:
		every = 1
	case n <= oftenReads:
		every = chosenOften
	}
	if rand.IntN(every) != 0 || !e.sent.CompareAndSwap(0, e.clock()) { //nolint:gosec // see above
		return
	}
	if _, err := e.near.Write([]byte{1}); err != nil {
		e.sent.Store(0)
	}
}

// result sums up.
func (e *echoes) result() StampError {
	if e == nil {
		return StampError{}
	}
	e.mu.Lock()
	late := slices.Clone(e.late)
	e.mu.Unlock()
	if len(late) == 0 {
		return StampError{}
	}
	slices.Sort(late)
	at := func(q float64) float64 { return float64(late[int(q*float64(len(late)-1))]) / 1e3 }
	sum := 0.0
	for _, v := range late {
		sum += float64(v)
	}
	return StampError{
		N: len(late), Mean: sum / float64(len(late)) / 1e3, P50: at(0.5), P90: at(0.9), P99: at(0.99),
		Max: at(1),
	}
}

func (e *echoes) close() {
	if e == nil {
		return
	}
	// the reader gets what is under way, then the end
	e.near.Close()                                     //nolint:errcheck
	e.far.SetReadDeadline(time.Now().Add(time.Second)) //nolint:errcheck // should that not come
	e.ended.Wait()
	e.far.Close() //nolint:errcheck // nothing depends on it any more
}

// socketPair is a loopback connection to ourselves. Somebody who still looks for
// a server that had our port may come first: he is turned away.
func socketPair() (near, far net.Conn, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	defer l.Close() //nolint:errcheck // it was only for us
	if near, err = net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, nil, err
	}
	for {
		if far, err = l.Accept(); err != nil {
			near.Close() //nolint:errcheck // the first error counts
			return nil, nil, err
		}
		if far.RemoteAddr().String() == near.LocalAddr().String() {
			return near, far, nil
		}
		far.Close() //nolint:errcheck // it is not ours
	}
}
