package draw_test

import (
	"bytes"
	"encoding/xml"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sinks/report/chart/draw"
)

// sample has everything a chart can have.
func sample() *draw.Chart {
	p := func(x, y, lo, hi float64) draw.Point {
		return draw.Point{
			X: x, Y: y, Low: lo, High: hi,
			Title: "conc " + strconv.Itoa(int(x)) + ": " + strconv.Itoa(int(y)) + " ms",
		}
	}
	hollow, taint := p(16, 95, 80, 130), p(8, 60, 55, 66)
	hollow.Hollow, taint.Taint = true, "dispatch_lateness"
	return &draw.Chart{
		ID: "sample", Title: "TTFT against load <script>alert(1)</script>", Question: "When does it get slow?",
		Footer: "n = 400 a run · 5 trials · steady window · VALID · aiperf devel · plan 1f0c9b",
		Panels: []draw.Panel{{
			X: draw.Axis{Label: "concurrency (requests)", Log: true}, Y: draw.Axis{Label: "TTFT (ms)", Zero: true},
			Series: []draw.Series{
				{Name: "p50", Ink: draw.S1, Line: true, Ribbon: true, Points: []draw.Point{p(1, 20, 19, 21), p(2, 21, 20, 22), p(4, 25, 22, 29), p(8, 40, 36, 44), p(16, 70, 60, 80)}},
				{Name: "p99", Ink: draw.S2, Shape: 1, Dash: draw.Dashed, Line: true, Points: []draw.Point{p(1, 30, 28, 33), p(2, 33, 30, 36), {X: 4, Y: math.NaN()}, taint, hollow}},
			},
			Marks: []draw.Mark{
				{At: 100, To: 100, Label: "SLO 100 ms"},
				{Vertical: true, At: 6, To: 16, Label: "over the knee"},
			},
		}, {
			X: draw.Axis{Label: "time (s)"}, Y: draw.Axis{Label: "requests"}, Height: 0.6,
			Series: []draw.Series{{
				Name: "missed TTFT", Ink: draw.Bad,
				Rects: []draw.Rect{
					{X0: 0, X1: 1, Y0: 0, Y1: 3, Title: "3"},
					{X0: 1, X1: 2, Y0: 0, Y1: 5, Shade: 0.5},
				},
			}},
		}},
	}
}

// An SVG is sound XML, carries each point's words, and keeps hostile text inert.
func TestSVG(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string][]byte{
		"file":   draw.SVG(sample(), draw.Usual, draw.Light),
		"inline": draw.Inline(sample(), draw.Usual),
	} {
		d := xml.NewDecoder(bytes.NewReader(doc))
		titles := 0
		for {
			tok, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, ok := tok.(xml.StartElement); ok {
				if e.Name.Local == "script" {
					t.Errorf("%s: a script came through", name)
				}
				if e.Name.Local == "title" {
					titles++
				}
			}
		}
		if titles < 9 {
			t.Errorf("%s: %d titles, want one a point", name, titles)
		}
		if bytes.Contains(doc, []byte("NaN")) {
			t.Errorf("%s: a NaN among the coordinates", name)
		}
	}
}

func TestSameInputSameBytes(t *testing.T) {
	t.Parallel()
	a, err := draw.PNG(sample(), draw.Usual, draw.Dark)
	if err != nil {
		t.Fatal(err)
	}
	b, _ := draw.PNG(sample(), draw.Usual, draw.Dark)
	if !bytes.Equal(a, b) || !bytes.Equal(draw.SVG(sample(), draw.Usual, draw.Dark),
		draw.SVG(sample(), draw.Usual, draw.Dark)) {
		t.Error("the same chart gave other bytes")
	}
	img, err := png.Decode(bytes.NewReader(a))
	if err != nil {
		t.Fatal(err)
	}
	if b := img.Bounds(); b.Dx() != 1440 || b.Dy() != 920 {
		t.Errorf("%v, want 1440 × 920", b)
	}
	ink := 0
	for x := range 1440 {
		for y := range 920 {
			if r, g, b, _ := img.At(x, y).RGBA(); [3]uint32{r >> 8, g >> 8, b >> 8} == [3]uint32{0x6c, 0xb4, 0xf2} {
				ink++
			}
		}
	}
	if ink < 500 {
		t.Errorf("%d pixels in the colour of the first series", ink)
	}
	if dir := os.Getenv("DRAW_DIR"); dir != "" { // to look at
		light, _ := draw.PNG(sample(), draw.Usual, draw.Light)
		_ = os.WriteFile(filepath.Join(dir, "light.png"), light, 0o644)
		_ = os.WriteFile(filepath.Join(dir, "dark.png"), a, 0o644)
		_ = os.WriteFile(filepath.Join(dir, "light.svg"), draw.SVG(sample(), draw.Usual, draw.Light), 0o644)
	}
}

// A chart that cannot be drawn says why in words.
func TestMissing(t *testing.T) {
	t.Parallel()
	doc := string(draw.SVG(&draw.Chart{ID: "cost", Title: "Cost", Missing: "no price: cost: {gpu_hour: 2.5}"},
		draw.Usual, draw.Light))
	if !strings.Contains(doc, "not drawn: no price") {
		t.Error(doc)
	}
}

// Values that no axis can hold do not take the picture down.
func TestStrangeValues(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	for _, a := range []draw.Axis{{}, {Log: true}, {Wide: true, Least: 0.2, Reach: 3}, {Zero: true}} {
		for _, pts := range [][]draw.Point{
			nil,
			{draw.At(1, inf, "")},
			{draw.At(0, 0, "")},
			{draw.At(-1, -5, ""), draw.At(inf, 2, "")},
			{draw.At(1, 1e300, ""), draw.At(2, 1e-300, "")},
		} {
			c := &draw.Chart{ID: "x", Panels: []draw.Panel{{
				X: a, Y: a,
				Series: []draw.Series{{Ink: draw.S1, Line: true, Points: pts}},
			}}}
			if doc := draw.SVG(c, draw.Usual, draw.Light); bytes.Contains(doc, []byte("NaN")) ||
				bytes.Contains(doc, []byte("Inf")) {
				t.Errorf("axis %+v, points %v: %s", a, pts, doc)
			}
			if _, err := draw.PNG(c, draw.Size{W: 200, H: 150}, draw.Light); err != nil {
				t.Error(err)
			}
		}
	}
}

// Words find a place that is free: beside lines, points and each other, at any width.
// Where there is none, a mark's words stand above the panel.
func TestNoWordLiesOnAnything(t *testing.T) {
	t.Parallel()
	crowded := sample()
	var pts []draw.Point
	for i := range 40 {
		p := draw.At(float64(i), float64(i%2*100), "")
		p.Label = strconv.Itoa(i)
		pts = append(pts, p)
	}
	crowded.Panels = []draw.Panel{{
		X: draw.Axis{Label: "time (s)"}, Y: draw.Axis{Label: "ms"},
		Series: []draw.Series{{Name: "zigzag", Ink: draw.S1, Line: true, Points: pts}},
		Marks: []draw.Mark{
			{At: 50, To: 50, Label: "a limit in the middle of it all"},
			{Vertical: true, At: 5, To: 30, Label: "steady"},
			{Vertical: true, At: 39, To: 39, Label: "knee"},
		},
	}}
	names := sample()
	names.Panels[1].X = draw.Axis{Names: true, Label: "concurrency"}
	for i := range 12 {
		tick := draw.Tick{
			At: float64(i), Label: "http://gpu-" + strconv.Itoa(i) + ":8000/v1",
			Group: "isl " + strconv.Itoa(i/4*512) + draw.Break + "a data set with a long name",
		}
		names.Panels[1].X.Ticks = append(names.Panels[1].X.Ticks, tick)
	}
	rows := sample()
	rows.Panels = []draw.Panel{{
		X: draw.Axis{Label: "change (%)"}, Marks: []draw.Mark{{Vertical: true, At: -5, To: 5}, {Vertical: true}},
		Rows: []draw.Row{
			{Name: "TTFT p50", Said: "← better", Heading: true},
			{Name: "isl 128 · candidate with a name of its own", Said: "−12.5 % [−14.1, −10.9]", Value: -12.5, Low: -14.1, High: -10.9, Ink: draw.Good},
			{Name: "isl 512", Said: "+900 % [−80, +9000]", Value: 900, Low: -80, High: 9000, Ink: draw.S8},
		},
	}}
	for name, c := range map[string]*draw.Chart{"sample": sample(), "crowded": crowded, "names": names, "rows": rows} {
		for _, width := range []float64{345, 720, 1040} {
			for _, found := range draw.Overlaps(c, draw.SizeIn(width, c)) {
				t.Errorf("%s, %.0f pixels wide: %s", name, width, found)
			}
			if doc := string(draw.SVG(c, draw.SizeIn(width, c), draw.Light)); name == "crowded" &&
				!strings.Contains(doc, ">a limit in the middle of it all<") {
				t.Errorf("%.0f pixels wide: the words of the limit are lost", width)
			}
		}
	}
	// What the rule is held with finds what breaks it: panels of which nothing is left.
	if found := draw.Overlaps(sample(), draw.Size{W: 300, H: 120}); len(found) == 0 {
		t.Error("nothing is found in a picture without room")
	}
}

// A line of a footer ends with a dot between two things and does not begin with one.
func TestNoLineBeginsWithADot(t *testing.T) {
	t.Parallel()
	c, ends := sample(), 0
	for width := 240.0; width < 345; width += 5 {
		doc := string(draw.SVG(c, draw.SizeIn(width, c), draw.Light))
		if ends += strings.Count(doc, " ·<"); strings.Contains(doc, ">·") {
			t.Errorf("%.0f pixels wide: a line begins with a dot", width)
		}
	}
	if ends == 0 {
		t.Error("no line was broken at a dot")
	}
}

// Values far apart have a logarithmic axis, which says so.
func TestWideAxis(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		high float64
		want string
	}{{19, ">TTFT (ms)<"}, {21, ">TTFT (ms, log)<"}} {
		doc := string(draw.SVG(&draw.Chart{ID: "x", Panels: []draw.Panel{{
			Y:      draw.Axis{Label: "TTFT (ms)", Zero: true, Wide: true},
			Series: []draw.Series{{Ink: draw.S1, Points: []draw.Point{draw.At(1, 1, ""), draw.At(2, c.high, "")}}},
		}}}, draw.Usual, draw.Light))
		if !strings.Contains(doc, c.want) {
			t.Errorf("1 and %v: no %s", c.high, c.want)
		}
	}
}

// A point that lies above others is drawn after them, whichever series comes first.
func TestPointsAboveOthers(t *testing.T) {
	t.Parallel()
	front := draw.At(1, 1, "on the front")
	front.Above = true
	c := &draw.Chart{ID: "x", Title: "x", Panels: []draw.Panel{{Series: []draw.Series{
		{Name: "a", Ink: draw.S1, Points: []draw.Point{front}},
		{Name: "b", Ink: draw.S2, Points: []draw.Point{draw.At(1, 1, "behind it")}},
	}}}}
	text := string(draw.Inline(c, draw.SizeIn(580, c)))
	above, behind := strings.Index(text, "on the front"), strings.Index(text, "behind it")
	if behind < 0 || above < behind {
		t.Errorf("the one on the front is at %d, the other at %d", above, behind)
	}
}
