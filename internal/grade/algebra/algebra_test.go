package algebra_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/grade/algebra"
)

func compare(t testing.TB, r algebra.Rule, a, b string) algebra.Verdict {
	t.Helper()
	x, err := algebra.Parse(a)
	if err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	y, err := algebra.Parse(b)
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	return r.Compare(x, y)
}

func TestCompare(t *testing.T) {
	t.Parallel()
	exact, places, close := algebra.Rule{}, algebra.Rule{Places: 5}, algebra.Rule{Close: 1e-4}
	const same, different, unknown = algebra.Same, algebra.Different, algebra.Unknown
	for _, c := range []struct {
		rule algebra.Rule
		a, b string
		want algebra.Verdict
	}{
		{exact, `204`, `0204`, same},
		{exact, `1,000`, `1000`, same},
		{exact, `10{,}000`, `10000`, same},
		{exact, `\frac{1}{2}`, `0.5`, same},
		{exact, `\frac12`, `\dfrac{2}{4}`, same},
		{exact, `\frac{1}{2}`, `0.51`, different},
		{exact, `1\frac{1}{2}`, `\frac{3}{2}`, same},
		{exact, `50\%`, `0.5`, same},
		{exact, `\sqrt{2}`, `2^{1/2}`, same},
		{exact, `\sqrt2\sqrt3`, `\sqrt{6}`, same},
		{exact, `\frac{\sqrt{2}}{2}`, `\frac{1}{\sqrt{2}}`, same},
		{exact, `\sqrt[3]{8}`, `2`, same},
		{exact, `\sqrt{2}`, `1.41421`, different},
		{close, `\sqrt{2}`, `1.41421`, same},
		{close, `2\pi`, `6.28318`, same},
		{close, `0.333`, `\frac{1}{3}`, different},
		{places, `\frac{1}{3}`, `0.33333`, same},
		{places, `\frac{1}{3}`, `0.3333`, different},
		{exact, `(x+1)^2`, `x^2+2x+1`, same},
		{exact, `(x+1)^{100}`, `(1+x)^{100}`, same},
		{exact, `(x+1)^{100}`, `(1+x)^{101}`, different},
		{exact, `\frac{x^2-1}{x-1}`, `x+1`, same},
		{exact, `x+y`, `y+x`, same},
		{exact, `x+y`, `x-y`, different},
		{exact, `2x(x+1)`, `2x^2+2x`, same},
		{exact, `\sin^2 x+\cos^2 x`, `1`, same},
		{exact, `\tan x`, `\frac{\sin x}{\cos x}`, same},
		{exact, `\log_2 8`, `3`, same},
		{exact, `e^{i\pi}`, `-1`, same},
		{exact, `2^n\cdot 2`, `2^{n+1}`, same},
		{exact, `5!`, `120`, same},
		{exact, `\binom{5}{2}`, `10`, same},
		{exact, `1,2,3`, `3,2,1`, same},
		{exact, `1,2,3`, `3,2`, different},
		{exact, `1 \text{ and } 2`, `2, 1`, same},
		{exact, `\{1,2\}`, `2,1`, same},
		{exact, `(1,2)`, `(2,1)`, different},
		{exact, `(1,2)`, `1,2`, same},
		{exact, `(1,2,3)`, `(1,2,3)`, same},
		{exact, `[1,2)`, `[1,2]`, different},
		{exact, `[1,2)`, `[1,\frac{4}{2})`, same},
		{exact, `(-\infty,3]`, `x\le 3`, different},
		{exact, `x\le 3`, `(-\infty,3]`, same},
		{exact, `1<x<2`, `(1,2)`, same},
		{exact, `(0,1)\cup(2,\infty)`, `(2,\infty)\cup(0,1)`, same},
		{exact, `(0,1)\cup(2,\infty)`, `(2,\infty)\cup(0,3)`, different},
		{exact, `x\in[1,2]`, `[1,2]`, same},
		{exact, `5\pm\sqrt2`, `5-\sqrt2, 5+\sqrt2`, same},
		{exact, `x=3`, `3`, same},
		{exact, `3`, `x=3`, same},
		{exact, `y=2x+3`, `y-3=2x`, same},
		{exact, `y=2x+3`, `2y=4x+6`, unknown},
		{exact, `y=2x+3`, `y=2x+4`, different},
		{exact, `x<3`, `3>x`, same},
		{exact, `x<3`, `x\le 3`, different},
		{exact, `1<x<2`, `2>x>1`, same},
		{exact, `\begin{pmatrix}1\\2\end{pmatrix}`, `\begin{pmatrix} 1 \\ \frac{4}{2} \end{pmatrix}`, same},
		{exact, `\begin{pmatrix}1&2\end{pmatrix}`, `\begin{pmatrix}1\\2\end{pmatrix}`, different},
		{exact, `\text{Friday}`, `friday`, same},
		{exact, `\text{Friday}`, `\text{Monday}`, different},
		{exact, `\text{Friday}`, `5`, different},
		{exact, `90^\circ`, `90`, same},
		{exact, `\emptyset`, `\{\}`, same},
		{exact, `\infty`, `\infty`, same},
		{exact, `-\infty`, `\infty`, different},
		{exact, `\frac{1}{0}`, `2`, unknown},
		{exact, `10^{10^{10}}`, `10^{10^{10}}+1`, different},
		{exact, `10^{10^{10}}`, `10\cdot 10^{10^{10}-1}`, same},
		{exact, `10^10^10^10`, `7`, unknown},
		{exact, `2^{100}`, `1267650600228229401496703205376`, same},
		{exact, `2^{100}`, `1267650600228229401496703205377`, different},
		{exact, `1:2`, `\frac{1}{2}`, same},
		{exact, `|-3|`, `3`, same},
		{exact, `x_1+x_2`, `x_2+x_1`, same},
		{exact, `2^{-1}`, `\frac{1}{2}`, same},
		{exact, `3\times10^5`, `300000`, same},
		{exact, `0.\overline{3}`, `\frac{1}{3}`, same},
		{exact, `0.1\overline{6}`, `\frac{1}{6}`, same},
		{exact, `1.\overline{09}`, `\frac{12}{11}`, same},
		{exact, `0.\overline{1}`, `0`, different},
		{exact, `\overline{AB}`, `\overline{AB}`, same},
		{exact, `2\pir`, `2 r \pi`, same},
		{exact, `2\cdotx`, `2x`, same},
		{exact, `\alpha+\beta`, `\beta + \alpha`, same},
		{exact, `\theta`, `θ`, same},
	} {
		if got := compare(t, c.rule, c.a, c.b); got != c.want {
			t.Errorf("%s against %s: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

// What is too long, too deep or no expression is refused, at once.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "(", ")", `\frac{1}`, `\boxed{`, `\text{a`, "1 +", "a^", `\begin{cases}1\end{cases}`, `\int x`, `\foo`, `\foox`,
		strings.Repeat("(", 200) + "1" + strings.Repeat(")", 200), strings.Repeat("(", 100_000),
		strings.Repeat(`\frac`, 300) + "12", strings.Repeat(`\sqrt`, 300) + "2", strings.Repeat("9", 2000),
		strings.Repeat("1+", 100_000) + "1", strings.Repeat("|", 300), "2" + strings.Repeat("^2", 300), "\xff",
	} {
		if e, err := algebra.Parse(text); err == nil {
			t.Errorf("%.40q: %s", text, e)
		}
	}
}

// Sets of sets could be compared in as many ways as there are orders: the effort ends, and
// what is not known then is said to be unknown. It is counted, not timed.
func TestEffortEnds(t *testing.T) {
	t.Parallel()
	set := func(leaf string) string {
		s := leaf
		for i := range 7 {
			s = `\{` + s + `,` + s + `+` + strings.Repeat("1", i+1) + `\}`
		}
		return s
	}
	a, b := set("x"), set("y")
	x, err := algebra.Parse(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := algebra.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	verdict, used := algebra.Effort(algebra.Rule{}, x, y)
	if verdict != algebra.Unknown || used < algebra.MostEffort/2 || used > algebra.MostEffort {
		t.Errorf("%d after %d steps", verdict, used)
	}
	var wide []string
	for i := range 60 {
		wide = append(wide, strings.Repeat("x+", 10)+strings.Repeat("1", i+1))
	}
	if x, err = algebra.Parse(strings.Join(wide, ",")); err != nil {
		t.Fatal(err)
	}
	if y, err = algebra.Parse("0," + strings.Join(wide[:20], ",")); err != nil {
		t.Fatal(err)
	}
	if verdict, used = algebra.Effort(algebra.Rule{}, x, y); verdict == algebra.Same || used > algebra.MostEffort {
		t.Errorf("%d after %d steps", verdict, used)
	}
}

func FuzzCompare(f *testing.F) {
	for _, s := range []string{`\frac12+x`, `(1,2]\cup\{3\}`, `x^2=1`, `\begin{pmatrix}1&2\\3&4\end{pmatrix}`, `5\pm\sqrt[3]{2}`, `|x|!%`} {
		f.Add(s, `1,2 and 3`)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, err := algebra.Parse(a)
		if err != nil {
			return
		}
		if got := (algebra.Rule{}).Compare(x, x); got != algebra.Same && !strings.Contains(x.String(), "~") {
			t.Errorf("%q is not itself: %d", a, got)
		}
		y, err := algebra.Parse(b)
		if err == nil {
			algebra.Rule{Places: 5}.Compare(x, y)
			algebra.Rule{Close: 1e-4}.Compare(y, x)
		}
	})
}
