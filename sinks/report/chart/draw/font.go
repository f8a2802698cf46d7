package draw

import (
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// fonts are parsed once: regular and bold.
var fonts = sync.OnceValue(func() [2]*opentype.Font {
	var out [2]*opentype.Font
	for i, data := range [][]byte{goregular.TTF, gobold.TTF} {
		f, err := opentype.Parse(data)
		if err != nil {
			panic(err) // they are part of the program
		}
		out[i] = f
	}
	return out
})

// face is a font at a size in pixels. Faces are not for concurrent use.
func face(size float64, bold bool) font.Face {
	i := 0
	if bold {
		i = 1
	}
	f, err := opentype.NewFace(fonts()[i], &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic(err)
	}
	return f
}

// ruler measures text. It remembers its faces.
type ruler struct{ faces map[[2]int]font.Face }

func newRuler() *ruler { return &ruler{map[[2]int]font.Face{}} }

func (r *ruler) face(size float64, bold bool) font.Face {
	key := [2]int{int(size * 64), 0}
	if bold {
		key[1] = 1
	}
	if r.faces[key] == nil {
		r.faces[key] = face(size, bold)
	}
	return r.faces[key]
}

// wide is how much wider than the Go fonts those of a reader's machine may be:
// an SVG is set in what is there.
const wide = 1.12

// room is the width of s in any font.
func (r *ruler) room(s string, size float64, bold bool) float64 { return wide * r.width(s, size, bold) }

// width of s in pixels, in our fonts.
func (r *ruler) width(s string, size float64, bold bool) float64 {
	var w fixed.Int26_6
	f := r.face(size, bold)
	for _, c := range s {
		a, ok := f.GlyphAdvance(c)
		if !ok {
			a = fixed.Int26_6(size * 64 * 0.6)
		}
		w += a
	}
	return float64(w) / 64
}

// wrap breaks s into lines of at most width pixels, at spaces.
func (r *ruler) wrap(s string, size float64, bold bool, width float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(strings.ReplaceAll(s, Break, "\x00· ")) { // no line begins with a dot
		word = strings.ReplaceAll(word, "\x00", " ")
		if next := strings.TrimSpace(line + " " + word); line == "" || r.room(next, size, bold) <= width {
			line = next
			continue
		}
		lines = append(lines, line)
		line = word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// cut shortens s to width pixels.
func (r *ruler) cut(s string, size, width float64) string {
	if r.room(s, size, false) <= width {
		return s
	}
	runes := []rune(s)
	for n := len(runes) - 1; n > 0; n-- {
		if c := string(runes[:n]) + "…"; r.room(c, size, false) <= width {
			return c
		}
	}
	return "…"
}

// middle is cut for names that may differ at either end: the middle goes.
func (r *ruler) middle(s string, size, width float64) string {
	if r.room(s, size, false) <= width {
		return s
	}
	runes := []rune(s)
	for n := len(runes) - 1; n > 1; n-- {
		if c := string(runes[:n-n/2]) + "…" + string(runes[len(runes)-n/2:]); r.room(c, size, false) <= width {
			return c
		}
	}
	return "…"
}
