package draw

import (
	"image"
	"image/color"
	"testing"
)

// Of more colours than a palette holds the frequent ones stay as they are, and
// the rare ones become the nearest of those.
func TestPaletted(t *testing.T) {
	t.Parallel()
	img := image.NewRGBA(image.Rect(0, 0, 600, 10))
	for x := range 600 {
		c := color.RGBA{uint8(x % 300), uint8(x % 300 / 250 * 100), 0, 255}
		if x >= 598 { // two pixels in each of ten rows, against twenty
			c = color.RGBA{uint8(200 + x - 598), 3, 2, 255}
		}
		for y := range 10 {
			if x == 599 && y > 0 {
				c = color.RGBA{7, 0, 0, 255}
			}
			img.Set(x, y, c)
		}
	}
	got := paletted(img)
	if n := len(got.Palette); n != 256 {
		t.Fatalf("%d colours", n)
	}
	changed := map[color.RGBA]bool{}
	for x := range 600 {
		for y := range 10 {
			was, is := img.RGBAAt(x, y), color.RGBAModel.Convert(got.At(x, y)).(color.RGBA)
			if was == is {
				continue
			}
			changed[was] = true
		}
	}
	if rare := (color.RGBA{201, 3, 2, 255}); !changed[rare] || changed[color.RGBA{7, 0, 0, 255}] {
		t.Errorf("a colour of one pixel stayed, or one of thirty changed: %v", changed)
	}
	if is := color.RGBAModel.Convert(got.At(599, 0)); is != (color.RGBA{201, 0, 0, 255}) {
		t.Errorf("(201, 3, 2) became %v", is)
	}
	few := image.NewRGBA(image.Rect(0, 0, 20, 20))
	few.Set(3, 3, color.RGBA{1, 2, 3, 255})
	if p := paletted(few); len(p.Palette) != 2 || p.ColorIndexAt(3, 3) != 1 {
		t.Errorf("%d colours, the second one is %v", len(p.Palette), p.Palette)
	}
}
