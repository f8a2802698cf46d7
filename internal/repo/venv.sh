#!/bin/sh
# Makes the Python environment that tests of the result files use, once:
#
#   internal/repo/venv.sh [DIR]      default build/venv, relative to the repository's root
#
# Prints the path of its interpreter; nothing, with a word on stderr, on a
# machine without python3, which is a failure only in CI (CI is set). Needs a
# package index; asks for wheels only, so nothing is compiled. Safe to call from
# several tests at once: the first makes it, the others wait.
set -eu
cd "$(dirname "$0")/../.."
dir=${1:-build/venv}
packages="pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0 duckdb==2.0.0 numpy==2.4.6"
mark=$dir/.made-of

if ! command -v python3 >/dev/null 2>&1; then
	echo "venv.sh: no python3: tests that need it are skipped" >&2
	[ -z "${CI:-}" ]
	exit
fi
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
if command -v flock >/dev/null 2>&1; then flock 9; fi
if [ "$(cat "$mark" 2>/dev/null)" != "$packages" ]; then
	rm -rf "$dir"
	python3 -m venv "$dir" >&2
	# shellcheck disable=SC2086
	"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: $packages >&2
	printf '%s' "$packages" >"$mark"
fi
printf '%s/bin/python\n' "$(cd "$dir" && pwd)"
