package onerun

import (
	"context"
	"time"

	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/dataset/fidelity"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/mode"
	"aiperf.dev/aiperf/schema"
)

// replay holds what was sent of a recording against the recording.
type replay struct{ *fidelity.Replay }

func startFidelity(_ context.Context, w *Watched) (Observer, error) {
	p := newReplay(w.Run.Set, w.Run.Benchmark.Phases)
	if p == nil {
		return nil, nil //nolint:nilnil // nothing recorded is played
	}
	return replay{p}, nil
}

// newReplay is the comparison for a run, nil where nothing is replayed.
func newReplay(set *dataset.Set, phases []schema.Phase) *fidelity.Replay {
	scheduled, middle, pauses := false, false, true
	for i := range phases {
		m, err := mode.Of(&phases[i])
		if err == nil && m.Primed {
			middle, pauses = true, pauses && phases[i].SystemIdleGapCapSeconds == nil &&
				phases[i].TreeIdleGapCapSeconds == nil
		}
		scheduled = scheduled || err == nil && phases[i].Kind != "warmup" && m.Timed
	}
	p := fidelity.New(set, scheduled && !middle)
	if p != nil && middle {
		p.FromMiddle(pauses)
	}
	return p
}

// Record hands one request to the comparison.
func (p replay) Record(r *record.Record) {
	primes := r.Warmup && r.Phase == mode.Priming
	if !primes && (r.Warmup || !r.Measured) || r.Sent == record.None {
		return
	}
	s := trace.Sent{At: time.Duration(r.Sent), Known: -1, Primes: primes}
	if r.ISL != record.None {
		s.In = r.ISL
	}
	if r.Status == record.OK && r.OSL != record.None {
		s.Out = r.OSL
	}
	if s.Out > 0 && r.UsageCompletion > 0 { // as a recording has it: a text read back may be other tokens
		s.Out = r.UsageCompletion
	}
	if r.Cached != record.None {
		s.Known = r.Cached
	}
	if r.UsagePrompt != record.None {
		s.Asked = r.UsagePrompt
	}
	p.Add(fidelity.Played{
		Conversation: r.ConversationID, Session: r.SessionID, Parent: r.ParentSession, Turn: r.Turn,
		Intended: time.Duration(r.Intended), Ended: time.Duration(r.End),
	}, s)
}

// Stop says how close it came.
func (p replay) Stop(_ context.Context, out *Result) error {
	if out != nil {
		f := p.Fidelity()
		out.Fidelity = &f
	}
	return nil
}
