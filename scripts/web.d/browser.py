"""Controls Chromium through W3C WebDriver, with the standard library only."""
import base64, http.client, json, re, subprocess, tempfile, time

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Down": "\ue015", "Up": "\ue013", "Shift": "\ue008", "End": "\ue010", "Home": "\ue011", "Backspace": "\ue003", "Space": " "}

# Functions and properties that Safari 16.4 or Firefox ESR 115 lacks: a page that uses one of them fails in Chromium too.
NEWER = ["AbortSignal.any", "Uint8Array.prototype.toBase64", "Element.prototype.ariaCurrent"]


class Failure(Exception):
    """The page is not in the expected state, or the driver reports an error."""


class Driver:
    """One chromedriver process on a free port."""

    def __init__(self):
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for line in self.process.stdout:
            found = re.search(r"successfully on port (\d+)", line)
            if found:
                self.port = int(found[1])
                return
        raise Failure("chromedriver did not start")

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, json.dumps({} if body is None else body) if method == "POST" else None)
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise Failure(f"{value['error']}: {value['message'].splitlines()[0]}")
        return value

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Page:
    """One browser with its own profile, which stands for one person."""

    def __init__(self, driver, width=1280, height=800, origin=""):
        self.driver, self.origin = driver, origin
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        options = {"args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking",
                            "--no-first-run", "--force-color-profile=srgb", f"--user-data-dir={self.profile.name}"]}
        capabilities = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}, "pageLoadStrategy": "normal"}
        self.session = driver.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
        self.devtools("Page.addScriptToEvaluateOnNewDocument", {"source": "".join(f"delete {name}; " for name in NEWER)})
        self.size(width, height)
        self.allowed = []

    def call(self, method, path, body=None):
        return self.driver.call(method, f"/session/{self.session}{path}", body)

    def devtools(self, command, parameters=None):
        return self.call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters or {}})

    def size(self, width, height, scale=2):
        self.devtools("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 700})

    def media(self, **features):
        names = {"scheme": "prefers-color-scheme", "motion": "prefers-reduced-motion"}
        self.devtools("Emulation.setEmulatedMedia", {"features": [{"name": names[name], "value": value} for name, value in features.items()]})

    def go(self, address):
        self.call("POST", "/url", {"url": address})

    def script(self, text, *arguments):
        return self.call("POST", "/execute/sync", {"script": text, "args": list(arguments)})

    def script_async(self, text, *arguments):
        return self.call("POST", "/execute/async", {"script": text, "args": list(arguments)})

    def wait(self, what, question, *arguments, seconds=15):
        """Waits until a script's expression is true, and returns its value."""
        end = time.monotonic() + seconds
        while True:
            value = self.script(f"return ({question})", *arguments)
            if value:
                return value
            if time.monotonic() > end:
                raise Failure(f"not within {seconds} s: {what}\n{self.text()[:1500]}")
            time.sleep(0.05)

    def text(self):
        return self.script("return document.body.innerText")

    def see(self, text, seconds=15):
        self.wait(f"the text {text!r}", "document.body.innerText.includes(arguments[0])", text, seconds=seconds)

    def find(self, css):
        self.wait(f"an element {css}", "document.querySelector(arguments[0])?.checkVisibility()", css)
        return self.script("return document.querySelector(arguments[0])", css)[ELEMENT]

    def choose(self, css, value):
        """Chooses a value in a field, once the page shows it."""
        self.find(css)
        self.script("const one = document.querySelector(arguments[0]); one.value = arguments[1]; one.dispatchEvent(new Event('change', { bubbles: true }))", css, value)

    def act(self, find, action, body=None):
        """Acts on the element that `find` returns; finds it again when the page has replaced it meanwhile or not laid it out yet."""
        for attempt in range(5):
            try:
                return self.call("POST", f"/element/{find()}/{action}", body)
            except Failure as failure:
                if attempt == 4 or not str(failure).startswith(("stale element reference", "element not interactable")):
                    raise
                time.sleep(0.1)

    def click(self, css):
        self.act(lambda: self.find(css), "click")

    def press_button(self, label, within="document"):
        """Waits until the visible button with this label has stopped moving, and clicks it."""
        def find():
            self.wait(f"the button {label!r}",
                      f"""(() => {{ const found = [...({within})?.querySelectorAll("button") ?? []].find((one) => one.checkVisibility()
                      && (one.getAttribute("aria-label") ?? one.innerText).trim().startsWith(arguments[0]));
                      if (!found || document.getAnimations().some((one) => one.playState === "running" && one.effect?.target?.contains(found))) return false;
                      window.found = found; return true; }})()""", label)
            return self.script("return window.found")[ELEMENT]

        self.act(find, "click")

    def type(self, css, text):
        self.act(lambda: self.find(css), "value", {"text": text})

    def keys(self, *names):
        """Presses keys in the focused element."""
        actions = []
        for name in names:
            # "BackTab" is the tab key with the shift key held down.
            pressed = [KEYS["Shift"], KEYS["Tab"]] if name == "BackTab" else [KEYS.get(name, name)]
            actions.extend({"type": "keyDown", "value": one} for one in pressed)
            actions.extend({"type": "keyUp", "value": one} for one in reversed(pressed))
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def focus(self):
        """Returns the label, id or text of the focused element."""
        return self.script("const one = document.activeElement; return one === document.body ? 'body' : one.id || one.getAttribute('aria-label') || one.innerText.slice(0, 60) || one.className")

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", "/screenshot")))

    def complaints(self):
        """Returns the console's lines and the requests to other origins since the last call."""
        found = [f"console: {entry['message']}" for entry in self.call("POST", "/se/log", {"type": "browser"})
                 if not any(re.search(allowed, entry["message"]) for allowed in self.allowed)]
        for entry in self.call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] != "Network.requestWillBeSent":
                continue
            address = message["params"]["request"]["url"]
            if not address.startswith((self.origin + "/", "data:", "blob:")):
                found.append(f"request: {address}")
        return found

    def violations(self, axe):
        """Returns the violations of WCAG 2.2 AA that axe-core finds."""
        if not self.script("return typeof window.axe === 'object'"):
            self.script(axe)
        answer = self.script_async("""const done = arguments[arguments.length - 1];
            axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"] })
                .then((result) => done(result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${(node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ""}`).join("; ")}`)), (error) => done([String(error)]));""")
        return answer

    def close(self):
        self.call("DELETE", "")
        self.profile.cleanup()
