package dataset

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
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
)

// traceStore makes conversations out of rows when they are played: a trace of
// a million rows is many gigabytes of text.
type traceStore struct {
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

func newTraceStore(r *reader) (*traceStore, error) {
	t := r.trace
	s := &traceStore{
		literals: t.literals, block: t.block, osl: r.osl, tok: r.tok,
		system: r.cfg.SystemPrompt, ratio: r.cfg.TurnDelayRatio,
	}
	if len(t.literals) < len(t.rows) {
		if r.tok == nil {
			return nil, errors.New("a trace of lengths needs a tokenizer to make its prompts")
		}
		corpus, err := synth.NewCorpus(r.cfg.Prompts.Corpus, r.cfg.Prompts.CorpusFile, r.tok)
		if err != nil {
			return nil, err
		}
		s.writer, s.blocks = corpus.Writer(r.src.text("trace")), corpus.Writer(r.src.text("blocks"))
	}
	if t.uneven != "" || r.cfg.Synthesis != nil {
		s.uneven = trace.Uneven(t.rows, t.block)
	}
	s.Sessions = trace.Group(t.rows)
	s.Tie(t.branches)
	s.sample(r)
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
		r.note("%s cumulative: each row repeats the one before it, so it is sent by itself and not behind its history", words.CountOf(grown, "session is", "sessions are"))
	}
	return s, nil
}

// sample keeps a share of the conversations and no more than were asked for.
func (s *traceStore) sample(r *reader) {
	share, most := 1.0, s.Len()
	if v := r.cfg.TraceSessionSampleRatio; v != nil {
		share = *v
	}
	if r.cfg.Entries > 0 {
		most = min(most, r.cfg.Entries)
	}
	if share >= 1 && most == s.Len() {
		return
	}
	stream := r.src.shape("sessions")
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
func (s *traceStore) Len() int { return s.Roots() }

func (s *traceStore) Turns() int { return len(s.Order()) }

func (s *traceStore) At(i int) *Conversation { return s.tree(s.Root(i), s.said) }

func (s *traceStore) Outline(i int) *Conversation { return s.tree(s.Root(i), s.outline) }

func (s *traceStore) begins(i int) (at *time.Duration, turns int) {
	rows := s.Of(s.Root(i))
	if first := &s.Rows[rows[0]]; first.Timed {
		at = &first.At
	}
	return at, len(rows)
}

// each are all sessions, made by made; what they start is an outline.
func (s *traceStore) each(made func(i int) *Conversation) iter.Seq[*Conversation] {
	return func(yield func(*Conversation) bool) {
		for i := range s.Sessions.Len() {
			if !yield(s.link(made(i), i, s.outline)) {
				return
			}
		}
	}
}

// tree is session i with those that it starts.
func (s *traceStore) tree(i int, made func(i int) *Conversation) *Conversation {
	return s.link(made(i), i, made)
}

// link gives c, which is session i, those that it starts.
func (s *traceStore) link(c *Conversation, i int, made func(i int) *Conversation) *Conversation {
	for _, k := range s.Children(i) {
		child := s.tree(int(k.Session), made)
		t := &c.Turns[k.From]
		t.Starts = append(t.Starts, Start{ID: child.ID, Conversation: child, JoinAt: k.Join})
	}
	if s.Trees() {
		c.sum()
	}
	return c
}

// said is session i with its texts.
func (s *traceStore) said(i int) *Conversation {
	c := s.outline(i)
	for k, at := range s.Of(i) {
		s.say(&c.Turns[k], at)
	}
	if s.system != "" {
		c.count(s.tok)
	}
	return c
}

// id is the name of session i's conversation.
func (s *traceStore) id(i int) string {
	if name := s.Name(i); name != "" {
		return name
	}
	return sessionID(i)
}

// finder finds the place in the order of the first row of a session by the id of
// its conversation.
func (s *traceStore) finder() func(id string) (row int32, ok bool) {
	named := s.Finder()
	return func(id string) (int32, bool) {
		if row, ok := named(id); ok {
			return row, true
		}
		i, ok := sessionNumber(id)
		if !ok || i >= s.Sessions.Len() || s.Name(i) != "" {
			return 0, false
		}
		return s.First(i), true
	}
}

// outline is session i without its texts, and without what it starts.
func (s *traceStore) outline(i int) *Conversation {
	rows := s.Of(i)
	c := &Conversation{ID: s.id(i), System: s.system, Turns: make([]Turn, len(rows))}
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
func (s *traceStore) say(t *Turn, at int32) {
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
		t.ISL = countTexts(s.tok, t.Texts)
	default:
		t.Texts, t.ISL = []string{s.text(int(at), row)}, row.In
	}
}

// text is a prompt of row's length whose blocks say the same wherever they
// appear. The last one may be a part; what no block covers is the row's own.
func (s *traceStore) text(at int, row *trace.Row) string {
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
func (s *traceStore) Digest() string {
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
