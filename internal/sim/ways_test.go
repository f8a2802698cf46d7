package sim

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"aiperf.dev/aiperf/internal/argv"
	"aiperf.dev/aiperf/internal/compat"
	"aiperf.dev/aiperf/loadgen"
	"aiperf.dev/aiperf/loadgen/transport"
	"aiperf.dev/aiperf/runner"
	"aiperf.dev/aiperf/runner/onerun"
	"aiperf.dev/aiperf/schema"
	"aiperf.dev/aiperf/sinks"
	"aiperf.dev/aiperf/sweep"
)

var (
	waysDrawn = flag.Int("ways", 0, "how many experiments are carried out in all ways, from -ways-seed on; 0: a few")
	waysSeed  = flag.Uint64("ways-seed", 1, "the number of the first of them")
)

// One experiment is one plan whatever way it takes: from flags, from the file that they
// are converted to, killed and gone on with, interrupted and gone on with, and through
// specs that were written as JSON. All runs are the same, and all tables: the schedule
// is in that of the requests. Experiments, options and the moments of death are drawn.
func TestOnePlanManyWays(t *testing.T) {
	t.Parallel()
	n := uint64(3)
	if *waysDrawn > 0 {
		n = uint64(*waysDrawn)
	}
	for i := *waysSeed; i < *waysSeed+n; i++ {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir := t.TempDir()
			var w *ways
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(21, i))
				w = newWays(t, dir, rng)
				w.others(rng)
			})
			if t.Failed() {
				return
			}
			w.T = t
			w.compare() // out here: readers of Parquet are shared, and a bubble's may not leave it
		})
	}
}

// ways is one experiment and what became of it by its flags.
type ways struct {
	*testing.T
	dir      string
	words    []string // of the command line
	file     string   // that they were converted to
	plan     *sweep.Plan
	runs     int      // that were carried out
	requests int      // that were sent
	made     []string // names of the results, the first by its flags
	theirs   bool     // AIPerf's files are written
}

func newWays(t *testing.T, dir string, rng *rand.Rand) *ways {
	writeRecorded(t, dir, rng)
	w := &ways{T: t, dir: dir, words: drawWords(dir, rng)}
	var doc *schema.Document
	w.plan, doc = w.expand("profile", "", w.words)
	text, _, err := compat.Write(doc.Said(), "yaml")
	if err != nil {
		t.Fatalf("%v: %v", w.words, err)
	}
	w.file = filepath.Join(w.dir, "drawn.yaml")
	if err := os.WriteFile(w.file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	d := &watchedDriver{}
	w.carryOut("flags", w.plan, d, false)
	w.runs, w.requests = d.runs, d.requests
	return w
}

// drawWords are the words of a command line; a recorded load is in dir.
func drawWords(dir string, rng *rand.Rand) []string {
	one := func(of ...string) string { return of[rng.IntN(len(of))] }
	maybe := func(words ...string) []string {
		if rng.IntN(2) == 0 {
			return nil
		}
		return words
	}
	server := "mock:?ttft=" + one("3ms", "12ms") + "&itl=1ms&cv=" + one("0", "0.4") + "&osl_cv=" + one("0",
		"0.5") + one("", "&workers=3", "&workers=3&queue=1")
	if rng.IntN(5) == 0 {
		server = "mock:?step=2ms&batch=2" // in each step
	}
	words := []string{
		"-m", "demo", "--url", server, "--tokenizer", "builtin", "--random-seed", fmt.Sprint(rng.IntN(1000)),
	}
	trials := 1 + rng.IntN(4)
	words = append(words, "--num-profile-runs", fmt.Sprint(trials))
	words = append(words, maybe("--goodput", "request_latency:15")...)
	words = append(words, maybe("--request-cancellation-rate", "30", "--request-cancellation-delay", "0.006")...)
	words = append(words, maybe("--slice-duration", "0.02")...)
	words = append(words, drawLoad(dir, rng, one, maybe)...)
	if strings.Contains(strings.Join(words, " "), ",") {
		words = append(words, maybe("--sweep-order", one("shuffled", "as_written"))...)
		words = append(words, maybe("--parameter-sweep-same-seed")...)
	}
	if trials > 1 {
		words = append(words, maybe("--no-profile-run-disable-warmup-after-first")...)
		words = append(words, maybe("--convergence-metric", "request_latency", "--convergence-mode", "cv",
			"--convergence-threshold", "0.5", "--set", "multi_run.convergence.min_runs=2")...)
	}
	return words
}

// drawLoad are the words that say what is sent, and when.
func drawLoad(
	dir string, rng *rand.Rand, one func(...string) string, maybe func(...string) []string,
) (words []string) {
	several := one("3", "1,4", "2,3")
	kind := rng.IntN(6)
	if kind == 0 {
		return append(maybe("--streaming"), "--fixed-schedule", "--custom-dataset-type", "single_turn",
			"--input-file", filepath.Join(dir, recorded))
	}
	words = append(words, "--isl", one("16", "40"), "--osl", one("4", "9"))
	words = append(words, maybe("--isl-stddev", "7")...)
	words = append(words, maybe("--warmup-request-count", "2")...)
	if kind == 1 {
		return append(words, "--user-centric-rate", one("60", "150"), "--num-users", "3",
			"--session-turns-mean", "2", "--num-sessions", "5")
	}
	words = append(words, maybe("--session-turns-mean", "2")...)
	if rng.IntN(3) == 0 {
		words = append(words, "--benchmark-duration", one("0.04", "0.09"))
		words = append(words, maybe("--benchmark-grace-period", "0.01")...)
	} else {
		words = append(words, "--request-count", one("6", "11"))
	}
	switch kind {
	case 2:
		words = append(words, "--streaming", "--concurrency", several)
		words = append(words, maybe("--prefill-concurrency", "1")...)
	case 3:
		words = append(words, "--request-rate", one("80", "60,150"),
			"--arrival-pattern", one("constant", "poisson", "gamma"))
		words = append(words, maybe("--request-rate-ramp-duration", "0.03")...)
	case 4:
		words = append(words, "--request-rate", "120", "--concurrency", several, "--on-cap", one("queue", "skip"))
	default:
		words = append(words, maybe("--streaming")...)
		words = append(words, "--concurrency", several)
		words = append(words, maybe("--concurrency-ramp-duration", "0.02")...)
	}
	return words
}

// recorded is a file of requests with the moments at which they are due.
const recorded = "recorded.jsonl"

func writeRecorded(t *testing.T, dir string, rng *rand.Rand) {
	var lines []byte
	for i, at := 0, 0; i < 8; i++ {
		at += rng.IntN(12)
		lines = fmt.Appendf(lines, `{"text": "number %d of them", "timestamp": %d}`+"\n", i, at)
	}
	if err := os.WriteFile(filepath.Join(dir, recorded), lines, 0o644); err != nil {
		t.Fatal(err)
	}
}

// expand is the plan of a command.
func (w *ways) expand(command, file string, words []string) (*sweep.Plan, *schema.Document) {
	w.Helper()
	own := []argv.Switch{{Name: "set", Arg: "PATH=VALUE", Many: true}}
	line, err := argv.Parse(words, own, schema.Options())
	if err != nil {
		w.Fatalf("%v: %v", words, err)
	}
	for _, s := range line.Values["set"] {
		a, err := schema.ParseSet(s)
		if err != nil {
			w.Fatal(err)
		}
		line.Assigns = append(line.Assigns, a)
	}
	doc, err := schema.Load(schema.Source{File: file, Command: command, Assignments: line.Assigns})
	if err != nil {
		w.Fatalf("%s %s %v: %v", command, file, words, err)
	}
	plan, err := sweep.Expand(doc)
	if err != nil {
		w.Fatalf("%s %s %v: %v", command, file, words, err)
	}
	plan.Name = "drawn" // profile has none of its own
	return plan, doc
}

// fromFile is the plan of the file.
func (w *ways) fromFile() *sweep.Plan {
	plan, _ := w.expand("run", w.file, nil)
	return plan
}

// others takes the other ways.
func (w *ways) others(rng *rand.Rand) {
	file := w.fromFile()
	if diff := cmp.Diff(w.plan.Lock(), file.Lock(),
		cmpopts.IgnoreFields(w.plan.Lock().Cells[0], "Benchmark")); diff != "" {
		w.Fatalf("%v\nby flags and from the file (-flags +file):\n%s", w.words, diff)
	}
	for _, next := range []func(){
		func() { w.carryOut("file", file, &watchedDriver{}, false) },
		func() { w.carryOut("json", w.fromFile(), &watchedDriver{specs: true}, false) },
		func() { w.again("killed", &watchedDriver{killAt: w.moment(rng)}) },
		func() { w.again("interrupted", &watchedDriver{interruptAt: w.moment(rng)}) },
	} {
		w.theirs = rng.IntN(2) == 0
		next()
	}
}

// compare holds the tables of all ways against those of the first.
func (w *ways) compare() {
	w.Helper()
	want := w.tables(w.made[0])
	if w.requests == 0 || len(want["requests"].Floats["intended_ns"]) == 0 || len(w.made) != 5 {
		w.Fatalf("%v: nothing was sent, or not in each of the ways %v", w.words, w.made)
	}
	for _, name := range w.made[1:] {
		if diff := cmp.Diff(want, w.tables(name), cmpopts.EquateNaNs(),
			cmpopts.IgnoreFields(sinks.TableRows{}, "Fields")); diff != "" {
			w.Errorf("aiperf profile %s\n%s (-by flags +so):\n%.3000s", strings.Join(w.words, " "), name, diff)
		}
	}
}

// moment is one of a plan: before a run, or before a request.
func (w *ways) moment(rng *rand.Rand) moment {
	if rng.IntN(3) == 0 {
		return moment{run: 1 + rng.IntN(w.runs)}
	}
	return moment{request: 1 + rng.IntN(w.requests)}
}

// moment is that of the n-th run or request of a process; the zero value never comes.
type moment struct{ run, request int }

// again begins a plan, ends it at the driver's moment, and goes on with what it left.
func (w *ways) again(name string, d *watchedDriver) {
	w.Helper()
	d.left = filepath.Join(w.dir, name+"-left")
	plan, _ := w.expand("profile", "", w.words)
	_, err := runner.Run(d.contexts(plan, w.options(name, d, false)))
	if d.hit == 0 {
		w.Fatalf("%s: the moment %+v%+v did not come", name, d.killAt, d.interruptAt)
	}
	if d.killAt != (moment{}) { // what the process did after its death is nothing
		name += "-left"
	} else if err != nil {
		w.Fatalf("%s: %v", name, err)
	}
	w.carryOut(name, w.fromFile(), &watchedDriver{}, true)
}

func (w *ways) options(name string, d onerun.Driver, resume bool) runner.Options {
	return runner.Options{
		Dir: filepath.Join(w.dir, name), Resume: resume, SourceName: w.file,
		Version: "simulation", Driver: d, AIPerf: w.theirs,
	}
}

// carryOut leaves the results of a plan.
func (w *ways) carryOut(name string, plan *sweep.Plan, d *watchedDriver, resume bool) {
	w.Helper()
	opt := w.options(name, d, resume)
	res, err := runner.Run(d.contexts(plan, opt))
	if err != nil || res.Interrupted || res.Stopped != "" {
		w.Fatalf("%s of %v: %v, %+v", name, w.words, err, res)
	}
	w.made = append(w.made, name)
}

// tables are those of the results of that name.
func (w *ways) tables(name string) map[string]*sinks.TableRows {
	w.Helper()
	tables := map[string]*sinks.TableRows{}
	for _, table := range sinks.TableNames() {
		rows, err := sinks.ReadTable(filepath.Join(w.dir, name), table, func(column string) bool {
			return column != "attempt" // a run that was begun twice says so
		})
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			w.Fatalf("%s: %v", name, err)
		}
		rows.Meta = nil
		tables[table] = rows
	}
	return tables
}

// watchedDriver simulates runs, each with servers of its own, so that what a run is
// does not depend on those before it. It may end the process that it belongs to.
type watchedDriver struct {
	specs       bool   // runs are carried out from their specs as JSON
	killAt      moment // everything that was written by then is copied to left
	interruptAt moment
	dir, left   string
	interrupt   context.CancelCauseFunc
	kill        context.CancelCauseFunc

	runs, requests int
	hit            int // moments that came
}

var errEnded = errors.New("ended by the test")

// contexts are the arguments of runner.Run.
func (d *watchedDriver) contexts(
	plan *sweep.Plan, opt runner.Options,
) (issue, hard context.Context, _ *sweep.Plan, _ runner.Options) {
	d.dir = opt.Dir
	hard, d.kill = context.WithCancelCause(context.Background())
	issue, d.interrupt = context.WithCancelCause(hard)
	return issue, hard, plan, opt
}

// Network is not there.
func (d *watchedDriver) Network() bool { return false }

// Drive carries out one run.
func (d *watchedDriver) Drive(
	issue, hard context.Context, run *onerun.Opened, s *onerun.Session,
) (*onerun.Result, error) {
	d.runs++
	d.at(moment{run: d.runs})
	if d.specs {
		b, err := json.Marshal(run.Spec)
		if err != nil {
			return nil, err
		}
		var spec onerun.Spec
		if err := json.Unmarshal(b, &spec); err != nil {
			return nil, err
		}
		if run, err = onerun.NewLoader().Open(issue, hard, spec); err != nil {
			return nil, err
		}
	}
	return onerun.Simulated{World: d.world}.Drive(issue, hard, run, s)
}

func (d *watchedDriver) world(urls []string) (loadgen.World, error) {
	inner, err := (&Worlds{}).Open(urls)
	return &watchedWorld{inner, d}, err
}

// watchedWorld counts requests.
type watchedWorld struct {
	loadgen.World
	d *watchedDriver
}

// Start sends x.
func (w *watchedWorld) Start(x *transport.Exchange) {
	w.d.requests++
	w.d.at(moment{request: w.d.requests})
	w.World.Start(x)
}

// at ends the process at its moment.
func (d *watchedDriver) at(now moment) {
	switch now {
	case d.killAt:
		d.hit++
		if err := os.CopyFS(d.left, os.DirFS(d.dir)); err != nil {
			panic(err)
		}
		d.kill(errEnded)
	case d.interruptAt:
		d.hit++
		d.interrupt(errEnded)
	}
}
