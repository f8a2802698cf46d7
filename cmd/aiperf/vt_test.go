package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// vt is the screen of a terminal, as far as this program and a shell draw on it:
// moves of the cursor, erasing, scrolling, the alternate screen, wide characters.
// Colours are read over. What it does not know is kept in strange.
type vt struct {
	main, alternate grid
	modes           map[int]bool // of DEC, that were switched on or off
	insert          bool         // characters push those behind them
	last            rune         // the character before, which can be repeated
	rest            []byte       // the beginning of a sequence, or of a character
	strange         []string     // sequences that no terminal test knows, quoted
}

// grid is one of the two screens.
type grid struct {
	columns, rows int
	cells         [][]string // by row; "" is the right half of a wide character
	past          []string   // lines that were scrolled off the top
	x, y          int
	wraps         bool // the next character goes to the next line
	top, bottom   int  // rows that scroll; bottom is behind the last
	saved         [2]int
}

func newVT(columns, rows int) *vt {
	v := &vt{modes: map[int]bool{}}
	v.size(columns, rows)
	return v
}

// size makes the window larger or smaller at its right and lower edges.
func (v *vt) size(columns, rows int) {
	v.main.size(columns, rows)
	v.alternate.size(columns, rows)
}

func (g *grid) size(columns, rows int) {
	cells := make([][]string, rows)
	for y := range cells {
		cells[y] = slices.Repeat([]string{" "}, columns)
		if y < len(g.cells) {
			copy(cells[y], g.cells[y])
		}
	}
	g.columns, g.rows, g.cells, g.top, g.bottom = columns, rows, cells, 0, rows
	g.move(g.x, g.y)
}

// on is the screen that is seen.
func (v *vt) on() *grid {
	if v.modes[1049] {
		return &v.alternate
	}
	return &v.main
}

// lines are what is seen, without blanks at the ends of lines.
func (v *vt) lines() []string {
	g := v.on()
	out := make([]string, g.rows)
	for y, row := range g.cells {
		out[y] = strings.TrimRight(strings.Join(row, ""), " ")
	}
	return out
}

func (v *vt) String() string { return strings.Join(v.lines(), "\n") }

// shows reports whether words stand in a line of what is seen.
func (v *vt) shows(words string) bool {
	return slices.ContainsFunc(v.lines(), func(l string) bool { return strings.Contains(l, words) })
}

func (v *vt) Write(b []byte) (int, error) {
	n := len(b)
	b = append(v.rest, b...)
	for len(b) > 0 {
		used := v.step(b)
		if used == 0 {
			break
		}
		b = b[used:]
	}
	v.rest = slices.Clone(b)
	return n, nil
}

// step takes what stands first in b, and says how long it is; 0: it is not whole.
func (v *vt) step(b []byte) int {
	switch {
	case b[0] == 0x1b:
		return v.escape(b)
	case b[0] < 0x20 || b[0] == 0x7f:
		v.control(b[0])
		return 1
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError && n == 1 {
		v.odd(b[:1])
	}
	v.last = r
	v.put(r)
	return n
}

func (v *vt) control(c byte) {
	g := v.on()
	switch c {
	case '\a':
	case '\b':
		g.move(g.x-1, g.y)
	case '\t':
		g.move((g.x/8+1)*8, g.y)
	case '\n', '\v', '\f':
		g.down()
	case '\r':
		g.move(0, g.y)
	default:
		v.odd([]byte{c})
	}
}

// escape takes a sequence that begins with ESC.
func (v *vt) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	g := v.on()
	switch b[1] {
	case '[':
		end := slices.IndexFunc(b[2:], func(c byte) bool { return c >= 0x40 && c <= 0x7e })
		if end < 0 {
			return 0
		}
		if n := end + 3; !v.csi(string(b[2:n-1]), b[n-1]) {
			v.odd(b[:n])
		}
		return end + 3
	case ']', 'P':
		text, long := string(b[2:]), 0
		bell, st := strings.IndexByte(text, '\a'), strings.Index(text, "\x1b\\")
		switch {
		case bell >= 0 && b[1] == ']' && (st < 0 || bell < st):
			text, long = text[:bell], bell+3
		case st >= 0:
			text, long = text[:st], st+4
		default:
			return 0
		}
		number, _, _ := strings.Cut(text, ";")
		title, link, asks := "2", "8", strings.HasPrefix(text, "+q")
		if known := b[1] == ']' && (number == title || number == link) || b[1] == 'P' && asks; !known {
			v.odd(b[:long])
		}
		return long
	case '7':
		g.saved = [2]int{g.x, g.y}
	case '8':
		g.move(g.saved[0], g.saved[1])
	case 'M':
		if g.y == g.top {
			g.scroll(g.top, -1)
		} else {
			g.move(g.x, g.y-1)
		}
	default:
		v.odd(b[:2])
	}
	return 2
}

// csi does ESC [ args final, and says whether it knows it.
func (v *vt) csi(args string, final byte) bool {
	if strings.HasPrefix(args, "?") && (final == 'h' || final == 'l') {
		return v.mode(args[1:], final == 'h')
	}
	if strings.Trim(args, "0123456789;:") != "" {
		switch string(final) + strings.TrimLeft(args, "0123456789;") {
		case "W?5", "m>4;2", "m>4", "m>4;0", "u?", "u<", "q>", "q>0", "q ": // tabs every 8 columns, kinds of keys, questions, the cursor's shape
			return true
		}
		return final == 'u' && strings.ContainsAny(args[:1], "<>=") || final == 'p' && strings.HasSuffix(args, "$")
	}
	var n []int
	for _, a := range strings.Split(args, ";") {
		k, _ := strconv.Atoi(a) // "" is the usual one
		n = append(n, k)
	}
	one := max(n[0], 1)
	second := 1
	if len(n) > 1 {
		second = max(n[1], 1)
	}
	g := v.on()
	switch final {
	case 'A':
		g.move(g.x, g.y-one)
	case 'B':
		g.move(g.x, g.y+one)
	case 'C':
		g.move(g.x+one, g.y)
	case 'D':
		g.move(g.x-one, g.y)
	case 'E':
		g.move(0, g.y+one)
	case 'F':
		g.move(0, g.y-one)
	case 'G', '`':
		g.move(one-1, g.y)
	case 'I':
		g.move((g.x/8+one)*8, g.y)
	case 'Z':
		g.move(((g.x+7)/8-one)*8, g.y)
	case 'd':
		g.move(g.x, one-1)
	case 'H', 'f':
		g.move(second-1, one-1)
	case 'J':
		return g.erase(n[0])
	case 'K':
		return g.eraseLine(n[0])
	case 'X':
		g.blank(g.y, g.x, g.x+one)
	case '@':
		g.push(one)
	case 'P':
		g.pull(one)
	case 'L':
		g.scroll(g.y, -one)
	case 'M':
		g.scroll(g.y, one)
	case 'S':
		g.scroll(g.top, one)
	case 'T':
		g.scroll(g.top, -one)
	case 'b':
		for range one {
			v.put(v.last)
		}
	case 'r':
		g.top, g.bottom = one-1, g.rows
		if len(n) > 1 && n[1] > 0 {
			g.bottom = min(n[1], g.rows)
		}
		g.move(0, 0)
	case 'h', 'l':
		v.insert = final == 'h'
		return args == "4"
	case 'm', 'c', 'n': // colours; questions
	default:
		return false
	}
	return true
}

// drawn are the modes of DEC that a program may switch: wrapping, the cursor, the
// mouse and its kinds, focus, the alternate screen, pasting, output held back,
// widths of characters.
var drawn = []int{7, 25, 1000, 1002, 1003, 1004, 1006, 1049, 2004, 2026, 2027}

func (v *vt) mode(args string, on bool) bool {
	for _, a := range strings.Split(args, ";") {
		n, err := strconv.Atoi(a)
		if err != nil || !slices.Contains(drawn, n) {
			return false
		}
		if n == 1049 && on && !v.modes[n] {
			v.alternate = grid{x: v.main.x, y: v.main.y}
			v.alternate.size(v.main.columns, v.main.rows)
		}
		v.modes[n] = on
	}
	return true
}

// left are the modes that are not as they were: the cursor is shown and lines wrap
// where nobody has changed it, all else is off.
func (v *vt) left() (out []string) {
	for mode, on := range v.modes {
		if on != (mode == 25 || mode == 7) {
			out = append(out, fmt.Sprintf("mode %d on: %v", mode, on))
		}
	}
	slices.Sort(out)
	return out
}

func (v *vt) odd(b []byte) { v.strange = append(v.strange, strconv.Quote(string(b))) }

// columnsOf is how wide a character is drawn.
func columnsOf(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	if k := width.LookupRune(r).Kind(); k == width.EastAsianWide || k == width.EastAsianFullwidth {
		return 2
	}
	return 1
}

// put writes a character where the cursor is.
func (v *vt) put(r rune) {
	g := v.on()
	wide := columnsOf(r)
	if wide == 0 {
		if at := g.x - 1; g.wraps || at >= 0 {
			if g.wraps {
				at = g.columns - 1
			}
			if at > 0 && g.cells[g.y][at] == "" {
				at--
			}
			g.cells[g.y][at] += string(r)
		}
		return
	}
	if g.wraps || g.x+wide > g.columns {
		g.x = 0
		g.down()
	}
	if v.insert {
		g.push(wide)
	}
	g.blank(g.y, g.x, g.x+wide)
	g.cells[g.y][g.x] = string(r)
	if wide == 2 && g.x+1 < g.columns {
		g.cells[g.y][g.x+1] = ""
	}
	if g.x += wide; g.x >= g.columns {
		g.x, g.wraps = g.columns-1, true
	}
}

// move puts the cursor somewhere inside the window.
func (g *grid) move(x, y int) {
	g.x, g.y, g.wraps = min(max(x, 0), g.columns-1), min(max(y, 0), g.rows-1), false
}

// down goes to the next line; at the lower edge, all lines go up.
func (g *grid) down() {
	if g.wraps = false; g.y == g.bottom-1 {
		g.scroll(g.top, 1)
	} else {
		g.move(g.x, g.y+1)
	}
}

// blank clears the cells from a up to b of a row, and the halves of wide characters
// that stand over the edge.
func (g *grid) blank(y, a, b int) {
	row := g.cells[y]
	a, b = min(max(a, 0), g.columns), min(b, g.columns)
	if a < b && row[a] == "" && a > 0 {
		row[a-1] = " "
	}
	if b < g.columns && row[b] == "" {
		row[b] = " "
	}
	for x := a; x < b; x++ {
		row[x] = " "
	}
}

func (g *grid) erase(what int) bool {
	from, to := 0, g.rows
	switch what {
	case 0:
		g.blank(g.y, g.x, g.columns)
		from = g.y + 1
	case 1:
		g.blank(g.y, 0, g.x+1)
		to = g.y
	case 2:
	default:
		return false
	}
	for y := from; y < to; y++ {
		g.blank(y, 0, g.columns)
	}
	return true
}

func (g *grid) eraseLine(what int) bool {
	switch what {
	case 0:
		g.blank(g.y, g.x, g.columns)
	case 1:
		g.blank(g.y, 0, g.x+1)
	case 2:
		g.blank(g.y, 0, g.columns)
	default:
		return false
	}
	return true
}

// push moves what stands at the cursor and behind it n columns to the right, pull
// to the left.
func (g *grid) push(n int) {
	row := g.cells[g.y]
	copy(row[min(g.x+n, g.columns):], slices.Clone(row[g.x:]))
	g.blank(g.y, g.x, g.x+n)
}

func (g *grid) pull(n int) {
	row := g.cells[g.y]
	kept := copy(row[g.x:], slices.Clone(row[min(g.x+n, g.columns):]))
	g.blank(g.y, g.x+kept, g.columns)
}

// scroll moves the rows from one of them to the end of those that scroll n up, or
// −n down.
func (g *grid) scroll(from, n int) {
	for ; n > 0; n-- {
		if from == 0 && g.bottom == g.rows {
			g.past = append(g.past, strings.TrimRight(strings.Join(g.cells[0], ""), " "))
		}
		row := g.cells[from]
		copy(g.cells[from:g.bottom], g.cells[from+1:g.bottom])
		g.cells[g.bottom-1] = row
		g.blank(g.bottom-1, 0, g.columns)
	}
	for ; n < 0; n++ {
		row := g.cells[g.bottom-1]
		copy(g.cells[from+1:g.bottom], g.cells[from:g.bottom-1])
		g.cells[from] = row
		g.blank(from, 0, g.columns)
	}
}

// The screen that terminal tests look at is a terminal's.
func TestVT(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, in, want string }{
		{"lines", "a\r\nbc", "a|bc||"},
		{"no carriage return", "a\nbc", "a| bc||"},
		{"wrapping", "0123456789ab", "0123456789|ab||"},
		{"the last column", "0123456789\r\nab", "0123456789|ab||"},
		{"scrolling", "1\r\n2\r\n3\r\n4\r\n5", "2|3|4|5"},
		{"a place", "\x1b[2;3Hx\x1b[Hy\x1b[4dz", "y|  x|| z"},
		{"steps", "abc\x1b[2Dx\x1b[By\x1b[Az\x1b[3GC\x1b[6GC", "axCz C|  y||"},
		{"beyond the edges", "\x1b[99;99Hx\x1b[99D\x1b[99Ay", "y|||         x"},
		{"erasing", "0123456789\x1b[1;4H\x1b[K\r\nabcdefg\x1b[4D\x1b[1K\x1b[3;1Hxyz\x1b[2K", "012|    efg||"},
		{"erasing a screen", "ab\r\ncd\r\nef\x1b[2;2H\x1b[J", "ab|c||"},
		{"characters", "abcdef\x1b[1;2H\x1b[2Xx\x1b[2P\x1b[@y", "axyef|||"},
		{"lines in between", "1\r\n2\r\n3\x1b[2;1H\x1b[L-\x1b[1;1H\x1b[M", "-|2|3|"},
		{"margins", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[S\x1b[r", "1|3||4"},
		{"backwards", "1\r\n2\x1b[H\x1bM0", "0|1|2|"},
		{"wide", "日本語x", "日本語x|||"},
		{"wide at the edge", "012345678日", "012345678|日||"},
		{"half of a wide one", "日本\x1b[1;2Hx", " x本|||"},
		{"the other half", "日本\x1b[1;3Hx", "日x|||"},
		{"combining", "e\u0301x", "e\u0301x|||"},
		{"repeated", "-\x1b[4bx", "-----x|||"},
		{"colours", "\x1b[1;38;5;3ma\x1b[mb", "ab|||"},
		{"two screens", "main\x1b[?1049h\x1b[Hother\x1b[?1049lx", "mainx|||"},
		{"the other screen", "main\x1b[?1049h\x1b[Hother", "other|||"},
		{"tabs", "a\tb\x1b[Zc", "a       c|||"},
		{"titles", "\x1b]2;name\aa\x1b]8;;\x1b\\b", "ab|||"},
	} {
		v := newVT(10, 4)
		for _, b := range []byte(c.in) { // sequences come in pieces
			_, _ = v.Write([]byte{b})
		}
		if got := strings.Join(v.lines(), "|"); got != c.want || v.strange != nil {
			t.Errorf("%s: %q shows %q, want %q; strange: %v", c.what, c.in, got, c.want, v.strange)
		}
	}
	v := newVT(10, 4)
	_, _ = v.Write([]byte("a\x1b[5ib\x1b]52;c;eA==\a\x1b[?47h\x1bZ\x0e"))
	if want := []string{`"\x1b[5i"`, `"\x1b]52;c;eA==\a"`, `"\x1b[?47h"`, `"\x1bZ"`, `"\x0e"`}; !slices.Equal(v.strange,
		want) {
		t.Errorf("strange are %v, want %v", v.strange, want)
	}
	_, _ = v.Write([]byte("\x1b[?25l\x1b[?1049h\x1b[?2004h\x1b[?2004l"))
	if got := v.left(); !slices.Equal(got, []string{"mode 1049 on: true", "mode 25 on: false"}) {
		t.Errorf("left are %v", got)
	}
	v.size(4, 2)
	_, _ = v.Write([]byte("\x1b[Hlonger\x1b[2;9Hx"))
	if got := v.String(); got != "long\ner x" {
		t.Errorf("a small window shows %q", got)
	}
}
