package sweep

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FolderName is a name that a person gave as that of a folder, on any common file system
// and never a path; "" where nothing of it is left.
func FolderName(name string) string {
	s := strings.TrimRight(cut(clean(name), maxName), ". ") // Windows drops them
	if device.MatchString(s) {
		s = "_" + s
	}
	return s
}

// clean removes what cannot or should not stand in a file name.
func clean(s string) string {
	s = strings.ReplaceAll(s, "..", "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError || strings.ContainsRune(`/\<>:"|?*`, r) {
			return -1
		}
		return r
	}, s)
}

// cut is s in at most so many bytes, with whole characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// maxName leaves room below the 255 bytes of common file systems.
const maxName = 200

// device is a name that Windows keeps for a device, whatever its ending.
var device = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// reserved are the names a result directory uses itself.
var reserved = [...]string{
	"", ".", "profile_runs", "aggregate", "sweep_aggregate", "incomplete", "logs", "phases",
	"search", "sentinel",
}

// nameDirs gives every cell a directory name of its own. Names that removing
// characters made equal (also in letter case), that no folder can have on every
// system or that the result directory uses itself get the cell's identity appended.
func nameDirs(cells []*Cell) {
	count := map[string]int{}
	for _, c := range cells {
		count[strings.ToLower(c.DirName)]++
	}
	for _, c := range cells {
		if count[strings.ToLower(c.DirName)] > 1 || !fitsFolder(c.DirName) {
			c.DirName = ownFolder(c)
		}
	}
}

// fitsFolder reports whether a folder of a result directory may have the name.
func fitsFolder(name string) bool {
	return FolderName(name) == name && !slices.Contains(reserved[:], strings.ToLower(name))
}

// ownFolder is a name that no other cell has.
func ownFolder(c *Cell) string {
	return cut(FolderName(c.DirName), maxName-2-len(c.ID)) + "__" + c.ID
}
