package diagnose

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/argv"
)

// This file says what to type next.

// commands gives each result the command that carries out what comes next: the one that measured this with
// another load, the checks, or the experiment that shows a cause. measured is "" where it is not known.
func (r *Report) commands(dir, measured string) {
	for i := range r.Cells {
		c := &r.Cells[i]
		changes := c.cell.again(c.Next)
		if strings.HasPrefix(measured, "aiperf quick") { // chooses loads and times by itself
			changes = nil
		}
		switch {
		case len(changes) > 0: // of a command that is not known, the flags alone
			c.Command = argv.Again(measured, changes...)
		case c.rule.checked:
			c.Command = "aiperf checks " + argv.Shell(dir)
		case c.rule.limited && c.rule.Name != "front_end":
			c.Command = "aiperf diagnose --prove " + argv.Shell(dir)
		}
	}
}

// lookFor is how many seconds a run takes whose server is looked at often enough.
const lookFor = 10

// longer are the flags that make a run take so long: neither its requests nor its time end it earlier.
func (f *facts) longer() (out []argv.Change) {
	rate := f.get("rate")
	if f.cell.requests > 0 && rate > 0 {
		out = append(out, argv.Change{
			Flag: "request-count", Value: fmt.Sprintf("%.0f", 10*math.Ceil(lookFor*rate/10)),
		})
	}
	if len(out) == 0 || f.cell.timed {
		out = append(out, argv.Change{Flag: "benchmark-duration", Value: fmt.Sprint(lookFor)})
	}
	return out
}

// again are the flags that make a measurement have what is missing, none where no flag does.
func (f *facts) again(next string) []argv.Change {
	at, loads := f.cell.at, []float64(nil)
	switch {
	case next == needsLooks:
		return f.longer()
	case f.cell.flag == "" || !(at > 0):
		return nil
	case next == needsLoads, next == needsHigher:
		loads = []float64{at, 2 * at}
	case strings.HasPrefix(next, needsOne) && f.cell.flag == "concurrency" && at > 1:
		loads = []float64{1, at}
	case next == needsBetween && f.higher != nil:
		loads = []float64{at, math.Round(math.Sqrt(at * f.higher.cell.at)), f.higher.cell.at}
		if !(loads[1] > loads[0] && loads[1] < loads[2]) {
			return nil
		}
	default:
		return nil
	}
	texts := make([]string, len(loads))
	for i, x := range loads {
		texts[i] = fmt.Sprintf("%g", x)
	}
	return []argv.Change{{Flag: f.cell.flag, Value: strings.Join(texts, ",")}}
}
