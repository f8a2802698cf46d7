package exam

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
)

// bigBench asks the 27 hard tasks of BIG-Bench. What a task is, and its examples, stand
// in the files of its authors (bbhSource), which are read beside the data and are not
// part of this program.
var bigBench = benchmark{
	Info{
		Name: "bigbench", Dataset: "lukaemon/bbh", Grader: "exact_match",
		Tasks: bbhTasks(), Shots: 3, MaxShots: 3, CoT: true,
	},
	bigBenchItems,
}

const (
	bbhSource  = "https://github.com/suzgunmirac/BIG-Bench-Hard (MIT)"
	bbhPrompts = "cot-prompts"
)

// bbhForms are the tasks and what is said last about the form of an answer.
var bbhForms = []struct{ task, form string }{
	{"boolean_expressions", "'True' or 'False'"},
	{"causal_judgement", "'Yes' or 'No'"},
	{"date_understanding", lettered(6)},
	{"disambiguation_qa", lettered(3)},
	{"dyck_languages", "only the sequence of parentheses characters separated by white space"},
	{"formal_fallacies", "'invalid' or 'valid'"},
	{"geometric_shapes", lettered(11)},
	{"hyperbaton", "'(A)' or'(B)'"}, // without the blank, as AIPerf has it
	{"logical_deduction_five_objects", lettered(5)},
	{"logical_deduction_seven_objects", lettered(7)},
	{"logical_deduction_three_objects", lettered(3)},
	{"movie_recommendation", lettered(5)},
	{"multistep_arithmetic_two", "the numerical answer"},
	{"navigate", "'Yes' or 'No'"},
	{"object_counting", "the numerical answer"},
	{"penguins_in_a_table", lettered(5)},
	{"reasoning_about_colored_objects", lettered(18)},
	{"ruin_names", lettered(4)},
	{"salient_translation_error_detection", lettered(6)},
	{"snarks", "'(A)' or'(B)'"},
	{"sports_understanding", "'yes' or 'no'"},
	{"temporal_sequences", lettered(4)},
	{"tracking_shuffled_objects_five_objects", lettered(5)},
	{"tracking_shuffled_objects_seven_objects", lettered(7)},
	{"tracking_shuffled_objects_three_objects", lettered(3)},
	{"web_of_lies", "'Yes' or 'No'"},
	{"word_sorting", "only the sequence of words separated by white space"},
}

func bbhTasks() []string {
	var names []string
	for _, f := range bbhForms {
		names = append(names, f.task)
	}
	return names
}

// lettered lists n letters in parentheses.
func lettered(n int) string {
	var b strings.Builder
	for i := range n {
		if i == n-1 {
			b.WriteString("or ")
		}
		fmt.Fprintf(&b, "'(%c)', ", 'A'+i)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func bbhForm(task string) string {
	for _, f := range bbhForms {
		if f.task == task {
			return "\n\nOutput " + f.form + ". Full answer not needed."
		}
	}
	return ""
}

func bigBenchItems(m *maker) error {
	tasks := m.every()
	if m.single() && len(tasks) != 1 {
		return diag.New(fmt.Sprintf("%s: %s is one file: which task is it?", m.b.Name, m.o.Path),
			"name one task, or the folder of all")
	}
	for _, task := range tasks {
		lead, err := m.bbhLead(task)
		if err != nil {
			return err
		}
		form := bbhForm(task)
		err = m.bbhRows(task, func(place, input, target string) error {
			return m.add(place, Item{
				Task: task, Prompt: lead + "\n\nQ: " + input + "\nA: " + form, Truth: target, MaxTokens: 1024,
				Meta: meta(1024, "bbh_task", task, "confinement", form),
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bbhLead is the description of a task and its examples.
func (m *maker) bbhLead(task string) (string, error) {
	text, err := m.bbhPrompt(task)
	if err != nil {
		return "", err
	}
	if _, behind, ok := strings.Cut(text, "-----\n"); ok {
		text = behind
	}
	sections := strings.Split(text, "\n\n")
	if sections = sections[:min(m.shots+1, len(sections))]; !m.cot {
		for i, s := range sections {
			sections[i] = withoutReasoning(s)
		}
	}
	return "Task description: " + strings.Join(sections, "\n\n"), nil
}

// soTheAnswer leads from the reasoning of an example to its answer.
var soTheAnswer = regexp.MustCompile(`(?s).*[Ss]o the answer is `)

// withoutReasoning leaves the bare answer of a worked example.
func withoutReasoning(section string) string {
	question, answer, ok := strings.Cut(section, "\nA:")
	if !ok {
		return section
	}
	answer = strings.TrimSuffix(strings.TrimSpace(soTheAnswer.ReplaceAllString(answer, "")), ".")
	return question + "\nA: " + answer
}

// folders are where a checkout of the authors' repository may be.
func (m *maker) folders() []string {
	const name = "BIG-Bench-Hard"
	beside := filepath.Dir(m.o.Path)
	return []string{
		m.o.Path, filepath.Join(m.o.Path, name), filepath.Join(m.o.Path, "suzgunmirac", name), beside,
		filepath.Join(beside, name),
	}
}

// bbhPrompt is the authors' file about a task.
func (m *maker) bbhPrompt(task string) (string, error) {
	for _, dir := range m.folders() {
		b, err := os.ReadFile(filepath.Join(dir, bbhPrompts, task+".txt"))
		if err != nil {
			continue
		}
		text := strings.ReplaceAll(string(b), "\r\n", "\n")
		if task == "snarks" {
			text = strings.ReplaceAll(text, "adressed", "addressed") // as the copy that AIPerf reads spells it
		}
		return text, nil
	}
	return "", diag.New(fmt.Sprintf("%s: no %s/%s.txt: its prompts stand in the files of its authors",
		m.b.Name, bbhPrompts, task), "git clone "+bbhSource+", and name that folder, or the one it is in")
}

// bbhRows hands over the questions of a task: from the authors' own file, or from the
// data set.
func (m *maker) bbhRows(task string, f func(place, input, target string) error) error {
	for _, dir := range m.folders() {
		path := filepath.Join(dir, "bbh", task+".json")
		if b, err := os.ReadFile(path); err == nil && !m.single() {
			return authorsRows(path, b, f)
		}
	}
	return m.each(task, "test", func(c *cells) error {
		input, target := c.str("input"), c.str("target")
		if c.err != nil {
			return c.err
		}
		return f(c.place, input, target)
	})
}

func authorsRows(path string, text []byte, f func(place, input, target string) error) error {
	var file struct {
		Examples []struct{ Input, Target string }
	}
	if err := json.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for i, e := range file.Examples {
		if err := f(fmt.Sprintf("%s: examples[%d]", path, i), e.Input, e.Target); err != nil {
			return err
		}
	}
	return nil
}
