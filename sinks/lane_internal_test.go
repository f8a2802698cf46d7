package sinks

import (
	"errors"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sweep"
)

// gated is an output that writes when it is let: the ints of its last column.
type gated struct {
	gate   chan struct{} // nil: open
	fail   error
	got    []int64
	closed bool
}

func (g *gated) write(b *batch) error {
	if g.gate != nil {
		<-g.gate
	}
	if g.fail != nil {
		return g.fail
	}
	g.got = append(g.got, b.cols[len(b.cols)-1].ints[:b.n]...)
	return nil
}

func (g *gated) close() error { g.closed = true; return nil }

// numbered is a table of one column with an identity, written to the outputs.
func numbered(t *testing.T, outs ...output) (*table[int64], []*lane) {
	t.Helper()
	p := &sweep.Plan{Cells: []*sweep.Cell{{}, {Index: 1}}}
	for _, c := range p.Cells {
		p.Runs = append(p.Runs, sweep.Run{Cell: c})
	}
	var lanes []*lane
	tb, err := newTable("requests", newIdentity(p),
		[]column[int64]{ordinal("n", "", Int64, func(n *int64) *int64 { return n })},
		func(string, []Field) ([]*lane, error) {
			for _, o := range outs {
				lanes = append(lanes, newLane(o))
			}
			return lanes, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return tb, lanes
}

// A slow format gets every row as it was given, whatever the table does meanwhile,
// and the rows of two places are in batches of their own.
func TestSlowLane(t *testing.T) {
	t.Parallel()
	const perPlace = 3*batchRows + 7
	quick, slow := &gated{}, &gated{gate: make(chan struct{})}
	tb, _ := numbered(t, quick, slow)
	done := make(chan struct{})
	go func() { // the gate opens once a batch
		defer close(done)
		for range 2 * 4 {
			slow.gate <- struct{}{}
		}
	}()
	next := int64(0)
	for cell := range 2 {
		if err := tb.at(Place{Cell: cell}); err != nil {
			t.Fatal(err)
		}
		for end := next + perPlace; next < end; {
			rows := make([]int64, min(100, end-next))
			for i := range rows {
				rows[i] = next
				next++
			}
			if err := tb.append(rows); err != nil {
				t.Fatal(err)
			}
			clear(rows)
		}
	}
	if err := tb.close(); err != nil {
		t.Fatal(err)
	}
	<-done
	for name, g := range map[string]*gated{"quick": quick, "slow": slow} {
		if int64(len(g.got)) != next || !g.closed {
			t.Fatalf("%s: %d rows, closed %v; want %d rows and the end", name, len(g.got), g.closed, next)
		}
		for i, n := range g.got {
			if n != int64(i) {
				t.Fatalf("%s: row %d is %d", name, i, n)
			}
		}
	}
	if tb.made > turns {
		t.Errorf("%d batches, want %d at most", tb.made, turns)
	}
}

// A format that fails ends the table with its error, soon, and does not hold up
// the others; its file is not ended.
func TestFailedLane(t *testing.T) {
	t.Parallel()
	full := errors.New("no space left on device")
	good, bad := &gated{}, &gated{fail: full}
	tb, _ := numbered(t, good, bad)
	if err := tb.at(Place{}); err != nil {
		t.Fatal(err)
	}
	var err error
	for range turns + 1 { // a batch comes back only after the one before was tried
		if err = tb.append(make([]int64, batchRows)); err != nil {
			break
		}
	}
	if !errors.Is(err, full) || !strings.Contains(err.Error(), "table requests: ") {
		t.Errorf("append = %v, want the table's name and %v", err, full)
	}
	if err := tb.close(); !errors.Is(err, full) {
		t.Errorf("close = %v, want %v", err, full)
	}
	if bad.closed {
		t.Error("the format that failed was ended as if it were whole")
	}
}

// What is thrown away is not ended, and ending twice is no harm.
func TestAbandonedLane(t *testing.T) {
	t.Parallel()
	g := &gated{}
	tb, lanes := numbered(t, g)
	if err := tb.at(Place{}); err != nil {
		t.Fatal(err)
	}
	if err := tb.append(make([]int64, batchRows)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		lanes[0].end(false)
		if err := lanes[0].wait(); err != nil {
			t.Errorf("wait = %v", err)
		}
	}
	if len(g.got) != batchRows || g.closed {
		t.Errorf("%d rows written, ended %v; want %d rows and no end", len(g.got), g.closed, batchRows)
	}
}
