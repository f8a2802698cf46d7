package dataset

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/media"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/schema"
)

// mediaMaker makes the images, sounds and videos of synthetic turns. Sizes and
// formats come from the shape's stream, what they show from the text's: no two
// requests of a run carry the same bytes unless they come from a folder.
type mediaMaker struct {
	images        *schema.Images
	audio         *schema.Audio
	video         *schema.Video
	width, height *synth.Lengths
	length        *synth.Lengths
	shape, show   synth.Stream
	pictures      *media.Pictures
	deck          []int // of shuffled pictures
	taken         int
}

// newMediaMaker is nil when no media are asked for.
func newMediaMaker(cfg *schema.Dataset, src source) (*mediaMaker, error) {
	m := &mediaMaker{shape: src.shape("media"), show: src.text("media")}
	if i := cfg.Images; i != nil && i.BatchSize > 0 {
		m.images = i
	}
	if a := cfg.Audio; a != nil && a.BatchSize > 0 {
		m.audio = a
	}
	if v := cfg.Video; v != nil && v.BatchSize > 0 {
		m.video = v
	}
	if m.images == nil && m.audio == nil && m.video == nil {
		return nil, nil
	}
	return m, m.open(src)
}

func (m *mediaMaker) open(src source) (err error) {
	const usualSide, usualLength = 512.0, 10.0
	usual := func(s *schema.Shape, v float64) *schema.Shape {
		if s == nil {
			return &schema.Shape{Value: &v}
		}
		return s
	}
	if i := m.images; i != nil {
		if m.width, err = synth.NewLengths("images.width", usual(i.Width, usualSide), src.shape("images.width"), media.MaxSide); err != nil {
			return err
		}
		if m.height, err = synth.NewLengths("images.height", usual(i.Height, usualSide), src.shape("images.height"), media.MaxSide); err != nil {
			return err
		}
		if i.Source != "" && i.Source != "noise" && i.Source != "assets" {
			if m.pictures, err = media.OpenPictures(i.Source); err != nil {
				return diag.Errorf("images.source: %w", err).Try("noise, assets, or a folder of png, jpeg or gif files")
			}
		}
	}
	if a := m.audio; a != nil {
		m.length, err = synth.NewSeconds("audio.length", usual(a.Length, usualLength), src.shape("audio.length"), maxCount)
	}
	return err
}

// add gives turn t of conversation i its media.
func (m *mediaMaker) add(turn *Turn, i, t int) error {
	if m == nil {
		return nil
	}
	if m.images != nil {
		for k := range m.images.BatchSize {
			it, err := m.image(i, t*maxTurns+k)
			if err != nil {
				return fmt.Errorf("images: %w", err)
			}
			turn.Images = append(turn.Images, Media{Base64: it.Base64, Format: it.Format})
		}
	}
	if m.audio != nil {
		for k := range m.audio.BatchSize {
			one, err := m.sound(i, t*maxTurns+k)
			if err != nil {
				return fmt.Errorf("audio: %w", err)
			}
			turn.Audios = append(turn.Audios, one)
		}
	}
	if m.video != nil {
		for k := range m.video.BatchSize {
			it, err := m.film().Encode(m.show.At(i, t*maxTurns+k+1<<40))
			if err != nil {
				return fmt.Errorf("video: %w", err)
			}
			turn.Videos = append(turn.Videos, Media{Base64: it.Base64, Format: it.Format, Length: files.Scale(time.Second, m.video.Duration)})
		}
	}
	return nil
}

func (m *mediaMaker) image(i, k int) (media.Item, error) {
	width, err := m.width.At(i, k)
	if err != nil {
		return media.Item{}, err
	}
	height, err := m.height.At(i, k)
	if err != nil {
		return media.Item{}, err
	}
	format := m.images.Format
	shape, show := m.shape.At(i, k), m.show.At(i, k)
	switch format {
	case "":
		format = "jpeg"
	case "random":
		format = []string{"png", "jpeg"}[shape.IntN(2)]
	}
	var img image.Image
	switch {
	case m.pictures != nil:
		if img, err = m.pictures.At(m.next(shape), width, height); err != nil {
			return media.Item{}, err
		}
	case m.images.Source == "assets":
		img = media.Scene(show, width, height)
	default:
		img = media.Noise(show, width, height)
	}
	return media.EncodeImage(img, format)
}

// next is the picture of the folder that is taken next.
func (m *mediaMaker) next(r *rand.Rand) int {
	n := m.pictures.Len()
	m.taken++
	switch m.images.SourceSampling {
	case "sequential-cycle":
		return (m.taken - 1) % n
	case "shuffle-cycle":
		if (m.taken-1)%n == 0 {
			m.deck = r.Perm(n)
		}
		return m.deck[(m.taken-1)%n]
	}
	return r.IntN(n)
}

// least is the shortest sound, in s.
const least = 0.01

func (m *mediaMaker) sound(i, k int) (Media, error) {
	a := m.audio
	r := m.shape.At(i, k+1<<30)
	s := media.Sound{Seconds: max(least, m.length.Value(i, k)), Rate: 16000, Depth: 16, Channels: max(1, a.Channels)}
	if len(a.SampleRates) > 0 {
		s.Rate = int(math.Round(a.SampleRates[r.IntN(len(a.SampleRates))] * 1000))
	}
	if len(a.Depths) > 0 {
		s.Depth = a.Depths[r.IntN(len(a.Depths))]
	}
	format := a.Format
	if format == "" {
		format = "wav"
	}
	it, err := s.Encode(m.show.At(i, k+1<<30), format)
	return Media{Base64: it.Base64, Format: it.Format, Length: files.Scale(time.Second, s.Seconds)}, err
}

func (m *mediaMaker) film() media.Film {
	v := m.video
	f := media.Film{
		Width: orInt(v.Width, 640), Height: orInt(v.Height, 480), Seconds: v.Duration, FPS: orInt(v.FPS, 4), Kind: v.SynthType,
		Format: v.Format, Codec: v.Codec, SoundCodec: v.Audio.Codec,
	}
	if f.Seconds == 0 {
		f.Seconds = 1
	}
	if f.Format == "" {
		f.Format = "webm"
	}
	if f.Codec == "" {
		f.Codec = "libvpx-vp9"
	}
	if a := v.Audio; a.Channels > 0 {
		rate := a.SampleRate
		if rate == 0 {
			rate = 44.1
		}
		f.Sound = &media.Sound{Rate: int(math.Round(rate * 1000)), Depth: orInt(a.Depth, 16), Channels: a.Channels}
	}
	return f
}

func orInt(v, usual int) int {
	if v == 0 {
		return usual
	}
	return v
}

// Sample is a turn of synthetic data as far as its kinds of media go: what an
// endpoint must have a place for.
func Sample(cfg *schema.Dataset) *Turn {
	t := &Turn{Texts: []string{""}}
	if cfg.LimitsOutput() {
		t.MaxTokens = 1
	}
	if cfg.Rankings != nil {
		t.Query, t.Passages = "query", []string{"passage"}
	}
	if i := cfg.Images; i != nil && i.BatchSize > 0 {
		t.Images = make([]Media, 1)
	}
	if a := cfg.Audio; a != nil && a.BatchSize > 0 {
		t.Audios = make([]Media, 1)
	}
	if v := cfg.Video; v != nil && v.BatchSize > 0 {
		t.Videos = make([]Media, 1)
	}
	return t
}
