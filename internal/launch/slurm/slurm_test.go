package slurm

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata anew")

func job() *Job {
	return &Job{
		Name: "big", Workers: 25, CPUs: 2, Time: "1:00:00", Options: []string{"--partition=cpu", "--exclusive"}, Program: "aiperf",
		Command: []string{"run", "it's big.cue", "--set", "endpoint.timeout=30"},
	}
}

// The script is what it was, and a shell can read it.
func TestScript(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	if err := job().Write(&got); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "big.sh")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%s: go test -update writes\n%s", file, &got)
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no shell")
	}
	if out, err := exec.Command(sh, "-n", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// What sbatch would read as something else is refused.
func TestJobsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*Job){
		"is not a name of a job":        func(j *Job) { j.Name = "a b" },
		"is not a time":                 func(j *Job) { j.Time = "1h\nrm" },
		"is not an option of sbatch":    func(j *Job) { j.Options = []string{"--x=$(rm)\n-y"} },
		"-p is not an option of sbatch": func(j *Job) { j.Options = []string{"-p"} },
	} {
		j := job()
		change(j)
		if err := j.Write(new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
