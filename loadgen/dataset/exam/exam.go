// Package exam makes items with known answers of published benchmarks, and of a
// user's own. In go the name of a benchmark and files on this machine, out come
// items: what is asked, what is true, and which grader compares. The prompts are
// AIPerf's, byte by byte. It never touches the network.
//
// A benchmark is one file and one row. Its rows become items in the order of their
// files, task by task.
package exam

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
)

// Message is one message of a chat.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Item is one question with a known answer.
type Item struct {
	ID        string            // benchmark/task/ordinal, or the id an own file gives
	Task      string            // the row of the results that it counts in
	System    string            // "" for none
	Messages  []Message         // for chat, without the system prompt
	Prompt    string            // for completions, behind the system prompt if there is one
	Truth     string            // what the grader compares with
	MaxTokens int               // 0 says nothing
	Stop      []string          // nil for none
	Grader    string            // a name of internal/grade
	Meta      map[string]string // AIPerf's metadata; what is not a text is JSON
}

// Options say which items of a benchmark are made, and how they ask.
type Options struct {
	Benchmark string   // a name, or the path of an own file
	Path      string   // a file or folder; "" is a folder named like the data set, or the hub's cache
	Tasks     []string // none is all
	Shots     *int     // examples before the question; nil is the benchmark's number
	CoT       *bool    // ask for reasoning before the answer; nil is the benchmark's choice
	System    *string  // system prompt; nil is the benchmark's
	Grader    string   // "" is the benchmark's
}

// Info is what is known of a benchmark before its files are read.
type Info struct {
	Name     string
	Dataset  string // repository on the hub
	Licence  string // as its card says; "" where it states none, or could not be seen
	Gated    bool   // its terms must be accepted with an account first
	Grader   string
	Tasks    []string // that can be chosen; nil where none can
	Shots    int      // examples when no number is given
	MaxShots int      // 0 for a benchmark without examples
	CoT      bool     // asks for reasoning when nothing is said
	System   string
}

// Find looks for the files of a split of a data set's configuration. A config that
// is the name of a file means that file.
type Find = func(dataset, config, split string) ([]string, error)

// Most bounds the examples of a benchmark that has no smaller bound.
const Most = 32

// benchmark is a row of the catalogue.
type benchmark struct {
	Info
	items func(*maker) error
}

// catalogue is in AIPerf's order.
func catalogue() []benchmark {
	return []benchmark{mmlu, mmluPro, aime, hellaSwag, bigBench, aime24, aime25, math500, gsm8k, gpqaDiamond, liveCode}
}

// Names are the names of all benchmarks.
func Names() []string {
	var names []string
	for _, b := range catalogue() {
		names = append(names, b.Name)
	}
	return names
}

// Known is the benchmark of a name.
func Known(name string) (Info, bool) {
	b, ok := named(name)
	return b.Info, ok
}

func named(name string) (benchmark, bool) {
	rows := catalogue()
	name = strings.ReplaceAll(name, "-", "_")
	if i := slices.IndexFunc(rows, func(b benchmark) bool { return b.Name == name }); i >= 0 {
		return rows[i], true
	}
	return benchmark{}, false
}

// Load makes the items of a benchmark. Files are found by find, or by Local(o.Path)
// where it is nil.
func Load(ctx context.Context, o Options, find Find) ([]Item, error) {
	b, ok := named(o.Benchmark)
	if !ok {
		if st, err := os.Stat(o.Benchmark); err != nil || !st.Mode().IsRegular() {
			return nil, diag.New(fmt.Sprintf("%q is neither a benchmark nor a file with items", o.Benchmark),
				"benchmarks: "+strings.Join(Names(), ", ")+"; an own one is a file of JSON lines")
		}
		b = own
	}
	m, err := newMaker(ctx, b, o, find)
	if err != nil {
		return nil, err
	}
	if err := b.items(m); err != nil {
		return nil, err
	}
	return m.done()
}

// maker collects the items of one benchmark.
type maker struct {
	ctx   context.Context //nolint:containedctx // lives as long as one call of Load
	b     benchmark
	o     Options
	find  Find
	shots int
	cot   bool
	tasks []string // chosen, as the benchmark spells them; nil is all
	items []Item
	count map[string]int // of items, by task
	seen  map[string]string
}

// TakesShots reports whether examples can stand before the questions of a benchmark.
func TakesShots(name string) bool {
	i := slices.IndexFunc(catalogue(), func(b benchmark) bool { return b.Name == name })
	return i >= 0 && catalogue()[i].MaxShots > 0
}

func newMaker(ctx context.Context, b benchmark, o Options, find Find) (*maker, error) {
	m := &maker{
		ctx: ctx, b: b, o: o, find: find, shots: b.Shots, cot: b.CoT,
		count: map[string]int{}, seen: map[string]string{},
	}
	if m.find == nil {
		m.find = Local(o.Path)
	}
	if o.CoT != nil {
		m.cot = *o.CoT
	}
	if o.Shots != nil && b.MaxShots > 0 {
		if m.shots = *o.Shots; m.shots < 0 || m.shots > b.MaxShots {
			return nil, diag.New(fmt.Sprintf("%s takes 0 to %d examples, not %d", b.Name, b.MaxShots, m.shots), "")
		}
	}
	return m, m.choose()
}

// choose finds the tasks that were asked for, in any case and with _ for a space.
func (m *maker) choose() error {
	if m.b.Tasks == nil || len(m.o.Tasks) == 0 || slices.Equal(m.o.Tasks, []string{"all"}) {
		return nil
	}
	for _, want := range m.o.Tasks {
		i := slices.IndexFunc(m.b.Tasks, func(name string) bool { return folded(name) == folded(want) })
		if i < 0 {
			return diag.New(fmt.Sprintf("%s has no task %q", m.b.Name, want), "tasks: "+strings.Join(m.b.Tasks, ", "))
		}
		if !slices.Contains(m.tasks, m.b.Tasks[i]) {
			m.tasks = append(m.tasks, m.b.Tasks[i])
		}
	}
	return nil
}

func folded(task string) string { return strings.ToLower(strings.ReplaceAll(task, " ", "_")) }

// wanted reports whether items of a task are asked for.
func (m *maker) wanted(task string) bool { return m.tasks == nil || slices.Contains(m.tasks, task) }

// every are the tasks that are asked for.
func (m *maker) every() []string {
	if m.tasks == nil {
		return m.b.Tasks
	}
	return m.tasks
}

// add puts an item in, which stands at a place, and gives it what all items of the
// benchmark share.
func (m *maker) add(place string, item Item) error {
	if err := m.ctx.Err(); err != nil {
		return err
	}
	if strings.TrimSpace(item.Truth) == "" {
		return fmt.Errorf("%s: the answer is empty", place)
	}
	if item.ID == "" {
		item.ID = fmt.Sprintf("%s/%s/%d", m.b.Name, item.Task, m.count[item.Task])
	}
	if first, twice := m.seen[item.ID]; twice {
		return fmt.Errorf("%s: the id %q is also that of %s", place, item.ID, first)
	}
	m.seen[item.ID] = place
	m.count[item.Task]++
	if item.Messages == nil {
		item.Messages = []Message{{"user", item.Prompt}}
	}
	item.Grader = first(m.o.Grader, item.Grader, m.b.Grader)
	item.System = first(item.System, m.b.System)
	if m.o.System != nil {
		item.System = *m.o.System
	}
	m.items = append(m.items, item)
	return nil
}

// done are the items, of which there is at least one.
func (m *maker) done() ([]Item, error) {
	if len(m.items) == 0 {
		return nil, diag.New(m.b.Name+": no items", "is it the right file, and are these its tasks?")
	}
	return m.items, nil
}

// first is the first text that is not empty.
func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// meta is the metadata of an item with a bound of its answer.
func meta(tokens int, pairs ...string) map[string]string {
	m := map[string]string{"generation_size": strconv.Itoa(tokens)}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return m
}

// asJSON is a value as AIPerf's metadata would hold it.
func asJSON(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("exam: not JSON: " + err.Error())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
