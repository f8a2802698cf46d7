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
		flag, value := c.cell.again(c.Next)
		if strings.HasPrefix(measured, "aiperf quick") { // chooses loads and times by itself
			flag = ""
		}
		switch {
		case flag != "" && measured != "":
			c.Command = argv.Again(measured, argv.Change{Flag: flag, Value: value})
		case flag != "":
			c.Command = "--" + flag + " " + value
		case c.rule.checked:
			c.Command = "aiperf checks " + argv.Shell(dir)
		case c.rule.limited && c.rule.Name != "front_end":
			c.Command = "aiperf diagnose --prove " + argv.Shell(dir)
		}
	}
}

// again is the flag that makes a measurement have what is missing, "" where no flag does.
func (f *facts) again(next string) (flag, value string) {
	at, loads := f.cell.at, []float64(nil)
	switch {
	case next == needsLooks:
		return "benchmark-duration", "10"
	case f.cell.flag == "" || !(at > 0):
		return "", ""
	case next == needsLoads, next == needsHigher:
		loads = []float64{at, 2 * at}
	case strings.HasPrefix(next, needsOne) && f.cell.flag == "concurrency" && at > 1:
		loads = []float64{1, at}
	case next == needsBetween && f.higher != nil:
		loads = []float64{at, math.Round(math.Sqrt(at * f.higher.cell.at)), f.higher.cell.at}
		if !(loads[1] > loads[0] && loads[1] < loads[2]) {
			return "", ""
		}
	default:
		return "", ""
	}
	texts := make([]string, len(loads))
	for i, x := range loads {
		texts[i] = fmt.Sprintf("%g", x)
	}
	return f.cell.flag, strings.Join(texts, ",")
}
