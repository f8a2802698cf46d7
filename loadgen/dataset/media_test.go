package dataset_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/schema"
)

func decode(t *testing.T, m dataset.Media) []byte {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(m.Base64)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSyntheticImages(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	var b bytes.Buffer
	small := image.NewRGBA(image.Rect(0, 0, 3, 2))
	if err := png.Encode(&b, small); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "a.png"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, source string }{
		{"png", "noise"},
		{"jpeg", ""},
		{"jpeg", "assets"},
		{"random", "noise"},
		{"png", folder},
	} {
		cfg := synthetic(4, fixed(5))
		cfg.Images = &schema.Images{
			BatchSize: 2, Width: fixed(40), Height: &schema.Shape{Mean: p(30), StdDev: p(4)},
			Format: c.format, Source: c.source,
		}
		set := open(t, cfg, tok(t, "builtin"), 1, "profiling")
		seen := map[string]bool{}
		for i := range set.Len() {
			for _, m := range set.At(i).Turns[0].Images {
				got, format, err := image.DecodeConfig(bytes.NewReader(decode(t, m)))
				if err != nil || got.Width != 40 || got.Height < 15 || got.Height > 45 || format != m.Format ||
					c.format != "random" && c.format != "" && format != c.format {
					t.Errorf("%v: %s (%s) of %d x %d, %v", c, format, m.Format, got.Width, got.Height, err)
				}
				if seen[m.Base64] && c.source != folder {
					t.Errorf("%v: an image appears twice", c)
				}
				seen[m.Base64] = true
				if !strings.HasPrefix(m.Address(), "data:image/"+format+";base64,") {
					t.Errorf("address %.40s", m.Address())
				}
			}
		}
	}
	cfg := synthetic(1, fixed(5))
	cfg.Images = &schema.Images{BatchSize: 1, Source: t.TempDir()}
	if _, err := dataset.Open(cfg, tok(t, "builtin"), 1, "profiling"); err == nil ||
		!strings.Contains(err.Error(), "holds no png, jpeg or gif") {
		t.Errorf("a folder without pictures gave %v", err)
	}
}

func TestSyntheticSound(t *testing.T) {
	t.Parallel()
	cfg := synthetic(6, fixed(5))
	cfg.Audio = &schema.Audio{
		BatchSize: 1, Length: &schema.Shape{Mean: p(0.5), StdDev: p(0)},
		SampleRates: []float64{8, 16}, Depths: []int{8, 24}, Channels: 2,
	}
	set := open(t, cfg, tok(t, "builtin"), 1, "profiling")
	rates := map[uint32]bool{}
	for i := range set.Len() {
		b := decode(t, set.At(i).Turns[0].Audios[0])
		rate, width := binary.LittleEndian.Uint32(b[24:]), int(binary.LittleEndian.Uint16(b[34:]))/8
		rates[rate] = true
		if string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" || int(binary.LittleEndian.Uint16(b[22:])) != 2 ||
			len(b)-44 != int(rate)/2*2*width {
			t.Errorf("sound %d: %d bytes at %d Hz with %d bytes a sample", i, len(b), rate, width)
		}
	}
	if len(rates) != 2 {
		t.Errorf("rates %v, want both", rates)
	}
}

func TestVideoNeedsFFmpeg(t *testing.T) {
	t.Parallel()
	cfg := synthetic(1, fixed(5))
	cfg.Video = &schema.Video{
		BatchSize: 1, Width: 64, Height: 48, Duration: 1, FPS: 4, Format: "mp4", Codec: "mpeg4",
		SynthType: "grid_clock",
	}
	set, err := dataset.Open(cfg, tok(t, "builtin"), 1, "profiling")
	if _, missing := exec.LookPath("ffmpeg"); missing != nil {
		if err == nil || !strings.Contains(diag.Line(err),
			"mp4 needs FFmpeg, and ffmpeg is not on the PATH; hint: install FFmpeg") {
			t.Errorf("without FFmpeg: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if b := decode(t, set.At(0).Turns[0].Videos[0]); len(b) < 100 || string(b[4:8]) != "ftyp" {
		t.Errorf("%d bytes that are no mp4", len(b))
	}
}

// An mp3 needs an encoder, and is one where there is one.
func TestMP3NeedsFFmpeg(t *testing.T) {
	t.Parallel()
	cfg := synthetic(2, fixed(5))
	cfg.Audio = &schema.Audio{
		BatchSize: 1, Length: &schema.Shape{Mean: p(0.5), StdDev: p(0)}, Format: "mp3",
		SampleRates: []float64{16}, Depths: []int{16}, Channels: 1,
	}
	set, err := dataset.Open(cfg, tok(t, "builtin"), 1, "profiling")
	if _, missing := exec.LookPath("ffmpeg"); missing != nil {
		if err == nil || !strings.Contains(diag.Line(err),
			"mp3 needs FFmpeg, and ffmpeg is not on the PATH; hint: install FFmpeg") {
			t.Errorf("without FFmpeg: %v", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	one, other := set.At(0).Turns[0].Audios[0], set.At(1).Turns[0].Audios[0]
	b := decode(t, one)
	if id3, sync := bytes.HasPrefix(b, []byte("ID3")), len(b) > 1 && b[0] == 0xff && b[1]&0xe0 == 0xe0; len(b) < 500 ||
		!id3 && !sync {
		t.Errorf("%d bytes that are no mp3", len(b))
	}
	if one.Format != "mp3" || one.Base64 == other.Base64 || one.Length != 500*time.Millisecond {
		t.Errorf("format %s, length %v, alike %v; want an mp3 of half a second unlike the other",
			one.Format, one.Length, one.Base64 == other.Base64)
	}
}

// Media of a file stay inside its folder, are what they claim to be, and are
// sent as they are.
func TestMediaOfFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"in/cat.png": b.Bytes(), "in/note.txt": []byte("hello"),
		"out.png": b.Bytes(),
	} {
		if err := os.MkdirAll(filepath.Join(dir, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "out.png"), filepath.Join(dir, "in", "link.png")); err != nil {
		t.Fatal(err)
	}
	read := func(line string, roots ...string) (*dataset.Set, error) {
		path := filepath.Join(dir, "in", "data.jsonl")
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		return dataset.Open(schema.Dataset{Type: "file", Path: path, MediaRoots: roots}, nil, 1, "profiling")
	}
	inline := base64.StdEncoding.EncodeToString(b.Bytes())
	for _, c := range []struct{ line, want string }{
		{`{"text":"a","image":"cat.png"}`, "data:image/png;base64," + inline},
		{`{"images":["https://example.org/a.jpg"]}`, "https://example.org/a.jpg"},
		{`{"images":[{"name":"x","contents":["data:image/png;base64,` + inline + `"]}]}`, "data:image/png;base64," + inline},
	} {
		set, err := read(c.line)
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		if got := set.At(0).Turns[0].Images[0].Address(); got != c.want {
			t.Errorf("%s: %s, want %s", c.line, got, c.want)
		}
	}
	for _, c := range []struct{ line, want string }{
		{`{"image":"../out.png"}`, "image 1: ../out.png: lies outside the dataset's folder"},
		{`{"image":"link.png"}`, "image 1: link.png: lies outside the dataset's folder"},
		{`{"image":"/etc/passwd"}`, "image 1: /etc/passwd: lies outside the dataset's folder"},
		{`{"image":"note.txt"}`, "image 1: note.txt: is no image"},
		{`{"audio":"cat.png"}`, "audio 1: cat.png: is no audio"},
		{`{"image":"data:image/png;base64,%%%"}`, "image 1: its base64 cannot be decoded"},
		{`{"image":"data:audio/wav;base64,AAAA"}`, `image 1: a data: address of type "audio/wav" where image is wanted`},
		{`{"images":["cat.png"],"image_uuids":["a","b"]}`, "image_uuids: 2 names for 1 images"},
	} {
		if _, err := read(c.line); err == nil || !strings.Contains(err.Error(), "data.jsonl:1: "+c.want) {
			t.Errorf("%s: error %v, want %s", c.line, err, c.want)
		}
	}
	if _, err := read(`{"image":"../out.png"}`, dir); err != nil {
		t.Errorf("an allowed folder: %v", err)
	}
}
