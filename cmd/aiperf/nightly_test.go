package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"aiperf.dev/aiperf/internal/diag"
)

// nightlySteps are the commands of the workflow in docs/trend.md that need no other program
// of the build, in order.
func nightlySteps(t *testing.T) (steps []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "trend.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(b)
	if m == nil {
		t.Fatal("docs/trend.md has no workflow")
	}
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal(m[1], &workflow); err != nil {
		t.Fatal(err)
	}
	for _, s := range workflow.Jobs["performance"].Steps {
		if s.Run != "" && !strings.HasPrefix(s.Run, "./start-servers.sh") {
			steps = append(steps, s.Run)
		}
	}
	if len(steps) != 3 {
		t.Fatalf("steps: %q", steps)
	}
	return steps
}

// The steps of the page, as a shell runs them, with servers of this program in place of two
// builds, and a gh that keeps what it is told. It is made small: one rate, fewer requests.
func TestNightlyBuild(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the steps are a shell's")
	}
	steps := nightlySteps(t)
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	const gh = "#!/bin/sh\ncase \"$2\" in list) echo 17;; comment) echo \"$@\" > told; cat \"$5\" >> told;; esac\n"
	if err := os.WriteFile(filepath.Join(bin, "gh"), []byte(gh), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	small := strings.NewReplacer("http://localhost:8000", "mock:?ttft=40ms&itl=4ms",
		"http://localhost:8001", "mock:?itl=4ms&ttft=40ms").Replace(strings.TrimSpace(steps[0])) +
		" --set 'sweep.parameters.rate=[40]' --set benchmark.phases.profiling.requests=40 --set multi_run.num_runs=3 --ui none"
	if !strings.Contains(small, "mock:?itl=4ms") {
		t.Fatalf("the step has other addresses: %s", small)
	}
	steps[0] = small
	for i, step := range steps {
		cmd := exec.Command("sh", "-ec", step)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
			"HISTORY="+filepath.Join(dir, "history"), "GITHUB_SHA=0123456789abcdef0123456789abcdef01234567",
			"GITHUB_STEP_SUMMARY="+filepath.Join(dir, "job.md"))
		out, err := cmd.CombinedOutput()
		code := diag.Code(cmd.ProcessState.ExitCode())
		if code == diag.OK || i == 0 && (code == diag.Invalid || code == diag.Missed) {
			continue // a busy machine sends late, and may find a difference
		}
		t.Fatalf("step %d: exit code %d, %v\n%s", i, code, err, out)
	}
	for name, want := range map[string]string{
		"told":       "pr comment 17 --body-file trend.md\n### Too few results to tell: 1",
		"job.md":     "### Too few results to tell: 1",
		"trend.html": "Too few results to tell: 1",
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, no %q in\n%.600s", name, err, want, b)
		}
	}
	kept, err := filepath.Glob(filepath.Join(dir, "history", "month=*", "*.parquet"))
	if err != nil || len(kept) != 1 {
		t.Errorf("the history has %v, %v", kept, err)
	}
}
