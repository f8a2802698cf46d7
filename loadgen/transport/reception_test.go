package transport

import (
	"fmt"
	"sync"
	"testing"

	"aiperf.dev/aiperf/loadgen/transport/wire"
)

// newReception is one that waits for the answer to a request sent at 1000 ns.
func newReception() (*reception, *wire.Response) {
	r := &reception{maxBody: 1 << 20, free: &sync.Pool{New: func() any { return &buffers{} }}}
	x := &Exchange{}
	x.reset()
	x.Sent = 1000
	r.begin(x)
	return r, &wire.Response{Sink: r}
}

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

func event(data string) string {
	data = "data: " + data + "\n\n"
	return fmt.Sprintf("%x\r\n%s\r\n", len(data), data)
}

// read is one read of a connection; seq 0 means its own.
type read struct {
	data string
	at   int64
	seq  uint64
	part bool // more was read than delivered
	app  bool // without a kernel stamp
}

func TestStamps(t *testing.T) {
	t.Parallel()
	type bounds struct {
		low, at int64
		same    bool
	}
	cases := []struct {
		name  string
		reads []read
		want  []bounds
		first int64   // FirstByte
		lag   float64 // µs; every read returns 5 µs after its stamp
	}{
		{
			"each in a read of its own",
			[]read{
				{data: streamHead, at: 2000},
				{data: event("a"), at: 3000},
				{data: event("b") + "0\r\n\r\n", at: 4000},
			},
			[]bounds{{3000, 3000, false}, {4000, 4000, false}},
			2000, 5,
		},
		{
			"two in a read", // both came after the read before
			[]read{
				{data: streamHead, at: 2000},
				{data: event("a") + event("b"), at: 3000},
				{data: event("c"), at: 4000},
			},
			[]bounds{{2000, 3000, false}, {2000, 3000, true}, {4000, 4000, false}},
			2000, 5,
		},
		{
			"with the header", // alone after all
			[]read{{data: streamHead + event("a"), at: 2000}},
			[]bounds{{2000, 2000, false}},
			2000, 5,
		},
		{
			"two with the header", // nothing came before the request was sent
			[]read{{data: streamHead + event("a") + event("b"), at: 2000}},
			[]bounds{{1000, 2000, false}, {1000, 2000, true}},
			2000, 5,
		},
		{
			"followed by part of the next", // the stamp is that of the newest bytes
			[]read{
				{data: streamHead, at: 2000},
				{data: event("a") + event("b")[:9], at: 3000},
				{data: event("b")[9:], at: 4000},
			},
			[]bounds{{2000, 3000, false}, {4000, 4000, false}},
			2000, 5,
		},
		{
			"in two halves", // complete with the second
			[]read{{data: streamHead, at: 2000}, {data: event("a")[:9], at: 3000}, {data: event("a")[9:], at: 4000}},
			[]bounds{{4000, 4000, false}},
			2000, 5,
		},
		{
			"more was read than delivered",
			[]read{{data: streamHead, at: 2000}, {data: event("a"), at: 3000, part: true}},
			[]bounds{{2000, 3000, false}},
			2000, 5,
		},
		{
			"a packet in two reads", // because the first was full
			[]read{
				{data: streamHead, at: 2000},
				{data: event("a") + event("b")[:9], at: 3000, part: true},
				{data: event("b")[9:] + event("c"), at: 3000},
			},
			[]bounds{{2000, 3000, false}, {2000, 3000, true}, {2000, 3000, true}},
			2000, 5,
		},
		{
			"a full read, and the rest with more", // whose beginning may be as old
			[]read{
				{data: streamHead, at: 2000},
				{data: event("a") + event("b")[:9], at: 3000, part: true},
				{data: event("b")[9:] + event("c"), at: 4000},
			},
			[]bounds{{2000, 3000, false}, {2000, 4000, false}, {2000, 4000, true}},
			2000, 5,
		},
		{
			"a full read, and the rest alone", // whose end is the newest byte
			[]read{
				{data: streamHead, at: 2000},
				{data: event("a") + event("b")[:9], at: 3000, part: true},
				{data: event("b")[9:], at: 4000},
			},
			[]bounds{{2000, 3000, false}, {4000, 4000, false}},
			2000, 5,
		},
		{
			"one read in two deliveries", // as TLS gives two records
			[]read{
				{data: streamHead, at: 2000, seq: 1},
				{data: event("a"), at: 3000, seq: 2},
				{data: event("b"), at: 3000, seq: 2},
			},
			[]bounds{{2000, 3000, false}, {2000, 3000, true}},
			2000, 5,
		},
		{
			"application stamps",
			[]read{{data: streamHead, at: 2000, app: true}, {data: event("a") + event("b"), at: 3000, app: true}},
			[]bounds{{2000, 3000, false}, {2000, 3000, true}},
			2000, -1,
		},
		{
			"interim answer first",
			[]read{
				{data: "HTTP/1.1 100 Continue\r\n\r\n", at: 1500},
				{data: streamHead, at: 2000},
				{data: event("a"), at: 3000},
			},
			[]bounds{{3000, 3000, false}},
			2000, 5,
		},
		{
			"a body's event is its last byte", // not the end of the framing
			[]read{
				{data: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n", at: 2000},
				{data: "abc\r\n", at: 3000},
				{data: "0\r\n\r\n", at: 4000},
			},
			[]bounds{{3000, 3000, false}},
			2000, 5,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, resp := newReception()
			x := r.x
			for i, in := range c.reads {
				seq := in.seq
				if seq == 0 {
					seq = uint64(i + 1)
				}
				r.arrive(stamp{at: in.at, now: in.at + 5000, seq: seq, kernel: !in.app, whole: !in.part})
				if _, err := resp.Feed([]byte(in.data)); err != nil {
					t.Fatal(err)
				}
				r.depart()
			}
			if resp.Done() {
				r.end()
			}
			lag := float64(r.lag) / 1e3
			if r.lag < 0 {
				lag = -1
			}
			if x.FirstByte != c.first || lag != c.lag {
				t.Errorf("first byte %d, lag %v µs; want %d, %v", x.FirstByte, lag, c.first, c.lag)
			}
			var got []bounds
			for _, e := range x.Events {
				got = append(got, bounds{e.Low, e.At, e.SameRead})
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("events %v, want %v", got, c.want)
			}
		})
	}
}

func TestNoAllocationPerEvent(t *testing.T) {
	r, resp := newReception()
	feed := func(b []byte, seq uint64) {
		r.arrive(stamp{at: int64(seq), now: int64(seq), seq: seq, kernel: true, whole: true})
		if _, err := resp.Feed(b); err != nil {
			t.Fatal(err)
		}
		r.depart()
	}
	feed([]byte(streamHead), 1)
	one := []byte(event("token"))
	r.x.buffers.packed.data = make([]byte, 0, 1<<16) // as a recycled exchange has it
	r.x.Events = make([]Event, 0, 1<<10)
	seq := uint64(1)
	if n := testing.AllocsPerRun(200, func() { seq++; feed(one, seq) }); n != 0 {
		t.Errorf("%v allocations per event", n)
	}
	if len(r.x.Events) != 201 {
		t.Errorf("%d events, want 201", len(r.x.Events))
	}
}

// When the wall clock is set, the offset is measured anew and stamps stay
// between what is known for certain.
func TestRecordEdge(t *testing.T) {
	t.Parallel()
	stream := []byte{23, 3, 3, 0, 2, 'a', 'b', 23, 3, 3, 1, 0}
	stream = append(stream, make([]byte, 256)...)
	for i := 0; i <= len(stream); i++ {
		var r recordEdge
		r.feed(stream[:i])
		if edge := i == 0 || i == 7 || i == len(stream); r.atEdge() != edge {
			t.Errorf("after %d bytes: at an edge %v", i, r.atEdge())
		}
		r.feed(stream[i:])
		if !r.atEdge() {
			t.Errorf("cut at %d: not at an edge at the end", i)
		}
	}
}
