package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// answersMarks is the server against which AIPerf's samples of accuracy runs were
// recorded: the answer stands in the question, between the last two %% of the prompt;
// THINK:x|y is the reasoning x and the answer y, 500 a failure.
func answersMarks(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Prompt   string
		Messages []struct{ Content string }
		Stream   bool
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	chat, prompt := len(body.Messages) > 0, body.Prompt
	if chat {
		prompt = body.Messages[len(body.Messages)-1].Content
	}
	parts := strings.Split(prompt, "%%")
	if len(parts) < 3 {
		http.Error(w, `{"error":{"message":"no marks"}}`, http.StatusBadRequest)
		return
	}
	text := strings.ReplaceAll(parts[len(parts)-2], `\n`, "\n")
	if text == "500" {
		http.Error(w, `{"error":{"message":"boom","type":"server_error"}}`, http.StatusInternalServerError)
		return
	}
	thought := ""
	if rest, ok := strings.CutPrefix(text, "THINK:"); ok {
		thought, text, _ = strings.Cut(rest, "|")
	}
	said := map[string]any{"content": text}
	if thought != "" && chat {
		said["reasoning_content"] = thought
	}
	choice := map[string]any{"index": 0, "finish_reason": "stop"}
	object := "text_completion" // AIPerf reads no answer without it
	switch {
	case chat && body.Stream:
		object, choice["delta"] = "chat.completion.chunk", said
	case chat:
		object, choice["message"] = "chat.completion", said
	default:
		choice["text"] = text
	}
	out, err := json.Marshal(map[string]any{"id": "1", "object": object, "created": 1, "model": "m", "choices": []any{choice}})
	switch {
	case err != nil:
		http.Error(w, "{}", http.StatusInternalServerError)
	case body.Stream:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: %s\n\ndata: [DONE]\n\n", out)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Write(out) //nolint:errcheck // who asked is gone
	}
}

// cmdGraded wants in FILE the answers that AIPerf recorded in GOLDEN, of those of a task
// and with the order of arrival, ids and moments aside: graded FILE GOLDEN TASK.
func cmdGraded(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: graded FILE GOLDEN TASK")
	}
	got, err := gradedLines(ts.ReadFile(args[0]), args[2])
	ts.Check(err)
	want, err := gradedLines(ts.ReadFile(args[1]), args[2])
	ts.Check(err)
	if !slices.Equal(got, want) {
		ts.Fatalf("%s has\n%s\n%s has\n%s", args[0], strings.Join(got, "\n"), args[1], strings.Join(want, "\n"))
	}
}

// answerKeys are the members of a line in AIPerf's order; what differs from run to run.
var (
	answerKeys = []string{
		"session_num", "conversation_id", "x_request_id", "worker_id", "benchmark_phase", "timestamp_ns", "task",
		"grader_name", "passed", "unparsed", "confidence", "expected", "actual", "explanation", "model_output",
		"model_thinking",
	}
	differs = map[string]bool{"session_num": true, "x_request_id": true, "worker_id": true, "timestamp_ns": true}
)

// gradedLines are the lines of a task, of all for "", without what differs.
func gradedLines(text, task string) (out []string, err error) {
	for line := range strings.Lines(text) {
		var o map[string]json.RawMessage
		var of string
		if err := errors.Join(json.Unmarshal([]byte(line), &o), json.Unmarshal(o["task"], &of)); err != nil {
			return nil, err
		}
		if task != "" && of != task {
			continue
		}
		said, at := []string(nil), -1
		for _, k := range answerKeys {
			where := strings.Index(line, strconv.Quote(k)+":")
			if where < 0 && k == "model_thinking" {
				continue
			}
			if where < at {
				return nil, fmt.Errorf("%s: %s is missing, or out of its order", line, k)
			}
			if at = where; !differs[k] {
				said = append(said, k+"="+string(o[k]))
			}
		}
		out = append(out, strings.Join(said, " "))
	}
	slices.Sort(out)
	return out, nil
}
