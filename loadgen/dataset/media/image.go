package media

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // pictures of a folder may be GIF
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
)

// MaxSide bounds the width and the height of a synthetic picture, in pixels.
const MaxSide = 16384

// Noise is a picture of random pixels: no encoder makes it small, and no two
// are alike.
func Noise(r *rand.Rand, width, height int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := 0; i < len(img.Pix); i += 4 {
		v := r.Uint32()
		img.Pix[i], img.Pix[i+1], img.Pix[i+2], img.Pix[i+3] = byte(v), byte(v>>8), byte(v>>16), 0xff
	}
	return img
}

// Scene is a picture with smooth colours and a few shapes, about as large when
// encoded as a photograph of calm things.
func Scene(r *rand.Rand, width, height int) image.Image {
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	a, b, c := shade(r), shade(r), shade(r)
	for y := range height {
		for x := range width {
			u, v := float64(x)/float64(width), float64(y)/float64(height)
			img.SetRGBA(x, y, blend(blend(a, b, u), c, v*v))
		}
	}
	for range 6 {
		disc(img, r, shade(r))
	}
	return img
}

func shade(r *rand.Rand) color.RGBA {
	v := r.Uint32()
	return color.RGBA{byte(v), byte(v >> 8), byte(v >> 16), 0xff}
}

func blend(a, b color.RGBA, t float64) color.RGBA {
	mix := func(x, y uint8) uint8 { return uint8(float64(x)*(1-t) + float64(y)*t) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

func disc(img *image.RGBA, r *rand.Rand, c color.RGBA) {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	cx, cy, radius := r.IntN(w), r.IntN(h), max(1, r.IntN(1+min(w, h)/4))
	for y := max(0, cy-radius); y < min(h, cy+radius); y++ {
		half := int(math.Sqrt(float64(radius*radius - (y-cy)*(y-cy))))
		for x := max(0, cx-half); x < min(w, cx+half); x++ {
			img.SetRGBA(x, y, c)
		}
	}
}

// cutOff reports whether an image file ends before its format says. Nothing is
// decoded but its lengths: what a picture shows is the server's business.
func cutOff(format string, b []byte) bool {
	switch format {
	case "png": // chunks of a length, a type, so many bytes and a checksum; the last one is IEND
		for at := uint64(8); at+12 <= uint64(len(b)); {
			if string(b[at+4:at+8]) == "IEND" {
				return false
			}
			at += 12 + uint64(binary.BigEndian.Uint32(b[at:]))
		}
		return true
	case "jpeg":
		return !bytes.Contains(b, []byte{0xff, 0xd9}) // the mark of its end; cameras write more behind it
	case "gif":
		return len(b) <= 13 // its header, and nothing to show
	case "webp": // RIFF and the number of bytes that follow it
		return uint64(len(b)) < 8+uint64(binary.LittleEndian.Uint32(b[4:]))
	}
	return false
}

// EncodeImage is img as png or jpeg.
func EncodeImage(img image.Image, format string) (Item, error) {
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: 85})
	default:
		err = fmt.Errorf("format %q: not one of png, jpeg", format)
	}
	return Item{Base64: base64.StdEncoding.EncodeToString(b.Bytes()), Format: format}, err
}

// Pictures are the image files of a folder.
type Pictures struct{ paths []string }

// PicturesOf opens the folder that images are taken from; nil where source says
// that they are drawn (noise, assets).
func PicturesOf(source string) (*Pictures, error) {
	if source == "" || source == "noise" || source == "assets" {
		return nil, nil
	}
	p, err := OpenPictures(source)
	if err != nil {
		return nil, &diag.Error{
			Code: diag.Usage, Message: fmt.Sprintf("%s: %v", source, reason(err)), Cause: err,
			Hint: "noise, assets, or a folder of png, jpeg or gif files",
		}
	}
	return p, nil
}

// OpenPictures lists the pictures below a folder in the order of their names.
func OpenPictures(dir string) (*Pictures, error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	p := &Pictures{}
	for _, e := range list {
		if slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif"}, strings.ToLower(filepath.Ext(e.Name()))) {
			p.paths = append(p.paths, filepath.Join(dir, e.Name()))
		}
	}
	if len(p.paths) == 0 {
		return nil, errors.New("holds no png, jpeg or gif")
	}
	return p, nil
}

// Len is the number of pictures, at least 1.
func (p *Pictures) Len() int { return len(p.paths) }

// At is picture i, scaled to the size.
func (p *Pictures) At(i, width, height int) (image.Image, error) {
	b, err := read(p.paths[i])
	if err != nil {
		return nil, err
	}
	cfg, _, err := image.DecodeConfig(bytes.NewReader(b))
	if err == nil && (cfg.Width > MaxSide || cfg.Height > MaxSide || cfg.Width < 1 || cfg.Height < 1) {
		err = errors.New("its size is out of range")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: is not a picture: %w", p.paths[i], err)
	}
	img, _, err := image.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%s: is not a picture: %w", p.paths[i], err)
	}
	return scaled(img, width, height), nil
}

// scaled takes for each pixel the nearest one of img.
func scaled(img image.Image, width, height int) image.Image {
	from := img.Bounds()
	out := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			out.Set(x, y, img.At(from.Min.X+x*from.Dx()/width, from.Min.Y+y*from.Dy()/height))
		}
	}
	return out
}
