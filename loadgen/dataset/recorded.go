package dataset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
)

// literal is what a recorded request says instead of lengths.
type literal struct {
	text     string
	messages json.RawMessage
	tools    json.RawMessage
	payload  json.RawMessage
	extra    map[string]any
	model    string
	guess    string // of baseten_trace: the session that the recording guessed
	delta    bool   // messages follow the history instead of replacing it
}

// traceRows collects recorded requests until all are there.
type traceRows struct {
	rows     []trace.Row
	literals map[int]*literal // by index of the row
	block    int
	complete bool // every row carries its whole history
	apart    bool // each row is played as a session of its own
	branches []trace.Branch
	last     time.Duration
	back     string  // place of the first row that is earlier than the one before it
	sizes    []int64 // by name of a block: tokens that it stood for, −1 before it is seen; nil once all rows are there
	uneven   string  // says the first row whose block stood for another number of tokens
}

// ErrBlockSize is why a trace whose lengths and hashes disagree cannot be played.
// It is a matter of the data and of a setting, so that a plan which is only looked
// at may have it.
var ErrBlockSize = errors.New("the lengths of a trace disagree with its hashes")

// record takes one more row. place is for what only the whole trace shows: reading a
// record, the caller names its place.
func (r *reader) record(place string, row trace.Row, lit *literal) error {
	t := r.trace
	if t == nil {
		t = &traceRows{literals: map[int]*literal{}, block: r.format.Block, complete: r.format.Complete}
		if r.cfg.BlockSize > 0 {
			t.block = r.cfg.BlockSize
		}
		r.trace = t
	}
	switch k := int64(len(row.Blocks)); {
	case lit == nil && row.In < 1:
		return fmt.Errorf("an input of %d tokens cannot be sent", row.In)
	case row.In > maxTokens:
		return fmt.Errorf("an input of %d tokens is above the limit of %d", row.In, maxTokens)
	case row.Out < 0 || row.Out > maxCount:
		return fmt.Errorf("an output of %d tokens is out of range", row.Out)
	case k > 0 && row.In <= (k-1)*int64(t.block):
		return &diag.Error{
			Code: diag.Failed, Message: fmt.Sprintf("%d hash ids of %d tokens disagree with %d input tokens", k, t.block, row.In),
			Hint: "is the block size right (block_size)?", Cause: ErrBlockSize,
		}
	}
	if row.Timed {
		if row.At < t.last && t.back == "" && !r.format.ownClock {
			t.back = place
		}
		t.last = row.At
	}
	if lit != nil {
		t.literals[len(t.rows)] = lit
	}
	if t.uneven == "" {
		t.uneven = t.measure(place, &row)
	}
	row.Line = int32(len(t.rows))
	t.rows = append(t.rows, row)
	return nil
}

// finishTrace makes the rows a store of conversations.
func finishTrace(r *reader) error {
	t := r.trace
	if t == nil || len(t.rows) == 0 {
		return errors.New(r.cfg.Path + ": no records")
	}
	if t.back != "" {
		r.doubt("%s: time stamps go back here; the trace is played in the order of time", t.back)
	}
	if t.uneven != "" {
		r.doubt("%s", t.uneven)
	}
	t.sizes = nil
	r.names, r.room = trace.Names{}, nil // a table of all hashes, of no more use
	if r.rowsOnly {
		return nil
	}
	if err := r.reshape(); err != nil {
		return err
	}
	s, err := newTraceStore(r)
	if err != nil {
		return err
	}
	r.stored = s
	return nil
}

// reshape filters and changes the rows as the dataset's settings say.
func (r *reader) reshape() error {
	t := r.trace
	p := trace.Params{BlockSize: t.block, Speedup: r.speedup()}
	if s := r.cfg.Synthesis; s != nil {
		p.PrefixLen, p.Roots, p.PromptLen, p.OutputLen = s.PrefixLenMultiplier, s.PrefixRootMultiplier, s.PromptLenMultiplier, s.OutputLenMultiplier
		p.MaxISL, p.MaxOSL = s.MaxISL, s.MaxOSL
	}
	if len(t.literals) == 0 || !p.Changes() && p.MaxISL == 0 {
		rows, err := p.Apply(t.rows, r.src.shape("synthesis").At(0, 0))
		if err != nil {
			return fmt.Errorf("%s: %w", r.cfg.Path, err)
		}
		if len(rows) == 0 {
			return fmt.Errorf("%s: no row has at most %d input tokens (synthesis.max_isl)", r.cfg.Path, p.MaxISL)
		}
		t.rows = rows
	} else {
		p.PrefixLen, p.PromptLen, p.Roots, p.MaxISL = 0, 0, 0, 0 // texts that are written out keep their length
		rows, err := p.Apply(t.rows, r.src.shape("synthesis").At(0, 0))
		if err != nil {
			return fmt.Errorf("%s: %w", r.cfg.Path, err)
		}
		t.rows = rows
	}
	r.closeGaps()
	return nil
}

// closeGaps shortens the time in which nobody sends to the longest that was
// asked for, and drops recorded times where they are not wanted.
func (r *reader) closeGaps() {
	t, c := r.trace, &r.cfg
	longest := time.Duration(-1)
	for _, s := range []*float64{c.MaxIdleGapCapSeconds, c.TraceIdleGapCapSeconds} {
		if s != nil {
			longest = files.Scale(time.Second, *s)
		}
	}
	switch {
	case r.format.ownClock && c.TraceIdleGapCapSeconds != nil:
		trace.CloseGapsOfTrees(t.rows, longest, func(session string) string {
			root, _, _ := strings.Cut(session, agentMark)
			return root
		})
	case longest >= 0:
		trace.CloseGaps(t.rows, longest)
	}
	for i := range t.rows {
		row := &t.rows[i]
		if c.InterTurnDelayCapSeconds != nil {
			row.Delay = min(row.Delay, files.Scale(time.Second, *c.InterTurnDelayCapSeconds))
		}
		if c.IgnoreTraceDelays {
			row.Timed, row.Delay, row.At = false, 0, 0
		}
	}
}
