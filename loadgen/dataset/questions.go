package dataset

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"

	"aiperf.dev/aiperf/internal/seed"
	"aiperf.dev/aiperf/loadgen/dataset/conversation"
	"aiperf.dev/aiperf/loadgen/dataset/exam"
	"aiperf.dev/aiperf/loadgen/tokenizer"
	"aiperf.dev/aiperf/schema"
)

// Form is how an API takes questions.
type Form struct {
	Messages bool // as a list of messages; else as one text
	System   bool // it has a place for a system prompt beside them
}

// Questions are the items of a benchmark as conversations of one turn, all of them in
// their order, or as many as a asks for, drawn alike in every run. path is the file or
// folder that a names, as it is seen from here.
func Questions(ctx context.Context, a *schema.Accuracy, path string, form Form, tok tokenizer.Tokenizer) (*Set, error) {
	o := exam.Options{
		Benchmark: a.Benchmark, Path: path, Tasks: a.Tasks, Shots: a.Shots, CoT: a.CoT, System: a.System,
		Grader: a.Grader,
	}
	if a.Benchmark == schema.OwnBenchmark {
		o.Benchmark, o.Path = path, ""
	}
	items, err := exam.Load(ctx, o, nil)
	if err != nil {
		return nil, fmt.Errorf("accuracy: %w", err)
	}
	if n := a.Items; n > 0 && n < len(items) {
		at := rand.New(rand.NewPCG(seed.Of(0, "accuracy/"+a.Benchmark), 0)).Perm(len(items))[:n]
		slices.Sort(at)
		for i, k := range at {
			items[i] = items[k]
		}
		items = items[:n]
	}
	s := &Set{sampling: "sequential"}
	for i := range items {
		s.conversations = append(s.conversations, question(i, &items[i], a, form, tok))
	}
	return s, nil
}

// question is item i of a benchmark as it is asked.
func question(i int, item *exam.Item, a *schema.Accuracy, form Form, tok tokenizer.Tokenizer) Conversation {
	t := Turn{MaxTokens: int64(item.MaxTokens)}
	if len(item.Stop) > 0 {
		t.Extra = schema.MembersOf("stop", item.Stop)
	}
	c := Conversation{
		ID: conversation.SessionID(i),
		Known: &conversation.Known{
			Item: item.ID, Task: item.Task, Truth: item.Truth, Grader: item.Grader,
		},
	}
	if a.Mixed() {
		c.ID = "question_" + item.ID
	}
	switch {
	case form.Messages && len(item.Messages) > 1:
		all := item.Messages
		if item.System != "" {
			all = slices.Insert(slices.Clone(all), 0, exam.Message{Role: "system", Content: item.System})
		}
		t.Messages = messagesOf(all)
		for _, m := range all {
			t.ISL += conversation.CountTexts(tok, []string{m.Content})
		}
	case form.Messages || form.System:
		t.Texts, c.System = []string{item.Prompt}, item.System
		if len(item.Messages) == 1 {
			t.Texts[0] = item.Messages[0].Content
		}
		t.ISL = conversation.CountTexts(tok, t.Texts)
	default:
		t.Texts = []string{conversation.JoinSystem(item.System, item.Prompt)}
		t.ISL = conversation.CountTexts(tok, t.Texts)
	}
	c.Turns = []Turn{t}
	return c
}

func messagesOf(all []exam.Message) json.RawMessage {
	text, err := json.Marshal(all)
	if err != nil {
		panic("dataset: messages are texts: " + err.Error())
	}
	return text
}

// Asking is the set with questions among its conversations: each play is one with the
// given chance.
func (s *Set) Asking(questions *Set, share float64) *Set {
	out := *s
	out.asked, out.share = questions, share
	return &out
}

// asker says which plays are questions, and which ones: all of them in an order of its
// own, and then all of them again.
type asker struct {
	of    *Set
	share float64
	plays uint64 // seeds the choice of plays
	order []int
	next  int
}

func newAsker(s *Set, root int64) *asker {
	if s.asked == nil {
		return nil
	}
	return &asker{
		of: s.asked, share: s.share, plays: seed.Of(root, "accuracy.plays"), order: seed.Stream(root, "accuracy.order").Perm(s.asked.Len()),
	}
}

// at is the question of play n, nil where it is none.
func (a *asker) at(n int64) *Conversation {
	if a == nil {
		return nil
	}
	const digits = 1 << 53
	if float64(seed.Mix(a.plays+uint64(n))%digits)/digits >= a.share {
		return nil
	}
	i := a.order[a.next]
	a.next = (a.next + 1) % len(a.order)
	return a.of.At(i)
}
