package sinks

import (
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
	buf       []byte // not in the file yet; a small file takes what it has
	err       error  // the first
	sum       hash.Hash
	n         int64
}

// CreateArtifact begins the file name in dir, or in a folder of it. It is there
// only after Commit.
func CreateArtifact(dir, name string) (*Artifact, error) {
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
	return &Artifact{dir: dir, name: name, f: f, sum: sha256.New()}, nil
}

// artifactBuffer is how much of a large file is written at once, in bytes.
const artifactBuffer = 256 << 10

func (a *Artifact) Write(b []byte) (int, error) {
	if len(a.buf)+len(b) > artifactBuffer {
		a.flush()
	}
	if len(b) > artifactBuffer {
		a.write(b)
	} else {
		a.buf = append(a.buf, b...)
	}
	a.n += int64(len(b))
	return len(b), a.err
}

func (a *Artifact) flush() {
	a.write(a.buf)
	a.buf = a.buf[:0]
}

// write writes to the file and, meanwhile, adds to its digest.
func (a *Artifact) write(b []byte) {
	const worth = 64 << 10 // bytes; hashing fewer takes no longer than handing them over
	if a.err != nil {
		return
	}
	if len(b) < worth {
		a.sum.Write(b) //nolint:errcheck // a hash takes everything
		_, a.err = a.f.Write(b)
		return
	}
	var hashed sync.WaitGroup
	hashed.Go(func() { a.sum.Write(b) }) //nolint:errcheck // a hash takes everything
	_, a.err = a.f.Write(b)
	hashed.Wait()
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
	a.flush()
	if a.err != nil {
		a.f.Abort()
		return FileInfo{}, a.err
	}
	if err := a.f.Commit(); err != nil {
		return FileInfo{}, err
	}
	return FileInfo{
		Path: a.name, Kind: kind, Schema: schema, Rows: rows, Bytes: a.n,
		SHA256: hex.EncodeToString(a.sum.Sum(nil)),
	}, nil
}

// WriteArtifact puts a small file in place.
func WriteArtifact(dir, name, kind string, data []byte) (FileInfo, error) {
	a, err := CreateArtifact(dir, name)
	if err != nil {
		return FileInfo{}, err
	}
	defer a.Abort()
	if _, err := a.Write(data); err != nil {
		return FileInfo{}, err
	}
	return a.Commit(kind, "", 0)
}
