package sinks

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"aiperf.dev/aiperf/internal/resultdir"
)

// aboutName is the first entry of the archive of records: what is kept beside them.
const aboutName = "about.json"

// WriteArchive keeps what the tables do not tell of runs: about, and the journals of the
// runs in the folders dirs, in that order.
func WriteArchive(dir string, about []byte, dirs []string) (FileInfo, error) {
	a, err := CreateArtifact(dir, resultdir.RecordsKept)
	if err != nil {
		return FileInfo{}, err
	}
	defer a.Abort()
	z, err := zstd.NewWriter(a, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return FileInfo{}, err
	}
	t := tar.NewWriter(z)
	add := func(name string, size int64, from io.Reader) error {
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size}); err != nil {
			return err
		}
		_, err := io.Copy(t, from)
		return err
	}
	err = add(aboutName, int64(len(about)), bytes.NewReader(about))
	for i := 0; i < len(dirs) && err == nil; i++ {
		err = addFile(add, dir, dirs[i])
	}
	if err = errors.Join(err, t.Close(), z.Close()); err != nil {
		return FileInfo{}, fmt.Errorf("%s: %w", resultdir.RecordsKept, err)
	}
	return a.Commit("records", "", 0)
}

// entryOf is what the journal of the run in folder run is called in the archive.
func entryOf(run string) string { return path.Join(filepath.ToSlash(run), resultdir.StreamName) }

func addFile(add func(string, int64, io.Reader) error, dir, run string) error {
	f, err := os.Open(filepath.Join(dir, run, resultdir.StreamName))
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	return add(entryOf(run), st.Size(), f)
}

// Archive reads the archive of records of a result directory. Close gives it back.
type Archive struct {
	About []byte
	dir   string
	file  *os.File
	z     *zstd.Decoder
	t     *tar.Reader
	out   string // path of the journal that was unpacked last, "" for none
}

// maxAbout bounds what is read into memory of what stands beside the records, in bytes.
const maxAbout = 1 << 30

// OpenArchive opens the archive of dir; fs.ErrNotExist is one that has none.
func OpenArchive(dir string) (_ *Archive, err error) {
	f, err := os.Open(filepath.Join(dir, resultdir.RecordsKept))
	if err != nil {
		return nil, err
	}
	a := &Archive{dir: dir, file: f}
	defer func() {
		if err != nil {
			a.Close()
			err = fmt.Errorf("%s: %w", f.Name(), err)
		}
	}()
	if a.z, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1)); err != nil {
		return nil, err
	}
	a.t = tar.NewReader(a.z)
	h, err := a.t.Next()
	if err != nil {
		return nil, err
	}
	if h.Name != aboutName || h.Size > maxAbout {
		return nil, fmt.Errorf("begins with %q of %d bytes", h.Name, h.Size)
	}
	a.About, err = io.ReadAll(a.t)
	return a, err
}

// Journal is the path of the journal of the run in folder run: where the run left it, or
// unpacked into folder tmp, where it is until the next one is asked for. Runs are asked
// for in the order in which they were kept.
func (a *Archive) Journal(run, tmp string) (string, error) {
	if at := filepath.Join(a.dir, run, resultdir.StreamName); exists(at) {
		return at, nil
	}
	for {
		h, err := a.t.Next()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("%s has no records of run %q: %w", a.file.Name(), run, fs.ErrNotExist)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", a.file.Name(), err)
		}
		if h.Name == entryOf(run) {
			return a.unpack(tmp)
		}
	}
}

// unpack writes the entry at hand to a file.
func (a *Archive) unpack(tmp string) (string, error) {
	a.discard()
	f, err := os.CreateTemp(tmp, ".records-*.tmp")
	if err != nil {
		return "", err
	}
	a.out = f.Name()
	_, err = io.Copy(f, a.t)
	return a.out, errors.Join(err, f.Close())
}

// discard removes the journal that was unpacked last.
func (a *Archive) discard() {
	if a.out != "" {
		_ = os.Remove(a.out) // it is a copy
		a.out = ""
	}
}

// Close gives the archive back.
func (a *Archive) Close() {
	a.discard()
	if a.z != nil {
		a.z.Close()
	}
	_ = a.file.Close() // it was read
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
