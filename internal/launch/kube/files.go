package kube

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"aiperf.dev/aiperf/internal/diag"
)

// Send writes a folder as an archive, whole, and one that does not exist as an empty one.
// What is no plain file is left out.
func Send(w io.Writer, dir string) error {
	t := tar.NewWriter(w)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return t.Close()
	}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || rel == "." || !e.IsDir() && !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		h := &tar.Header{Typeflag: tar.TypeDir, Name: filepath.ToSlash(rel) + "/", Mode: 0o755, ModTime: info.ModTime()}
		if e.IsDir() {
			return t.WriteHeader(h)
		}
		h.Typeflag, h.Name, h.Mode, h.Size = tar.TypeReg, filepath.ToSlash(rel), 0o644, info.Size()
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.CopyN(t, f, info.Size())
		return err
	})
	return errors.Join(err, t.Close())
}

// Receive unpacks what Send wrote into a folder that is not there yet, or is empty. Nothing
// is written outside of it, whatever the archive says.
func Receive(r io.Reader, dir string) (files int, err error) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return 0, diag.New(dir+" is not empty", "name another folder: --output DIR")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	defer func() {
		if files == 0 {
			_ = os.Remove(dir) // it stays where something is in it
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, r) // the sender is not left alone with what fills the last block
			return files, err
		}
		if err != nil {
			return files, fmt.Errorf("the results did not come whole: %w", err)
		}
		name := filepath.FromSlash(h.Name)
		if h.Typeflag == tar.TypeDir {
			err = root.MkdirAll(filepath.Clean(name), 0o755)
		} else if h.Typeflag == tar.TypeReg {
			err = unpack(root, name, t)
			files++
		}
		if err != nil {
			return files, err
		}
	}
}

func unpack(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
