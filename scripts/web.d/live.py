"""The phone in Chromium in front of the real `balloon dev`, with a handler that sends every kind of message."""
import base64, json, os, pathlib, re, subprocess, sys, time, urllib.request

from browser import Failure
from device import DeviceSuite
from messages import IMAGES, INVITATION
from person import Person
from server import Server, free_port
from suite import DESK, LOST, PHONE, main

HERE = pathlib.Path(__file__).resolve().parent
# A balloon dev that starts again answers its page with 503 until its server runs.
STARTING = r"/dev/v1\S* - .*503 \("
PICTURES = {one["data"]: f"(image {one['identifier']})" for one in IMAGES}


class Tests(DeviceSuite):
    ALL = ["first_screen", "tasks", "talk", "answers", "answers_by_keys", "invitations", "sign_in", "payment", "profiles", "files", "levers", "misbehaviour", "handler", "gateway_and_replay", "other_handler", "scenario", "stored_scenarios", "queued", "production", "restart_in_a_form", "parts", "refusals", "figures"]

    def serve(self, name):
        if name == "manual":
            return Server(self.options.binary, self.options.web_dir, [sys.executable, str(HERE.parent.parent / "config/handlers/python/pizza.py")], "Pizza Napoli")
        return Server(self.options.binary, self.options.web_dir, [sys.executable, str(HERE / "bot.py")])

    def address(self):
        return self.server.inspector

    def begin(self, size=DESK):
        """The page of a customer with a name."""
        self.server.dev("/customers", "POST", {"business": "fish", "name": "Ann"})
        return self.page(size)

    def entries(self, kind, direction="inbound", customer=None):
        """The entries of a kind in the thread of a customer, of the first one without a name."""
        people = [one["id"] for one in self.server.dev("/customers")["customers"]]
        if customer and customer not in people:
            return []
        return [one for one in self.server.thread(people.index(customer) if customer else 0) if one["kind"] == kind and one["direction"] == direction]

    def newest(self, kind, direction="inbound", count=1, customer=None):
        """The newest entry of a kind, when there are at least `count`."""
        self.until(f"{count} {direction} {kind}", lambda: len(self.entries(kind, direction, customer)) >= count)
        return self.entries(kind, direction, customer)[-1]

    def ask(self, page, words, kind):
        """Makes the handler send a message, and opens its sheet."""
        count = len(self.entries(kind, "outbound")) + 1
        self.say(page, words)
        self.open_bubble(page, kind, self.newest(kind, "outbound", count)["seq"])

    def posted(self, kind, name=None, count=1, customer=None):
        """Compares the newest message of a kind that reached the webhook with the written one, as the server keeps it."""
        delivery = self.server.dev(f"/deliveries/{self.newest(kind, 'inbound', count, customer)['record']}")
        message = delivery["message"]
        customer = customer or self.server.dev("/customers")["customers"][0]["id"]
        assert (message.pop("sourceId"), message.pop("destinationId")) == (customer, "b-1"), delivery
        assert len(message.pop("id")) == 36
        for file in message.get("attachments", []):
            # The key, the signature and the address of a file differ each time.
            assert all(len(str(file.pop(secret))) > 8 for secret in ("key", "signature", "signature-base64", "url", "owner")), file
        text = json.dumps(message, ensure_ascii=False)
        for data, short in PICTURES.items():
            text = text.replace(data, short)
        text = re.sub(r'"tel:\+\d+"', '"(telephone)"', text)
        wanted = json.loads((HERE / "posted" / f"{name or kind}.json").read_text())
        assert json.loads(text) == wanted, f"{name or kind}: {text}"

    # Tests

    def first_screen(self):
        """The first screen is a phone that works: one tap writes the first message, and its story says how it was answered."""
        for size in (DESK, PHONE, (320, 640)):
            page = self.page(size)
            page.see("Write “hi”, and the business answers here.")
            assert page.focus() == "text", page.focus()
            assert not page.script("return document.querySelector('[aria-label=\"Delete the conversation\"]').checkVisibility()"), "there is nothing to delete"
            self.picture(page, f"first-screen-{size[0]}")
            assert page.script("return document.documentElement.scrollWidth") <= size[0]
            page.press_button("Write “hi”")
            page.see("You wrote: hi")
            assert page.script("return document.querySelector('[aria-label=\"Delete the conversation\"]').checkVisibility()")
            if size == DESK:
                page.wait("the story", "[...document.querySelectorAll('.story')].at(-1)?.innerText.includes('hi')")
                page.wait("its end", "[...document.querySelectorAll('.story-end')].at(-1).innerText === 'Answered'")
                # The stages before the customer was known belong to the message's story.
                page.script("[...document.querySelectorAll('.story-head')].at(-1).click()")
                page.wait("the stages", "document.querySelectorAll('.stage').length >= 9")
                names = page.script("return [...document.querySelectorAll('.stage-name')].map((one) => one.innerText)")
                assert names[:3] == ["Token", "Inflate", "Envelope"] and "Journal" in names, names
                self.picture(page, "first-story")
            assert len(self.server.dev("/customers")["customers"]) == 1
            # The page that stays open would make a customer too.
            assert page.complaints() == []
            self.pages.remove(page)
            page.close()
            self.server.dev("/reset", "POST", {})

    def tasks(self):
        """Ten tasks of a developer, each done by visible names alone in at most six actions."""
        page = self.page()
        person = Person(page)

        def done(task, seen, *steps):
            person.do(task, steps)
            page.see(seen, seconds=30)

        tools = ("press", "button", "Tools")
        done("begin a conversation", "You wrote: hi", ("press", "button", "Write “hi”"))
        self.server.dev("/misbehaviour", "PUT", {"rules": ["message=400,times=1"]})
        self.say(page, "Second")
        page.see("Reply not accepted")
        done("find out why the second reply was not sent", "Gateway: status 400", ("press", "link", "Show delivery"))
        page.press_button("Close the details")
        self.say(page, "list")
        done("choose rye and tea from the list", 'Got listPicker: ["a", "tea"]',
             ("press", "button", "Our bread"), ("press", "checkbox", "Rye"), ("press", "radio", "Tea"), ("press", "button", "Send"))
        self.say(page, "pay here")
        done("pay", "the payment: paid", ("press", "button", "Tap to pay"), ("press", "button", "Pay"))
        done("let Apple refuse the next message", "Gateway (1)", tools, ("press", "button", "Gateway"), ("press", "button", "Add"), ("press", "button", "Done"))
        done("replay a message", "Posted 1 time", ("press", "summary", "Customer 1: hi"), ("press", "link", "Handler"), ("press", "button", "Replay…"), ("press", "button", "Replay"))
        page.wait("a second answer", "document.querySelector('.lines').innerText.split('You wrote: hi').length === 3", seconds=30)
        page.press_button("Close the details")
        done("find out why a request with an expired token is refused", "Compare the MSP ID and the secret",
             tools, ("press", "button", "Levers"), ("choose", "Token of the request", "Expired"), ("press", "button", "Use"), ("write", "textbox", "Message", "Too late"), ("key", "Enter"))
        done("send as Apple does again", "Timeline", tools, ("press", "button", "Levers"), ("press", "button", "Set back"))
        page.wait("no levers", "!document.querySelector('.levers-on').checkVisibility()")
        done("record a conversation", "balloon scenario run plays this file in CI.",
             tools, ("press", "button", "Scenario"), ("press", "button", "Record"), ("write", "textbox", "Message", "For the record"), ("key", "Enter"), ("press", "button", "Stop recording"))
        page.keys("Escape")
        self.gone(page)
        done("write with a Mac", "You wrote: From my Mac",
             ("press", "button", "New customer"), ("choose", "Device", "Mac"), ("press", "button", "Add"), ("write", "textbox", "Message", "From my Mac"), ("key", "Enter"))
        done("forget everything", "Only a customer begins a conversation.", tools, ("press", "button", "Reset"), ("press", "button", "Forget"))

    def talk(self):
        """Text there and back, tapback, stages, the parts of a delivery, and the deleted conversation."""
        page = self.begin()
        assert "#t=" not in page.script("return location.href"), "the token is still in the address"
        self.say(page, "Hello, do you have bread? https://example.com/ \U0001f35e")
        page.see("You wrote: Hello, do you have bread?")
        page.see("Accepted by Apple")
        self.posted("text")
        page.wait("stories", "document.querySelectorAll('.story').length > 1")
        self.picture(page, "talk-desk")
        page.script("[...document.querySelectorAll('.react')].at(-1).click()")
        self.sheet(page)
        page.press_button("Loved")
        page.see("You wrote: Loved “You wrote: Hello")
        self.posted("text", "tapback", 2)
        self.posted("typingStart")
        self.say(page, "link")
        page.see("All our bread")
        # A handler that fails once: two attempts, and its standard error in the detail.
        self.say(page, "fail")
        page.see("Failed once")
        page.script("[...document.querySelectorAll('a.record')].at(-1).click()")
        page.see("Attempt 1: postponed, the handler asked for a retry")
        page.see("Attempt 2: done")
        page.see("the oven is cold")
        page.see("Gateway: status 200")
        for text in ("Envelope", "Journal", "Decode", "Record", "Route", "Handler", "Finish", "Gateway"):
            page.see(text)
        page.script("for (const one of document.querySelectorAll('.part')) one.open = true")
        page.see("capability-list")
        assert "eyJ" in page.text() and not page.script("return /eyJ[\\w-]+\\.[\\w-]+\\.[\\w-]{20,}/u.test(document.body.innerText)"), "a signature is shown"
        self.picture(page, "talk-detail")
        page.keys("Escape")
        page.press_button("Delete the conversation")
        page.press_button("Delete", "document.querySelector('dialog')")
        page.see("You deleted this conversation")
        self.posted("close")

    # The ends of a sign-in and a payment besides success: words for the handler, kind, button, file, and the number of this answer.
    OTHER_ENDS = [("sign in", "authentication", "Sign-in fails", "authentication-failure", 2), ("sign in", "authentication", "Cancel the sign-in", "authentication-cancel", 3),
                  ("sign in old", "authentication", "Sign in", "authentication-1", 4), ("sign in old", "authentication", "Sign-in fails", "authentication-1-failure", 5),
                  ("pay", "applePay", "The payment fails", "applePay-failure", 2)]

    def answers(self):
        """Every question is answered by clicks, and what reached the webhook equals the written message."""
        page = self.begin()
        self.say(page, "quick")
        page.press_button("No")
        page.see('Got quickReply: "2"')
        page.wait("no chips after one tap", "!document.querySelector('.chips')")
        self.posted("quickReply")
        self.ask(page, "list", "listPicker")
        page.script("const found = [...document.querySelectorAll('dialog .choice')]; for (const one of [0, 2, 4]) found[one].click()")
        page.press_button("Send", "document.querySelector('dialog')")
        page.see('Got listPicker: ["a", "c", "tea"]')
        self.posted("listPicker")
        self.ask(page, "times", "timePicker")
        page.script("document.querySelectorAll('dialog .choice')[0].click()")
        page.press_button("Send", "document.querySelector('dialog')")
        page.see('Got timePicker: "t1"')
        self.posted("timePicker")
        self.ask(page, "form", "form")
        self.fill_form(page)
        page.press_button("Send", "document.querySelector('dialog')")
        page.see('"cost": ["12.50"]')
        self.posted("form")
        self.ask(page, "sign in", "authentication")
        page.press_button("Sign in", "document.querySelector('dialog')")
        page.see("Got authentication")
        self.posted("authentication")
        self.ask(page, "pay", "applePay")
        page.press_button("Pay", "document.querySelector('dialog .sheet-foot')")
        page.see("Got applePay")
        self.posted("applePay")
        self.ask(page, "app", "app")
        self.set(page, "#app-url", "?parcel=8")
        page.press_button("Send", "document.querySelector('dialog')")
        page.see("Got app")
        self.posted("app")
        self.gone(page)
        for words, kind, label, name, count in self.OTHER_ENDS:
            self.ask(page, words, kind)
            page.press_button(label, "document.querySelector('dialog .sheet-foot')")
            self.gone(page)
            self.posted(kind, name, count)
        assert page.script("return [...document.querySelectorAll('.line')].every((one) => one.checkVisibility())")
        self.picture(page, "answers-desk")

    def answers_by_keys(self):
        """The same messages are sent with keys alone."""
        page = self.begin(PHONE)
        page.wait("the field", "document.activeElement.id === 'text'")

        def ask(words, kind, seen):
            count = len(self.entries(kind, "outbound")) + 1
            page.keys(*words, "Enter")
            seq = self.newest(kind, "outbound", count)["seq"]
            page.wait(f"a bubble of {kind}", f"[...document.querySelectorAll('button.device-card, button.chip')].at(-1)?.closest('.line')?.getAttribute('data-seq') === '{seq}'")
            # From the field for text backwards: the newest message is the nearest.
            for _ in range(20):
                page.keys("BackTab")
                if page.script("return document.activeElement.matches('.device-card, .chip')"):
                    break
            assert page.script("return document.activeElement.matches('.device-card, .chip')"), page.focus()

        ask("quick", "quickReply", "No")
        page.keys("Enter")
        page.see('Got quickReply: "2"')
        self.posted("quickReply")
        ask("list", "listPicker", "Our bread")
        page.keys("Enter")
        self.sheet(page)
        self.tab_to_choice(page, "Rye")
        page.keys("Space", "Tab", "Tab", "Space", "Tab", "Down")
        self.picture(page, "keys-list")
        page.keys("Enter")
        page.see("Got listPicker")
        self.posted("listPicker")
        ask("times", "timePicker", "Book a fitting")
        page.keys("Enter")
        self.sheet(page)
        page.keys("Space", "Enter")
        page.see('Got timePicker: "t1"')
        self.posted("timePicker")
        ask("form", "form", "Complaint")
        page.keys("Enter")
        self.fill_form_by_keys(page)
        page.see('"cost": ["12.50"]')
        self.posted("form")
        ask("sign in", "authentication", "Sign in")
        page.keys("Enter")
        self.sheet(page)
        self.tab_to(page, "Sign in")
        page.keys("Enter")
        page.see("Got authentication")
        self.posted("authentication")
        ask("pay", "applePay", "Halibut")
        page.keys("Enter")
        self.sheet(page)
        self.tab_to(page, "Pay")
        page.keys("Enter")
        page.see("Got applePay")
        self.posted("applePay")
        ask("app", "app", "Parcel Locator")
        page.keys("Enter")
        self.sheet(page)
        page.wait("the field of the URL", "document.activeElement.id === 'app-url'")
        page.keys("End", "Backspace", "8", "Tab", "Enter")
        page.see("Got app")
        self.posted("app")
        for words, kind, label, name, count in self.OTHER_ENDS:
            page.wait("the focus in the field", "document.activeElement.id === 'text'")
            ask(words, kind, label)
            page.keys("Enter")
            self.sheet(page)
            self.tab_to(page, label)
            page.keys("Enter")
            self.gone(page)
            self.posted(kind, name, count)
        page.wait("the focus in the field", "document.activeElement.id === 'text'")
        page.keys(*"Hello, do you have bread? https://example.com/ \U0001f35e", "Enter")
        page.see("You wrote: Hello, do you have bread?")
        self.posted("text", "text", 13)
        # The newest message's reaction is the nearest control before the field.
        self.tab_to(page, "React", "BackTab")
        page.keys("Enter")
        self.sheet(page)
        self.tab_to(page, "Loved")
        page.keys("Enter")
        page.see("You wrote: Loved “You wrote: Hello")
        self.posted("text", "tapback", 14)
        self.posted("typingStart")
        # The first control of the phone deletes the conversation.
        self.tab_to(page, "Delete the conversation", "BackTab", 160)
        page.keys("Enter")
        self.sheet(page)
        self.tab_to(page, "Delete")
        page.keys("Enter")
        page.see("You deleted this conversation")
        self.posted("close")

    def invitations(self):
        """Invitations reach telephone numbers; each is accepted and declined by clicks and by keys."""
        page = self.begin()
        for number, (label, by_keys) in enumerate([("Accept", False), ("Decline", False), ("Accept", True), ("Decline", True)]):
            telephone = f"tel:+155512345{number:02}"
            self.server.call("/v1/businesses/fish/messages", "POST", {"customer": telephone, "message": INVITATION}, **{"Idempotency-Key": f"invitation-{number}"})
            page.wait("the invited customer", "[...document.querySelectorAll('#customer option')].some((one) => one.text === arguments[0])", telephone[4:])
            if by_keys:
                page.script("document.activeElement.blur()")
                for _ in range(10):
                    page.keys("j")
                    if page.script("return document.querySelector('#customer').selectedOptions[0].text") == telephone[4:]:
                        break
                page.wait("the invitation", "document.querySelector('button.device-card')")
                page.keys("m")
                for _ in range(10):
                    page.keys("BackTab")
                    if page.script("return document.activeElement.matches('.device-card')"):
                        break
                page.keys("Enter")
                self.sheet(page)
                self.tab_to(page, label)
                page.keys("Enter")
            else:
                page.choose("#customer", telephone)
                self.open_bubble(page, "invitation", self.newest("invitation", "outbound", 1, telephone)["seq"])
                page.see("would like to send you messages. After a refusal it cannot invite you again.")
                page.press_button(label, "document.querySelector('dialog')")
            self.gone(page)
            if label == "Accept":
                # A customer who accepts writes under an opaque identifier from then on.
                self.posted("invitation", count=1 + number // 2, customer="urn:mbid:AQAAYballoonSimulatedCustomer==")
            else:
                self.posted("close", "close-invitation", customer=telephone)
                page.see("You deleted this conversation")

    def sign_in(self):
        """A request that the server completes is signed in at the provider of balloon dev, over its pages and the server's callback."""
        page = self.begin()
        for label, seen in (("Sign in", "the sign-in: signedIn user-ann"), ("Sign-in fails", "the sign-in: declined"), ("Cancel the sign-in", "the sign-in: ")):
            self.ask(page, "sign in here", "authentication")
            page.see("The phone opens the provider of balloon dev")
            if label == "Sign in":
                self.picture(page, "sign-in-desk")
            page.press_button(label, "document.querySelector('dialog .sheet-foot')")
            self.gone(page)
            page.see(seen)
        page.call("POST", "/refresh")
        page.wait("three answered requests after a reload", "document.querySelectorAll('.folded').length === 3")
        assert not page.script("return Boolean(document.querySelector('button.device-card'))")
        self.tool(page, "Profile")
        page.script("document.querySelector('#field-device').value = 'old-iphone'")
        page.press_button("Save")
        self.gone(page)
        self.ask(page, "sign in here", "authentication")
        page.see("Sign-in of version 1.")
        page.press_button("Sign in", "document.querySelector('dialog .sheet-foot')")
        self.gone(page)
        page.wait("the second sign-in", "document.querySelector('.lines').innerText.split('signedIn user-ann').length === 3")
        page.allowed = [LOST, STARTING, r"409 \("]
        self.ask(page, "sign in here", "authentication")
        self.server.kill()
        self.server.start()
        page.wait("the connection", "!document.body.innerText.includes('Connection lost')", seconds=40)
        page.press_button("Sign in", "document.querySelector('dialog .sheet-foot')")
        page.see("the simulated gateway has forgotten this request; ask the business for another")

    def payment(self):
        """A payment that the server completes goes through its addresses: each selection changes the sums, by clicks and by keys."""
        page = self.begin()
        total = lambda amount: page.wait(f"the total {amount}", "document.querySelector('dialog .amounts .total .amount')?.textContent.includes(arguments[0])", amount)
        self.ask(page, "pay here", "applePay")
        page.see("go through the server's payment addresses")
        total("8.00")
        self.picture(page, "pay-desk")
        page.script("document.querySelectorAll('dialog .choice input')[1].click()")
        total("10.00")
        page.choose("#pay-card", "other")
        total("8.50")
        page.choose("#pay-country", "JP")
        page.see("The sheet shows an error: addressUnserviceable")
        page.choose("#pay-country", "DE")
        total("10.00")
        assert not page.script("return document.querySelector('dialog').innerText.includes('addressUnserviceable')")
        assert page.script("return document.querySelectorAll('dialog .choice').length") == 1
        page.press_button("Pay", "document.querySelector('dialog .sheet-foot')")
        self.gone(page)
        page.see("the payment: paid 10.00")
        page.call("POST", "/refresh")
        page.wait("the paid request after a reload", "document.querySelector('.folded')?.innerText.includes('Paid')")
        assert not page.script("return Boolean(document.querySelector('button.device-card'))")
        self.ask(page, "pay here", "applePay")
        page.press_button("Pay with a declined card", "document.querySelector('dialog .sheet-foot')")
        self.gone(page)
        page.see("the payment: declined 8.00")
        # The same by keys alone.
        page.wait("the focus in the field", "document.activeElement.id === 'text'")
        count = len(self.entries("applePay", "outbound")) + 1
        page.keys(*"pay here", "Enter")
        seq = self.newest("applePay", "outbound", count)["seq"]
        page.wait("the bubble", f"[...document.querySelectorAll('button.device-card')].at(-1)?.closest('.line')?.getAttribute('data-seq') === '{seq}'")
        for _ in range(20):
            page.keys("BackTab")
            if page.script("return document.activeElement.matches('.device-card')"):
                break
        page.keys("Enter")
        self.sheet(page)
        self.tab_to_choice(page, "Bicycle")
        page.keys("Down")
        total("10.00")
        self.tab_to(page, "Pay")
        page.keys("Enter")
        self.gone(page)
        page.wait("the second payment", "document.querySelector('.lines').innerText.split('the payment: paid 10.00').length === 3")
        # A request that the simulated gateway has forgotten cannot be paid.
        page.allowed = [LOST, STARTING, r"409 \("]
        self.ask(page, "pay here", "applePay")
        self.server.kill()
        self.server.start()
        page.wait("the connection", "!document.body.innerText.includes('Connection lost')", seconds=40)
        page.press_button("Pay", "document.querySelector('dialog .sheet-foot')")
        page.see("the simulated gateway has forgotten this request; ask the business for another")

    def profiles(self):
        """The device, the locale, the intent and the group of a customer reach the webhook; a returning customer has the old thread."""
        page = self.begin()
        for number, (device, capability, missing) in enumerate((("ipad", "FORM", "-"), ("mac", "QUICK", "FORM"), ("old-iphone", "LIST", "QUICK"), ("iphone", "FORM", "-"))):
            self.tool(page, "Profile")
            page.script("for (const [name, value] of Object.entries(arguments[0])) document.querySelector(`#field-${name}`).value = value",
                        {"device": device, "locale": "de_DE", "zone": "Europe/Berlin", "intent": f"repair{number}", "group": "bikes"})
            page.press_button("Save")
            self.gone(page)
            self.say(page, f"From {device}")
            page.see(f"You wrote: From {device}")
            delivery = self.server.dev(f"/deliveries/{self.newest('text', 'inbound', number + 1)['record']}")
            announced = delivery["headers"]["capability-list"].split(",")
            assert capability in announced and missing not in announced, announced
            message = delivery["message"]
            assert (message["locale"], message["intent"], message["group"]) == ("de_DE", f"repair{number}", "bikes"), message
        # A customer who is added with a known identifier finds the thread again.
        identifier = self.server.dev("/customers")["customers"][0]["id"]
        self.tool(page, "Reset")
        page.press_button("Forget", "document.querySelector('dialog')")
        page.see("Write “hi”, and the business answers here.")
        self.tool(page, "New customer")
        page.click(".more-fields summary")
        page.type("#field-id", identifier)
        page.press_button("Add", "document.querySelector('dialog')")
        page.see("You wrote: From iphone")

    def files(self):
        """Small and large files reach the handler; the handler's file and picture reach the phone."""
        page = self.begin()
        folder = self.server.path
        (folder / "note.txt").write_text("Two cod.")
        (folder / "large.bin").write_bytes(bytes(range(256)) * 10_000)
        chooser = list(page.script("return document.querySelector('input[type=file]')").values())[0]
        page.call("POST", f"/element/{chooser}/value", {"text": f"{folder / 'note.txt'}\n{folder / 'large.bin'}"})
        page.see("2.6 MB")
        page.type("#text", "Two files")
        page.press_button("Send")
        page.see("Files: note.txt 8, large.bin 2560000")
        self.posted("text", "files")
        page.see("large.bin")
        assert "Being downloaded" not in page.text()
        self.say(page, "file")
        page.see("Here it is")
        page.see("pizza.png")
        self.picture(page, "files-live")
        # Exactly 100 MB are streamed to the handler; one byte more is refused on the phone.
        for name, length in (("whole.bin", 100_000_000), ("over.bin", 100_000_001)):
            with open(folder / name, "wb") as file:
                file.truncate(length)
        page.call("POST", f"/element/{chooser}/value", {"text": str(folder / "over.bin")})
        page.see("over.bin has 100.0 MB; Messages sends at most 100 MB.")
        assert not page.script("return document.querySelector('.chosen-files').checkVisibility()")
        page.call("POST", f"/element/{chooser}/value", {"text": str(folder / "whole.bin")})
        page.press_button("Send")
        page.see("Files: whole.bin 100000000", seconds=60)

    def levers(self):
        """By reference, twice, from two devices, and with three tokens that the webhook refuses."""
        page = self.begin()

        def use(**values):
            self.tool(page, "Levers")
            for name, value in values.items():
                page.script("document.querySelector(arguments[0]).value = arguments[1]", f"#field-{name}", str(value))
            page.press_button("Use")
            self.gone(page)

        use(payload="reference")
        self.ask(page, "list", "listPicker")
        page.script("document.querySelectorAll('dialog .choice')[3].click()")
        page.press_button("Send", "document.querySelector('dialog')")
        page.see('Got listPicker: ["milk"]')
        delivery = self.server.dev(f"/deliveries/{self.newest('listPicker')['record']}")
        assert any(one["stage"] == "resolve" and one["result"] == "done" for one in delivery["stages"]), delivery["stages"]
        use(payload="plain")
        self.ask(page, "list", "listPicker")
        page.script("document.querySelectorAll('dialog .choice')[4].click()")
        page.press_button("Send", "document.querySelector('dialog')")
        page.see('Got listPicker: ["tea"]')
        delivery = self.server.dev(f"/deliveries/{self.newest('listPicker', 'inbound', 2)['record']}")
        assert "interactiveData" in delivery["message"] and not any(one["stage"] == "resolve" and one["result"] == "done" for one in delivery["stages"]), delivery["stages"]
        use(payload="auto", delayMilliseconds=200)
        self.say(page, "Later")
        page.see("You wrote: Later")
        use(delayMilliseconds=0, times=2)
        self.say(page, "Twice")
        page.see("You wrote: Twice")
        page.see("Answered; 1 repeat ignored")
        assert page.text().count("You wrote: Twice") == 1
        use(times=1, devices=2)
        self.say(page, "Two devices")
        page.wait("two answers", "document.querySelector('.lines').innerText.split('You wrote: Two devices').length === 3")
        for token, words in (("wrong", "token is for another MSP"), ("expired", "outside the window"), ("missing", "The webhook answered 401")):
            use(devices=1, token=token)
            self.say(page, f"With a token that is {token}")
            page.see(words)
        assert "With a token" not in page.script("return document.querySelector('.lines').innerText")
        self.tool(page, "Levers")
        page.press_button("Set back")
        self.say(page, "At last")
        page.see("You wrote: At last")

    def misbehaviour(self):
        """Every misbehaviour of the gateway is set on the page; sends and downloads succeed when it is over."""
        page = self.begin()

        def use(*rules):
            self.tool(page, "Gateway")
            while page.script("return Boolean(document.querySelector('.rules button'))"):
                before = page.script("return document.querySelectorAll('.rules button').length")
                page.script("document.querySelector('.rules button').click()")
                page.wait("one rule less", "document.querySelectorAll('.rules button').length < arguments[0]", before)
            for rule in rules:
                endpoint, fault, number, how, count = re.fullmatch(r"(\w+)=(\w+)(?:/(\d+))?,(\w+)=(\d+)", rule).groups()
                retry = ""
                if fault.isdigit():
                    fault, number, retry = "status", fault, number
                self.misbehave(page, fault, number, endpoint, how, count, retry)
            page.press_button("Done", "document.querySelector('dialog')")
            self.gone(page)
            if rules:
                page.see(f"Gateway ({len(rules)})")

        every = [f"{endpoint}={what},every=1000" for endpoint in self.server.dev("")["endpoints"] for what in ("503", "429/7")]
        every += [f"blob={what},every=1000" for what in ("delay/250", "silence", "drop", "expired", "truncate/100", "longer/1", "shorter/1", "garble", "slow/1000", "endless")]
        self.server.dev("/misbehaviour", "PUT", {"rules": every})
        # A reference that has expired is answered with 404.
        assert self.server.dev("/misbehaviour")["rules"] == [one.replace("expired", "404") for one in every], self.server.dev("/misbehaviour")
        for number, (what, seen) in enumerate((("503", "Gateway: status 503"), ("429/1", "Gateway: status 429"), ("drop", "Gateway: status 200"), ("delay/250", "Gateway: status 200"))):
            use(f"message={what},times=1")
            self.say(page, f"While {what}")
            page.see(f"You wrote: While {what}", seconds=30)
            page.script("location.hash = `#/d/${arguments[0]}`", self.newest("text", "inbound", number + 1)["record"])
            page.see(seen, seconds=30)
            page.see("Gateway: status 200", seconds=30)
            page.keys("Escape")
        chooser = list(page.script("return document.querySelector('input[type=file]')").values())[0]
        note = self.server.path / "note.txt"
        note.write_text("Two cod.")
        for number, what in enumerate(("drop", "truncate/4", "longer/1", "shorter/1", "garble", "slow/100")):
            use(f"blob={what},times=1")
            page.call("POST", f"/element/{chooser}/value", {"text": str(note)})
            page.press_button("Send")
            page.wait(f"the file after {what}", "document.querySelector('.lines').innerText.split('Files: note.txt 8').length === arguments[0]", number + 2, seconds=40)
        use()
        assert self.server.dev("/misbehaviour")["rules"] == []

    def handler(self):
        """A slow, a stopped and a killed handler, and the lines of a text in another order."""
        page = self.begin()
        self.say(page, "Before")
        page.see("You wrote: Before")
        self.tool(page, "Handler")
        page.press_button("Stop")
        page.see("stopped: its events wait")
        self.picture(page, "handler-desk")
        self.set(page, "#field-delaySeconds", "0.2")
        page.press_button("Use", "document.querySelector('dialog')")
        self.gone(page)
        self.say(page, "Stopped")
        assert "You wrote: Stopped" not in page.text()
        self.tool(page, "Handler")
        page.press_button("Start", "document.querySelector('dialog')")
        page.wait("the start", "!document.querySelector('dialog').innerText.includes('its events wait')")
        page.press_button("Kill", "document.querySelector('dialog')")
        page.press_button("Cancel", "document.querySelector('dialog')")
        self.gone(page)
        page.see("You wrote: Stopped", seconds=30)
        self.until("a restart", lambda: self.server.dev("/handlers")["handlers"][0]["restarts"] == 1)
        assert self.server.dev("/handlers")["handlers"][0]["delaySeconds"] == 0.2
        self.server.dev("/handler", "POST", {"delaySeconds": 0})
        self.tool(page, "Levers")
        page.script("document.querySelector('#field-order').value = 'shuffled'")
        page.press_button("Use")
        self.gone(page)
        page.press_button("Levers: order shuffled")
        self.sheet(page)
        page.press_button("Cancel", "document.querySelector('dialog')")
        self.gone(page)
        self.set(page, "#text", "one\ntwo\nthree")
        page.script("document.querySelector('#text').focus()")
        page.keys("Enter")
        for words in ("one", "two", "three"):
            page.see(f"You wrote: {words}")
        order = [one["line"]["message"]["body"] for one in self.server.thread() if one["kind"] == "text" and one["direction"] == "inbound"][-3:]
        assert sorted(order) == ["one", "three", "two"] and order != ["one", "two", "three"], order

    def other_handler(self):
        """The message is shown to another handler; its replies reach the customer when they are sent."""
        page = self.begin()
        self.say(page, "Hello")
        page.see("You wrote: Hello")
        page.script("[...document.querySelectorAll('a.record')].at(-1).click()")
        page.see("State: changed")
        page.script("document.querySelector('.state-change').open = true")
        page.see('"count": 1')
        page.press_button("Replay")
        self.sheet(page)
        other = self.server.path / "other.py"
        other.write_text((HERE / "bot.py").read_text().replace("pathlib.Path(__file__).resolve().parent", f"pathlib.Path({str(HERE)!r})").replace("You wrote:", "The other one read:"))
        other.chmod(0o755)
        self.set(page, "#replay-to", str(other))
        page.press_button("Replay", "document.querySelector('dialog')")
        page.see("Replies of the other handler", seconds=30)
        page.see("The other one read: Hello")
        self.picture(page, "trial-desk")
        assert "The other one read" not in page.script("return document.querySelector('.lines').innerText")
        page.press_button("Send these replies")
        page.see("Sent: accepted")
        page.press_button("Done")
        self.gone(page)
        page.wait("the reply in the thread", "document.querySelector('.lines').innerText.includes('The other one read: Hello')")
        page.allowed = [r"422 \("]
        page.press_button("Replay")
        self.sheet(page)
        self.set(page, "#replay-to", "./nothing.py")
        page.press_button("Replay", "document.querySelector('dialog')")
        page.see("the program cannot be started")

    def stored_scenarios(self):
        """A scenario is stored in the server's folder, opened again, and played at once and slowly."""
        page = self.begin()
        self.tool(page, "Scenario")
        page.see("The folder has no scenario")
        scenario = {"format": 1, "steps": [{"send": "Hello"}, {"expect": [{"type": "text", "body": "You wrote: Hello"}], "withinSeconds": 10}]}
        self.set(page, "#scenario", json.dumps(scenario))
        self.set(page, "#scenario-name", "a/b")
        page.press_button("Save to folder")
        page.see("A name has letters, digits, - and _.")
        self.set(page, "#scenario-name", "hello")
        page.press_button("Save to folder")
        page.see("Saved hello with 2 steps.")
        assert json.loads((self.server.path / "scenarios" / "hello.json").read_text()) == scenario
        self.set(page, "#scenario", "{}")
        page.script("const one = document.querySelector('#scenario-stored'); one.value = ''; one.value = 'hello'; one.dispatchEvent(new Event('change'))")
        page.wait("the scenario", "document.querySelector('#scenario').value.includes('You wrote: Hello')")
        page.press_button("Play slowly")
        page.see("Passed: 2 steps")
        self.picture(page, "stored-scenario-desk")
        self.set(page, "#scenario", json.dumps(scenario).replace("You wrote", "You sang"))
        page.script("document.querySelector('dialog .primary').click()")
        page.see("Failed: 1 of 2 steps")
        page.see("got \"You wrote: Hello\"")

    def queued(self):
        """A reply that the gateway refuses for now is shown as queued, also after a restart of the server."""
        page = self.begin()
        self.server.dev("/misbehaviour", "PUT", {"rules": ["message=503"]})
        self.say(page, "Hello")
        page.see("You wrote: Hello")
        page.see("Queued; tried")
        page.allowed = [LOST, STARTING]
        self.server.kill()
        page.see("Connection lost")
        self.server.options += ["--misbehave", "message=503"]
        self.server.start()
        page.wait("the connection", "!document.body.innerText.includes('Connection lost')", seconds=40)
        page.call("POST", "/refresh")
        page.see("You wrote: Hello")
        assert page.script("return document.querySelector('.lines').innerText").count("You wrote: Hello") == 1
        self.server.dev("/misbehaviour", "PUT", {"rules": []})
        page.see("Accepted by Apple", seconds=40)
        assert page.script("return document.querySelector('.lines').innerText").count("You wrote: Hello") == 1

    def production(self):
        """The page of `balloon serve` has the timeline and the deliveries, and nothing that changes them."""
        folder = self.server.path / "production"
        (folder / "businesses").mkdir(parents=True)
        listen, inspector = free_port(), free_port()
        (folder / "server.json").write_text(json.dumps({
            "mspID": "m", "secret": {"env": "BALLOON_SECRET"}, "adminListen": "off", "dataDirectory": str(folder / "data"),
            "listen": f"127.0.0.1:{listen}", "inspectorListen": f"127.0.0.1:{inspector}"}))
        (folder / "businesses" / "fish.json").write_text(json.dumps({"businessID": "b-2", "name": "Fish", "handler": {"builtin": "none"}}))
        environment = {**os.environ, "BALLOON_SECRET": base64.b64encode(bytes(32)).decode(), "BALLOON_INSPECTOR_TOKEN": "token-of-production"}
        server = subprocess.Popen([self.options.binary, "serve", "--config", str(folder / "server.json")], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{inspector}/", timeout=2)
                    break
                except OSError:
                    time.sleep(0.1)
            page = self.page(DESK, f"http://127.0.0.1:{inspector}/#t=token-of-production", customer=False)
            page.see("Nothing happened yet")
            del environment["BALLOON_INSPECTOR_TOKEN"]
            subprocess.run([self.options.binary, "simulate", "text", "--text", "Hello", "--config", str(folder / "server.json"), "--to", f"http://127.0.0.1:{listen}"],
                           env=environment, check=True, capture_output=True, timeout=60)
            page.wait("the message", "document.querySelector('.story')")
            page.click(".story-head")
            page.wait("the stages", "document.querySelectorAll('a.stage').length > 3")
            page.script("[...document.querySelectorAll('a.stage')][0].click()")
            page.see("Copy as curl")
            page.see("Hello")
            self.picture(page, "production-desk")
            buttons = page.script("return [...document.querySelectorAll('button')].filter((one) => one.checkVisibility()).map((one) => one.innerText.trim())")
            assert not {"Replay…", "New", "Levers", "Gateway", "Handler", "Scenario", "Reset"} & set(buttons), buttons
            assert not page.script("return document.querySelector('.phone-pane').checkVisibility()")
            page.size(*PHONE)
            page.keys("Escape")
            page.wait("the timeline", "document.querySelector('.timeline-pane').checkVisibility()")
            assert page.script("return document.documentElement.scrollWidth") <= PHONE[0]
            # The page loses its server before its console is read.
            page.allowed = [LOST]
        finally:
            server.terminate()
            server.wait(timeout=60)

    def gateway_and_replay(self):
        """A gateway that fails once is tried twice; a replay posts the message again, as it was and edited."""
        page = self.begin()
        self.tool(page, "Gateway")
        self.misbehave(page, "status", "503")
        page.press_button("Done", "document.querySelector('dialog')")
        page.see("Gateway (1)")
        self.say(page, "Hello")
        page.see("You wrote: Hello", seconds=30)
        page.wait("no rule any more", "!document.body.innerText.includes('Gateway (1)')")
        page.script("[...document.querySelectorAll('a.record')].at(-1).click()")
        page.see("Gateway: status 503")
        page.see("Gateway: status 200")
        self.picture(page, "gateway-desk")
        page.press_button("Replay")
        self.sheet(page)
        page.press_button("Replay", "document.querySelector('dialog')")
        page.wait("a second answer", "document.querySelector('.lines').innerText.split('You wrote: Hello').length === 3")
        page.press_button("Replay")
        self.sheet(page)
        message = json.loads(page.script("return document.querySelector('#replay-json').value"))
        self.set(page, "#replay-json", json.dumps({**message, "body": "Hello, edited"}))
        self.set(page, "#replay-times", "3")
        page.press_button("Replay", "document.querySelector('dialog')")
        page.see("Posted 3 times")
        page.wait("three answers", "document.querySelector('.lines').innerText.split('You wrote: Hello, edited').length === 4")

    def scenario(self):
        """A conversation is recorded; the file is checked while it is edited, and plays without a browser."""
        page = self.begin()
        self.tool(page, "Scenario")
        page.press_button("Record")
        self.gone(page)
        self.say(page, "Hello")
        page.see("You wrote: Hello")
        self.say(page, "quick")
        page.press_button("No")
        page.see('Got quickReply: "2"')
        self.ask(page, "form", "form")
        self.fill_form(page)
        page.press_button("Send", "document.querySelector('dialog')")
        page.see('"cost": ["12.50"]')
        self.gone(page)
        page.press_button("Stop recording, 10 steps")
        self.sheet(page)
        self.picture(page, "scenario-desk")
        text = page.script("return document.querySelector('#scenario').value")
        scenario = json.loads(text)
        kinds = [next(iter(step)) for step in scenario["steps"]]
        assert kinds == ["send", "expect", "send", "expect", "answer", "expect", "send", "expect", "answer", "expect"], kinds
        assert scenario["steps"][:2] == [{"send": "Hello"}, {"expect": [{"type": "text", "body": "You wrote: Hello"}], "withinSeconds": 10}], text
        assert scenario["steps"][4] == {"answer": {"choice": {"items": ["No"]}}}, text
        for wrong, words in (("{", "This is not JSON yet"), ("{}", "“format”: 1"), ('{"format": 1, "steps": []}', "a list that is not empty"), ('{"format": 1, "steps": [{"send": "a", "none": 1}]}', "Step 1 must have one of")):
            self.set(page, "#scenario", wrong)
            page.see(words)
            assert page.script("return [...document.querySelectorAll('dialog button')].find((one) => one.innerText === 'Download').disabled")
        file = self.server.path / "scenario.json"
        file.write_text(text)
        played = subprocess.run([self.options.binary, "scenario", "run", str(file), "--handler", str(HERE / "bot.py")], capture_output=True, text=True, timeout=90)
        assert played.returncode == 0, played.stdout + played.stderr

    def restart_in_a_form(self):
        """The server is killed while a form is filled in: the page says so, heals, and the form can be sent."""
        page = self.begin()
        self.say(page, "Before")
        page.see("You wrote: Before")
        self.ask(page, "form", "form")
        page.press_button("Start")
        page.see("What happened?")
        page.script("document.querySelectorAll('dialog .choice')[0].click()")
        page.press_button("Next")
        page.see("Which parts?")
        page.allowed = [LOST, STARTING]
        self.server.kill()
        page.see("Connection lost")
        self.picture(page, "lost-desk")
        page.script("document.querySelectorAll('dialog .choice')[0].click()")
        page.press_button("Next")
        page.see("When?")
        page.press_button("Next")
        page.see("Region")
        page.press_button("Next")
        page.type("#form-input", "7")
        page.press_button("Next")
        page.see("Summary")
        page.press_button("Send", "document.querySelector('dialog')")
        page.wait("the reason in the sheet", "document.querySelector('dialog [role=alert]')?.innerText.includes('does not answer')")
        self.picture(page, "lost-form")
        self.server.start()
        page.wait("the connection", "!document.body.innerText.includes('Connection lost')", seconds=40)
        page.see("You wrote: Before")
        page.press_button("Send", "document.querySelector('dialog')")
        page.see('"cost": ["7"]')
        self.gone(page)
        # After a reload thread and form are there again, and the stages of the new process.
        page.call("POST", "/refresh")
        page.see("You wrote: Before")
        page.see('"cost": ["7"]')
        page.wait("the folded form", "document.querySelector('.folded')")
        page.wait("stories", "document.querySelector('.story')")

    def parts(self):
        """Details and sheets are loaded when they are first opened; while the server is gone the page says so, and tries again."""
        page = self.begin()
        self.say(page, "Hello")
        page.see("You wrote: Hello")
        page.allowed = [LOST, STARTING]
        self.server.kill()
        page.see("Connection lost")
        page.press_button("Tools")
        page.press_button("Scenario")
        page.see("A part of the page cannot be loaded.")
        page.script("[...document.querySelectorAll('a.record')].at(-1).click()")
        page.see("The details cannot be shown")
        self.picture(page, "lost-detail")
        self.server.start()
        page.wait("the connection", "!document.body.innerText.includes('Connection lost')", seconds=40)
        page.press_button("Try again")
        page.see("Copy as curl")
        page.keys("Escape")
        self.tool(page, "Scenario")

    def refusals(self):
        """A wrong token, a foreign host and an unknown delivery each have a sentence that says what to do."""
        page = self.page(PHONE, f"http://127.0.0.1:{self.server.page}/", customer=False)
        page.allowed = [r"401 \(", r"404 \(", r"421 \("]
        page.type("#token", "wrong")
        page.keys("Enter")
        page.see("The server does not know this token")
        self.picture(page, "token-phone")
        self.set(page, "#token", "")
        page.type("#token", self.server.inspector)
        page.keys("Enter")
        page.see("Write “hi”")
        page.script("location.hash = '#/d/999'")
        page.see("The server has no delivery with this number")
        status, detail = self.server.foreign("/dev/v1")
        assert status == 421 and "use 127.0.0.1, or start with --inspector-host NAME" in detail, (status, detail)

    def figures(self):
        """Prints the medians of 7 first paints and of 7 times from a tap to the webhook's answer, and the sizes of the page's files, which have limits."""
        page = self.begin()
        paints, taps = [], []
        for _ in range(7):
            page.go("about:blank")
            page.go(self.address())
            page.find("#text")
            paints.append(page.script("return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"))
        page.script("""window.answered = 0; const real = window.fetch; window.fetch = async (...all) => {
            const answer = await real(...all); if (String(all[0]).endsWith('/messages')) answered = performance.now(); return answer; }""")
        for number in range(7):
            page.type("#text", f"T{number}")
            page.wait("the typing indicator", "answered > 0")
            page.script("window.begun = performance.now(); answered = 0; document.querySelector('.send').click()")
            page.wait("the webhook's answer", "answered > 0")
            taps.append(page.script("return answered - begun"))
            page.script("answered = 0")
        def sizes(addresses):
            found = [self.server.sizes(address) for address in addresses]
            return sum(one for one, _ in found), sum(one for _, one in found)

        loaded = "return ['/', ...new Set(performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname).filter((one) => one.startsWith('/assets/')))]"
        first = sizes(page.script(loaded))
        # Each sheet is loaded when it is first opened.
        self.ask(page, "list", "listPicker")
        page.keys("Escape")
        self.gone(page)
        for name in ("Levers", "Scenario"):
            self.tool(page, name)
            page.keys("Escape")
            self.gone(page)
        page.script("[...document.querySelectorAll('a.record')].at(-1).click()")
        page.see("Copy as curl")
        page.script("[...document.querySelectorAll('.react')].at(-1).click()")
        self.sheet(page)
        every = sizes(page.script(loaded))
        print(f"web: live: first paint {sorted(paints)[3]:.0f} ms, from tap to the webhook's answer {sorted(taps)[3]:.0f} ms; {first[0]:,} bytes of files, {first[1]:,} sent at first; {every[0]:,}, {every[1]:,} with every sheet", flush=True)
        assert first[0] <= 120_000 and first[1] <= 40_000 and every[0] <= 200_000 and every[1] <= 66_000, (first, every)

    def manual(self):
        """The picture of the manual; not a test."""
        page = self.begin()
        page.size(1140, 620, 1)
        self.say(page, "I would like a pizza")
        self.open_bubble(page, "listPicker", self.newest("listPicker", "outbound")["seq"])
        page.script("const found = [...document.querySelectorAll('dialog .choice')]; for (const one of [0, 3]) found[one].click()")
        page.press_button("Send", "document.querySelector('dialog')")
        self.gone(page)
        self.newest("timePicker", "outbound")
        page.wait("the time picker", "[...document.querySelectorAll('.device-card')].some((one) => one.innerText.includes('When shall we bring it?'))")
        page.script("[...document.querySelectorAll('a.record')].at(-1).click()")
        page.see("Gateway: status 200")
        page.script("document.activeElement.blur()")
        self.picture(page, "phone")

    def tab_to_choice(self, page, title):
        for _ in range(20):
            if page.script("return document.activeElement.closest('.choice')?.innerText.includes(arguments[0])", title):
                return
            page.keys("Tab")
        raise Failure(f"the tab key does not reach {title}")


if __name__ == "__main__":
    main(Tests)
