package wire

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
)

// ErrEncoding is a body that is not in the encoding its head says.
var ErrEncoding = errors.New("content encoding")

// Gunzip decodes a gzip stream as it arrives: what a flush of the server has
// made decodable comes out of the feed that completed it. The decoder, which
// wants to pull, runs as a coroutine that rests when it has eaten its input.
type Gunzip struct {
	in   []byte
	eof  bool
	err  error
	next func() (struct{}, bool)
	stop func()
}

// NewGunzip hands what it decodes to sink.
func NewGunzip(sink func([]byte) error) *Gunzip {
	g := &Gunzip{}
	g.next, g.stop = iter.Pull(func(yield func(struct{}) bool) {
		g.err = g.decode(sink, func() bool { return yield(struct{}{}) })
	})
	return g
}

// Feed decodes b.
func (g *Gunzip) Feed(b []byte) error {
	g.in = b
	if _, running := g.next(); running {
		return nil
	}
	if g.err == nil {
		return fmt.Errorf("%w: bytes after the end of the gzip stream", ErrEncoding)
	}
	return g.err
}

// End says that the body is complete.
func (g *Gunzip) End() error {
	g.eof = true
	g.next()
	return g.err
}

// Close ends it before the body is complete.
func (g *Gunzip) Close() { g.stop() }

// decode runs until the stream ends or breaks; more rests until there is input
// again, and is false when there will never be.
func (g *Gunzip) decode(sink func([]byte) error, more func() bool) error {
	z, err := gzip.NewReader(puller{g, more})
	if err != nil {
		return fmt.Errorf("%w gzip: %v", ErrEncoding, err)
	}
	buf := make([]byte, 16<<10)
	for {
		n, err := z.Read(buf)
		if n > 0 {
			if err := sink(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w gzip: %v", ErrEncoding, err)
		}
	}
}

// puller reads from what is fed.
type puller struct {
	*Gunzip
	more func() bool
}

func (p puller) Read(b []byte) (int, error) {
	for len(p.in) == 0 {
		if p.eof || !p.more() {
			return 0, io.EOF
		}
	}
	n := copy(b, p.in)
	p.in = p.in[n:]
	return n, nil
}
