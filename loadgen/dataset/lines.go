package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"
)

// maxLine bounds one line of a file, in bytes.
const maxLine = 64 << 20

// file reads the lines of path. Its errors are "path:line: what".
func (r *reader) file(path string) error {
	if path == "" {
		return errors.New("a file dataset needs a path or records")
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return err
	} else if st.IsDir() {
		return fmt.Errorf("%s: is a folder, not a file of JSON lines", path)
	}
	return r.lines(path, f)
}

func (r *reader) lines(path string, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	n := 0
	for lines.Scan() {
		n++
		line := lines.Bytes()
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		place := fmt.Sprintf("%s:%d", path, n)
		if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
			return fmt.Errorf("%s: not text in UTF-8; want one JSON object per line", place)
		}
		if err := r.object(place, line); err != nil {
			return err
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s:%d: line longer than %d MiB", path, n+1, maxLine>>20)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case len(r.conversations) == 0:
		return fmt.Errorf("%s: no records", path)
	}
	return nil
}
