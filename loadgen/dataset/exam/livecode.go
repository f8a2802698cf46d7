package exam

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
)

// liveCode asks for a program; what is true are tests that it must pass.
var liveCode = benchmark{
	Info{
		Name: "lcb_codegeneration", Dataset: "livecodebench/code_generation_lite", Licence: "CC",
		Grader: "code_execution",
	},
	liveCodeItems,
}

// liveCodeReleases are the files of the releases of the data set. AIPerf asks for v4_v5
// where its variable names no other.
const (
	liveCodeVariable = "AIPERF_ACCURACY_LCB_RELEASE_TAG"
	liveCodeDefault  = "v4_v5"
	liveCodeLast     = 6
)

// liveCodeFiles are the files of a release: release_v3 holds all up to the third, v4 the
// fourth alone, v4_v5 those two and what is between.
func liveCodeFiles(tag string) (names []string, err error) {
	from, to := 1, 0
	all, isAll := strings.CutPrefix(tag, "release_v")
	a, b, isRange := strings.Cut(strings.TrimPrefix(tag, "v"), "_v")
	switch {
	case tag == "release_latest":
		to = liveCodeLast
	case isAll:
		to, err = strconv.Atoi(all)
	case isRange:
		from, err = strconv.Atoi(a)
		if err == nil {
			to, err = strconv.Atoi(b)
		}
	default:
		from, err = strconv.Atoi(a)
		to = from
	}
	if err != nil || from < 1 || to < from || to > liveCodeLast {
		return nil, diag.New(fmt.Sprintf("%s: %q is not a release", liveCodeVariable, tag),
			"releases: release_v1 to release_v6, v1 to v6, v1_v2 to v5_v6")
	}
	for i := from; i <= to; i++ {
		if i == 1 {
			names = append(names, "test.jsonl")
		} else {
			names = append(names, fmt.Sprintf("test%d.jsonl", i))
		}
	}
	return names, nil
}

func liveCodeItems(m *maker) error {
	switch {
	case len(m.o.Tasks) > 0:
		return diag.New(m.b.Name+" has no tasks to choose from", "")
	case m.o.Shots != nil && *m.o.Shots != 0:
		return diag.New(m.b.Name+" takes no examples", "")
	case m.cot:
		return diag.New(m.b.Name+" does not ask for reasoning", "")
	}
	names, err := liveCodeFiles(first(os.Getenv(liveCodeVariable), liveCodeDefault))
	if err != nil {
		return err
	}
	if m.single() {
		names = names[:1]
	}
	for _, file := range names {
		if err := m.each(file, "test", func(c *cells) error { return m.liveCodeItem(c) }); err != nil {
			return err
		}
	}
	return nil
}

// liveCodeTruth is what the grader reads, with its keys in AIPerf's order.
type liveCodeTruth struct {
	Starter  string `json:"starter_code"`
	Public   string `json:"public_test_cases"`
	Private  string `json:"private_test_cases"`
	Metadata string `json:"metadata"`
}

func (m *maker) liveCodeItem(c *cells) error {
	question := c.str("question_content")
	truth := liveCodeTruth{
		c.maybe("starter_code"), c.str("public_test_cases"), c.maybe("private_test_cases"), c.maybe("metadata"),
	}
	about := meta(long, "question_id", c.maybe("question_id"), "question_title", c.maybe("question_title"),
		"platform", c.maybe("platform"), "difficulty", strings.ToLower(c.maybe("difficulty")))
	if c.err != nil {
		return c.err
	}
	const fence = "```"
	prompt := "You will be given a question (problem specification) and will generate a correct Python program that matches the specification and passes all tests.\n\nQuestion: " + question + "\n\n"
	code := "# YOUR CODE HERE"
	if truth.Starter != "" {
		code = truth.Starter
		prompt += "You will use the following starter code to write the solution to the problem and enclose your code within delimiters.\n"
	} else {
		prompt += "Read the inputs from stdin solve the problem and write the answer to stdout (do not directly test on the sample inputs). Enclose your code within delimiters as follows. Ensure that when the python program runs, it reads the inputs, runs the algorithm and writes output to STDOUT.\n"
	}
	return m.add(c.place, Item{
		Task: m.b.Name, Prompt: prompt + fence + "python\n" + code + "\n" + fence + "\n\n", Truth: asJSON(truth),
		MaxTokens: long, Meta: about,
	})
}
