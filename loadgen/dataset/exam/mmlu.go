package exam

import (
	"cmp"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/pyrandom"
)

// mmlu asks for one of four letters, with examples of the same subject.
var mmlu = benchmark{
	Info{
		Name: "mmlu", Dataset: "lighteval/mmlu", Licence: "MIT", Grader: "multiple_choice",
		Tasks: subjects, Shots: 5, MaxShots: Most,
	},
	mmluItems,
}

var subjects = strings.Fields(`abstract_algebra anatomy astronomy business_ethics clinical_knowledge college_biology
college_chemistry college_computer_science college_mathematics college_medicine college_physics computer_security
conceptual_physics econometrics electrical_engineering elementary_mathematics formal_logic global_facts
high_school_biology high_school_chemistry high_school_computer_science high_school_european_history
high_school_geography high_school_government_and_politics high_school_macroeconomics high_school_mathematics
high_school_microeconomics high_school_physics high_school_psychology high_school_statistics high_school_us_history
high_school_world_history human_aging human_sexuality international_law jurisprudence logical_fallacies
machine_learning management marketing medical_genetics miscellaneous moral_disputes moral_scenarios nutrition
philosophy prehistory professional_accounting professional_law professional_medicine professional_psychology
public_relations security_studies sociology us_foreign_policy virology world_religions`)

// mmluRow is a question of mmlu.
type mmluRow struct {
	question string
	choices  []string
	gold     int
}

func readMMLU(c *cells) mmluRow {
	r := mmluRow{question: c.str("question"), choices: c.strs("choices")}
	if c.err == nil && len(r.choices) != 4 {
		c.fail("choices: want 4, there are %d", len(r.choices))
	}
	r.gold = c.choice("answer", 4)
	return r
}

// letter is the answer as the benchmark writes it.
func (r mmluRow) letter() string { return " " + string(rune('A'+r.gold)) }

// block is the question up to the answer.
func (r mmluRow) block(reason string) string {
	var b strings.Builder
	b.WriteString("Question: " + r.question + "\n")
	for i, c := range r.choices {
		b.WriteString(string(rune('A'+i)) + ". " + c + "\n")
	}
	return b.String() + reason + "Answer:"
}

func mmluItems(m *maker) error {
	if err := m.examples("dev"); err != nil {
		return err
	}
	tasks := m.every()
	if m.single() {
		tasks = []string{""}
	}
	for _, subject := range tasks {
		shots, err := m.mmluShots(subject)
		if err != nil {
			return err
		}
		err = m.each(subject, "test", func(c *cells) error {
			task, r := subject, readMMLU(c)
			if task == "" {
				if task = c.maybe("subject"); task == "" && len(m.tasks) == 1 {
					task = m.tasks[0]
				}
				if !slices.Contains(subjects, task) {
					c.fail("subject: %q is not a subject of mmlu", task)
				}
			}
			if c.err != nil || !m.wanted(task) {
				return c.err
			}
			return m.add(c.place, m.mmluItem(task, r, shots))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mmluShots are the examples of a subject, from the split dev, or validation.
func (m *maker) mmluShots(subject string) ([]mmluRow, error) {
	if m.shots == 0 {
		return nil, nil
	}
	split := "dev"
	if paths, err := m.find(m.b.Dataset, subject, split); err != nil || len(paths) == 0 {
		split = "validation"
	}
	var rows []mmluRow
	err := m.each(subject, split, func(c *cells) error {
		rows = append(rows, readMMLU(c))
		return c.err
	})
	if err != nil {
		return nil, err
	}
	gold := make([]string, len(rows))
	for i, r := range rows {
		gold[i] = r.choices[r.gold]
	}
	shots := make([]mmluRow, 0, m.shots)
	for _, i := range balanced(gold, m.shots) {
		shots = append(shots, rows[i])
	}
	return shots, nil
}

func (m *maker) mmluItem(subject string, r mmluRow, shots []mmluRow) Item {
	intro := "The following are multiple choice questions (with answers) about " +
		strings.ReplaceAll(subject, "_", " ") + "."
	reason, tokens, stop := "", 5, []string{"\n"}
	if m.cot {
		intro += ` Think step by step and then output the answer in the format of "The answer is (X)" at the end.`
		reason, tokens, stop = "Let's think step by step.\n", 4000, nil
	}
	intro += "\n\n"
	item := Item{
		Task: subject, Truth: r.letter(), MaxTokens: tokens, Stop: stop, Prompt: intro,
		Meta: meta(tokens, "subject", subject, "stop_sequence", asJSON(append([]string{}, stop...))),
	}
	lead := intro // stands in the first message only
	for _, s := range shots {
		item.Prompt += s.block("") + s.letter() + "\n\n"
		item.Messages = append(item.Messages, Message{"user", lead + s.block("")}, Message{"assistant", s.letter()})
		lead = ""
	}
	item.Prompt += r.block(reason)
	item.Messages = append(item.Messages, Message{"user", lead + r.block(reason)})
	return item
}

// balanced chooses n rows so that each label comes as often as any other: the labels
// take turns, the most frequent one first, and each gives one of its rows, drawn
// without return. One row more than is used is drawn, as lighteval does.
func balanced(labels []string, n int) []int {
	rows := map[string][]int{}
	var order []string
	for i, l := range labels {
		if rows[l] == nil {
			order = append(order, l)
		}
		rows[l] = append(rows[l], i)
	}
	slices.Sort(order)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(rows[b]), len(rows[a])) })
	random := pyrandom.New(0)
	for from := 0; from < len(order); { // labels of one frequency
		to := from
		for to < len(order) && len(rows[order[to]]) == len(rows[order[from]]) {
			to++
		}
		same := order[from:to]
		random.Shuffle(len(same), func(i, j int) { same[i], same[j] = same[j], same[i] })
		from = to
	}
	var drawn []int
	for turn := 0; len(drawn) < min(n+1, len(labels)); turn++ {
		l := order[turn%len(order)]
		if left := rows[l]; len(left) > 0 {
			i := random.Below(len(left))
			drawn = append(drawn, left[i])
			rows[l] = slices.Delete(left, i, i+1)
		}
	}
	return drawn[:min(n, len(drawn))]
}
