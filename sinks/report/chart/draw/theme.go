package draw

import "image/color"

// Theme gives each ink its colour.
type Theme map[Ink]color.RGBA

func rgb(x uint32) color.RGBA { return color.RGBA{uint8(x >> 16), uint8(x >> 8), uint8(x), 255} }

// Light and Dark keep 3:1 between marks and paper and 4.5:1 between text and
// paper (WCAG AA).
var (
	Light = Theme{
		Text: rgb(0x16181d), Muted: rgb(0x57606a), Grid: rgb(0xd8dee4), Paper: rgb(0xffffff),
		Good: rgb(0x1a7f37), Warn: rgb(0x9a6700), Bad: rgb(0xcf222e),
		S1: rgb(0x0b62a4), S2: rgb(0xc2410c), S3: rgb(0x0a7d55), S4: rgb(0xa8327e),
		S5: rgb(0x8a6a00), S6: rgb(0x5b4bb7), S7: rgb(0x0e7490), S8: rgb(0x525252),
	}
	Dark = Theme{
		Text: rgb(0xeceef2), Muted: rgb(0x9da7b3), Grid: rgb(0x333943), Paper: rgb(0x171a20),
		Good: rgb(0x4ac26b), Warn: rgb(0xd4a72c), Bad: rgb(0xff7b72),
		S1: rgb(0x6cb4f2), S2: rgb(0xff9a62), S3: rgb(0x4fd1a1), S4: rgb(0xf28ac8),
		S5: rgb(0xe3c14a), S6: rgb(0xb0a4ff), S7: rgb(0x5fd3e8), S8: rgb(0xbdbdbd),
	}
)

// Inks are all of them, in a fixed order.
func Inks() []Ink {
	return append([]Ink{Text, Muted, Grid, Paper, Good, Warn, Bad}, seriesInks...)
}
