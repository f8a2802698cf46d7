package resultdir

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LeadTo makes link lead to dir, which lies beside it or deeper, in place of where it led
// before. What bears that name and is no link stays. Where no link can be made there is none:
// nothing depends on it.
func LeadTo(dir, link string) {
	if at, err := os.Lstat(link); err == nil && at.Mode()&fs.ModeSymlink == 0 {
		return
	}
	to, err := filepath.Rel(filepath.Dir(link), dir)
	if err != nil {
		return
	}
	fresh := fmt.Sprintf("%s.%d", link, os.Getpid()) // two programs may begin at once
	if os.Symlink(to, fresh) != nil {
		return
	}
	if os.Rename(fresh, link) != nil {
		os.Remove(fresh) //nolint:errcheck // it leads to a directory that exists, and does no harm
	}
}
