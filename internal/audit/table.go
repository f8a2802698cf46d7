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

// Budget is, for each time, the most that the client said above what was, over all scenarios,
// in ms: how far its figures may be from the server's.
func Budget(results []*Result) map[string]float64 {
	out := map[string]float64{}
	for _, res := range results {
		for i := range res.Lines {
			l := &res.Lines[i]
			if d := l.Error(); l.Time && l.Unit == "ms" && !math.IsNaN(d) {
				if most, ok := out[l.Quantity]; !ok || math.Abs(d) > math.Abs(most) {
					out[l.Quantity] = d
				}
			}
		}
	}
	return out
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
	budget := Budget(results)
	var errs []string
	for _, quantity := range slices.Sorted(maps.Keys(budget)) {
		errs = append(errs, fmt.Sprintf("%s %+.3g", quantity, budget[quantity]))
	}
	if len(errs) > 0 {
		fmt.Fprintf(&b, "\nerror budget in ms, client and machine together: %s", strings.Join(errs, ", "))
	}
	return b.String()
}
