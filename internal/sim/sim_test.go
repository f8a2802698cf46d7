package sim

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/verdict"
	"aiperf.dev/aiperf/sweep"
	"aiperf.dev/aiperf/sweep/decide"
)

// times is how many times as many plans are simulated as in the ordinary tests:
// make sim says 10. The seeds are fixed and time is virtual, so a number of plans
// always gives the same counts, on every machine and under every load.
var times = flag.Int("times", 1, "simulate so many times as many plans")

// design is a plan to simulate, many times.
type design struct {
	cells    []string // words of each cell's server; all else is alike
	one      bool     // the cells are names of one server, and not a server each
	phase    string   // of the load
	requests int
	trials   int
	osl      string // "" is 4 tokens
	compare  string // of the experiment, "" for none
	fresh    bool   // each plan has servers of its own, from their first request on
	body     string // further settings of the benchmark
	more     string // and of the experiment
	multi    string // and of its multi_run, each after a comma
	idle     int    // requests before each run that count for nothing
	from     int    // the number of the first plan
	pace     func(url string, run int) float64
}

const closedLoop = "type: concurrency, concurrency: 4"

// text is the experiment; plan is its number, which seeds everything.
func (d *design) text(plan int) string {
	osl := d.osl
	if osl == "" {
		osl = "{mean: 4}"
	}
	var cells []string
	for i, c := range d.cells {
		seed := plan*100 + i
		if d.one {
			seed = plan * 100
		}
		cells = append(cells, fmt.Sprintf("{label: c%02d, url: \"mock:?%s&seed=%d\", headers: {X-Cell: c%02d}}", i, c,
			seed, i))
	}
	phase := d.phase
	if phase == "" {
		phase = closedLoop
	}
	before := ""
	if d.idle > 0 {
		before = fmt.Sprintf("{name: warmup, kind: warmup, type: concurrency, concurrency: 4, requests: %d}, ", d.idle)
	}
	count := ""
	if d.requests > 0 {
		count = fmt.Sprintf(", requests: %d", d.requests)
	}
	text := fmt.Sprintf(`
random_seed: %d
benchmark:
  model: demo
  endpoint: {url: "mock:", type: chat, streaming: true}
  datasets: [{name: default, type: synthetic, entries: 64, prompts: {isl: {mean: 8}, osl: %s}}]
  tokenizer: {name: builtin}
  phases: [%s{name: profiling, %s%s}]
  artifacts: {summary: [], records: []}%s
sweep: {type: grid, parameters: {benchmark.endpoint: [%s]}}
multi_run: {num_runs: %d%s}
`, plan+1, osl, before, phase, count, d.body, strings.Join(cells, ", "), d.trials, d.multi)
	if d.compare != "" {
		text += "compare: {axis: endpoint, " + d.compare + "}\n"
	}
	return text + d.more
}

// conclusion is what one plan says.
type conclusion struct {
	*decide.Results
	outcomes []decide.Outcome
	verdicts []verdict.Verdict // of the runs
	plan     []verdict.Finding
}

// simulate carries out n plans and shows what each says. Plans that need no
// fresh servers are carried out as the trials of a long one, of which every so
// many are a plan: its blocks are as independent of each other as plans are.
func (d design) simulate(t *testing.T, n int, see func(conclusion)) {
	t.Helper()
	if raced {
		t.Skip("single runs are enough for the race detector")
	}
	together := n
	if d.fresh {
		together = 1
	}
	together = min(together, 1000/d.trials)
	for i := 0; i < n; i += together {
		long := d
		k := min(together, n-i)
		long.trials *= k
		o, err := RunPaced(long.text(d.from+i), scratch(t), d.pace)
		if err != nil {
			t.Fatalf("plan %d: %v\n%s", d.from+i, err, long.text(d.from+i))
		}
		file := filepath.Join(scratch(t), fileName)
		if err := os.WriteFile(file, []byte(d.text(d.from+i)), 0o644); err != nil {
			t.Fatal(err)
		}
		short, err := expand(file)
		if err != nil {
			t.Fatal(err)
		}
		for g := range k {
			see(part(o, short, g))
		}
	}
}

// part is the g-th plan of those that were carried out together.
func part(o *Outcome, short *sweep.Plan, g int) conclusion {
	var c conclusion
	cells := make([]verdict.CellEvidence, len(short.Cells))
	for _, x := range o.Outcomes {
		trial := x.Run.Trial - g*short.Trials
		if trial < 0 || trial >= short.Trials {
			continue
		}
		rep := o.Reports[x.Run.ID]
		i := slices.IndexFunc(short.Runs, func(r sweep.Run) bool {
			return r.Cell.Index == x.Run.Cell.Index &&
				r.Trial == trial
		})
		x.Run, x.Taints = short.Runs[i], verdict.Taints(rep.Findings)
		c.outcomes, c.verdicts = append(c.outcomes, x), append(c.verdicts, rep.Verdict)
		cell := &cells[x.Run.Cell.Index]
		cell.Index, cell.Label = x.Run.Cell.Index, x.Run.Cell.Short()
		cell.OK++
		if rep.HalfShift != nil {
			cell.Shifts = append(cell.Shifts, *rep.HalfShift)
		}
		if x.Backlog != nil {
			cell.Backlogs, cell.BacklogLimit = append(cell.Backlogs, x.Backlog.Share),
				max(cell.BacklogLimit, x.Backlog.Limit)
		}
		if s, ok := x.Summaries[0].Get("request_latency"); ok {
			cell.Medians = append(cell.Medians, s.P50)
		}
	}
	c.Results = decide.Aggregate(short, c.outcomes)
	c.plan = verdict.JudgePlan(&verdict.PlanEvidence{Trials: short.Trials, Cells: cells}, nil)
	if runner.MarkByPlan(c.outcomes, c.plan) {
		c.Results = decide.Aggregate(short, c.outcomes)
	}
	return c
}

// scratch is a folder that goes when the test does; in memory where there is
// one, for a plan waits for its files to be on the disk.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(memory(), "aiperf-sim-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // what is left is in a folder for such things
	return dir
}

func memory() string {
	const shared = "/dev/shm"
	if f, err := os.MkdirTemp(shared, "aiperf-try-"); err == nil {
		os.Remove(f) //nolint:errcheck // it is empty
		return shared
	}
	return ""
}

// alarms counts in how many plans something was said.
type alarms struct{ plans, best, dominated, told, doubted int }

func (a *alarms) count(o conclusion) {
	a.plans++
	if slices.Max(o.verdicts) > verdict.Valid || verdict.Worst(o.plan) > verdict.Valid {
		a.doubted++
	}
	for _, b := range o.Best {
		if b.Shown {
			a.best++
			break
		}
	}
	for i := range o.Cells {
		if o.Cells[i].Front == decide.Dominated {
			a.dominated++
			break
		}
	}
	if told(o) {
		a.told++
	}
}

// told reports whether any primary metric of any comparison is WORSE or BETTER.
func told(o conclusion) bool {
	for _, c := range o.Comparisons {
		for _, r := range c.Rows {
			if r.Primary && (r.Outcome == decide.Worse || r.Outcome == decide.Better) {
				return true
			}
		}
	}
	return false
}

// most is how often something that happens in a share p of n plans is seen at
// most, but for one time in a hundred: the binomial's 99 % quantile.
func most(p float64, n int) int {
	term := math.Pow(1-p, float64(n))
	sum := term
	for k := range n {
		if sum >= 0.99 {
			return k
		}
		term *= float64(n-k) / float64(k+1) * p / (1 - p)
		sum += term
	}
	return n
}

// The same server under several names: a best cell, a dominated one, and BETTER
// or WORSE in at most one plan of twenty.
func TestSameServer(t *testing.T) {
	t.Parallel()
	// values of the same distribution; a run's mean varies ten times as much
	const calm, noisy = "ttft=40ms&itl=5ms&cv=0.3", "ttft=40ms&itl=5ms&cv=0.3&ar=0.98"
	cells := func(n int, odd string) []string {
		list := []string{odd}
		for range n - 1 {
			list = append(list, calm)
		}
		return list
	}
	for _, c := range []struct {
		name  string
		plans int
		design
	}{
		{"two", 5, design{cells: cells(2, calm)}},
		{"six", 2, design{cells: cells(6, calm)}},
		{"twelve", 1, design{cells: cells(12, calm)}},
		{"two, one noisy", 3, design{cells: cells(2, noisy)}},
		{"six, one noisy", 1, design{cells: cells(6, noisy)}},
		{"twelve, one noisy", 1, design{cells: cells(12, noisy)}},
		{"open loop of drawn lengths", 3, design{cells: cells(2, "ttft=40ms&itl=5ms&cv=0.3&workers=20"), phase: "type: poisson, rate: 60", osl: "{mean: 8, stddev: 3}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.trials, c.compare = 5, "margin: 0.05"
			if c.requests == 0 {
				c.requests = 100
			}
			if strings.HasSuffix(c.name, "noisy") {
				c.idle = 150 // as long as its noise lasts: trials are independent of each other
			}
			var a alarms
			c.simulate(t, c.plans**times, a.count)
			t.Logf("%+v", a)
			if m := most(0.05, a.plans); a.best > m || a.dominated > m || a.told > m {
				t.Errorf("of %d plans %d have a best cell, %d a dominated one, %d a BETTER or WORSE; want at most %d",
					a.plans, a.best, a.dominated, a.told, m)
			}
			if a.doubted > most(0.01, a.plans) {
				t.Errorf("of %d plans %d are not VALID", a.plans, a.doubted)
			}
		})
	}
}

// Nothing is sent over HTTP in virtual time: a trace that is asked for is left out.
func TestTraceInVirtualTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Run(`benchmark:
  models: demo
  endpoint: {url: "mock:?ttft=1ms"}
  datasets: [{name: main, type: synthetic, prompts: {isl: 16, osl: 4}}]
  phases: [{name: profiling, type: concurrency, concurrency: 1, requests: 5}]
  tokenizer: {name: builtin}
  artifacts: {aiperf: true, trace: true}
random_seed: 1
allow_invalid: true
`, dir); err != nil {
		t.Fatal(err)
	}
	lines, err := os.ReadFile(filepath.Join(dir, "results", "profile_export.jsonl"))
	if err != nil || bytes.Count(lines, []byte("\n")) != 5 || bytes.Contains(lines, []byte("trace_data")) {
		t.Errorf("%v: %s", err, lines)
	}
}
