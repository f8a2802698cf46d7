package aiperf

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/sinks"
)

// score is how many answers AIPerf's graders count as correct, of those that were given.
type score struct {
	name                     string // of the part of the benchmark; "" for all
	correct, total, unparsed int64
}

// add counts an answer.
func (s *score) add(a *sinks.Answer) {
	s.total++
	if a.Passed {
		s.correct++
	}
	if a.Unparsed {
		s.unparsed++
	}
}

// scores are what the files say of the answers to questions with known answers: in all,
// and by task in the order of their names. A request that failed has no answer.
type scores struct {
	overall score
	tasks   []*score
	rows    []sinks.Answer
}

// readAnswers reads them; none where nothing was asked.
func (w *Writer) readAnswers() error {
	s := &w.Info.scores
	*s = scores{}
	if w.Answers == nil {
		return nil
	}
	by := map[string]*score{}
	err := w.Answers(func(a *sinks.Answer) {
		if a.Outcome == "" {
			return
		}
		s.overall.add(a)
		t := by[a.Task]
		if t == nil {
			t = &score{name: a.Task}
			by[a.Task] = t
			s.tasks = append(s.tasks, t)
		}
		t.add(a)
		s.rows = append(s.rows, *a)
	})
	slices.SortFunc(s.tasks, func(a, b *score) int { return strings.Compare(a.name, b.name) })
	return err
}

// all are the scores in AIPerf's order: overall, then the tasks.
func (s *scores) all() []*score { return append([]*score{&s.overall}, s.tasks...) }

// writeAnswers writes what was answered, and the scores.
func (w *Writer) writeAnswers() error {
	s := &w.Info.scores
	if s.overall.total == 0 {
		return nil
	}
	if err := w.stream(w.names.Answers, w.answerLines); err != nil {
		return err
	}
	b := csvLine(nil, "task", "correct", "total", "unparsed", "accuracy")
	for _, t := range s.all() {
		name := t.name
		if t == &s.overall {
			name = "OVERALL"
		}
		b = csvLine(b, name, fmt.Sprint(t.correct), fmt.Sprint(t.total), fmt.Sprint(t.unparsed),
			decimals(float64(t.correct)/float64(t.total), 4))
	}
	return w.put(w.Dir, w.names.Scores, "accuracy", b)
}

// answerLines are AIPerf's, one for each answer in the order in which they came.
func (w *Writer) answerLines(to *sinks.Artifact) (rows int64, err error) {
	t0 := w.Info.T0.UnixNano()
	for i := range w.Info.scores.rows {
		a := &w.Info.scores.rows[i]
		o := object{}.with("session_num", a.SessionNum).with("conversation_id", a.ConversationID).
			with("x_request_id", a.RequestID).with("worker_id", fmt.Sprintf("worker_%d", a.Worker)).
			with("benchmark_phase", phaseKind(false)).
			with("timestamp_ns", t0+a.At).with("task", a.Task).with("grader_name", a.Grader).
			with("passed", a.Passed).with("unparsed", a.Unparsed).with("confidence", number(a.Confidence)).
			with("expected", a.Expected).with("actual", a.Actual).with("explanation", a.Explanation).
			with("model_output", cmp.Or(a.Output, a.Reasoning)) // what was graded
		if a.Reasoning != "" {
			o = o.with("model_thinking", a.Reasoning)
		}
		b, err := o.append(nil)
		if err == nil {
			_, err = to.Write(append(b, '\n'))
		}
		if err != nil {
			return rows, err
		}
		rows++
	}
	return rows, nil
}

// members are the last ones of the summary JSON.
func (s *scores) members(o object) object {
	if s.overall.total == 0 {
		return o
	}
	of := func(stem string, count func(*score) int64) {
		for _, t := range s.all() {
			name := stem + ".task." + t.name
			if t == &s.overall {
				name = map[bool]string{true: stem + ".overall", false: stem}[stem == "accuracy"]
			}
			o = o.with(name, object{}.with("unit", "ratio").with("count", t.total).with("sum", count(t)))
		}
	}
	of("accuracy", func(t *score) int64 { return t.correct })
	of("accuracy.unparsed", func(t *score) int64 { return t.unparsed })
	return o
}

// csvRows are those of the summary CSV, which in AIPerf have no value.
func (s *scores) csvRows(b []byte) []byte {
	if s.overall.total == 0 {
		return b
	}
	for _, head := range []string{"Accuracy", "Accuracy Unparsed"} {
		for _, t := range s.all() {
			name := t.name
			if t == &s.overall {
				name = "Overall"
			}
			b = csvLine(b, head+" ("+name+") (ratio)", "")
		}
	}
	return b
}

// console is AIPerf's table of them.
func (s *scores) console(b *strings.Builder) {
	if s.overall.total == 0 {
		return
	}
	const taskWidth = 30
	t := &box{
		title: "Accuracy Benchmark Results", head: []string{"Task", "Correct", "Total", "Unparsed", "Accuracy"},
		left: 0, ruled: true,
	}
	for _, of := range append(slices.Clone(s.tasks), &s.overall) {
		name := of.name
		if of == &s.overall {
			name = "OVERALL"
		}
		t.rows = append(t.rows, []string{
			fmt.Sprintf("%-*s", taskWidth, name), fmt.Sprint(of.correct), fmt.Sprint(of.total),
			fmt.Sprint(of.unparsed), decimals(100*float64(of.correct)/float64(of.total), 2) + "%",
		})
	}
	t.write(b)
}
