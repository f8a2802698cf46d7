#!/bin/sh
#SBATCH --job-name=big
#SBATCH --ntasks=25
#SBATCH --cpus-per-task=2
#SBATCH --output=big-%j.log
#SBATCH --time=1:00:00
#SBATCH --partition=cpu
#SBATCH --exclusive

set -eu
umask 077
name=big
workers=25
aiperf=aiperf
here=$(pwd)/$name-${SLURM_JOB_ID:?sbatch starts this script}
port=$((20000 + SLURM_JOB_ID % 20000))
mkdir -p "$here"
export aiperf here port

# The coordinator: what it writes is in $here/results.
"$aiperf" run 'it'\''s big.cue' --set endpoint.timeout=30 --workers "$workers" --listen "0.0.0.0:$port" --token-file "$here/token" \
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
