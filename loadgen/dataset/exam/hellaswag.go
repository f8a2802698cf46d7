package exam

import (
	"slices"
	"strings"
)

// hellaSwag asks which of four endings fits. Its tasks are activity labels.
var hellaSwag = benchmark{
	Info{
		Name: "hellaswag", Dataset: "Rowan/hellaswag", Grader: "exact_match", Shots: 10, MaxShots: 15,
	},
	hellaSwagItems,
}

// hellaSwagRow is the beginning of a scene and its four endings.
type hellaSwagRow struct {
	begin, activity string
	endings         []string
	gold            int
}

func readHellaSwag(c *cells) hellaSwagRow {
	r := hellaSwagRow{begin: c.str("ctx"), activity: c.str("activity_label"), endings: c.strs("endings")}
	if c.err == nil && len(r.endings) != 4 {
		c.fail("endings: want 4, there are %d", len(r.endings))
	}
	r.gold = c.choice("label", 4)
	return r
}

func (r hellaSwagRow) letter() string { return string(rune('A' + r.gold)) }

// block is the question up to the answer.
func (r hellaSwagRow) block() string {
	var b strings.Builder
	b.WriteString(r.begin + "\n")
	for i, e := range r.endings {
		b.WriteString(string(rune('A'+i)) + ". " + e + "\n")
	}
	return b.String() + "Answer:"
}

func hellaSwagItems(m *maker) error {
	if err := m.examples("train"); err != nil {
		return err
	}
	shots := ""
	if m.shots > 0 {
		seen := map[string]bool{} // one example of each activity
		err := m.each("", "train", func(c *cells) error {
			r := readHellaSwag(c)
			if c.err != nil || seen[r.activity] {
				return c.err
			}
			seen[r.activity] = true
			shots += r.block() + " " + r.letter() + "\n\n"
			if len(seen) == m.shots {
				return errEnough
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	place := map[string]int{} // of tasks, in the order in which they are asked for
	for _, task := range m.o.Tasks {
		if _, twice := place[folded(task)]; !twice {
			place[folded(task)] = len(place)
		}
	}
	_, every := place["all"]
	all := len(place) == 0 || len(place) == 1 && every
	found := map[string]bool{"all": true}
	err := m.each("", "validation", func(c *cells) error {
		r := readHellaSwag(c)
		label := folded(r.activity)
		found[label] = true
		if _, chosen := place[label]; c.err != nil || !all && !chosen {
			return c.err
		}
		return m.add(c.place, Item{
			Task: r.activity, Truth: r.letter(), MaxTokens: 5, Meta: meta(5, "activity_label", r.activity),
			Prompt: "The following are multiple choice questions (with answers) are sentence completion problems about " +
				r.activity + ".\n\n" + shots + r.block() + "\n\nOutput 'A', 'B', 'C', or 'D'. Full answer not needed.",
		})
	})
	if err != nil {
		return err
	}
	if !all {
		slices.SortStableFunc(m.items, func(a, b Item) int { return place[folded(a.Task)] - place[folded(b.Task)] })
	}
	return m.unknown(found)
}
