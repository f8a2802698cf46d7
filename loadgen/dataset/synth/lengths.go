package synth

import (
	"fmt"
	"math"
	"math/rand/v2"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/schema"
)

// Stream is a named source of randomness whose draws are reached by index, not
// by order: draw (i, t) is the same whatever was drawn before.
type Stream uint64

// Seeds are the two roots of randomness. Shape decides lengths, numbers of
// turns, think times and choices; Text decides the words of synthetic prompts. Two sets
// with one Shape and two Texts differ in nothing but their words.
type Seeds struct{ Shape, Text int64 }

// Source gives each use of randomness in a data set its own stream. Stream is the phase's
// name, so that two phases never draw the same.
type Source struct {
	Seeds  Seeds
	Stream string
}

// Draws is the stream of lengths, turns and choices for a use.
func (s Source) Draws(use string) Stream {
	return NewStream(s.Seeds.Shape, "dataset."+s.Stream+"."+use)
}

// Words is the stream of what prompts say for a use.
func (s Source) Words(use string) Stream {
	return NewStream(s.Seeds.Text, "dataset."+s.Stream+"."+use)
}

// NewStream is the stream called name under root.
func NewStream(root int64, name string) Stream { return Stream(seed.Of(root, name)) }

// At is the generator of turn t of conversation i.
func (s Stream) At(i, t int) *rand.Rand {
	a := seed.Mix(uint64(s) + uint64(i)*0x9e3779b97f4a7c15)
	var g struct { // one allocation for both
		pcg rand.PCG
		rng rand.Rand
	}
	g.pcg.Seed(a, seed.Mix(a^uint64(t)*0xd1b54a32d192ed03))
	g.rng = *rand.New(&g.pcg)
	return &g.rng
}

// Lengths is a distribution of counts; nil gives 0.
type Lengths struct {
	name   string
	draw   draw
	stream Stream
	limit  float64 // what is drawn above it is a mistake
}

// NewLengths is the distribution s of a count, whose draws come from stream; nil
// for nil.
func NewLengths(name string, s *schema.Shape, stream Stream, limit float64) (*Lengths, error) {
	return newLengths(name, s, stream, leastCount, limit)
}

// NewSeconds is NewLengths for a time in seconds, of which Value is read.
func NewSeconds(name string, s *schema.Shape, stream Stream, limit float64) (*Lengths, error) {
	return newLengths(name, s, stream, leastSeconds, limit)
}

func newLengths(name string, s *schema.Shape, stream Stream, least, limit float64) (*Lengths, error) {
	if s == nil {
		return nil, nil
	}
	d, err := drawer(s, least)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Lengths{name: name, draw: d, stream: stream, limit: limit}, nil
}

// At is the count for turn t of conversation i, at least 1.
func (l *Lengths) At(i, t int) (int, error) {
	if l == nil {
		return 0, nil
	}
	v := l.draw(l.stream.At(i, t))
	if !(v <= l.limit) {
		return 0, fmt.Errorf("%s: a value of %g is above the limit of %.0f", l.name, v, l.limit)
	}
	return int(max(1, math.RoundToEven(v))), nil
}

// Value is At without rounding, for what is measured and not counted.
func (l *Lengths) Value(i, t int) float64 { return l.draw(l.stream.At(i, t)) }

// Pairs draws input and output lengths together: a bucket for the conversation,
// then a length of each kind for every turn.
type Pairs struct {
	pick    func(*rand.Rand) int
	stream  Stream
	buckets []pair
}

type pair struct{ isl, osl *Lengths }

// NewPairs is the mixture list. Its probabilities need not sum to anything.
func NewPairs(list []schema.LengthPair, stream func(string) Stream, maxISL, maxOSL float64) (*Pairs, error) {
	const name = "prompts.sequence_distribution"
	p := &Pairs{stream: stream(name)}
	weights := make([]*float64, len(list))
	for i := range list {
		at := fmt.Sprintf("%s[%d]", name, i)
		weights[i] = &list[i].Probability
		isl, err := NewLengths(at+".isl", spread(&list[i].ISL, list[i].ISLStdDev), stream("prompts.isl"), maxISL)
		if err != nil {
			return nil, err
		}
		osl, err := NewLengths(at+".osl", spread(&list[i].OSL, list[i].OSLStdDev), stream("prompts.osl"), maxOSL)
		if err != nil {
			return nil, err
		}
		p.buckets = append(p.buckets, pair{isl, osl})
	}
	var err error
	if p.pick, err = weighted(weights); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// spread gives a fixed shape the standard deviation that stands beside it.
func spread(s *schema.Shape, stddev *float64) *schema.Shape {
	if stddev == nil {
		return s
	}
	out := *s
	if out.Mean == nil {
		out.Mean, out.Value = out.Value, nil
	}
	out.StdDev = stddev
	return &out
}

// Of are the distributions of conversation i.
func (p *Pairs) Of(i int) (isl, osl *Lengths) {
	b := p.buckets[p.pick(p.stream.At(i, 0))]
	return b.isl, b.osl
}
