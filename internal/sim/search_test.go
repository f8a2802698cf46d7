package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"aiperf.dev/aiperf/internal/diag"
	"aiperf.dev/aiperf/internal/resultdir"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sweep/search"
)

// server is what a search meets: words of the built-in server, and what it is at a load.
type server struct {
	words string
	pace  func(load float64, run int) float64 // factor on its times in a run, 1 for none
	dead  func(load float64, run int) bool    // it is gone in a run
	lives *Worlds                             // its life beyond one execution; nil: each meets a fresh one
}

// searchText is an experiment that looks for the largest load of a server.
func searchText(words, path, phase, more string, requests int) string {
	return fmt.Sprintf(`
random_seed: 7
benchmark:
  model: demo
  endpoint: {url: "mock:?%s", type: chat, streaming: true}
  datasets: [{name: default, type: synthetic, entries: 64, prompts: {isl: 8, osl: 4}}]
  tokenizer: {name: builtin}
  phases: [{name: profiling, %s, requests: %d}]
  artifacts: {summary: [], records: []}
tables: {formats: [csv], chunks: false}
search: {path: %s, %s}
`, words, phase, requests, path, more)
}

// find carries out a search against a server, told of each step. resume goes on in dir.
func (s server) find(
	t *testing.T, text, dir string, resume bool, see func(runner.Step), set ...schema.Assignment,
) *runner.Result {
	t.Helper()
	file := filepath.Join(dir, fileName)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	plan, err := expand(file, set...)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var load float64
	var index int
	worlds := s.lives
	if worlds == nil {
		worlds = &Worlds{}
	}
	if s.pace != nil {
		worlds.Pace = func(string, int) float64 { return s.pace(load, index) }
	}
	if s.dead != nil {
		worlds.Dead = func(string, int) bool { return s.dead(load, index) }
	}
	res, err := runner.Run(context.Background(), context.Background(), plan, runner.Options{
		Dir: filepath.Join(dir, "results"), Resume: resume, Source: []byte(text), SourceName: file,
		SourceEnding: ".yaml", Version: "simulation",
		Driver: onerun.Simulated{World: worlds.Open},
		Notify: func(x runner.Step) {
			if index = x.Index; len(x.Run.Cell.Point) > 0 {
				load = x.Run.Cell.Load()
			}
			if see != nil {
				see(x)
			}
		},
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return res
}

// Every outcome of a search is an answer: a sentence, and an exit code that a pipeline
// can go by.
func TestSearchOutcomes(t *testing.T) {
	t.Parallel()
	const closed, fast = "type: concurrency", "ttft=40ms&itl=5ms"
	const ttft = `range: [1, 64], where: ["time_to_first_token < 100"], budget: {probes: 40}`
	for _, c := range []struct {
		name string
		server
		path, phase, more string
		requests          int
		says              []string // lines of the report
		code              diag.Code
	}{
		{
			name: "a bracket", server: server{words: fast + "&workers=4&queue=8"},
			says: []string{
				"The built-in server serves 8 users at once within the limits; 9 are too many",
				"\nwhy 9 are too many: aiperf diagnose ",
			}, code: diag.OK,
		},
		{
			name: "never binds", server: server{words: fast},
			says: []string{"The built-in server serves at least 64 users at once within the limits; more"}, code: diag.OK,
		},
		{
			name: "always binds", server: server{words: "ttft=200ms"},
			says: []string{
				"The built-in server does not serve a single user within the limits",
				"With 1 user at once, 0 % of the requests are good, and 95 % have to be; 95 % of\n",
				"keep TTFT < 200 ms instead of 100\n",
			}, code: diag.Missed,
		},
		{
			name: "begins above its limit", server: server{words: fast + "&workers=4&queue=8"},
			more: `range: [1, 64], start: 40, where: ["time_to_first_token < 100"], budget: {probes: 40}`,
			says: []string{"The built-in server serves 8 users at once within the limits; 9 are too many"}, code: diag.OK,
		},
		{
			name: "several limits", server: server{words: fast + "&workers=4"}, requests: 200,
			more: `range: [1, 64], budget: {probes: 40}, tiers: {chat: {where: ["time_to_first_token < 60"], share: 0.9}, batch: {where: ["time_to_first_token < 300"]}}`,
			says: []string{
				"batch: the server serves 20 users at once within the limits; 21 are too many",
				"limit: 95 % of requests have TTFT < 300 ms (95 % intervals, both ends confirmed\n",
				"chat: the server serves 4 users at once within the limits; 5 are too many",
				"limit: 90 % of requests have TTFT < 60 ms (95 % intervals, both ends confirmed\n",
			}, code: diag.OK,
		},
		{
			name: "several limits, one of which no load keeps", server: server{words: fast + "&workers=4"},
			more: `range: [1, 64], budget: {probes: 40}, tiers: {chat: {where: ["time_to_first_token < 30"]}, batch: {where: ["time_to_first_token < 3000"]}}`,
			says: []string{
				"batch: the server serves at least 64 users at once within the limits; more were",
				"chat: the server does not serve a single user within the limits",
			}, code: diag.Missed,
		},
		{
			name: "several limits, and the server dies", server: server{words: fast, dead: func() func(float64, int) bool {
				gone := false
				return func(load float64, _ int) bool {
					gone = gone || load > 12
					return gone
				}
			}()},
			more: `range: [1, 64], tiers: {chat: {where: ["time_to_first_token < 100"]}, batch: {where: ["time_to_first_token < 300"]}}`,
			says: []string{"batch: the server died with 16 users at once (", "chat: the server died with 16 users at once ("}, code: diag.Failed,
		},
		{
			name: "the warmup is not answered in time", server: server{words: "ttft=3000ms"}, path: "phases.main.concurrency",
			phase: `kind: warmup, type: concurrency, concurrency: 64, duration: 0.2, grace_period: 30},
    {name: main, kind: profiling, type: concurrency, concurrency: 64, duration: 0.9, grace_period: 30, seamless: true`,
			more: `range: [16, 64], start: 64, where: ["time_to_first_token < 100"], budget: {probes: 40}`,
			says: []string{
				"No answer: with 64 users at once no run was usable (the requests of the warmup\n",
				"to give the requests time:\n  --set benchmark.phases.main.requests=800 --set benchmark.phases.main.duration=3.6\n",
			}, code: diag.Invalid,
		},
		{
			name: "the warmup is answered in that time", server: server{words: "ttft=3000ms"}, path: "phases.main.concurrency",
			phase: `kind: warmup, type: concurrency, concurrency: 64, duration: 0.2, grace_period: 30},
    {name: main, kind: profiling, type: concurrency, concurrency: 64, duration: 3.6, grace_period: 30, seamless: true`,
			more: `range: [16, 64], start: 64, where: ["time_to_first_token < 100"], budget: {probes: 40}`,
			says: []string{"The built-in server serves fewer than 16 users at once within the limits"}, code: diag.Missed,
		},
		{
			name: "carries more again", server: server{words: fast, pace: func(load float64, _ int) float64 {
				if load > 10 && load < 20 {
					return 3
				}
				return 1
			}},
			says: []string{"The built-in server serves 8 users at once within the limits, not 16, and again", "32: more load is not always worse there\n"}, code: diag.Invalid,
		},
		{
			name: "stays slow after its first overload",
			server: server{words: fast, pace: func() func(float64, int) float64 {
				slow := false
				return func(load float64, _ int) float64 {
					if slow = slow || load > 12; slow && load > 6 {
						return 3
					}
					return 1
				}
			}()},
			says: []string{
				"The built-in server serves 6 users at once within the limits; 7 are too many",
				"8 users at once were within the limits in one run and not in another: after more\n",
			}, code: diag.OK,
		},
		{
			name: "dies", server: server{words: fast, dead: func() func(float64, int) bool {
				gone := false
				return func(load float64, _ int) bool {
					gone = gone || load > 12
					return gone
				}
			}()},
			says: []string{"The built-in server died with 16 users at once (", "before that, it served 8 "}, code: diag.Failed,
		},
		{
			name: "rejects with 429 above a rate", server: server{words: fast + "&rate_limit=20"},
			path: "rate", requests: 2000, phase: "type: constant, rate: 1",
			more: `range: [1, 256], where: ["time_to_first_token < 100"], resolution: 0.1`,
			says: []string{"serves 20.75 requests per second within the limits; 22.63", "rate_lim"}, code: diag.OK,
		},
		{
			name: "rejects with 429 above so many at a time", server: server{words: fast + "&concurrency_limit=6"},
			says: []string{"serves 6 users at once within the limits; 7 are too many", "rate_lim"}, code: diag.OK,
		},
		{
			name: "batches of some sizes are slow", server: server{words: "step=20ms&prefill=0s&batch=64&hump=30@5-8"}, requests: 208, // sixteen users' last answers come together, too
			says: []string{"The built-in server serves 4 users at once within the limits, not 8, and again"}, code: diag.Invalid,
		},
		{
			name: "is slow for good after its first overload", server: server{words: fast + "&overload=30@9"}, requests: 60,
			more: `range: [2, 64], where: ["time_to_first_token < 100"], share: 0.8, budget: {probes: 40}`,
			says: []string{"within the limits in one run and not in another: after more"}, code: diag.Invalid,
		},
		{
			name: "ends when so many come at a time", server: server{words: fast + "&crash=9"},
			says: []string{"The built-in server died with 16 users at once (", "before that, it served 8 "}, code: diag.Failed,
		},
		{
			name: "rejects with 503 above a line", server: server{words: "ttft=15ms&workers=2&queue=2"},
			more: `range: [1, 64], where: ["time_to_first_token < 5000"], also: ["error_rate < 0.01"]`,
			says: []string{"serves 4 users at once within the limits; 5 are too many", "http_503"}, code: diag.OK,
		},
		{
			name: "fails on its own figures alone", server: server{words: "ttft=15ms&workers=2&queue=2"},
			more: `range: [1, 64], also: ["error_rate < 0.01"]`,
			says: []string{"serves 4 users at once within the limits; 5 are too many", "limit: error_rate < 0.01"}, code: diag.OK,
		},
		{
			name: "the budget is spent", server: server{words: fast + "&workers=4"},
			more: `range: [1, 64], where: ["time_to_first_token < 100"], budget: {probes: 5}`,
			says: []string{"The built-in server serves 8 users at once within the limits; 16 are too many\n", "The budget ran out before the numbers between were decided"}, code: diag.Invalid,
		},
		{
			name: "the smallest load", server: server{words: fast},
			more: `find: min, range: [1, 64], also: ["request_throughput > 100"], budget: {probes: 40}`,
			says: []string{"6 users at once are enough; 5 are too few", "limit: request_throughput > 100"}, code: diag.OK,
		},
		{
			name: "the smallest load of all", server: server{words: fast},
			more: `find: min, range: [8, 64], also: ["request_throughput > 100"]`,
			says: []string{"8 users at once are enough; fewer were not tried"}, code: diag.OK,
		},
		{
			name: "no load is enough", server: server{words: fast},
			more: `find: min, range: [1, 4], also: ["request_throughput > 100"]`,
			says: []string{"4 users at once are not enough; more were not tried"}, code: diag.Missed,
		},
		{
			name: "a knee", server: server{words: fast + "&workers=8"},
			more: `find: knee, range: [1, 64], budget: {probes: 30}`,
			says: []string{
				"The knee is at 8 users [", ": throughput and latency bend there\n",
				"The Universal Scalability Law does not fit: ",
			}, code: diag.OK,
		},
		{
			name: "a knee beyond the range", server: server{words: fast},
			more: `find: knee, range: [1, 64], budget: {probes: 30}`,
			says: []string{
				"The knee lies above 64 users: the throughput still grows there\n", "\nto go on beyond the range: --set 'search.range=[64, 256]'\n",
				"Universal Scalability Law: 18.",
			}, code: diag.Invalid,
		},
		{
			name: "too close to tell", server: server{words: fast + "&cv=0.6&seed=3"},
			more: `range: [1, 8], where: ["time_to_first_token < 85"], share: 0.95`,
			says: []string{"No load is certain to be within the limits, and none to be beyond them\n", "The others are too close to the limit to tell\n"},
			code: diag.Invalid,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.path == "" {
				c.path, c.phase = "concurrency", closed
			}
			if c.more == "" {
				c.more = ttft
			}
			res := c.find(t, searchText(c.words, c.path, c.phase, c.more, max(c.requests, 200)), scratch(t), false, nil)
			var b bytes.Buffer
			if err := res.Report().WriteConsole(&b); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.says {
				if !strings.Contains(b.String(), want) {
					t.Errorf("no %q in\n%s", want, b.String())
				}
			}
			if got := res.ExitCode(); got != c.code {
				t.Errorf("exit code %d, want %d\n%s", got, c.code, b.String())
			}
		})
	}
}

// step is a probe as it was decided, carried out and judged.
type step struct {
	Run, Why string
	After    search.State
}

func historyOf(res *runner.Result) (steps []step) {
	for i, o := range res.Outcomes {
		steps = append(steps, step{o.Run.ID, o.Why, res.Search.After[i]})
	}
	return steps
}

// A search that is killed at any probe, before it or after, goes on where it was: the
// runs that were done are not made again, and the history and the answer are those of a
// search that was never stopped. What a killed run left behind does not count.
func TestSearchKilled(t *testing.T) {
	t.Parallel()
	s := server{words: "ttft=40ms&itl=5ms&workers=4&queue=8"}
	text := searchText(s.words, "concurrency", "type: concurrency",
		`range: [1, 64], where: ["time_to_first_token < 100"], share: 0.9, budget: {probes: 40}`, 60)
	whole := s.find(t, text, scratch(t), false, nil)
	want, n := historyOf(whole), len(whole.Outcomes)
	if whole.Search.Outcome != search.Bracketed || n < 8 {
		t.Fatalf("%s after %d probes", whole.Search.Outcome, n)
	}
	type killed struct{}
	for probe := range n {
		kill := 2*probe + probe/2%2 // steps that are told: before each probe and after it
		dir := scratch(t)
		func() {
			defer func() {
				if r := recover(); r != (killed{}) {
					panic(r)
				}
			}()
			steps := 0
			s.find(t, text, dir, false, func(runner.Step) {
				if steps++; steps > kill {
					panic(killed{})
				}
			})
		}()
		results := filepath.Join(dir, "results")
		if probe%4 == 1 { // in the middle of the run
			leave(t, results, want[kill/2].Run)
		}
		again := 0
		res := s.find(t, text, dir, true, func(x runner.Step) {
			if !x.Skipped && x.Report == nil {
				again++
			}
		})
		if diff := cmp.Diff(want, historyOf(res)); diff != "" {
			t.Errorf("killed at step %d (-never +resumed):\n%s", kill, diff)
		}
		if done := (kill + 1) / 2; again != n-done {
			t.Errorf("killed at step %d: %d of %d probes were done, %d were made after it", kill, done, n, again)
		}
		if res.ExitCode() != whole.ExitCode() || res.Search.Holds.Load != whole.Search.Holds.Load ||
			res.Search.Fails.Load != whole.Search.Fails.Load {
			t.Errorf("killed at step %d: %+v", kill, res.Search)
		}
	}
}

// leave is what a run leaves behind that is killed: its start in the journal, half a
// line, and half a stream.
func leave(t *testing.T, results, run string) {
	t.Helper()
	id, _, _ := strings.Cut(run, "-t")
	f, err := os.OpenFile(filepath.Join(results, resultdir.JournalName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	dir := "profile_runs/trial_0001/half"
	_, err = fmt.Fprintf(f, "{\"event\":\"start\",\"time\":\"2026-11-24T00:00:00Z\",\"run\":%q,\"cell\":%q,\"attempt\":1,\"dir\":%q}\n{\"event\":\"do", run, id, dir)
	err = errors.Join(err, f.Close(), os.MkdirAll(filepath.Join(results, dir), 0o755),
		os.WriteFile(filepath.Join(results, dir, resultdir.StreamName), []byte("ARROW1"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
}

// A budget of probes is kept, and no probe begins when the probes before it took as long
// as the budget of time says. With a larger one a search goes on as if nothing had been.
func TestSearchBudget(t *testing.T) {
	t.Parallel()
	s := server{words: "ttft=40ms&itl=5ms&workers=4&queue=8"}
	text := func(budget string) string {
		return strings.Replace(searchText(s.words, "concurrency", "type: concurrency",
			`range: [1, 64], where: ["time_to_first_token < 100"], share: 0.9, budget: {`+budget+`}`, 60),
			"random_seed: 7\n", "", 1)
	}
	whole := s.find(t, text("probes: 40"), scratch(t), false, nil)
	n, enough := len(whole.Outcomes), 0 // for the bracket, before it looks far above
	for _, o := range whole.Outcomes {
		if !strings.Contains(o.Why, "far more") {
			enough++
		}
	}
	for _, k := range []int{4, 5, n - 3, n - 2, n - 1, n} {
		dir := scratch(t)
		res := s.find(t, text(fmt.Sprintf("probes: %d", k)), dir, false, nil)
		got, want := len(res.Outcomes), search.Spent
		if k > enough {
			want = search.Bracketed
		}
		if got > k || k <= enough && got != k || res.Search.Outcome != want {
			t.Errorf("a budget of %d: %d probes, %s", k, got, res.Search.Outcome)
		}
		if k < n {
			drawn := res.Plan.BaseSeed
			res = s.find(t, text("probes: 40"), dir, true, nil)
			if now := res.Plan.BaseSeed; now != drawn || now == whole.Plan.BaseSeed {
				t.Errorf("seeds %d, %d after a resume, %d of another search", drawn, now, whole.Plan.BaseSeed)
			}
			if a := res.Search; a.Outcome != search.Bracketed || a.Holds.Load != whole.Search.Holds.Load ||
				a.Fails.Load != whole.Search.Fails.Load || len(res.Outcomes) > n+2 {
				t.Errorf("after a budget of %d: %s of %d probes", k, a.Outcome, len(res.Outcomes))
			}
		}
	}
	for _, budget := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second} {
		res := s.find(t, text(fmt.Sprintf("time: %g", budget.Seconds())), scratch(t), false, nil)
		var all, last time.Duration
		for _, o := range res.Outcomes {
			all, last = all+o.Took, o.Took
		}
		if all-last >= budget || res.Search.Outcome == search.Spent && all < budget-last {
			t.Errorf("a budget of %s: %s in %d probes, the last one %s, %s", budget, all, len(res.Outcomes), last,
				res.Search.Outcome)
		}
	}
}
