package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"aiperf.dev/aiperf/internal/diag"
)

// recipe is the command that docs/compare.md tells people to put into a workflow.
func recipe(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "compare.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?s)- run: \|\n(.*?)\n      - uses:`).FindSubmatch(b)
	if m == nil || !strings.Contains(string(m[1]), "aiperf run examples/experiments/ab-two-builds.cue") {
		t.Fatal("docs/compare.md has no such step")
	}
	return strings.TrimSpace(string(m[1]))
}

// The step of the page, as a shell runs it, with servers of this program in place of
// two builds: a regression fails it, no change passes, and both leave what the page
// says they leave. It is made small: one rate, fewer requests and trials.
func TestRecipe(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the step is a shell's")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	const build = "mock:?ttft=40ms&itl=4ms"
	for _, c := range []struct {
		name, candidate string
		code            diag.Code
		says            string // a regular expression
	}{
		{"the same build", "mock:?itl=4ms&ttft=40ms", diag.OK, "new and old are equal within .*EQUIVALENT|new is at most .* worse than old.*NOT WORSE"},
		{"a slower build", "mock:?ttft=80ms&itl=8ms", diag.Missed, "new is slower than old: .* %.*WORSE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			words := strings.NewReplacer("http://localhost:8000", build,
				"http://localhost:8001", c.candidate).Replace(recipe(t)) +
				" --set 'sweep.parameters.rate=[40]' --set benchmark.phases.profiling.requests=40 --set multi_run.num_runs=4 --ui none"
			if !strings.Contains(words, c.candidate) {
				t.Fatalf("the step has other addresses: %s", words)
			}
			if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-ec", words)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "job.md"))
			out, err := cmd.CombinedOutput()
			got, says := diag.Code(cmd.ProcessState.ExitCode()), c.says
			if got == diag.Invalid && strings.Contains(string(out), "No decision between old and new") {
				says = "UNDECIDED" // a busy machine sends late, and cannot find a change of 10 %
			} else if got != c.code {
				t.Fatalf("exit code %d (%v), want %d\n%s", got, err, c.code, out)
			}
			job, err := os.ReadFile(filepath.Join(dir, "job.md"))
			if err != nil || !regexp.MustCompile(says).Match(job) {
				t.Errorf("the job's summary: %v, no %q in\n%s", err, says, job)
			}
			for _, name := range []string{"compare.xml", "out/report.html"} {
				if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}
