// Package atomicfile writes files that are either whole or absent. In goes a
// path and bytes; the bytes go to a temporary name in the same directory, are
// synced and renamed, and the directory is synced. Errors name the path the
// caller asked for, never the temporary one.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// File is being written under a temporary name. It belongs to one goroutine,
// which ends it with Commit or Abort.
type File struct {
	path string
	temp string // the name it has until it is committed
	tmp  *os.File
	err  error // the first failed write
	done bool
}

// Create starts a file that will be called path once it is committed. The
// directory must exist.
func Create(path string) (*File, error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return nil, named(path, err)
	}
	f := &File{path: path, temp: tmp.Name(), tmp: tmp}
	if err := f.Chmod(0o644); err != nil {
		f.Abort()
		return nil, err
	}
	return f, nil
}

// Write implements io.Writer. After an error nothing more is written and
// Commit repeats it.
func (f *File) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.tmp.Write(b)
	f.err = named(f.path, err)
	return n, f.err
}

// Chmod sets the permissions the file will have; 0644 if never called.
func (f *File) Chmod(mode fs.FileMode) error { return named(f.path, f.tmp.Chmod(mode)) }

// Commit syncs the bytes and gives the file its name, replacing what stood
// there. On an error nothing is left behind.
func (f *File) Commit() error {
	if f.done {
		return named(f.path, fs.ErrClosed)
	}
	if f.err != nil {
		f.Abort()
		return f.err
	}
	if err := f.tmp.Sync(); err != nil {
		f.Abort()
		return named(f.path, err)
	}
	f.done = true
	err := f.tmp.Close()
	if err == nil {
		err = os.Rename(f.temp, f.path)
	}
	if err != nil {
		return errors.Join(named(f.path, err), ignoreMissing(os.Remove(f.temp)))
	}
	return SyncDir(filepath.Dir(f.path))
}

// Abort forgets the file. After Commit it does nothing, so it may be deferred.
func (f *File) Abort() {
	if f.done {
		return
	}
	f.done = true
	_ = f.tmp.Close() // the bytes are thrown away
	_ = os.Remove(f.temp)
}

// Write puts data at path in one step.
func Write(path string, data []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// Through puts data where somebody said: a link is followed and stays, and what is
// no regular file (a device, a pipe) is written to and not replaced.
func Through(path string, data []byte) error {
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if to, bad := os.Readlink(path); bad == nil { // to a file that is not there yet
			if real = to; !filepath.IsAbs(to) {
				real = filepath.Join(filepath.Dir(path), to)
			}
		} else {
			real = path
		}
	} else if err != nil {
		return named(path, err)
	}
	if st, err := os.Stat(real); err != nil || st.Mode().IsRegular() || st.IsDir() {
		return Write(real, data)
	}
	f, err := os.OpenFile(real, os.O_WRONLY, 0)
	if err != nil {
		return named(path, err)
	}
	_, err = f.Write(data)
	return named(path, errors.Join(err, f.Close()))
}

// SyncDir makes the names in dir survive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return named(dir, err)
	}
	defer d.Close()
	return named(dir, d.Sync())
}

// named says what could not be written, and why, in one line.
func named(path string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	var l *os.LinkError
	if errors.As(err, &l) {
		err = l.Err
	}
	return fmt.Errorf("write %s: %w", path, err)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
