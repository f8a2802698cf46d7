package sinks

import (
	"fmt"
	"math"
	"strings"

	"aiperf.dev/aiperf/internal/stats"
	"aiperf.dev/aiperf/sweep"
)

// measure is one column of the matrix.
type measure struct {
	heading   string
	key       sweep.Key
	percent   bool
	certified bool // a percentile whose floor is to be marked
}

// measuresOf are the columns that this plan's cells can fill.
func measuresOf(r *sweep.Results) []measure {
	all := []measure{
		{"out tok/s", sweep.Key{Tag: "output_token_throughput", Stat: "avg"}, false, false},
		{"req/s", sweep.Key{Tag: "request_throughput", Stat: "avg"}, false, false},
		{"TTFT p50 ms", sweep.Key{Tag: "time_to_first_token", Stat: "p50"}, false, false},
		{"TTFT p99 ms", sweep.Key{Tag: "time_to_first_token", Stat: "p99"}, false, true},
		{"ITL p99 ms", sweep.Key{Tag: "inter_token_latency", Stat: "p99"}, false, true},
		{"latency p50 ms", sweep.Key{Tag: "request_latency", Stat: "p50"}, false, false},
		{"latency p99 ms", sweep.Key{Tag: "request_latency", Stat: "p99"}, false, true},
		{"good %", sweep.Key{Tag: "good_request_fraction", Stat: "avg"}, true, false},
	}
	has := func(k sweep.Key) bool {
		for i := range r.Cells {
			if _, ok := r.Cells[i].Full[k]; ok {
				return true
			}
		}
		return false
	}
	streams, tokens := has(all[2].key), has(all[0].key)
	var out []measure
	for _, m := range all {
		switch {
		case !has(m.key),
			tokens && m.key.Tag == "request_throughput",
			streams && m.key.Tag == "request_latency":
			continue
		}
		out = append(out, m)
	}
	return out
}

// matrix is one table: a row per cell, estimate ± half-width.
func (r *Report) matrix(b *strings.Builder) {
	t := grid{}
	cols := measuresOf(r.Results)
	for _, a := range r.Plan.Axes {
		t.head = append(t.head, shortAxis(a.Name))
	}
	if len(r.Plan.Axes) == 0 {
		t.head = append(t.head, "cell")
	}
	t.left = len(t.head)
	for _, m := range cols {
		t.head = append(t.head, m.heading)
	}
	t.head = append(t.head, "")
	legend := marks{}
	for i := range r.Results.Cells {
		t.rows = append(t.rows, r.matrixRow(&r.Results.Cells[i], cols, &legend))
	}
	t.write(b)
	r.legend(b, legend)
	r.conclusions(b)
}

// marks remembers which signs the table used.
type marks struct{ pareto, small, invalid, failed, interval bool }

func (r *Report) matrixRow(c *sweep.CellResult, cols []measure, legend *marks) []string {
	var line []string
	for _, v := range c.Cell.Point {
		line = append(line, v.Label)
	}
	if len(c.Cell.Point) == 0 {
		line = append(line, c.Cell.Label)
	}
	if c.Trials == 0 {
		legend.failed = true
		for range cols {
			line = append(line, "–")
		}
		return append(line, strings.ReplaceAll(string(c.Status), "_", " "))
	}
	for _, m := range cols {
		e, ok := c.Full[m.key]
		if !ok {
			line = append(line, "–")
			continue
		}
		text := estimate(e, m.percent)
		legend.interval = legend.interval || e.HasInterval()
		if n := c.Info[m.key.Tag]; m.certified && !stats.Certified(0.99, effective(n.NEff, n.Count)) {
			text += "?"
			legend.small = true
		}
		line = append(line, text)
	}
	var signs []string
	if c.Pareto {
		signs, legend.pareto = append(signs, "*"), true
	}
	if c.Knee {
		signs = append(signs, "knee")
	}
	if c.Verdict == "INVALID" {
		signs, legend.invalid = append(signs, "!"), true
	}
	if c.Status == sweep.Partial {
		signs = append(signs, fmt.Sprintf("%d of %d trials", c.Trials, r.Plan.Trials))
	}
	return append(line, strings.Join(signs, " "))
}

func effective(nEff float64, count int64) float64 {
	if math.IsNaN(nEff) {
		return float64(count)
	}
	return nEff
}

func (r *Report) legend(b *strings.Builder, m marks) {
	var parts []string
	if m.interval {
		parts = append(parts, fmt.Sprintf("±: %.0f %% over %s", 100*r.Results.Level, plural(r.Plan.Trials, "trial")))
	}
	if m.pareto {
		parts = append(parts, "*: not shown to be dominated (Pareto)")
	}
	if m.small {
		parts = append(parts, fmt.Sprintf("?: n too small for p99 (need %d a run)", stats.Floor(0.99)))
	}
	if m.invalid {
		parts = append(parts, "!: INVALID")
	}
	line := ""
	for _, p := range parts {
		if line != "" && len([]rune(line))+3+len([]rune(p)) > 80 {
			b.WriteString(line + "\n")
			line = ""
		}
		if line != "" {
			line += " · "
		}
		line += p
	}
	if line != "" {
		b.WriteString(line + "\n")
	}
}

// conclusions are the sentences under the table: best cells and gates.
func (r *Report) conclusions(b *strings.Builder) {
	b.WriteByte('\n')
	said := r.Results.Best
	if r.Results.UnderSLO != nil {
		said = []sweep.Best{*r.Results.UnderSLO}
	}
	open := false
	for _, best := range said {
		wrapped(b, "", best.Sentence)
		open = open || !best.Shown && best.RunnerUp != nil
	}
	if open && r.Plan.Trials < enoughTrials {
		fmt.Fprintf(b, "more trials may show one: --num-profile-runs %d\n", enoughTrials)
	}
	r.gates(b)
}

// enoughTrials is how many find a difference of a tenth where trials vary by a
// few per cent; with fewer, a difference that is not shown says little.
const enoughTrials = 5

func (r *Report) gates(b *strings.Builder) {
	if len(r.Plan.Gates) == 0 {
		return
	}
	fmt.Fprintf(b, "gates: %d held%s, %d missed\n", r.Results.GatesHeld, r.barely(), r.Results.GatesMissed)
	shown := 0
	for i := range r.Results.Cells {
		c := &r.Results.Cells[i]
		for _, g := range c.Gates {
			if g.Held {
				continue
			}
			if shown++; shown > 5 {
				fmt.Fprintf(b, "  … and %d more\n", r.Results.GatesMissed-5)
				return
			}
			wrapped(b, "  missed: ", fmt.Sprintf("%s at %s (%s)", g.Gate.Expr, c.Cell.Short(), g.Text))
		}
	}
}

// barely says how many gates hold by the mean but not at every end of the
// intervals; nothing where there are no intervals.
func (r *Report) barely() string {
	n := 0
	for i := range r.Results.Cells {
		for _, g := range r.Results.Cells[i].Gates {
			if g.Held && !g.Sure && r.Results.Cells[i].Trials > 1 {
				n++
			}
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d not at every end of its interval)", n)
}

// shortAxis keeps headings narrow.
func shortAxis(name string) string {
	switch name {
	case "concurrency":
		return "conc"
	case "request_rate":
		return "rate"
	}
	return name
}
