package report

import (
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/words"
	"aiperf.dev/aiperf/sweep/decide"
)

// slowedBy is a comparison of one workload whose times are longer by these parts, each certain.
func slowedBy(changes ...float64) Comparison {
	c := compared()
	c.Baseline, c.Candidate, c.OnlyCandidate, c.Rows = "baseline", "candidate", nil, nil
	for i, change := range changes {
		stat := []string{"p50", "p90", "p99"}[i]
		c.Rows = append(c.Rows, decide.Row{
			Cell: "concurrency 4", Key: decide.Key{Tag: "time_to_first_token", Stat: stat}, Header: "Time to First Token",
			Unit: "ms", Primary: true, Base: 40, Candidate: 40 * (1 + change), Change: change, Low: change - .031,
			High: change + .032, Level: .99, Margin: .05, Outcome: decide.Worse, BeyondMargin: true, N: 5,
		})
	}
	return c
}

// The headline has the size of one metric and counts the others that carry it.
func TestTheHeadlineCountsTheOthers(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		changes []float64
		want    string
	}{
		{[]float64{.4}, "candidate is slower than baseline: TTFT p50 +40.0 % [+36.9, +43.2] (WORSE)"},
		{[]float64{.2, .4}, "candidate is slower than baseline: TTFT p90 +40.0 % [+36.9, +43.2], and 1 more metric (WORSE)"},
		{[]float64{.2, .3, .4}, "candidate is slower than baseline: TTFT p99 +40.0 % [+36.9, +43.2], and 2 more metrics (WORSE)"},
	} {
		if got := slowedBy(x.changes...).Headline(); got != x.want {
			t.Errorf("got  %q\nwant %q", got, x.want)
		}
	}
}

// A candidate that takes many times as long is said as a factor: in its row, in the headline and in the line of
// changes.
func TestManyTimesAreAFactor(t *testing.T) {
	t.Parallel()
	c := slowedBy(123)
	if got, want := change(c.Rows[0]), "124×"; got != want {
		t.Errorf("the row says %q, want %q", got, want)
	}
	if got, want := c.Headline(), "candidate is slower than baseline: TTFT p50 124× (WORSE)"; got != want {
		t.Errorf("the headline says %q, want %q", got, want)
	}
	two := []decide.Row{c.Rows[0], slowedBy(.5).Rows[0]}
	if got, want := extent(two, decide.Worse), "1.50× to 124×"; got != want {
		t.Errorf("two workloads: %q, want %q", got, want)
	}
	if got, want := change(slowedBy(8.5).Rows[0]), "+850 % [+847, +853]"; got != want {
		t.Errorf("below a factor of ten: %q, want %q", got, want)
	}
	var b strings.Builder
	if err := c.WriteConsole(&b, Screen{Width: 80}); err != nil || !strings.Contains(b.String(), "worse by over 5 %") {
		t.Errorf("%v, the remark has no room:\n%s", err, &b)
	}
}

// Names of variants stand whole in a table as long as shorter remarks, or none, leave them room. Names that are too
// long for that are cut at their ends, and the headline has them whole.
func TestVariantsAreCutLast(t *testing.T) {
	t.Parallel()
	c := slowedBy(.2, .3, .4)
	screen := func(width int) string {
		var b strings.Builder
		if err := c.WriteConsole(&b, Screen{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if words.Width(strings.TrimSuffix(line, "\n")) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		return b.String()
	}
	for width, remark := range map[int]string{100: "worse by over 5 %", 72: "  worse\n", 60: "[+16.9, +23.2]\n"} {
		if said := screen(width); !strings.Contains(said, "baseline") || !strings.Contains(said, "  candidate") ||
			!strings.Contains(said, remark) {
			t.Errorf("%d columns: names or %q are missing in\n%s", width, remark, said)
		}
	}
	c.Baseline, c.Candidate = "vllm-0.8.1-on-the-old-kernel", "sglang-0.4.6-on-the-new-kernel"
	said := screen(80)
	for _, want := range []string{"  vllm-0.8.1-on-the-o…  sglang-0.4.6-on-the…  ", "sglang-0.4.6-on-the-new-kernel"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	g := &grid{left: 1, head: []string{"endpoint", "out tok/s", ""}, rows: [][]string{
		{"vllm-0.8.1-on-the-old-kernel", "1,140", ""}, {"sglang-0.4.6-on-the-new-kernel", "1,160", ""},
	}}
	s := newSheet(36)
	g.write(s)
	for _, want := range []string{"vllm-0.8.1-on-the-old-k…", "in full:\n  vllm-0.8.1-on-the-old-kernel ·\n  sglang-0.4.6-on-the-new-kernel\n"} {
		if !strings.Contains(s.String(), want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
}

// Beside the figures of two systems at several workloads stands the change of each, errors among them.
func TestEachWorkloadHasItsChange(t *testing.T) {
	t.Parallel()
	c := workloads(2, func(cell, _ int) decide.Verdict {
		return []decide.Verdict{decide.Worse, decide.Equivalent}[cell]
	})
	r := &Report{Results: &decide.Results{Comparisons: []*decide.Comparison{c.Comparison}}}
	s := newSheet(80)
	r.changes(s)
	lines := strings.Split(strings.TrimSpace(s.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "change") || !strings.Contains(lines[1], "✗") ||
		!strings.Contains(lines[2], "=") {
		t.Errorf("not a row for each of two workloads:\n%s", s)
	}
}
