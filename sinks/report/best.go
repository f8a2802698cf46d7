package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// mostBest is how many kinds of work are answered one by one.
const mostBest = 3

// BestSentences say which cell is best: of each kind of work by itself, the same answer
// once. Under limits they are about the cells that keep them. Beside a comparison only
// what is shown is told: what stays open was not asked.
func (r *Report) BestSentences() []string { return r.bestSentences(false) }

// bestSentences are short where a screen is folded: which cells, of how much work it is
// not known, and no reasons.
func (r *Report) bestSentences(short bool) (out []string) {
	best := r.asked()
	if len(r.Results.Comparisons) > 0 {
		return r.bestBeside(best)
	}
	questions, of := r.questions()
	for i, q := range questions {
		shown := slices.ContainsFunc(of[q], func(b decide.Best) bool { return b.Shown || b.Tie })
		if i > 0 && r.folded >= mostFolds && !shown { // a second question without an answer
			continue
		}
		if short || long(q, of[q]) {
			out = append(out, shortBest(q, of[q]))
		} else {
			out = append(out, foldedBest(q, of[q]))
		}
	}
	if s := r.workSentence(); s != "" {
		out = append(out, s)
	}
	return out
}

// bestReasons say of several kinds of work at length what BestSentences say in few words.
func (r *Report) bestReasons() (out []string) {
	if len(r.Results.Comparisons) > 0 {
		return nil
	}
	questions, of := r.questions()
	for _, q := range questions {
		if long(q, of[q]) {
			out = append(out, foldedBest(q, of[q]))
		}
	}
	return out
}

// questions are what is asked, each with the answer for every kind of work. Of several
// each by how much is in the table.
func (r *Report) questions() (questions []string, of map[string][]decide.Best) {
	of = map[string][]decide.Best{}
	for _, b := range r.asked() {
		if q := b.Question(); of[q] == nil {
			questions = append(questions, q)
		}
		of[b.Question()] = append(of[b.Question()], b)
	}
	expected := func(q string) bool { // a sentence that says nothing new
		return !slices.ContainsFunc(of[q], func(b decide.Best) bool { return !b.Lowest })
	}
	if len(questions) > 1 && expected(questions[1]) {
		questions = questions[:1]
	}
	for _, q := range questions {
		for i, b := range of[q] {
			if len(of[q]) > 1 {
				of[q][i].Said = cmp.Or(b.Lead, b.Said)
			}
		}
	}
	return questions, of
}

// longestAnswer is how long a first sentence may be.
const longestAnswer = 160

// long reports whether the answers for several kinds of work, with their reasons, would make
// too long a first sentence.
func long(question string, best []decide.Best) bool {
	return len(best) > 1 && words.Width(foldedBest(question, best)) > longestAnswer
}

// bestBeside are the cells that are shown to be best, beside comparisons: each once,
// with all the work that it is best at. Of one comparison of two cells the comparison
// itself has said it.
func (r *Report) bestBeside(best []decide.Best) (out []string) {
	if len(r.Results.Comparisons) == 1 && !(Comparison{Comparison: r.Results.Comparisons[0]}).severalCells() {
		return nil
	}
	var said []string
	at, end := map[string][]string{}, map[string]string{}
	for _, b := range best {
		if !b.Shown || b.Cell == nil {
			continue
		}
		_, name := b.Cell.Cell.Apart()
		s := b.Question() + ": " + cmp.Or(name, b.Cell.Cell.Short())
		if at[s] == nil {
			said = append(said, s)
		}
		at[s], end[s] = append(at[s], b.Work), b.Next.String()
	}
	for _, s := range said {
		line := s
		if work := works(at[s]); work != "" {
			line += " at " + work
		}
		if end[s] != "" {
			line += "; " + end[s]
		}
		out = append(out, line)
	}
	return out
}

// asked are the answers that are told: under the limits where there are any, and beside a
// comparison by the first objective only.
func (r *Report) asked() []decide.Best {
	best := r.Results.Best
	if len(r.Results.UnderSLO) > 0 {
		best = r.Results.UnderSLO
	}
	if len(r.Results.Comparisons) > 0 && len(r.Results.Objectives) > 0 {
		best = slices.DeleteFunc(slices.Clone(best),
			func(b decide.Best) bool { return b.Objective.Key != r.Results.Objectives[0].Key })
	}
	return best
}

// foldedBest are the answers to one question, in one sentence. What was not tested beyond
// them is said once where it is true of all.
func foldedBest(question string, best []decide.Best) string {
	end := best[0].Next.String()
	if slices.ContainsFunc(best, func(b decide.Best) bool { return b.Next.String() != end }) {
		end = ""
	}
	var said []string
	at := map[string][]string{}
	for _, b := range best {
		answer := b.Said
		if own := b.Next.String(); own != end {
			answer += ", " + own
		}
		if at[answer] == nil {
			said = append(said, answer)
		}
		at[answer] = append(at[answer], b.Work)
	}
	var parts []string
	for i, s := range said {
		if i == mostBest {
			left := 0
			for _, s := range said[i:] {
				left += len(at[s])
			}
			parts = append(parts, fmt.Sprintf("at %s: see best in the table", words.Count(left, "other workload")))
			break
		}
		if work := works(at[s]); work != "" {
			s = "at " + work + ": " + s
		}
		parts = append(parts, s)
	}
	if end != "" {
		parts = append(parts, end)
	}
	if strings.HasPrefix(parts[0], "at ") {
		return question + " " + strings.Join(parts, "; ")
	}
	return question + ": " + strings.Join(parts, "; ")
}

// shortBest names the best cells, each with the work that it is best at.
func shortBest(question string, best []decide.Best) string {
	var said []string
	at := map[string][]string{}
	for _, b := range best {
		answer := b.Brief()
		if b.Tie && len(best) > 1 && len(b.MayBe) > 2 { // the table has their names
			answer = fmt.Sprintf("a tie of %d cells", len(b.MayBe))
		}
		if at[answer] == nil {
			said = append(said, answer)
		}
		at[answer] = append(at[answer], b.Work)
	}
	for i, s := range said {
		if work := works(words.Once(at[s])); work != "" {
			said[i] += " at " + work
		}
	}
	var next decide.Next
	for _, b := range best {
		next = next.Join(b.Next)
	}
	if try := next.Try(); try != "" {
		said = append(said, try)
	}
	return question + ": " + strings.Join(said, "; ")
}

// works lists kinds of work: "isl 64 and 256". The parts of each stay together where there are
// several: "isl 8 · osl 2, isl 8 · osl 3 and 4 more".
func works(list []string) string {
	if len(list) > 1 {
		list = slices.Clone(list)
		for i, w := range list {
			list[i] = strings.ReplaceAll(w, ", ", " · ")
		}
	}
	return some(list, mostBest)
}

// workSentence says that rows of different work are not ranked.
func (r *Report) workSentence() string {
	var axes []string
	for _, a := range r.Plan.Axes {
		if sweep.VariesWork(a.Name, a.Path) {
			axes = append(axes, spokenAxis(a.Name))
		}
	}
	if len(axes) == 0 || len(r.Results.Best)+len(r.Results.Comparisons) > 0 || len(r.Results.Cells) < 2 {
		return ""
	}
	return "Rows differ in " + words.And(axes) + ", which is other work: none is called best"
}
