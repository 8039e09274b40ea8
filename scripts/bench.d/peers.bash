# Runs all measurements of `scripts/bench --peers` and writes the table. scripts/bench parses the options and sources this file.
# shellcheck shell=bash disable=SC2154,SC2034

results=${output:-scripts/bench.d/RESULTS.md}
# A partial run must not replace the complete table.
if [ -n "$only" ] && [ -z "$output" ]; then results=/dev/stdout; fi
few=$rounds
table=$work/table
declare -A process port bars
tools=$work/tools
mkdir "$tools"
for tool in floor idle first-answer paced; do
    clang -O2 -pthread -o "$tools/$tool" "scripts/bench.d/$tool.c"
done
clang -O2 -shared -fPIC -o "$tools/allocations.so" scripts/bench.d/allocations.c

note() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*" >&2; }

# BALLOON_BENCH_SERVER can name the BenchServer of another commit, which is measured instead.
bench_server=${BALLOON_BENCH_SERVER-}
if [ -z "$bench_server" ]; then
    build=(env BALLOON_BENCH=1 swift build --configuration release --product BenchServer --static-swift-stdlib)
    "${build[@]}" >&2
    bench_server=$("${build[@]}" --show-bin-path)/BenchServer
fi
unset BALLOON_BENCH_SERVER

# The peers are built once and outside of the repository, because that takes ten minutes and a gigabyte.
peers_build=${BALLOON_BENCH_PEERS:-/var/tmp/balloon-peers}
note "building the peers in $peers_build"
swift build --configuration release --static-swift-stdlib --package-path scripts/bench.d/peers \
    --scratch-path "$peers_build" >"$work/peers.log" 2>&1 || tail -n 20 "$work/peers.log" >&2
has_peer() { [ -x "$peers_build/release/$1" ]; }
missing=()
for peer in raw-nio hummingbird flyingfox; do has_peer "$peer" || missing+=("$peer"); done

# The servers share one business; `configure` writes the configuration for each mode of our server.
msp=00000000-0000-4000-8000-000000000001
mkdir -p "$work/peers/businesses"
cat >"$work/peers/businesses/bench.json" <<JSON
{ "businessID": "$business", "name": "Bench", "handler": { "builtin": "trivial" } }
JSON
# configure NAME SHARDS [FOLDER]: writes a configuration for BenchServer, with a data directory of its own.
configure() {
    cat >"${3-$work/peers}/$1.json" <<JSON
{
    "mspID": "$msp", "secret": { "file": "$work/secret" }, "publicURL": "https://bench.example",
    "listen": "127.0.0.1:0", "adminListen": "off", "dataDirectory": "$work/data-$1", "gateway": { "url": "https://bench.example/v1" },
    "limits": { "shards": $2 }
}
JSON
}
gzip -dc "$work/bodies/1.gz" >"$work/body.json"
# The messages are texts: unlike a choice, a text never counts as a repetition, so every one is delivered.
grep -vE '^  "(id|sourceId|destinationId)":' Tests/TestSupport/Fixtures/messages/text.json | gzip -9 >"$work/text.gz"
cores=$(nproc)

# start NAME COMMAND...: starts a server and waits for its line `listening on HOST:PORT`; fails when the line does not appear.
start() {
    local name=$1 try
    shift
    # Discard the log, which the server never waits to write.
    local errors=$work/$name.err
    if [ -n "${is_quiet-}" ]; then errors=/dev/null; fi
    "$@" >"$work/$name.out" 2>"$errors" &
    process[$name]=$!
    servers+=("$!")
    for try in $(seq 600); do
        port[$name]=$(sed -nE 's/^listening on .*:([0-9]+)$/\1/p' "$work/$name.out" | head -n 1)
        [ -z "${port[$name]}" ] || return 0
        kill -0 "${process[$name]}" 2>/dev/null || break
        read -rt 0.05 <> <(:) || true
    done
    note "$name does not start: $(tail -n 3 "$work/$name.err")"
    unset "process[$name]" "port[$name]"
    return 1
}

# stop NAME...: ends the servers, with SIGKILL after five seconds.
stop() {
    local name try
    for name in "$@"; do
        [ -n "${process[$name]-}" ] || continue
        kill "${process[$name]}" 2>/dev/null || true
        for try in $(seq 100); do
            kill -0 "${process[$name]}" 2>/dev/null || break
            read -rt 0.05 <> <(:) || true
        done
        kill -KILL "${process[$name]}" 2>/dev/null || true
        wait "${process[$name]}" 2>/dev/null || true
        unset "process[$name]" "port[$name]"
    done
}

# These functions start each server under a name. `is_quiet` discards the log of our server.
start_ours() {
    configure ours "$1" "$work/config"
    is_quiet=1 start ours "${@:2}" "$binary" serve --config "$work/config/ours.json"
}
start_bench() {
    local name=$1 mode=$2 shards=$3
    shift 3
    rm -rf "$work/data-$name"
    configure "$name" "$shards"
    is_quiet=1 start "$name" "$@" "$bench_server" "$mode" "$work/peers/$name.json"
}
start_peer_nginx() {
    local workers=$1
    shift
    start_nginx nginx-peer "$workers" "$@"
    process[nginx]=$nginx_pid port[nginx]=$nginx_port
}
start_peer() {
    local name=$1 program=$2
    shift 2
    has_peer "$program" || return 1
    start "$name" "${pin[@]}" "$peers_build/release/$program" "$@"
}
# start_stack NAME STORE: starts Hummingbird, which stores each message in a store of this kind.
start_stack() {
    rm -rf "$work/data-$1"
    mkdir "$work/data-$1"
    start_peer "$1" hummingbird "$cores" "$work/secret" "$msp" "$2" "$work/data-$1"
}

median_of() { cut -d' ' -f"$2" "$1" | median; }

# row LABEL SERVER FILE OURS-FILE BARS: writes one line of the table. BARS are the goals of our server relative to SERVER,
# such as "rate>=0.95 cpu<=1.0 p99<=1.1".
row() {
    local file=$3 ours=$4
    awk -v label="$1" -v server="$2" -v bars="$5" -v isOurs="$([ "$file" = "$ours" ] && echo 1 || echo 0)" \
        -v rate="$(median_of "$file" 1)" -v cpu="$(median_of "$file" 2)" -v p50="$(median_of "$file" 3)" \
        -v p99="$(median_of "$file" 4)" -v errors="$(awk '{ sum += $5 } END { print sum }' "$file")" \
        -v oursRate="$(median_of "$ours" 1)" -v oursCPU="$(median_of "$ours" 2)" -v oursP50="$(median_of "$ours" 3)" \
        -v oursP99="$(median_of "$ours" 4)" '
        function over(a, b) { return b > 0 ? sprintf("%.2f", a / b) : "" }
        BEGIN {
            value["rate"] = over(oursRate, rate); value["cpu"] = over(oursCPU, cpu)
            value["p50"] = over(oursP50, p50); value["p99"] = over(oursP99, p99)
            verdict = ""
            for (i = split(bars, bar, " "); i > 0; i--) {
                match(bar[i], /[<>]=/)
                name = substr(bar[i], 1, RSTART - 1); limit = substr(bar[i], RSTART + 2) + 0
                isMet = substr(bar[i], RSTART, 1) == "<" ? value[name] + 0 <= limit : value[name] + 0 >= limit
                sign = substr(bar[i], RSTART, 1) == "<" ? "at most" : "at least"
                if (value[name] == "") isMet = 0
                verdict = sprintf("%s %s %s: %s", name, sign, limit, isMet ? "met" : "**missed**") \
                    (verdict == "" ? "" : "; " verdict)
            }
            printf "| %s | %s | %d | %.2f | %.2f | %.2f | %s | %s | %s | %s | %s |%s\n", label, server, rate, cpu,
                p50 / 1000, p99 / 1000, isOurs ? "" : value["rate"], isOurs ? "" : value["cpu"],
                isOurs ? "" : value["p50"], isOurs ? "" : value["p99"], verdict,
                (errors ? " " errors " errors" : "")
        }' | tee -a "$table"
}

# absent LABEL SERVER: writes a line of the table for a server that is not available.
absent() {
    printf '| %s | %s | not built, or does not run: %s | | | | | | | | |\n' "$1" "${names[$2]-$2}" \
        "$(grep -m 1 -hE 'error:' "$work/peers.log" "$work/$2.err" 2>/dev/null | cut -c1-120 | tr '|' '/' || true)" \
        | tee -a "$table"
}

# turns LABEL SECONDS MEASURE SERVER...: measures the servers in turn, MEASURE SERVER FILE ROUND; the first is ours.
# bars[SERVER] has the goals of our server relative to SERVER.
turns() {
    local label=$1 measure=$2 round server
    shift 2
    note "$label"
    for server in "$@"; do : >"$work/turn-$server"; done
    for round in $(seq "$rounds"); do
        for server in "$@"; do
            [ -z "${port[$server]-}" ] || "$measure" "$server" "$work/turn-$server" "$round" || true
        done
    done
    for server in "$@"; do
        if [ -s "$work/turn-$server" ] && [ -s "$work/turn-$1" ]; then
            row "$label" "${names[$server]-$server}" "$work/turn-$server" "$work/turn-$1" "${bars[$server]-}"
        else
            absent "$label" "$server"
        fi
    done
    bars=()
}

connections=64 script=()
gets() { measure "$2" "${process[$1]}" "http://127.0.0.1:${port[$1]}/livez" --connections "$connections" "${script[@]}"; }
posts() {
    measure "$2" "${process[$1]}" "http://127.0.0.1:${port[$1]}/message" --connections "$connections" \
        --script scripts/bench.d/message.lua -- "$work/bodies" "$token" "$business" "bench-$1-$3-$RANDOM$RANDOM"
}
# At a fixed rate: reports the reached rate, and times from the due time of each request.
rate=1000 body=()
paced() {
    local before after arguments=() answer
    [ ${#body[@]} -eq 0 ] || arguments=("${body[@]}" "paced-$1-$3-$RANDOM$RANDOM")
    before=$(cpu_ticks "${process[$1]}")
    answer=$("${client[@]}" "$tools/paced" "${port[$1]}" "$connections" "$rate" "$seconds" "${arguments[@]}")
    after=$(cpu_ticks "${process[$1]}")
    awk -v answer="$answer" -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" -v seconds="$seconds" 'BEGIN {
        split(answer, a, " ")
        printf "%d %.2f %d %d %d\n", a[1], ticks / hz * 1e6 / (a[1] * seconds), a[2], a[3], a[4] }' >>"$2"
}
half() { awk -v a="$1" -v b="${2:-$1}" 'BEGIN { printf "%d", (a < b ? a : b) / 2 }'; }

# figure LABEL VALUE BAR IS-MET: writes one line of the second table. IS-MET is an awk condition for the bar, or empty.
figure() {
    local verdict=
    if [ -n "$4" ]; then verdict=$(awk "BEGIN { print ($4) ? \"met\" : \"**missed**\" }"); fi
    printf '| %s | %s | %s | %s |\n' "$1" "$2" "$3" "$verdict" | tee -a "$work/figures"
}

declare -A names=(
    [ours]="**Balloon**" [floor]="C epoll floor" [raw-nio]="raw SwiftNIO" [hummingbird]=Hummingbird [flyingfox]=FlyingFox
    [stack]="Hummingbird, jwt-kit, JSONDecoder" [grdb]="the same and GRDB (WAL, synchronous=FULL)"
    [fsync]="the same and append + fsync" [each]="Balloon, append + fdatasync for each request"
    [delivery]="**Balloon with deliveries**" [many]="**Balloon, large store**" [empty]="Balloon, a store of 1000")
printf '| | server | requests/s | CPU us/request | p50 ms | p99 ms | ours ÷ it: requests/s | CPU | p50 | p99 | bar |\n' >"$table"
printf '|---|---|---|---|---|---|---|---|---|---|---|\n' >>"$table"
cat "$table"
: >"$work/figures"

web_servers() { # THREADS: everything that answers GET /livez
    start_ours "$1" "${pin[@]}"
    start_peer_nginx "$1" "${pin[@]}"
    start floor "${pin[@]}" "$tools/floor" "$1"
    start_peer raw-nio raw-nio "$1" || true
    start_peer hummingbird hummingbird "$1" || true
    start_peer flyingfox flyingfox || true
}
all_web=(ours nginx floor raw-nio hummingbird flyingfox)

# wants PART: succeeds when --only includes PART, or was not given.
wants() { case ",${only:-$1}," in *",$1,"*) true ;; *) false ;; esac }

get_pinned() {
    pin=(taskset --cpu-list 0) client=(taskset --cpu-list 1)
    web_servers 1
    bars=([nginx]="rate>=0.95 cpu<=1.0" [raw-nio]="cpu<=0.45" [hummingbird]="cpu<=0.22")
    turns "GET /livez, 64 connections, pinned" gets "${all_web[@]}"
    peak=$(half "$(median_of "$work/turn-ours" 1)" "$(median_of "$work/turn-nginx" 1)")
    script=(--script scripts/bench.d/pipeline.lua) bars=([nginx]="rate>=5")
    turns "the same, 16 pipelined" gets ours nginx floor raw-nio hummingbird
    script=() connections=1000 bars=([nginx]="rate>=0.95")
    turns "GET /livez, 1,000 connections, pinned" gets ours nginx floor raw-nio hummingbird
    connections=64
    (
        # Each server holds its own idle connections during the measurement.
        holders=()
        trap 'kill "${holders[@]}" 2>/dev/null || true' EXIT
        for server in ours nginx floor raw-nio hummingbird; do
            [ -n "${port[$server]-}" ] || continue
            exec 6< <(exec "$tools/idle" "${port[$server]}" 10000)
            holders+=("$!")
            read -rt 20 -u 6 _ || note "$server does not accept 10,000 connections"
        done
        turns "GET /livez, 64 connections beside 10,000 idle ones, pinned" gets ours nginx floor raw-nio hummingbird
    )
    rate=$peak rounds=5 bars=([nginx]="p99<=1.1")
    turns "GET /livez at half of the peak rate ($peak/s), pinned" paced ours nginx
    rounds=$few
    stop "${all_web[@]}"
}

get_unpinned() {
    pin=() client=(env)
    web_servers "$cores"
    turns "GET /livez, 64 connections, unpinned" gets "${all_web[@]}"
    stop "${all_web[@]}"
}

# The whole run uses one token, which is valid for an hour.
configure ours "$cores" "$work/config"
token=$("$binary" token sign --config "$work/config/ours.json")

# POST /message up to stage 5, the journal, without waiting for the disk.
ingest() { # THREADS LABEL HUMMINGBIRD-BAR
    start_bench unsynced unsynced "$1" "${pin[@]}"
    start_peer_nginx "$1" "${pin[@]}"
    start_peer stack hummingbird "$1" "$work/secret" "$msp" || true
    bars=([nginx]="$4" [stack]="rate>=$3")
    turns "POST /message through stage 5, journal unsynced, 64 connections, $2" posts unsynced nginx stack
}
post_unsynced() {
    pin=() client=(env)
    ingest "$cores" unpinned 8 "rate>=0.85"
    stop unsynced nginx stack
    pin=(taskset --cpu-list 0) client=(taskset --cpu-list 1)
    ingest 1 pinned 12 ""
    rate=$(half "$(median_of "$work/turn-unsynced" 1)" "$(median_of "$work/turn-nginx" 1)")
    rounds=5 body=("$work/bodies/1.gz" "$token" "$business") bars=([nginx]="p99<=1.1")
    turns "the same at half of the peak rate ($rate/s), pinned" paced unsynced nginx
    rounds=$few body=()
    stop unsynced nginx stack
}

# The disk alone, in the list of servers: writes of 4 KiB one after another, each with an fdatasync.
port[disk]=0
disk() {
    fio --name=sync --directory="$work" --rw=write --bs=4k --size=64m --fdatasync=1 --time_based \
        --runtime="$seconds" --output-format=json >"$work/fio.json" 2>/dev/null || return 0
    # The first block "sync" of fio's output is that of fdatasync; its times are in nanoseconds.
    awk '/"sync" : \{/ { inside = 1 }
        /"total_ios"/ && $3 + 0 > total { total = $3 + 0 }
        inside && /"50.000000"/ && !p50 { p50 = $3 / 1000 }
        inside && /"99.000000"/ && !p99 { p99 = $3 / 1000 }
        /"runtime" :/ && $3 + 0 > runtime { runtime = $3 + 0 }
        END { if (runtime) printf "%.0f 0 %.0f %.0f 0\n", total / runtime * 1000, p50, p99 }' "$work/fio.json" >>"$1"
    rm -f "$work"/sync.0.0
}
durable() { if [ "$1" = disk ]; then disk "$2"; else posts "$@"; fi; }
# The disk while nginx answers the same load generator at the same rate, so that the processors are as busy as with our server.
port[busy-disk]=0
busy_disk() {
    process[busy-disk]=${process[nginx]} port[busy-disk]=${port[nginx]}
    paced busy-disk "$work/ignored" "$2" &
    disk "$1"
    wait $!
}
durable_paced() { if [ "$1" = busy-disk ]; then busy_disk "$2" "$3"; else paced "$@"; fi; }
names[disk]="the disk: fio, 4 KiB and fdatasync" names[durable]="**Balloon, ingest alone**"
names[busy-disk]="the disk beside nginx at this rate: fio, 4 KiB and fdatasync"
# The goal is half of 15.2, the ratio of commit 6183c00 to fio on an idle machine. The ratio of that commit to fio beside nginx has
# not been measured yet, which BALLOON_BENCH_SERVER makes possible; half of that ratio would be the right goal.
durable_bar=7.5

post_durable() {
    pin=() client=(env) connections=64
    start_bench durable durable "$cores"
    start_bench each each "$cores"
    start_peer_nginx auto
    start_stack grdb grdb || true
    start_stack fsync fsync || true
    bars=([grdb]="rate>=8" [each]="rate>=6" [nginx]="rate>=0.45")
    turns "POST /message, durable, 64 connections, unpinned" durable durable nginx each grdb fsync disk
    durable_peak=$(median_of "$work/turn-durable" 1)
    connections=1000 bars=([grdb]="rate>=7")
    turns "the same, 1,000 connections" posts durable nginx grdb
    connections=1 bars=([grdb]="p50<=0.75")
    turns "the same, 1 connection" posts durable nginx grdb
    connections=64 rate=$(half "$durable_peak") rounds=5 body=("$work/bodies/1.gz" "$token" "$business")
    bars=([busy-disk]="p99<=$durable_bar")
    turns "durable at half of the peak rate ($rate/s)" durable_paced durable busy-disk
    rounds=$few body=()
    stop durable each nginx grdb fsync
}

# Measures the server with deliveries: counts handled messages, and reports the backlog at the end.
resident() { awk '/^VmRSS/ { print $2 }' "/proc/${process[$1]}/status"; }
# counts NAME: prints the numbers of accepted and of handled messages of a BenchServer in mode delivery.
counts() {
    local before try
    before=$(wc -l <"$work/$1.out")
    kill -USR1 "${process[$1]}"
    for try in $(seq 100); do
        [ "$(wc -l <"$work/$1.out")" -gt "$before" ] && break
        read -rt 0.02 <> <(:) || true
    done
    tail -n 1 "$work/$1.out" | awk '{ print $2, $4 }'
}
# left NAME: prints the number of messages that are accepted but not handled yet.
left() { counts "$1" | awk '{ print $1 - $2 }'; }
# drain NAME: waits until all accepted messages are handled, at most 60 s; prints the seconds.
drain() {
    local began=$SECONDS
    while [ "$(left "$1")" -gt 0 ] && [ $((SECONDS - began)) -lt 60 ]; do read -rt 0.2 <> <(:) || true; done
    echo $((SECONDS - began))
}
deliveries() {
    local load rss_before rss_after accepted handled drained round left_third left_end ran
    note "with deliveries, $sustained s"
    pin=() client=(env) connections=64
    start_bench delivery delivery "$cores" || return 0
    start_peer_nginx auto
    start_stack grdb grdb || true
    for server in delivery nginx grdb; do : >"$work/turn-$server"; done
    rss_before=$(resident delivery)
    (seconds=$sustained && posts delivery "$work/turn-delivery" 1)
    read -r accepted handled <<<"$(counts delivery)"
    rss_after=$(resident delivery)
    drained=$(drain delivery)
    for round in $(seq "$rounds"); do
        for server in nginx grdb; do
            [ -z "${port[$server]-}" ] || posts "$server" "$work/turn-$server" "$round" || true
        done
    done
    awk -v handled="$handled" -v seconds="$sustained" '{ $1 = int(handled / seconds); print }' "$work/turn-delivery" \
        >"$work/turn-handled"
    label="durable with conversations and deliveries, $sustained s: handled"
    row "$label" "${names[delivery]}" "$work/turn-handled" "$work/turn-handled" ""
    row "$label" nginx "$work/turn-nginx" "$work/turn-handled" "rate>=0.20"
    if [ -s "$work/turn-grdb" ]; then
        row "$label" "${names[grdb]}, intake alone" "$work/turn-grdb" "$work/turn-handled" "rate>=3.5"
    fi
    handled_cpu=$(median_of "$work/turn-handled" 2)
    figure "CPU of a message with its delivery (us)" "$handled_cpu" "at most 85" "$handled_cpu <= 85"
    figure "accepted and not handled at the end; drained after" "$((accepted - handled)) of $accepted; $drained s" "" ""
    figure "resident memory before and after $accepted messages with deliveries; bytes for each" \
        "$rss_before, $rss_after KiB; $(((rss_after - rss_before) * 1024 / accepted))" "at most 64 for each" \
        "($rss_after - $rss_before) * 1024 / $accepted <= 64"

    # Load from a client that keeps its rate even when the server is slow; the backlog must not grow.
    ran=$((sustained / 2)) rate=$(awk -v n="$handled" -v s="$sustained" 'BEGIN { printf "%d", n / s * 0.8 }')
    : >"$work/turn-paced"
    (seconds=$ran body=("$work/text.gz" "$token" "$business") && paced delivery "$work/turn-paced" 1) &
    load=$!
    read -rt "$((ran / 3))" <> <(:) || true
    left_third=$(left delivery)
    wait "$load"
    left_end=$(left delivery)
    figure "backlog after a third and at the end of $ran s at a fixed rate of $rate/s" "$left_third, $left_end" \
        "does not grow by more than 1 %" "$left_end - $left_third <= 0.01 * $rate * $ran * 2 / 3"
    stop delivery nginx grdb
    rm -rf "$work/data-delivery" "$work"/data-{durable,each,grdb,fsync,unsynced}
}

# Measures one business at 200 messages a second beside others with 3,000 a second in total. These neighbours are nine healthy
# businesses, or a single one that is busy, whose handler never starts, or whose payload references each take 20 s.
neighbour() { printf '00000000-0000-4000-8000-0000000001%02d' "$1"; }
neighbours() {
    local kind folder=$work/neighbours number others body load median_answer median_end round
    pin=() client=(env) connections=16
    mkdir -p "$folder/businesses"
    for number in $(seq 9); do
        printf '{ "businessID": "%s", "name": "Neighbour", "handler": { "builtin": "trivial" } }' "$(neighbour "$number")" \
            >"$folder/businesses/neighbour$number.json"
    done
    printf '{ "businessID": "%s", "name": "Absent", "handler": { "builtin": "absent" } }' "$(neighbour 10)" \
        >"$folder/businesses/absent.json"
    cp "$work/peers/businesses/bench.json" "$folder/businesses/"
    # A gateway that answers every request after 20 seconds.
    python3 scripts/bench.d/slow.py >"$work/slow.out" 2>/dev/null &
    servers+=("$!")
    until [ -s "$work/slow.out" ]; do read -rt 0.05 <> <(:) || true; done
    slow=127.0.0.1:$(cat "$work/slow.out")
    sed "s,https://[^\"]*icloud.com/,http://$slow/," Tests/TestSupport/Fixtures/messages/form-reference.json \
        | grep -vE '^  "(id|sourceId|destinationId)":' | gzip -9 >"$work/reference.gz"
    for kind in healthy busy absent references; do
        : >"$work/neighbour-$kind"
        for round in $(seq "$rounds"); do neighbour_round "$kind" "$round" || note "$kind failed"; done
        median_answer=$(median_of "$work/neighbour-$kind" 1) median_end=$(median_of "$work/neighbour-$kind" 2)
        if [ "$kind" = healthy ]; then
            healthy_answer=$median_answer healthy_end=$median_end
            figure "a business at 200/s beside nine at 3,000/s in all: p99 of the answer, of the delivery's end (ms)" \
                "$(awk -v a="$median_answer" -v e="$median_end" 'BEGIN { printf "%.2f, %.2f", a / 1000, e / 1000 }')" "" ""
        else
            figure "the same beside one at 3,000/s: $kind" \
                "$(awk -v a="$median_answer" -v e="$median_end" -v ha="$healthy_answer" -v he="$healthy_end" 'BEGIN {
                    printf "%.2f, %.2f: %.2f x, %.2f x", a / 1000, e / 1000, a / ha, e / he }')" "at most 1.5 x" \
                "$median_answer <= 1.5 * $healthy_answer && $median_end <= 1.5 * $healthy_end"
        fi
    done
}
neighbour_round() { # KIND ROUND
    local others body=("$work/text.gz" "$token") load answer
    others=$(neighbour 1)
    case $1 in
        healthy) others=$(for number in $(seq 9); do neighbour "$number"; echo; done | paste -sd, -) ;;
        absent) others=$(neighbour 10) ;;
    esac
    rm -rf "$work/data-neighbours"
    configure neighbours "$cores" "$work/neighbours"
    sed -i "s,\"gateway\": {,\"gateway\": { \"downloadHosts\": [\"$slow\"]\,," "$work/neighbours/neighbours.json"
    is_quiet=1 start neighbours "$bench_server" neighbours "$work/neighbours/neighbours.json" || return 1
    if [ "$1" = absent ]; then
        "$tools/paced" "${port[neighbours]}" 64 10000 10 "${body[@]}" "$others" "before-$2" >/dev/null
    fi
    if [ "$1" = references ]; then body=("$work/reference.gz" "$token"); fi
    "$tools/paced" "${port[neighbours]}" 16 3000 8 "${body[@]}" "$others" "beside-$2" >/dev/null &
    load=$!
    read -rt 1 <> <(:) || true
    counts neighbours >/dev/null
    answer=$("$tools/paced" "${port[neighbours]}" 4 200 6 "$work/text.gz" "$token" "$business" "measured-$2" | cut -d' ' -f3)
    read -rt 0.5 <> <(:) || true
    counts neighbours >/dev/null
    printf '%s %s\n' "$answer" "$(tail -n 1 "$work/neighbours.out" | cut -d' ' -f6)" >>"$work/neighbour-$1"
    wait "$load" || true
    stop neighbours
    rm -rf "$work/data-neighbours"
}

first_answers() { # COMMAND...: medians of "microseconds Rss Pss" over seven starts
    local try
    : >"$work/first"
    for try in 1 2 3 4 5 6 7; do
        rm -rf "$work/data-ours"
        "$tools/first-answer" "$@" 2>/dev/null >>"$work/first" || return 0
    done
    awk -v start="$(median_of "$work/first" 1)" -v rss="$(median_of "$work/first" 2)" 'BEGIN {
        printf "%.1f ms, %.1f MiB", start / 1000, rss / 1024 }'
}

# counted NAME PATH COMMAND...: prints the allocations for each request during one second, after a warm-up.
counted() {
    local name=$1 what=$2 round
    shift 2
    start "$name" env LD_PRELOAD="$tools/allocations.so" "$@" || return 0
    for round in 1 2 3; do
        : >"$work/count"
        (seconds=1 && "$what" "$name" "$work/count" "$round")
        read -rt 0.5 <> <(:) || true
        kill -USR2 "${process[$name]}"
        read -rt 0.2 <> <(:) || true
        awk '/requests in/ { print $1 }' "$work/wrk" >"$work/requests"
    done
    { sed -nE 's/^allocations ([0-9]+)$/\1/p' "$work/$name.err" | tail -n 2; cat "$work/requests"; } \
        | awk '{ v[NR] = $1 } END { printf "%.1f", (v[2] - v[1]) / v[3] }'
    stop "$name"
}

# Measures the time to start, the memory and the allocations of single servers.
single_figures() {
    note "start, memory, allocations"
    ours_start=$(first_answers "$binary" serve --config "$work/config/ours.json")
    figure "Balloon: start to first answer (median of 7), idle resident memory a second later" "$ours_start" \
        "at most 20 ms, 16 MiB" "$(awk -v t="$ours_start" 'BEGIN { split(t, a, " "); print (a[1] <= 20 && a[3] <= 16) }')"
    for peer in "raw-nio $cores" "hummingbird $cores" flyingfox; do
        if has_peer "${peer% *}"; then
            # shellcheck disable=SC2086
            figure "${peer% *}: the same" "$(first_answers "$peers_build/release/"$peer)" "" ""
        fi
    done

    livez_count=$(counted livez gets "$binary" serve --config "$work/config/ours.json")
    configure counted-ingest 1
    configure counted-delivery 1
    ingest_count=$(counted counted-ingest posts "$bench_server" unsynced "$work/peers/counted-ingest.json")
    delivery_count=$(counted counted-delivery posts "$bench_server" delivery "$work/peers/counted-delivery.json")
    figure "allocations for each GET /livez" "$livez_count" "" ""
    figure "allocations for each POST /message on the ingest path" "$ingest_count" "at most 8" "$ingest_count <= 8"
    # Under light load, waking threads allocates as well, so the figure for a busy server is lower.
    figure "allocations for each POST /message with its delivery: the whole process, one shard, a second of 64 connections and a thousand customers, and its backlog" \
        "$delivery_count" "at most 120" "$delivery_count <= 120"
    rm -rf "$work"/data-counted-*
}

# Measures a large store: the given number of messages, each in its own conversation, a thousandth of them undelivered.
large_store() {
    pin=() client=(env) connections=64
    note "a store of $messages messages"
    left=$((messages / 1000))
    configure many "$cores"
    configure empty "$cores"
    "$bench_server" fill "$work/peers/many.json" "$messages" "$left" "$work/body.json" 2>/dev/null >"$work/filled"
    note "$(cat "$work/filled")"
    "$bench_server" fill "$work/peers/empty.json" 1000 0 "$work/body.json" >/dev/null 2>&1
    read -r start_many rss_many _ <<<"$("$tools/first-answer" "$bench_server" durable "$work/peers/many.json" 2>/dev/null)"
    figure "start to first answer with $messages journalled messages, $left undelivered, warm cache; resident memory" \
        "$(awk -v t="$start_many" -v r="$rss_many" 'BEGIN { printf "%.2f s, %d MiB", t / 1e6, r / 1024 }')" "at most 0.5 s" \
        "$start_many <= 5e5"
    sync
    if { echo 3 >/proc/sys/vm/drop_caches; } 2>/dev/null; then
        read -r start_cold _ <<<"$("$tools/first-answer" "$bench_server" durable "$work/peers/many.json" 2>/dev/null)"
        figure "the same with a cold cache" "$(awk -v t="$start_cold" 'BEGIN { printf "%.2f s", t / 1e6 }')" "" ""
    fi
    rm -f "$work/data-many/snapshot"
    read -r start_whole _ <<<"$("$tools/first-answer" "$bench_server" durable "$work/peers/many.json" 2>/dev/null)"
    figure "the same without a snapshot: all records are read" "$(awk -v t="$start_whole" 'BEGIN { printf "%.2f s", t / 1e6 }')" "" ""
    read_of() { for try in 1 2 3; do "$bench_server" read "$work/peers/$1.json" "$2" 2>/dev/null; done | cut -d' ' -f2 | median; }
    read_many=$(read_of many "$((messages - left))") read_few=$(read_of empty 1000)
    figure "reading one conversation, one of $messages and one of 1000 (us)" "$read_many, $read_few" "at most 2 x" \
        "$read_many <= 2 * $read_few"
    for name in many empty; do
        is_quiet=1 start "$name" "$bench_server" delivery "$work/peers/$name.json" || true
    done
    bars=([empty]="rate>=0.9 cpu<=1.1")
    turns "POST /message with deliveries, 64 connections: $messages conversations on disk" posts many empty
    stop many empty
}

for part in get_pinned get_unpinned post_unsynced post_durable deliveries neighbours single_figures large_store; do
    # When a part fails, the others still run.
    if wants "$part"; then "$part" || note "$part failed"; fi
done

{
    printf '# The last full run of `scripts/bench --peers`\n\n'
    printf '%s, %s processors (%s), %s, %s s x %s rounds in turn, medians; %s, commit %s.\n' "$(uname -sr)" "$cores" \
        "$(sed -nE 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nginx -v 2>&1 | sed 's/.*: //')" "$seconds" \
        "$rounds" "$(date -u +%Y-%m-%dT%H:%MZ)" "$(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
    cat <<'TEXT'

Pinned means: the server on one core, the client on the other. Each ratio is ours divided by the line's own figure. Balloon
runs as shipped, with its dedupe index, limits, timeouts and one log line for each message (to /dev/null); `unsynced` and
`ingest alone` are the same code without the wait for the disk, and without the deliveries, in a program that only the
benchmark has. nginx answers every post with a constant. Times at a fixed rate count from when a request was due.

TEXT
    cat "$table"
    printf '\n| | measured | bar | |\n|---|---|---|---|\n'
    cat "$work/figures"
    if [ ${#missing[@]} -gt 0 ]; then printf '\nNot built: %s.\n' "${missing[*]}"; fi
} >"$work/results"
cat "$work/results" >"$results"
note "written to $results in $SECONDS s"
