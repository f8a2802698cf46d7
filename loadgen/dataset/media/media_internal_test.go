package media

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// The header of a WAV file says what its samples are, to the byte.
func TestWAV(t *testing.T) {
	t.Parallel()
	for _, s := range []Sound{{0.25, 8000, 8, 1}, {0.5, 16000, 16, 2}, {0.01, 44100, 24, 1}, {0.1, 48000, 32, 2}} {
		b, err := s.WAV(rng(1))
		if err != nil {
			t.Fatal(err)
		}
		u16, u32 := binary.LittleEndian.Uint16, binary.LittleEndian.Uint32
		frames, width := int(math.Round(s.Seconds*float64(s.Rate))), s.Depth/8
		if len(b) != 44+frames*width*s.Channels || int(u32(b[4:])) != len(b)-8 || int(u32(b[40:])) != len(b)-44 {
			t.Errorf("%+v: %d bytes, the header says %d and %d", s, len(b), u32(b[4:]), u32(b[40:]))
		}
		if u16(b[20:]) != 1 || int(u16(b[22:])) != s.Channels || int(u32(b[24:])) != s.Rate ||
			int(u32(b[28:])) != s.Rate*s.Channels*width ||
			int(u16(b[32:])) != s.Channels*width || int(u16(b[34:])) != s.Depth {
			t.Errorf("%+v: header %x", s, b[20:36])
		}
		if other, _ := s.WAV(rng(2)); bytes.Equal(b, other) {
			t.Errorf("%+v: two sounds are one", s)
		}
	}
	for _, c := range []struct {
		s    Sound
		want string
	}{
		{Sound{1, 8000, 12, 1}, "12 bits is not one of"},
		{Sound{1, 8000, 16, 3}, "3 is neither 1 nor 2"},
		{Sound{0, 8000, 16, 1}, "hold no sample"},
		{Sound{1e5, 48000, 32, 2}, "more than 256 MiB"},
	} {
		if _, err := c.s.WAV(rng(1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.s, err, c.want)
		}
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"png", "jpeg"} {
		for name, draw := range map[string]func(*rand.Rand, int, int) image.Image{"noise": Noise, "scene": Scene} {
			a, err := EncodeImage(draw(rng(1), 33, 7), format)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := base64.StdEncoding.DecodeString(a.Base64)
			if err != nil {
				t.Fatal(err)
			}
			img, got, err := image.Decode(bytes.NewReader(raw))
			if err != nil || got != format || img.Bounds().Dx() != 33 || img.Bounds().Dy() != 7 || a.Format != format {
				t.Errorf("%s as %s: %s, %v, %v", name, format, got, img, err)
			}
			if b, _ := EncodeImage(draw(rng(2), 33, 7), format); b.Base64 == a.Base64 {
				t.Errorf("%s as %s: two pictures are one", name, format)
			}
			if again, _ := EncodeImage(draw(rng(1), 33, 7), format); again.Base64 != a.Base64 {
				t.Errorf("%s as %s: one seed gives two pictures", name, format)
			}
		}
	}
	if _, err := EncodeImage(Noise(rng(1), 2, 2), "tiff"); err == nil ||
		!strings.Contains(err.Error(), "not one of png, jpeg") {
		t.Errorf("tiff: %v", err)
	}
}

// A format is told by its first bytes; names of files decide only between
// containers that begin alike.
func TestSniff(t *testing.T) {
	t.Parallel()
	wav, _ := Sound{0.01, 8000, 8, 1}.WAV(rng(1))
	for _, c := range []struct {
		bytes, name, want string
		kinds             string // kinds of media it may stand for
	}{
		{"\x89PNG\r\n\x1a\n", "a.txt", "png", "image/"},
		{"\xff\xd8\xff\xe0", "a", "jpeg", "image/"},
		{"GIF89a", "a", "gif", "image/"},
		{string(wav), "a", "wav", "audio/"},
		{"fLaC....", "a", "flac", "audio/"},
		{"ID3....", "a", "mp3", "audio/"},
		{"\xff\xfb\x90\x00", "a", "mp3", "audio/"},
		{"\x00\x00\x00\x14ftypqt  ", "a", "mov", "video/"},
		{"\x00\x00\x00\x18ftypmp42....isommp42", "a.mp4", "mp4", "video/"},
		{"\x00\x00\x00\x18ftypmp42....isommp42", "a.m4a", "m4a", "audio/"},
		{"\x1a\x45\xdf\xa3....", "a.mkv", "mkv", "video/"},
		{"\x1a\x45\xdf\xa3....", "a.webm", "webm", "video/"},
		{"hello", "a.png", "", ""},
		{"PK\x03\x04", "a.png", "", ""},
		{"", "a.png", "", ""},
	} {
		got := sniff([]byte(c.bytes), c.name)
		if got != c.want || c.kinds != "" && !hasKind(got, c.kinds) {
			t.Errorf("%q called %s is %q, want %q", c.bytes, c.name, got, c.want)
		}
	}
}

// An image that ends before its format says is none, wherever it is cut; one with
// something behind its end is one.
func TestImagesCutOff(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"png", "jpeg"} {
		it, err := EncodeImage(Scene(rng(1), 33, 7), format)
		if err != nil {
			t.Fatal(err)
		}
		whole, _ := base64.StdEncoding.DecodeString(it.Base64)
		for _, b := range [][]byte{whole, append(bytes.Clone(whole), "more"...)} {
			if got, err := OfBytes("image", b, "a"); err != nil || got.Format != format {
				t.Errorf("%s: %v, %v", format, got.Format, err)
			}
		}
		for n := 16; n < len(whole)-1; n += 7 {
			if _, err := OfBytes("image", whole[:n], "a"); err == nil ||
				!strings.Contains(err.Error(), "ends too early") {
				t.Errorf("%s: %d of %d bytes: %v", format, n, len(whole), err)
			}
		}
	}
	for format, b := range map[string]string{"gif": "GIF89a\x01\x00", "webp": "RIFF\x20\x00\x00\x00WEBPVP8 "} {
		if _, err := OfBytes("image", []byte(b), "a"); err == nil ||
			!strings.Contains(err.Error(), "the "+strings.ToUpper(format)+" ends too early") {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// A library reads each file once and holds no more than it may.
func TestLibraryIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, err := EncodeImage(Noise(rng(1), 40, 40), "png")
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := base64.StdEncoding.DecodeString(one.Base64)
	for _, name := range []string{"a.png", "b.png"} {
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := NewLibrary(dir, nil, len(one.Base64)+10)
	for range 3 {
		if it, err := l.Load("image", "a.png"); err != nil || it != one {
			t.Errorf("a.png: %v", err)
		}
	}
	if _, err := l.Load("image", "b.png"); err == nil ||
		!strings.Contains(diag.Line(err), "hint: give addresses instead of files") {
		t.Errorf("a second picture: %v", err)
	}
	for ref, want := range map[string]string{
		"": "is empty", "data:image/png,abc": "without base64", "data:image/png;base64,": "cannot be decoded", "nowhere.png": "no such file",
	} {
		if _, err := l.Load("image", ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", ref, err, want)
		}
	}
	if it, err := l.Load("audio", "wav,AAAA"); err != nil || it.Format != "wav" {
		t.Errorf("wav,AAAA: %+v, %v", it, err)
	}
}
