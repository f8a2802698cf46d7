package draw

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	stddraw "image/draw"
	"image/png"
	"math"
	"slices"

	"golang.org/x/image/font"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// pixels per unit of a chart's size: pictures are sharp on dense screens.
const zoom = 2

// PNG is c as a picture of pixels, at twice the size.
func PNG(c *Chart, size Size, t Theme) ([]byte, error) {
	w, h := int(size.W*zoom), int(size.H*zoom)
	p := &painter{
		img: image.NewRGBA(image.Rect(0, 0, w, h)), theme: t,
		ruler: newRuler(), mask: vector.NewRasterizer(w, h),
	}
	shapes := place(c, size)
	stddraw.Draw(p.img, p.img.Rect, image.NewUniform(t[shapes[0].fill]), image.Point{}, stddraw.Src) // the paper
	for i := range shapes[1:] {
		p.paint(&shapes[1+i])
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, paletted(p.img)); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// piece is how many polygons of a line are painted as one: a frame around all of a
// long line is a whole panel, those around its pieces are hardly more than the line.
const piece = 16

type painter struct {
	*ruler
	img   *image.RGBA
	theme Theme
	mask  *vector.Rasterizer
	share []uint8 // of each pixel of a frame that a shape covers; used again
}

func (p *painter) paint(s *shape) {
	if s.kind == textKind {
		p.text(s)
		return
	}
	if s.fill != "" {
		p.polygons(s, [][]xy{s.points}, p.theme[s.fill], s.shade)
	}
	if s.stroke != "" {
		pts := s.points
		if s.kind == areaKind {
			pts = append(pts[:len(pts):len(pts)], pts[0])
		}
		for part := range slices.Chunk(outline(pts, s.width, s.dash), piece) {
			p.polygons(s, part, p.theme[s.stroke], 0)
		}
	}
}

// polygons fills them as one area. All must turn the same way round: what
// turns against another takes from it.
func (p *painter) polygons(s *shape, list [][]xy, c color.RGBA, shade float64) {
	clip := p.img.Bounds()
	if s.clip != nil {
		clip = clip.Intersect(image.Rect(int(s.clip.x0*zoom), int(s.clip.y0*zoom), int(math.Ceil(s.clip.x1*zoom)),
			int(math.Ceil(s.clip.y1*zoom))))
	}
	at := frame(list).Intersect(clip)
	if at.Empty() {
		return
	}
	p.mask.Reset(at.Dx(), at.Dy())
	for _, poly := range list {
		for i, q := range poly {
			// what lies far outside is drawn as if it lay just outside
			x := float32(clamp(q.x*zoom-float64(at.Min.X), -16, float64(at.Dx())+16))
			y := float32(clamp(q.y*zoom-float64(at.Min.Y), -16, float64(at.Dy())+16))
			if i == 0 {
				p.mask.MoveTo(x, y)
			} else {
				p.mask.LineTo(x, y)
			}
		}
		p.mask.ClosePath()
	}
	if shade > 0 && shade < 1 {
		c = color.RGBA{
			uint8(float64(c.R) * shade), uint8(float64(c.G) * shade), uint8(float64(c.B) * shade),
			uint8(255 * shade),
		}
	}
	p.cover(at, c)
}

// cover lays c, whose colours are multiplied by its opacity, over the pixels at
// which the mask has something. Most of a line's frame is empty: the mask's own way
// of painting computes each of its pixels, and takes four times as long.
func (p *painter) cover(at image.Rectangle, c color.RGBA) {
	w, h := at.Dx(), at.Dy()
	if n := w * h; cap(p.share) < n {
		p.share = make([]uint8, n)
	}
	mask := image.Alpha{Pix: p.share[:w*h], Stride: w, Rect: image.Rect(0, 0, w, h)}
	p.mask.DrawOp = stddraw.Src
	p.mask.Draw(&mask, mask.Rect, image.Opaque, image.Point{})
	for y := range h {
		row := mask.Pix[y*w : (y+1)*w]
		out := p.img.Pix[p.img.PixOffset(at.Min.X, at.Min.Y+y):]
		for x := 0; x < w; x++ {
			if x+8 <= w && binary.NativeEndian.Uint64(row[x:]) == 0 {
				x += 7
				continue
			}
			switch m := uint32(row[x]); {
			case m == 255 && c.A == 255:
				*(*[4]uint8)(out[4*x:]) = [4]uint8{c.R, c.G, c.B, c.A}
			case m > 0:
				over((*[4]uint8)(out[4*x:]), c, m)
			}
		}
	}
}

// over lays m of 255 parts of c over one pixel.
func over(px *[4]uint8, c color.RGBA, m uint32) {
	stays := 255*255 - uint32(c.A)*m
	for i, v := range [4]uint8{c.R, c.G, c.B, c.A} {
		px[i] = uint8((uint32(v)*m*255 + uint32(px[i])*stays + 255*255/2) / (255 * 255))
	}
}

// frame is the smallest rectangle of pixels around the polygons.
func frame(list [][]xy) image.Rectangle {
	x, y := newExtent(), newExtent()
	for _, poly := range list {
		for _, q := range poly {
			x.include(q.x)
			y.include(q.y)
		}
	}
	if x.empty() || y.empty() {
		return image.Rectangle{}
	}
	return image.Rect(int(math.Floor(x.lo*zoom)), int(math.Floor(y.lo*zoom)), int(math.Ceil(x.hi*zoom))+1,
		int(math.Ceil(y.hi*zoom))+1)
}

func clamp(v, lo, hi float64) float64 { return min(max(v, lo), hi) }

// outline is a line of some width as polygons: one for each piece and a small
// circle at each corner, all turning the same way.
func outline(pts []xy, width float64, dash int) [][]xy {
	var out [][]xy
	for _, run := range dashes(pts, dash) {
		for i := 1; i < len(run); i++ {
			a, b := run[i-1], run[i]
			d := math.Hypot(b.x-a.x, b.y-a.y)
			if d == 0 {
				continue
			}
			nx, ny := -(b.y-a.y)/d*width/2, (b.x-a.x)/d*width/2
			out = append(out, []xy{
				{a.x - nx, a.y - ny},
				{b.x - nx, b.y - ny},
				{b.x + nx, b.y + ny},
				{a.x + nx, a.y + ny},
			})
			if i < len(run)-1 && width > 1.5 {
				out = append(out, circle(b.x, b.y, width/2))
			}
		}
	}
	return out
}

// dashes cuts a line into its strokes.
func dashes(pts []xy, dash int) [][]xy {
	pattern := dashPatterns[dash]
	if pattern == nil {
		return [][]xy{pts}
	}
	var out [][]xy
	var run []xy
	stroke, left, drawn := 0, pattern[0], true
	for i := 1; i < len(pts); i++ {
		a, b := pts[i-1], pts[i]
		d := math.Hypot(b.x-a.x, b.y-a.y)
		for at := 0.0; at < d; {
			if drawn && len(run) == 0 {
				run = append(run, mix(a, b, at/d))
			}
			step := min(left, d-at)
			at, left = at+step, left-step
			if drawn {
				run = append(run, mix(a, b, at/d))
			}
			if left <= 0 {
				if drawn {
					out, run = append(out, run), nil
				}
				drawn = !drawn
				stroke++
				left = pattern[stroke%len(pattern)]
			}
		}
	}
	if len(run) > 1 {
		out = append(out, run)
	}
	return out
}

func mix(a, b xy, t float64) xy { return xy{a.x + (b.x-a.x)*t, a.y + (b.y-a.y)*t} }

// text writes a line of it; a turned one is written flat and copied over.
func (p *painter) text(s *shape) {
	f := p.face(s.size*zoom, s.bold)
	w := p.width(s.text, s.size*zoom, s.bold)
	x, y := s.points[0].x*zoom, s.points[0].y*zoom
	back := map[string]float64{"middle": w / 2, "end": w}[s.anchor]
	if !s.turned {
		p.write(p.img, f, s, x-back, y)
		return
	}
	h := int(s.size*zoom*1.6) + 2
	flat := image.NewRGBA(image.Rect(0, 0, int(w)+4, h))
	base := int(s.size*zoom*1.2) + 1
	p.write(flat, f, s, 1, float64(base))
	at := func(fx, fy int) (int, int) { return int(x) + fy - base, int(y+back) - fx }
	for fy := range h {
		for fx := range flat.Bounds().Dx() {
			if c := flat.RGBAAt(fx, fy); c.A > 0 {
				px, py := at(fx, fy)
				r := image.Rect(px, py, px+1, py+1)
				stddraw.Draw(p.img, r, image.NewUniform(c), image.Point{}, stddraw.Over)
			}
		}
	}
}

func (p *painter) write(to stddraw.Image, f font.Face, s *shape, x, y float64) {
	d := font.Drawer{
		Dst: to, Src: image.NewUniform(p.theme[s.fill]), Face: f,
		Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)},
	}
	d.DrawString(s.text)
}
