package draw

import (
	"strings"

	"aiperf.dev/aiperf/internal/atomicfile"
)

// FileName keeps a chart's name to what every file system takes.
func FileName(id string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
}

// Write draws c into a file whose name says the format: .svg, otherwise PNG.
func Write(path string, c *Chart, t Theme) error {
	size := SizeOf(c)
	if strings.HasSuffix(path, ".svg") {
		return atomicfile.Write(path, SVG(c, size, t))
	}
	b, err := PNG(c, size, t)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, b)
}
