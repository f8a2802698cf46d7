package page_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sinks/report"
	"aiperf.dev/aiperf/sinks/report/chart/draw"
	"aiperf.dev/aiperf/sinks/report/page"
	"aiperf.dev/aiperf/sinks/trend"
)

// nightly is results of which the median rises by 20 % with result 24.
func nightly(n int, commit string) report.Trend {
	var all [][]sinks.HistoryRow
	for i := range n {
		v := 100 + math.Mod(float64(i)*7.3, 5)
		if i >= 24 {
			v *= 1.2
		}
		all = append(all, []sinks.HistoryRow{{
			Result: fmt.Sprint(i), Name: "r", Commit: commit + fmt.Sprint(i), Cell: "concurrency 4",
			Time: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC).UnixNano(), Metric: "time_to_first_token", Stat: "p50",
			Unit: "ms", Better: "lower", Decides: true, Value: v, Low: v - 1, High: v + 1, Trials: 5, Receipt: "{}",
		}})
	}
	return report.Trend{Trend: trend.Judge(trend.FromRows(all), trend.Terms{})}
}

// The page says what the screen says, and names are text.
func TestTrendPage(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 28, 200} {
		b, err := page.Trend(nightly(n, "<b>c&"))
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for _, want := range []string{
			`id="chart-figure-0"`, "TTFT p50 of concurrency 4", `<a href="#chart-figure-0">`, "Content-Security-Policy",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the page of %d results has no %s", n, want)
			}
		}
		if strings.Contains(text, "<b>c") {
			t.Error("a name is markup")
		}
	}
	b, err := page.Trend(nightly(28, "c"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"rose by 19.9 %", "between c23 and c24", `class="bad"`} {
		if !strings.Contains(strings.ReplaceAll(string(b), "\u00a0", " "), want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

// Words of the screen, of Markdown and of the exit code.
func TestWordsOfATrend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		results int
		exit    int
		says    []string
	}{
		{3, 0, []string{"Too few results to tell: 3, and a change can be found from 9 on."}},
		{23, 0, []string{"Nothing moved lately: 1 figure, 23 results."}},
		{28, 3, []string{
			"TTFT p50 of concurrency 4 rose by 19.9 %", "between c23 and c24", "28 results · exit 3",
			" ✗ TTFT p50 of concurrency 4", "--accept says that a change is known.",
		}},
		{60, 0, []string{"Nothing moved lately: 1 figure, 60 results.", " ✗ TTFT p50 of concurrency 4", "between c23 and c24"}},
	} {
		tr := nightly(c.results, "c")
		var screen, markdown strings.Builder
		if err := tr.WriteConsole(&screen, report.Screen{Width: 100}); err != nil {
			t.Fatal(err)
		}
		if err := tr.WriteMarkdown(&markdown); err != nil {
			t.Fatal(err)
		}
		if int(tr.Exit()) != c.exit {
			t.Errorf("%d results: exit code %d", c.results, tr.Exit())
		}
		for _, want := range c.says {
			if !strings.Contains(screen.String(), want) {
				t.Errorf("%d results: no %q in\n%s", c.results, want, screen.String())
			}
		}
		if !strings.HasPrefix(markdown.String(), "### "+tr.Headline()+"\n") {
			t.Errorf("Markdown begins otherwise:\n%s", markdown.String())
		}
	}
}

// No word of a trend's charts lies on a word, a line or a sign, at the width of a telephone, of
// half of a page and of the whole one.
func TestWordsOfTrends(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 9, 28, 60, 200} {
		for _, commit := range []string{"c", "a-branch-with-a-long-name-"} {
			charts := page.TrendCharts(nightly(n, commit))
			if len(charts) == 0 {
				t.Errorf("nothing is drawn of %d results", n)
			}
			for _, c := range charts {
				for _, width := range []float64{page.Narrow, page.Half, page.Broad} {
					for _, found := range draw.Overlaps(c, draw.SizeIn(width, c)) {
						t.Errorf("%d results, %.0f pixels wide: %s", n, width, found)
					}
				}
			}
		}
	}
}
