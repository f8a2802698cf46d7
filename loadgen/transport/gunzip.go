package transport

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"iter"
)

// gunzip decodes a gzip stream as it arrives: what a flush of the server has
// made decodable comes out of the feed that completed it. The decoder, which
// wants to pull, runs as a coroutine that rests when it has eaten its input.
type gunzip struct {
	in   []byte
	eof  bool
	err  error
	next func() (struct{}, bool)
	stop func()
}

func newGunzip(sink func([]byte) error) *gunzip {
	g := &gunzip{}
	g.next, g.stop = iter.Pull(func(yield func(struct{}) bool) {
		g.err = g.decode(sink, func() bool { return yield(struct{}{}) })
	})
	return g
}

// feed decodes b.
func (g *gunzip) feed(b []byte) error {
	g.in = b
	if _, running := g.next(); running {
		return nil
	}
	if g.err == nil {
		return fmt.Errorf("%w: bytes after the end of the gzip stream", errEncoding)
	}
	return g.err
}

// end says that the body is complete.
func (g *gunzip) end() error {
	g.eof = true
	g.next()
	return g.err
}

// decode runs until the stream ends or breaks; more rests until there is input
// again, and is false when there will never be.
func (g *gunzip) decode(sink func([]byte) error, more func() bool) error {
	z, err := gzip.NewReader(puller{g, more})
	if err != nil {
		return fmt.Errorf("%w gzip: %v", errEncoding, err)
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
			return fmt.Errorf("%w gzip: %v", errEncoding, err)
		}
	}
}

// puller reads from what is fed.
type puller struct {
	*gunzip
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
