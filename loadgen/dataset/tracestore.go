package dataset

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/dataset/trace"
	"aiperf.dev/aiperf/loadgen/tokenizer"
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
	branches []branch
	last     time.Duration
	back     string  // place of the first row that is earlier than the one before it
	sizes    []int64 // by name of a block: tokens that it stood for, −1 before it is seen; nil once all rows are there
	uneven   string  // says the first row whose block stood for another number of tokens
}

// branch is a session that another one starts: by lines, the row that starts
// it, the row that waits until it is over (−1: none does), and its first row.
type branch struct{ from, join, child int32 }

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
	if r.format.ownClock && c.TraceIdleGapCapSeconds != nil {
		t.closeGapsOfTrees(longest)
		longest = -1
	}
	var order []int32 // what is sent at a recorded time; the rest comes after answers
	for i := range t.rows {
		if t.rows[i].Timed {
			order = append(order, int32(i))
		}
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(t.rows[a].At, t.rows[b].At) })
	var cut, before time.Duration
	for k, i := range order {
		row := &t.rows[i]
		if gap := row.At - before; longest >= 0 && k > 0 && gap > longest {
			cut += gap - longest
		}
		before = row.At
		row.At -= cut
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

// closeGapsOfTrees shortens the time in which nobody of a session tree begins a
// request, each tree by its own clock. Pauses are shorter by as much.
func (t *traceRows) closeGapsOfTrees(longest time.Duration) {
	trees := map[string][]int32{}
	for i := range t.rows {
		name, _, _ := strings.Cut(t.rows[i].Session, agentMark)
		trees[name] = append(trees[name], int32(i))
	}
	cuts := make([]time.Duration, len(t.rows))
	for _, rows := range trees {
		slices.SortStableFunc(rows, func(a, b int32) int { return cmp.Compare(t.rows[a].At, t.rows[b].At) })
		var cut time.Duration
		for k, i := range rows {
			if k > 0 {
				cut += max(0, t.rows[i].At-t.rows[rows[k-1]].At-longest)
			}
			cuts[i] = cut
		}
	}
	last := map[string]int32{} // row of each session
	for i := range t.rows {
		row := &t.rows[i]
		if before, ok := last[row.Session]; ok {
			row.Delay = max(0, row.Delay-(cuts[i]-cuts[before]))
		}
		last[row.Session] = int32(i)
		row.Delay = min(row.Delay, longest)
	}
	for i := range t.rows {
		t.rows[i].At -= cuts[i]
	}
}

// traceStore makes conversations out of rows when they are played: a trace of
// a million rows is many gigabytes of text.
type traceStore struct {
	rows     []trace.Row
	literals map[int]*literal
	order    []int32         // rows, session by session
	starts   []int32         // starts[i]..starts[i+1] in order are session i
	complete []bool          // by session
	roots    []int32         // sessions that no other one starts; nil: all
	kids     map[int32][]kid // by session: those that it starts
	writer   *synth.Writer
	blocks   *synth.Writer
	block    int
	uneven   map[int32]bool // blocks that stand for different numbers of tokens
	osl      *synth.Lengths
	tok      tokenizer.Tokenizer
	system   string
	ratio    float64
}

// kid is a session that turn from of another one starts, and which its turn join
// waits for; 0: none does.
type kid struct {
	session    int32
	from, join int
}

func newTraceStore(r *reader) (*traceStore, error) {
	t := r.trace
	s := &traceStore{
		rows: t.rows, literals: t.literals, block: t.block, osl: r.osl, tok: r.tok,
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
	s.group()
	s.tie(t.branches)
	s.sample(r)
	if t.apart {
		s.part()
	}
	grown := 0
	for i := range s.sessions() {
		is := t.complete || s.grows(i)
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

// group puts the rows of a session together, sessions in the order of their
// first rows.
func (s *traceStore) group() {
	of := map[string]int{}
	var sessions [][]int32
	single := make([]int32, 0, len(s.rows))
	for i := range s.rows {
		name := s.rows[i].Session
		k, known := of[name]
		if name == "" || !known {
			single = append(single, int32(i))
			if name != "" {
				of[name] = len(sessions)
			}
			n := len(single)
			sessions = append(sessions, single[n-1:n:n])
			continue
		}
		sessions[k] = append(sessions[k], int32(i))
	}
	for _, rows := range sessions {
		s.starts = append(s.starts, int32(len(s.order)))
		s.order = append(s.order, rows...)
	}
	s.starts = append(s.starts, int32(len(s.order)))
}

// part makes each row that is played a session, named by its place in the one
// that it was recorded in.
func (s *traceStore) part() {
	for i := range s.sessions() {
		for k, at := range s.session(i) {
			if row := &s.rows[at]; row.Session != "" {
				row.Session = fmt.Sprintf("%s#%d", row.Session, k)
			}
		}
	}
	s.starts = s.starts[:0]
	for i := range len(s.order) + 1 {
		s.starts = append(s.starts, int32(i))
	}
}

// tie finds the sessions of branches. Rows may have been left out: then the turn
// before the one that started a session starts it, and the one after the one
// that waited for it waits.
func (s *traceStore) tie(branches []branch) {
	if len(branches) == 0 {
		return
	}
	of := map[string]int32{} // session by name
	for i := range s.sessions() {
		of[s.rows[s.session(i)[0]].Session] = int32(i)
	}
	names := map[int32]string{} // by line
	for i := range s.rows {
		names[s.rows[i].Line] = s.rows[i].Session
	}
	s.kids = map[int32][]kid{}
	started := map[int32]bool{}
	for _, b := range branches {
		child, ok := of[names[b.child]]
		parent, known := of[names[b.from]]
		if !ok || !known {
			continue
		}
		k := kid{session: child, from: -1}
		for t, at := range s.session(int(parent)) {
			switch line := s.rows[at].Line; {
			case line <= b.from:
				k.from = t
			case k.join == 0 && b.join >= 0 && line >= b.join:
				k.join = t
			}
		}
		if k.from < 0 {
			continue
		}
		s.kids[parent], started[child] = append(s.kids[parent], k), true
	}
	for i := range int32(s.sessions()) {
		if !started[i] {
			s.roots = append(s.roots, i)
		}
	}
}

// root is the session of conversation i.
func (s *traceStore) root(i int) int {
	if s.roots != nil {
		return int(s.roots[i])
	}
	return i
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
		kept = append(kept, int32(s.root(i)))
	}
	if len(kept) == 0 { // a share of almost nothing still plays something
		kept = []int32{int32(s.root(0))}
	}
	s.keep(kept)
}

// keep drops all sessions but roots and what they start.
func (s *traceStore) keep(roots []int32) {
	now := map[int32]int32{} // the new number of a session
	var order, starts, first []int32
	var take func(i int32)
	take = func(i int32) {
		now[i] = int32(len(starts))
		starts = append(starts, int32(len(order)))
		order = append(order, s.session(int(i))...)
		for _, k := range s.kids[i] {
			take(k.session)
		}
	}
	for _, i := range roots {
		first = append(first, int32(len(starts)))
		take(i)
	}
	s.order, s.starts = order, append(starts, int32(len(order)))
	if s.kids == nil {
		return
	}
	kids := map[int32][]kid{}
	for i, list := range s.kids {
		if to, ok := now[i]; ok {
			for _, k := range list {
				k.session = now[k.session]
				kids[to] = append(kids[to], k)
			}
		}
	}
	s.roots, s.kids = first, kids
}

func (s *traceStore) session(i int) []int32 { return s.order[s.starts[i]:s.starts[i+1]] }

// grows tells whether every row of a session repeats the whole blocks of the
// one before it: then its rows are cumulative, not what was added.
func (s *traceStore) grows(i int) bool {
	rows := s.session(i)
	for k := 1; k < len(rows); k++ {
		before, now := s.rows[rows[k-1]].Blocks, s.rows[rows[k]].Blocks
		whole := before[:max(0, len(before)-1)]
		if len(whole) == 0 || len(now) < len(before) || !slices.Equal(now[:len(whole)], whole) {
			return false
		}
	}
	return len(rows) > 1
}

// sessions is the number of all sessions.
func (s *traceStore) sessions() int { return len(s.starts) - 1 }

func (s *traceStore) Len() int {
	if s.roots != nil {
		return len(s.roots)
	}
	return s.sessions()
}

func (s *traceStore) Turns() int { return len(s.order) }

func (s *traceStore) At(i int) *Conversation { return s.tree(s.root(i), s.said) }

func (s *traceStore) Outline(i int) *Conversation { return s.tree(s.root(i), s.outline) }

func (s *traceStore) begins(i int) (at *time.Duration, turns int) {
	rows := s.session(s.root(i))
	if first := &s.rows[rows[0]]; first.Timed {
		at = &first.At
	}
	return at, len(rows)
}

// each are all sessions, made by made; what they start is an outline.
func (s *traceStore) each(made func(i int) *Conversation) iter.Seq[*Conversation] {
	return func(yield func(*Conversation) bool) {
		for i := range s.sessions() {
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
	for _, k := range s.kids[int32(i)] {
		child := s.tree(int(k.session), made)
		t := &c.Turns[k.from]
		t.Starts = append(t.Starts, Start{ID: child.ID, Conversation: child, JoinAt: k.join})
	}
	if s.kids != nil {
		c.sum()
	}
	return c
}

// said is session i with its texts.
func (s *traceStore) said(i int) *Conversation {
	c := s.outline(i)
	for k, at := range s.session(i) {
		s.say(&c.Turns[k], at)
	}
	if s.system != "" {
		c.count(s.tok)
	}
	return c
}

// name is the id of session i.
func (s *traceStore) name(i int) string {
	if id := s.rows[s.order[s.starts[i]]].Session; id != "" {
		return id
	}
	return sessionID(i)
}

// firstRows finds the place in the order of the first row of a session, by its
// name. Sessions are numbered in the order of their names: a map of a million
// takes ten times the room.
func (s *traceStore) firstRows() func(name string) (row int32, ok bool) {
	own := func(i int32) string { return s.rows[s.order[s.starts[i]]].Session }
	var byName []int32
	for i := range int32(s.sessions()) {
		if own(i) != "" {
			byName = append(byName, i)
		}
	}
	slices.SortStableFunc(byName, func(a, b int32) int { return cmp.Compare(own(a), own(b)) })
	return func(name string) (int32, bool) {
		at, _ := slices.BinarySearchFunc(byName, name, func(i int32, name string) int {
			if own(i) <= name {
				return -1
			}
			return 1
		})
		if at > 0 && own(byName[at-1]) == name {
			return s.starts[byName[at-1]], true
		}
		i, ok := sessionNumber(name)
		if !ok || i >= s.sessions() || own(int32(i)) != "" {
			return 0, false
		}
		return s.starts[i], true
	}
}

// outline is session i without its texts, and without what it starts.
func (s *traceStore) outline(i int) *Conversation {
	rows := s.session(i)
	c := &Conversation{ID: s.name(i), System: s.system, Turns: make([]Turn, len(rows))}
	for k, at := range rows {
		row, t := &s.rows[at], &c.Turns[k]
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
	row := &s.rows[at]
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
	for _, at := range s.order {
		r := &s.rows[at]
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
