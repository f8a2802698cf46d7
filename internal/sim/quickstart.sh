#!/bin/sh
# quickstart.sh [TIMES]: carries out the quick start so many times and says how
# often it was VALID, and which checks were not clean, in how many runs.
set -eu
times=${1:-20}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT INT TERM
go build -o "$dir/aiperf" ./cmd/aiperf
i=0 valid=0
while [ "$i" -lt "$times" ]; do
	i=$((i + 1))
	"$dir/aiperf" run examples/experiments/quickstart.cue --artifact-dir "$dir/$i" --report none >"$dir/$i.out" 2>&1 || true
	if grep -q "^  \"verdict\": \"VALID\"" "$dir/$i/manifest.json"; then valid=$((valid + 1)); fi
done
echo "$valid of $times executions VALID; $(nproc) cores, load $(cut -d ' ' -f 1-3 /proc/loadavg 2>/dev/null || echo unknown)"
# the checks table: …,level,check,kind,severity,…
for i in $(seq "$times"); do "$dir/aiperf" export "$dir/$i" --table checks; done | awk -F, '
	$1 == "experiment" { for (i = 1; i <= NF; i++) col[$i] = i; next }
	$col["severity"] != "none" { n[$col["severity"] " " $col["level"] " " $col["check"]]++ }
	END { for (k in n) print n[k], k }' | sort -rn
