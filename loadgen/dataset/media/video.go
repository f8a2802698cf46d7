package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// Film says what a synthetic video is like.
type Film struct {
	Width, Height int
	Seconds       float64
	FPS           int
	Kind          string // moving_shapes, grid_clock, noise
	Format, Codec string // webm or mp4; FFmpeg's name of the encoder
	Sound         *Sound // nil: none
	SoundCodec    string // "" is the usual one of the format
}

// maxFrames bounds the raw size of a video, in bytes.
const maxFrames = 1 << 30

// Encode draws the frames and lets FFmpeg encode them.
func (f Film) Encode(r *rand.Rand) (Item, error) {
	n := max(1, int(math.Round(f.Seconds*float64(f.FPS))))
	if f.Width < 2 || f.Height < 2 || f.Width > MaxSide || f.Height > MaxSide || n > maxFrames/3/f.Width/f.Height {
		return Item{}, fmt.Errorf("%d frames of %d x %d pixels: out of range", n, f.Width, f.Height)
	}
	args := []string{
		"-f", "rawvideo", "-pix_fmt", "rgba", "-s", fmt.Sprintf("%dx%d", f.Width, f.Height), "-r",
		strconv.Itoa(f.FPS), "-i", "pipe:0",
	}
	if f.Sound != nil {
		path, err := f.track(r)
		if err != nil {
			return Item{}, err
		}
		defer os.Remove(path)
		codec := f.SoundCodec
		if codec == "" {
			codec = map[string]string{"webm": "libvorbis", "mp4": "libopus"}[f.Format]
		}
		args = append(args, "-i", path, "-c:a", codec, "-shortest")
	}
	args = append(args, "-c:v", f.Codec, "-pix_fmt", "yuv420p", "-f", f.Format)
	var frames bytes.Buffer
	scene := newScene(f.Kind, r, f.Width, f.Height)
	for k := range n {
		frames.Write(scene.frame(k, f.FPS).Pix)
	}
	b, err := ffmpeg(frames.Bytes(), f.Format, args...)
	return item(b, f.Format), err
}

func (f Film) track(r *rand.Rand) (string, error) {
	s := *f.Sound
	s.Seconds = f.Seconds
	b, err := s.WAV(r)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp("", "aiperf-*.wav")
	if err != nil {
		return "", err
	}
	_, err = file.Write(b)
	return file.Name(), errors.Join(err, file.Close())
}

// patience is how long FFmpeg may take for one file.
const patience = 5 * time.Minute

// Encodes looks for what writes a format: nil for those that are written here, an error for
// one that needs FFmpeg where there is none.
func Encodes(format string) error {
	if format == "wav" {
		return nil
	}
	_, err := encoder(format)
	return err
}

func encoder(format string) (string, error) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		return "", diag.Errorf("%s needs FFmpeg, and ffmpeg is not on the PATH", format).
			Try("install FFmpeg, or give files instead (--input-file); wav sounds are written without it")
	}
	return program, nil
}

// ffmpeg feeds in to FFmpeg and gives back the file that it writes. Some
// containers need a file they can seek in, so it is a temporary one.
func ffmpeg(in []byte, format string, args ...string) ([]byte, error) {
	program, err := encoder(format)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "aiperf-media-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "out."+format)
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, program,
		append(append([]string{"-hide_banner", "-loglevel", "error", "-y"}, args...), out)...)
	cmd.Stdin = bytes.NewReader(in)
	if text, err := cmd.CombinedOutput(); err != nil {
		line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		return nil, fmt.Errorf("ffmpeg: %w: %s", err, clip(line))
	}
	return read(out)
}

// scene draws one frame after the other.
type scene struct {
	kind   string
	rng    *rand.Rand
	img    *image.RGBA
	shapes []shape
}

type shape struct {
	x, y, dx, dy float64 // pixels, pixels per frame
	size         int
	c            color.RGBA
}

func newScene(kind string, r *rand.Rand, width, height int) *scene {
	s := &scene{kind: kind, rng: r, img: image.NewRGBA(image.Rect(0, 0, width, height))}
	for range 3 {
		s.shapes = append(s.shapes, shape{
			float64(r.IntN(width)), float64(r.IntN(height)), r.NormFloat64() * float64(width) / 20,
			r.NormFloat64() * float64(height) / 20,
			max(1, min(width, height)/6), shade(r),
		})
	}
	return s
}

func (s *scene) frame(k, fps int) *image.RGBA {
	if s.kind == "noise" {
		for i := range s.img.Pix {
			s.img.Pix[i] = byte(s.rng.Uint32()) | byte(i&3/3*0xff)
		}
		return s.img
	}
	w, h := s.img.Rect.Dx(), s.img.Rect.Dy()
	for i := range s.img.Pix {
		s.img.Pix[i] = byte(i & 3 / 3 * 0xff) // black, opaque
	}
	if s.kind == "grid_clock" {
		s.grid(k, fps)
		return s.img
	}
	for i := range s.shapes {
		p := &s.shapes[i]
		fill(s.img, int(p.x), int(p.y), p.size, p.size, p.c)
		p.x, p.y = math.Mod(p.x+p.dx+float64(w), float64(w)), math.Mod(p.y+p.dy+float64(h), float64(h))
	}
	return s.img
}

// grid is a grid with a bar that moves once around in ten seconds.
func (s *scene) grid(k, fps int) {
	w, h := s.img.Rect.Dx(), s.img.Rect.Dy()
	line := color.RGBA{0x40, 0x40, 0x40, 0xff}
	for i := 1; i < 8; i++ {
		fill(s.img, i*w/8, 0, 1, h, line)
		fill(s.img, 0, i*h/8, w, 1, line)
	}
	at := math.Mod(float64(k)/float64(fps)/10, 1)
	fill(s.img, int(at*float64(w)), 0, max(1, w/32), h, s.shapes[0].c)
}

func fill(img *image.RGBA, x, y, w, h int, c color.RGBA) {
	for j := max(0, y); j < min(img.Rect.Dy(), y+h); j++ {
		for i := max(0, x); i < min(img.Rect.Dx(), x+w); i++ {
			img.SetRGBA(i, j, c)
		}
	}
}
