package onerun

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/internal/record"
	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/dataset"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/sinks"
)

// graders judge the answers to a run's questions, by name.
type graders map[string]grade.Grader

func gradersOf(questions *dataset.Set, o grade.Options) (graders, error) {
	out := graders{}
	for c := range questions.All() {
		name := c.Known.Grader
		if out[name] != nil {
			continue
		}
		g, err := grade.Named(name, o)
		if err != nil {
			return nil, err
		}
		out[name] = g
	}
	return out, nil
}

// thought ends the reasoning that some models put before their answer.
var thought = []byte("</think>")

// answerOf is the text that is judged: the answer without its reasoning, with the calls
// of tools in it; the reasoning where there is nothing else.
func answerOf(said *loadgen.Said) []byte {
	text := slices.Concat(said.Text, said.Tool)
	if i := bytes.LastIndex(text, thought); i >= 0 {
		text = text[i+len(thought):]
	}
	if len(text) == 0 {
		return said.Reasoning
	}
	return text
}

func (g graders) grade(k *dataset.Known, said loadgen.Said) grade.Judgement {
	return g[k.Grader].Grade(string(answerOf(&said)), k.Truth)
}

// takesLong tells whether the answer to a question is judged by running it, or by asking
// a program: that is done when the load is over.
func (run *Opened) takesLong(k *dataset.Known) bool {
	return k.Grader == grade.Code && run.AllowCode || k.Grader == grade.Plugin
}

// answers keeps what was answered to questions with known answers, and what the graders
// say of it, in a file of the run.
type answers struct {
	stream  *sinks.Stream[sinks.Answer]
	graders graders
	verbose bool
	said    []string      // a line for the log about each answer
	asked   []grade.Asked // every question, to find answers that went to the wrong one
	wrong   int           // of them with their text
}

// What is kept to find answers that went to the wrong question.
const (
	mostWrong = 1000
	mostText  = 16 << 10
)

func startAnswers(_ context.Context, w *Watched) (Observer, error) {
	if w.Run.graders == nil {
		return nil, nil //nolint:nilnil // nothing is asked whose answer is known
	}
	stream, err := sinks.Answers().Open(w.Session.Dir, w.meta())
	if err != nil {
		return nil, &LostError{err}
	}
	return &answers{stream: stream, graders: w.Run.graders, verbose: w.Run.Benchmark.Accuracy.Verbose}, nil
}

// answered is an answer as the file has it, and what is still to be said of it.
type answered struct {
	row    sinks.Answer
	judged *grade.Judgement
	truth  string
	text   string // that was judged
}

// Render is the answer, nil for what is no answer to a question.
func (a *answers) Render(rec *record.Record, _ *transport.Exchange, said loadgen.Said) any {
	if said.Asked == nil || !rec.Measured {
		return nil
	}
	k := said.Asked
	return &answered{judged: said.Judged, truth: k.Truth, text: string(answerOf(&said)), row: sinks.Answer{
		At: rec.End, SessionID: rec.SessionID, SessionNum: rec.SessionNum, ConversationID: rec.ConversationID,
		RequestID: rec.XRequestID, Phase: rec.Phase, Item: k.Item, Task: k.Task, Grader: k.Grader,
		Status: string(rec.Status), FinishReason: rec.FinishReason,
		Output: string(slices.Concat(said.Text, said.Tool)), Reasoning: string(said.Reasoning),
	}}
}

// Keep writes it.
func (a *answers) Keep(rec *record.Record, rendered any) {
	if one, ok := rendered.(*answered); ok && one != nil {
		row, j := &one.row, one.judged
		row.Outcome, row.Why = string(rec.Answer), rec.AnswerWhy
		row.Passed, row.Unparsed, row.Confidence = j.Passed(), j.Unparsed, j.Confidence
		row.Expected, row.Actual, row.Explanation = j.Expected, j.Actual, j.Explanation
		_ = a.stream.Write(*row) // Close tells of what could not be written
		a.remember(rec, one)
		if a.verbose && row.Outcome != "" {
			a.said = append(a.said, fmt.Sprintf("accuracy: session %d, %s: %s%s; %s", row.SessionNum, row.Item,
				row.Outcome, because(row.Why), words.Clip(words.Line(row.Explanation), 200)))
		}
	}
}

// remember keeps what is needed of a question that was answered.
func (a *answers) remember(rec *record.Record, one *answered) {
	if rec.Answer == "" {
		return
	}
	q := grade.Asked{
		Item: one.row.Item, Task: one.row.Task, Grader: one.row.Grader, Truth: one.truth, Start: rec.Sent, End: rec.End,
	}
	if rec.Answer == record.Wrong && a.wrong < mostWrong && len(one.text) <= mostText {
		q.Wrong, q.Text = true, one.text
		a.wrong++
	}
	a.asked = append(a.asked, q)
}

// Stop completes the file, and finds answers that went to the wrong question: nothing is
// sent any more, and code is not run again for it.
func (a *answers) Stop(_ context.Context, out *Result) error {
	if out == nil {
		return a.stream.Discard()
	}
	delete(a.graders, grade.Code)
	out.Swaps = grade.FindSwaps(a.asked, a.graders)
	out.lose(a.stream.Close())
	out.Log = append(out.Log, a.said...)
	return nil
}

// because puts a reason into brackets.
func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}
