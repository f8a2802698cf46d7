package draw

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"

	clean "aiperf.dev/aiperf/internal/words"
)

// SVG is c as a document of its own, in the colours of a theme.
func SVG(c *Chart, size Size, t Theme) []byte {
	var b bytes.Buffer
	svg(&b, c, size, "<style>"+Style(t)+"</style>")
	return b.Bytes()
}

// Inline is c for a page that has Style, or other colours for its classes.
func Inline(c *Chart, size Size) []byte {
	var b bytes.Buffer
	svg(&b, c, size, "")
	return b.Bytes()
}

// Style gives the classes of a chart their colours: f-INK fills, s-INK strokes.
func Style(t Theme) string {
	var b strings.Builder
	for _, ink := range Inks() {
		c := t[ink]
		fmt.Fprintf(&b, ".f-%s{fill:#%02x%02x%02x}.s-%s{stroke:#%02x%02x%02x}", ink, c.R, c.G, c.B, ink, c.R, c.G, c.B)
	}
	return b.String() + StyleShapes
}

// StyleShapes is what all themes share.
const StyleShapes = `.chart{font-size:11px}.chart .m{text-anchor:middle}.chart .e{text-anchor:end}.chart text{font-family:"Go",system-ui,"Segoe UI","Liberation Sans",Arial,sans-serif}.chart .n{fill:none;stroke-linejoin:round;stroke-linecap:round}`

// Variables is the style of inline charts: each ink is a CSS variable
// --chart-INK, which the page sets for light, dark and print.
func Variables() string {
	var b strings.Builder
	for _, ink := range Inks() {
		fmt.Fprintf(&b, ".f-%s{fill:var(--chart-%s)}.s-%s{stroke:var(--chart-%s)}", ink, ink, ink, ink)
	}
	return b.String() + StyleShapes
}

// ThemeVariables sets the variables to the colours of t.
func ThemeVariables(t Theme) string {
	var b strings.Builder
	for _, ink := range Inks() {
		c := t[ink]
		fmt.Fprintf(&b, "--chart-%s:#%02x%02x%02x;", ink, c.R, c.G, c.B)
	}
	return b.String()
}

func svg(b *bytes.Buffer, c *Chart, size Size, style string) {
	w, h := num(size.W), num(size.H)
	shapes := place(c, size)
	role := "img"
	if slices.ContainsFunc(shapes, func(s shape) bool { return s.link != "" }) {
		role = "group" // an image has nothing in it that can be followed
	}
	space := "" // which HTML knows
	if style != "" {
		space = ` xmlns="http://www.w3.org/2000/svg"`
	}
	fmt.Fprintf(b, `<svg%s class="chart f-muted" viewBox="0 0 %s %s" width="%s" height="%s" role="%s" aria-label="%s">`,
		space, w, h, w, h, role, esc(c.Title+". "+c.Question))
	b.WriteString(style)
	clips := clipPaths(b, c, shapes)
	if style == "" {
		shapes = shapes[1:] // the page itself is the paper
	}
	for i := 0; i < len(shapes); {
		n := alike(shapes[i:])
		if n > 2 {
			groupSVG(b, shapes[i:i+n], clips)
		} else {
			n = same(shapes[i:])
			paintSVG(b, shapes[i:i+n], clips)
		}
		i += n
	}
	b.WriteString("</svg>\n")
}

// clipPaths declares each panel's edge once and gives its name.
func clipPaths(b *bytes.Buffer, c *Chart, shapes []shape) map[box]string {
	names := map[box]string{}
	for i := range shapes {
		k := shapes[i].clip
		if k == nil || names[*k] != "" {
			continue
		}
		name := fmt.Sprintf("clip-%s-%d", c.ID, len(names))
		names[*k] = name
		fmt.Fprintf(b, `<clipPath id="%s"><rect x="%s" y="%s" width="%s" height="%s"/></clipPath>`,
			esc(name), num(k.x0), num(k.y0), num(k.w()), num(k.h()))
	}
	return names
}

// alike is how many of the first shapes are areas that differ in nothing but
// place, shade and title: the cells of a heat map, the bars of a timeline.
func alike(shapes []shape) int {
	a := &shapes[0]
	if a.kind != areaKind || a.link != "" || a.stroke != "" || a.clip == nil {
		return 1
	}
	n := 1
	for n < len(shapes) {
		s := &shapes[n]
		if s.kind != areaKind || s.link != "" || s.stroke != "" || s.clip == nil || *s.clip != *a.clip ||
			s.fill != a.fill || s.series != a.series || s.dash != a.dash {
			break
		}
		n++
	}
	return n
}

// same is how many of the first shapes differ in nothing but place, and say nothing: the
// lines of a grid, the parts of a whisker, the signs of a narrow chart. They are one path.
func same(shapes []shape) int {
	a := &shapes[0]
	n := 1
	for a.kind != textKind && a.title == "" && a.link == "" && n < len(shapes) {
		s := &shapes[n]
		sameClip := s.clip == a.clip || s.clip != nil && a.clip != nil && *s.clip == *a.clip
		if s.kind != a.kind || s.title != "" || s.link != "" || s.fill != a.fill || s.stroke != a.stroke ||
			s.shade != a.shade || s.width != a.width || s.dash != a.dash || s.series != a.series || !sameClip {
			break
		}
		n++
	}
	return n
}

// groupSVG says once what shapes have in common. Those that nothing is said of are one
// path for each shade: they do not lie on each other.
func groupSVG(b *bytes.Buffer, shapes []shape, clips map[box]string) {
	if !slices.ContainsFunc(shapes, func(s shape) bool { return s.title != "" }) {
		slices.SortStableFunc(shapes, func(a, b shape) int { return cmp.Compare(a.shade, b.shade) })
	}
	fmt.Fprintf(b, `<g clip-path="url(#%s)" class="f-%s"`, esc(clips[*shapes[0].clip]), shapes[0].fill)
	if n := shapes[0].series; n > 0 {
		fmt.Fprintf(b, ` data-s="%d"`, n)
	}
	b.WriteByte('>')
	for len(shapes) > 0 {
		s := &shapes[0]
		n := 1
		for s.title == "" && n < len(shapes) && shapes[n].title == "" && shapes[n].shade == s.shade {
			n++
		}
		b.WriteString(`<path d="`)
		for i := range shapes[:n] {
			pathData(b, &shapes[i])
		}
		b.WriteByte('"')
		if s.shade > 0 && s.shade < 1 {
			fmt.Fprintf(b, ` fill-opacity="%s"`, strconv.FormatFloat(s.shade, 'f', 2, 64))
		}
		if s.title == "" {
			b.WriteString("/>")
		} else {
			fmt.Fprintf(b, `><title>%s</title></path>`, esc(s.title))
		}
		shapes = shapes[n:]
	}
	b.WriteString("</g>")
}

// paintSVG paints a shape, or several that are the same as one.
func paintSVG(b *bytes.Buffer, shapes []shape, clips map[box]string) {
	s := &shapes[0]
	if s.link != "" {
		fmt.Fprintf(b, `<a href="%s">`, esc(s.link))
		defer b.WriteString("</a>")
	}
	if s.kind == textKind {
		textSVG(b, s)
		return
	}
	b.WriteString(`<path d="`)
	for i := range shapes {
		pathData(b, &shapes[i])
	}
	b.WriteString(`"`)
	class := "n"
	if s.fill != "" {
		class = "f-" + string(s.fill)
	}
	if s.stroke != "" {
		class += " s-" + string(s.stroke)
		if s.width != 1 { // which is usual
			fmt.Fprintf(b, ` stroke-width="%s"`, num(s.width))
		}
	}
	if pattern := dashPatterns[s.dash]; pattern != nil {
		b.WriteString(` stroke-dasharray="` + strings.Trim(fmt.Sprint(pattern), "[]") + `"`)
	}
	if s.shade > 0 && s.shade < 1 {
		fmt.Fprintf(b, ` fill-opacity="%s"`, num(s.shade))
	}
	if s.clip != nil {
		fmt.Fprintf(b, ` clip-path="url(#%s)"`, esc(clips[*s.clip]))
	}
	if s.series > 0 {
		fmt.Fprintf(b, ` data-s="%d"`, s.series)
	}
	fmt.Fprintf(b, ` class="%s"`, class)
	if s.title == "" {
		b.WriteString("/>")
		return
	}
	fmt.Fprintf(b, `><title>%s</title></path>`, esc(s.title))
}

func pathData(b *bytes.Buffer, s *shape) {
	if r := num(s.round); s.round > 0 { // two halves, in a quarter of the bytes of its points
		d := num(2 * s.round)
		fmt.Fprintf(b, "M%s %sa%s %s 0 1 1-%s 0a%s %s 0 1 1 %s 0Z", num(s.points[0].x), num(s.points[0].y), r, r, d, r,
			r, d)
		return
	}
	lastX, lastY := "", ""
	for i, p := range s.points {
		x, y := num(p.x), num(p.y)
		switch {
		case i > 0 && y == lastY:
			b.WriteString("H" + x)
		case i > 0 && x == lastX:
			b.WriteString("V" + y)
		default:
			b.WriteString("ML"[min(i, 1):min(i, 1)+1] + x + " " + y)
		}
		lastX, lastY = x, y
	}
	if s.kind == areaKind {
		b.WriteByte('Z')
	}
}

func textSVG(b *bytes.Buffer, s *shape) {
	p := s.points[0]
	var classes []string
	if s.fill != Muted { // which is the ink of the chart
		classes = append(classes, "f-"+string(s.fill))
	}
	if s.anchor != "start" {
		classes = append(classes, s.anchor[:1])
	}
	fmt.Fprintf(b, `<text x="%.0f" y="%.0f"`, p.x, p.y)
	if len(classes) > 0 {
		fmt.Fprintf(b, ` class="%s"`, strings.Join(classes, " "))
	}
	if s.size != smallSize { // which is that of the chart
		fmt.Fprintf(b, ` font-size="%s"`, num(s.size))
	}
	if s.bold {
		b.WriteString(` font-weight="700"`)
	}
	if s.turned {
		fmt.Fprintf(b, ` transform="rotate(-90 %s %s)"`, num(p.x), num(p.y))
	}
	if s.series > 0 {
		fmt.Fprintf(b, ` data-s="%d"`, s.series)
	}
	fmt.Fprintf(b, `>%s</text>`, esc(s.text))
}

// num is a coordinate: a tenth of a pixel is enough.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0")
}

// esc makes text harmless in SVG and HTML.
func esc(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(clean.Clean(s))) // a buffer takes everything
	return b.String()
}
