package quick_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/internal/metrics"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/quick"
)

// plan is the plan of an experiment as aiperf run reads it.
func plan(t *testing.T, text []byte) *sweep.Plan {
	t.Helper()
	file := filepath.Join(t.TempDir(), "quick.yaml")
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	doc, err := schema.Load(schema.Source{File: file, Command: "run", Tags: metrics.Tags()})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p, err := sweep.Expand(doc)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

func ask(budget time.Duration) *quick.Ask {
	return &quick.Ask{URL: "mock:", Model: "demo \"7b\" \\ é", Type: "chat", Streams: true, Text: true, Budget: budget}
}

// Whatever the server and the budget are, the three experiments can be run, the search
// fits into the time that is left, and an answer at the limits into a probe.
func TestExperiments(t *testing.T) {
	t.Parallel()
	for _, budget := range []time.Duration{20 * time.Second, time.Minute, 5 * time.Minute, time.Hour} {
		for _, first := range []quick.Look{
			{OK: 5, First: 40, Gap: 5, Latency: 355, Rate: 2.8, Tokens: 64},
			{OK: 5, First: 0.4, Gap: 0.05, Latency: 4, Rate: 250, Tokens: 64},
			{OK: 1, First: 4000, Gap: 400, Latency: 30_000, Rate: 0.03, Tokens: 64},
			{OK: 5, First: 30, Gap: 8, Latency: 110, Rate: 9, Tokens: 11},
			{OK: 5, Latency: 300, Rate: 3, Tokens: 64},
		} {
			a := ask(budget)
			l := a.Fit(first)
			if l.ISL < 16 || l.OSL < 8 || first.Tokens < 50 && l.OSL > 11 {
				t.Errorf("%s, %+v: lengths %+v", budget, first, l)
			}
			a.Given = quick.Lengths{ISL: 1, OSL: 999} // whatever the server is like
			if given := a.Fit(first); given != a.Given {
				t.Errorf("%s, %+v: lengths %+v of %+v", budget, first, given, a.Given)
			}
			a.Given = quick.Lengths{}
			plan(t, a.First())
			p := plan(t, a.Levels(first, l))
			if len(p.Cells) != len(quick.Levels()) || len(p.Cells[0].Resolved.Benchmark.SLOs) == 0 {
				t.Errorf("%s: %d cells with limits %v", budget, len(p.Cells), p.Cells[0].Resolved.Benchmark.SLOs)
			}
			left := budget * 3 / 4
			c := a.Search(first, levels(first, 1, 1, 0.5), l, left)
			if c.Needs > 0 {
				if first.First < 1000 || c.Needs < budget+time.Minute {
					t.Errorf("%s, %+v: needs %s", budget, first, c.Needs)
				}
				continue
			}
			p = plan(t, c.Text)
			s := p.Experiment.Search
			if s.Budget.Time.Go() >= left || s.Range[0] != 1 || int(*s.Start) != c.Low || s.Share != c.Share ||
				p.Cells[0].Resolved.Benchmark.Models.Items[0].Name != a.Model {
				t.Errorf("%s: %+v of %s", budget, s, left)
			}
			measured := p.Cells[0].Resolved.Benchmark.Phases[1]
			if d := measured.Duration.Go(); d != c.Length || first.First < 1000 &&
				(measured.GracePeriod.Go() < time.Second/2 || d > left/4) {
				t.Errorf("%s, %+v: a probe of %s, grace %s", budget, first, d, measured.GracePeriod.Go())
			}
		}
	}
}

// levels are the looks at 1, 4 and 16 users with these shares of good requests.
func levels(first quick.Look, good ...float64) (out []quick.Look) {
	for i, n := range quick.Levels() {
		l := first
		l.Users, l.Good, l.Rate = float64(n), good[i], first.Rate*float64(n)
		out = append(out, l)
	}
	return out
}

// The search begins where nothing fails and where a run has enough requests, and does not
// go far beyond the first level that fails.
func TestRange(t *testing.T) {
	t.Parallel()
	fast := quick.Look{OK: 5, First: 40, Gap: 5, Latency: 200, Rate: 100, Tokens: 64}
	slow := fast
	slow.Rate = 2
	for _, c := range []struct {
		first     quick.Look
		good      []float64
		low, high int
		share     float64
	}{
		{fast, []float64{1, 1, 1}, 4, 512, 0.95},
		{fast, []float64{1, 1, 0.5}, 1, 32, 0.95},
		{fast, []float64{1, 0.5, 0}, 1, 8, 0.95},
		{fast, []float64{0.9, 0.9, 0.9}, 1, 512, 0.95},
		{fast, []float64{0, 0, 0}, 1, 2, 0.95},
		{slow, []float64{1, 1, 1}, 16, 512, 0.95},
		{slow, []float64{1, 0.5, 0}, 1, 8, 0.9},
	} {
		a := ask(time.Minute)
		got := a.Search(c.first, levels(c.first, c.good...), a.Fit(c.first), 40*time.Second)
		if got.Low != c.low || got.High != c.high || got.Share != c.share {
			t.Errorf("good %v: from %d to %d at %g, want %d to %d at %g", c.good, got.Low, got.High, got.Share, c.low,
				c.high, c.share)
		}
	}
}

// Limits are those that were given, or what people notice, or twice the idle times.
func TestLimits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(*quick.Ask)
		first  quick.Look
		want   string
	}{
		{nil, quick.Look{First: 40, Gap: 5}, "[time_to_first_token < 500 inter_token_latency < 50]"},
		{nil, quick.Look{First: 612, Gap: 71.3}, "[time_to_first_token < 1300 inter_token_latency < 150]"},
		{nil, quick.Look{Latency: 800}, "[request_latency < 1600]"},
		{func(a *quick.Ask) { a.Where = []string{"request_latency < 9"} }, quick.Look{First: 40}, "[request_latency < 9]"},
		{func(a *quick.Ask) { a.SLOs = true }, quick.Look{First: 40}, "[]"},
	} {
		a := ask(time.Minute)
		if c.change != nil {
			c.change(a)
		}
		if got := fmt.Sprint(a.Limits(c.first)); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		if text := string(a.Search(c.first, levels(c.first, 1, 1, 1), quick.Lengths{ISL: 8, OSL: 8},
			time.Minute).Text); strings.Contains(text, "where:") == a.SLOs {
			t.Errorf("limits %s:\n%s", c.want, text)
		}
	}
}
