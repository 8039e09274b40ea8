"""Starts `balloon dev` with handler.py behind a slow gateway, and runs `balloon simulate … --wait` against it; see scripts/simulate-waits."""
import collections
import concurrent.futures
import json
import pathlib
import subprocess
import sys
import tempfile
import time

PROGRAM, COUNT, AT_ONCE = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
FOLDER = pathlib.Path(__file__).resolve().parent

# For each case: the arguments of simulate, the expected exit status, and the expected lines after that of the sent message.
THREE = ["business  text: one", "business  text: two", "business  text: three"]
CASES = {
    "three replies": (["text", "--text", "pizza"], 0, THREE),
    "slow": (["text", "--text", "slow"], 0, ["business  text: slow"]),
    "no reply": (["text", "--text", "nothing"], 0, ["handled, no reply"]),
    "to a person": (["text", "--text", "person"], 0, ["handed off to a person: asked"]),
    "second attempt": (["text", "--text", "recovers"], 0, THREE),
    "rejects": (["text", "--text", "rejects"], 1, ["dead letter N: no"]),
    "refused answer": (["text", "--text", "refused"], 1, [
        "dead letter N: the answer was refused: rule messageType at /replies/1/type "]),
    "fails": (["text", "--text", "broken", "--timeout", "2"], 75, ["not ended, "]),
    "silent": (["text", "--text", "silent", "--timeout", "2"], 75, ["not ended, "]),
    "no handler": (["typingStart"], 1, ["no handler for this kind"]),
    "no handler, allowed": (["typingStart", "--allow-unhandled"], 0, ["no handler for this kind"]),
}


def same(lines, wanted):
    """Whether there are as many lines as wanted, and each begins as wanted; N stands for a number."""
    def plain(line):
        return " ".join("N" if word.rstrip(":").isdigit() and not word.endswith(")") else word for word in line.split(" "))
    lines = [plain(line).replace("letter N ", "letter N: ") for line in lines]
    return len(lines) == len(wanted) and all(line.startswith(start) for line, start in zip(lines, wanted))


def start(folder):
    (folder / "businesses").mkdir()
    (folder / "server.json").write_text(json.dumps({"mspID": "waits", "secret": {"env": "NONE"}}))
    (folder / "businesses" / "waits.json").write_text(json.dumps({
        "businessID": "waits", "name": "Waits", "handler": {"exec": ["python3", str(FOLDER / "handler.py")]},
        "deadlineSeconds": 1, "concurrency": 256}))
    log = open(folder / "log", "w")
    server = subprocess.Popen(
        [PROGRAM, "dev", "--config", "server.json", "--data", "data", "--listen", "127.0.0.1:0", "--no-reload",
         "--misbehave", "message=delay/100", "--misbehave", "message=503,every=40"],
        cwd=folder, stdout=log, stderr=log)
    for _ in range(600):
        if server.poll() is not None:
            sys.exit("simulate-waits: the server ended:\n" + (folder / "log").read_text())
        known = folder / "data" / "dev.json"
        if known.exists() and json.loads(known.read_text()).get("server"):
            return server
        time.sleep(0.1)
    server.kill()
    sys.exit("simulate-waits: the server did not start")


def run(number, folder):
    name = list(CASES)[number % len(CASES)]
    arguments, status, wanted = CASES[name]
    begun = time.monotonic()
    result = subprocess.run(
        [PROGRAM, "simulate", *arguments, "--wait", "--customer", f"customer-{number}", "--data", "data"],
        cwd=folder, capture_output=True, text=True, timeout=180)
    lines = result.stdout.splitlines()[1:]
    is_right = result.returncode == status and same(lines, wanted)
    wrong = None if is_right else f"run {number}, {name}: exit {result.returncode} for {status}\n{result.stdout}{result.stderr}"
    return name, time.monotonic() - begun, wrong


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server = start(folder)
        begun = time.monotonic()
        runs, seconds, wrong = collections.Counter(), collections.defaultdict(list), []
        try:
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                for name, took, fault in pool.map(lambda number: run(number, folder), range(COUNT)):
                    runs[name] += 1
                    seconds[name].append(took)
                    if fault:
                        wrong.append((name, fault))
        finally:
            server.terminate()
            server.wait(60)
        for _, fault in wrong[:10]:
            print(fault)
        faults = collections.Counter(name for name, _ in wrong)
        print("runs  wrong  median s  longest s")
        for name, count in runs.items():
            times = sorted(seconds[name])
            print(f"{count:4}  {faults[name]:5}  {times[count // 2]:8.2f}  {times[-1]:9.2f}  {name}")
        print(f"simulate-waits: {len(wrong)} of {COUNT} runs were wrong, in {time.monotonic() - begun:.0f} s")
        if wrong:
            print((folder / "log").read_text()[-2000:])
            sys.exit(1)


main()
