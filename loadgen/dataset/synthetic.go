package dataset

import (
	"context"
	"fmt"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/media"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/schema/fields"
)

// DefaultISL is the length of a synthetic prompt when none is said, in tokens.
const DefaultISL = 550

// turnSize is the number of bytes that a turn takes besides its text.
const turnSize = 256

// sampled is how many conversations are written before their size is first
// extrapolated to all of them.
const sampled = 31

// source is where randomness comes from, and what the server puts around texts.
type source struct {
	synth.Source
	wrap Wrapping
}

func madeHere() *Type {
	return &Type{
		Name: "synthetic", Made: true, open: synthesize,
		Takes: []fields.Setting{{Name: "turns"}, {Name: "prefix_prompts"}, {Name: "rankings"}},
	}
}

// synthetic makes conversations out of shapes.
type synthetic struct {
	cfg      *schema.Dataset
	tok      tokenizer.Tokenizer
	wrap     Wrapping
	writer   *synth.Writer
	texts    int // written so far: the next one's ordinal
	isl, osl *synth.Lengths
	pairs    *synth.Pairs
	turns    *synth.Lengths
	delay    *synth.Lengths
	pool     []string // prefix prompts
	pick     synth.Stream
	shared   *sharing // of a declared hit rate
	rank     *rankings
	media    *media.Maker
	bytes    int
}

func synthesize(ctx context.Context, cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*Set, error) {
	g, err := newSynthetic(cfg, tok, src)
	if err != nil {
		return nil, err
	}
	n := cfg.Entries
	if n == 0 {
		n = conversation.DefaultEntries
	}
	if n < 0 {
		return nil, fmt.Errorf("entries: %d is not a count", n)
	}
	system := g.system()
	set := &Set{}
	var large *shapes
	held := n
	if n > manyEntries && g.independent() {
		if large, err = newShapes(g, system, n); err != nil {
			return nil, err
		}
		held = sampled + 1
	}
	for i := range held {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		c, err := g.conversation(i, system)
		if err != nil {
			return nil, err
		}
		set.conversations = append(set.conversations, c)
		if i == sampled || g.bytes > conversation.MaxText {
			if g.bytes/(i+1) > conversation.MaxText/n {
				return nil, diag.Errorf("entries: %d prompts of these lengths are more than %d MiB of text", n,
					conversation.MaxText>>20).
					Try("fewer entries, they are played again")
			}
		}
	}
	if large != nil {
		err = large.seal(set.conversations)
		return &Set{stored: large}, err
	}
	if d := g.writer.Drift(); d > 0 {
		set.warnings = append(set.warnings, fmt.Sprintf("%s: none of that length was found by %s",
			words.CountOf(d, "synthetic text misses its length", "synthetic texts miss their length"), tok.Name()))
	}
	if g.shared != nil {
		if doubt := g.shared.doubt(); doubt != "" {
			set.doubts = append(set.doubts, doubt)
		}
		set.notes = append(set.notes, g.shared.report(set, tok))
	}
	return set, nil
}

func newSynthetic(cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*synthetic, error) {
	if tok == nil {
		return nil, fmt.Errorf("synthetic text needs a tokenizer")
	}
	if field, size, limit := TooLarge(&cfg); field != "" {
		return nil, fmt.Errorf("%s: a value of %g is above the limit of %.0f", field, size, limit)
	}
	g := &synthetic{cfg: &cfg, tok: tok, wrap: src.wrap, pick: src.Draws("prefix")}
	if err := g.lengths(src); err != nil {
		return nil, err
	}
	corpus, err := synth.NewCorpus(cfg.Prompts.Corpus, cfg.Prompts.CorpusFile, tok)
	if err != nil {
		return nil, fmt.Errorf("prompts.corpus_file: %w", err)
	}
	g.writer = corpus.Writer(src.Words("text"))
	if cfg.Rankings != nil {
		if g.rank, err = newRankings(cfg.Rankings, src); err != nil {
			return nil, err
		}
	}
	if g.media, err = media.NewMaker(&cfg, src.Draws, src.Words("media")); err != nil {
		return nil, err
	}
	return g, g.makePool()
}

// lengths sets up the distributions.
func (g *synthetic) lengths(src source) (err error) {
	cfg := g.cfg
	isl := cfg.Prompts.ISL
	if isl == nil {
		mean := float64(DefaultISL)
		isl = &schema.Shape{Mean: &mean}
	}
	if len(cfg.Prompts.Pairs) > 0 {
		if g.pairs, err = synth.NewPairs(cfg.Prompts.Pairs, src.Draws,
			conversation.MaxTokens, conversation.MaxCount); err != nil {
			return err
		}
	}
	for _, l := range []struct {
		to    **synth.Lengths
		shape *schema.Shape
		name  string
		limit float64
	}{
		{&g.isl, isl, "prompts.isl", conversation.MaxTokens},
		{&g.osl, cfg.Prompts.OSL, "prompts.osl", conversation.MaxCount},
		{&g.turns, cfg.Turns, "turns", conversation.MaxTurns},
		{&g.delay, cfg.TurnDelay, "turn_delay", conversation.MaxCount},
	} {
		if *l.to, err = synth.NewLengths(l.name, l.shape, src.Draws(l.name), l.limit); err != nil {
			return err
		}
	}
	return g.ranges(src, isl)
}

// ranges replaces the lengths by uniform ones where a range ratio says so.
func (g *synthetic) ranges(src source, isl *schema.Shape) error {
	p := &g.cfg.Prompts
	r, err := synth.ParseRange(p.RandomRange, p.RandomCorpus)
	if err != nil {
		return fmt.Errorf("prompts.random_range_ratio: %w", err)
	}
	if r.Input >= 0 {
		g.isl = r.Around("prompts.isl", isl.Typical(), r.Input, src.Draws("prompts.isl"), conversation.MaxTokens)
	}
	if r.Output >= 0 && p.OSL != nil {
		g.osl = r.Around("prompts.osl", p.OSL.Typical(), r.Output, src.Draws("prompts.osl"), conversation.MaxCount)
	}
	return nil
}

// TooLarge finds the field of a data set whose size no server takes and no
// memory holds, before anything is made of it: "" when there is none. Of a
// distribution it looks at the middle.
func TooLarge(cfg *schema.Dataset) (field string, size, limit float64) {
	p := cfg.Prefix
	if p == nil {
		p = &schema.Prefix{}
	}
	for _, c := range []struct {
		name        string
		size, limit float64
	}{
		{"entries", float64(cfg.Entries), conversation.MaxText / turnSize},
		{"prompts.isl", cfg.Prompts.ISL.Typical(), conversation.MaxTokens},
		{"prompts.osl", cfg.Prompts.OSL.Typical(), conversation.MaxCount},
		{"turns", cfg.Turns.Typical(), conversation.MaxTurns},
		{"turn_delay", cfg.TurnDelay.Typical(), conversation.MaxCount},
		{"prompts.batch_size", float64(cfg.Prompts.BatchSize), conversation.MaxTurns},
		{"prefix_prompts.pool_size", float64(p.PoolSize), conversation.MaxTurns},
		{"prefix_prompts.length", float64(p.Length), conversation.MaxTokens},
		{"prefix_prompts.shared_system_length", float64(p.SharedSystemLength), conversation.MaxTokens},
		{"prefix_prompts.user_context_length", float64(p.UserContextLength), conversation.MaxTokens},
	} {
		if c.size > c.limit {
			return c.name, c.size, c.limit
		}
	}
	return "", 0, 0
}

// text is the next text, of n tokens.
func (g *synthetic) text(n int) string {
	g.texts++
	s := g.writer.Text(g.texts-1, n)
	g.bytes += len(s)
	return s
}

// makePool writes what conversations share.
func (g *synthetic) makePool() error {
	p := g.cfg.Prefix
	if p != nil && p.HitRate > 0 {
		var err error
		g.shared, err = newSharing(g, p)
		return err
	}
	if p == nil || p.PoolSize == 0 || p.Length == 0 { // one without the other says nothing
		return nil
	}
	const usual = 5 // bytes of a token
	if p.PoolSize > conversation.MaxText/usual/p.Length {
		return fmt.Errorf("prefix_prompts: %d prompts of %d tokens are more than %d MiB of text",
			p.PoolSize, p.Length, conversation.MaxText>>20)
	}
	for range p.PoolSize {
		g.pool = append(g.pool, g.text(p.Length))
	}
	return nil
}

// system is the prompt all conversations share: the one written out, then the
// synthetic one.
func (g *synthetic) system() string {
	s := g.cfg.SystemPrompt
	if p := g.cfg.Prefix; p != nil && p.SharedSystemLength > 0 {
		s = conversation.JoinSystem(s, g.text(p.SharedSystemLength))
	}
	return s
}

func (g *synthetic) conversation(i int, system string) (Conversation, error) {
	turns, err := g.turns.At(i, 0)
	if err != nil {
		return Conversation{}, err
	}
	c := Conversation{ID: conversation.SessionID(i), System: system, Turns: make([]Turn, max(1, turns))}
	context := ""
	if p := g.cfg.Prefix; p != nil && p.UserContextLength > 0 {
		context = g.text(p.UserContextLength)
	}
	for t := range c.Turns {
		if c.Turns[t], err = g.turn(i, t); err != nil {
			return Conversation{}, err
		}
		c.Turns[t].Context = context
	}
	return c, nil
}

// sizes are the lengths of turn t of conversation i.
func (g *synthetic) sizes(i, t int) (isl, osl int, err error) {
	in, out := g.isl, g.osl
	if g.pairs != nil {
		in, out = g.pairs.Of(i)
	}
	if isl, err = in.At(i, t); err == nil {
		osl, err = out.At(i, t)
	}
	return isl, osl, err
}

func (g *synthetic) turn(i, t int) (turn Turn, err error) {
	isl, osl, err := g.sizes(i, t)
	if err != nil {
		return turn, err
	}
	turn.MaxTokens = int64(osl)
	g.bytes += turnSize
	if g.rank != nil {
		return turn, g.ranking(&turn, i, t)
	}
	for range max(1, g.cfg.Prompts.BatchSize) {
		text, n := g.prompt(i, t, g.wrap.around(isl, t))
		turn.Texts = append(turn.Texts, text)
		turn.ISL += int64(n)
	}
	if !g.writer.Additive() {
		turn.ISL = conversation.CountTexts(g.tok, turn.Texts)
	}
	images, sounds, videos, err := g.media.Make(i, t)
	if err != nil {
		return turn, err
	}
	turn.Images, turn.Audios, turn.Videos = conversation.OfItems(images), conversation.OfItems(sounds),
		conversation.OfItems(videos)
	g.bytes += turn.MediaSize()
	if t > 0 {
		turn.Delay, err = g.think(i, t)
	}
	return turn, err
}

// prompt is one text of isl tokens, on the first turn with what it shares with
// other conversations in front of it.
func (g *synthetic) prompt(i, t, isl int) (string, int) {
	if t > 0 || len(g.pool) == 0 && g.shared == nil {
		return g.text(isl), isl
	}
	g.texts++
	var s string
	n := isl
	if g.shared != nil {
		s = g.shared.prompt(g, isl)
	} else {
		p := g.cfg.Prefix.Length
		n = p + isl
		s = g.writer.After(g.pool[g.pick.At(i, t).IntN(len(g.pool))], p, g.texts-1, isl)
	}
	g.bytes += len(s)
	return s, n
}

// think is a delay: a whole number of milliseconds times the ratio.
func (g *synthetic) think(i, t int) (time.Duration, error) {
	ratio := g.cfg.TurnDelayRatio
	if ratio == 0 {
		ratio = 1
	}
	ms, err := g.delay.At(i, t)
	return time.Duration(float64(ms) * ratio * float64(time.Millisecond)), err
}

// What a reranker is asked when nothing is said.
const (
	defaultPassages      = 10
	defaultPassageTokens = 128
	defaultQueryTokens   = 32
)

// rankings are the shapes of synthetic queries and passages.
type rankings struct{ passages, passage, query *synth.Lengths }

func newRankings(cfg *schema.Rankings, src source) (*rankings, error) {
	r := &rankings{}
	for _, l := range []struct {
		to    **synth.Lengths
		shape *schema.Shape
		name  string
		usual float64
		limit float64
	}{
		{&r.passages, cfg.Passages, "rankings.passages", defaultPassages, conversation.MaxTurns},
		{&r.passage, cfg.PassageTokens, "rankings.passage_tokens", defaultPassageTokens, conversation.MaxTokens},
		{&r.query, cfg.QueryTokens, "rankings.query_tokens", defaultQueryTokens, conversation.MaxTokens},
	} {
		if l.shape == nil {
			l.shape = &schema.Shape{Mean: &l.usual}
		}
		made, err := synth.NewLengths(l.name, l.shape, src.Draws(l.name), l.limit)
		if err != nil {
			return nil, err
		}
		*l.to = made
	}
	return r, nil
}

// ranking fills turn t of conversation i with a query and its passages. The
// length of passage p is draw (i, t·conversation.MaxTurns + p).
func (g *synthetic) ranking(turn *Turn, i, t int) error {
	query, err := g.rank.query.At(i, t)
	if err != nil {
		return err
	}
	n, err := g.rank.passages.At(i, t)
	if err != nil {
		return err
	}
	turn.Query, turn.MaxTokens = g.text(query), 0
	for p := range n {
		size, err := g.rank.passage.At(i, t*conversation.MaxTurns+p)
		if err != nil {
			return err
		}
		turn.Passages = append(turn.Passages, g.text(size))
	}
	turn.ISL = conversation.CountTexts(g.tok, append([]string{turn.Query}, turn.Passages...))
	return nil
}

// Sample is a turn of synthetic data as far as its kinds of media go: what an
// endpoint must have a place for.
func Sample(cfg *schema.Dataset) *Turn {
	t := &Turn{Texts: []string{""}}
	if cfg.LimitsOutput() {
		t.MaxTokens = 1
	}
	if cfg.Rankings != nil {
		t.Query, t.Passages = "query", []string{"passage"}
	}
	if i := cfg.Images; i != nil && i.BatchSize > 0 {
		t.Images = make([]Media, 1)
	}
	if a := cfg.Audio; a != nil && a.BatchSize > 0 {
		t.Audios = make([]Media, 1)
	}
	if v := cfg.Video; v != nil && v.BatchSize > 0 {
		t.Videos = make([]Media, 1)
	}
	return t
}
