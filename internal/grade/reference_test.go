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
	"runtime"
	"strings"
	"sync"
	"testing"

	"aiperf.dev/aiperf/internal/grade"
)

var (
	reference = flag.String("reference", "", "a python3 with AIPerf and what its graders are made of: compare with them")
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

// exact is a truth and an answer that may differ in space, case or a sign.
func (m maker) exact() (answer, truth string) {
	truth = m.pick("A", "Yes", "(B)", "valid", "( [ ] )", "apple pear", "-12", "naïve ✓", " 7 ", "x\n#### 7", "\u00a0No\u2003")
	other := m.pick(truth, truth, truth, "No", strings.ToLower(truth), truth+".", strings.ReplaceAll(truth, " ", ""), "")
	return m.pick("", "", " ", "\n", "\t ", "\u00a0", "\u2003", "\ufeff", "\x00") + other + m.pick("", "", " ", "\n\n", "\r\n", "\u3000", "\x1f", "\u200b"), truth
}

// problem is one of code, with programs that solve it and others that seem to.
type problem struct {
	function string
	tests    []string // pairs of input and output
	programs []string
}

var problems = []problem{
	{"", []string{"1 2", "3", "10 -20", "-10", "0 0", "0"}, []string{
		"print(sum(map(int, input().split())))", "a, b = map(int, input().split())\nprint(a + b)",
		"import sys\nprint(sum(int(x) for x in sys.stdin.read().split()))", "print(float(sum(map(int, input().split()))))",
		"def main():\n    a, b = input().split()\n    print(int(a) + int(b))\nif __name__ == '__main__':\n    main()",
		"print(3)", "a, b = input().split()\nprint(a + b)", "print(sum(map(int, input().split())), end='\\n\\n')",
		"print('', sum(map(int, input().split())), '')", "print('sum:', sum(map(int, input().split())))",
		"import sys\nline = sys.stdin.readline()\nprint(eval(line.replace(' ', '+')))", "print(", "raise ValueError('x')",
		"print(sum(map(int, input().split()))); exit()", "x = list(map(int, input().split()))\nprint(x[0] + x[1]); print(x)",
		"print('%.2e' % sum(map(int, input().split())))", "print(abs(sum(map(int, input().split()))))", "pass",
		"print(reduce(operator.add, map(int, input().split())))", "from functools import reduce\nprint(reduce(lambda a, b: a + b, map(int, input().split())))",
	}},
	{"", []string{"3\n1\n2\n3", "2\n4\n6", "1\n5", "10"}, []string{
		"for _ in range(int(input())):\n    print(2 * int(input()))", "n = int(input())\nprint('\\n'.join(str(2 * int(input())) for _ in range(n)))",
		"import sys\nfor x in sys.stdin.read().split()[1:]:\n    print(int(x) * 2)", "import sys\nfor x in sys.stdin:\n    print(int(x) * 2)",
		"n = int(input())\nfor i in range(n):\n    print(input())", "n = int(input())\nfor i in range(n):\n    print(2 * int(input()), end=' ')",
		"n = int(input())\nfor i in range(n + 1):\n    print(2 * int(input()))", "import sys\nfor x in sys.stdin.readlines()[1:]:\n    print(float(x) * 2)",
		"def f(k):\n    if k:\n        print(2 * int(input()))\n        f(k - 1)\nf(int(input()))", "n = int(input())\nprint([2 * int(input()) for _ in range(n)])",
	}},
	{"", []string{"3", "1.5", "4", "2"}, []string{
		"print(int(input()) / 2)", "print('%.1f' % (int(input()) / 2))", "print(int(input()) // 2)", "print(int(input()) * 5 / 10)",
		"from decimal import Decimal\nprint(Decimal(input()) / 2)", "from fractions import Fraction\nprint(Fraction(input()) / 2)", "print('1.50')",
		"print('%.3f' % (int(input()) / 2))", "print('+' + str(int(input()) / 2))", "print(str(int(input()) / 2).replace('.', ','))",
	}},
	{"total", []string{"1\n2", "3", "-1\n1", "0"}, []string{
		"class Solution:\n    def total(self, a, b):\n        return a + b", "def total(a, b):\n    return a + b", "total = lambda a, b: a + b",
		"class Solution:\n    def total(self, a: int, b: int) -> int:\n        print('noise')\n        return a + b", "def total(a, b):\n    return float(a + b)",
		"def total(a, b):\n    return str(a + b)", "def total(a, b):\n    return a - b", "def total(a, b):\n    pass", "def sum(a, b):\n    return a + b",
		"class Solution:\n    def plus(self, a, b):\n        return a + b", "class Solution:\n    def __init__(self):\n        self.z = 0\n    def total(self, a, b):\n        return a + b + self.z",
		"def total(a, b=5):\n    return a + b", "def total(a):\n    return a", "def total(a, b):\n    raise KeyError(a)", "def total(a, b):\n    return [a + b]",
	}},
	{"pairs", []string{"[1, 2]\n\"x\"", "[[1, \"x\"], [2, \"x\"]]", "[]\n\"\"", "[]"}, []string{
		"def pairs(a, s):\n    return [[x, s] for x in a]", "def pairs(a, s):\n    return [(x, s) for x in a]", "def pairs(a, s):\n    return tuple([x, s] for x in a)",
		"def pairs(a, s):\n    return ([x, s] for x in a)", "def pairs(a, s):\n    return list(map(lambda x: [float(x), s], a))", "def pairs(a, s):\n    return [[str(x), s] for x in a]",
		"class Solution:\n    def pairs(self, a: List[int], s: str):\n        return [[x, s] for x in a]", "def pairs(a, s):\n    return [[x, s] for x in a][::-1]", "def pairs(a, s):\n    return {x: s for x in a}",
	}},
	{"even", []string{"2", "true", "3", "false"}, []string{
		"def even(n):\n    return n % 2 == 0", "def even(n):\n    return int(n % 2 == 0)", "def even(n):\n    return 1.0 - n % 2", "def even(n):\n    return 'true' if n % 2 == 0 else 'false'",
		"def even(n):\n    return not n & 1", "def even(n):\n    return n % 2", "def even(n):\n    return [] if n % 2 else [1]", "def even(n):\n    return None if n % 2 else True",
	}},
}

// code is the tests of a problem, and an answer with a program, fenced in one of several
// ways.
func (m maker) code() (answer, truth string) {
	p := problems[m.IntN(len(problems))]
	var tests []map[string]string
	for i := 0; i < len(p.tests); i += 2 {
		tests = append(tests, map[string]string{"input": p.tests[i], "output": p.tests[i+1], "testtype": "stdin"})
	}
	shown := 1 + m.IntN(len(tests))
	asText := func(v any) string {
		b, _ := json.Marshal(v)
		return string(b)
	}
	about := map[string]string{}
	if p.function != "" {
		about["func_name"] = p.function
	}
	truth = asText(map[string]string{
		"starter_code": "", "public_test_cases": asText(tests[:shown]), "private_test_cases": asText(tests[shown:]), "metadata": asText(about),
	})
	const fence = "```"
	code, other := m.pick(p.programs...), m.pick(p.programs...)
	block := fence + m.pick("python", "python", "", "py", "Python 3") + "\n" + code + "\n" + fence
	return m.pick("", "Here it is:\n", "First\n"+fence+"\n"+other+"\n"+fence+"\nno, better:\n", "`x` is ", "> ") +
		m.pick(block, block, block, block, block, code, fence+"python\n"+code, block+"\n\nor\n"+fence+"python\n"+other+"\n"+fence) +
		m.pick("", "", "\n", "\nDone.", " "), truth
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
	case "exact_match":
		return m.exact()
	case grade.Code:
		return m.code()
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
		t.Skip("-reference names a python3 with AIPerf and what its graders are made of (make graders)")
	}
	for _, name := range grade.Names() {
		if name == grade.Plugin {
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
			g, err := grade.Named(name, grade.Options{AllowCode: true})
			if err != nil {
				t.Fatal(err)
			}
			said := make([]grade.Judgement, len(pairs))
			var beside sync.WaitGroup
			for w := range runtime.GOMAXPROCS(0) { // programs are started for some
				beside.Go(func() {
					for i := w; i < len(pairs); i += runtime.GOMAXPROCS(0) {
						said[i] = g.Grade(pairs[i][0], pairs[i][1])
					}
				})
			}
			beside.Wait()
			count := map[string]int{}
			lines := bufio.NewScanner(bytes.NewReader(out))
			lines.Buffer(nil, 1<<20)
			n := 0
			for ; lines.Scan(); n++ {
				var theirs []any
				if err := json.Unmarshal(lines.Bytes(), &theirs); err != nil || n >= len(pairs) {
					t.Fatal(err, n)
				}
				j, want := said[n], theirs[0].(bool)
				key := fmt.Sprintf("%s, reference %t", j.Outcome, want)
				count[key]++
				if j.Passed() == want || !want && j.Outcome == grade.NotJudged {
					continue
				}
				if what := meant(name, pairs[n][0], pairs[n][1]); what != "" && !want {
					count[what]++
				} else {
					t.Errorf("%q against %q: %s %s, reference %t of %.150v", pairs[n][0], pairs[n][1], j.Outcome, j.Reason, want, theirs[1])
				}
			}
			if n != *answers {
				t.Errorf("%d answers compared", n)
			}
			t.Log(strings.TrimPrefix(fmt.Sprint(count), "map"))
		})
	}
}
