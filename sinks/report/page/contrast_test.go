package page

import (
	"fmt"
	"image/color"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// luminance is that of a colour (WCAG 2.2).
func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// contrast is the ratio of two colours, from 1 to 21 (WCAG 2.2).
func contrast(a, b color.RGBA) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// variable is a colour of the page by its name: --muted:#57606a.
var variable = regexp.MustCompile(`--([a-z-]+):#([0-9a-f]{3,6})\b`)

// schemes are the colours of the page on a light screen, on a dark one and on paper.
func schemes(t *testing.T) map[string]map[string]color.RGBA {
	t.Helper()
	out := map[string]map[string]color.RGBA{}
	for name, from := range map[string]string{
		"light": ":root{color-scheme:light dark;", "dark": "@media(prefers-color-scheme:dark){:root{",
		"print": "@media print{:root{",
	} {
		_, text, ok := strings.Cut(style, from)
		if !ok {
			t.Fatalf("page.css has no %s", from)
		}
		text, _, _ = strings.Cut(text, "}")
		out[name] = map[string]color.RGBA{}
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			hex := m[2]
			if len(hex) == 3 {
				hex = fmt.Sprintf("%[1]c%[1]c%[2]c%[2]c%[3]c%[3]c", hex[0], hex[1], hex[2])
			}
			v, err := strconv.ParseUint(hex, 16, 24)
			if err != nil {
				t.Fatal(err)
			}
			out[name][m[1]] = color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
		}
	}
	return out
}

// Words of the page stand out from what they lie on by 4.5 to 1, in each scheme.
func TestContrastOfThePage(t *testing.T) {
	t.Parallel()
	all := schemes(t)
	for name, of := range all {
		for ground, words := range map[string][]string{
			"ground": {"text", "muted", "link", "good", "warn", "bad"},
			"paper":  {"text", "muted", "link", "good", "warn", "bad"},
			"soft":   {"text", "muted", "link", "good", "warn", "bad"}, // a row below the pointer
			"goodbg": {"text", "muted", "link", "good", "warn", "bad"}, // the row of the best cell
			"warnbg": {"warn"}, "badbg": {"bad"},
			"text": {"paper"}, // the words at the pointer
		} {
			for _, word := range words {
				a, ok := of[word]
				b, there := of[ground]
				if !ok || !there {
					t.Fatalf("%s: no colour --%s or --%s", name, word, ground)
				}
				if got := contrast(a, b); got < 4.5 {
					t.Errorf("%s: --%s on --%s has a contrast of %.2f", name, word, ground, got)
				}
			}
		}
	}
}

// Words of charts stand out from their paper by 4.5 to 1, lines and signs by 3 to 1.
func TestContrastOfCharts(t *testing.T) {
	t.Parallel()
	for name, theme := range map[string]draw.Theme{"light": draw.Light, "dark": draw.Dark} {
		for _, ink := range draw.Inks() {
			least := 3.0
			switch ink {
			case draw.Grid, draw.Paper:
				continue
			case draw.Text, draw.Muted, draw.Good, draw.Warn, draw.Bad:
				least = 4.5
			}
			if got := contrast(theme[ink], theme[draw.Paper]); got < least {
				t.Errorf("%s: %s has a contrast of %.2f, want %.1f", name, ink, got, least)
			}
		}
	}
}
