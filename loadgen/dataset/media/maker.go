package media

import (
	"fmt"
	"image"
	"math"
	"math/rand/v2"
	"time"

	"aiperf.dev/aiperf/loadgen/dataset/files"
	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/schema"
)

// Maker makes the images, sounds and videos of synthetic turns. Sizes and formats
// come from one stream, what they show from another: no two requests of a run carry
// the same bytes unless they come from a folder. It has one user.
type Maker struct {
	images        *schema.Images
	audio         *schema.Audio
	video         *schema.Video
	width, height *synth.Lengths
	length        *synth.Lengths
	shape, show   synth.Stream
	pictures      *Pictures
	deck          []int // of shuffled pictures
	taken         int
}

// NewMaker is nil when no media are asked for. shape gives the stream that sizes and
// formats are drawn from for each use, show draws what is to be seen and heard.
func NewMaker(cfg *schema.Dataset, shape func(use string) synth.Stream, show synth.Stream) (*Maker, error) {
	m := &Maker{shape: shape("media"), show: show}
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
	return m, m.open(shape)
}

func (m *Maker) open(shape func(use string) synth.Stream) (err error) {
	const usualSide, usualLength = 512.0, 10.0
	usual := func(s *schema.Shape, v float64) *schema.Shape {
		if s == nil {
			return &schema.Shape{Value: &v}
		}
		return s
	}
	if i := m.images; i != nil {
		if m.width, err = synth.NewLengths("images.width", usual(i.Width, usualSide),
			shape("images.width"), MaxSide); err != nil {
			return err
		}
		if m.height, err = synth.NewLengths("images.height", usual(i.Height, usualSide),
			shape("images.height"), MaxSide); err != nil {
			return err
		}
		if m.pictures, err = PicturesOf(i.Source); err != nil {
			return fmt.Errorf("images.source: %w", err)
		}
	}
	if a := m.audio; a != nil {
		m.length, err = synth.NewSeconds("audio.length", usual(a.Length, usualLength), shape("audio.length"),
			maxSeconds)
	}
	return err
}

// Bounds of what is asked for.
const (
	maxSeconds = 1 << 40 // of a sound
	draws      = 1 << 16 // of one turn
)

// Make makes the media of turn t of conversation i. The nil Maker makes none.
func (m *Maker) Make(i, t int) (images, sounds, videos []Item, err error) {
	if m == nil {
		return nil, nil, nil, nil
	}
	if m.images != nil {
		if images, err = several(m.images.BatchSize, t,
			func(k int) (Item, error) { return m.image(i, k) }); err != nil {
			return nil, nil, nil, fmt.Errorf("images: %w", err)
		}
	}
	if m.audio != nil {
		if sounds, err = several(m.audio.BatchSize, t, func(k int) (Item, error) { return m.sound(i, k) }); err != nil {
			return nil, nil, nil, fmt.Errorf("audio: %w", err)
		}
	}
	if m.video != nil {
		if videos, err = several(m.video.BatchSize, t,
			func(k int) (Item, error) { return m.moving(i, k) }); err != nil {
			return nil, nil, nil, fmt.Errorf("video: %w", err)
		}
	}
	return images, sounds, videos, nil
}

// several makes n items of turn t, each from a draw of its own.
func several(n, t int, one func(draw int) (Item, error)) (out []Item, err error) {
	for k := range n {
		it, err := one(t*draws + k)
		if err != nil {
			return nil, err
		}
		out = append(out, it)
	}
	return out, nil
}

func (m *Maker) image(i, k int) (Item, error) {
	width, err := m.width.At(i, k)
	if err != nil {
		return Item{}, err
	}
	height, err := m.height.At(i, k)
	if err != nil {
		return Item{}, err
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
			return Item{}, err
		}
	case m.images.Source == "assets":
		img = Scene(show, width, height)
	default:
		img = Noise(show, width, height)
	}
	return EncodeImage(img, format)
}

// next is the picture of the folder that is taken next.
func (m *Maker) next(r *rand.Rand) int {
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

func (m *Maker) sound(i, k int) (Item, error) {
	a := m.audio
	r := m.shape.At(i, k+1<<30)
	s := Sound{Seconds: max(least, m.length.Value(i, k)), Rate: 16000, Depth: 16, Channels: max(1, a.Channels)}
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
	it.Length = files.Scale(time.Second, s.Seconds)
	return it, err
}

func (m *Maker) moving(i, k int) (Item, error) {
	it, err := m.film().Encode(m.show.At(i, k+1<<40))
	it.Length = files.Scale(time.Second, m.video.Duration)
	return it, err
}

func (m *Maker) film() Film {
	v := m.video
	f := Film{
		Width: orInt(v.Width, 640), Height: orInt(v.Height, 480), Seconds: v.Duration, FPS: orInt(v.FPS, 4),
		Kind:   v.SynthType,
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
		f.Sound = &Sound{Rate: int(math.Round(rate * 1000)), Depth: orInt(a.Depth, 16), Channels: a.Channels}
	}
	return f
}

func orInt(v, usual int) int {
	if v == 0 {
		return usual
	}
	return v
}
