package draw

import (
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	"slices"
)

// palettes have at most as many colours as one byte a pixel can name.
const palettes = 256

// paletted is img with a byte a pixel, which takes a fifth of the time to compress
// and half of the room. A chart has some ten inks, and thousands of colours only on
// the soft edges of its lines: the 256 most frequent stay as they are, each of the
// others becomes the one that is nearest. img is opaque.
func paletted(img *image.RGBA) *image.Paletted {
	counts := map[uint32]int{}
	stretches(img.Pix, func(c uint32, n int) { counts[c] += n })
	list := make([]uint32, 0, len(counts))
	for c := range counts {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b uint32) int { return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b)) })
	index := make(map[uint32]uint8, len(list))
	var p color.Palette
	for i, c := range list {
		if i < palettes {
			p = append(p, color.RGBA{uint8(c), uint8(c >> 8), uint8(c >> 16), 255})
			index[c] = uint8(i)
			continue
		}
		index[c] = nearest(list[:palettes], c)
	}
	out := image.NewPaletted(img.Bounds(), p)
	at := 0
	stretches(img.Pix, func(c uint32, n int) {
		k := index[c]
		for i := range out.Pix[at : at+n] {
			out.Pix[at+i] = k
		}
		at += n
	})
	return out
}

// stretches calls f for each stretch of pixels of one colour, red first.
func stretches(pix []uint8, f func(c uint32, n int)) {
	for at := 0; at < len(pix); {
		c, end := binary.LittleEndian.Uint32(pix[at:]), at+4
		for end < len(pix) && binary.LittleEndian.Uint32(pix[end:]) == c {
			end += 4
		}
		f(c, (end-at)/4)
		at = end
	}
}

// nearest is the place of the colour in list that differs least from c.
func nearest(list []uint32, c uint32) uint8 {
	best, least := 0, 1<<30
	for i, x := range list {
		d := 0
		for shift := 0; shift < 24; shift += 8 {
			by := int(x>>shift&255) - int(c>>shift&255)
			d += by * by
		}
		if d < least {
			best, least = i, d
		}
	}
	return uint8(best)
}
