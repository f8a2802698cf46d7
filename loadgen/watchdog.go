package loadgen

import (
	"fmt"
	"math"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/pace"
)

// watchdogMargin is how long the client may take to end what was cancelled.
// Closing a socket takes microseconds; who needs seconds is stuck.
const watchdogMargin = 5 * time.Second

// giveUp ends the requests that outlived their cancellation, as cancelled and
// without the client, so that the phase ends on time whatever the client does.
// Their exchanges stay the client's: a late Done is ignored (answerOver).
func (p *phase) giveUp(now int64) {
	stuck := append([]*request(nil), p.books.onWire...)
	for _, r := range stuck {
		g := p.ghost(r, now)
		p.answerOver(g, now)
	}
	if len(stuck) > 0 {
		p.result.Notes = append(p.result.Notes,
			fmt.Sprintf("%s did not end within %v of being cancelled and were given up",
				words.Count(len(stuck), "request"), watchdogMargin))
	}
}

// ghost stands for r, which the client does not give back: it has r's identity
// and place, and nothing that the client may still write to.
func (p *phase) ghost(r *request, now int64) *request {
	r.abandoned = true
	g := &request{
		phase: p, play: r.play, turn: r.turn, Turn: r.Turn,
		id: r.id, intended: r.intended, freed: r.freed, admitted: r.admitted, stay: r.stay,
		place: r.place, prefilling: r.prefilling, late: true,
	}
	x, none := &g.x, int64(record.None)
	x.Body, x.Target = append([]byte(nil), r.x.Body...), r.x.Target
	x.Sent, x.WriteEnd, x.FirstByte, x.CancelAsked, x.HTTPStatus = none, none, none, p.stops.cutTried, none
	x.DNS, x.Dial, x.TLS, x.Connecting, x.BytesSent, x.BytesReceived = none, none, none, none, none, none
	x.Status, x.End, x.ReceiveLag = record.Cancelled, now, math.NaN()
	r.prefilling = false
	p.books.onWire[g.place] = g
	return g
}

// waiting is what the phase waits for once nothing is sent any more, for people.
func (p *phase) waiting(now int64) string {
	if !p.sentAll.Load() || p.over.Load() {
		return ""
	}
	n, cut := p.books.inFlight.Load(), p.cutShown.Load()
	switch {
	case n == 0:
		return "for the last answers to be read"
	case cut == pace.Never:
		return "for " + words.Count(n, "answer")
	case cut <= now:
		return fmt.Sprintf("for %s to be cancelled", words.Count(n, "request"))
	}
	return fmt.Sprintf("for %s; the rest is cancelled in %v", words.Count(n, "answer"),
		time.Duration(cut-now).Round(time.Second))
}
