package audit

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"aiperf.dev/aiperf/internal/words"
)

// WriteTable writes the lines of a scenario: what is said, what is, and the difference.
func (res *Result) WriteTable(w io.Writer) error {
	fmt.Fprintf(w, "%s: %s\n", res.Scenario, res.Doc)
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "  quantity\tsays\tis\terror\t\n")
	for i := range res.Lines {
		l := &res.Lines[i]
		says := value(l.Says)
		if l.Asked && l.Says != nil {
			says = "asked " + says
		}
		diff := "–"
		if d := l.Error(); !math.IsNaN(d) && (l.Unit != "at most" || l.Off != "") {
			if diff = "0"; d != 0 {
				diff = fmt.Sprintf("%+.3g", d)
			}
		}
		name := l.Quantity
		if l.Unit != "" {
			name += " (" + l.Unit + ")"
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", name, says, value(l.Is), diff, l.Off)
	}
	_ = t.Flush() // into memory
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func value(v *float64) string {
	if v == nil || math.IsNaN(*v) {
		return "–"
	}
	return strconv.FormatFloat(*v, 'g', 5, 64)
}

// Summary is how many quantities agree, which do not, and the error budget.
func Summary(results []*Result) string {
	var known, differ int
	off := map[string][]string{}
	for _, res := range results {
		for _, l := range res.Lines {
			if l.Says != nil && l.Is != nil || l.Off != "" {
				known++
			}
			if l.Off != "" {
				differ++
				off[l.Quantity] = append(off[l.Quantity], res.Scenario)
			}
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %s agree with the server's log", words.Whole(known-differ), words.CountOf(known, "quantity", "quantities"))
	for _, quantity := range slices.Sorted(maps.Keys(off)) {
		fmt.Fprintf(&b, "\n  off: %s in %s", quantity, strings.Join(off[quantity], ", "))
	}
	var errs []string
	for _, e := range BudgetOf(results) {
		errs = append(errs, fmt.Sprintf("%s %s %+.3g", names[e.Metric], e.Stat, e.MS))
	}
	if len(errs) > 0 {
		fmt.Fprintf(&b, "\nerror budget in ms, client and machine together: %s", strings.Join(errs, ", "))
	}
	return b.String()
}
