package media

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Sound says what a synthetic sound is like.
type Sound struct {
	Seconds  float64
	Rate     int // samples per second
	Depth    int // bits: 8, 16, 24 or 32
	Channels int
}

// maxSound bounds the bytes of one sound.
const maxSound = 256 << 20

// WAV is Gaussian noise as a RIFF file of PCM samples.
func (s Sound) WAV(r *rand.Rand) ([]byte, error) {
	frames := int(math.Round(s.Seconds * float64(s.Rate)))
	width := s.Depth / 8
	size := frames * s.Channels * width
	switch {
	case s.Depth != 8 && s.Depth != 16 && s.Depth != 24 && s.Depth != 32:
		return nil, fmt.Errorf("depths: %d bits is not one of 8, 16, 24, 32", s.Depth)
	case s.Channels < 1 || s.Channels > 2:
		return nil, fmt.Errorf("channels: %d is neither 1 nor 2", s.Channels)
	case frames < 1:
		return nil, fmt.Errorf("length: %g s hold no sample", s.Seconds)
	case size > maxSound || size < 0:
		return nil, fmt.Errorf("length: %g s are more than %d MiB", s.Seconds, maxSound>>20)
	}
	b := make([]byte, 0, 44+size)
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(36+size))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	b = binary.LittleEndian.AppendUint16(b, 1) // PCM
	b = binary.LittleEndian.AppendUint16(b, uint16(s.Channels))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Rate))
	b = binary.LittleEndian.AppendUint32(b, uint32(s.Rate*s.Channels*width))
	b = binary.LittleEndian.AppendUint16(b, uint16(s.Channels*width))
	b = binary.LittleEndian.AppendUint16(b, uint16(s.Depth))
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(size))
	top := math.Exp2(float64(s.Depth-1)) - 1
	for range frames * s.Channels {
		v := int64(max(-1, min(1, 0.3*r.NormFloat64())) * top)
		if s.Depth == 8 {
			v += 128 // eight bits are unsigned
		}
		for k := range width {
			b = append(b, byte(v>>(8*k)))
		}
	}
	return b, nil
}

func item(b []byte, format string) Item {
	return Item{Base64: base64.StdEncoding.EncodeToString(b), Format: format}
}

// Encode is the sound as wav or, where FFmpeg is at hand, mp3.
func (s Sound) Encode(r *rand.Rand, format string) (Item, error) {
	b, err := s.WAV(r)
	if err != nil || format == "wav" {
		return item(b, "wav"), err
	}
	if format != "mp3" {
		return Item{}, fmt.Errorf("format %q: not one of wav, mp3", format)
	}
	b, err = ffmpeg(b, "mp3", "-f", "wav", "-i", "pipe:0", "-f", "mp3")
	return item(b, "mp3"), err
}

// Seconds is the length of a sound by its header; 0 when its format does not
// say it there.
func Seconds(b []byte, format string) float64 {
	switch format {
	case "wav":
		return wavSeconds(b)
	case "flac":
		return flacSeconds(b)
	}
	return 0
}

// wavSeconds is the size of the data chunk by the bytes of a second.
func wavSeconds(b []byte) float64 {
	if len(b) < 12 {
		return 0
	}
	rate := uint32(0)
	for at := 12; at+8 <= len(b); {
		size := int(binary.LittleEndian.Uint32(b[at+4:]))
		switch body := b[at+8:]; string(b[at : at+4]) {
		case "fmt ":
			if len(body) >= 12 {
				rate = binary.LittleEndian.Uint32(body[8:])
			}
		case "data":
			if rate == 0 {
				return 0
			}
			return float64(min(size, len(body))) / float64(rate)
		}
		at += 8 + size + size&1
		if size < 0 || at < 0 {
			return 0
		}
	}
	return 0
}

// flacSeconds reads STREAMINFO, which every file begins with: 20 bits of
// samples a second, 36 of samples.
func flacSeconds(b []byte) float64 {
	const info = 4 + 4 // behind the mark and the block's head
	if len(b) < info+18 || b[4]&0x7f != 0 {
		return 0
	}
	v := binary.BigEndian.Uint64(b[info+10:])
	rate, samples := v>>44, v&(1<<36-1)
	if rate == 0 {
		return 0
	}
	return float64(samples) / float64(rate)
}

func lengthOf(b []byte, format string) time.Duration {
	return time.Duration(Seconds(b, format) * float64(time.Second))
}
