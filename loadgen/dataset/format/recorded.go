package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/schema"
)

// literal is what a recorded request says instead of lengths.
type literal struct {
	text     string
	messages json.RawMessage
	tools    json.RawMessage
	payload  json.RawMessage
	extra    schema.Members
	model    string
	guess    string // of baseten_trace: the session that the recording guessed
	delta    bool   // messages follow the history instead of replacing it
}

// traceRows collects recorded requests until all are there. It is the part that the
// decoders of all traces share.
type traceRows struct {
	*draft
	rows     []trace.Row
	literals map[int]*literal // by index of the row
	block    int
	complete bool // every row carries its whole history
	apart    bool // each row is played as a session of its own
	branches []trace.Branch
	last     time.Duration
	back     string // place of the first row that is earlier than the one before it
	// by name of a block: tokens that it stood for, −1 before it is seen; nil once all rows are there
	sizes  []int64
	uneven string      // says the first row whose block stood for another number of tokens
	names  trace.Names // of blocks
	room   []int32     // for blocks of rows to come
}

func newTraceRows(d *draft) traceRows {
	t := traceRows{draft: d, literals: map[int]*literal{}, block: d.format.Block, complete: d.format.Complete}
	if d.cfg.BlockSize > 0 {
		t.block = d.cfg.BlockSize
	}
	return t
}

// recording is for those who want the rows.
func (t *traceRows) recording() *traceRows { return t }

// replaying are the settings of traces.
var replaying = []string{
	"block_size", "synthesis", "replay_speedup", "trace_session_sample_ratio", "inter_turn_delay_cap_seconds",
	"max_idle_gap_cap_seconds",
	"trace_idle_gap_cap_seconds", "ignore_trace_delays", "system_prompt", "system_prompt_file", "turn_delay_ratio",
	"cache_bust",
}

// ErrBlockSize is why a trace whose lengths and hashes disagree cannot be played.
// It is a matter of the data and of a setting, so that a plan which is only looked
// at may have it.
var ErrBlockSize = errors.New("the lengths of a trace disagree with its hashes")

// record takes one more row. place is for what only the whole trace shows: reading a
// record, the caller names its place.
func (t *traceRows) record(place string, row trace.Row, lit *literal) error {
	switch k := int64(len(row.Blocks)); {
	case lit == nil && row.In < 1:
		return fmt.Errorf("an input of %d tokens cannot be sent", row.In)
	case row.In > conversation.MaxTokens:
		return fmt.Errorf("an input of %d tokens is above the limit of %d", row.In, conversation.MaxTokens)
	case row.Out < 0 || row.Out > conversation.MaxCount:
		return fmt.Errorf("an output of %d tokens is out of range", row.Out)
	case k > 0 && row.In <= (k-1)*int64(t.block):
		return &diag.Error{
			Code: diag.Failed, Message: fmt.Sprintf("%d hash ids of %d tokens disagree with %d input tokens", k,
				t.block, row.In),
			Hint: "is the block size right (block_size)?", Cause: ErrBlockSize,
		}
	}
	if row.Timed {
		if row.At < t.last && t.back == "" && !t.format.ownClock {
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

// finish makes the rows a store of conversations.
func (t *traceRows) finish() error {
	if len(t.rows) == 0 {
		return errors.New(t.cfg.Path + ": no records")
	}
	if t.back != "" {
		t.doubt("%s: time stamps go back here; the trace is played in the order of time", t.back)
	}
	if t.uneven != "" {
		t.doubt("%s", t.uneven)
	}
	t.sizes, t.names, t.room = nil, trace.Names{}, nil // a table of all hashes, of no more use
	if t.rowsOnly {
		return nil
	}
	if err := t.reshape(); err != nil {
		return err
	}
	s, err := newRecorded(t)
	t.recorded = s
	return err
}

// reshape filters and changes the rows as the dataset's settings say.
func (t *traceRows) reshape() error {
	p := trace.Params{BlockSize: t.block, Speedup: t.speedup()}
	if s := t.cfg.Synthesis; s != nil {
		p.PrefixLen, p.Roots, p.PromptLen, p.OutputLen = s.PrefixLenMultiplier,
			s.PrefixRootMultiplier, s.PromptLenMultiplier, s.OutputLenMultiplier
		p.MaxISL, p.MaxOSL = s.MaxISL, s.MaxOSL
	}
	if len(t.literals) == 0 || !p.Changes() && p.MaxISL == 0 {
		rows, err := p.Apply(t.rows, t.src.Draws("synthesis").At(0, 0))
		if err != nil {
			return fmt.Errorf("%s: %w", t.cfg.Path, err)
		}
		if len(rows) == 0 {
			return fmt.Errorf("%s: no row has at most %d input tokens (synthesis.max_isl)", t.cfg.Path, p.MaxISL)
		}
		t.rows = rows
	} else {
		p.PrefixLen, p.PromptLen, p.Roots, p.MaxISL = 0, 0, 0, 0 // texts that are written out keep their length
		rows, err := p.Apply(t.rows, t.src.Draws("synthesis").At(0, 0))
		if err != nil {
			return fmt.Errorf("%s: %w", t.cfg.Path, err)
		}
		t.rows = rows
	}
	t.closeGaps()
	return nil
}

// closeGaps shortens the time in which nobody sends to the longest that was
// asked for, and drops recorded times where they are not wanted.
func (t *traceRows) closeGaps() {
	c := &t.cfg
	longest := time.Duration(-1)
	trees := c.TraceIdleGapCapSeconds
	if c.GapsStay {
		trees = nil
	}
	for _, s := range []*float64{c.MaxIdleGapCapSeconds, trees} {
		if s != nil {
			longest = files.Scale(time.Second, *s)
		}
	}
	switch {
	case t.format.ownClock && trees != nil:
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

// speedup is how much faster than recorded a trace is played.
func (d *draft) speedup() float64 {
	speed := 1.0
	if s := d.cfg.Synthesis; s != nil && s.SpeedupRatio > 0 {
		speed = s.SpeedupRatio
	}
	if d.cfg.ReplaySpeedup > 0 {
		speed *= d.cfg.ReplaySpeedup
	}
	return speed
}

// row reads the lengths and hashes of a recorded request.
func (t *traceRows) row(f *files.Fields, in, out, hashes string) (row trace.Row, err error) {
	var ids hashList
	if _, err = f.Decode(in, &row.In, "a whole number of tokens"); err == nil {
		if _, err = f.Decode(out, &row.Out, "a whole number of tokens"); err == nil && hashes != "" {
			_, err = f.Decode(hashes, &ids, "a list of whole numbers from 0")
		}
	}
	if err != nil {
		return row, err
	}
	row.Blocks = t.blocks(ids)
	return row, nil
}

// blocks gives hashes their names. Rows have their blocks in common stretches
// of memory: a million small ones would take as much again to keep track of.
func (t *traceRows) blocks(ids hashList) []int32 {
	if len(ids) == 0 {
		return nil
	}
	if len(t.room) < len(ids) {
		t.room = make([]int32, max(stretch, len(ids)))
	}
	out := t.room[:len(ids):len(ids)]
	t.room = t.room[len(ids):]
	for i, id := range ids {
		out[i] = t.names.Of(id)
	}
	return out
}

// stretch is how many blocks are given room at once.
const stretch = 1 << 16

// measure remembers how many tokens the blocks of row stand for. It says where that
// is another number than before: then a hash is not one text.
func (t *traceRows) measure(place string, row *trace.Row) string {
	for k, b := range row.Blocks {
		for int(b) >= len(t.sizes) {
			t.sizes = append(t.sizes, -1)
		}
		n, before := row.Tokens(k, t.block), t.sizes[b]
		if before >= 0 && n != before {
			return fmt.Sprintf("%s: hash id %d of %d stands for %d tokens here and for %d before; the shorter block counts as the beginning of the longer one",
				place, k+1, len(row.Blocks), n, before)
		}
		t.sizes[b] = n
	}
	return ""
}
