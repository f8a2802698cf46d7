package synth_test

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/loadgen/dataset/synth"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

func num(v float64) *float64 { return &v }

func counts(t *testing.T, s *schema.Shape, n int) []float64 {
	t.Helper()
	l, err := synth.NewLengths("x", s, synth.NewStream(7, "x"), 1e12)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, n)
	for i := range out {
		v, err := l.At(i, 0)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = float64(v)
	}
	slices.Sort(out)
	return out
}

// Each kind of distribution has the figures it was asked for. Seeds are fixed;
// tolerances are five standard errors of 20,000 draws.
func TestDistributions(t *testing.T) {
	t.Parallel()
	const n = 20000
	mean := func(v []float64) (m float64) {
		for _, x := range v {
			m += x
		}
		return m / float64(len(v))
	}
	within := func(what string, got, want, by float64) {
		if math.Abs(got-want) > by {
			t.Errorf("%s is %g, want %g ± %g", what, got, want, by)
		}
	}
	normal := counts(t, &schema.Shape{Mean: num(500), StdDev: num(50)}, n)
	within("the normal's mean", mean(normal), 500, 5*50/math.Sqrt(n))
	within("its 84th percentile", normal[n*8413/10000], 550, 4)
	log := counts(t, &schema.Shape{P50: num(200), P99: num(2000)}, n)
	within("the median of p50/p99", log[n/2], 200, 10)
	within("its 99th percentile", log[n*99/100], 2000, 200)
	two := counts(t, &schema.Shape{Mean: num(300), Median: num(200)}, n)
	within("the log-normal's median", two[n/2], 200, 8)
	within("its mean", mean(two), 300, 15)
	peaks := counts(t, &schema.Shape{Peaks: []schema.Shape{
		{Value: num(10), Weight: num(3)},
		{Value: num(100), Weight: num(1)},
	}}, n)
	within("the share of the larger peak", float64(n-slices.Index(peaks, 100))/n, 0.25, 5*math.Sqrt(0.25*0.75/n))
	points := counts(t, &schema.Shape{Points: []schema.Point{
		{Value: 1, Weight: num(1)},
		{Value: 5, Weight: num(1)},
		{Value: 9},
	}}, n)
	if got := slices.Compact(points); !slices.Equal(got, []float64{1, 5, 9}) {
		t.Errorf("points give %v", got)
	}
	if c := counts(t, &schema.Shape{Mean: num(3), StdDev: num(3), Min: num(2), Max: num(4)}, n); c[0] != 2 ||
		c[n-1] != 4 {
		t.Errorf("min 2 and max 4 give %g to %g", c[0], c[n-1])
	}
}

// A time may be shorter than half a second; a count is 1 at least.
func TestSeconds(t *testing.T) {
	t.Parallel()
	s := &schema.Shape{Mean: num(0.05), StdDev: num(0.03)}
	l, err := synth.NewSeconds("audio.length", s, synth.NewStream(7, "x"), 1e9)
	if err != nil {
		t.Fatal(err)
	}
	const n = 4000
	var sum float64
	for i := range n {
		v := l.Value(i, 0)
		if v < 0.01 {
			t.Fatalf("%g s is no recording", v)
		}
		sum += v
	}
	// The mean of this distribution cut off at 0.01 is 0.05 + 0.03·φ(4/3)/Φ(4/3) = 0.0554.
	if got := sum / n; math.Abs(got-0.0554) > 0.002 {
		t.Errorf("the mean is %g s, want 0.0554", got)
	}
	if _, err := synth.NewSeconds("audio.length", &schema.Shape{Mean: num(-1), StdDev: num(0.01)}, 1,
		1e9); err == nil || !strings.Contains(err.Error(), "below 0.02") {
		t.Errorf("lengths below none: %v", err)
	}
}

func TestShapesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shape schema.Shape
		want  string
	}{
		{schema.Shape{}, "no value, mean, median, p50, points or peaks"},
		{schema.Shape{StdDev: num(2)}, "stddev without mean"},
		{schema.Shape{Mean: num(-9), StdDev: num(1)}, "nearly all values are below 1"},
		{schema.Shape{Median: num(9), Mean: num(3)}, "mean ≥ median"},
		{schema.Shape{P50: num(9), P99: num(3)}, "p99 > p50"},
		{schema.Shape{Value: num(3), Min: num(5), Max: num(4)}, "min 5 is above max 4"},
		{schema.Shape{Peaks: []schema.Shape{{}}}, "peaks[0]"},
		{schema.Shape{Points: []schema.Point{{Value: 1, Weight: num(0)}}}, "all weights are 0"},
		{schema.Shape{Points: []schema.Point{{Value: 1, Weight: num(-1)}}}, "not a finite number from 0"},
	} {
		if _, err := synth.NewLengths("isl", &c.shape, 1, 1e6); err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "isl: ") {
			t.Errorf("%+v: error %v, want %q", c.shape, err, c.want)
		}
	}
	l, err := synth.NewLengths("isl", &schema.Shape{Value: num(100)}, 1, 99)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.At(0, 0); err == nil || err.Error() != "isl: a value of 100 is above the limit of 99" {
		t.Errorf("above the limit: %v", err)
	}
}

// Draws are reached by index: asking in another order changes nothing.
func TestDrawsAreReachedByIndex(t *testing.T) {
	t.Parallel()
	l, err := synth.NewLengths("x", &schema.Shape{Mean: num(1000), StdDev: num(300)}, synth.NewStream(3, "x"), 1e9)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		a, _ := l.At(i, 2)
		_, _ = l.At(99-i, 1)
		b, _ := l.At(i, 2)
		if a != b {
			t.Errorf("draw %d is %d, then %d", i, a, b)
		}
	}
	if a, b := synth.NewStream(3, "x"), synth.NewStream(3, "y"); a == b {
		t.Error("two names give one stream")
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, style string
		low, high   float64
	}{
		{"0.5", "vllm", 50, 150}, {"0.5", "sglang", 50, 100}, {`{"input": 0.25}`, "vllm", 75, 125}, {"0", "vllm", 100, 100}, {"0", "sglang", 1, 100},
	} {
		r, err := synth.ParseRange(c.text, c.style)
		if err != nil {
			t.Fatal(err)
		}
		l := r.Around("isl", 100, r.Input, synth.NewStream(1, c.text+c.style), 1e6)
		low, high := math.Inf(1), math.Inf(-1)
		for i := range 20000 {
			v, err := l.At(i, 0)
			if err != nil {
				t.Fatal(err)
			}
			low, high = min(low, float64(v)), max(high, float64(v))
		}
		if low != c.low || high != c.high {
			t.Errorf("%s of %s: %g to %g, want %g to %g", c.text, c.style, low, high, c.low, c.high)
		}
	}
	for _, bad := range []string{"2", "x", `{"input": 7}`, "[1]"} {
		if _, err := synth.ParseRange(bad, ""); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// Every corpus and vocabulary of ours gives texts of exactly the length asked
// for, and none begins like another.
func TestTextsAreExact(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "own.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("It was the best of times, it was the worst of times; 日本語 too.\n", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"o200k_base", "cl100k_base", "r50k_base"} {
		tok, err := tokenizer.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, corpus := range []struct{ name, file string }{
			{"sonnet", ""},
			{"coding", ""},
			{"random", ""},
			{"", file},
		} {
			c, err := synth.NewCorpus(corpus.name, corpus.file, tok)
			if err != nil {
				t.Fatal(err)
			}
			w := c.Writer(synth.NewStream(5, "text"))
			openings := map[string]bool{}
			for k, n := range []int{1, 2, 3, 17, 17, 100, 1000, 1000, 5000} {
				text := w.Text(k, n)
				if got := tok.Count(text); got != n {
					t.Errorf("%s, %v: a text of %d tokens has %d", name, corpus, n, got)
				}
				if again := w.Text(k, n); again != text {
					t.Errorf("%s, %v: text %d differs from itself", name, corpus, k)
				}
				if n > 1 {
					words := strings.Join(strings.Fields(text)[:2], " ")
					if openings[words] {
						t.Errorf("%s, %v: two texts begin with %q", name, corpus, words)
					}
					openings[words] = true
				}
			}
			head := w.Text(50, 64)
			if both := w.After(head, 64, 51, 36); tok.Count(both) != 100 || !strings.HasPrefix(both, head) {
				t.Errorf("%s, %v: 64 and 36 tokens are %d", name, corpus, tok.Count(both))
			}
			if w.Drift() != 0 {
				t.Errorf("%s, %v: %d texts miss their length", name, corpus, w.Drift())
			}
		}
	}
	tok, _ := tokenizer.Open("builtin")
	for what, content := range map[string]string{"holds no text": " \n", "not text in UTF-8": "\xff\xfe"} {
		bad := filepath.Join(t.TempDir(), "bad.txt")
		if err := os.WriteFile(bad, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := synth.NewCorpus("", bad, tok); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("a corpus file of %q: %v, want %q", content, err, what)
		}
	}
}

// spaceFirst puts a space before each text, as Llama 2's does: " word" alone is
// two tokens. Of the words only those that it knows are one.
type spaceFirst struct {
	tokenizer.Tokenizer
	knows func(word string) bool
}

func (s spaceFirst) Count(text string) int {
	n := 0
	for i, word := range strings.Split(text, " ") {
		switch {
		case word == "" && i > 0, word != "" && s.knows(word):
			n++
		case word != "":
			n += 2
		case text != "":
			n++
		}
	}
	return n
}

// Short texts have their length by such a vocabulary, too, even when it has
// hardly any of the words.
func TestShortTextsAreExact(t *testing.T) {
	t.Parallel()
	for name, knows := range map[string]func(string) bool{
		"half of the words": func(w string) bool { return len(w)%2 == 0 },
		"very few of them":  func(w string) bool { return strings.HasPrefix(w, "m") },
	} {
		tok := spaceFirst{knows: knows}
		c, err := synth.NewCorpus("sonnet", "", tok)
		if err != nil {
			t.Fatal(err)
		}
		w := c.Writer(synth.NewStream(5, "text"))
		missed := 0
		for k := range 600 {
			n := 1 + k%3
			if text := w.Text(k, n); tok.Count(text) != n {
				missed++
				t.Logf("%s: %q has %d tokens, not %d", name, text, tok.Count(text), n)
			}
		}
		if missed > 0 || w.Drift() > 0 {
			t.Errorf("%s: %d of 600 short texts miss their length, %d are known to", name, missed, w.Drift())
		}
	}
}
