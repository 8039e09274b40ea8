#!/usr/bin/env bash
# Measures the cost of handlers, and prints Markdown: events per second and latency for each kind of binding, and a
# hundred businesses with one handler process each. --events N: the events for each row (default 2000). --children N: the number
# of handler processes (default 100). --binary FILE: the server to measure.
set -euo pipefail
cd "$(dirname "$0")/../.."

events=2000 children=100 binary=
while [ $# -gt 0 ]; do
    case "$1" in
        --events) events=$2; shift 2 ;;
        --children) children=$2; shift 2 ;;
        --binary) binary=$2; shift 2 ;;
        *) printf 'bench: unknown argument %s\n' "$1" >&2; exit 64 ;;
    esac
done
if [ -z "$binary" ]; then
    build=(env BALLOON_BENCH=1 swift build --configuration release --product HandlerBench)
    "${build[@]}" >&2
    binary=$("${build[@]}" --show-bin-path)/HandlerBench
fi
ulimit -n "$(ulimit -Hn)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$binary" "$work" "$PWD/scripts/bench.d/handlers/echo.py" "$events" "$children"
