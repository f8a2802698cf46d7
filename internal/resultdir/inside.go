package resultdir

import (
	"os"
	"path/filepath"
)

// Inside is the newest result directory at most two levels below dir, such as the one in
// dir/results; "" where there is none. It is for hints only.
func Inside(dir string) (newest string) {
	var at int64
	for _, levels := range []string{"*", filepath.Join("*", "*")} {
		found, err := filepath.Glob(filepath.Join(escape(dir), levels, ManifestName))
		if err != nil {
			return ""
		}
		for _, name := range found {
			to := filepath.Dir(name)
			if st, err := os.Lstat(to); err != nil || !st.IsDir() { // results/latest is a link to one of them
				continue
			}
			if st, err := os.Stat(name); err == nil && st.ModTime().UnixNano() > at {
				newest, at = to, st.ModTime().UnixNano()
			}
		}
	}
	return newest
}

// escape makes a path a pattern that means it alone.
func escape(path string) string {
	var out []rune
	for _, c := range path {
		switch c {
		case '*', '?', '[', '\\':
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return string(out)
}
