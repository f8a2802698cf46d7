package onerun

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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
const thought = "</think>"

// judgedText is what of an answer is judged: its output, which has the calls of tools in it,
// without its reasoning; the reasoning where there is nothing else.
func judgedText(output, reasoning string) string {
	if i := strings.LastIndex(output, thought); i >= 0 {
		output = output[i+len(thought):]
	}
	return cmp.Or(output, reasoning)
}

// output is the answer of a server, with the calls of tools in it.
func output(said *loadgen.Said) string { return string(slices.Concat(said.Text, said.Tool)) }

func (g graders) grade(k *dataset.Known, said loadgen.Said) grade.Judgement {
	return g[k.Grader].Grade(judgedText(output(&said), string(said.Reasoning)), k.Truth)
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
	asked   []grade.Asked // the first questions, to find answers that went to the wrong one
	wrong   int           // of them with their text
}

// What is kept to find answers that went to the wrong question.
const (
	mostAsked = 100_000
	mostWrong = 1000
	mostText  = 16 << 10 // bytes
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
	Row    sinks.Answer
	Judged *grade.Judgement // complete when the answer is kept; nil of what is no answer
	Truth  string
}

// Render is the answer, nil for what is no answer to a question.
func (a *answers) Render(rec *record.Record, _ *transport.Exchange, said loadgen.Said) any {
	if said.Asked == nil || !rec.Measured {
		return nil
	}
	k := said.Asked
	return &answered{Judged: said.Judged, Truth: k.Truth, Row: sinks.Answer{
		At: rec.End, SessionID: rec.SessionID, SessionNum: rec.SessionNum, ConversationID: rec.ConversationID,
		RequestID: rec.XRequestID, Phase: rec.Phase, Item: k.Item, Task: k.Task, Grader: k.Grader,
		Status: string(rec.Status), FinishReason: rec.FinishReason,
		Output: output(&said), Reasoning: string(said.Reasoning),
	}}
}

// Blank is no answer.
func (*answers) Blank() any { return &answered{} }

// Keep writes it.
func (a *answers) Keep(rec *record.Record, rendered any) {
	if one, ok := rendered.(*answered); ok && one.Judged != nil {
		row, j := &one.Row, one.Judged
		row.Worker = rec.Worker // which only who takes the records of all knows
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
	if rec.Answer == "" || len(a.asked) == mostAsked {
		return
	}
	q := grade.Asked{
		Item: one.Row.Item, Task: one.Row.Task, Grader: one.Row.Grader, Truth: one.Truth, Start: rec.Sent, End: rec.End,
	}
	text := judgedText(one.Row.Output, one.Row.Reasoning)
	if rec.Answer == record.Wrong && a.wrong < mostWrong && len(text) <= mostText {
		q.Wrong, q.Text = true, text
		a.wrong++
	}
	a.asked = append(a.asked, q)
}

// Stop completes the file, and finds answers that went to the wrong question: nothing is
// sent any more. Neither code is run nor a program asked again for it.
func (a *answers) Stop(_ context.Context, out *Result) error {
	if out == nil {
		return a.stream.Discard()
	}
	quick := maps.Clone(a.graders)
	delete(quick, grade.Code)
	delete(quick, grade.Plugin)
	out.Swaps = grade.FindSwaps(a.asked, quick)
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
