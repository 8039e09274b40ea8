#!/usr/bin/env bash
# Functions of scripts/bench.d/signins and payments: a server with a business that takes messages, posts to it, and other work beside them.
# The caller sets `binary`, `argument` (the last word of `$binary serve CONFIGURATION`), `gateway` and `host` (the simulated gateway), `noun`,
# `rate`, `seconds` and `pairs`, and keeps its own program on descriptors 7 and 8.

command -v wrk >/dev/null || {
    if [ "$(id -u)" -ne 0 ] || ! { apt-get update >&2 && apt-get install --yes wrk >&2; }; then
        echo 'bench: install wrk' >&2
        exit 69
    fi
}
work=$(mktemp -d)
# A data directory in memory, where the disk is not the point.
memory=$(mktemp -d /dev/shm/balloon-bench.XXXXXX)
processes=()
finish() {
    local process
    for process in ${processes[@]+"${processes[@]}"}; do kill "$process" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work" "$memory"
}
trap finish EXIT
ulimit -n "$(ulimit -Hn)"
pause() { read -rt "$1" <> <(:) || true; }

mkdir -p "$work/config/businesses" "$work/bodies"
head -c 32 /dev/urandom | base64 >"$work/secret"
fixture=Tests/TestSupport/Fixtures/messages/timePicker.json
business=$(sed -nE 's/.*"destinationId": "([^"]*)".*/\1/p' "$fixture")
for number in $(seq 256); do
    grep -vE '^  "(id|sourceId)":' "$fixture" | sed "s/b4bb52a8-/$(printf %08x "$number")-/" | gzip -9 >"$work/bodies/$number.gz"
done
printf '{ "businessID": "%s", "name": "Bench", "handler": { "builtin": "none" } }\n' "$business" \
    >"$work/config/businesses/bench.json"

# configure NAME DIRECTORY: writes a configuration of that name whose data directory is in the other.
# start NAME: starts a server with that configuration; sets `server` to its process id, and `url`.
configure() {
    cat >"$work/config/$1.json" <<JSON
{
    "mspID": "00000000-0000-4000-8000-000000000001", "secret": { "file": "../secret" },
    "listen": "127.0.0.1:0", "adminListen": "off", "dataDirectory": "$2/data-$1",
    "gateway": { "url": "$gateway", "downloadHosts": ["$host"] }
}
JSON
}
start() {
    "$binary" serve "$work/config/$1.json" "$argument" >"$work/$1.out" 2>"$work/$1.log" &
    server=$!
    processes+=("$server")
    local try
    for try in $(seq 2400); do
        url=$(sed -nE 's/^listening on (.*)$/http:\/\/\1/p' "$work/$1.out" | head -n 1)
        [ -z "$url" ] || return 0
        kill -0 "$server" 2>/dev/null || break
        pause 0.025
    done
    cat "$work/$1.log" >&2
    exit 1
}
stop() {
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
}
resident() { sed -nE 's/^VmRSS:[^0-9]*([0-9]+) kB/\1/p' "/proc/$server/status"; }
ticks() { sed -E 's/^.*\) //' "/proc/$server/stat" | awk '{ print $12 + $13 }'; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
range() { sort -n | awk 'NR == 1 { first = $1 } END { print first " to " $1 }'; }

# post FILE: appends "requests/s p99-in-us server-microseconds-for-each" of a measurement to FILE.
post() {
    local before after
    before=$(ticks)
    wrk --threads 1 --connections 64 --duration "${seconds}s" --latency --script scripts/bench.d/message.lua "$url/message" \
        -- "$work/bodies" "$token" "$business" "$noun-$RANDOM-$RANDOM" >"$work/wrk"
    after=$(ticks)
    awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" '
        function us(text) {
            if (text ~ /us$/) return text + 0
            if (text ~ /ms$/) return text * 1000
            return text * 1000000
        }
        $1 == "99%" { p99 = us($2) }
        /requests in/ { requests = $1 }
        /Requests\/sec/ { rate = $2 }
        /Non-2xx/ { errors += $NF }
        END { if (errors) print errors " errors" >"/dev/stderr"; printf "%.0f %.0f %.2f\n", rate, p99, ticks / hz * 1e6 / requests }' \
        "$work/wrk" >>"$1"
}
measure_beside() {
    configure beside "$work"
    start beside
    token=$("$binary" token "$work/secret")
    local round line
    post "$work/warm-up"
    for round in $(seq "$pairs"); do
        post "$work/alone"
        echo "run $url $rate $((seconds + 1))" >&7
        pause 0.5
        post "$work/both"
        read -r line <&8
        echo "$line" >>"$work/beside"
    done
    paste -d' ' "$work/alone" "$work/both" >"$work/pairs"
    local column name
    for column in 1 2 3; do
        name=$(sed -n "${column}p" <<<$'messages/s\np99, us\nprocessor time of the server for each message, us')
        printf '| %s: alone, beside %s | %s, %s |\n' "$name" "$noun" "$(cut -d' ' -f"$column" "$work/alone" | median)" \
            "$(cut -d' ' -f"$column" "$work/both" | median)"
        awk -v c="$column" '{ printf "%.3f\n", $(c + 3) / $c }' "$work/pairs" >"$work/ratios"
        printf '| ratio of each pair: median (range) | %s (%s) |\n' "$(median <"$work/ratios")" "$(range <"$work/ratios")"
    done
    printf '| the %s beside them | %s |\n' "$noun" "$(tail -n 1 "$work/beside")"
    stop
}

