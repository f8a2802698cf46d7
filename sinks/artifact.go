package sinks

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path/filepath"
	"sync"

	"aiperf.dev/aiperf/internal/atomicfile"
)

// FileInfo is a file as the manifest lists it.
type FileInfo struct {
	Path   string `json:"path"`             // relative to the result directory
	Kind   string `json:"kind"`             // table, summary, records, …
	Schema string `json:"schema,omitempty"` // requests/1
	Rows   int64  `json:"rows,omitempty"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Artifact is an atomic file that counts and hashes what is written. It
// implements io.WriteSeeker only as far as a writer asks where it is.
type Artifact struct {
	dir, name string
	f         *atomicfile.File
	buf       *bufio.Writer
	sum       hash.Hash
	n         int64
}

// CreateArtifact begins the file name in dir, or in a folder of it. It is there
// only after Commit.
func CreateArtifact(dir, name string) (*Artifact, error) {
	return createArtifact(dir, name, artifactBuffer)
}

// artifactBuffer is how much of a large file is written at once, in bytes.
const artifactBuffer = 256 << 10

// createArtifact is CreateArtifact with a buffer for a file of size bytes.
func createArtifact(dir, name string, size int) (*Artifact, error) {
	path := filepath.Join(dir, name)
	if in := filepath.Dir(path); in != filepath.Clean(dir) {
		if err := os.MkdirAll(in, 0o755); err != nil {
			return nil, err
		}
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, err
	}
	a := &Artifact{dir: dir, name: name, f: f, sum: sha256.New()}
	a.buf = bufio.NewWriterSize(both{f, a.sum}, min(size, artifactBuffer))
	return a, nil
}

// both writes to a file and, meanwhile, adds to its digest.
type both struct {
	file io.Writer
	sum  hash.Hash
}

func (w both) Write(b []byte) (int, error) {
	const worth = 64 << 10 // bytes; hashing fewer takes no longer than handing them over
	if len(b) < worth {
		w.sum.Write(b) //nolint:errcheck // a hash takes everything
		return w.file.Write(b)
	}
	var hashed sync.WaitGroup
	hashed.Go(func() { w.sum.Write(b) }) //nolint:errcheck // a hash takes everything
	n, err := w.file.Write(b)
	hashed.Wait()
	return n, err
}

func (a *Artifact) Write(b []byte) (int, error) {
	n, err := a.buf.Write(b)
	a.n += int64(n)
	return n, err
}

// Seek only tells the position.
func (a *Artifact) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.New("seek: the file is written from front to back")
	}
	return a.n, nil
}

// Abort removes the file unless it was committed.
func (a *Artifact) Abort() { a.f.Abort() }

// Commit ends the file and gives it its name.
func (a *Artifact) Commit(kind, schema string, rows int64) (FileInfo, error) {
	if err := a.buf.Flush(); err != nil {
		a.f.Abort()
		return FileInfo{}, err
	}
	if err := a.f.Commit(); err != nil {
		return FileInfo{}, err
	}
	return FileInfo{Path: a.name, Kind: kind, Schema: schema, Rows: rows, Bytes: a.n, SHA256: hex.EncodeToString(a.sum.Sum(nil))}, nil
}

// WriteArtifact puts a small file in place.
func WriteArtifact(dir, name, kind string, data []byte) (FileInfo, error) {
	a, err := createArtifact(dir, name, len(data))
	if err != nil {
		return FileInfo{}, err
	}
	defer a.Abort()
	if _, err := a.Write(data); err != nil {
		return FileInfo{}, err
	}
	return a.Commit(kind, "", 0)
}
