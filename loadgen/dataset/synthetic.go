package dataset

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// DefaultISL is the length of a synthetic prompt when none is said, in tokens.
const DefaultISL = 550

// Limits of what is held in memory.
const (
	maxText   = 1 << 30 // bytes of one set
	turnSize  = 256     // bytes of a turn besides its text
	maxTokens = 1 << 22 // of one text
	maxTurns  = 1 << 16 // of one conversation, and texts of one turn
	maxCount  = 1 << 40 // of anything that takes no memory
)

// sampled is how many conversations are written before their size is first
// extrapolated to all of them.
const sampled = 31

// source gives each use of randomness its own stream.
type source struct {
	root   int64
	stream string
}

func (s source) rng(use string) *rand.Rand { return seed.Stream(s.root, "dataset."+s.stream+"."+use) }

// synthetic makes conversations out of shapes.
type synthetic struct {
	cfg      schema.Dataset
	tok      tokenizer.Tokenizer
	writer   *writer
	isl, osl *lengths
	turns    *lengths
	delay    *lengths
	pool     []string // prefix prompts
	pick     *rand.Rand
	bytes    int
}

// lengths is a distribution with the stream it draws from; nil gives 0.
type lengths struct {
	name  string
	draw  draw
	rng   *rand.Rand
	limit float64 // what is drawn above it is a mistake and makes over
	over  float64
}

func (l *lengths) next() int {
	if l == nil {
		return 0
	}
	v := l.draw(l.rng)
	if !(v <= l.limit) {
		l.over, v = v, 1 // refused by check, so the size does not matter
	}
	return int(max(1, math.RoundToEven(v)))
}

func (l *lengths) check() error {
	if l == nil || l.over == 0 {
		return nil
	}
	return fmt.Errorf("%s: a value of %g is above the limit of %.0f", l.name, l.over, l.limit)
}

func synthesize(cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*Set, error) {
	g, err := newSynthetic(cfg, tok, src)
	if err != nil {
		return nil, err
	}
	n := cfg.Entries
	if n == 0 {
		n = DefaultEntries
	}
	if n < 0 {
		return nil, fmt.Errorf("entries: %d is not a count", n)
	}
	system := g.system()
	set := &Set{}
	for i := range n {
		set.conversations = append(set.conversations, g.conversation(i, system))
		if err := g.check(); err != nil {
			return nil, err
		}
		if i == sampled || g.bytes > maxText {
			if g.bytes/(i+1) > maxText/n {
				return nil, fmt.Errorf("entries: %d prompts of these lengths are more than %d MiB of text; hint: fewer entries, they are played again", n, maxText>>20)
			}
		}
	}
	if d := g.writer.drift; d > 0 {
		set.warnings = append(set.warnings, fmt.Sprintf("%d synthetic texts miss their length: %s cannot be cut to it", d, tok.Name()))
	}
	return set, nil
}

func newSynthetic(cfg schema.Dataset, tok tokenizer.Tokenizer, src source) (*synthetic, error) {
	if tok == nil {
		return nil, fmt.Errorf("synthetic text needs a tokenizer")
	}
	isl := cfg.Prompts.ISL
	if isl == nil {
		mean := float64(DefaultISL)
		isl = &schema.Shape{Mean: &mean}
	}
	g := &synthetic{cfg: cfg, tok: tok, pick: src.rng("prefix")}
	for _, l := range []struct {
		to    **lengths
		shape *schema.Shape
		name  string
		limit float64
	}{
		{&g.isl, isl, "prompts.isl", maxTokens},
		{&g.osl, cfg.Prompts.OSL, "prompts.osl", maxCount},
		{&g.turns, cfg.Turns, "turns", maxTurns},
		{&g.delay, cfg.TurnDelay, "turn_delay", maxCount},
	} {
		made, err := newLengths(l.name, l.shape, src, l.limit)
		if err != nil {
			return nil, err
		}
		*l.to = made
	}
	if field, size, limit := TooLarge(&cfg); field != "" {
		return nil, fmt.Errorf("%s: a value of %g is above the limit of %.0f", field, size, limit)
	}
	g.writer = newCorpus(tok).writer(src.rng("text"))
	return g, g.makePool()
}

func newLengths(name string, s *schema.Shape, src source, limit float64) (*lengths, error) {
	if s == nil {
		return nil, nil
	}
	d, err := drawer(s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &lengths{name: name, draw: d, rng: src.rng(name), limit: limit}, nil
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
		{"entries", float64(cfg.Entries), maxText / turnSize},
		{"prompts.isl", cfg.Prompts.ISL.Typical(), maxTokens},
		{"prompts.osl", cfg.Prompts.OSL.Typical(), maxCount},
		{"turns", cfg.Turns.Typical(), maxTurns},
		{"turn_delay", cfg.TurnDelay.Typical(), maxCount},
		{"prompts.batch_size", float64(cfg.Prompts.BatchSize), maxTurns},
		{"prefix_prompts.pool_size", float64(p.PoolSize), maxTurns},
		{"prefix_prompts.length", float64(p.Length), maxTokens},
		{"prefix_prompts.shared_system_length", float64(p.SharedSystemLength), maxTokens},
		{"prefix_prompts.user_context_length", float64(p.UserContextLength), maxTokens},
	} {
		if c.size > c.limit {
			return c.name, c.size, c.limit
		}
	}
	return "", 0, 0
}

// check reports a drawn value that was above its limit.
func (g *synthetic) check() error {
	return cmp.Or(g.isl.check(), g.osl.check(), g.turns.check(), g.delay.check())
}

// makePool writes the prefix prompts.
func (g *synthetic) makePool() error {
	p := g.cfg.Prefix
	if p == nil || p.PoolSize == 0 || p.Length == 0 { // one without the other says nothing
		return nil
	}
	const usual = 5 // bytes of a token
	if p.PoolSize > maxText/usual/p.Length {
		return fmt.Errorf("prefix_prompts: %d prompts of %d tokens are more than %d MiB of text", p.PoolSize, p.Length, maxText>>20)
	}
	for range p.PoolSize {
		g.pool = append(g.pool, g.writer.text(p.Length))
	}
	return nil
}

// system is the prompt all conversations share: the one written out, then the
// synthetic one.
func (g *synthetic) system() string {
	s := g.cfg.SystemPrompt
	if p := g.cfg.Prefix; p != nil && p.SharedSystemLength > 0 {
		s = joinSystem(s, g.writer.text(p.SharedSystemLength))
	}
	return s
}

// joinSystem puts two system prompts into one message.
func joinSystem(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

func (g *synthetic) conversation(i int, system string) Conversation {
	c := Conversation{ID: sessionID(i), System: system, Turns: make([]Turn, max(1, g.turns.next()))}
	context := ""
	if p := g.cfg.Prefix; p != nil && p.UserContextLength > 0 {
		context = g.writer.text(p.UserContextLength)
		g.bytes += len(context)
	}
	for t := range c.Turns {
		c.Turns[t] = g.turn(t == 0)
		c.Turns[t].Context = context
	}
	return c
}

func (g *synthetic) turn(first bool) Turn {
	t := Turn{MaxTokens: int64(g.osl.next())}
	isl := g.isl.next()
	for range max(1, g.cfg.Prompts.BatchSize) {
		text, n := g.prompt(isl, first)
		t.Texts = append(t.Texts, text)
		t.ISL += int64(n)
		g.bytes += len(text)
	}
	g.bytes += turnSize
	if !g.writer.additive {
		t.ISL = countTexts(g.tok, t.Texts)
	}
	if !first {
		t.Delay = g.think()
	}
	return t
}

// prompt is one text of isl tokens, on the first turn with a prefix of the
// pool in front of it.
func (g *synthetic) prompt(isl int, first bool) (string, int) {
	if !first || len(g.pool) == 0 {
		return g.writer.text(isl), isl
	}
	p := g.cfg.Prefix.Length
	return g.writer.after(g.pool[g.pick.IntN(len(g.pool))], p, isl), p + isl
}

// think is a delay: a whole number of milliseconds times the ratio.
func (g *synthetic) think() time.Duration {
	ratio := g.cfg.TurnDelayRatio
	if ratio == 0 {
		ratio = 1
	}
	return time.Duration(float64(g.delay.next()) * ratio * float64(time.Millisecond))
}

func sessionID(i int) string { return fmt.Sprintf("session_%06d", i) }
