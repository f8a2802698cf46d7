package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"

	"aiperf.dev/aiperf/loadgen/dataset/conversation"
)

// manyEntries is from where on a synthetic set is not held in memory: each of
// so many conversations is hardly played twice.
const manyEntries = 2048

// shapes is a store of synthetic conversations that are written when they are
// played. It holds nothing of them but, where their number of turns varies, the
// ordinal of each one's first text.
type shapes struct {
	g      *synthetic
	system string
	n      int
	before int     // ordinal of the first text of all
	each   int     // texts of a conversation; 0 when that varies
	first  []int32 // ordinals of first texts then, relative to before
	sum    []byte  // of all lengths
	digest string
}

// independent reports whether a conversation follows from its number and that of
// its first text alone, and its token counts from its lengths.
func (g *synthetic) independent() bool {
	return g.shared == nil && g.rank == nil && g.media == nil && g.writer.Additive()
}

// newShapes draws all lengths once, so that a mistake in one is found before
// anything is sent.
func newShapes(g *synthetic, system string, n int) (*shapes, error) {
	s := &shapes{g: g, system: system, n: n, before: g.texts}
	lengths := sha256.New()
	if g.turns == nil {
		s.each = g.textsOf(1)
	} else {
		s.first = make([]int32, 0, n)
	}
	next := 0
	var line []byte
	for i := range n {
		turns, err := g.turns.At(i, 0)
		if err != nil {
			return nil, err
		}
		turns = max(1, turns)
		if s.each == 0 {
			s.first = append(s.first, int32(next))
			next += g.textsOf(turns)
		}
		line = binary.AppendUvarint(line[:0], uint64(turns))
		for t := range turns {
			turn, err := g.turnOutline(i, t)
			if err != nil {
				return nil, err
			}
			line = binary.AppendUvarint(line, uint64(turn.ISL))
			line = binary.AppendUvarint(line, uint64(turn.MaxTokens))
			line = binary.AppendUvarint(line, uint64(turn.Delay))
		}
		lengths.Write(line)
	}
	s.sum = lengths.Sum(nil)
	return s, nil
}

// seal takes what a few conversations say into the digest: texts follow from
// the seed and the corpus, so sets that agree in these agree in all.
func (s *shapes) seal(some []Conversation) error {
	h := sha256.New()
	h.Write(s.sum)
	for i := range some {
		b, err := json.Marshal(&some[i])
		if err != nil {
			return err
		}
		h.Write(b)
	}
	s.digest = hex.EncodeToString(h.Sum(nil))
	return nil
}

func (s *shapes) Len() int { return s.n }

// At writes conversation i.
func (s *shapes) At(i int) *Conversation {
	g := *s.g // which counts its texts
	g.texts = s.before + i*s.each
	if s.each == 0 {
		g.texts = s.before + int(s.first[i])
	}
	c, err := g.conversation(i, s.system)
	if err != nil {
		panic("dataset: lengths that were drawn before: " + err.Error())
	}
	return &c
}

// Outline is conversation i without its texts.
func (s *shapes) Outline(i int) *Conversation {
	c, err := s.g.outline(i, s.system)
	if err != nil {
		panic("dataset: lengths that were drawn before: " + err.Error())
	}
	return &c
}

// Turns is the number of turns of all conversations.
func (s *shapes) Turns() int {
	n := 0
	for i := range s.n {
		n += len(s.Outline(i).Turns)
	}
	return n
}

// Digest stands for all lengths and the texts of the first conversations.
func (s *shapes) Digest() string { return s.digest }

// textsOf is how many texts a conversation of so many turns has.
func (g *synthetic) textsOf(turns int) int {
	n := turns * max(1, g.cfg.Prompts.BatchSize)
	if p := g.cfg.Prefix; p != nil && p.UserContextLength > 0 {
		n++
	}
	return n
}

// outline is conversation i without its texts.
func (g *synthetic) outline(i int, system string) (Conversation, error) {
	turns, err := g.turns.At(i, 0)
	if err != nil {
		return Conversation{}, err
	}
	c := Conversation{ID: conversation.SessionID(i), System: system, Turns: make([]Turn, max(1, turns))}
	for t := range c.Turns {
		if c.Turns[t], err = g.turnOutline(i, t); err != nil {
			return Conversation{}, err
		}
	}
	return c, nil
}

// turnOutline is a turn without its texts.
func (g *synthetic) turnOutline(i, t int) (turn Turn, err error) {
	isl, osl, err := g.sizes(i, t)
	if err != nil {
		return turn, err
	}
	if t == 0 && len(g.pool) > 0 {
		isl += g.cfg.Prefix.Length
	}
	turn.ISL, turn.MaxTokens = int64(isl*max(1, g.cfg.Prompts.BatchSize)), int64(osl)
	if t > 0 {
		turn.Delay, err = g.think(i, t)
	}
	return turn, err
}
