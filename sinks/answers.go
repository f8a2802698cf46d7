package sinks

// Answer is a row of the answers table: one answer to a question with a known answer, and
// what the grader says of it.
type Answer struct {
	At                            int64
	SessionID                     string
	SessionNum, Worker            int64
	ConversationID, RequestID     string
	Phase                         string
	Item, Task, Grader            string
	Status, Outcome, Why          string
	FinishReason                  string
	Passed, Unparsed              bool    // as AIPerf says it
	Confidence                    float64 // AIPerf's
	Expected, Actual, Explanation string
	Output, Reasoning             string
}

// Answers are what was answered to questions with known answers.
func Answers() Series[Answer] {
	return Series[Answer]{
		name: "answers", doc: "One row per question with a known answer that was asked in a measured phase: what was answered, what is true, and what the grader says. Absent where nothing was asked.",
		columns: answerColumns, at: func(a *Answer) *int64 { return &a.At },
	}
}

func answerColumns() []column[Answer] {
	type a = Answer
	return []column[a]{
		nanos("t_ns", "when the answer was over", func(a *a) *int64 { return &a.At }),
		word("session_id", "the request's session_id in the table requests: questions have one request each",
			func(a *a) *string { return &a.SessionID }).naming(),
		ordinal("session_num", "number of the session in its run, from 0", Int64, func(a *a) *int64 { return &a.SessionNum }),
		ordinal("worker", "which of the run's workers asked it, from 0; 0 where one process asks all", Int16,
			func(a *a) *int64 { return &a.Worker }),
		word("conversation_id", "the question as the data set names it",
			func(a *a) *string { return &a.ConversationID }).naming(),
		word("x_request_id", "as sent in the header X-Request-ID", func(a *a) *string { return &a.RequestID }).naming(),
		word("phase", "name of the phase that asked it", func(a *a) *string { return &a.Phase }),
		word("item", "name of the question: the same in every run that asks it", func(a *a) *string { return &a.Item }),
		word("task", "the part of the benchmark that it is from", func(a *a) *string { return &a.Task }),
		word("grader", "what judged the answer", func(a *a) *string { return &a.Grader }),
		word("status", "how the request ended; there is an answer only to ok", func(a *a) *string { return &a.Status }),
		word("outcome", "right, wrong or not_judged; null where no answer came",
			func(a *a) *string { return &a.Outcome }),
		word("why", "what is wrong with the answer, or why it was not judged", func(a *a) *string { return &a.Why }),
		word("finish_reason", "why the server stopped", func(a *a) *string { return &a.FinishReason }),
		fact("passed", "AIPerf counts it as correct", func(a *a) *bool { return &a.Passed }),
		fact("unparsed", "AIPerf found no answer in the form that was asked for",
			func(a *a) *bool { return &a.Unparsed }),
		real("confidence", "how sure AIPerf's grader is, 0 to 1", "", func(a *a) *float64 { return &a.Confidence }),
		word("expected", "what the grader compares with", func(a *a) *string { return &a.Expected }).again(),
		word("actual", "what it took from the answer", func(a *a) *string { return &a.Actual }).again(),
		word("explanation", "AIPerf's words about the comparison", func(a *a) *string { return &a.Explanation }).again(),
		word("output", "the answer, with the calls of tools in it", func(a *a) *string { return &a.Output }).again(),
		word("reasoning", "what stood before it as reasoning", func(a *a) *string { return &a.Reasoning }).again(),
	}
}
