package exam

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/grade"
	"aiperf.dev/aiperf/loadgen/dataset/files"
)

// own is a user's benchmark: a file of {id, task, prompt or messages, answer, grader}.
var own = benchmark{items: ownItems}

// ownKeys are all that an item can say.
var ownKeys = []string{"id", "task", "prompt", "messages", "answer", "grader"}

func ownItems(m *maker) error {
	path := m.o.Benchmark
	m.b.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	found := map[string]bool{}
	err := files.Each(path, func(r files.Record) error {
		item, err := ownItem(r, m.b.Name, m.o.Grader)
		if err != nil {
			return err
		}
		if found[folded(item.Task)] = true; len(m.o.Tasks) > 0 && !m.asked(item.Task) {
			return nil
		}
		return m.add(r.Place, item)
	})
	if err != nil {
		return err
	}
	return m.unknown(found)
}

// asked reports whether a task of an own file, or a label, was asked for.
func (m *maker) asked(task string) bool {
	return slices.ContainsFunc(m.o.Tasks, func(want string) bool { return folded(want) == folded(task) })
}

// unknown refuses tasks that no row had.
func (m *maker) unknown(found map[string]bool) error {
	for _, want := range m.o.Tasks {
		if folded(want) == "all" || found[folded(want)] {
			continue
		}
		var names []string
		for name := range found {
			if name != "all" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return diag.New(fmt.Sprintf("%s has no task %q", m.b.Name, want), "tasks: "+strings.Join(names, ", "))
	}
	return nil
}

func ownItem(r files.Record, name, grader string) (Item, error) {
	c := &cells{place: r.Place, f: r.Fields}
	item := Item{
		ID: c.maybe("id"), Task: first(c.maybe("task"), name), Grader: c.maybe("grader"), Truth: c.plain("answer"),
	}
	for _, key := range r.Fields.Names() {
		if !slices.Contains(ownKeys, key) {
			c.fail("unknown key %s; an item has %s", key, strings.Join(ownKeys, ", "))
		}
	}
	switch {
	case c.has("prompt") && c.has("messages"):
		c.fail("prompt and messages: only one of them can be given")
	case c.has("messages"):
		c.talk(&item)
	default:
		item.Prompt = c.str("prompt")
	}
	if use := first(grader, item.Grader); c.err == nil && !slices.Contains(grade.Names(), use) {
		c.fail("grader: %q is not one of %s", use, strings.Join(grade.Names(), ", "))
	}
	return item, c.err
}

// talk reads the messages of an item. A system prompt at their beginning is told apart.
func (c *cells) talk(item *Item) {
	var list []json.RawMessage
	c.into("messages", &list, "a list of {role, content}")
	for i, raw := range list {
		var msg Message
		if err := files.Strict(raw, &msg); err != nil {
			c.fail("messages[%d]: %w", i, err)
			return
		}
		switch {
		case msg.Role == "system" && i == 0:
			item.System = msg.Content
			continue
		case msg.Role != "user" && msg.Role != "assistant":
			c.fail("messages[%d]: role %q is not user or assistant", i, msg.Role)
		}
		item.Messages = append(item.Messages, msg)
		item.Prompt += msg.Content + "\n\n"
	}
	item.Prompt = strings.TrimSuffix(item.Prompt, "\n\n")
	if n := len(item.Messages); c.err == nil && (n == 0 || item.Messages[n-1].Role != "user") {
		c.fail("messages: the last one must be the user's")
	}
}
