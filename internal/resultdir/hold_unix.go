//go:build unix

package resultdir

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockDir keeps a second process out of a result directory. The kernel gives
// the lock back however this process ends.
func lockDir(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, errLocked
	}
	// The owner before may have removed the file between the two calls: then this
	// lock is on no file that another process would meet.
	if mine, err := f.Stat(); err == nil {
		if there, err := os.Stat(path); err != nil || !os.SameFile(mine, there) {
			_ = f.Close()
			return nil, errLocked
		}
	}
	return f, nil
}

// Held reports whether a process has the lock of dir. It takes the lock for a
// moment, so ask it of a directory that nobody is about to open.
func Held(dir string) bool {
	f, err := os.Open(filepath.Join(dir, lockName))
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}
