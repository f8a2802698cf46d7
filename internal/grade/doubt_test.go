package grade_test

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/grade"
)

// Our outcome is not judged where nothing was found, or where what was found may stand
// there for another reason; AIPerf's verdict is kept beside it.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	const right, wrong, open = grade.Right, grade.Wrong, grade.NotJudged
	for _, c := range []struct {
		grader, answer, truth string
		want                  grade.Outcome
		reason                string
		passed                bool
	}{
		{"multiple_choice", "A", " A", right, "", true},
		{"multiple_choice", "B", " A", wrong, "", false},
		{"multiple_choice", "", " A", open, grade.Empty, false},
		{"multiple_choice", "no letter", " A", open, grade.NotParsed, false},
		{"multiple_choice", "A cat sat", " A", open, grade.NotParsed, true},
		{"multiple_choice", "The answer is Apple", " A", open, grade.NotParsed, true},
		{"multiple_choice", "**D** I think", " D", right, "", true},
		{"multiple_choice", "A", "five", open, grade.BadTruth, false},
		{"mmlu_pro", "I am sure", "I", open, grade.NotParsed, true},
		{"mmlu_pro", "So it must be F", "F", right, "", true},
		{"mmlu_pro", "nothing", "A", open, grade.NotParsed, false},
		{"exact_match", "True", "True", right, "", true},
		{"exact_match", "False", "True", wrong, "", false},
		{"exact_match", " ", "True", open, grade.Empty, false},
		{"exact_match", "", "", open, grade.Empty, false},
		{"lighteval_gsm8k", "#### 7", "#### 7", right, "", true},
		{"lighteval_gsm8k", "#### 8", "#### 7", wrong, "", false},
		{"lighteval_gsm8k", "none", "#### 7", open, grade.NotParsed, false},
		{"lighteval_gsm8k", "7", "seven", open, grade.BadTruth, false},
		{"math", `\boxed{7}`, "7", right, "", true},
		{"math", `\boxed{8}`, "7", wrong, "", false},
		{"math", `\boxed{5.4 \text{ cents} each}`, "5.4", open, grade.CannotCompare, false},
		{"math", `\boxed{5.5 \text{ cents} each}`, "5.4", wrong, "", false},
		{"math", "none", "7", open, grade.NotParsed, false},
		{"math", `\boxed{\int_0^1 x}`, "7", open, grade.CannotCompare, false},
		{"math", "7", "", open, grade.BadTruth, false},
		{"lighteval_expr", `\boxed{7}`, "7", right, "", true},
		{"lighteval_expr", `\boxed{8}`, "7", wrong, "", false},
		{"lighteval_expr", "none", "7", open, grade.NotParsed, false},
		{"lighteval_expr", `\boxed{\int x}`, "7", open, grade.CannotCompare, false},
		{"lighteval_latex", `\boxed{7}`, "no box 7", open, grade.BadTruth, false},
		{"lighteval_latex", `\boxed{y=2x}`, `$\boxed{2y=4x}$`, open, grade.CannotCompare, false},
		{"lighteval_gpqa", "Answer: B", "B", right, "", true},
		{"lighteval_gpqa", "Answer: B", "E", open, grade.BadTruth, false},
		{"lighteval_gpqa", "so B it is", "B", open, grade.NotParsed, false},
	} {
		g, err := grade.Named(c.grader, grade.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j := g.Grade(c.answer, c.truth)
		if j.Outcome != c.want || j.Reason != c.reason || j.Passed() != c.passed {
			t.Errorf("%s of %q against %q: %s, %q, AIPerf %t; want %s, %q, %t", c.grader, c.answer, c.truth,
				j.Outcome, j.Reason, j.Passed(), c.want, c.reason, c.passed)
		}
	}
}

// What AIPerf's math takes with the words before it is right here, and wrong in its files.
func TestMathFindsMore(t *testing.T) {
	t.Parallel()
	g, err := grade.Named("math", grade.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		answer, truth, actual string
		passed                bool
	}{
		{`The final answer is: $\frac{1}{2}$`, `\frac12`, `is: $\frac{1}{2}$`, false},
		{`The final answer is 7.`, "7", "7", true}, // numbers are looked for in what was taken
		{`The answer is $\frac{1}{2}$. Done`, "1/2", `$\frac{1}{2}$`, true},
		{`the answer is \[x+1\]`, "1+x", `\[x+1\]`, false},
		{`the final answer is \ln 4. I hope`, `\ln 4`, `is \ln 4. I hope`, false},
		{`\[\text{Friday}\] meters`, `\text{Friday}`, `\[\text{Friday}\] meters`, false},
		{"the answer is 5, I mean the answer is 6", "6", "6", true},
	} {
		j := g.Grade(c.answer, c.truth)
		if j.Outcome != grade.Right || j.Passed() != c.passed || j.Actual != c.actual {
			t.Errorf("%q: %s, AIPerf %t of %q; want %t of %q", c.answer, j.Outcome, j.Passed(), j.Actual, c.passed, c.actual)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for _, name := range grade.Names() {
		if _, err := grade.Named(strings.ReplaceAll(name, "_", "-"), grade.Options{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := grade.Named("exact", grade.Options{}); err == nil || err.Error() != `"exact" is not a grader` {
		t.Errorf("%v", err)
	}
}

// hostile are answers that would keep a careless grader busy for ever.
func hostile() map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, (1<<18)/len(s)) }
	mega := func(s string) string { return strings.Repeat(s, (1<<20)/len(s)) }
	return map[string]string{
		"letters": mega("A"), "words": mega("the answer is "), "colons": repeat("answer: "), "boxes": mega(`\boxed{`),
		"dollars": repeat("$$ "), "brackets": repeat(`\[ `), "parens": repeat("("), "fractions": repeat(`\frac`),
		"numbers": repeat("1 "), "sums": repeat("1+"), "equations": repeat("answer 1="), "final": repeat("final answer "),
		"digits": mega("9"), "marks": repeat("#### "), "spaces": repeat(" "), "lines": repeat("\n"), "bytes": repeat("\xff"),
		"tower": `\boxed{` + strings.Repeat("10^", 1000) + "10}", "factorial": `\boxed{` + strings.Repeat("999!+", 800) + "1}",
		"sets":   `\boxed{` + strings.Repeat(`\{1,`, 90) + "1" + strings.Repeat(`\}`, 90) + "}",
		"fences": repeat("```\n"), "commas": `\boxed{` + strings.Repeat("1,", 2000) + "1}", "units": repeat("m s "),
	}
}

// Nothing in an answer stops a grader; the race with a clock is the test's own limit.
func TestHostileAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("megabytes on one goroutine")
	}
	t.Parallel()
	for _, name := range grade.Names() {
		g, err := grade.Named(name, grade.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for what, answer := range hostile() {
			if j := g.Grade(answer, "#### 42"); j.Outcome == grade.Right {
				t.Errorf("%s: %s is right", name, what)
			}
			if len(answer) < 10_000 {
				g.Grade(answer, answer)
			}
		}
	}
}

func FuzzGrade(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add(v.Response, v.Truth)
	}
	for _, answer := range hostile() {
		f.Add(answer[:min(len(answer), 4000)], "42")
	}
	f.Fuzz(func(t *testing.T, answer, truth string) {
		for _, name := range grade.Names() {
			g, err := grade.Named(name, grade.Options{})
			if err != nil {
				t.Fatal(err)
			}
			j := g.Grade(answer, truth)
			if j.Outcome == grade.NotJudged && j.Reason == "" ||
				j.Outcome == grade.Right && !j.Passed() && name != "math" {
				t.Errorf("%s of %q against %q: %+v", name, answer, truth, j)
			}
		}
	})
}

func BenchmarkGrade(b *testing.B) {
	all := vectors(b)
	for _, name := range grade.Names() {
		g, err := grade.Named(name, grade.Options{})
		if err != nil {
			b.Fatal(err)
		}
		var mine []vector
		for _, v := range all {
			if v.Grader == name {
				mine = append(mine, v)
			}
		}
		if len(mine) == 0 {
			continue
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				v := mine[i%len(mine)]
				g.Grade(v.Response, v.Truth)
			}
		})
	}
}
