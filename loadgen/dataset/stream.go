package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync"
	"sync/atomic"

	"aiperf.dev/aiperf/internal/diag"
	pieces "aiperf.dev/aiperf/internal/sampled"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/format"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// stream is a store of conversations that stay in their file. Playing them in
// the file's order needs nothing but a place in it; any other order, and
// schedules, need an index, for which the file is read once.
type stream struct {
	lines  *files.Lines
	cfg    schema.Dataset
	tok    tokenizer.Tokenizer
	src    synth.Source
	digest string
	first  *Conversation

	once  sync.Once
	spots []files.Spot // where conversation i begins; after once
	turns int          // of all; after once

	failure atomic.Pointer[error] // the first record that could not be read
}

// openStream is r's file as a stream; nil when it is to be held in memory.
func openStream(cfg schema.Dataset, r *format.Reader, tok tokenizer.Tokenizer, src synth.Source) (*stream, error) {
	lines, large, err := files.LinesOf(cfg.Path, format.LargeFile)
	if err != nil || !large {
		return nil, err
	}
	f, err := r.Format()
	if err != nil || !f.Streams {
		return nil, err
	}
	order, err := sampling(cfg)
	if err != nil {
		return nil, err
	}
	if order != "sequential" && !lines.Seekable() {
		return nil, diag.Errorf("%s: a compressed file of %d MiB cannot be played in %s order", cfg.Path,
			lines.Size()>>20, order).
			Try("inflate it, or sampling sequential")
	}
	cfg.Format = f.Name
	s := &stream{lines: lines, cfg: cfg, tok: tok, src: src}
	if s.digest, err = s.sample(); err != nil {
		return nil, err
	}
	first, err := s.tape(tok, files.Spot{}, 0)
	if err != nil {
		return nil, err
	}
	defer first.in.Close()
	if s.first, _, err = first.next(); errors.Is(err, io.EOF) {
		err = fmt.Errorf("%s: no records", cfg.Path)
	}
	return s, err
}

// set is s with what a person should know of the file's beginning, which r reads.
func (s *stream) set(ctx context.Context, r *format.Reader) (*Set, error) {
	r.Look(checked, nil)
	r.Note("%s: its %s are read while they are played; a mistake behind its first 8 MiB ends the run that finds it",
		s.cfg.Path, size(s.lines.Size()))
	ahead, err := r.All(ctx)
	if err != nil {
		return nil, err
	}
	return &Set{stored: s, warnings: ahead.Warnings, notes: ahead.Notes, doubts: ahead.Doubts}, nil
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
	r      *format.Reader
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
	r, err := format.NewReader(s.cfg, tok, s.src)
	if err != nil {
		in.Close()
		return nil, err
	}
	r.From(n)
	return &tape{in: in, r: r}, nil
}

// next is the next conversation and where it begins; io.EOF behind the last
// one. A conversation of several lines is whole when another one has begun.
func (t *tape) next() (*Conversation, files.Spot, error) {
	wanted := 1
	if t.r.Joins() {
		wanted = 2
	}
	for t.r.Held() < wanted && !t.over {
		at := t.in.Spot()
		rec, err := t.in.Next()
		if errors.Is(err, io.EOF) {
			t.over = true
			break
		}
		if err == nil {
			err = t.r.Add(rec)
		}
		if err != nil {
			t.in.Close()
			return nil, at, err
		}
		if len(t.starts) < t.r.Held() {
			t.starts = append(t.starts, at)
		}
	}
	if len(t.starts) == 0 {
		return nil, t.in.Spot(), io.EOF
	}
	at := t.starts[0]
	t.starts = append(t.starts[:0], t.starts[1:]...)
	return t.r.HandOver(), at, nil
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
	err := json.NewEncoder(h).Encode([]any{cfg, s.src.Seeds.Shape})
	if err == nil {
		err = pieces.File(h, s.lines.Path)
	}
	return hex.EncodeToString(h.Sum(nil)), err
}
