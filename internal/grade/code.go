package grade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/grade/pycode"
)

// Code is the grader that runs the code of answers.
const Code = "code_execution"

// codeExecution runs the program of an answer against the tests that the truth holds. It
// needs a permission, and a Python.
var codeExecution = row{Code, func(o Options) Grader { return coder(o) }}

type coder Options

// The limits of AIPerf: for each test, and beside them for all.
const (
	eachTest  = 6 * time.Second
	perTest   = 7 * time.Second
	allTests  = 5 * time.Second
	mostTests = 300 * time.Second
)

// CodeLimitVariable is AIPerf's environment variable for Options.CodeLimit, in seconds.
const CodeLimitVariable = "AIPERF_ACCURACY_LCB_GRADE_TIMEOUT_MAX_S"

// CodeLimit reads a value of CodeLimitVariable; "" is 0, which is AIPerf's limit.
func CodeLimit(said string) (time.Duration, error) {
	if said == "" {
		return 0, nil
	}
	const most = 1e9 // seconds: a time.Duration holds nine times as much
	s, err := strconv.ParseFloat(strip(said), 64)
	if err != nil || !(s > 0 && s <= most) {
		return 0, diag.New(fmt.Sprintf("%s: want seconds above 0, got %q", CodeLimitVariable, said), "")
	}
	return max(1, time.Duration(s*float64(time.Second))), nil
}

// lcbTruth is what the truth of an item of LiveCodeBench holds.
type lcbTruth struct {
	Public   string `json:"public_test_cases"`
	Private  string `json:"private_test_cases"`
	Metadata string `json:"metadata"`
}

// Grade plays the tests, up to the first that fails.
func (c coder) Grade(answer, truth string) Judgement {
	j := Judgement{Expected: "<lcb test cases>", Actual: short(answer)}
	code := fenced(answer)
	job, err := c.job(code, truth)
	switch {
	case err != nil:
		return j.failed(BadTruth, err.Error())
	case strip(answer) == "":
		return j.failed(Empty, "no code in response")
	case strip(code) == "":
		return j.failed(NotParsed, "no code in response")
	case !c.AllowCode:
		return j.failed(NoPermission, NoPermission)
	}
	why, err := pycode.Run(context.Background(), job)
	if errors.Is(err, pycode.ErrNoInterpreter) {
		return j.failed(NoInterpreter, err.Error())
	}
	if errors.Is(err, pycode.ErrTogether) {
		return j.failed(TestsTooLong, err.Error())
	}
	if err != nil {
		return j.failed("could not run: "+err.Error(), err.Error())
	}
	if j.Outcome, j.Confidence = Right, 1; why != "" {
		j.Outcome, j.Confidence, j.Reason = Wrong, 0, why
	}
	j.Explanation = fmt.Sprintf("LCB pass@1=%.1f", j.Confidence)
	return j
}

// failed is a judgement about code that was not run.
func (j Judgement) failed(reason, explanation string) Judgement {
	j.Reason, j.Unparsed, j.Explanation = reason, true, "LCB grader failed: "+explanation
	return j
}

// short is the first 200 characters of a text.
func short(s string) string {
	const most = 200
	n := 0
	for i := range s {
		if n++; n > most {
			return s[:i]
		}
	}
	return s
}

// fenced are the lines between the last two lines that hold three backticks.
func fenced(s string) string {
	const fence = "```"
	lines := strings.Split(s, "\n")
	to := -1
	for i := len(lines) - 1; i >= 0; i-- {
		if !strings.Contains(lines[i], fence) {
			continue
		}
		if to < 0 {
			to = i
			continue
		}
		return strings.Join(lines[i+1:to], "\n")
	}
	return ""
}

// job is what the truth asks of a program.
func (c coder) job(code, truth string) (job pycode.Job, err error) {
	var t lcbTruth
	if err := json.Unmarshal([]byte(truth), &t); err != nil {
		return job, fmt.Errorf("the test cases are not JSON: %w", err)
	}
	job.Code = code
	if t.Public != "" {
		if err := json.Unmarshal([]byte(t.Public), &job.Tests); err != nil {
			return job, fmt.Errorf("the public test cases are not JSON: %w", err)
		}
	}
	private, err := privateTests(t.Private)
	if err != nil {
		return job, fmt.Errorf("the private test cases: %w", err)
	}
	if job.Tests = append(job.Tests, private...); len(job.Tests) == 0 {
		return job, errors.New("no test cases")
	}
	var about struct {
		Name string `json:"func_name"`
	}
	if t.Metadata != "" {
		if err := json.Unmarshal([]byte(t.Metadata), &about); err != nil {
			return job, fmt.Errorf("the metadata is not JSON: %w", err)
		}
	}
	job.Function, job.Each = about.Name, eachTest
	most := mostTests
	if c.CodeLimit > 0 {
		most = c.CodeLimit
	}
	job.All = min(most, time.Duration(len(job.Tests))*perTest+allTests)
	return job, nil
}

// privateTests reads tests as JSON, or as JSON that was pickled, compressed and encoded.
func privateTests(text string) (tests []pycode.Test, err error) {
	if strip(text) == "" {
		return nil, nil
	}
	if json.Unmarshal([]byte(text), &tests) == nil {
		return tests, nil
	}
	plain, err := unpacked(text)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(plain), &tests); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return tests, nil
}
