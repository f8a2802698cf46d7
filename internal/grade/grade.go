// Package grade decides whether an answer is right. In go the text of an answer
// and the known truth, out comes a Judgement: right, wrong, or not judged, with
// the reason. A grader is a pure function; only the one that runs the code of an
// answer touches the machine, and only with permission.
//
// The graders are those of AIPerf, one file and one row each, and one that asks a program. What AIPerf's files
// say of an answer travels beside our own outcome, since both differ where AIPerf
// counts a chance hit as correct or an unreadable answer as wrong.
package grade

import (
	"slices"
	"strings"
	"time"

	"aiperf.dev/aiperf/internal/diag"
)

// Outcome is what became of an answer.
type Outcome uint8

// The outcomes. An answer about which nothing was said is not judged.
const (
	NotJudged Outcome = iota
	Right
	Wrong
)

// String is the outcome in words.
func (o Outcome) String() string {
	switch o {
	case Right:
		return "right"
	case Wrong:
		return "wrong"
	}
	return "not judged"
}

// Judgement is what a grader says of one answer.
type Judgement struct {
	Outcome Outcome
	Reason  string // of what is not judged, and of a wrong answer where there is one to say

	// What stands in AIPerf's files.
	Unparsed    bool    // AIPerf found no answer in the form that was asked for
	Confidence  float64 // AIPerf's: 1 for what it counts as correct, else 0
	Expected    string
	Actual      string // what was taken from the answer
	Explanation string
}

// Passed reports whether AIPerf counts the answer as correct. It differs from
// Outcome == Right for chance hits, which are correct there and not judged here, and for
// mathematical answers that AIPerf does not find.
func (j Judgement) Passed() bool { return j.Confidence > 0.5 }

// Grader compares an answer with the truth. It is safe for concurrent use.
type Grader interface {
	Grade(answer, truth string) Judgement
}

// Options are what graders may do.
type Options struct {
	AllowCode bool          // code of answers may be run
	CodeLimit time.Duration // of all tests of one answer together; 0 is AIPerf's 300 s
	// Ask asks the plug-in of the experiment; nil where there is none.
	Ask func(question map[string]any, answer any) error
}

// The reasons why an answer is not judged.
const (
	Empty         = "empty"
	NotParsed     = "not parsed"
	CannotCompare = "cannot compare"
	NoPermission  = "no permission to run code, which --allow-code gives"
	NoInterpreter = "no python3 to run code with"
	TestsTooLong  = "the tests of its code took too long together"
	BadTruth      = "the truth cannot be read"
)

// row is one grader.
type row struct {
	name string
	make func(Options) Grader
}

// catalogue is in AIPerf's order; ours come last.
func catalogue() []row {
	return []row{
		exactMatch, mathEquality, multipleChoice, codeExecution, lightevalExpr, lightevalLatex, lightevalGPQA,
		lightevalGSM8K, mmluPro, byProgram,
	}
}

// Names are the names of all graders.
func Names() []string {
	var names []string
	for _, r := range catalogue() {
		names = append(names, r.name)
	}
	return names
}

// Named is the grader of a name. Names may be written with - for _.
func Named(name string, o Options) (Grader, error) {
	rows := catalogue()
	i := slices.IndexFunc(rows, func(r row) bool { return r.name == strings.ReplaceAll(name, "-", "_") })
	if i < 0 {
		return nil, diag.Errorf("%q is not a grader", name).Try("graders: " + strings.Join(Names(), ", "))
	}
	return rows[i].make(o), nil
}

// function is a grader that needs no options.
type function func(answer, truth string) Judgement

// Grade is the function itself.
func (f function) Grade(answer, truth string) Judgement { return f(answer, truth) }

// pure is the row's maker for a grader without options.
func pure(f function) func(Options) Grader { return func(Options) Grader { return f } }

// judged is a judgement where AIPerf's verdict is ours too.
func judged(right bool) Judgement {
	if right {
		return Judgement{Outcome: Right, Confidence: 1}
	}
	return Judgement{Outcome: Wrong}
}

// doubt withdraws the outcome and keeps what AIPerf says.
func (j *Judgement) doubt(reason string) { j.Outcome, j.Reason = NotJudged, reason }

// title writes a condition as Python prints it.
func title(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
