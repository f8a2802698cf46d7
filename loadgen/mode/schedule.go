package mode

import (
	"cmp"
	"slices"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

// Schedule is the first n offsets, from the start of the phase, at which p
// wants to send, without sending anything. In a closed loop they are those of
// the first send of each slot; the rest follows the answers. set is what the
// phase plays; nil is enough unless NeedsSet. Later turns of users and traces
// are listed when they are due if answers come in time; those that on_count lets
// through beyond the last request are not.
func Schedule(p *schema.Phase, root int64, n int, set *dataset.Set) ([]time.Duration, error) {
	l, err := Open(p, root, set)
	if err != nil {
		return nil, err
	}
	if a, ok := l.Arrivals.(lister); ok {
		var offsets []time.Duration
		for _, s := range a.sends(n, p.Sessions) {
			offsets = append(offsets, s.at)
		}
		return cut(p, offsets, n), nil
	}
	if p.Sessions > 0 && (!l.EveryTurn || set != nil && set.Turns() == set.Len()) {
		n = int(min(int64(n), p.Sessions))
	}
	var offsets []time.Duration
	for len(offsets) < n {
		at, ok := l.Arrivals.Next()
		if !ok {
			break
		}
		offsets = append(offsets, at)
	}
	return cut(p, offsets, n), nil
}

// lister lists the turns that follow an arrival, too: at least n sends, or
// those of so many sessions (0: all).
type lister interface {
	sends(n int, sessions int64) []send
}

// send is one turn of a session when it is due.
type send struct {
	at      time.Duration
	session int64 // number in the phase
	turn    int
}

// compare is the order in which the engine sends: of what is due together, turns
// that follow go before first ones, and sessions in their order.
func (s send) compare(o send) int {
	return cmp.Or(cmp.Compare(s.at, o.at), cmp.Compare(min(1, o.turn), min(1, s.turn)),
		cmp.Compare(s.session, o.session))
}

// NeedsSet reports whether the schedule of p depends on what it plays.
func NeedsSet(p *schema.Phase) bool {
	m, err := Of(p)
	return err == nil && m.NeedsSet || p.Sessions > 0
}

// cut keeps what the phase's bounds and n leave of a sorted schedule.
func cut(p *schema.Phase, offsets []time.Duration, n int) []time.Duration {
	if p.Requests > 0 {
		n = int(min(int64(n), p.Requests))
	}
	offsets = offsets[:min(n, len(offsets))]
	if p.Duration != nil {
		i, _ := slices.BinarySearch(offsets, p.Duration.Go())
		offsets = offsets[:i]
	}
	return offsets
}
