//go:build unix

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The batch script sends an experiment from as many tasks as Slurm starts. Here a shell starts
// them: what srun does of its own is to place them.
func TestTheBatchScriptRuns(t *testing.T) {
	t.Parallel()
	sh, err := exec.LookPath("sh")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no shell")
	}
	dir := t.TempDir()
	write(t, dir, "rate.yaml", `schemaVersion: "2.0"
random_seed: 11
allow_invalid: true
benchmark:
  model: demo
  endpoint: {url: "mock:?ttft=2ms&itl=0.1ms", type: chat, streaming: true}
  datasets: [{name: default, type: synthetic, entries: 16, prompts: {isl: {mean: 32}, osl: {mean: 4}}}]
  tokenizer: {name: builtin}
  phases: [{name: profiling, type: poisson, rate: 200, requests: 60}]
`)
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"srun": `n=${1#--ntasks=}
shift 2
k=0
while [ "$k" -lt "$n" ]; do
	SLURM_PROCID=$k "$@" &
	k=$((k + 1))
done
wait
`,
		"hostname": "echo 127.0.0.1\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!"+sh+"\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	render := aiperf(t, dir, "slurm", "render", "rate.yaml", "--total-workers", "2", "--isl", "48")
	render.wants(0)
	if err := os.WriteFile(filepath.Join(dir, "job.sh"), []byte(render.out.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	id := freeJob(t)
	p := &process{t: t, cmd: exec.Command(sh, "job.sh"), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = dir, &p.out, &p.err, ownGroup()
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("SLURM_JOB_ID=%d", id), "PATH="+bin+":"+os.Getenv("PATH"))
	p.run()
	p.wants(0)
	here := filepath.Join(dir, fmt.Sprintf("rate-%d", id))
	if n := lines(filepath.Join(here, "results", "requests.csv")); n != 61 {
		t.Errorf("%d lines of requests, want a head and 60\n%s", n, &p.err)
	}
	if _, err := os.Stat(filepath.Join(here, "token")); err == nil {
		t.Error("the token is still there")
	}
}

// freeJob is the number of a job whose port nobody listens at. It is below those that systems
// give out by themselves.
func freeJob(t *testing.T) int {
	t.Helper()
	for port := 20000; port < 32768; port++ {
		if l, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			l.Close()
			return 40000 + port - 20000
		}
	}
	t.Fatal("no port is free")
	return 0
}
