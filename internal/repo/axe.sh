#!/bin/sh
# Fetches axe-core, which finds what keeps people from reading a page, into
# build/axe, once, and prints the path of its script; nothing, with a word on
# stderr, on a machine without npm or without a package index, which is a failure
# only in CI (CI is set). Only tests use it; nothing of it is distributed. Safe to
# call from several tests at once.
set -eu
cd "$(dirname "$0")/../.."
version=4.14.1
dir=build/axe
script=$dir/axe-$version.js

give() { # without it
	echo "axe.sh: $1: how accessible the report is is not tested" >&2
	[ -z "${CI:-}" ]
	exit
}
mkdir -p "$dir"
exec 9>"$dir.lock"
if command -v flock >/dev/null 2>&1; then flock 9; fi
if [ ! -s "$script" ]; then
	command -v npm >/dev/null 2>&1 || give "no npm"
	(cd "$dir" && npm pack --silent "axe-core@$version" >/dev/null 2>&1) || give "npm cannot fetch axe-core"
	tar -xzf "$dir/axe-core-$version.tgz" -C "$dir" package/axe.min.js package/LICENSE
	mv "$dir/package/axe.min.js" "$script"
fi
printf '%s/axe-%s.js\n' "$(cd "$dir" && pwd)" "$version"
