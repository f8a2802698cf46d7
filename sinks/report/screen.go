package report

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"aiperf.dev/aiperf/internal/words"
)

// screen is a region of a few lines at the bottom of a terminal that is drawn
// again and again. The cursor rests at the end of its last line.
type screen struct {
	w      io.Writer
	width  func() int // columns, asked at each drawing: the window may change
	colour bool
	ascii  bool  // the terminal shows nothing else
	drawn  []int // columns of the lines that stand there
}

// newScreen is nil where w is no terminal that can be drawn on.
func newScreen(w io.Writer) *screen {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	width := func() int {
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
			return cols
		}
		return 80
	}
	return &screen{w: w, width: width, colour: os.Getenv("NO_COLOR") == "", ascii: words.ASCIITerminal(os.Getenv)}
}

// draw replaces what stands there, in one write, each line cut to the window.
func (s *screen) draw(lines []string) {
	cols := s.width()
	var b strings.Builder
	b.WriteString(s.wipe(cols))
	s.drawn = s.drawn[:0]
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		l = s.plain(words.Cut(l, cols-1)) // a full line would make some terminals wrap
		s.drawn = append(s.drawn, words.Width(l))
		b.WriteString(s.paint(l))
	}
	_, _ = io.WriteString(s.w, b.String()) // what cannot be shown is not missed
}

// say puts a line above the region, for good.
func (s *screen) say(line string) {
	text := s.wipe(s.width()) + s.plain(line) + "\n"
	s.drawn = s.drawn[:0]
	_, _ = io.WriteString(s.w, text)
}

// plain is a line as the terminal can show it.
func (s *screen) plain(line string) string {
	if s.ascii {
		return words.ASCII(line)
	}
	return line
}

// clear leaves nothing behind.
func (s *screen) clear() {
	text := s.wipe(s.width())
	s.drawn = s.drawn[:0]
	_, _ = io.WriteString(s.w, text)
}

// wipe goes to the region's first column and empties it. In a window that has
// become narrower its lines have been wrapped and take more rows.
func (s *screen) wipe(cols int) string {
	rows := 0
	for _, n := range s.drawn {
		rows += max(1, (n+cols-1)/cols)
	}
	if rows > 1 {
		return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows-1)
	}
	return "\r\x1b[J"
}

// paint makes failures red.
func (s *screen) paint(line string) string {
	const word = "errors "
	i := strings.Index(line, word)
	if !s.colour || i < 0 || strings.HasPrefix(line[i+len(word):], "0") {
		return line
	}
	end := i + len(word)
	for end < len(line) && line[end] != ' ' {
		end++
	}
	return line[:i] + "\x1b[31m" + line[i:end] + "\x1b[0m" + line[end:]
}

// spark is the last values of a quantity, drawn small.
type spark struct{ last []float64 }

// sparks are how many are kept.
const sparks = 8

func (s *spark) add(v float64) {
	if v != v {
		return
	}
	if s.last = append(s.last, v); len(s.last) > sparks {
		s.last = s.last[1:]
	}
}

// latest is the last n of them.
func (s *spark) latest(n int) spark {
	return spark{s.last[max(0, len(s.last)-n):]}
}

// String draws them between 0.8 and 1.25 of their range's ends, so that noise
// does not look like mountains.
func (s *spark) String() string {
	if len(s.last) == 0 {
		return ""
	}
	low, high := s.last[0], s.last[0]
	for _, v := range s.last {
		low, high = min(low, v), max(high, v)
	}
	low, high = 0.8*low, 1.25*high
	steps := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range s.last {
		i := 0
		if high > low {
			i = int((v - low) / (high - low) * float64(len(steps)))
		}
		b.WriteRune(steps[min(max(i, 0), len(steps)-1)])
	}
	return b.String()
}
