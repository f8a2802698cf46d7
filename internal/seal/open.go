package seal

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// What a bundle may ask of the machine that reads it.
const (
	mostEnvelope = 16 << 20 // bytes of its first entry
	mostBytes    = 64 << 30 // of all files together
	mostWindow   = 64 << 20 // that decompression looks back
	// Tables are compressed already, and text shrinks to a tenth: who promises more than this
	// for a small file means harm.
	mostRatio = 200
	slack     = 16 << 20 // bytes that a bundle of any size may have
)

// Bundle is a file that was read and found to be as it states.
type Bundle struct {
	*Envelope
	Path string
}

// Open reads the whole of a bundle and writes nothing. The error says what is not as the
// bundle itself states; who states it is another question, see SignedBy.
func Open(file string) (*Bundle, error) {
	if err := looksLikeOne(file); err != nil {
		return nil, err
	}
	b := &Bundle{Path: file}
	err := b.read(func(string, int64, io.Reader) error { return nil })
	if err != nil {
		return nil, err
	}
	return b, nil
}

// magic begins every frame of Zstandard, and so every bundle.
const magic = "\x28\xb5\x2f\xfd"

// looksLikeOne refuses a file that does not begin as a bundle does: it is another file, not a part of a bundle.
func looksLikeOne(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return err // what is not a file is refused when it is read
	}
	begin := make([]byte, len(magic))
	switch n, err := io.ReadFull(f, begin); {
	case n == 0:
		return errors.New("not a bundle of aiperf: the file is empty")
	case err != nil || string(begin) != magic:
		return errors.New("not a bundle of aiperf")
	}
	return nil
}

// Unpack makes the files of the bundle in dir, which must be there. They are checked once more
// on the way.
func (b *Bundle) Unpack(dir string) error {
	return (&Bundle{Path: b.Path}).read(func(name string, size int64, from io.Reader) error {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		_, err = io.Copy(f, from)
		return errors.Join(err, f.Close())
	})
}

// read goes through the file. Each entry is handed to take, and held against what is stated.
func (b *Bundle) read(take func(name string, size int64, from io.Reader) error) error {
	f, err := os.Open(b.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return errors.New("not a file")
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow),
		zstd.WithDecoderLowmem(true))
	if err != nil {
		return plainly(err)
	}
	defer z.Close()
	t := tar.NewReader(z)
	if b.Envelope, err = first(t); err != nil {
		return err
	}
	s := b.statement
	total, err := s.sizes()
	if err != nil || total > slack+mostRatio*st.Size() {
		return fmt.Errorf("states %d bytes of files in a bundle of %d: that is refused, unread", total, st.Size())
	}
	for _, want := range s.Subject {
		if err := next(t, want, s.Predicate.Bytes[want.Name], take); err != nil {
			return err
		}
	}
	h, err := t.Next()
	if err == nil {
		return fmt.Errorf("%q is in it and not in its list", h.Name)
	}
	if !errors.Is(err, io.EOF) {
		return plainly(err)
	}
	return nothingMore(z)
}

// first reads the envelope.
func first(t *tar.Reader) (*Envelope, error) {
	h, err := t.Next()
	if err != nil {
		return nil, plainly(err)
	}
	if h.Name != Name || h.Typeflag != tar.TypeReg {
		return nil, fmt.Errorf("not a bundle of aiperf: it begins with %q and not with %s", clipped(h.Name), Name)
	}
	if h.Size > mostEnvelope {
		return nil, fmt.Errorf("%s has %d bytes, and may have %d", Name, h.Size, int64(mostEnvelope))
	}
	text, err := io.ReadAll(t)
	if err != nil {
		return nil, plainly(err)
	}
	return parseEnvelope(text)
}

// next reads one file, which must be the one that is listed next.
func next(t *tar.Reader, want Subject, size int64, take func(string, int64, io.Reader) error) error {
	h, err := t.Next()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%s is in its list and not in it", want.Name)
	}
	if err != nil {
		return plainly(err)
	}
	if err := checkName(h.Name); err != nil {
		return err
	}
	switch {
	case h.Typeflag != tar.TypeReg:
		return fmt.Errorf("%q is not a plain file", clipped(h.Name))
	case h.Name < want.Name:
		return fmt.Errorf("%q is in it twice, or not in its list", clipped(h.Name))
	case h.Name > want.Name:
		return fmt.Errorf("%s is in its list and not in it", want.Name)
	case h.Size != size:
		return fmt.Errorf("%s has %d bytes, and %d by its list", want.Name, h.Size, size)
	}
	sum := sha256.New()
	if err := take(h.Name, h.Size, io.TeeReader(t, sum)); err != nil {
		return plainly(err)
	}
	if _, err := io.Copy(sum, t); err != nil { // what was not taken
		return plainly(err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != want.Digest.SHA256 {
		return fmt.Errorf("%s is not the file that was sealed: its digest is another one", want.Name)
	}
	return nil
}

// nothingMore refuses what stands behind the archive, beyond the zeros that end it.
func nothingMore(z io.Reader) error {
	buf := make([]byte, 32<<10)
	for read := 0; ; {
		n, err := z.Read(buf)
		if read += n; strings.Trim(string(buf[:n]), "\x00") != "" || read > slack {
			return errors.New("something stands behind its last file")
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return plainly(err)
		}
	}
}

// checkName refuses names that lead elsewhere: outside, up, or to another name of a file.
func checkName(name string) error {
	bad := name == "" || len(name) > 1024 || name == Name || path.Clean(name) != name || !filepath.IsLocal(name) ||
		strings.ContainsAny(name, "\\:\x00")
	for _, r := range name {
		bad = bad || r < ' ' || r == 0x7f
	}
	if bad {
		return fmt.Errorf("%q is not a name that a file of a bundle may have", clipped(name))
	}
	return nil
}

func clipped(name string) string {
	if len(name) > 80 {
		return name[:80] + "…"
	}
	return name
}

// plainly says what is wrong with an archive without the words of those who unpack it.
func plainly(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("cut off: its end is missing")
	case errors.Is(err, zstd.ErrMagicMismatch), errors.Is(err, tar.ErrHeader):
		return errors.New("not a bundle of aiperf")
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return errors.New("asks for more memory than a bundle may take")
	case errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, zstd.ErrReservedBlockType),
		errors.Is(err, zstd.ErrCompressedSizeTooBig), errors.Is(err, zstd.ErrBlockTooSmall),
		errors.Is(err, zstd.ErrUnexpectedBlockSize), errors.Is(err, zstd.ErrUnknownDictionary):
		return errors.New("damaged: it cannot be decompressed")
	}
	return err
}
