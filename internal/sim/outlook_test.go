package sim

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"aiperf.dev/aiperf/sinks/report/preview"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/search"
)

// foreseen is what a plan says of a search before it begins.
type foreseen struct {
	fewest, usual, requests int
	halved                  int
	runs                    [2]struct{ requests, holds, fails int } // after one run of a load, and after all
}

var (
	foreseenProbes = regexp.MustCompile(`probes (\d+) to (\d+) probes where every load is decided at once(?:, which the budget may not have room for)?; ([\d,]+) requests each`)
	foreseenRuns   = regexp.MustCompile(`\(([\d,]+) requests\) a load holds (?:if none|with at most ([\d,]+)) (?:is )?bad, and fails with ([\d,]+) or more`)
	foreseenHalf   = regexp.MustCompile(`half a bracket half as wide (?:is not possible|\(resolution \S+\) takes at most (\d+) more probes?)`)
)

// foresee reads the plan of an experiment, as people do.
func foresee(t *testing.T, text string) (f foreseen) {
	t.Helper()
	file := filepath.Join(t.TempDir(), fileName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err := expand(file)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var b bytes.Buffer
	preview.Plan(&b, plan, plan.Bound(nil))
	said := strings.Join(strings.Fields(b.String()), " ")
	whole := func(text string) int {
		n, err := strconv.Atoi(strings.ReplaceAll("0"+text, ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	probes, half, runs := foreseenProbes.FindStringSubmatch(said), foreseenHalf.FindStringSubmatch(said),
		foreseenRuns.FindAllStringSubmatch(said, -1)
	if probes == nil || half == nil || len(runs) != 2 {
		t.Fatalf("the plan says\n%s", b.String())
	}
	f.fewest, f.usual, f.requests, f.halved = whole(probes[1]), whole(probes[2]), whole(probes[3]), whole(half[1])
	for i, m := range runs {
		f.runs[i].requests, f.runs[i].holds, f.runs[i].fails = whole(m[1]), whole(m[2]), whole(m[3])
	}
	return f
}

// What a plan says of a search is what then happens: as many probes where every load is decided at once, as many
// more for a bracket half as wide, and each load decided by as many bad requests.
func TestSearchIsAsForeseen(t *testing.T) {
	t.Parallel()
	// who comes when so many are there is refused: every load is decided at once
	for _, c := range []struct {
		limit, requests int
		more            string
	}{
		{1, 100, "resolution: 0.05"},
		{9, 100, "resolution: 0.05"},
		{63, 100, "resolution: 0.05"},
		{14, 100, "resolution: 0.4"},
		{27, 100, "resolution: 0.4"},
		{5, 400, "resolution: 0.05, share: 0.99"},
	} {
		t.Run(fmt.Sprintf("%s, %d", c.more, c.limit), func(t *testing.T) {
			t.Parallel()
			s := server{words: fmt.Sprintf("ttft=40ms&itl=1ms&concurrency_limit=%d", c.limit)}
			text := searchText(s.words, "concurrency", "type: concurrency", c.more+
				`, range: [1, 64], where: ["time_to_first_token < 5000"], budget: {probes: 40}`, c.requests)
			f := foresee(t, text)
			a := s.find(t, text, scratch(t), false, nil).Search
			limit := float64(c.limit)
			if n := len(a.Runs); n < f.fewest || n > f.usual || !a.Sure || a.Holds.Load > limit ||
				a.Fails.Load <= limit {
				t.Errorf("%s after %d probes, foreseen %d to %d: %+v, %+v", a.Outcome, n, f.fewest, f.usual, a.Holds, a.Fails)
			}
			decided(t, a, f)
			if !strings.Contains(c.more, "0.4") {
				return
			}
			half := s.find(t, strings.Replace(text, "resolution: 0.4", "resolution: 0.2", 1), scratch(t), false, nil).Search
			if n := len(half.Runs) - len(a.Runs); f.halved == 0 || n > f.halved {
				t.Errorf("a bracket half as wide took %d more probes, foreseen %d", n, f.halved)
			}
		})
	}
	// a server of which every load is near the limit: each is decided by its bad requests, or not
	for n := range 2 {
		t.Run(fmt.Sprint("random, ", n), func(t *testing.T) {
			t.Parallel()
			s := server{words: fmt.Sprintf("ttft=40ms&itl=1ms&error_rate=0.0%d&seed=%d", 3+3*n, n+1)}
			text := searchText(s.words, "concurrency", "type: concurrency",
				`range: [1, 64], where: ["time_to_first_token < 5000"], budget: {probes: 12}`, 200)
			decided(t, s.find(t, text, scratch(t), false, nil).Search, foresee(t, text))
		})
	}
}

// decided wants each load to be decided as was foreseen by how many of the requests of its first run were bad,
// unless neighbours were alike, which was foreseen to need more.
func decided(t *testing.T, a *search.Answer, f foreseen) {
	t.Helper()
	seen := map[float64]bool{}
	for i, r := range a.Runs {
		if seen[r.Load] || r.Unfit != "" || r.Worst != r.Best {
			continue
		}
		seen[r.Load] = true
		bad, want := int(r.Worst.Of-r.Worst.Hits), search.Undecided
		if int(r.Worst.Of) != f.requests || f.requests != f.runs[0].requests ||
			f.runs[1].requests != sweep.SearchedRuns*f.requests {
			t.Errorf("%g requests, foreseen %d", r.Worst.Of, f.requests)
		}
		switch {
		case bad <= f.runs[0].holds:
			want = search.Holds
		case bad >= f.runs[0].fails:
			want = search.Fails
		}
		if got := a.After[i]; got != want && (r.Worst.Effect <= 1 || got != search.Undecided) {
			t.Errorf("%g: %d of %d bad: %s, foreseen %s", r.Load, bad, f.requests, got, want)
		}
	}
}
