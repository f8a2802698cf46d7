package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/runner/onerun"
)

// storeName is the store of the files that runs read, by the SHA-256 of what they hold.
const storeName = "aiperf-files"

// sentFile is a file as it lies at the coordinator.
type sentFile struct {
	Path   string `json:"path"` // from the root
	Digest string `json:"digest"`
}

// lender gives the files of runs to workers that may not have them. It belongs to the
// coordinator's goroutine.
type lender struct {
	js    jetstream.JetStream
	store jetstream.ObjectStore // nil before the first file
	sent  map[string]bool       // digests that are in it
	seen  map[string]seenFile   // by path
}

// seenFile is a file that was read before, which does not hold the same any more when its
// size or time differs.
type seenFile struct {
	size   int64
	at     time.Time
	digest string
}

func newLender(js jetstream.JetStream) *lender {
	return &lender{js: js, sent: map[string]bool{}, seen: map[string]seenFile{}}
}

// lend puts what a run reads into the store. list is the digest of what it has to be told by.
func (l *lender) lend(ctx context.Context, spec *onerun.Spec) (named onerun.Spec, list string, err error) {
	named, paths, err := spec.Material()
	if err != nil {
		return named, "", err
	}
	if l.store == nil {
		l.store, err = l.js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: storeName})
		if err != nil {
			return named, "", err
		}
	}
	files := make([]sentFile, len(paths))
	for i, path := range paths {
		if files[i], err = l.put(ctx, path); err != nil {
			return named, "", err
		}
	}
	b := packed(files)
	sum := sha256.Sum256(b)
	list = hex.EncodeToString(sum[:])
	return named, list, l.putAs(ctx, list, bytes.NewReader(b))
}

// put sends a file, unless it was sent before.
func (l *lender) put(ctx context.Context, path string) (sentFile, error) {
	st, err := os.Stat(path)
	if err != nil {
		return sentFile{}, err
	}
	known := l.seen[path]
	if known.size != st.Size() || !known.at.Equal(st.ModTime()) || known.digest == "" {
		if known.digest, _, err = resultdir.Digest(path); err != nil {
			return sentFile{}, err
		}
		known.size, known.at = st.Size(), st.ModTime()
		l.seen[path] = known
	}
	out := sentFile{path, known.digest}
	if l.sent[out.Digest] {
		return out, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return out, err
	}
	defer f.Close()
	return out, l.putAs(ctx, out.Digest, f)
}

func (l *lender) putAs(ctx context.Context, digest string, from io.Reader) error {
	if l.sent[digest] {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, preparing)
	defer cancel()
	if _, err := l.store.Put(ctx, jetstream.ObjectMeta{Name: digest}, from); err != nil {
		return fmt.Errorf("files for workers: %w", err)
	}
	l.sent[digest] = true
	return nil
}

// borrower holds the files that a coordinator sent, below a folder of its own, in which
// they lie to each other as they do there.
type borrower struct {
	js   jetstream.JetStream
	root string
	have map[string]string // digests, by path below root
}

// place fetches what a run reads, and is the run with it. A run that names another file of
// this machine is refused.
func (b *borrower) place(ctx context.Context, spec onerun.Spec, list string) (onerun.Spec, error) {
	ctx, cancel := context.WithTimeout(ctx, preparing)
	defer cancel()
	store, err := b.js.ObjectStore(ctx, storeName)
	if err != nil {
		return spec, err
	}
	var raw bytes.Buffer
	if err := fetch(ctx, store, list, &raw); err != nil {
		return spec, err
	}
	var files []sentFile
	if err := json.Unmarshal(raw.Bytes(), &files); err != nil {
		return spec, err
	}
	for _, f := range files {
		if err := b.get(ctx, store, f); err != nil {
			return spec, err
		}
	}
	return spec.Placed(func(name string) (string, error) {
		below, err := below(name)
		if err != nil {
			return "", err
		}
		at := filepath.Join(b.root, below)
		if _, err := os.Stat(at); err != nil {
			return "", diag.New(fmt.Sprintf("the run reads %s, which was not sent", name), "a worker reads no other files")
		}
		return at, nil
	})
}

// get fetches a file that is not there, or is another one.
func (b *borrower) get(ctx context.Context, store jetstream.ObjectStore, f sentFile) error {
	below, err := below(f.Path)
	if err != nil || b.have[below] == f.Digest {
		return err
	}
	at := filepath.Join(b.root, below)
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		return err
	}
	delete(b.have, below)
	out, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(fetch(ctx, store, f.Digest, out), out.Close()); err != nil {
		return errors.Join(err, os.Remove(at))
	}
	b.have[below] = f.Digest
	return nil
}

// below is where a path from the root lies below another one.
func below(path string) (string, error) {
	rel := strings.TrimLeft(filepath.ToSlash(path[len(filepath.VolumeName(path)):]), "/")
	if !filepath.IsAbs(path) || !filepath.IsLocal(filepath.FromSlash(rel)) {
		return "", diag.New(fmt.Sprintf("the run reads %s, which is not a path from the root", path), "a worker reads no other files")
	}
	return filepath.FromSlash(rel), nil
}

// fetch writes what has that digest, and nothing else.
func fetch(ctx context.Context, store jetstream.ObjectStore, digest string, to io.Writer) error {
	in, err := store.Get(ctx, digest)
	if err != nil {
		return fmt.Errorf("files of the run: %w", err)
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(to, h), in)
	if err := errors.Join(err, in.Close()); err != nil {
		return fmt.Errorf("files of the run: %w", err)
	}
	return sameDigest(h, digest)
}

func sameDigest(h hash.Hash, want string) error {
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("files of the run: one has another content than was said (%.12s instead of %.12s)", got, want)
	}
	return nil
}
