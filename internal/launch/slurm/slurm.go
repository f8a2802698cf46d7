// Package slurm writes a batch script that places one load on the nodes of a Slurm cluster:
// the coordinator in the batch step, a worker in each task. It runs nothing, and knows nothing
// of benchmarks: what the coordinator runs is a command line.
package slurm

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"aiperf.dev/aiperf/internal/diag"
)

// Job is what the script asks Slurm for.
type Job struct {
	Name    string
	Workers int
	CPUs    int      // of each worker
	Time    string   // at most, as Slurm writes it; "" for what the partition has
	Options []string // further ones of sbatch, such as --partition=cpu
	Program string   // path or name of aiperf on the nodes
	Command []string // of the coordinator, without what names the workers and places
}

var (
	name   = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	option = regexp.MustCompile(`^--[a-z][a-z-]*(=[^\s#'"]+)?$`)
	limit  = regexp.MustCompile(`^([0-9]+-)?[0-9]+(:[0-9]{1,2}){0,2}$`)
	plain  = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)
)

// Write prints the script, the same text for the same job.
func (j *Job) Write(w io.Writer) error {
	if !name.MatchString(j.Name) {
		return diag.New("--name: "+j.Name+" is not a name of a job", "letters, digits, dashes and dots")
	}
	if j.Time != "" && !limit.MatchString(j.Time) {
		return diag.New("--time: "+j.Time+" is not a time as Slurm writes it", "two hours are --time 2:00:00")
	}
	head := []string{
		"--job-name=" + j.Name, fmt.Sprintf("--ntasks=%d", j.Workers), fmt.Sprintf("--cpus-per-task=%d", j.CPUs),
		"--output=" + j.Name + "-%j.log",
	}
	if j.Time != "" {
		head = append(head, "--time="+j.Time)
	}
	for _, o := range j.Options {
		if !option.MatchString(o) {
			return diag.New("--sbatch: "+o+" is not an option of sbatch", "as in --sbatch=--partition=cpu")
		}
		head = append(head, o)
	}
	var words []string
	for _, word := range j.Command {
		words = append(words, quote(word))
	}
	_, err := fmt.Fprintf(w, script, strings.Join(head, "\n#SBATCH "), j.Name, j.Workers, quote(j.Program),
		strings.Join(words, " "))
	return err
}

// quote is a word as a shell reads it back.
func quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// script is the whole of it. What it needs on the nodes is the program and a folder that all
// of them see, which is that where sbatch was typed.
const script = `#!/bin/sh
#SBATCH %s

set -eu
umask 077
name=%s
workers=%d
aiperf=%s
here=$(pwd)/$name-${SLURM_JOB_ID:?sbatch starts this script}
port=$((20000 + SLURM_JOB_ID %% 20000))
mkdir -p "$here"
export aiperf here port

# The coordinator: what it writes is in $here/results.
"$aiperf" %s --workers "$workers" --listen "0.0.0.0:$port" --token-file "$here/token" \
	--artifact-dir "$here/results" &
coordinator=$!

# It makes the token that the workers need.
until [ -s "$here/token" ]; do
	if ! kill -0 "$coordinator" 2>/dev/null; then
		code=0
		wait "$coordinator" || code=$?
		exit "$code"
	fi
	sleep 1
done

coordinator_host=$(hostname)
export coordinator_host
srun --ntasks="$workers" --kill-on-bad-exit=0 sh -c \
	'exec "$aiperf" worker --join "tls://$coordinator_host:$port" --token-file "$here/token" --index "$SLURM_PROCID" --wait 600' &
tasks=$!
trap 'kill "$coordinator" 2>/dev/null || :' TERM INT

# A signal ends the first wait, and the coordinator keeps what was measured.
code=0
wait "$coordinator" || code=$?
if kill -0 "$coordinator" 2>/dev/null; then
	code=0
	wait "$coordinator" || code=$?
fi
kill "$tasks" 2>/dev/null || :
wait "$tasks" || :
rm -f "$here/token"
exit "$code"
`
