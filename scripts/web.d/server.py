"""A `balloon dev` server with an inbox, for tests in a browser, which can be killed and started again on the same ports."""
import base64, http.client, json, os, pathlib, random, signal, socket, subprocess, tempfile, time, urllib.parse, urllib.request

from browser import Failure

PEOPLE = {"text": "A colleague answers in a few minutes.", "words": ["help", "agent"]}


def free_port():
    """A port that nobody listens on, below the range from which the kernel takes the ports of outgoing connections: a port
    of that range may belong to a connection of another page before the server binds it."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as bounds:
        end = int(bounds.read().split()[0])
    for _ in range(100):
        port = random.randrange(max(1024, end - 12_000), end)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise Failure("no port is free")


class Server:
    def __init__(self, binary, web_dir=None, handler=None, name="Sam's Fish"):
        self.binary = binary
        self.options = ["--web-dir", web_dir] if web_dir else []
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.admin, self.listen = free_port(), free_port()
        self.origin = f"http://127.0.0.1:{self.admin}"
        (self.path / "businesses").mkdir()
        self.business({"businessID": "b-1", "name": name, "handler": {"exec": handler} if handler else {"builtin": "demo"}, "people": PEOPLE})
        self.token, entry = self.issue("desk", "read,send")
        self.reader, reader = self.issue("reader", "read")
        self.agent, agent = self.issue("agent", "read,send", "--person", "agent-7", "--person-name", "Ada")
        self.tokens = [entry, reader, agent]
        self.configure(self.tokens)
        self.process = None
        self.page = free_port()
        self.inspector_token = f"inspector-token-{self.page}"
        self.inspector = f"http://127.0.0.1:{self.page}/#t={self.inspector_token}"
        self.options += ["--inspector-listen", f"127.0.0.1:{self.page}", "--inspector-token", self.inspector_token,
                         "--scenarios", str(self.path / "scenarios")]
        self.start()

    def issue(self, name, rights, *person):
        made = subprocess.run([self.binary, "token", "issue", "--name", name, "--may", rights, *person], capture_output=True, text=True, check=True)
        return made.stdout.strip(), json.loads(made.stderr)

    def business(self, content):
        (self.path / "businesses" / "fish.json").write_text(json.dumps(content))

    def configure(self, tokens):
        (self.path / "server.json").write_text(json.dumps({
            "mspID": "m", "secret": {"env": "BALLOON_SECRET"}, "adminListen": f"127.0.0.1:{self.admin}",
            "api": {"tokens": tokens, "inbox": True, "requestsPerMinute": 1_000_000}}))

    def start(self):
        environment = {**os.environ, "BALLOON_SECRET": base64.b64encode(bytes(32)).decode()}
        self.log = open(self.path / "log", "ab")
        self.process = subprocess.Popen(
            [self.binary, "dev", "--config", str(self.path / "server.json"), "--data", str(self.path / "data"), "--listen", f"127.0.0.1:{self.listen}", *self.options],
            env=environment, stdout=subprocess.DEVNULL, stderr=self.log)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise Failure("the server ended:\n" + (self.path / "log").read_text()[-2000:])
            try:
                # `balloon simulate` finds the server by dev.json, which is written after the server became ready.
                # The inspector answers 503 until it knows the server.
                if urllib.request.urlopen(f"{self.origin}/readyz", timeout=2).status == 200 and (self.path / "data" / "dev.json").exists() and self.dev(""):
                    return
            except OSError:
                pass
            time.sleep(0.1)
        raise Failure("the server is not ready")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=60)
        self.log.close()
        log = (self.path / "log").read_text()
        self.folder.cleanup()
        if self.token in log:
            raise Failure("the server logged a token")

    def simulate(self, *arguments, customer="ann001", check=True, wait=True):
        result = subprocess.run(
            [self.binary, "simulate", "--data", str(self.path / "data"), "--customer", f"urn:mbid:AQAA{customer}=", *(["--wait"] if wait else []), *arguments],
            capture_output=True, text=True, timeout=90)
        if check and result.returncode != 0:
            raise Failure(f"balloon simulate ended with {result.returncode}: {result.stderr}")
        return result.stdout

    def write(self, text, customer="ann001"):
        return self.simulate("text", "--text", text, customer=customer)

    def ask_for_person(self, customer):
        self.write("help", customer)

    def at_gateway(self, customer="ann001"):
        """The messages that the simulator's gateway accepted for a customer."""
        gateway = json.loads((self.path / "data" / "dev.json").read_text())["gateway"]
        return json.loads(urllib.request.urlopen(f"{gateway}/_simulator/messages", timeout=10).read())

    def call(self, path, method="GET", body=None, **headers):
        request = urllib.request.Request(self.origin + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers})
        return json.loads(urllib.request.urlopen(request, timeout=10).read())

    # The inspector, as a program uses it

    def dev(self, path, method="GET", body=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.page}/dev/v1{path}", method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": f"Bearer {self.inspector_token}", "Content-Type": "application/json"})
        return json.loads(urllib.request.urlopen(request, timeout=30).read() or b"null")

    def thread(self, number=0):
        """The entries of the thread of a customer of the phone."""
        customer = self.dev("/customers")["customers"][number]
        return self.dev(f"/customers/{urllib.parse.quote(customer['id'], safe='')}/phone?after=0&limit=500")["thread"]

    def foreign(self, path):
        """The status and the detail of a request to the inspector under a name that it does not have."""
        connection = http.client.HTTPConnection("127.0.0.1", self.page, timeout=10)
        try:
            connection.request("GET", path, headers={"Host": "evil.example", "Authorization": f"Bearer {self.inspector_token}"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())["detail"]
        finally:
            connection.close()

    def sizes(self, path):
        """The bytes of a file of the page, and the bytes that are sent when the browser accepts gzip."""
        base = f"http://127.0.0.1:{self.page}{path}"
        return tuple(len(urllib.request.urlopen(urllib.request.Request(base, headers=headers), timeout=10).read()) for headers in ({}, {"Accept-Encoding": "gzip"}))
