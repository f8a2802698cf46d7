package report

import (
	"fmt"
	"regexp"
	"strings"

	"aiperf.dev/aiperf/internal/atomicfile"
	"aiperf.dev/aiperf/internal/validity"
	"aiperf.dev/aiperf/internal/words"
)

// pageWidth is how many columns a block in summary.md has: viewers scroll.
const pageWidth = 160

// WriteMarkdown writes summary.md: the console's report in a block that any
// viewer shows as it is, and what a reader of the directory needs besides.
func (r *Report) WriteMarkdown(path string, tables []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n```text\n", plain(words.Line(r.Plan.Name)))
	var console strings.Builder
	wide := *r
	wide.Width, wide.whole = pageWidth, true
	if err := wide.WriteConsole(&console); err != nil {
		return err
	}
	b.WriteString(strings.ReplaceAll(console.String(), "```", "'''")) // a name does not end the block
	b.WriteString("```\n\n")
	for _, c := range r.Results.Comparisons {
		if err := (Comparison{Comparison: c}).WriteMarkdown(&b); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	b.WriteString("## Axes\n\n")
	if len(r.Plan.Axes) == 0 {
		b.WriteString("One cell.\n")
	}
	for _, a := range r.Plan.Axes {
		if r.Search != nil {
			a.Labels = []string{fmt.Sprintf("searched from %g to %g", r.Plan.Experiment.Search.Range[0],
				r.Plan.Experiment.Search.Range[1])}
		}
		fmt.Fprintf(&b, "- `%s` (`%s`): %s\n", a.Name, a.Path, plain(words.Line(strings.Join(a.Labels, ", "))))
	}
	if len(r.Doubts) > 0 {
		b.WriteString("\n## Findings\n\n| check | verdict | runs | what | try |\n|---|---|---|---|---|\n")
		for _, d := range r.Doubts {
			if d = r.ofAll(d); d.Runs > 1 && d.Check != validity.Errors { // its figures are of one of them
				d.Detail = "in the worst of them: " + d.Detail
			}
			fmt.Fprintf(&b, "| %s | %s | %d | %s | %s |\n", d.Check, d.Verdict, d.Runs, cellText(d.Said()),
				cellText(d.Try))
		}
	}
	if len(r.FailedRuns) > 0 {
		b.WriteString("\n## Runs without a result\n\n| run | why |\n|---|---|\n")
		for _, f := range r.FailedRuns {
			fmt.Fprintf(&b, "| %s | %s |\n", cellText(f.String()), cellText(f.Why))
		}
	}
	if notes := r.notes(); len(notes) > 0 {
		b.WriteString("\n## Notes\n\n")
		for _, n := range notes {
			fmt.Fprintf(&b, "- %s\n", plain(words.Clip(n, 500)))
		}
	}
	fmt.Fprintf(&b, "\nPlan `%s`. Tables: %s.\n", r.Plan.Hash, strings.Join(tables, ", "))
	return atomicfile.Write(path, []byte(b.String()))
}

// markup is what Markdown takes for HTML: the start of a tag, a comment or an address in
// angle brackets, and a character's name; at the end of a text whatever may become one.
var markup = regexp.MustCompile(`<[A-Za-z/!?]|<$|&[A-Za-z0-9#]+;|&[A-Za-z0-9#]*$`)

// plain keeps names and servers' words from being HTML in Markdown; a "<" between numbers and
// the "&" of an address stay as people read them, in a terminal too.
func plain(s string) string {
	return markup.ReplaceAllStringFunc(s, func(at string) string {
		return map[byte]string{'<': "&lt;", '&': "&amp;"}[at[0]] + at[1:]
	})
}

// cellText keeps text from breaking a Markdown table.
func cellText(s string) string { return strings.ReplaceAll(plain(words.Clip(s, 300)), "|", `\|`) }
