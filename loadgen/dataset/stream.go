package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"iter"
	"path/filepath"
	"sync"
	"sync/atomic"

	"aiperf.dev/aiperf/internal/diag"
	pieces "aiperf.dev/aiperf/internal/sampled"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/media"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// largeFile is the size from which on a file of conversations is read while it
// is played, in bytes: to read and count a smaller one takes seconds, and finds
// its mistakes before anything is sent.
const largeFile = 64 << 20

// stream is a store of conversations that stay in their file. Playing them in
// the file's order needs nothing but a place in it; any other order, and
// schedules, need an index, for which the file is read once.
type stream struct {
	lines  *files.Lines
	cfg    schema.Dataset
	tok    tokenizer.Tokenizer
	src    source
	format *Format
	digest string
	first  *Conversation

	once  sync.Once
	spots []files.Spot // where conversation i begins; after once
	turns int          // of all; after once

	failure atomic.Pointer[error] // the first record that could not be read
}

// openStream is r's file as a stream; nil when it is to be held in memory.
func openStream(r *reader) (*stream, error) {
	lines, large, err := files.LinesOf(r.cfg.Path, largeFile)
	if err != nil || !large {
		return nil, err
	}
	if err := r.named(); err != nil {
		return nil, err
	}
	if !r.format.Streams {
		return nil, nil
	}
	order, err := sampling(r.cfg)
	if err != nil {
		return nil, err
	}
	if order != "sequential" && !lines.Seekable() {
		return nil, diag.Errorf("%s: a compressed file of %d MiB cannot be played in %s order", r.cfg.Path, lines.Size()>>20, order).Try("inflate it, or sampling sequential")
	}
	s := &stream{lines: lines, cfg: r.cfg, tok: r.tok, src: r.src, format: r.format}
	s.cfg.Format = r.format.Name
	if s.digest, err = s.sample(); err != nil {
		return nil, err
	}
	first, err := s.tape(r.tok, files.Spot{}, 0)
	if err != nil {
		return nil, err
	}
	defer first.in.Close()
	if s.first, _, err = first.next(); errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: no records", r.cfg.Path)
	}
	r.note("%s: its %s are read while they are played; a mistake behind its first 8 MiB ends the run that finds it", r.cfg.Path, size(lines.Size()))
	return s, err
}

// size is a number of bytes for people.
func size(n int64) string {
	if n < 10<<30 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// tape plays the conversations of a stream from one place on.
type tape struct {
	in     *files.Cursor
	r      *reader
	starts []files.Spot // of the reader's conversations
	over   bool
}

// tape begins at conversation n, which stands at a spot. Without a tokenizer
// texts are not counted.
func (s *stream) tape(tok tokenizer.Tokenizer, at files.Spot, n int) (*tape, error) {
	in, err := s.lines.From(at)
	if err != nil {
		return nil, err
	}
	r, err := fileReader(s.cfg, tok, s.src)
	if err != nil {
		in.Close()
		return nil, err
	}
	r.before, r.past = n, map[uint64]bool{}
	return &tape{in: in, r: r}, nil
}

// next is the next conversation and where it begins; io.EOF behind the last
// one. A conversation of several lines is whole when another one has begun.
func (t *tape) next() (*Conversation, files.Spot, error) {
	wanted := 1
	if t.r.format.joins {
		wanted = 2
	}
	for len(t.r.conversations) < wanted && !t.over {
		at := t.in.Spot()
		rec, err := t.in.Next()
		if errors.Is(err, io.EOF) {
			t.over = true
			break
		}
		if err == nil {
			err = t.r.object(rec)
		}
		if err != nil {
			t.in.Close()
			return nil, at, err
		}
		t.r.bytes = 0 // nothing of it stays
		if len(t.starts) < len(t.r.conversations) {
			t.starts = append(t.starts, at)
		}
	}
	if len(t.starts) == 0 {
		return nil, t.in.Spot(), io.EOF
	}
	at := t.starts[0]
	t.starts = append(t.starts[:0], t.starts[1:]...)
	return t.r.handOver(), at, nil
}

// handOver takes the first conversation out of the reader, which keeps nothing
// of it but a hash of its id.
func (r *reader) handOver() *Conversation {
	c := r.conversations[0]
	r.conversations = append(r.conversations[:0], r.conversations[1:]...)
	r.before++
	for id, i := range r.byID {
		if i == 0 {
			delete(r.byID, id)
			r.past[hashOfID(id)] = true
		} else {
			r.byID[id] = i - 1
		}
	}
	if r.library.Bytes() > 0 {
		r.library = media.NewLibrary(filepath.Dir(r.cfg.Path), r.cfg.MediaRoots, maxText)
	}
	return &c
}

// goesOn refuses more lines of a session that was handed over.
func (r *reader) goesOn(id string) error {
	if r.past == nil || id == "" || !r.past[hashOfID(id)] {
		return nil
	}
	return diag.Errorf("session %q goes on behind another one", id).Try(fmt.Sprintf("a file of more than %d MiB is read while it is played: keep the lines of a session together", largeFile>>20))
}

func hashOfID(id string) uint64 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id)
	return h.Sum64()
}

// index reads the file once and notes where conversations begin.
func (s *stream) index() {
	s.once.Do(func() {
		t, err := s.tape(nil, files.Spot{}, 0)
		for err == nil {
			var c *Conversation
			var at files.Spot
			if c, at, err = t.next(); err == nil {
				s.spots, s.turns = append(s.spots, at), s.turns+len(c.Turns)
			}
		}
		if !errors.Is(err, io.EOF) {
			s.fail(err)
		}
	})
}

// fail keeps the first failure.
func (s *stream) fail(err error) { s.failure.CompareAndSwap(nil, &err) }

func (s *stream) Len() int {
	s.index()
	return max(1, len(s.spots))
}

func (s *stream) Turns() int {
	s.index()
	return s.turns
}

// At reads conversation i. Where that fails the set has failed, and the first
// one stands in: the file was sound when it was indexed.
func (s *stream) At(i int) *Conversation {
	if i == 0 {
		return s.first
	}
	s.index()
	t, err := s.tape(s.tok, s.spots[i], i)
	if err == nil {
		defer t.in.Close()
		var c *Conversation
		if c, _, err = t.next(); err == nil {
			return c
		}
	}
	s.fail(err)
	return s.first
}

func (s *stream) Outline(i int) *Conversation { return s.At(i) }

func (s *stream) Digest() string { return s.digest }

// all are the conversations in the file's order, once.
func (s *stream) all() iter.Seq[*Conversation] {
	return func(yield func(*Conversation) bool) {
		t, err := s.tape(s.tok, files.Spot{}, 0)
		for err == nil {
			var c *Conversation
			if c, _, err = t.next(); err == nil && !yield(c) {
				t.in.Close()
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			s.fail(err)
		}
	}
}

// again is the next conversation of a tape that begins anew at the end; nil
// when the set has failed.
func (s *stream) again(t *tape) (*tape, *Conversation) {
	for {
		var err error
		fresh := t == nil
		if fresh {
			if t, err = s.tape(s.tok, files.Spot{}, 0); err != nil {
				s.fail(err)
				return nil, nil
			}
		}
		c, _, err := t.next()
		switch {
		case err == nil:
			return t, c
		case errors.Is(err, io.EOF) && !fresh:
			t = nil
		default:
			s.fail(err)
			return t, nil
		}
	}
}

// sample is a digest of the settings, the file's size, and pieces from its
// beginning to its end: to read all of it would take longer than playing it.
func (s *stream) sample() (string, error) {
	h := sha256.New()
	cfg := s.cfg
	cfg.Path, cfg.Name = "", ""
	err := json.NewEncoder(h).Encode([]any{cfg, s.src.seeds.Shape})
	if err == nil {
		err = pieces.File(h, s.lines.Path)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}
