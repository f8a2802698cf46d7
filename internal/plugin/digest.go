package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/diag"
)

// A plug-in is small: what is more is a folder that holds something else, too.
const (
	maxFiles = 2000
	maxBytes = 256 << 20
)

// digestOf is the SHA-256 of the names and contents of all files of a plug-in except its
// manifest, which may name it.
func digestOf(folder string) (string, error) {
	root, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return "", err
	}
	all := sha256.New()
	files, size := 0, int64(0)
	err = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, at)
		switch {
		case err != nil || name == ManifestName:
			return err
		case e.IsDir() && e.Name() == "__pycache__": // Python's own, which running it makes
			return filepath.SkipDir
		case e.IsDir():
			return nil
		}
		sum, n, err := fileDigest(root, at)
		if err != nil {
			return err
		}
		files++
		if size += n; files > maxFiles || size > maxBytes {
			return diag.New(fmt.Sprintf("%s holds more than %d files or %s", folder, maxFiles, "256 MiB"),
				"give the plug-in a folder of its own")
		}
		fmt.Fprintf(all, "%s\n%s\n", filepath.ToSlash(name), sum)
		return nil
	})
	if err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(all.Sum(nil)), nil
}

// fileDigest is that of a file below root. A link that leads out is refused: what it leads
// to may change without anybody noticing.
func fileDigest(root, at string) (string, int64, error) {
	to, err := filepath.EvalSymlinks(at)
	if err != nil {
		return "", 0, err
	}
	if rel, err := filepath.Rel(root, to); err != nil || !filepath.IsLocal(rel) {
		return "", 0, diag.New(at+": leaves the plug-in's folder", "put a copy of what it leads to in its place")
	}
	st, err := os.Stat(to)
	if err != nil {
		return "", 0, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxBytes {
		return "", 0, diag.New(fmt.Sprintf("%s: is not a file of at most %s", at, "256 MiB"),
			"give the plug-in a folder of its own")
	}
	f, err := os.Open(to)
	if err != nil {
		return "", 0, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, maxBytes+1))
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// Seal tells apart whatever a plug-in does otherwise: its manifest and its files.
func (m *Manifest) Seal() string {
	h := sha256.New()
	h.Write(m.text)
	io.WriteString(h, m.Digest) //nolint:errcheck // a hash takes everything
	return hex.EncodeToString(h.Sum(nil))
}
