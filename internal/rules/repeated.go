package rules

import (
	"fmt"
	"math"

	"aiperf.dev/aiperf/internal/words"
)

// repeated holds the cell that sends one prompt again and again against the one beside it
// that sends different ones. Both must be closed loops: by a clock both go equally fast,
// whatever the server remembers.
func (r *Rule) repeated(c *Cell, cells []Cell) found {
	if c.Planned {
		return unknown("it depends on the answers", "")
	}
	if c.By != "" {
		return c.silent("its prompts", "")
	}
	var one, others []*Cell
	for i := range cells {
		switch same, closed := cells[i].prompts(); {
		case !closed:
		case same:
			one = append(one, &cells[i])
		default:
			others = append(others, &cells[i])
		}
	}
	if len(one) == 0 || len(others) == 0 {
		return unknown("no closed loop sends one prompt again and again beside one that sends different ones",
			"an axis datasets.main.entries of 1 and 1000, with --concurrency")
	}
	worst := unknown("", "")
	for _, a := range one {
		for _, b := range others {
			faster := a.rate()/b.rate() - 1
			if math.IsNaN(faster) || !math.IsNaN(worst.value) && faster <= worst.value {
				continue
			}
			worst = found{state: Met, value: faster, limit: r.Most.Value, unit: ratioUnit}
			worst.text = fmt.Sprintf("%s faster, %s against %s requests/s", share(faster),
				words.Number(a.rate()), words.Number(b.rate()))
			if faster < 0 {
				worst.text = fmt.Sprintf("not faster, %s against %s requests/s", words.Number(a.rate()),
					words.Number(b.rate()))
			}
			if faster >= r.Most.Value {
				worst.state, worst.try = NotMet, "switch off the server's caches"
			}
		}
	}
	if math.IsNaN(worst.value) {
		return unknown("no request of these cells ended well", "")
	}
	return worst
}

// prompts tells whether all runs of the cell sent one prompt each, in a closed loop.
func (c *Cell) prompts() (one, closed bool) {
	one, closed = len(c.Runs) > 0, len(c.Runs) > 0
	for _, r := range c.Runs {
		one, closed = one && r.Prompts.Different == 1 && r.OK > 1, closed && r.Prompts.Closed
	}
	return one, closed
}

// rate is the geometric mean over the runs.
func (c *Cell) rate() float64 {
	sum := 0.0
	for _, r := range c.Runs {
		sum += math.Log(r.Prompts.Rate)
	}
	return math.Exp(sum / float64(len(c.Runs)))
}
