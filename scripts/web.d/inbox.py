"""The inbox in Chromium: one function for each test, each with a console that must stay empty."""
import json, shutil, time

from browser import Failure, Page
from person import Person
from server import PEOPLE, Server
from suite import DESK, LOST, PHONE, SIZES, Suite, main


class Tests(Suite):
    ALL = ["sign_in_and_empty", "hand_off", "keys_alone", "late_confirmation", "lost_connection", "stream_reset", "hostile_texts", "kinds", "triage", "tasks", "tapbacks", "devices", "compose", "figures", "open_switch", "long_thread", "large_message", "rights", "queues", "offers", "customers", "saved_replies", "report", "own_token", "token_removed", "storage_off",
           "two_tabs", "everybody", "planted"]

    def serve(self, name):
        return Server(self.options.binary, self.options.web_dir)

    def page(self, name="", size=DESK, token=None):
        """Opens a browser; with a name, signs in as that person."""
        page = Page(self.driver, *size, origin=self.server.origin)
        self.pages.append(page)
        page.complaints()
        page.go(self.server.origin + "/inbox")
        if name:
            self.sign_in(page, name, token)
        return page

    def sign_in(self, page, name, token=None):
        page.type("#token", token or self.server.token)
        page.type("#name", name)
        page.keys("Enter")
        page.find(".tabs")

    def open(self, page, customer):
        page.wait(f"a row of {customer}", "[...document.querySelectorAll('.row')].find((one) => one.innerText.includes(arguments[0]))", customer)
        page.script("[...document.querySelectorAll('.row')].find((one) => one.innerText.includes(arguments[0])).click()", customer)
        page.wait(f"the thread of {customer}", "document.querySelector('.thread-title h2')?.innerText.includes(arguments[0])", customer)
        page.wait("its lines", "document.querySelectorAll('.line').length > 0 && !document.querySelector('[aria-busy]')")

    def at_gateway(self, text):
        return [one for one in self.server.at_gateway()["messages"] if text in json.dumps(one["message"], ensure_ascii=False)]

    # Tests

    def sign_in_and_empty(self):
        page = self.page()
        page.type("#token", "bln_wrong")
        page.type("#name", "Ana")
        page.allowed = [r"401 \(Unauthorized\)"]
        page.keys("Enter")
        page.see("The server does not know this token")
        assert page.focus() == "token", page.focus()
        page.script("document.querySelector('#token').value = ''; document.querySelector('#name').value = ''")
        self.sign_in(page, "Ana")
        page.see("Nobody waits")
        assert self.server.token not in page.script("return location.href + document.documentElement.outerHTML")
        page.press_button("Mine")
        page.see("You have no conversation")
        page.press_button("All")
        page.see("No conversations yet")
        page.call("POST", "/refresh")
        page.see("Nobody waits")

    def hand_off(self):
        self.server.write("Good morning", "handoff")
        self.server.ask_for_person("handoff")
        ana, ben = self.page("Ana", DESK), self.page("Ben", PHONE)
        for page in (ana, ben):
            page.wait("the unread count", "document.title.startsWith('(1)')")
            self.open(page, "andoff")
            page.see("Waits for a person")
            assert page.script("return document.querySelector('.row[aria-current=true]').innerText.includes('andoff')")
        assert not ana.script("return document.title").startswith("(")
        ana.press_button("Claim")
        ana.see("You have this conversation")
        ben.see("Ana has this conversation")
        ben.wait("no entry for Ben", "!document.querySelector('#text').checkVisibility()")
        # A claim that comes second is refused, and the answer names the person who claimed first.
        status = ben.script_async("""const done = arguments[arguments.length - 1]; const { token } = JSON.parse(sessionStorage.getItem("balloon.inbox"));
            const id = document.querySelector(".row[aria-current]") ? arguments[0] : arguments[0];
            fetch(`/v1/businesses/fish/conversations/${id}/claim`, { method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
                body: JSON.stringify({ person: { id: "ben", name: "Ben" } }) }).then(async (answer) => done([answer.status, (await answer.json()).person?.name]))""",
                                  self.conversation("handoff"))
        assert status == [409, "Ana"], status
        ben.allowed = [r"409 \(Conflict\)"]
        ana.type("#text", "Good morning, this is Ana.")
        ana.keys("Enter")
        ana.see("Accepted by Apple")
        self.until("Ana's text at the gateway", lambda: len(self.at_gateway("this is Ana")) == 1)
        assert not self.at_gateway("this is Ana")[0].get("autoReply")
        ben.see("this is Ana")
        ben.press_button("Take over")
        ben.see("Take over from Ana?")
        self.picture(ben, "sheet-phone")
        ben.press_button("Take over", "document.querySelector('dialog')")
        ben.see("You have this conversation")
        ben.size(320, 640)
        assert ben.script("return [...document.querySelectorAll('.thread-actions button')].every((one) => one.getBoundingClientRect().right <= innerWidth)"), "a button is cut off"
        self.picture(ben, "actions-320")
        ben.size(*PHONE)
        ana.see("Ben has this conversation")
        assert ana.script("return document.activeElement !== document.body"), "the focus was lost"
        ben.type("#text", "Ben here.")
        ben.press_button("Send")
        self.until("Ben's text at the gateway", lambda: len(self.at_gateway("Ben here.")) == 1)
        self.server.write("Thank you", "handoff")
        ben.see("Thank you")
        self.picture(ana, "other-person-desk")
        ben.press_button("Release")
        ben.type("#note", "Sent a new parcel.")
        ben.press_button("Release", "document.querySelector('dialog')")
        ben.see("The bot answers")
        ana.see("The bot answers")
        self.server.write("One more question", "handoff")
        ana.see("What can we do for you?")
        ana.press_button("Claim")
        ana.see("You have this conversation")
        ana.press_button("Close")
        ana.press_button("Close", "document.querySelector('dialog')")
        ana.see("You can answer when the customer writes again")

    def keys_alone(self):
        self.server.ask_for_person("keys01")
        self.server.ask_for_person("keys02")
        page = self.page()
        page.keys(*self.server.token)
        page.keys("Tab", *"Kim", "Enter")
        page.wait("two rows", "document.querySelectorAll('.row').length >= 2")
        page.keys("?")
        page.see("Previous conversation".lower())
        page.keys("Escape")
        page.wait("no dialog", "!document.querySelector('dialog')")
        page.keys("1", "j")
        page.wait("a thread", "document.querySelectorAll('.line').length > 0")
        first = page.script("return document.querySelector('.thread-title h2').innerText")
        page.keys("j")
        page.wait("the next thread", "document.querySelector('.thread-title h2').innerText !== arguments[0]", first)
        page.keys("k")
        page.wait("the first thread", "document.querySelector('.thread-title h2').innerText === arguments[0]", first)
        page.keys("c")
        page.see("You have this conversation")
        page.wait("the entry has the focus", "document.activeElement.id === 'text'")
        page.keys(*"Hello by keys", "Enter")
        self.until("the text at the gateway", lambda: len(self.at_gateway("Hello by keys")) == 1)
        assert page.focus() == "text", page.focus()
        page.keys("Escape")
        page.wait("a row has the focus", "document.activeElement.matches('.row, .list h2')")
        page.keys("r")
        page.see("Release to the bot")
        self.keeps_focus(page, 12)
        page.script("document.querySelector('dialog .primary').focus()")
        page.keys("Enter")
        page.see("The bot answers")
        page.keys("/")
        page.wait("the search has the focus", "document.activeElement.id === 'search'")
        page.keys(*"by keys")
        page.wait("one found row", "document.querySelectorAll('.row').length === 1")
        page.keys("Tab", "Tab", "Enter")
        page.see("Hello by keys")
        # The tab key must reach every control of the page.
        self.reaches_everything(page, ".side h1", 60)

    def late_confirmation(self):
        self.server.ask_for_person("late01")
        ana = self.page("Ana", DESK)
        self.open(ana, "late01")
        ana.press_button("Claim")
        ana.see("You have this conversation")
        ana.press_button("Close")
        ana.see("Close the conversation?")
        self.server.call(f"/v1/businesses/fish/conversations/{self.conversation('late01')}/claim", "POST",
                         {"person": {"id": "ben", "name": "Ben"}, "take": True})
        ana.see("Ben has this conversation")
        ana.press_button("Close", "document.querySelector('dialog')")
        ana.see("A colleague was faster")
        ana.see("Ben has this conversation")

    def lost_connection(self):
        self.server.ask_for_person("lost02")
        self.server.ask_for_person("lost01")
        page = self.page("Lou", PHONE)
        self.open(page, "lost01")
        page.type("#text", "A draft that stays")
        page.allowed = [LOST]
        self.server.kill()
        page.see("Connection lost")
        assert page.script("return document.querySelector('#text').value") == "A draft that stays"
        self.picture(page, "lost-phone")
        found = page.violations(self.axe)
        assert not found, found
        self.server.start()
        page.wait("the connection", "!document.body.innerText.includes('Connection lost')", seconds=40)
        self.server.write("Are you there again?", "lost01")
        page.see("Are you there again?")
        # A text that is entered while the server is down is sent once, when the server is up again.
        self.server.kill()
        page.see("Connection lost")
        page.script("document.querySelector('#text').focus()")
        page.keys("Enter")
        page.see("Try again")
        found = page.violations(self.axe)
        assert not found, found
        # The unsent text stays with its conversation while another conversation is open.
        page.script("document.querySelector('.row:not([aria-current])').click()")
        page.wait("another thread", "!document.querySelector('.thread-title h2')?.innerText.includes('lost01')")
        page.script("[...document.querySelectorAll('.row')].find((one) => one.innerText.includes('lost01')).click()")
        page.see("Try again")
        self.server.start()
        page.wait("the connection", "!document.body.innerText.includes('Connection lost')", seconds=40)
        page.press_button("Try again")
        page.see("Accepted by Apple")
        self.until("one text at the gateway", lambda: len(self.at_gateway("A draft that stays")) == 1)

    def stream_reset(self):
        """After a restart with an empty journal the server does not know the page's last event id: the page reads every list again."""
        self.server.ask_for_person("reset1")
        page = self.page("Ria", PHONE)
        self.open(page, "reset1")
        page.allowed = [LOST, r"404 \(Not Found\)"]
        self.server.kill()
        page.see("Connection lost")
        for part in ("journal", "conversations", "states", "assignments", "calls", "conversation-index"):
            path = self.server.path / "data" / part
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        self.server.start()
        page.see("Nobody waits", seconds=40)
        self.server.ask_for_person("reset2")
        page.see("Customer reset2")

    def hostile_texts(self):
        texts = ["<img src=x onerror=alert(1)><script>alert(2)</script><b>bold</b>", "javascript:alert(3) data:text/html,x https://example.com/%22onclick=x",
                 "\u202egnp.exe \u2066 \u200f", "a" * 9_000 + " end", "{{7*7}} ${7*7} &lt;i&gt;", "\u0645\u0631\u062d\u0628\u0627 1, 2"]
        for text in texts:
            self.server.write(text, "evil01")
        name = self.server.path / "\u202egpj.exe<b>.png"
        name.write_bytes(b"\x89PNG\r\n\x1a\nbroken")
        vector = self.server.path / "x.svg"
        vector.write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
        self.server.simulate("text", "--attach", str(name), "--attach", str(vector), customer="evil01")
        self.server.simulate("unrecognized", customer="evil01", check=False)
        self.server.ask_for_person("evil01")
        page = self.page("Eve", PHONE)
        self.open(page, "evil01")
        page.see("<script>alert(2)</script>")
        page.see("[U+202E]gnp.exe")
        page.see("[U+202E]gpj.exe<b>.png")
        page.see("javascript:alert(3)")
        page.see("\u0645\u0631\u062d\u0628\u0627")
        assert page.script("return [...document.querySelectorAll('.bubble')].some((one) => getComputedStyle(one).direction === 'rtl')"), "no text from right to left"
        assert page.script("return [...document.querySelectorAll('.thread a[href]')].map((one) => one.href)") == ["https://example.com/%22onclick=x"]
        assert page.script("return document.querySelectorAll('.thread b, .thread script, .thread img[onerror]').length") == 0
        page.press_button("Show all")
        page.see("aaa end")
        page.script("document.querySelector('.file').scrollIntoView()")
        page.see("The picture cannot be shown")
        assert page.script("return document.documentElement.scrollWidth") <= 390, "the page is wider than the phone"
        self.picture(page, "hostile-phone")
        page.press_button("Back to the list")
        assert page.script("return document.activeElement.matches('.row')"), page.focus()

    def kinds(self):
        for kind in ["quickReply", "listPicker", "timePicker", "form", "authentication", "applePay", "app", "invitation", "unrecognized"]:
            self.server.simulate(kind, customer="kinds1", check=False)
        self.server.ask_for_person("kinds1")
        for size, metrics in SIZES.items():
            page = self.page("Kay", metrics)
            self.open(page, "kinds1")
            for text in ["Chosen from a list", "Chosen time", "Answered form", "Sign-in", "Apple Pay, result", "Parcel Locator", "Answer to an invitation", "Unknown message"]:
                page.see(text)
            # The thread stays at its newest message when parts are loaded after its lines.
            self.newest(page)
            self.picture(page, f"kinds-{size}")
            page.script("document.querySelector('.thread-scroll').scrollTop = 0")
            self.picture(page, f"kinds-top-{size}")
            assert page.script("return document.documentElement.scrollWidth") <= metrics[0]

    def triage(self):
        """A row has the customer's last words, the wait, the reason and the marks, and the search works in every view."""
        self.server.ask_for_person("first1")
        self.server.write("Where is parcel 4711?", "first1")
        self.server.ask_for_person("second")
        page = self.page("Tri", DESK)
        page.wait("the longest waiting on top", "document.querySelectorAll('.row').length === 2 && document.querySelector('.row').innerText.includes('Where is parcel 4711?')")
        rows = page.script("return [...document.querySelectorAll('.row')].map((one) => one.innerText)")
        assert all("The customer asked for a person" in one and "A colleague answers" not in one for one in rows), rows
        assert page.script("return document.querySelectorAll('.row .dot[aria-label=Unread]:not([hidden])').length") == 2
        assert "Overdue" not in page.text()
        self.picture(page, "triage-desk")
        self.open(page, "second")
        page.see("Why: The customer asked for a person")
        # Eleven minutes later.
        page.devtools("Page.addScriptToEvaluateOnNewDocument", {"source": "const now = Date.now; Date.now = () => now() + 660_000;"})
        page.call("POST", "/refresh")
        page.see("waits 11 min")
        page.see("Overdue")
        for width in (1440, 1024, 390, 320):
            page.size(width, 844)
            assert page.script("return document.documentElement.scrollWidth") <= width, width
            self.picture(page, f"triage-{width}")
        page.size(*DESK)
        # A search leaves the queue for the conversations of every state; the queue ends the search.
        page.type("#search", "4711")
        page.wait("the found row", "document.querySelectorAll('.row').length === 1 && document.querySelector('.row').innerText.includes('4711')")
        assert page.script("return document.querySelector('.tab[aria-pressed=true]').innerText").startswith("All")
        page.press_button("Queue")
        page.wait("both rows", "document.querySelectorAll('.row').length === 2 && document.querySelector('#search').value === ''")

    def tasks(self):
        """Ten tasks of a help desk, each in at most six actions, by visible texts and roles alone."""
        self.server.write("Do you have halibut?", "old001")
        for customer, words in (("parcel", "Where is parcel 4711?"), ("broken", "The lid is broken"), ("choice", "Which fish is fresh?"), ("return", "How do I return it?"), ("bot001", "Thank you, all is well")):
            self.server.ask_for_person(customer)
            self.server.write(words, customer)
        claim = lambda customer, name: self.server.call(f"/v1/businesses/fish/conversations/{self.conversation(customer)}/claim", "POST", {"person": {"id": name.lower(), "name": name}})
        self.server.ask_for_person("taken1")
        claim("taken1", "Ben")
        self.server.ask_for_person("refuse")
        claim("refuse", "Ben")
        self.server.dev("/misbehaviour", "PUT", {"rules": ["message=400,times=1"]})
        self.server.call(f"/v1/businesses/fish/conversations/{self.conversation('refuse')}/messages", "POST", {"text": "Your second parcel", "person": {"id": "ben"}},
                         **{"Idempotency-Key": "tasks", "Prefer": "wait=20"})
        page = self.page("Ana", DESK)
        ana = Person(page)
        row = lambda words: ("press", "button", words)
        press = lambda name: ("press", "button", name)
        write = lambda name, text: ("write", "textbox", name, text)
        send = press("Send")
        page.wait("the longest waiting on top", "document.querySelector('.row')?.innerText.includes('4711')")
        ana.do("answer the customer who has waited longest", [row("4711"), write("Message", "It arrives tomorrow."), send])
        self.until("the answer", lambda: len(self.at_gateway("It arrives tomorrow.")) == 1)
        ana.do("ask a customer to choose", [row("Which fish is fresh?"), press("Quick reply"), write("Question", "Cod or sole?"), write("Choice 1", "Cod"), write("Choice 2", "Sole")])
        page.see("The message can be sent")
        ana.do("ask a customer to choose", [send])
        self.until("the question and the choices", lambda: len(self.at_gateway("Cod or sole?")) == 2)
        ana.do("send the address of the returns as a link", [row("How do I return it?"), write("Message", "Here: https://example.com/returns"), press("Send as a link")])
        self.until("the link", lambda: any(one["message"]["type"] == "richLink" for one in self.at_gateway("https://example.com/returns")))
        ana.do("leave a conversation to the next person, with a note", [press("Mine"), row("How do I return it?"), press("Transfer"), write("Note for the next person", "Wants the money back"), press("Transfer")])
        page.see("Waits for a person")
        ben = Person(self.page("Ben", PHONE))
        ben.do("learn what a colleague knows of the case", [row("How do I return it?")])
        ben.page.see("Note: Wants the money back")
        ben.do("continue where the colleague stopped", [press("Claim")])
        ben.page.see("You have this conversation")
        ben.page.see("Note: Wants the money back")
        ben.do("find out why a reply was not sent", [press("Back to the list"), press("Mine"), row("Customer refuse")])
        ben.page.see("Refused by Apple (400)")
        ben.do("find out why a reply was not sent", [press("Back to the list")])
        ben.page.see("Not delivered: Your second parcel")
        ana.do("return a customer to the bot", [press("Queue"), row("Thank you, all is well"), press("More"), press("To the bot"), press("Release")])
        page.see("The bot answers")
        ana.do("find what a customer once asked", [("write", "searchbox", "Search all conversations", "halibut"), row("Do you have halibut?")])
        page.wait("the conversation", "document.querySelector('.thread-title h2').innerText.includes('old001')")
        ana.do("take over from a colleague who is ill", [press("Queue"), press("All"), row("Customer taken1"), press("Take over"), press("Take over")])
        page.see("You have this conversation")
        ana.do("say that nobody answers until the morning", [("press", "switch", "Help desk is open"), write("Customers who ask for a person", "We are back at 9."), press("Close")])
        page.see("The help desk is closed")

    def tapbacks(self):
        """A tapback is shown at its message; one of an unknown message stays a text."""
        self.server.ask_for_person("tapped")
        page = self.page("Tap", DESK)
        self.open(page, "tapped")
        page.type("#text", "Here it is")
        page.keys("Enter")
        page.wait("the confirmed text", "[...document.querySelectorAll('.line.own')].at(-1).innerText.includes('Accepted by Apple')")
        for words in ("Loved \u201cHere it is\u201d", "Reacted \U0001f44f to \u201cHere it is\u201d", "Liked \u201cSomething else\u201d"):
            self.server.write(words, "tapped")
        page.see("Liked \u201cSomething else\u201d")
        page.wait("both signs at the text", "[...document.querySelectorAll('.line')].some((one) => one.innerText.includes('Here it is') && one.querySelector('.reactions')?.innerText === '❤️ 👏')")
        assert "Loved" not in page.script("return document.querySelector('.lines').innerText")
        self.picture(page, "tapbacks-desk")
        # The text that is no tapback of a known message is one all the same: none of them waits for an answer.
        page.press_button("Mine")
        page.wait("a row that does not wait", "[...document.querySelectorAll('.row')].some((one) => one.innerText.includes('Liked') && !one.querySelector('.row-time').innerText.includes('now'))")
        self.server.write("Removed a heart from \u201cHere it is\u201d", "tapped")
        page.wait("one sign", "document.querySelector('.reactions').innerText === '👏'")

    def devices(self):
        """What the customer's device cannot show is marked before it is sent, with its substitute."""
        self.server.simulate("text", "--text", "help", "--capabilities", "LIST,TIME", customer="device")
        page = self.page("Dee", DESK)
        self.open(page, "device")
        page.see("Device: cannot show quick replies, forms")
        page.press_button("Quick reply (not on this device)")
        page.type("#question", "Cod or sole?")
        page.type("#choice-1", "Cod")
        page.allowed = [r"422 \(Unprocessable"]
        page.type("#choice-2", "Sole")
        page.see("The customer's device cannot show this message")
        self.picture(page, "device-desk")
        page.size(320, 700)
        assert page.script("return document.documentElement.scrollWidth") <= 320
        self.picture(page, "device-320")
        page.size(*DESK)
        page.press_button("Write this text instead")
        page.wait("the text", "document.querySelector('#text').value === 'Cod or sole?\\n- Cod\\n- Sole'")
        page.keys("Enter")
        self.until("the substitute", lambda: [one["message"]["type"] for one in self.at_gateway("Cod or sole?")] == ["text"])
        page.press_button("Send")
        page.see("Write a message first.")

    def figures(self):
        """Prints the median of 7 first paints; the bytes of the page's files, at first and with every screen, have limits."""
        self.server.ask_for_person("weight")
        page = self.page("Fig", DESK)
        page.find(".row")
        paints = []
        for _ in range(7):
            page.go("about:blank")
            page.go(self.server.origin + "/inbox")
            page.find(".row")
            paints.append(page.script("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"))
        sizes = lambda: page.script("""const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource").filter((one) => new URL(one.name).pathname.startsWith("/inbox"))];
            return [all.reduce((sum, one) => sum + one.decodedBodySize, 0), all.reduce((sum, one) => sum + one.encodedBodySize, 0)]""")
        first = sizes()
        self.open(page, "weight")
        file = self.server.path / "Receipt.txt"
        file.write_text("Two cod.")
        picker = page.script("return document.querySelector('input[type=file]')")
        page.call("POST", f"/element/{list(picker.values())[0]}/value", {"text": str(file)})
        page.see("8 bytes")
        every = sizes()
        print(f"web: inbox: first paint {sorted(paints)[3]:.0f} ms; {first[0]:,} bytes of files, {first[1]:,} sent at first; {every[0]:,}, {every[1]:,} with every screen", flush=True)
        assert every[0] <= 200_000 and every[1] <= 66_000, every

    def compose(self):
        self.server.ask_for_person("comp01")
        page = self.page("Coe", DESK)
        self.open(page, "comp01")
        page.press_button("Claim")
        page.press_button("Quick reply")
        page.see("Write the question.")
        page.type("#question", "Which fish?")
        page.see("Write at least two choices.")
        page.type("#choice-1", "Cod")
        page.type("#choice-2", "Sole")
        page.see("The message can be sent")
        self.picture(page, "quick-reply-desk")
        page.press_button("Send")
        # Apple MSP API, "Quick Reply Message": the device shows the choices only, so the question is a text before them.
        self.until("the question and the choices at the gateway", lambda: len(self.at_gateway("Which fish?")) == 2)
        assert [one["message"]["type"] for one in self.at_gateway("Which fish?")] == ["text", "interactive"], self.at_gateway("Which fish?")
        page.press_button("JSON")
        page.allowed = [r"422 \(Unprocessable", r"400 \(Bad Request"]
        page.type("#json", '{"type": "text"')
        page.see("This is not JSON yet")
        page.type("#json", ', "body": ""}')
        page.wait("a problem", "document.querySelector('.problems .failure') && !document.body.innerText.includes('not JSON yet')")
        page.script("const area = document.querySelector('#json'); area.value = ''; area.dispatchEvent(new Event('input', { bubbles: true }))")
        page.type("#json", '{"type": "text", "body": "By JSON"}')
        page.see("The message can be sent")
        page.keys("Tab")
        page.press_button("Send")
        self.until("the JSON at the gateway", lambda: len(self.at_gateway("By JSON")) == 1)
        file = self.server.path / "Receipt.txt"
        file.write_text("Two cod, one sole.")
        page.press_button("Text")
        picker = page.script("return document.querySelector('input[type=file]')")
        page.call("POST", f"/element/{list(picker.values())[0]}/value", {"text": str(file)})
        page.see("Receipt.txt")
        page.wait("the upload", "document.querySelector('.send').getAttribute('aria-disabled') === 'false'")
        page.type("#text", "Your receipt")
        page.keys("Enter")
        self.until("the file at the gateway", lambda: any(one["message"].get("attachments") for one in self.at_gateway("Your receipt")))

    def open_switch(self):
        page = self.page("Oda", DESK)
        page.click(".switch")
        page.type("#closed-text", "We are back at 9.")
        self.picture(page, "switch-desk")
        page.keys("Enter")
        page.see("The help desk is closed")
        self.server.ask_for_person("night1")
        self.until("the closed text at the gateway", lambda: len(self.at_gateway("We are back at 9.")) == 1)
        page.click(".switch")
        page.see("The help desk is open")

    def long_thread(self):
        for customer in ("long01", "long02"):
            self.server.ask_for_person(customer)
        self.server.simulate(*["text"] * 80, customer="long01", wait=False)
        page = self.page("Lea", PHONE)
        self.open(page, "long01")
        ada = self.page("Ada")
        self.open(ada, "long01")
        # While the lines of another conversation are read, there are none to read more from.
        ada.find(".thread .more")
        ada.script("const read = window.fetch; window.restore = () => { window.fetch = read; }; window.fetch = (path, options) => (path.includes('/messages?') ? new Promise(() => {}) : read(path, options))")
        ada.script("[...document.querySelectorAll('.row')].find((one) => one.innerText.includes('long02')).click()")
        ada.wait("the other thread", "document.querySelector('.thread-title h2').innerText.includes('long02')")
        assert not ada.script("return [...document.querySelectorAll('.thread .more')].some((one) => one.checkVisibility())")
        ada.script("restore()")
        self.open(ada, "long01")
        ada.press_button("Claim")
        ada.see("You have this conversation")
        ada.type("#text", "Good morning")
        self.typing_keeps_scroll(page)
        before = page.script("return document.querySelectorAll('.line').length")
        page.script("document.querySelector('.thread-scroll').scrollTop = 0")
        page.press_button("Earlier messages")
        page.wait("more lines", "document.querySelectorAll('.line').length > arguments[0]", before)
        # After an exception the next drawing keeps the shown nodes.
        ada.allowed = ["planted exception"]
        ada.script("""window.kept = [...document.querySelectorAll('.line')].at(-9);
            document.createElement = (name) => { if (name === 'li') { delete document.createElement; throw new Error('planted exception'); } return Document.prototype.createElement.call(document, name); };""")
        ada.press_button("Earlier messages")
        ada.wait("the exception", "!Object.hasOwn(document, 'createElement')")
        self.server.write("The next line", "long01")
        ada.wait("more lines", "document.querySelectorAll('.line').length > arguments[0] + 1", before)
        assert ada.script("return kept.isConnected")

    def large_message(self):
        """A message of 1.8 MB is left out of its event, and the page shows it shortened."""
        self.server.ask_for_person("large1")
        page = self.page("Lex")
        self.open(page, "large1")
        message = self.server.path / "large.json"
        message.write_text(json.dumps({"v": 1, "type": "text", "locale": "en_US", "body": " ".join(str(number * 7919 % 100_000).zfill(5) for number in range(300_000))}))
        self.server.simulate(str(message), customer="large1")
        page.see("Show all 1,799,999 characters")
        start = time.monotonic()
        page.press_button("Show all")
        page.see("(1799999 characters)")
        assert time.monotonic() - start < 5

    def rights(self):
        page = self.page("Rex", DESK, token=self.server.reader)
        self.server.ask_for_person("rights")
        self.open(page, "rights")
        page.allowed = [r"403 \(Forbidden\)"]
        page.press_button("Claim")
        page.see("This token may not do that")

    def queues(self):
        """Rules place two customers; the higher priority comes first, and a transfer moves a conversation."""
        known = {"businessID": "b-1", "name": "Sam's Fish", "handler": {"builtin": "demo"}, "people": PEOPLE}
        self.server.business({**known, "people": {**PEOPLE, "queues": [{"id": "general", "name": "General"}, {"id": "returns", "name": "Returns", "priority": 5}],
                                                  "rules": [{"queue": "returns", "words": ["parcel"]}]}})
        try:
            page = self.page("Quinn", DESK)
            page.wait("the queues", "(async () => { document.querySelector('.tab').click(); const { token } = JSON.parse(sessionStorage.getItem('balloon.inbox')); return (await (await fetch('/v1/businesses/fish/queues', { headers: { Authorization: `Bearer ${token}` } })).json()).queues.length === 2; })()")
            self.server.ask_for_person("queue1")
            self.server.write("My parcel", "queue2")
            self.server.ask_for_person("queue2")
            page.go(self.server.origin + "/inbox")
            page.wait("the queue of the second row", "document.querySelector('.row')?.innerText.includes('Returns')")
            self.picture(page, "queues-desk")
            page.press_button("Take next")
            page.wait("the customer with the parcel", "document.querySelector('.thread-title h2')?.innerText.includes('queue2')")
            page.see("Returns (1: word parcel)")
            page.press_button("Transfer")
            page.choose("#to-queue", 1)
            page.press_button("Transfer", "document.querySelector('dialog')")
            page.see("General (transfer)")
            assert self.server.call(f"/v1/businesses/fish/conversations/{self.conversation('queue2')}")["queue"]["id"] == "general"
            page.choose("#queue", "returns")
            page.see("Nobody waits")
            page.press_button("Take next")
            page.see("No conversation waits for you")
        finally:
            self.server.business(known)

    def offers(self):
        """A conversation is offered to a person who is available; a snooze ends with the customer's message."""
        known = {"businessID": "b-1", "name": "Sam's Fish", "handler": {"builtin": "demo"}, "people": PEOPLE}
        self.server.business({**known, "people": {**PEOPLE, "queues": [{"id": "general", "name": "General", "acceptSeconds": 600, "firstAnswerSeconds": 1}]}})
        try:
            page = self.page()
            page.type("#token", self.server.agent)
            page.press_button("Open the inbox")
            page.find(".tabs")
            page.choose("#availability", "available")
            self.until("the person", lambda: [one["state"] for one in self.server.call("/v1/businesses/fish/people/persons")["persons"]] == ["available"])
            page.press_button("Alerts")
            page.click("#alert-sound")
            page.click("#alert-title")
            page.press_button("Done", "document.querySelector('dialog')")
            self.server.ask_for_person("offer1")
            page.see("Overdue", seconds=30)
            assert not page.script("return document.title").startswith("("), "the title counts"
            page.see("offer1 is offered to you")
            self.picture(page, "offer-desk")
            page.press_button("Decline")
            page.wait("no offer", "!document.querySelector('.list').innerText.includes('is offered to you')")
            self.server.ask_for_person("offer2")
            page.see("offer2 is offered to you")
            page.press_button("Accept")
            page.see("You have this conversation")
            page.press_button("More")
            page.press_button("Snooze", "document.querySelector('dialog')")
            page.press_button("One hour", "document.querySelector('dialog')")
            page.see("Snoozed until")
            self.server.write("Hello?", "offer2")
            page.see("You have this conversation")
            page.choose("#availability", "gone")
            self.until("nobody", lambda: self.server.call("/v1/businesses/fish/people/persons")["persons"] == [])
        finally:
            self.server.business(known)

    def customers(self):
        """A note, a name and tags are shown and found, and never sent."""
        self.server.ask_for_person("cust01")
        page = self.page("Cora", DESK)
        self.open(page, "cust01")
        page.press_button("Note")
        page.type("#internal-note", "Wants the blue one")
        page.press_button("Write", "document.querySelector('dialog')")
        page.see("Note by You")
        page.see("Wants the blue one")
        page.press_button("Name and tags")
        page.type("#customer-name", "Zo\u00eb Lang")
        page.type("#customer-tags", "vip, new")
        page.press_button("Save", "document.querySelector('dialog')")
        page.wait("the name", "document.querySelector('.thread-title h2').innerText === 'Zo\u00eb Lang'")
        page.see("#new")
        self.picture(page, "customer-desk")
        page.press_button("Name and tags")
        self.set(page, "#customer-tags", "vip")
        page.press_button("Save", "document.querySelector('dialog')")
        page.see("No longer tagged new")
        page.type("#search", "zo\u00eb")
        page.wait("the found row", "document.querySelectorAll('.row').length === 1 && document.querySelector('.row').innerText.includes('Zo\u00eb')")
        assert not self.at_gateway("blue one") and not self.at_gateway("Lang")

    def saved_replies(self):
        """A text is saved, and two keys bring it back; a saved picker is sent without JSON."""
        self.server.ask_for_person("saved1")
        page = self.page("Sara", DESK)
        self.open(page, "saved1")
        page.press_button("Claim")
        page.see("You have this conversation")
        page.type("#text", "Hello from {person}.")
        page.press_button("Saved")
        page.see("Nothing is saved yet")
        page.press_button("Save what is in the entry", "document.querySelector('dialog')")
        page.type("#saved-title", "Greeting")
        page.press_button("Save", "document.querySelector('dialog:last-of-type')")
        page.wait("no dialog", "!document.querySelector('dialog')")
        self.until("the saved reply", lambda: len(self.server.call("/v1/businesses/fish/saved-replies")["replies"]) == 1)
        self.set(page, "#text", "")
        page.type("#text", "/")
        page.wait("the list", "document.querySelector('dialog .saved')")
        page.keys("Enter")
        page.wait("the text", "document.querySelector('#text').value === 'Hello from Sara.'")
        self.set(page, "#text", "")
        choices = [{"identifier": str(number), "title": title} for number, title in enumerate(["Cod", "Sole"])]
        self.server.call("/v1/businesses/fish/saved-replies/fish", "PUT", {"title": "A choice", "message": {"type": "interactive", "interactiveData": {
            "bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension",
            "data": {"version": "1.0", "requestIdentifier": "r", "quick-reply": {"summaryText": "Which fish?", "items": choices}}}}})
        page.type("#text", "/")
        page.wait("the list", "document.querySelectorAll('dialog .saved').length === 2")
        page.keys("Enter")
        page.see("gets this message")
        page.press_button("Send", "document.querySelector('dialog')")
        self.until("the choices at the gateway", lambda: len(self.at_gateway("Sole")) == 1)
        assert self.at_gateway("Sole")[0]["message"]["interactiveData"]["data"]["requestIdentifier"] != "r"
        file = self.server.path / "Prices.txt"
        file.write_text("Cod 12, sole 20.")
        picker = page.script("return document.querySelector('input[type=file]')")
        page.call("POST", f"/element/{list(picker.values())[0]}/value", {"text": str(file)})
        page.wait("the upload", "document.querySelector('.send').getAttribute('aria-disabled') === 'false'")
        page.type("#text", "All our prices")
        page.press_button("Saved")
        page.press_button("Save what is in the entry", "document.querySelector('dialog')")
        page.type("#saved-title", "Prices")
        page.press_button("Save", "document.querySelector('dialog:last-of-type')")
        page.wait("no dialog", "!document.querySelector('dialog')")
        self.until("the saved file", lambda: len(list(self.server.path.glob("data/saved-files/*/*"))) == 1)
        page.press_button("Remove Prices.txt")
        self.set(page, "#text", "")
        page.type("#text", "/")
        page.wait("the list", "document.querySelectorAll('dialog .saved').length === 3")
        page.type("#saved-search", "prices")
        page.keys("Enter")
        page.wait("the file", "document.querySelector('.chosen-files:not([hidden])')?.innerText.includes('Prices.txt')")
        page.wait("the entry", "document.activeElement.id === 'text'")
        page.keys("Enter")
        self.until("the file at the gateway", lambda: any(one["message"].get("attachments") for one in self.at_gateway("All our prices")))

    def report(self):
        day = time.strftime("%Y-%m-%d", time.gmtime())
        folder = self.server.path / "data/figures/fish"
        folder.mkdir(parents=True, exist_ok=True)
        line = {"at": f"{day}T00:00:01.000Z", "type": "conversation", "began": f"{day}T00:00:00.000Z", "by": "person", "messages": 2, "queue": "returns", "persons": ["ana"], "first": 90000}
        (folder / f"{day}.jsonl").write_text(json.dumps(line, separators=(",", ":")) + "\n")
        page = self.page("Rita", DESK)
        page.press_button("Report")
        page.wait("the row", "[...document.querySelectorAll('.report th')].some((one) => one.innerText === 'returns')")
        page.see("2 min")
        self.picture(page, "report-desk")
        page.choose("#report-by", "person")
        page.wait("the person", "[...document.querySelectorAll('.report th')].some((one) => one.innerText === 'ana')")

    def own_token(self):
        """A token with a person needs no name, and cannot take what a colleague has."""
        self.server.ask_for_person("owned1")
        page = self.page()
        page.type("#token", self.server.token)
        page.press_button("Open the inbox")
        page.see("Enter your name")
        page.script("document.querySelector('#token').value = ''")
        page.type("#token", self.server.agent)
        page.press_button("Open the inbox")
        page.see("Ada")
        assert page.script("return document.querySelector('.switch').disabled")
        self.open(page, "owned1")
        page.press_button("Claim")
        page.see("You have this conversation")
        page.type("#text", "Ada here.")
        page.press_button("Send")
        self.until("her text at the gateway", lambda: len(self.at_gateway("Ada here.")) == 1)
        conversation = f"/v1/businesses/fish/conversations/{self.conversation('owned1')}"
        assert self.server.call(conversation)["person"]["id"] == "agent-7"
        self.server.call(conversation + "/claim", "POST", {"person": {"id": "ben", "name": "Ben"}, "take": True})
        page.see("Ben has this conversation")
        page.wait("no button to take over", "!document.querySelector('.thread-actions button')")
        assert "Take" not in page.script("return document.querySelector('.main').innerText")

    def token_removed(self):
        token, entry = self.server.issue("removed", "read,send")
        tokens = self.server.tokens
        self.server.configure([*tokens, entry])
        page = self.page()
        page.allowed = [r"401 \(Unauthorized\)"]
        page.wait("the new token", """(async () => (await fetch("/v1/businesses", { headers: { Authorization: `Bearer ${arguments[0]}` } })).ok)()""", token)
        self.sign_in(page, "Tom", token)
        self.server.configure(tokens)
        page.see("The server does not know this token", seconds=30)
        page.find("#token")
        assert page.script("return sessionStorage.getItem('balloon.inbox')") is None

    def storage_off(self):
        page = self.page()
        self.without_storage(page, self.server.origin + "/inbox")
        self.sign_in(page, "Sue")
        page.see("This browser keeps nothing for this address")

    def two_tabs(self):
        """Of two tabs one connects to the server; when it is closed, the other one connects."""
        self.server.ask_for_person("tabs01")
        page = self.page("Tia")
        first = page.call("GET", "/window")
        second = page.call("POST", "/window/new", {"type": "tab"})["handle"]
        page.call("POST", "/window", {"handle": second})
        page.go(self.server.origin + "/inbox")
        self.sign_in(page, "Tia")
        self.open(page, "tabs01")
        locks = page.script_async("const done = arguments[0]; navigator.locks.query().then(({ held, pending }) => done([held.length, pending.length]))")
        assert locks == [1, 1], locks
        self.server.write("Seen in the second tab", "tabs01")
        page.see("Seen in the second tab")
        page.call("POST", "/window", {"handle": first})
        page.call("DELETE", "/window")
        page.call("POST", "/window", {"handle": second})
        self.server.write("Seen after the first tab", "tabs01")
        page.see("Seen after the first tab")

    def everybody(self):
        """axe-core on every screen, in both sizes and schemes; reduced motion and 200 % zoom."""
        self.server.write("Hello", "axe001")
        self.server.write("Loved \u201cWhat can we do for you?\u201d", "axe001")
        self.server.simulate("text", "--text", "help", "--capabilities", "LIST", customer="axe001")
        path = f"/v1/businesses/fish/conversations/{self.conversation('axe001')}"
        self.server.dev("/misbehaviour", "PUT", {"rules": ["message=400,times=1"]})
        self.server.call(f"{path}/messages", "POST", {"text": "A refused message", "person": {"id": "ben"}}, **{"Idempotency-Key": "axe", "Prefer": "wait=20"})
        self.server.call(f"{path}/release", "POST", {"to": "waiting", "note": "Ask for the receipt."})
        found, seen = [], set()
        for size, metrics in SIZES.items():
            for scheme in ("light", "dark"):
                page = self.page(size=metrics)
                check = self.checker(page, size, scheme, found)
                page.find("#token")
                check("sign-in")
                page.allowed = [r"401 \(Unauthorized\)", LOST]
                page.type("#token", "bln_wrong")
                page.type("#name", "Axel")
                page.keys("Enter")
                page.see("The server does not know this token")
                check("sign-in-refused")
                self.set(page, "#token", "")
                self.set(page, "#name", "")
                self.sign_in(page, "Axel")
                page.wait("rows", "document.querySelector('.row')")
                check("queue")
                tables = self.tables(page)
                for view in tables["views"]:
                    page.press_button(view)
                    check(f"view-{view.lower()}")
                page.type("#search", "zzz")
                page.see("Nothing found")
                check("nothing-found")
                page.press_button("Queue")
                for name, what in (("Alerts", "alerts"), ("Report", "report")):
                    page.press_button(name)
                    self.dismiss(page, what, check, seen)
                self.open(page, "axe001")
                check("thread")
                for name, what in (("Note", "note"), ("Name and tags", "customer"), ("Saved", "saved")):
                    page.press_button(name)
                    self.dismiss(page, what, check, seen)
                page.type("#text", "A text to save")
                page.press_button("Saved")
                page.press_button("Save what is in the entry", "document.querySelector('dialog')")
                page.wait("the form", "document.querySelector('#saved-title')")
                self.dismiss(page, "save", check, seen)
                self.set(page, "#text", "")
                for mode in reversed(tables["modes"]):
                    page.press_button(mode)
                    check(f"composer-{mode.split()[0].lower()}")
                page.type("#text", "https://example.com/returns")
                page.find(".as-link:not([hidden])")
                check("composer-link")
                self.set(page, "#text", "")
                for state, [shown, *more] in tables["offers"].items():
                    self.bring(page, state, tables["offers"])
                    check(f"state-{state}")
                    for name in shown:
                        self.sheet(page, tables["changes"][name], state, check, seen)
                    for name in more[0] if more else []:
                        page.press_button("More")
                        self.sheet(page, {"label": {"release": "To the bot", "close": "Close", "snooze": "Snooze"}[name], "asks": True}, f"{state}-more", check, seen, "document.querySelector('dialog')")
                for key, what in (("?", "keys"),):
                    page.script("document.activeElement.blur()")
                    page.keys(key)
                    self.dismiss(page, what, check, seen)
                page.script("document.querySelector('.switch').click()")
                self.dismiss(page, "closed-text", check, seen)
                if size == "desk" and scheme == "light":
                    self.plant_field(page, ".thread")
                    # 200 % zoom of 1280 pixels is a window of 640.
                    page.size(640, 400)
                    assert page.script("return document.documentElement.scrollWidth") <= 640
                    page.find("#text")
                    self.picture(page, "zoom")
        # Every sheet of the page's modules was open: a new one cannot be forgotten.
        assert len(tables["titles"]) > 5, tables["titles"]
        missing = [one for one in tables["titles"] if not any(title.startswith(one) for title in seen)]
        assert not missing, f"sheets without a check: {missing}; seen {seen}"
        assert not found, "\n".join(found)

    def tables(self, page):
        """The views, kinds of messages, changes and offers of the page's own tables, and the titles of the sheets in its modules."""
        return page.script_async("""const done = arguments[arguments.length - 1];
            (async () => {
                const base = document.querySelector('script[type=module]').src;
                const [list, thread, composer] = await Promise.all(["list", "thread", "composer"].map((name) => import(new URL(`${name}.js`, base).href)));
                const titles = new Set();
                for (const name of ["inbox", "thread", "composer", "dialogs", "alerts", "list", "customer", "saved", "report"]) {
                    const source = await (await fetch(new URL(`${name}.js`, base))).text();
                    for (const [, title] of source.matchAll(/\\b(?:sheet|confirm|ask)\\(["`]([^"`$]+)/gu)) titles.add(title.trim());
                }
                return { views: Object.values(list.views), modes: Object.values(composer.modes), offers: thread.offers, titles: [...titles],
                    changes: Object.fromEntries(Object.entries(thread.changes).map(([name, { label, ask }]) => [name, { label, asks: Boolean(ask) }])) };
            })().then(done, (error) => done(String(error)));""")

    def bring(self, page, state, offers):
        """Brings the conversation into the state, by the API, and waits until the page offers what the state allows."""
        path = f"/v1/businesses/fish/conversations/{self.conversation('axe001')}"
        claim = lambda person: self.server.call(f"{path}/claim", "POST", {"person": person, "take": True})
        if state in ("handler", "closed"):
            claim({"id": "ben", "name": "Ben"})
            self.server.call(f"{path}/release", "POST", {"to": "handler", "note": "Sent a new parcel."}) if state == "handler" else self.server.call(f"{path}/close", "POST", {})
        else:
            claim({"id": "axel", "name": "Axel"} if state == "mine" else {"id": "ben", "name": "Ben"})
            if state == "waiting":
                self.server.call(f"{path}/release", "POST", {"to": "waiting", "note": "Sent a new parcel."})
        page.wait(f"the offers of {state}", "document.querySelector('.thread-actions').dataset.offered === arguments[0]", ",".join(sum(offers[state], [])))
        self.newest(page)

    def sheet(self, page, change, state, check, seen, within="document"):
        """Opens the sheet of a change, if it has one, checks it, and dismisses it."""
        if within != "document":
            self.look(page, state, check, seen)
        if change["asks"]:
            page.press_button(change["label"], within)
            page.wait("a sheet", "document.querySelectorAll('dialog[open]').length === 1 && document.querySelector('dialog h2').innerText !== 'More'")
            self.dismiss(page, f"{state}-{change['label'].split()[0].lower()}", check, seen)

    def look(self, page, screen, check, seen):
        page.find("dialog[open]")
        seen.add(page.script("return document.querySelector('dialog h2').innerText"))
        check(screen)

    def dismiss(self, page, screen, check, seen):
        self.look(page, screen, check, seen)
        # Escape in the thread closes the thread, so the dialog must be open before the key and closed after it.
        page.keys("Escape")
        page.wait("no dialog", "!document.querySelector('dialog')")

    def planted(self):
        self.plant(self.page("Pia", DESK), "/inbox/missing.png", f"http://localhost:{self.server.admin}/livez")

    def manual(self):
        """The picture of the manual; not a test."""
        self.server.write("Good morning, do you have halibut?", "paula1")
        self.server.ask_for_person("paula1")
        self.server.ask_for_person("otto02")
        page = self.page("Ana", DESK)
        page.size(1280, 800, 1)
        self.open(page, "paula1")
        page.press_button("Claim")
        page.see("You have this conversation")
        page.type("#text", "Good morning, this is Ana. Yes, from this morning's boat.")
        page.keys("Enter")
        self.until("the answer at the gateway", lambda: len(self.at_gateway("this is Ana")) == 1)
        page.press_button("All")
        page.wait("two rows", "document.querySelectorAll('.row').length === 2")
        page.see("Accepted by Apple")
        page.script("document.activeElement.blur()")
        self.picture(page, "inbox")

    # Parts of tests

    def newest(self, page):
        """Waits until the thread shows its newest message."""
        page.wait("the newest message in view", "(({ scrollTop, scrollHeight, clientHeight }) => scrollHeight - scrollTop - clientHeight < 2)(document.querySelector('.thread-scroll'))", seconds=5)

    def conversation(self, customer):
        found = self.server.call(f"/v1/businesses/fish/conversations?customer=urn:mbid:AQAA{customer}=")["conversations"]
        return found[0]["id"]


main(Tests)
