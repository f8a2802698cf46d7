package sim

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"aiperf.dev/aiperf/sweep/decide"
)

var accuracies = flag.Int("accuracies", 4, "plans of TestAccuracyOverLoad with a fall, and as many without one")

// Questions among the requests of two loads, asked of servers that corrupt a share of
// their right answers from four requests under way on, or none: the interval of the change
// holds the true one, a fall is found as often as the number of questions allows, and
// none is claimed where there is none. All is drawn: how many questions, trials, how
// often the server is right, and how much it corrupts.
func TestAccuracyOverLoad(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("simulates whole plans")
	}
	const level = 0.95
	var holds, plans, found, falls, alarms, calm int
	for i := range 2 * *accuracies {
		rng := rand.New(rand.NewPCG(25, uint64(i)))
		right, items, trials := 0.6+0.35*rng.Float64(), 60+rng.IntN(140), []int{1, 2, 3}[rng.IntN(3)]
		corrupt := 0.0
		if i%2 == 1 {
			corrupt = 0.1 + 0.3*rng.Float64()
		}
		truth := -corrupt * right
		change := accuracyChange(t, i, items, trials, right, corrupt)
		plans++
		if change.Change.Low <= truth && truth <= change.Change.High {
			holds++
		} else {
			t.Logf("plan %d: %d questions, %d trials, right %.2f, corrupt %.2f: change %.3f [%.3f, %.3f], truth %.3f",
				i, items, trials, right, corrupt, change.Change.Mean, change.Change.Low, change.Change.High, truth)
		}
		switch {
		case corrupt > 0 && change.Change.High < 0:
			found++
			falls++
		case corrupt > 0:
			falls++
		default:
			calm++
			if change.Differs() {
				alarms++
			}
		}
	}
	t.Logf("the interval holds the truth in %d of %d; a fall is found in %d of %d, and claimed in %d of %d without one",
		holds, plans, found, falls, alarms, calm)
	if atMost := most(1-level, plans); plans-holds > atMost {
		t.Errorf("the interval misses the truth in %d of %d, more than %d", plans-holds, plans, atMost)
	}
	if atMost := most(1-level, calm); alarms > atMost {
		t.Errorf("a change is claimed in %d of %d plans without one, more than %d", alarms, calm, atMost)
	}
	if found == 0 {
		t.Errorf("a fall is found in %d of %d", found, falls)
	}
}

// A server that from a load on answers with what another request asked for is found in a run
// of 200 questions, and one that answers wrong otherwise is not called that.
func TestSwappedAnswers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("simulates whole plans")
	}
	plans := max(1, *accuracies/2)
	var mu sync.Mutex
	counts := map[string]int{}
	t.Run("plans", func(t *testing.T) {
		for seed := range plans {
			for _, what := range []string{"swap", "corrupt", "shorten"} {
				t.Run(fmt.Sprint(what, seed), func(t *testing.T) {
					t.Parallel()
					out := questioned(t, seed, 200, 1, 800, fmt.Sprintf("right=0.8&%s=0.1@4", what))
					for c, s := range out.Results.Swapped() {
						t.Logf("%s: %+v", c.Cell.Short(), s)
						mu.Lock()
						counts[what+" "+c.Cell.Short()]++
						mu.Unlock()
					}
				})
			}
		}
	})
	found := counts["swap concurrency 8"]
	delete(counts, "swap concurrency 8")
	t.Logf("%d plans of each kind: swapped answers are found in %d, and elsewhere in %v", plans, found, counts)
	if found < (3*plans+3)/4 {
		t.Errorf("swapped answers are found in %d of %d", found, plans)
	}
	for where, n := range counts {
		if n > most(0.01, plans) {
			t.Errorf("answers are called swapped in %d of %d plans with %s", n, plans, where)
		}
	}
}

// Questions among the requests cost nothing on the way: in virtual time, where only what the
// program waits for takes time, each request reaches the server when it would without
// them, at a rate and in a closed loop whose answers take as long.
func TestQuestionsCostNothing(t *testing.T) {
	t.Parallel()
	const closed, open = "{type: concurrency, concurrency: 4, requests: 400}", "{type: poisson, rate: 200, requests: 400}"
	for _, phase := range []string{closed, open} {
		var with, without []int64
		for _, share := range []float64{0, 0.3} {
			dir := t.TempDir()
			questions := ""
			if share > 0 {
				file := questionsFile(t, dir, 50)
				questions = fmt.Sprintf("accuracy: {benchmark: own, path: %q, mode: mixed, share: %v}", file, share)
			}
			out, err := Run(fmt.Sprintf(`
random_seed: 5
benchmark:
  model: m
  endpoint: {url: "mock:?ttft=20ms&itl=0ms", streaming: true}
  tokenizer: {name: builtin}
  dataset: {prompts: {isl: 16, osl: 4}}
  profiling: %s
  %s
`, phase, questions), dir)
			if err != nil {
				t.Fatal(err)
			}
			asked, at := 0, []int64(nil)
			for _, entries := range out.Servers {
				for _, e := range entries {
					at = append(at, e.Recv)
				}
			}
			for _, o := range out.Outcomes {
				asked += len(o.Answers)
			}
			slices.Sort(at)
			if share == 0 {
				without = at
				continue
			}
			if with = at; asked < 40 {
				t.Errorf("%s: %d questions were answered", phase, asked)
			}
		}
		if len(with) != 400 || !slices.Equal(with, without) {
			t.Errorf("%s: %d and %d requests, which do not arrive at the same moments", phase, len(with), len(without))
		}
	}
}

// accuracyChange carries out a plan, and is what it says of the answers.
func accuracyChange(t *testing.T, seed, items, trials int, right, corrupt float64) *decide.AnswersChange {
	t.Helper()
	out := questioned(t, seed, items, trials, 4*items, fmt.Sprintf("right=%.4f&corrupt=%.4f@4", right, corrupt))
	all := out.Results.AnswersOverLoad()
	if len(all) != 1 || all[0].Questions < items/3 {
		t.Fatalf("plan %d: %d changes", seed, len(all))
	}
	return all[0]
}

// questioned carries out a plan of two loads with questions among its requests.
func questioned(t *testing.T, seed, items, trials, requests int, server string) *Outcome {
	t.Helper()
	dir := t.TempDir()
	file := questionsFile(t, dir, items)
	out, err := Run(fmt.Sprintf(`
random_seed: %d
benchmark:
  model: m
  endpoint: {url: "mock:?ttft=20ms&itl=2ms&cv=0.2&seed=%d&knows=%s&%s", streaming: true}
  tokenizer: {name: builtin}
  dataset: {prompts: {isl: 16, osl: 4}}
  profiling: {type: concurrency, concurrency: 1, requests: %d}
  accuracy: {benchmark: own, path: %q, mode: mixed, share: 0.25}
sweep: {parameters: {concurrency: [1, 8]}}
multi_run: {num_runs: %d}
`, seed+1, seed+1, file, server, requests, file, trials), dir)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// questionsFile are questions of one's own, whose answers differ.
func questionsFile(t *testing.T, dir string, items int) string {
	t.Helper()
	var b strings.Builder
	for k := range items {
		fmt.Fprintf(&b, `{"id": "q%d", "task": "sums", "prompt": "Question %d: what is %d + %d?", "answer": "#### %d", "grader": "lighteval_gsm8k"}`+"\n",
			k, k, 7*k, 3*k, 10*k)
	}
	file := filepath.Join(dir, "questions.jsonl")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
