"""Runs the shell blocks of the manual as a reader would paste them, each page in a folder that its text describes."""

import contextlib
import itertools
import json
import os
import pathlib
import re
import secrets
import shutil
import socket
import stat
import subprocess
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from pages import blocks, documents

ROOT = pathlib.Path.cwd()
BUSINESS = "5a6b7c8d-0000-4000-8000-000000000002"


@dataclass(frozen=True)
class Run:
    """A block that is run on a stage (a function below), with the page's example values replaced by real ones.
    A line that begins with a key of `omit` is not run, for the reason that is its value. `status` are the allowed exit
    statuses; 124 means that the command runs until it is stopped."""
    stage: str
    replace: dict = field(default_factory=dict)
    omit: dict = field(default_factory=dict)
    status: tuple = (0,)
    prepare: str = ""


@dataclass(frozen=True)
class Elsewhere:
    """A block that another script or test runs."""
    where: str


@dataclass(frozen=True)
class NotRun:
    """A block that cannot be run here, with the reason."""
    why: str


ENGINE = NotRun("needs a container engine; scripts/test image builds and runs the same image")
APPLE = NotRun("needs an account with Apple")
AGE = {"balloon backup --config server.json -": "needs age and a key of the reader"}
CUSTOMER = "urn:mbid:AQAAexample"
PEOPLE = {"urn:mbid:AQAA…": CUSTOMER}
# The page defines this function further down; here a refusal fails the block.
DESK = 'call() { curl -sSf -H "Authorization: Bearer $TOKEN" "$@"; }; base={admin}/v1/businesses/fish'

TABLE = {
    "README | Try it | 1": Elsewhere("the second line is what CI runs; the first builds in release mode"),
    "README | Try it | 2": Elsewhere("scripts/test.d/readme"),
    "README | Install it without building | 1": NotRun("needs the files of a release; scripts/test systemd installs the package"),
    "README | Install it without building | 2": ENGINE,
    "README | Write a handler | 2": Elsewhere("scripts/test.d/authors builds and runs the same package"),
    "README | Write a handler | 4": Elsewhere("scripts/test.d/readme"),
    "HTTPService | Write it | 1": Run("empty", {"9000": "{port}"}),
    "HTTPService | What the server sends | 1": Run("service", {"9000": "{port}"}),
    "HTTPService | Without the library | 2": Run("by hand", {"9000": "{port}"}),
    "HTTPService | Without the library | 3": Run("by hand", {"9000": "{port}"}),
    "InNode | Try it | 1": Run("cake.mjs"),
    "InPython | Try it | 1": Run("cake.py"),
    "InShell | Write it | 1": Elsewhere("the test ManualTests of HandlerBridgesTests, and the next block"),
    "InShell | Write it | 2": Run("loop.sh"),
    "InShell | Try it | 1": Run("cake.sh"),
    "AnswerTheAppStore | Try it on this machine | 1": Run("app"),
    "AnswerTheAppStore | Try it on this machine | 2": Run("app store"),
    "AnswerTheAppStore | Bring the messages to the App Store | 1": APPLE,
    "AnswerTheAppStore | Bring the messages to the App Store | 2": APPLE,
    "BackUpAndRestore | Back up | 1": Run("stopped", {"server.json": "config/server.json", "/backups": "backups"}, AGE, prepare="mkdir -p backups"),
    "BackUpAndRestore | Restore | 1": Run("stopped", {"/var/lib/balloon": "restored", "/ledger/erasures.jsonl": "data/erasures.jsonl", "/backups/balloon-2026-11-25.tar": "b.tar"},
                                          prepare="balloon backup --config config/server.json b.tar; [ -e data/erasures.jsonl ] || balloon erase --customer none --yes --config config/server.json || true"),
    "BackUpAndRestore | The rehearsal | 1": Run("stopped", {"/ledger/erasures.jsonl": "data/erasures.jsonl", "/backups/balloon-$(date +%F).tar": "b.tar"},
                                                prepare="[ -e b.tar ] || balloon backup --config config/server.json b.tar"),
    "BeforeApplesReview | Rehearse it | 1": Run("stopped", {"server.json": "config/server.json"}, {
        "balloon review --config server.json --business fish --brief": "takes a minute; the test ReviewTests of balloonTests plays such reviews",
        "balloon review --handler": "the test ReviewTests of balloonTests plays such reviews"}),
    "BeforeApplesReview | Record and demonstrate | 1": Run("stopped", {"server.json": "config/server.json"}, {
        "balloon review --config server.json --business fish --brief": "takes a minute; the test ReviewTests of balloonTests plays such reviews"},
        status=(0, 1)),
    "BusinessAPI | Overview | 1": Run("server"),
    "BusinessAPI | Overview | 2": Run("server", {"bln_…": "$TOKEN"}),
    "BusinessAPI | Send a message | 1": Run("server"),
    "BusinessAPI | Send a message | 2": Run("server"),
    "BusinessAPI | Send an attachment | 1": Run("server"),
    "BusinessAPI | From a token to a replay | 1": Run("server", {"57": "{record}"}, {
        "export TOKEN=": "the object goes into a file; the stage has done it", "kill -HUP": "names every process of this machine",
        "call -OJ": "the message has no file; scripts/test.d/api reads one"}),
    "Configuration | People | 2": Run("queues"),
    "ConnectBusinesses | From a claim to a business | 1": Run("claim", {"7f3a91c2b0d4e58f-1": "{claim}"}),
    "ConnectBusinesses | From a claim to a business | 2": Run("claim", {"7f3a91c2b0d4e58f-1": "{claim}"}),
    "DataDirectory | A conversation | 2": Run("server", prepare="cp $(ls data/conversations/*/*/*.jsonl | head -n 1) conversation.jsonl"),
    "FollowEvents | Overview | 1": Run("server", status=(124,)),
    "FollowEvents | Pages | 1": Run("server"),
    "ForgetACustomer | Overview | 1": Run("server", {"urn:mbid:AQAAY…": CUSTOMER, "server.json": "config/server.json"}, prepare=f"echo {CUSTOMER} >customers.txt"),
    "ForgetACustomer | Give a customer their data first | 1": Run("server", {"urn:mbid:AQAAY…": CUSTOMER, "server.json": "config/server.json"}),
    "Inbox | Overview | 1": Run("server"),
    "Inbox | Overview | 3": Run("empty"),
    "Inbox | Working on it | 1": Run("stopped", {"Sources/CWeb/web": str(ROOT / "Sources/CWeb/web")}),
    "Metrics | Overview | 1": Run("server"),
    "Operations | Running it | 1": ENGINE,
    "Operations | systemd | 1": NotRun("changes the machine; scripts/test systemd runs it in a container of its own"),
    "Operations | TLS without a proxy | 1": ENGINE,
    "Operations | Handlers | 1": Run("server", {"demo": "bad", "./bot.py": "config/businesses/bot.py"}),
    "Operations | Dead letters | 1": Run("server", {"sams-fish": "bad", "/etc/balloon/server.json": "config/server.json", "1204": "{record}", "1207": "{pending}",
                                                    BUSINESS: "fish"}, status=(0, 124)),
    "Operations | Replies | 1": Run("server", {BUSINESS: "fish", "57.1": "{reply}"}, {
        "balloon deadletters retry 57.1": "the line above has dropped the reply; the page shows alternatives"}),
    "Operations | People who answer | 1": Run("server", PEOPLE),
    "Operations | Checking and rebuilding | 1": Run("stopped", {"/data": "data"}),
    "Operations | Checking and rebuilding | 2": Run("stopped", {"/data": "data"}),
    "Operations | Checking and rebuilding | 3": Run("server", {"/data/control": "data/control"}),
    "Operations | Sending by hand, and files | 1": Run("server", {**PEOPLE, "ab12cd34": "{file}", "/data": "data"}),
    "Operations | Sending a webhook by hand | 1": Elsewhere("scripts/test.d/readme"),
    "Operations | Playing the customer | 1": Run("pizza"),
    "Operations | Trying out failures | 1": Run("empty", {"picture.heic": "picture.png", "http://127.0.0.1:PORT": "{gateway}"}),
    "PersonTakesOver | What the customer is told | 2": Run("server"),
    "PersonTakesOver | Queues | 2": Run("queues served", prepare=DESK),
    "PersonTakesOver | Queues | 3": Run("queues served", prepare=DESK),
    "PersonTakesOver | Offers | 1": Run("person served", {"2026-11-28T09:00:00Z": (datetime.now(timezone.utc) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")}, prepare=DESK),
    "PersonTakesOver | Notes, names and tags | 1": Run("server", prepare=DESK),
    "PersonTakesOver | Notices | 2": Run("server", prepare=DESK),
    "PersonTakesOver | Figures | 1": Run("server"),
    "PersonTakesOver | Figures | 2": Run("server", prepare=DESK),
    "PersonTakesOver | Saved replies | 2": Run("server", prepare=DESK),
    "PersonTakesOver | What the help desk does | 1": Run("server", PEOPLE),
    "PersonTakesOver | The same over HTTP | 1": Run("server", {}, {
        "export TOKEN=": "the object goes into a file; the stage has done it", "kill -HUP": "names every process of this machine"},
        prepare="etag=$(curl -si -H \"Authorization: Bearer $TOKEN\" {admin}/v1/businesses/fish/conversations/$c | sed -n 's/\\r$//;s/^[Ee][Tt]ag: //p')"),
    "PlayTheCustomer | Look at a running server | 1": Run("stopped", {"server.json": "config/server.json", "127.0.0.1:8026": "127.0.0.1:0"}),
    "PlayTheCustomer | Use it from a program | 1": Run("phone"),
    "SecretsAndTunnels | The secret | 1": Run("empty"),
    "SecretsAndTunnels | A tunnel | 1": NotRun("needs a machine of the reader on the internet"),
    "SecretsAndTunnels | A tunnel | 2": NotRun("needs an account with Cloudflare"),
    "SignCustomersIn | Try it without a provider | 1": Run("demo"),
    "TakeAPayment | Another way to pay | 1": Run("server", {"https://balloon.example": "{admin}", "businesses/shop": "businesses/fish", "…": "unknown"}),
    "TakeAPayment | Try it | 1": Run("pay"),
    "Upgrading | Before | 1": ENGINE,
    "node/README.md | Bots in Node | 2": Run("fishmonger.mjs"),
    "python/README.md | Bots in Python | 2": Run("fishmonger.py"),
    "WhenOneMachineIsNotEnough | A standby on the same disk | 1": Elsewhere("scripts/test.d/failover, and the tests of balloon serve"),
    "WhenOneMachineIsNotEnough | A store in PostgreSQL | 2": Elsewhere("scripts/test.d/failover, with a database on this machine"),
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def code(page, language, number=0):
    """The text of a page's block with a program."""
    return [block.text for block in blocks() if block.page == page and block.language == language][number]


def executable(path, text):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def commands(block):
    """The commands of a block, each with its continued lines; prompts and output are removed."""
    found, lines = [], block.text.splitlines()
    while lines:
        line = lines.pop(0)
        if block.language == "console":
            if not line.startswith("$ "):
                continue
            line = line[2:]
        while line.endswith("\\") and lines:
            line += "\n" + lines.pop(0)
        if line.strip():
            found.append(line)
    return found


class Stage:
    """A folder with the files that a page describes, and the servers that run in it."""

    def __init__(self, programs):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.processes = []
        self.values = {"port": str(free_port())}
        self.environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
        for name in [name for name in self.environment if name.startswith("BALLOON_")]:
            del self.environment[name]

    def close(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
        self.processes = []
        self.temporary.cleanup()

    def shell(self, script, timeout=90, status=(0,)):
        """Runs a script with bash and returns its output; throws RuntimeError on another exit status. 124 allows a time-out."""
        limit = 5 if 124 in status else timeout
        run = subprocess.Popen(["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        try:
            output, _ = run.communicate(timeout=limit)
            result = run.returncode
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, 15)
            output, _ = run.communicate()
            result = 124
        if result not in status:
            raise RuntimeError(f"exit status {result}\n{script}\n{output[-1500:]}")
        return output

    def start(self, command, log="server.log"):
        """Starts a command that runs until the end of the stage, with free ports; returns when it is ready."""
        if command.lstrip().startswith("balloon dev"):
            command += " --listen 127.0.0.1:0 --inspector-listen 127.0.0.1:0 --inspector-token 0123456789abcdef"
        path = self.folder / log
        with path.open("w") as output:
            process = subprocess.Popen(["bash", "-c", f"exec {command.lstrip()}" if "=" not in command.split()[0] else command], cwd=self.folder,
                                       env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        self.processes.append(process)
        for _ in range(600):
            text = path.read_text()
            ready = ["try, in another terminal"] if "balloon dev" in command else ["admin listener started"]
            if "balloon dev" in command and " --config " in command:
                ready.append("admin listener started")
            if " --handler " in command:
                ready.append("handler is ready")
            if all(sign in text for sign in ready):
                return text
            if process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"{command} is not ready:\n{path.read_text()[-1500:]}")

    def run(self, block, entry):
        """Runs a block."""
        script = []
        for command in commands(block):
            if any(command.startswith(prefix) for prefix in entry.omit):
                continue
            script.append(self.real(command, entry.replace))
        if entry.prepare:
            script.insert(0, self.real(entry.prepare, {}))
        # Servers run in the background; the commands after one run in the same folder.
        foreground = []
        for command in script:
            if re.match(r"\s*balloon (dev|serve)\b", command) or re.search(r"--http |service\.py", command):
                if foreground:
                    exported = self.shell("\n".join(foreground) + "\nexport -p; printf 'folder %s\n' \"$PWD\"")
                    self.folder = pathlib.Path(re.search(r"^folder (.*)$", exported, re.MULTILINE)[1])
                    for name, value in re.findall(r'^declare -x (BALLOON_\w+|HANDLER_SECRET)="(.*)"$', exported, re.MULTILINE):
                        self.environment[name] = value
                    foreground = []
                command = re.sub(r"\s+#.*", "", command)
                if " dev" in command or " serve" in command:
                    self.learn(self.start(command))
                else:
                    self.service(command)
            elif re.match(r"balloon chat\b", command):
                foreground.append("printf 'hello\\n' | timeout 30 " + command)
            else:
                foreground.append(self.real(command, {}) if "{" in command else command)
        if foreground:
            self.shell("\n".join(self.real(line, {}) for line in foreground), status=entry.status)

    def real(self, text, replace):
        """The text with the page's examples replaced, and `{name}` by a value of this stage."""
        for old, new in replace.items():
            text = text.replace(old, new)
        for name, value in self.values.items():
            text = text.replace("{" + name + "}", value)
        return text.replace("http://127.0.0.1:8081", self.values.get("admin", "")).replace("http://127.0.0.1:8080", self.values.get("public", ""))

    def learn(self, log):
        """Keeps the addresses of a server that has started."""
        for event, name in (("admin listener started", "admin"), ("server listening", "public"), ("inspector listening", "inspector")):
            for address in re.findall(rf'"event":"{event}","address":"([^"]+)"', log):
                self.values[name] = f"http://{address}"
        developer = self.folder / "data/dev.json"
        if developer.exists():
            self.values["gateway"] = json.loads(developer.read_text())["gateway"]

    def service(self, command):
        with (self.folder / "service.log").open("w") as output:
            self.processes.append(subprocess.Popen(["bash", "-c", command],
                                                   cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT))
        port = int(re.search(r"(\d+)$", command)[1])
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.1)
        raise RuntimeError(f"{command} does not listen:\n{(self.folder / 'service.log').read_text()[-800:]}")


def empty(stage):
    stage.folder.joinpath("picture.png").write_bytes((ROOT / "config/handlers/pizza.png").read_bytes())


def service(stage):
    stage.shell("balloon init shop --handler python")
    stage.folder = stage.folder / "shop"
    stage.shell('printf "whsec_%s\\n" "$(head -c 32 /dev/urandom | base64 --wrap=0)" >webhook-secret')
    stage.service(f"HANDLER_SECRET=$(cat webhook-secret) ./shop.py --http {stage.values['port']}")


def by_hand(stage):
    executable(stage.folder / "service.py", code("HTTPService", "python"))
    stage.shell('printf "whsec_%s\\n" "$(head -c 32 /dev/urandom | base64 --wrap=0)" >webhook-secret')


def bot(name, page, language, library=None, number=0):
    def build(stage):
        if library:
            shutil.copy(ROOT / "config/handlers" / library, stage.folder)
        executable(stage.folder / name, code(page, language, number))
    return build


def loop(stage):
    executable(stage.folder / "loop.sh", "#!/usr/bin/env bash\n" + code("InShell", "bash", 1) + "\n")
    stage.folder.joinpath("stock.txt").write_text("cod\n")
    stage.shell("balloon handlers check ./loop.sh")


def configuration(stage, people=None, person=()):
    """A folder with a server's file, a business with the demo, and one whose handler rejects every message. `people` replaces
    the setting of the first business, and `person` are further arguments of `token issue`."""
    businesses = stage.folder / "config/businesses"
    businesses.mkdir(parents=True)
    secret = stage.folder / "config/msp-secret"
    secret.write_text(secrets.token_hex(32))
    secret.chmod(0o600)
    token = subprocess.run(["balloon", "token", "issue", "--name", "manual", "--may", "read,send,operate", *person], env=stage.environment, capture_output=True, text=True, check=True)
    stage.environment["TOKEN"] = token.stdout.strip()
    stage.folder.joinpath("config/server.json").write_text(json.dumps({
        "mspID": "1b2c3d4e-0000-4000-8000-000000000001", "secret": {"file": "msp-secret"}, "listen": "127.0.0.1:0", "adminListen": "127.0.0.1:0",
        "dataDirectory": "data", "landing": True, "publicURL": "https://messages.example.com", "api": {"tokens": [json.loads(token.stderr)]}}))
    businesses.joinpath("fish.json").write_text(json.dumps({
        "businessID": BUSINESS, "name": "Sam's Fish", "handler": {"builtin": "demo"}, "people": people or {"text": "A colleague answers in a few minutes."}}))
    businesses.joinpath("bad.json").write_text(json.dumps({
        "businessID": "5a6b7c8d-0000-4000-8000-000000000003", "name": "Bad", "handler": {"exec": ["./bot.py"]}}))
    shutil.copy(ROOT / "config/handlers/python/balloon.py", businesses)
    executable(businesses / "bot.py", "#!/usr/bin/env python3\nfrom balloon import Bot, reject\n\nbot = Bot('bad')\n\n"
               "@bot.on.text\ndef text(event):\n    if event.text == 'reject':\n        return reject('asked for')\n    return 'ok'\n\n\nif __name__ == '__main__':\n    bot.run()\n")


def with_queues():
    """The queues of the page about people."""
    return documents(code("PersonTakesOver", "json", 2))[0]["people"]


def server(stage, **configured):
    """A running server whose gateway is simulated, with messages, a dead letter, a refused reply and a file."""
    configuration(stage, **configured)
    empty(stage)
    stage.folder.joinpath("cod.jpg").write_bytes((ROOT / "config/handlers/pizza.png").read_bytes())
    stage.folder.joinpath("bread.jpg").write_bytes((ROOT / "config/handlers/pizza.png").read_bytes())
    stage.folder.joinpath("picker.json").write_text(json.dumps({"type": "text", "body": "Hello"}))
    stage.learn(stage.start("balloon dev --config config/server.json"))
    say = "balloon simulate --business {} --customer {} text --wait "
    stage.shell(say.format("fish", CUSTOMER) + "--text hello --attach picture.png")
    stage.shell(say.format("bad", "urn:mbid:AQAArejected") + "--text reject", status=(1,))
    stage.shell(f"curl -s --data 'message=400,times=1' {stage.values['gateway']}/_simulator/misbehaviour")
    stage.shell(say.format("bad", "urn:mbid:AQAArefused") + "--text hi", status=(0, 1))
    stage.shell("balloon simulate --business fish --customer urn:mbid:AQAAwaiting text --wait --text agent", status=(0, 1))
    dead = [json.loads(line) for line in stage.shell("balloon deadletters list --json").splitlines()]
    stage.values["record"] = next(str(letter["record"]) for letter in dead if letter.get("kind") == "text" and "index" not in letter and "reply" not in letter)
    stage.values["reply"] = re.search(r"\b(\d+\.\d+)\b", stage.shell("balloon replies list --status refused"))[1]
    files = stage.shell("balloon attachments list")
    stage.values["file"] = re.search(r"\b([0-9a-f]{8})", files)[1]
    api = f"curl -s -H 'Authorization: Bearer {stage.environment['TOKEN']}' {stage.values['admin']}/v1/businesses/fish"
    stage.environment["c"] = json.loads(stage.shell(f"{api}/conversations?limit=1"))["conversations"][0]["id"]


def stopped(stage):
    """The directory of a server that has been stopped."""
    server(stage)
    for process in stage.processes:
        process.terminate()
        process.wait(40)
    stage.processes = []


def claim(stage):
    configuration(stage)
    stage.learn(stage.start("balloon dev --config config/server.json"))
    stage.shell(f"curl -s -f --data 'id=5a6b7c8d-0000-4000-8000-000000000009&name=Bakery&contact=anna@example.com' {stage.values['public']}/landing")
    stage.values["claim"] = re.search(r"\b([0-9a-f]{16}-\d+)\b", stage.shell("balloon onboarding list"))[1]


def app(stage):
    """The folder that the page on retention messages describes."""
    configuration(stage)
    apps = stage.folder / "config/apps/shop/messages"
    apps.mkdir(parents=True)
    description = next(text for text in (block.text for block in blocks() if block.page == "Configuration" and block.language == "json") if "bundleID" in text)
    whole = json.loads(description)
    whole.pop("handler", None)
    whole["keyFile" if "keyFile" in whole else "key"] = "../iap.p8" if "keyFile" in whole else {"file": "../iap.p8"}
    stage.folder.joinpath("config/apps/shop.json").write_text(json.dumps(whole))
    apps.joinpath("stay.json").write_text('{"header": "Stay", "body": "Half price for three months."}')
    apps.parent.joinpath("defaults.json").write_text('{"com.example.monthly": {"en-US": "stay"}}')
    apps.parent.joinpath("answers.json").write_text('{"rules": [{"locale": "en", "answer": {"message": "stay"}}]}')


def app_store(stage):
    app(stage)
    stage.shell("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out config/iap.p8")
    stage.learn(stage.start("balloon dev --config config/server.json"))


def demo(stage):
    stage.start("balloon dev")


def pay(stage):
    """The demo, with a payment request for each command of the page."""
    demo(stage)
    stage.shell("balloon simulate text --text pay --wait")


def pizza(stage):
    stage.folder = stage.folder / "python"
    stage.folder.mkdir()
    for name in ("balloon.py", "pizza.py"):
        shutil.copy(ROOT / "config/handlers/python" / name, stage.folder)
    shutil.copy(ROOT / "config/handlers/pizza.png", stage.folder.parent)
    stage.start("balloon dev --handler ./pizza.py")


def phone(stage):
    demo(stage)
    stage.environment["TOKEN"] = "0123456789abcdef"
    stage.environment["URL"] = re.search(r"phone and the timeline are at (http://[0-9.:]+)", (stage.folder / "server.log").read_text())[1]
    request = urllib.request.Request(stage.environment["URL"] + "/dev/v1/customers", b'{"name": "Bo", "device": "iphone"}', {"Authorization": "Bearer 0123456789abcdef"})
    stage.environment["ID"] = json.load(urllib.request.urlopen(request, timeout=20))["id"]


STAGES = {
    "empty": empty, "service": service, "by hand": by_hand, "cake.mjs": bot("cake.mjs", "InNode", "js", "node/balloon.mjs"), "cake.py": bot("cake.py", "InPython", "python", "python/balloon.py"),
    "cake.sh": bot("cake.sh", "InShell", "bash"), "loop.sh": loop, "fishmonger.mjs": bot("fishmonger.mjs", "node/README.md", "js", "node/balloon.mjs"),
    "fishmonger.py": bot("fishmonger.py", "python/README.md", "python", "python/balloon.py"), "app": app, "app store": app_store, "server": server, "stopped": stopped, "claim": claim,
    "queues": lambda stage: configuration(stage, with_queues()), "queues served": lambda stage: server(stage, people=with_queues()),
    "person served": lambda stage: server(stage, people=with_queues(), person=("--person", "ana", "--person-name", "Ana")), "demo": demo, "pay": pay, "pizza": pizza, "phone": phone,
}


def problem(block, programs):
    """Runs a block, each on a stage of its own; returns the reason why it failed."""
    entry = TABLE[block.name]
    stage = Stage(programs)
    try:
        STAGES[entry.stage](stage)
        # Blocks of the business API use the definitions that the page gives further up.
        if block.page == "BusinessAPI" and block.heading.startswith(("Send", "From")):
            earlier = itertools.takewhile(lambda other: other != block, (other for other in blocks() if other.page == block.page))
            definitions = [stage.real(command, {}) for other in earlier if other.language == "sh" for command in commands(other) if re.match(r"\w+\(\) |base=|c=", command)]
            entry = Run(entry.stage, entry.replace, entry.omit, entry.status, "\n".join(definitions))
        stage.run(block, entry)
    except (RuntimeError, OSError, StopIteration, TypeError, KeyError, subprocess.SubprocessError) as error:
        return f"{type(error).__name__} {error}"
    finally:
        stage.close()
    return None
