package exam

import "strings"

// mmluPro asks for one of up to ten letters, with worked examples of the same category.
var mmluPro = benchmark{
	Info{
		Name: "mmlu_pro", Dataset: "TIGER-Lab/MMLU-Pro", Licence: "MIT", Grader: "mmlu_pro",
		Tasks: []string{
			"biology", "business", "chemistry", "computer science", "economics", "engineering", "health", "history",
			"law", "math", "philosophy", "physics", "psychology", "other",
		},
		Shots: 5, MaxShots: Most, CoT: true,
	},
	mmluProItems,
}

// mmluProRow is a question of mmlu_pro.
type mmluProRow struct {
	question, answer, category, worked string
	options                            []string
}

func readMMLUPro(c *cells) mmluProRow {
	r := mmluProRow{
		question: c.str("question"), answer: c.str("answer"), category: c.str("category"),
		worked: strings.TrimPrefix(c.maybe("cot_content"), "A: "),
	}
	for _, o := range c.strs("options") {
		if o != "N/A" {
			r.options = append(r.options, o)
		}
	}
	if c.err == nil && (len(r.answer) != 1 || r.answer[0] < 'A' || r.answer[0] > 'J') {
		c.fail("answer: %q is not a letter from A to J", r.answer)
	}
	if c.err == nil && len(r.options) > 10 {
		c.fail("options: %d, at most 10", len(r.options))
	}
	return r
}

// block is the question with a text in the place of the answer.
func (r mmluProRow) block(answer string) string {
	var b strings.Builder
	b.WriteString("Question: " + r.question + "\nOptions: ")
	for i, o := range r.options {
		b.WriteString(string(rune('A'+i)) + ". " + o + "\n")
	}
	return b.String() + "Answer: " + answer + "\n\n"
}

func mmluProItems(m *maker) error {
	if err := m.examples("validation"); err != nil {
		return err
	}
	shots := map[string]string{} // by category
	count := map[string]int{}
	if m.shots > 0 {
		err := m.each("", "validation", func(c *cells) error {
			r := readMMLUPro(c)
			answer := r.answer
			if m.cot {
				answer = r.worked
			}
			if count[r.category]++; count[r.category] <= m.shots {
				shots[r.category] += r.block(answer)
			}
			return c.err
		})
		if err != nil {
			return err
		}
	}
	ask := ""
	if m.cot {
		ask = "Let's think step by step."
	}
	return m.each("", "test", func(c *cells) error {
		r := readMMLUPro(c)
		if c.err != nil || !m.wanted(r.category) {
			return c.err
		}
		intro := "The following are multiple choice questions (with answers) about " + r.category + "."
		if m.cot {
			intro += ` Think step by step and then output the answer in the format of "The answer is (X)" at the end.`
		}
		return m.add(c.place, Item{
			Task: r.category, Prompt: intro + "\n\n" + shots[r.category] + r.block(ask), Truth: r.answer,
			MaxTokens: 4000, Meta: meta(4000, "category", r.category),
		})
	})
}
