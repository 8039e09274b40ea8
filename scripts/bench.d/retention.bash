#!/usr/bin/env bash
# Measures answers to the App Store's questions, and prints Markdown. The server runs on the first processor and the load
# generator on the second. --seconds N: the length of a measurement (default 3). --pairs N: the alternated pairs of
# measurements of POST /message with and without 2,000 forged questions a second (default 7). --questions N: the questions
# for each row (default 15000). --binary FILE: the server, and --generator FILE: RetentionBench, instead of building them.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=3 pairs=7 questions=15000 binary= generator=
while [ $# -gt 0 ]; do
    case "$1" in
        --seconds) seconds=$2; shift 2 ;;
        --pairs) pairs=$2; shift 2 ;;
        --questions) questions=$2; shift 2 ;;
        --binary) binary=$2; shift 2 ;;
        --generator) generator=$2; shift 2 ;;
        *) printf 'bench: unknown argument %s\n' "$1" >&2; exit 64 ;;
    esac
done
command -v wrk >/dev/null || { printf 'bench: install wrk\n' >&2; exit 69; }
if [ -z "$binary" ] || [ -z "$generator" ]; then
    build=(env BALLOON_BENCH=1 swift build --configuration release --static-swift-stdlib)
    "${build[@]}" --product balloon >&2
    "${build[@]}" --product RetentionBench >&2
    folder=$("${build[@]}" --show-bin-path)
    binary=$folder/balloon generator=$folder/RetentionBench
fi
work=$(mktemp -d)
servers=()
finish() {
    local server
    for server in ${servers[@]+"${servers[@]}"}; do kill "$server" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

fixture=Tests/TestSupport/Fixtures/messages/timePicker.json
business=$(sed -nE 's/.*"destinationId": "([^"]*)".*/\1/p' "$fixture")
mkdir -p "$work/bodies" "$work/config/businesses"
for number in $(seq 256); do
    grep -vE '^  "(id|sourceId)":' "$fixture" | sed "s/b4bb52a8-/$(printf %08x "$number")-/" | gzip -9 >"$work/bodies/$number.gz"
done
head -c 32 /dev/urandom | base64 >"$work/secret"
printf '{ "businessID": "%s", "name": "Bench", "handler": { "builtin": "none" } }\n' "$business" \
    >"$work/config/businesses/bench.json"
cat >"$work/config/server.json" <<JSON
{
    "mspID": "00000000-0000-4000-8000-000000000001", "secret": { "file": "$work/secret" },
    "publicURL": "https://bench.example", "listen": "127.0.0.1:0", "adminListen": "off", "dataDirectory": "$work/data",
    "gateway": { "url": "https://bench.example/v1" }, "limits": { "shards": 1 }
}
JSON
mkdir -p "$work/config/apps"
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/config/apps/key.p8" 2>/dev/null
# The claims of the questions are valid for five minutes.
"$generator" "$work" "$questions" "$PWD/config/handlers/python/retention.py"

taskset --cpu-list 0 "$binary" serve --config "$work/config/server.json" >"$work/out" 2>"$work/log" &
server=$!
servers+=("$server")
for try in $(seq 200); do
    port=$(sed -nE 's/^listening on .*:([0-9]+)$/\1/p' "$work/out" | head -n 1)
    if [ -n "$port" ] && grep -q 'handler is ready' "$work/log"; then break; fi
    kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    read -rt 0.05 <> <(:) || true
done
url=http://127.0.0.1:$port

# row LABEL APP CONNECTIONS FIRST: prints a line of the table.
row() {
    taskset --cpu-list 1 wrk --threads 1 --duration "${seconds}s" --latency --connections "$3" \
        --script scripts/bench.d/retention.lua "$url/retention/$2/production" -- "$work/$2" "$4" >"$work/wrk"
    awk -v label="$1" '
        $1 == "50%" { p50 = $2 } $1 == "99%" { p99 = $2 } /Requests\/sec/ { rate = $2 } /Non-2xx/ { errors = $NF }
        END { printf "| %s | %.0f | %s | %s | %d |\n", label, rate, p50, p99, errors }' "$work/wrk"
}

printf '%s, %s processors, %s s, server on one of them\n\n' "$(uname -sr)" "$(nproc)" "$seconds"
printf '| verified answers | a second | p50 | p99 | not 200 |\n|---|---|---|---|---|\n'
row 'by rules, 16 connections' rules 16 0
row 'by rules, 1 connection' rules 1 "$((questions * 2 / 3))"
row 'by Python, 4 connections' python 4 0
row 'by Python, 1 connection' python 1 "$((questions * 2 / 3))"

token=$("$binary" token sign --config "$work/config/server.json")
# messages NUMBER: the requests a second of POST /message.
messages() {
    taskset --cpu-list 1 wrk --threads 1 --duration "${seconds}s" --connections 16 --script scripts/bench.d/message.lua \
        "$url/message" -- "$work/bodies" "$token" "$business" "retention-$1-$RANDOM" | awk '/Requests\/sec/ { printf "%.0f", $2 }'
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
: >"$work/alone"
: >"$work/flooded"
messages warm-up >/dev/null
for pair in $(seq "$pairs"); do
    printf '%s\n' "$(messages "$pair-alone")" >>"$work/alone"
    # Each curl of the parallel load would cost more than the server; wrk2 is not packaged. python3 paces 2,000 a second.
    taskset --cpu-list 1 python3 scripts/bench.d/retention-flood.py "$port" "$work/forged" 2000 "$((seconds + 1))" \
        >"$work/flood" &
    flood=$!
    printf '%s\n' "$(messages "$pair-flooded")" >>"$work/flooded"
    wait "$flood"
    cat "$work/flood" >>"$work/floods"
done
awk -v alone="$(median <"$work/alone")" -v flooded="$(median <"$work/flooded")" -v pairs="$pairs" \
    -v rate="$(median <"$work/floods")" 'BEGIN {
        printf "\nPOST /message, 16 connections, medians of %d pairs: %d a second, and %d beside %d forged questions a second: %.1f %% less.\n",
            pairs, alone, flooded, rate, (alone - flooded) / alone * 100 }'
