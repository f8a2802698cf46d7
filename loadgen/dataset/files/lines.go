package files

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"aiperf.dev/aiperf/internal/diag"
)

// Lines is a file of JSON lines that is read as it is needed, compressed with
// gzip or not. It holds nothing of the file but what it is.
type Lines struct {
	Path string
	info os.FileInfo
	gzip bool
}

// packs is how many bytes of text one byte of a compressed file is taken for.
const packs = 8

// LinesOf looks at the file at path; false when it is no regular file of JSON
// lines that is larger than size bytes, or a compressed one than an eighth.
func LinesOf(path string, size int64) (*Lines, bool, error) {
	st, err := os.Stat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() <= size/packs {
		return nil, false, nil // who reads it all says what is wrong
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	k, err := kindOf(path, file)
	large := k.kind == jsonLines && (k.gzip || st.Size() > size)
	return &Lines{Path: path, info: st, gzip: k.gzip}, large, err
}

// Size is the size of the file, in bytes.
func (l *Lines) Size() int64 { return l.info.Size() }

// Seekable reports whether reading can begin anywhere.
func (l *Lines) Seekable() bool { return !l.gzip }

// Spot is a place in a file: behind so many bytes and lines.
type Spot struct {
	Byte int64
	Line int
}

// From reads the lines from a spot on. The file stays open until its end is
// reached, or until nobody has the cursor any more.
func (l *Lines) From(at Spot) (*Cursor, error) {
	file, err := os.Open(l.Path)
	if err != nil {
		return nil, err
	}
	st, err := file.Stat()
	if err == nil && (!os.SameFile(st, l.info) || st.Size() != l.info.Size() || !st.ModTime().Equal(l.info.ModTime())) {
		err = fmt.Errorf("%s: changed while it was played", l.Path)
	}
	if err == nil && at.Byte > 0 {
		_, err = file.Seek(at.Byte, io.SeekStart)
	}
	var in io.Reader = file
	if err == nil && l.gzip {
		in, err = inflate(l.Path, file)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	c := newCursor(l.Path, in)
	c.spot, c.file = at, file
	return c, nil
}

// inflate reads a compressed file, up to a bound.
func inflate(path string, in io.Reader) (io.Reader, error) {
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &inflated{in: z}, nil
}

// Cursor hands over the records of a file of JSON lines one by one. It has one
// user.
type Cursor struct {
	path string
	in   *bufio.Reader
	file *os.File // closed at the end; nil when it is somebody else's
	spot Spot     // behind the last line that was read
	long []byte   // of a line that is longer than the buffer
}

func newCursor(path string, in io.Reader) *Cursor {
	return &Cursor{path: path, in: bufio.NewReaderSize(in, 64<<10)}
}

// Spot is the place behind the last record.
func (c *Cursor) Spot() Spot { return c.spot }

// Next is the next record; io.EOF says that there is none. Empty lines are
// passed over. A line that is no record is Bad; errors, behind which nothing can be read, name
// their line.
func (c *Cursor) Next() (Record, error) {
	for {
		line, err := c.line()
		if err != nil {
			c.Close()
			return Record{}, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return newRecord(fmt.Sprintf("%s:%d", c.path, c.spot.Line), line), nil
		}
	}
}

// Close lets go of the file; a second time does nothing.
func (c *Cursor) Close() {
	if c.file != nil {
		_ = c.file.Close() // it was only read
		c.file = nil
	}
}

// line is the next line, good until the next one is read; io.EOF behind the
// last one.
func (c *Cursor) line() ([]byte, error) {
	c.long = c.long[:0]
	for {
		part, err := c.in.ReadSlice('\n')
		c.spot.Byte += int64(len(part))
		if len(c.long)+len(part) > maxLine {
			return nil, diag.Errorf("%s:%d: line longer than %d MiB", c.path, c.spot.Line+1, maxLine>>20).
				Try("a record is one line: is a line end missing? Files may be larger than memory, records may not")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			c.long = append(c.long, part...)
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("%s: %w", c.path, err)
		}
		line := part
		if len(c.long) > 0 {
			c.long = append(c.long, part...)
			line = c.long
		}
		if len(line) == 0 {
			return nil, io.EOF
		}
		if c.spot.Line++; c.spot.Line == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		return line, nil
	}
}

// eachLine reads JSON lines.
func eachLine(path string, in io.Reader, f func(Record) error) error {
	c := newCursor(path, in)
	for {
		r, err := c.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(r)
		}
		if err != nil {
			return err
		}
	}
}
