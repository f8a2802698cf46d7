package grade_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/grade"
)

var (
	reference = flag.String("reference", "", "a python3 with lighteval, latex2sympy2_extended and sympy: compare with them")
	answers   = flag.Int("answers", 2000, "how many answers of each kind are compared")
)

// maker makes answers that models give: a value in one of many forms, in a sentence, with
// something before it and behind it.
type maker struct{ *rand.Rand }

func (m maker) pick(list ...string) string { return list[m.IntN(len(list))] }

// forms are values, each in forms that are equal.
func forms() [][]string {
	return [][]string{
		{`204`, `0204`, `408/2`, `\frac{408}{2}`, `204.0`, `2 \cdot 102`},
		{`1000`, `1,000`, `10^3`, `10^{3}`},
		{`-3`, `-\frac{6}{2}`, `-3.0`},
		{`\frac{1}{3}`, `1/3`, `0.33333`, `\dfrac{1}{3}`, `\frac13`, `\frac{2}{6}`},
		{`0.3333`},
		{`\frac{3}{4}`, `0.75`, `3/4`, `\tfrac34`},
		{`\sqrt{2}`, `2^{1/2}`, `\sqrt2`},
		{`1.4142`},
		{`50\%`, `0.5`, `\frac{1}{2}`},
		{`2\sqrt{3}`, `\sqrt{12}`},
		{`\pi`, `\frac{2\pi}{2}`},
		{`3.14`},
		{`2\pi r`, `2 r \pi`},
		{`x+y`, `y+x`},
		{`x-y`},
		{`(x+1)^2`, `x^2+2x+1`},
		{`x^2-1`, `(x-1)(x+1)`},
		{`\frac{x+2}{7}`, `\frac{x}{7}+\frac{2}{7}`},
		{`(1,2)`, `(1, 2)`},
		{`(2,1)`},
		{`[1,2]`},
		{`[1,2)`},
		{`(-\infty,3]`},
		{`1,2`, `2,1`, `1 \text{ and } 2`, `\{1,2\}`},
		{`1,2,3`, `3, 2, 1`},
		{`(1,2,3)`},
		{`x=3`, `3`},
		{`y=2x+3`},
		{`y=2x-3`},
		{`x<3`},
		{`x \le 3`},
		{`1<x<2`},
		{`\begin{pmatrix}1\\2\end{pmatrix}`, `\begin{pmatrix} 1 \\ 2 \end{pmatrix}`},
		{`\begin{pmatrix}1&2\\3&4\end{pmatrix}`},
		{`\text{Friday}`},
		{`\text{Monday}`},
		{`\text{even}`},
		{`(0,1)\cup(2,3)`},
		{`5\pm\sqrt{2}`, `5+\sqrt{2}, 5-\sqrt{2}`},
		{`90^\circ`, `90`},
		{`5\text{ cm}`, `5`},
		{`\$5`, `5`},
		{`\emptyset`},
		{`\infty`},
		{`2^{10}`, `1024`},
		{`12!`, `479001600`},
		{`\binom{5}{2}`, `10`},
		{`\log_2 8`, `3`},
		{`\sin x`},
		{`\cos x`},
		{`2+3i`, `3i+2`},
		{`x_1+x_2`},
		{`7`},
		{`42`},
		{`0`},
		{`1\frac{1}{2}`, `\frac{3}{2}`, `1.5`},
		{`3:4`, `\frac{3}{4}`},
		{`6.02`},
		{`\frac{\pi}{3}`},
		{`2^n`},
		{`ABC`},
		{`\left( 3, \frac{\pi}{2} \right)`, `(3,\pi/2)`},
		{`6 - 5i`, `-5i+6`},
		{`3\sqrt{13}`, `\sqrt{117}`},
		{`p - q`, `-q+p`},
		{`10,\!080`, `10080`, `10{,}080`},
		{`\$32,\!348`, `32348`},
		{`x^3+3x-6`, `3x + x^3 - 6`},
		{`(3,4]`},
		{`[-2,7]`},
		{`\frac{1 + \sqrt{5}}{4}`, `\frac{\sqrt5+1}{4}`},
		{`1,-2`, `-2, 1`},
		{`\{1\pm\sqrt{5},-2\}`},
		{`4210_{5}`},
		{`52_8`},
		{`\begin{pmatrix} 1/5 \\ -18/5 \end{pmatrix}`, `\begin{pmatrix} 0.2 \\ -3.6 \end{pmatrix}`},
		{`5.4 \text{ cents}`, `5.4`},
		{`(-\infty, 2) \cup (3, \infty)`, `(3,\infty)\cup(-\infty,2)`},
		{`\text{June 20}`},
		{`(6,31,-1)`},
		{`-16x^2`},
		{`\frac{\sqrt{3}}{3}`, `\frac{1}{\sqrt{3}}`},
		{`0.\overline{1}`},
		{`120^\circ`, `120`},
		{`x \geq 2`, `x\ge2`},
		{`3R^2`},
		{`\left\{ 2, 3 \right\}`, `2,3`},
		{`y = -2x`},
		{`x=1, x=2`, `x=1 \text{ or } x=2`},
		{`a+bi`},
		{`\frac{x}{y}`, `x/y`},
		{`\ln 2`},
		{`\frac{1}{2}\ln 4`},
		{`e^2`},
		{`2e`},
		{`f(x)=x^2`},
		{`k`},
		{`\theta`},
		{`\frac{a^2-b^2}{a-b}`, `a+b`},
		{`\tan 45^\circ`},
		{`100!`},
		{`2^{100}`},
		{`2^{-1}`},
		{`(a,b)`},
		{`8\pi\text{ cm}^2`, `8\pi`},
		{`12\%`},
		{`\frac{12}{100}`},
	}
}

// value is a form of value i, or of one near it.
func (m maker) value(i int) string {
	all := forms()
	if m.IntN(3) == 0 {
		i = m.IntN(len(all))
	}
	return m.pick(all[i]...)
}

func (m maker) math(v string) string {
	bare := m.pick(v, "$"+v+"$", `\(`+v+`\)`, `$$`+v+`$$`, `\[`+v+`\]`, `\boxed{`+v+`}`, `$\boxed{`+v+`}$`, `**`+v+`**`)
	return m.pick("", "", "We compute $x=17$ first. ", "Step 1: 3+4=7.\n", "So 12 apples, then ") + m.pick(
		bare, "The answer is "+bare+".", "Answer: "+bare, "the final answer is "+bare+". I hope it is correct.",
		"Final Answer: "+bare, "answer = "+bare, "Thus, "+bare+" is it", "\nThe final answer is: "+bare, "Therefore "+bare,
		"**Answer:** "+bare, bare+" "+m.pick("meters", "because 2 is even", "or so", "cm")) +
		m.pick("", "", "", ".", "\n", " Done.", " (see 3 above)")
}

func (m maker) letter() string {
	l := m.pick("A", "B", "C", "D", "D", "E", "J", "b", "I", "")
	w := m.pick(l, "("+l+")", "**"+l+"**", l+".", l+")", "$"+l+"$", `\boxed{`+l+`}`, l+" because", "["+l+"]")
	return m.pick("", "", "I think ", "A cat sat.\n", "Option B is wrong.\n", "\n") +
		m.pick(w, "The answer is "+w, "answer is "+w, "Answer: "+w, "answer:"+w, "The final answer is "+w+". I hope so",
			"Final answer: "+w, "so "+w+" it is", "**Answer: "+w+"**", "Answer "+w) +
		m.pick("", "", ".", "\n", " done", "\nB is not", ", I am sure")
}

func (m maker) number() string {
	n := m.pick("7", "-7", "7.0", "1,234", "1234", "12.50", "0", ".5", "5.", "3-7", "x-7", "$7", "7%", "1.2.3", "")
	return m.pick("", "2+2=4 ", "First 12, ", "#### 3\n") + m.pick(n, "#### "+n, "####"+n, "The answer is "+n, "so "+n+" dollars") +
		m.pick("", ".", " done", "\n", "!")
}

// truth of a kind, and an answer to it.
func (m maker) pair(grader string) (answer, truth string) {
	i := m.IntN(len(forms()))
	switch grader {
	case "lighteval_expr":
		truth = m.pick("204", "1000", "3", "-3", "0.75", "1/3", "1024", "5", "90", "42", "7")
		if m.IntN(2) == 0 {
			return m.math(m.pick(truth, truth, truth+".0", "0"+truth, truth+"%", truth+"/1")), truth
		}
		return m.math(m.value(i)), truth
	case "math":
		return m.math(m.value(i)), m.pick(forms()[i]...)
	case "lighteval_latex":
		return m.math(m.value(i)), m.pick("so ", "Thus the result is ", "We get 5, hence ") + `$\boxed{` + m.pick(forms()[i]...) + `}$` + m.pick("", ".")
	case "lighteval_gsm8k":
		return m.number(), m.pick("x\n#### 7", "#### -7", "#### 1,234", "#### 12.5", "none")
	case "multiple_choice":
		return m.letter(), " " + m.pick("A", "B", "C", "D")
	case "mmlu_pro":
		return m.letter(), m.pick("A", "B", "E", "I", "J")
	}
	return m.letter(), m.pick("A", "B", "C", "D")
}

// agreed are the differences that are meant, by what they are: where we find equal what
// the implementation does not.
var agreed = []struct {
	what   string
	grader string
	either string // in the answer or the truth
}{
	{"what stands between \\[ and \\] behind a phrase is read", "math", `\[`},
	{"a logarithm to a base is a number", "math", `\log`},
	{"10^3 is a power", "math", "10^3"},
	{"values with or between them are a list", "math", `\text{ or }`},
	{"a set is one in braces or without", "math", `\{`},
}

// meant is the difference that is meant, "" for none.
func meant(grader, answer, truth string) string {
	for _, d := range agreed {
		if d.grader == grader && strings.Contains(answer+truth, d.either) {
			return d.what
		}
	}
	return ""
}

// Answers of many forms are graded as the implementations grade that AIPerf's graders are
// made of. What differs is counted by what it is; a difference that is not a doubt of
// ours fails.
func TestAgainstReference(t *testing.T) {
	if *reference == "" {
		t.Skip("-reference names a python3 with lighteval, latex2sympy2_extended and sympy")
	}
	for _, name := range grade.Names() {
		if slices.Contains([]string{"code_execution", "exact_match", grade.Plugin}, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := maker{rand.New(rand.NewPCG(1, uint64(len(name))))}
			var in bytes.Buffer
			var pairs [][2]string
			for range *answers {
				answer, truth := m.pair(name)
				pairs = append(pairs, [2]string{answer, truth})
				line, _ := json.Marshal([]string{name, answer, truth})
				in.Write(append(line, '\n'))
			}
			cmd := exec.CommandContext(t.Context(), *reference, "testdata/reference.py")
			cmd.Stdin, cmd.Stderr = &in, os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			g, err := grade.Named(name, grade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			count := map[string]int{}
			lines := bufio.NewScanner(bytes.NewReader(out))
			lines.Buffer(nil, 1<<20)
			n := 0
			for ; lines.Scan(); n++ {
				var said []any
				if err := json.Unmarshal(lines.Bytes(), &said); err != nil || n >= len(pairs) {
					t.Fatal(err, n)
				}
				j := g.Grade(pairs[n][0], pairs[n][1])
				want := said[0].(bool)
				key := fmt.Sprintf("%s, reference %t", j.Outcome, want)
				count[key]++
				if j.Passed() == want || !want && j.Outcome == grade.NotJudged {
					continue
				}
				if what := meant(name, pairs[n][0], pairs[n][1]); what != "" && !want {
					count[what]++
				} else {
					t.Errorf("%q against %q: %s %s, reference %t of %.150v", pairs[n][0], pairs[n][1], j.Outcome, j.Reason, want, said[1])
				}
			}
			if n != *answers {
				t.Errorf("%d answers compared", n)
			}
			t.Log(strings.TrimPrefix(fmt.Sprint(count), "map"))
		})
	}
}
