package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"time"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/dataset/format"
)

// Set is all conversations of a dataset, in a fixed order. It is immutable and
// may be shared.
type Set struct {
	conversations []Conversation
	within        []Conversation // these and all that they start; nil where none starts others
	stored        store          // where conversations are not in memory
	warnings      []string
	notes         []string
	doubts        []string // notes that are told before anything is sent, too
	sampling      string
	bust          *buster
	wraps         bool          // conversations may be played again while others of them are
	gap           time.Duration // the longest idle time that a trace keeps; 0: any
	asked         *Set          // questions among its plays; nil: there are none
	share         float64       // of the plays that are questions
}

// store holds conversations that are made, or read, when they are needed. It
// is safe for concurrent use.
type store interface {
	Len() int
	At(i int) *Conversation
	// Outline is conversation i without what makes it large: ids, lengths and
	// times are there, texts may not be.
	Outline(i int) *Conversation
	// Turns is the number of turns of all conversations.
	Turns() int
	// Digest is what stands for the content in Set.Digest.
	Digest() string
}

// Len is the number of conversations, at least 1.
func (s *Set) Len() int {
	if s.stored != nil {
		return s.stored.Len()
	}
	return len(s.conversations)
}

// At is conversation i, read only. A large set makes it on the spot: ask when
// it is played, and Outline before.
func (s *Set) At(i int) *Conversation {
	if s.stored != nil {
		return s.stored.At(i)
	}
	return &s.conversations[i]
}

// Play is conversation i as play n sends it: with its cache-bust mark.
func (s *Set) Play(i int, n int64) *Conversation { return s.marked(s.At(i), n) }

func (s *Set) marked(c *Conversation, n int64) *Conversation {
	if s.bust == nil || c == nil {
		return c
	}
	return s.bust.mark(c, n)
}

// Outline is conversation i with its ids, lengths, delays and time stamps;
// texts may be missing. It is cheap for every set.
func (s *Set) Outline(i int) *Conversation {
	if s.stored != nil {
		return s.stored.Outline(i)
	}
	return &s.conversations[i]
}

// Begins is the time stamp of conversation i's first turn, nil for none, and how
// many turns it has: of an Outline what a schedule asks of every conversation.
func (s *Set) Begins(i int) (at *time.Duration, turns int) {
	if t, ok := s.stored.(*format.Recorded); ok {
		return t.Begins(i)
	}
	c := s.Outline(i)
	return c.Turns[0].Timestamp, len(c.Turns)
}

// Warnings are what a person should know about the set, one line each.
func (s *Set) Warnings() []string { return s.warnings }

// Notes are what was reached of what was asked for, one line each.
func (s *Set) Notes() []string { return slices.Concat(s.doubts, s.notes) }

// Doubts are the notes that a person should read before anything is sent.
func (s *Set) Doubts() []string { return s.doubts }

// Turns is the number of turns of all conversations, with those that they
// start.
func (s *Set) Turns() int {
	if s.stored != nil {
		return s.stored.Turns()
	}
	n := 0
	for i := range s.conversations {
		n += int(s.conversations[i].Requests())
	}
	return n
}

// Each are all conversations: those that are played by themselves, and those that
// others start, and questions at the end. Those of a file stand in its order.
func (s *Set) Each() iter.Seq[*Conversation] {
	if s.asked != nil {
		own := *s
		own.asked = nil
		return func(yield func(*Conversation) bool) {
			for _, of := range []*Set{&own, s.asked} {
				for c := range of.Each() {
					if !yield(c) {
						return
					}
				}
			}
		}
	}
	if t, ok := s.stored.(*format.Recorded); ok && t.Sessions.Trees() {
		return t.Each()
	}
	if s.within == nil {
		return s.All()
	}
	return func(yield func(*Conversation) bool) {
		for i := range s.within {
			if !yield(&s.within[i]) {
				return
			}
		}
	}
}

// First is the first conversation whose first turn is sent.
func (s *Set) First() *Conversation {
	if s.within == nil {
		return s.At(0)
	}
	for c := range s.Each() {
		if !c.Turns[0].Silent {
			return c
		}
	}
	return &s.within[0]
}

// Trees reports whether some conversations start others.
func (s *Set) Trees() bool {
	t, ok := s.stored.(*format.Recorded)
	return s.within != nil || ok && t.Sessions.Trees()
}

// Recording is the trace behind the set, if there is one.
func (s *Set) Recording() (format.Recording, bool) {
	t, ok := s.stored.(*format.Recorded)
	if !ok {
		return format.Recording{}, false
	}
	return t.Recording(), true
}

// Wraps reports whether more conversations than there are may be under way at
// once: somebody said so, or each play has a mark of its own.
func (s *Set) Wraps() bool { return s.wraps || s.bust != nil && s.bust.fixed == "" }

// LongestGap is the longest idle time that the trace keeps, if there is one.
func (s *Set) LongestGap() (longest time.Duration, ok bool) { return s.gap, s.gap > 0 }

// Streamed reports whether conversations are read while they are played. Len,
// Turns, At and Outline of such a set read its file once.
func (s *Set) Streamed() bool { _, ok := s.stored.(*stream); return ok }

// Held reports whether the conversations are in memory, not made or read when they
// are played.
func (s *Set) Held() bool { return s.stored == nil }

// Media reports whether a turn has an image, a sound or a video, as far as that is
// known without reading or making all conversations.
func (s *Set) Media() bool {
	if s.stored != nil {
		return s.First().HasMedia()
	}
	for c := range s.Each() {
		if c.HasMedia() {
			return true
		}
	}
	return false
}

// Err is why conversations of a streamed set could not be read; nil while all
// could.
func (s *Set) Err() error {
	if st, ok := s.stored.(*stream); ok {
		if err := st.failure.Load(); err != nil {
			return *err
		}
	}
	return nil
}

// All are the conversations in their order, of a streamed set without an
// index. When the set is over, Err says whether that is the end of the file.
func (s *Set) All() iter.Seq[*Conversation] {
	if st, ok := s.stored.(*stream); ok {
		return st.all()
	}
	return func(yield func(*Conversation) bool) {
		for i := range s.Len() {
			if !yield(s.At(i)) {
				return
			}
		}
	}
}

// Timed reports whether the set is a trace: its first turn has a timestamp.
func (s *Set) Timed() bool { return s.Outline(0).Turns[0].Timestamp != nil }

// Digest is the SHA-256 of the whole content, in hex. Equal digests mean equal
// requests.
func (s *Set) Digest() string {
	if s.asked != nil {
		own := *s
		own.asked = nil
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %g", own.Digest(), s.asked.Digest(), s.share))
		return hex.EncodeToString(sum[:])
	}
	if s.stored != nil {
		return s.stored.Digest()
	}
	h := sha256.New()
	enc := json.NewEncoder(h)
	all := s.conversations
	if s.within != nil {
		all = s.within
	}
	for i := range all {
		if err := enc.Encode(&all[i]); err != nil {
			// Extra holds what JSON gave us, so it can be JSON again.
			panic("dataset: a conversation is not plain data: " + err.Error())
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Sampler starts an order of play. Its randomness comes from root alone.
func (s *Set) Sampler(root int64) *Sampler {
	return &Sampler{set: s, rng: seed.Stream(root, "dataset.sampling"), asker: newAsker(s, root)}
}

// Sampler says which conversation is played next. It has one user.
type Sampler struct {
	set   *Set
	rng   *rand.Rand
	next  int
	order []int // shuffle's current deck
	plays int64
	tape  *tape // of a streamed set in its own order
	asker *asker
}

// Next is the next conversation. It never ends: sequential starts over,
// shuffle deals all of them and shuffles again, random draws with replacement.
// It is nil when a streamed set has failed.
func (p *Sampler) Next() (c *Conversation) {
	p.plays++
	if q := p.asker.at(p.plays - 1); q != nil {
		return q
	}
	if s, ok := p.set.stored.(*stream); ok && p.set.sampling == "sequential" {
		p.tape, c = s.again(p.tape)
		return p.set.marked(c, p.plays-1)
	}
	return p.set.Play(p.draw(), p.plays-1)
}

// Skip leaves the next conversation out, without making it where that can be helped.
func (p *Sampler) Skip() {
	if _, ok := p.set.stored.(*stream); ok && p.set.sampling == "sequential" {
		p.Next()
		return
	}
	if p.plays++; p.asker.at(p.plays-1) == nil {
		p.draw()
	}
}

// Draw is the place of the next conversation, and the number of its play.
func (p *Sampler) Draw() (i int, play int64) {
	p.plays++
	return p.draw(), p.plays - 1
}

func (p *Sampler) draw() int {
	switch p.set.sampling {
	case "random":
		return p.rng.IntN(p.set.Len())
	case "shuffle":
		return p.deal()
	}
	i := p.next
	p.next = (p.next + 1) % p.set.Len()
	return i
}

func (p *Sampler) deal() int {
	if p.next == 0 {
		p.order = p.rng.Perm(p.set.Len())
	}
	i := p.order[p.next]
	p.next = (p.next + 1) % len(p.order)
	return i
}
