package draw

import (
	"math"
	"strings"
)

// Break parts a name into lines.
const Break = " · "

// under is what stands below a panel.
type under struct {
	labels [][]string // the lines of each tick's label; none for a tick without one
	lines  int        // the most of them
	groups []group
	height float64
}

// group is a stretch of ticks that have a part of their names in common.
type group struct {
	from, to float64 // along the axis
	lines    []string
}

// below places the words under the panel, which is so wide. bare is a panel above
// another one of the same axis: that one has the words.
func (p *panel) below(width float64, bare bool) under {
	if bare {
		return under{height: smallSize + gap}
	}
	u := under{labels: make([][]string, len(p.x.ticks))}
	if p.p.X.Names {
		p.names(&u, width/(p.x.hi-p.x.lo))
	} else {
		p.places(&u, width)
	}
	deepest := 0
	for _, lines := range u.labels {
		u.lines = max(u.lines, len(lines))
	}
	for _, g := range u.groups {
		deepest = max(deepest, len(g.lines))
	}
	u.height = float64(u.lines+deepest)*(smallSize+2) + 2*gap
	if deepest > 0 {
		u.height += gap
	}
	if p.p.X.Label != "" {
		u.height += labelSize + gap
	}
	return u
}

// places are numbers along a scale, without those that would touch the one before.
func (p *panel) places(u *under, width float64) {
	last := math.Inf(-1)
	for i, t := range p.x.ticks {
		w := p.room(t.Label, smallSize, false)
		if x := min(p.x.at(t.At)*width, width+rightMost-w/2); p.x.holds(t.At) && x-w/2 >= last+4 {
			u.labels[i], last = []string{t.Label}, x+w/2
		}
	}
}

// rightMost is how many pixels the words below a panel may stand out at its right.
const rightMost = edge + gap - 2

// linesMost is how many lines a name may have.
const linesMost = 3

// names are things one beside the other, each with so much room. A name has several
// lines before it is left out; what it has in common with its neighbours stands
// below all of them.
func (p *panel) names(u *under, room float64) {
	every := 1
	for ; every < len(p.x.ticks); every++ {
		if p.fit(room*float64(every) - 6) {
			break
		}
	}
	for i := 0; i < len(p.x.ticks); i += every {
		u.labels[i] = p.folded(p.x.ticks[i].Label, room*float64(every)-6)
	}
	for i := 0; i < len(p.x.ticks); {
		n := i + 1
		for n < len(p.x.ticks) && p.x.ticks[n].Group == p.x.ticks[i].Group {
			n++
		}
		if name := p.x.ticks[i].Group; name != "" {
			g := group{from: p.x.ticks[i].At - 0.5, to: p.x.ticks[n-1].At + 0.5}
			for part := range strings.SplitSeq(name, Break) {
				g.lines = append(g.lines, p.folded(part, room*float64(n-i)-8)...)
			}
			u.groups = append(u.groups, g)
		}
		i = n
	}
}

// fit reports whether each name has place in so much room.
func (p *panel) fit(room float64) bool {
	for _, t := range p.x.ticks {
		lines := p.pieces(t.Label, room)
		if len(lines) > linesMost {
			return false
		}
		for _, l := range lines {
			if p.room(l, smallSize, false) > room {
				return false
			}
		}
	}
	return true
}

// folded is a name in lines of at most so much room; what is longer loses its middle.
func (p *panel) folded(name string, room float64) []string {
	lines := p.pieces(name, room)
	lines = lines[:min(len(lines), linesMost)]
	for i := range lines {
		lines[i] = p.middle(lines[i], smallSize, room)
	}
	return lines
}

// pieces folds a name at its spaces, and behind the signs that part addresses and paths.
func (p *panel) pieces(name string, room float64) (lines []string) {
	for part := range strings.SplitSeq(name, Break) {
		line := ""
		for _, word := range strings.FieldsFunc(strings.NewReplacer(" ", " \x00", "/", "/\x00", "?", "?\x00", "&",
			"&\x00", "-", "-\x00", "_", "_\x00").Replace(part), func(r rune) bool { return r == 0 }) {
			if line != "" && p.room(strings.TrimSpace(line+word), smallSize, false) > room {
				lines, line = append(lines, strings.TrimSpace(line)), ""
			}
			line += word
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

// xTicks draws what below placed.
func (p *panel) xTicks() {
	const step = smallSize + 2
	if p.u.labels == nil {
		return
	}
	for i, t := range p.x.ticks {
		if x := p.px(t.At); p.x.holds(t.At) && p.u.labels[i] != nil {
			p.add(line(Muted, 1, xy{x, p.b.y1}, xy{x, p.b.y1 + 4}))
		}
	}
	for i, t := range p.x.ticks {
		if !p.x.holds(t.At) {
			continue
		}
		for k, label := range p.u.labels[i] {
			x := p.px(t.At)
			if !p.p.X.Names {
				x = min(x, p.b.x1+rightMost-p.room(label, smallSize, false)/2)
			}
			p.add(words(label, Muted, smallSize, x, p.b.y1+smallSize+gap+float64(k)*step, "middle"))
		}
	}
	top := p.b.y1 + float64(p.u.lines)*step + gap
	for _, g := range p.u.groups {
		from, to := p.px(g.from)+4, p.px(g.to)-4
		p.add(line(Muted, 1, xy{from, top + 3}, xy{to, top + 3}))
		for k, text := range g.lines {
			p.add(words(text, Muted, smallSize, (from+to)/2, top+gap+smallSize+float64(k)*step, "middle"))
		}
	}
}
