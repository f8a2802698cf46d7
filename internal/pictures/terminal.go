package main

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strings"
	"unicode/utf8"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gomono"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// The size of a character and of the edge around all of them, in pixels.
const (
	wide, high = 9, 19
	edge       = 14
	letters    = 15 // size of the font
)

var (
	paper = color.RGBA{0x0f, 0x14, 0x1a, 0xff}
	ink   = color.RGBA{0xe6, 0xed, 0xf3, 0xff}
)

// terminal is text as a terminal shows it, as a PNG of few colours.
func terminal(text []byte) []byte {
	lines := strings.Split(strings.TrimRight(string(text), "\n "), "\n")
	columns := 0
	for _, l := range lines {
		columns = max(columns, utf8.RuneCountInString(l))
	}
	img := image.NewPaletted(image.Rect(0, 0, columns*wide+2*edge, len(lines)*high+2*edge), shades())
	draw.Draw(img, img.Bounds(), image.NewUniform(paper), image.Point{}, draw.Src)
	f, err := opentype.Parse(gomono.TTF)
	if err != nil {
		panic(err) // it is part of the program
	}
	face, err := opentype.NewFace(f, &opentype.FaceOptions{Size: letters, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		panic(err)
	}
	for y, l := range lines {
		x := 0
		for _, r := range l {
			put(img, face, r, image.Pt(edge+x*wide, edge+y*high))
			x++
		}
	}
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, img); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// shades lead from the paper to the ink: letters have soft edges.
func shades() (p color.Palette) {
	const n = 16
	between := func(a, b uint8, i int) uint8 { return uint8((int(a)*(n-1-i) + int(b)*i) / (n - 1)) }
	for i := range n {
		p = append(p, color.RGBA{
			between(paper.R, ink.R, i), between(paper.G, ink.G, i), between(paper.B, ink.B, i),
			0xff,
		})
	}
	return p
}

// put paints one character. Blocks fill their part of the cell, which a font
// leaves gaps in.
func put(img *image.Paletted, face font.Face, r rune, at image.Point) {
	cell := image.Rect(at.X, at.Y, at.X+wide, at.Y+high)
	switch {
	case r == '░':
		for y := cell.Min.Y; y < cell.Max.Y; y += 2 {
			for x := cell.Min.X + y/2%2; x < cell.Max.X; x += 3 {
				img.Set(x, y, ink)
			}
		}
	case r >= '▁' && r <= '█':
		cell.Min.Y = cell.Max.Y - high*int(r-'▁'+1)/8
		draw.Draw(img, cell, image.NewUniform(ink), image.Point{}, draw.Src)
	default:
		d := font.Drawer{Dst: img, Src: image.NewUniform(ink), Face: face, Dot: fixed.P(at.X, at.Y+letters)}
		d.DrawString(string(r))
	}
}
