package sinks

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Export writes one table of a result directory to w as csv, arrow (an IPC
// file) or parquet.
func Export(dir, format, table string, w io.Writer) error {
	if !slices.Contains(Formats(), format) {
		return fmt.Errorf("export: no format %q; there are %s", format, strings.Join(Formats(), ", "))
	}
	if !slices.Contains(TableNames(), table) {
		return fmt.Errorf("export: no table %q; there are %s", table, strings.Join(TableNames(), ", "))
	}
	path := filepath.Join(dir, table+".parquet")
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("export: %s has no table %s", dir, table)
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer f.Close()
	if format == "parquet" {
		if _, err := io.Copy(w, f); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		return nil
	}
	if err := convert(f, format, table, w); err != nil {
		return fmt.Errorf("export %s: %w", path, err)
	}
	return nil
}

func convert(f *os.File, format, table string, w io.Writer) error {
	in, err := inputOf(f)
	if err != nil {
		return err
	}
	out, err := newOutput(format, &counted{w: w}, table, in.fs, in.meta(), newCodec())
	if err != nil {
		return err
	}
	return errors.Join(in.each(out.write), out.close())
}

// counted lets a stream be asked where it is.
type counted struct {
	w io.Writer
	n int64
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

func (c *counted) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.New("seek: a stream is written from front to back")
	}
	return c.n, nil
}
