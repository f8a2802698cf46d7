package seal

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Write packs the envelope and the files that it lists, which lie in dir. What is written
// follows from them alone: names in order, no times, no owners.
func Write(w io.Writer, e *Envelope, dir string) error {
	if err := e.statement.check(); err != nil {
		return err
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	head, err := e.bytes()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(entry(Name, int64(len(head)))); err != nil {
		return err
	}
	if _, err := t.Write(head); err != nil {
		return err
	}
	for _, f := range e.statement.Subject {
		if err := add(t, dir, f.Name, e.statement.Predicate.Bytes[f.Name]); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func entry(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: size, ModTime: time.Unix(0, 0)}
}

func add(t *tar.Writer, dir, name string, size int64) error {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.WriteHeader(entry(name, size)); err != nil {
		return err
	}
	if _, err := io.Copy(t, f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
