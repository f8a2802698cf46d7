package format

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// Recorded makes conversations out of rows when they are played: a trace of
// a million rows is many gigabytes of text.
type Recorded struct {
	*trace.Sessions
	literals map[int]*literal
	complete []bool // by session
	writer   *synth.Writer
	blocks   *synth.Writer
	block    int
	uneven   map[int32]bool // blocks that stand for different numbers of tokens
	osl      *synth.Lengths
	tok      tokenizer.Tokenizer
	system   string
	ratio    float64
}

func newRecorded(t *traceRows) (*Recorded, error) {
	s := &Recorded{
		literals: t.literals, block: t.block, osl: t.osl, tok: t.tok,
		system: t.cfg.SystemPrompt, ratio: t.cfg.TurnDelayRatio,
	}
	if len(t.literals) < len(t.rows) {
		if t.tok == nil {
			return nil, errors.New("a trace of lengths needs a tokenizer to make its prompts")
		}
		corpus, err := synth.NewCorpus(t.cfg.Prompts.Corpus, t.cfg.Prompts.CorpusFile, t.tok)
		if err != nil {
			return nil, err
		}
		s.writer, s.blocks = corpus.Writer(t.src.Words("trace")), corpus.Writer(t.src.Words("blocks"))
	}
	if t.uneven != "" || t.cfg.Synthesis != nil {
		s.uneven = trace.Uneven(t.rows, t.block)
	}
	s.Sessions = trace.Group(t.rows)
	s.Tie(t.branches)
	s.sample(t)
	if t.apart {
		s.Part()
	}
	grown := 0
	for i := range s.Sessions.Len() {
		is := t.complete || s.Cumulative(i)
		s.complete = append(s.complete, is)
		if is && !t.complete {
			grown++
		}
	}
	if grown > 0 {
		t.note("%s cumulative: each row repeats the one before it, so it is sent without a history",
			words.CountOf(grown, "session is", "sessions are"))
	}
	return s, nil
}

// sample keeps a share of the conversations and no more than were asked for.
func (s *Recorded) sample(t *traceRows) {
	share, most := 1.0, s.Len()
	if v := t.cfg.TraceSessionSampleRatio; v != nil {
		share = *v
	}
	if t.cfg.Entries > 0 {
		most = min(most, t.cfg.Entries)
	}
	if share >= 1 && most == s.Len() {
		return
	}
	stream := t.src.Draws("sessions")
	var kept []int32
	for i := range s.Len() {
		if len(kept) == most || stream.At(i, 0).Float64() >= share && s.Len() > 1 {
			continue
		}
		kept = append(kept, int32(s.Root(i)))
	}
	if len(kept) == 0 { // a share of almost nothing still plays something
		kept = []int32{int32(s.Root(0))}
	}
	s.Keep(kept)
}

// Len is the number of conversations that are played by themselves.
func (s *Recorded) Len() int { return s.Roots() }

func (s *Recorded) Turns() int { return len(s.Order()) }

func (s *Recorded) At(i int) *conversation.Conversation { return s.tree(s.Root(i), s.said) }

func (s *Recorded) Outline(i int) *conversation.Conversation { return s.tree(s.Root(i), s.outline) }

// Begins is the time stamp of conversation i's first turn, nil for none, and how many
// turns it has.
func (s *Recorded) Begins(i int) (at *time.Duration, turns int) {
	rows := s.Of(s.Root(i))
	if first := &s.Rows[rows[0]]; first.Timed {
		at = &first.At
	}
	return at, len(rows)
}

// Each are all sessions with their texts: those that are played by themselves, and those
// that others start.
func (s *Recorded) Each() iter.Seq[*conversation.Conversation] { return s.each(s.said) }

// Recording is a trace as a set plays it.
type Recording struct {
	Sessions *trace.Sessions
	Complete []bool  // by session: each row holds its whole history
	Block    int     // tokens that one hash stands for
	Ratio    float64 // by which the pauses are played longer; 0: as recorded
	// First finds the place in Sessions.Order of a conversation's first row.
	First func(conversation string) (place int32, ok bool)
	// Outlines are the conversations of all sessions, without texts.
	Outlines iter.Seq[*conversation.Conversation]
}

// Recording is the trace as it is played.
func (s *Recorded) Recording() Recording {
	return Recording{s.Sessions, s.complete, s.block, s.ratio, s.finder(), s.each(s.outline)}
}

// each are all sessions, made by made; what they start is an outline.
func (s *Recorded) each(made func(i int) *conversation.Conversation) iter.Seq[*conversation.Conversation] {
	return func(yield func(*conversation.Conversation) bool) {
		for i := range s.Sessions.Len() {
			if !yield(s.link(made(i), i, s.outline)) {
				return
			}
		}
	}
}

// tree is session i with those that it starts.
func (s *Recorded) tree(i int, made func(i int) *conversation.Conversation) *conversation.Conversation {
	return s.link(made(i), i, made)
}

// link gives c, which is session i, those that it starts.
func (s *Recorded) link(
	c *conversation.Conversation, i int, made func(i int) *conversation.Conversation,
) *conversation.Conversation {
	for _, k := range s.Children(i) {
		child := s.tree(int(k.Session), made)
		t := &c.Turns[k.From]
		t.Starts = append(t.Starts, conversation.Start{ID: child.ID, Conversation: child, JoinAt: k.Join})
	}
	if s.Trees() {
		c.Sum()
	}
	return c
}

// said is session i with its texts.
func (s *Recorded) said(i int) *conversation.Conversation {
	c := s.outline(i)
	for k, at := range s.Of(i) {
		s.say(&c.Turns[k], at)
	}
	if s.system != "" {
		c.CountOpening(s.tok)
	}
	return c
}

// id is the name of session i's conversation.
func (s *Recorded) id(i int) string {
	if name := s.Name(i); name != "" {
		return name
	}
	return conversation.SessionID(i)
}

// finder finds the place in the order of the first row of a session by the id of
// its conversation.
func (s *Recorded) finder() func(id string) (row int32, ok bool) {
	named := s.Finder()
	return func(id string) (int32, bool) {
		if row, ok := named(id); ok {
			return row, true
		}
		i, ok := conversation.SessionNumber(id)
		if !ok || i >= s.Sessions.Len() || s.Name(i) != "" {
			return 0, false
		}
		return s.First(i), true
	}
}

// outline is session i without its texts, and without what it starts.
func (s *Recorded) outline(i int) *conversation.Conversation {
	rows := s.Of(i)
	c := &conversation.Conversation{ID: s.id(i), System: s.system, Turns: make([]conversation.Turn, len(rows))}
	for k, at := range rows {
		row, t := &s.Rows[at], &c.Turns[k]
		t.MaxTokens, t.Complete = row.Out, s.complete[i]
		if t.MaxTokens == 0 {
			if n, err := s.osl.At(i, k); err == nil {
				t.MaxTokens = int64(n)
			}
		}
		if row.Timed {
			at := row.At
			t.Timestamp = &at
		}
		if t.Delay = row.Delay; s.ratio != 0 {
			t.Delay = files.Scale(t.Delay, s.ratio)
		}
	}
	return c
}

// say gives the turn of row at its words.
func (s *Recorded) say(t *conversation.Turn, at int32) {
	row := &s.Rows[at]
	lit := s.literals[int(at)]
	if lit == nil {
		t.Texts, t.ISL = []string{s.text(int(at), row)}, row.In
		return
	}
	t.Extra, t.Model = lit.extra, lit.model
	switch {
	case lit.payload != nil:
		t.Raw, t.Complete = lit.payload, true
	case lit.messages != nil:
		t.Messages, t.Tools, t.Complete = lit.messages, lit.tools, !lit.delta
	case lit.text != "":
		t.Texts = []string{lit.text}
		t.ISL = conversation.CountTexts(s.tok, t.Texts)
	default:
		t.Texts, t.ISL = []string{s.text(int(at), row)}, row.In
	}
}

// text is a prompt of row's length whose blocks say the same wherever they
// appear. The last one may be a part; what no block covers is the row's own.
func (s *Recorded) text(at int, row *trace.Row) string {
	n := int(row.In)
	if len(row.Blocks) == 0 {
		return s.writer.Text(at, n)
	}
	var b strings.Builder
	b.Grow(6 * n)
	left := n
	for _, name := range row.Blocks {
		size := min(left, s.block)
		if s.uneven[name] {
			b.WriteString(s.blocks.Words(int(name), size))
		} else {
			b.WriteString(s.blocks.Block(int(name), size))
		}
		left -= size
	}
	if left > 0 {
		b.WriteString(s.writer.Block(at, left))
	}
	text := b.String()
	if s.blocks.Additive() {
		return text
	}
	whole := text[:len(text)-len(text)/8]
	return s.blocks.Whole(whole, text[len(whole):], n)
}

// Digest stands for the rows; the texts follow from them and the seed.
func (s *Recorded) Digest() string {
	h := sha256.New()
	var b [8]byte
	number := func(v int64) {
		binary.BigEndian.PutUint64(b[:], uint64(v))
		h.Write(b[:])
	}
	for _, at := range s.Order() {
		r := &s.Rows[at]
		h.Write([]byte(r.Session))
		number(int64(r.At))
		number(int64(r.Delay))
		number(r.In)
		number(r.Out)
		for _, name := range r.Blocks {
			number(int64(name))
		}
		if lit := s.literals[int(at)]; lit != nil {
			fmt.Fprint(h, lit.text, string(lit.messages), string(lit.payload), lit.extra)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
