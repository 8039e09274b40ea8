"""The phone on the desk in Chromium, in front of a server that plays its operations from fixtures."""
import copy, pathlib, re, time

from browser import Page
from desk import CUSTOMER, Desk
from device import DeviceSuite
from messages import FORM, IMAGES, LIST, PAYMENT, SIGN_IN, SIGN_IN_1, TIMES, form
from suite import DESK, PHONE, SIZES, main

# The same list and times with an image that the message lacks, and with a start that a device cannot read.
BROKEN_LIST = copy.deepcopy(LIST)
BROKEN_LIST["listPicker"]["sections"][0]["items"][1]["imageIdentifier"] = "9"
BROKEN_TIMES = copy.deepcopy(TIMES)
BROKEN_TIMES["event"]["timeslots"].append({"identifier": "t3", "startTime": "tomorrow", "duration": 60})


class Tests(DeviceSuite):
    ALL = ["kinds", "choices", "form_by_keys", "form_by_clicks", "outcomes", "refused_choice", "devices", "question", "long_press", "cards", "narrow", "hostile", "composer", "typing", "timeline", "flood", "detail", "levers_and_profile", "long_thread", "keys_alone",
           "wrong_token", "storage_off", "everybody", "planted"]

    def serve(self, name):
        return Desk(self.options.web_dir or "Sources/CWeb/web")

    def show_all(self):
        """One message of every kind."""
        desk = self.server
        desk.add("text", {"type": "text", "body": "Hello, do you have bread?"}, "inbound")
        desk.add("text", {"type": "text", "body": "Yes! See https://example.com/bread for all of them."})
        desk.add("text", {"type": "text", "body": "\U0001f35e\U0001f950"})
        desk.add("text", {"type": "richLink", "richLinkData": {"url": "https://example.com/", "title": "All our bread", "assets": {"image": {"data": IMAGES[1]["data"], "mimeType": "image/png"}}}})
        desk.interactive("listPicker", BROKEN_LIST, {"title": "Our bread", "subtitle": "Choose what you like", "imageIdentifier": "1", "style": "small"})
        desk.interactive("timePicker", BROKEN_TIMES, {"title": "Book a fitting", "subtitle": "Three times are free", "imageIdentifier": "1", "style": "icon"})
        desk.interactive("form", FORM, {"title": "Complaint", "subtitle": "Tell us what happened", "imageIdentifier": "2", "style": "large"})
        desk.interactive("authentication", SIGN_IN_1, {"title": "Sign in"})
        desk.interactive("authentication", SIGN_IN, {"title": "Sign in again"})
        desk.interactive("applePay", {"images": IMAGES, **PAYMENT}, {"title": "Halibut", "subtitle": "$63.99 at Sam's Fish", "imageIdentifier": "2", "style": "large"})
        desk.interactive("app", {}, {"title": "Parcel Locator", "subtitle": "Open the map", "imageTitle": "Parcel 7"}, appName="Parcels", appId=1, appIcon=IMAGES[0]["data"], URL="?parcel=7")
        desk.interactive("invitation", {"notification": {"templateId": "binaryChoice.engage.noImage", "referenceId": "r", "parameters": {"brandName": "Sam's Fish"}}})
        desk.add("unrecognized", {"type": "interactive", "interactiveData": {"bid": "x", "data": {"seatPicker": {"row": 12}}}})
        desk.add("listPicker", {"type": "interactive", "interactiveData": {"data": {"images": IMAGES, "listPicker": {"sections": []}, "replyMessage": {"title": "Rye", "alternateTitle": "Our bread", "imageIdentifier": "1", "style": "small"}}}}, "inbound")
        desk.interactive("quickReply", {"quick-reply": {"summaryText": "Anything else?", "items": [{"identifier": "1", "title": "Yes, please"}, {"identifier": "2", "title": "No"}]}})

    def open(self, page, kind):
        """Opens the sheet of the newest message of a kind."""
        seq = next(one["seq"] for one in reversed(self.server.thread) if one["kind"] == kind and one["direction"] == "outbound")
        self.open_bubble(page, kind, seq)

    def posted(self, end, count=1):
        """The bodies that the page sent to an operation."""
        found = lambda: [body for _, path, body in self.server.posted if path.endswith(end)]
        self.until(f"{count} requests to {end}", lambda: len(found()) >= count)
        return found()

    def choice(self, count=1):
        return self.posted("/answers", count)[-1]["choice"]

    # Tests

    def kinds(self):
        self.show_all()
        for size, metrics in SIZES.items():
            page = self.page(metrics)
            for text in ["Our bread", "Book a fitting", "Complaint", "Sign in again", "Halibut", "Parcel Locator", "would like to send you messages here.", "Unknown message", "Yes, please"]:
                page.see(text)
            page.script("document.querySelector('.raw summary').click()")
            page.see("seatPicker")
            for style, height in (("icon", 65), ("small", 85), ("large", 200)):
                assert page.script(f"return Math.min(...[...document.querySelectorAll('.device-card.{style}')].map((one) => one.offsetHeight))") >= height, style
            cut = page.script("return [...document.querySelectorAll('.device-card')].filter((one) => one.scrollHeight > one.clientHeight + 1).map((one) => one.innerText)")
            assert not cut, cut
            self.picture(page, f"phone-kinds-{size}")
            for place in (0, 0.4, 0.7):
                page.script("const one = document.querySelector('.thread-scroll'); one.scrollTop = one.scrollHeight * arguments[0]", place)
                self.picture(page, f"phone-kinds-{size}-{int(place * 10)}")
            assert page.script("return document.documentElement.scrollWidth") <= metrics[0]
            assert "elivered" not in page.text(), "Apple never says that a message was delivered"

    def choices(self):
        self.show_all()
        page = self.page()
        page.press_button("No")
        assert self.choice() == {"items": ["No"], "fills": []}, self.choice()
        page.wait("no chips after one tap", "!document.querySelector('.chips')", seconds=5)
        self.open(page, "listPicker")
        legends = page.script("return [...document.querySelectorAll('dialog legend')].map((one) => one.innerText)")
        assert [one.split()[0] for one in legends] == ["Bread", "Drinks"], legends
        assert page.script("return [...document.querySelectorAll('dialog .choice-title')].map((one) => one.innerText)") == ["Rye", "Same", "Same", "Milk", "Tea"]
        page.see("The message has no image “9”")
        self.picture(page, "sheet-list")
        assert page.script("return document.querySelector('dialog .sheet-foot button').disabled")
        page.script("const found = [...document.querySelectorAll('dialog .choice')]; for (const one of [0, 2, 4]) found[one].click()")
        page.press_button("Send", "document.querySelector('dialog')")
        self.gone(page)
        assert self.choice(2) == {"items": ["Rye", "3", "Tea"], "fills": []}, self.choice()
        page.wait("the folded question", "[...document.querySelectorAll('.folded')].some((one) => one.innerText.includes('Our bread'))")
        page.see("Anything else?")
        self.tool(page, "Levers")
        self.set(page, "#field-devices", "2")
        page.press_button("Use")
        self.gone(page)
        # A second device answers what is answered already.
        self.open(page, "listPicker")
        page.keys("Escape")
        self.gone(page)
        self.open(page, "timePicker")
        page.see("Time zone of the event, GMT−05:00")
        page.see("10:00")
        page.see("Clashes with “Lunch”")
        page.see("A device cannot read the start of time 3")
        self.picture(page, "sheet-times")
        page.script("document.querySelectorAll('dialog .choice')[0].click()")
        page.press_button("Send", "document.querySelector('dialog')")
        self.gone(page)
        assert self.choice(3) == {"items": ["2"], "fills": []}, self.choice()
        self.server.interactive("timePicker", {"event": {**TIMES["event"], "timezoneOffset": None}}, {"title": "Own zone"})
        page.see("Own zone")
        self.open(page, "timePicker")
        page.see("Your time zone, Europe/Berlin")
        page.see("16:00")
        page.keys("Escape")
        self.gone(page)
        # The bubble of an answer has the zone of the event too, and that of the device when the event has none.
        for offset, clock in ((-300, "10:00"), (None, "04:00 PM")):
            slot = {**TIMES["event"], "timezoneOffset": offset, "timeslots": TIMES["event"]["timeslots"][1:]}
            self.server.add("timePicker", {"type": "interactive", "interactiveData": {"data": {"event": slot, "requestIdentifier": f"other{offset}", "replyMessage": {}}}}, "inbound")
            page.wait(f"the time {clock}", "[...document.querySelectorAll('.own .device-card')].at(-1)?.innerText.includes(arguments[0])", clock)

    def question(self):
        """The question stands above its choices; without one the phone says so. After the tap the summary stands in their place."""
        chips = {"quick-reply": {"summaryText": "In short", "items": [{"identifier": "1", "title": "Yes, please"}, {"identifier": "2", "title": "No"}]}}
        self.server.interactive("quickReply", chips)
        page = self.page()
        page.see("No question stands above these choices")
        self.server.add("text", {"type": "text", "body": "Anything else?"})
        self.server.interactive("quickReply", chips)
        page.wait("the second chips", "document.querySelectorAll('.chips').length === 2")
        assert page.text().count("No question stands above") == 1 and "In short" not in page.text()
        page.script("[...document.querySelectorAll('.chips')].at(-1).querySelector('button').click()")
        page.wait("the summary", "document.querySelector('.lines').innerText.includes('In short')")
        assert not page.script("return Boolean(document.querySelector('.lines .faint'))"), "the summary is in italics"

    def long_press(self):
        """A long press on a message shows its number and its reaction; a short press does not."""
        self.server.add("text", {"type": "text", "body": "Tap me"}, "inbound")
        self.server.add("text", {"type": "text", "body": "Hold me"})
        page = self.page(PHONE)
        page.see("Hold me")
        shown = "[...document.querySelectorAll('.line')].map((one) => getComputedStyle(one.querySelector('.meta')).opacity).join()"

        def touch(number):
            x, y = page.script("const box = document.querySelectorAll('.bubble')[arguments[0]].getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]", number)
            page.devtools("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})

        release = lambda: page.devtools("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        touch(0)
        release()
        # By the time of the second press the first one would have been long enough.
        touch(1)
        page.wait("the held message", f"{shown} === '0,1'")
        release()
        assert page.script("return document.querySelector('.held .react').checkVisibility() && document.querySelector('.held a.record').innerText === '#52'")
        self.picture(page, "long-press-phone")
        page.click(".held .react")
        self.sheet(page)
        page.press_button("Loved")
        assert self.posted("/messages")[0] == {"tapback": {"type": "loved", "to": "id-2"}}
        touch(0)
        page.wait("the other message", "[...document.querySelectorAll('.line')].map((one) => one.classList.contains('held')).join() === 'true,false'")
        release()

    def narrow(self):
        """At 320 pixels nothing is cut off, the tools are one menu, and the buttons of a payment are in reach."""
        self.show_all()
        page = self.page((320, 640))
        page.see("Yes, please")
        wide = "return [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility() && one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('pre, .visually-hidden')).map((one) => one.outerHTML.slice(0, 120))"
        self.open(page, "applePay")
        assert page.script("return [...document.querySelectorAll('dialog .sheet-foot button')].every((one) => { const box = one.getBoundingClientRect(); return box.top > 0 && box.bottom <= innerHeight; })"), "a button of the payment is out of reach"
        self.picture(page, "narrow-pay")
        assert not page.script(wide), page.script(wide)
        page.keys("Escape")
        self.gone(page)
        self.tool(page, "Gateway")
        self.picture(page, "narrow-gateway")
        assert not page.script(wide), page.script(wide)
        self.misbehave(page, "status", "503")
        page.press_button("Done", "document.querySelector('dialog')")
        self.gone(page)
        page.see("Gateway (1)")
        self.picture(page, "narrow-changes")
        assert not page.script(wide), page.script(wide)
        assert page.script("return document.querySelector('#customer').offsetWidth") > 100, "the customer is cut off"
        page.press_button("Tools")
        self.picture(page, "narrow-tools")
        assert not page.script(wide), page.script(wide)
        page.keys("Escape")
        self.server.tell(*self.story(0), *self.story(1, 9, result="failed", reason="status 400", status=400))
        page.press_button("Timeline")
        self.stories(page, 2)
        self.picture(page, "narrow-timeline")
        assert not page.script(wide), page.script(wide)

    def cards(self):
        """A payment shows its mark and amount; a picker has its picture; files and videos are shown as what they are."""
        self.show_all()
        self.server.add("text", {"type": "richLink", "richLinkData": {"url": "https://example.com/film", "title": "How we bake", "assets": {"video": {"url": "https://example.com/film.mp4", "mimeType": "video/mp4"}, "image": {"data": IMAGES[1]["data"], "mimeType": "image/png"}}}})
        self.server.add("text", {"type": "text", "body": "Look", "attachments": [{"name": "bread.png", "mimeType": "image/png", "size": "300"}, {"name": "film.mp4", "mimeType": "video/mp4", "size": "3000"}]}, "inbound")
        page = self.page(DESK)
        page.see("Apple Pay")
        for text in ("$63.99", "Tap to pay", "Tap to sign in", "Tap to choose", "Video"):
            page.see(text)
        assert page.script("return [...document.querySelectorAll('.device-card')].find((one) => one.innerText.includes('Our bread')).querySelector('img') !== null")
        page.wait("the customer's own picture", "document.querySelector('.own .photo img')?.naturalWidth > 0")
        page.see("Video, 3 kB")
        page.wait("the mark of a linked video", "document.querySelector('.rich-link .video-mark')")
        self.picture(page, "cards-desk")

    FILLS = [{"page": "kind", "value": "Broken"}, {"page": "parts", "value": "Lid"}, {"page": "parts", "value": "Box"}, {"page": "when", "value": "2025-11-03"},
             {"page": "where", "value": "South"}, {"page": "cost", "value": "12.50"}]

    def form_by_clicks(self):
        self.show_all()
        page = self.page(PHONE)
        self.open(page, "form")
        page.see("Your answers are private.")
        self.picture(page, "form-splash-phone")
        page.press_button("Start")
        page.see("What happened?")
        page.script("document.querySelectorAll('dialog .choice')[1].click()")
        page.press_button("Next")
        page.see("When?")
        page.press_button("Back", "document.querySelector('dialog')")
        page.see("What happened?")
        assert page.script("return document.querySelector('dialog input:checked').value") == "1", "the answer is forgotten"
        page.script("document.querySelectorAll('dialog .choice')[0].click()")
        self.picture(page, "form-select-phone")
        page.press_button("Next")
        page.see("Which parts?")
        page.script("for (const one of document.querySelectorAll('dialog .choice')) one.click()")
        page.press_button("Next")
        page.see("When?")
        self.set(page, "#form-date", "2025-11-25")
        page.see("The latest date is 11/20/2025.")
        self.set(page, "#form-date", "2025-11-03")
        page.press_button("Next")
        page.see("Region")
        page.press_button("Next")
        page.type("#form-input", "12,50")
        page.see("This does not fit the expected form.")
        assert page.script("return document.querySelector('#form-input').inputMode") == "decimal"
        self.picture(page, "form-input-phone")
        self.set(page, "#form-input", "")
        page.type("#form-input", "12.50")
        page.press_button("Next")
        page.see("Summary")
        page.see("$12.50")
        page.see("Lid, Box")
        self.picture(page, "form-summary-phone")
        page.press_button("Send", "document.querySelector('dialog')")
        self.gone(page)
        assert self.choice() == {"items": [], "fills": self.FILLS}, self.choice()

    def form_by_keys(self):
        self.show_all()
        page = self.page()
        page.wait("the bubble", "document.querySelector('button.device-card.large')")
        page.script("document.querySelector('button.device-card.large').focus()")
        page.keys("Enter")
        self.fill_form_by_keys(page)
        assert self.choice() == {"items": [], "fills": self.FILLS}, self.choice()
        page.wait("the focus on the phone", "document.activeElement.id === 'text'")

    def outcomes(self):
        self.show_all()
        page = self.page()
        wanted = []

        def answer(kind, label, choice, picture=None):
            # An answered question cannot be opened again.
            if picture is None:
                self.show_all()
            self.open(page, kind)
            if picture:
                self.picture(page, picture)
            page.press_button(label, "document.querySelector('dialog')")
            self.gone(page)
            wanted.append(choice)
            assert self.choice(len(wanted)) == choice, self.choice()

        answer("authentication", "Sign in", {"items": [], "fills": [], "outcome": "success"}, "sheet-sign-in")
        answer("authentication", "Sign-in fails", {"items": [], "fills": [], "outcome": "failure"})
        answer("authentication", "Cancel the sign-in", {"items": [], "fills": [], "outcome": "cancel"})
        answer("applePay", "Pay", {"items": [], "fills": [], "outcome": "success"}, "sheet-pay")
        answer("applePay", "The payment fails", {"items": [], "fills": [], "outcome": "failure"})
        answer("app", "Send", {"items": ["?parcel=7"], "fills": []}, "sheet-app")
        answer("invitation", "Accept", {"items": ["yes"], "fills": []}, "sheet-invitation")
        answer("invitation", "Decline", {"items": ["no"], "fills": []})

    def refused_choice(self):
        """A refused choice keeps the sheet open and says why."""
        self.show_all()
        page = self.page()
        page.allowed = [r"422 \("]
        self.server.refusal = (422, {"title": "Unprocessable", "status": 422, "detail": "the message takes one item of a section; choose one of", "offered": ["1 Rye (Bread)"]})
        self.open(page, "listPicker")
        page.script("document.querySelector('dialog .choice').click()")
        page.press_button("Send", "document.querySelector('dialog')")
        page.see("the message takes one item")
        page.see("1 Rye (Bread)")
        self.server.refusal = None
        page.press_button("Send", "document.querySelector('dialog')")
        self.gone(page)

    def devices(self):
        """A Mac shows no forms and apps; an older system shows only what it announces."""
        self.show_all()
        page = self.page()
        page.see("Complaint")
        self.tool(page, "Profile")
        page.script("document.querySelector('#field-device').value = 'mac'")
        self.picture(page, "sheet-profile")
        page.press_button("Save")
        page.see("A form is shown on an iPhone and an iPad only.")
        page.see("An app is shown on an iPhone and an iPad only.")
        self.server.customers[0].update(device="old-iphone", capabilities=["LIST", "TIME"])
        page.call("POST", "/refresh")
        page.see("does not announce QUICK")
        page.see("does not announce AUTH2")

    def hostile(self):
        desk = self.server
        evil = "<img src=x onerror=alert(1)><b>bold</b>"
        desk.add("text", {"type": "text", "body": evil}, "inbound")
        desk.add("text", {"type": "text", "body": "javascript:alert(1) \u202egnp.exe https://example.com/%22x"})
        desk.add("text", {"type": "richLink", "richLinkData": {"url": "javascript:alert(2)", "title": evil, "assets": {"image": {"data": "PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"}}}})
        desk.interactive("listPicker", {"images": [{"identifier": "1", "data": "iVBORw0KGgobroken"}], "listPicker": {"sections": [{"title": evil, "items": [{"identifier": evil, "title": "\u202e" + evil, "imageIdentifier": "1"}]}]}},
                         {"title": evil, "imageIdentifier": "1", "style": "large"})
        desk.interactive("form", form([{"pageIdentifier": "a", "type": "input", "title": "Pattern", "subtitle": evil, "nextPageIdentifier": "b", "options": {"regex": "([", "prefixText": "<i>"}},
                                       {"pageIdentifier": "b", "type": "select", "title": "Branches", "subtitle": "Where to?", "items": [
                                           {"title": "Nowhere", "identifier": "1", "value": "1", "nextPageIdentifier": "missing"}, {"title": "Circle", "identifier": "2", "value": "2", "nextPageIdentifier": "a"},
                                           {"title": "Unknown", "identifier": "3", "value": "3", "nextPageIdentifier": "c"}]},
                                       {"pageIdentifier": "c", "type": "colorPicker", "title": "C"}]), {"title": "Broken form", "imageIdentifier": "77"})
        desk.interactive("timePicker", {"event": "not an object"}, {"title": "No event"})
        desk.interactive("applePay", {"payment": {"paymentRequest": {"currencyCode": "<b>", "lineItems": [], "total": {"label": evil, "amount": "0"}}}}, {"title": "Pay nothing"})
        desk.interactive("quickReply", {"quick-reply": {"summaryText": evil, "items": [{"identifier": "1", "title": evil}]}})
        desk.add("text", {"type": "text", "body": " ".join(str(number).zfill(6) for number in range(700_000))})
        desk.customers[0]["name"] = "\u202eevil<b>"
        page = self.page(PHONE)
        page.see("[U+202E]gnp.exe")
        page.see("The picture cannot be shown")
        page.see("not a web address")
        page.see("The message has no image “77”")
        page.see("A quick reply has 2 to 5 items.")
        page.see("Show all")
        assert page.script("return document.querySelectorAll('#page b, #page script, img[onerror], #page i:not(.dots i)').length") == 0
        assert page.script("return [...document.querySelectorAll('.lines a[target]')].map((one) => one.href)") == ["https://example.com/%22x"]
        self.open(page, "listPicker")
        page.see("[U+202E]<img src=x")
        self.picture(page, "hostile-list")
        page.keys("Escape")
        self.gone(page)
        self.open(page, "applePay")
        for text in ["The total must be greater than zero.", "lineItems must not be empty", "The message has no paymentGatewayUrl."]:
            page.see(text)
        page.keys("Escape")
        self.gone(page)
        self.open(page, "timePicker")
        page.see("has no time that a device can read")
        page.keys("Escape")
        self.gone(page)
        for position, text in ((0, "the page “missing”, which does not exist"), (1, "its pages are in a circle"), (2, "the type “colorPicker”, which devices do not know")):
            self.open(page, "form")
            page.see("The pattern is no regular expression; a device ignores it.")
            page.type("#form-input", "anything")
            page.press_button("Next")
            page.see("Where to?")
            page.script(f"document.querySelectorAll('dialog .choice')[{position}].click()")
            page.press_button("Next")
            page.see(text)
            self.picture(page, f"hostile-form-{position}")
            page.press_button("Back", "document.querySelector('dialog')")
            page.see("Branches")
            page.keys("Escape")
            self.gone(page)
        assert page.script("return document.documentElement.scrollWidth") <= 390, "the page is wider than the phone"

    def composer(self):
        page = self.page()
        page.see("You are the customer")
        assert not page.script("return document.querySelector('[aria-label=\"Delete the conversation\"]').checkVisibility()"), "there is nothing to delete"
        self.picture(page, "empty-desk")
        page.type("#text", "Hi")
        assert self.posted("/messages")[0] == {"kind": "typingStart"}, "typing begins first"
        page.keys("Enter")
        assert self.posted("/messages", 2)[1] == {"text": "Hi"}
        assert page.focus() == "text"
        folder = pathlib.Path(self.options.axe).resolve().parent
        small, large = folder / "note.txt", folder / "large.bin"
        small.write_text("Two cod.")
        large.write_bytes(bytes(1_500_000))
        chooser = list(page.script("return document.querySelector('input[type=file]')").values())[0]
        page.call("POST", f"/element/{chooser}/value", {"text": f"{small}\n{large}"})
        page.see("note.txt")
        page.see("1.5 MB")
        self.picture(page, "files-desk")
        page.press_button("Send")
        body = self.posted("/messages", 3)[2]
        assert body == {"text": "", "attachments": [{"name": "note.txt", "data": "VHdvIGNvZC4="}, {"name": "large.bin", "file": "file-1"}]}, body
        assert len(self.posted("/files")[0]) == 1_500_000
        small.unlink()
        large.unlink()
        self.server.add("text", {"type": "text", "body": "Good?"})
        page.see("Good?")
        page.script("document.querySelector('.react').click()")
        page.press_button("Loved")
        assert self.posted("/messages", 4)[3] == {"tapback": {"type": "loved", "to": "id-1"}}
        self.server.tell(("typing", {"customer": CUSTOMER, "typing": True}))
        page.wait("the dots", "document.querySelector('.typing .dots')?.checkVisibility()")
        page.press_button("Delete the conversation")
        page.press_button("Delete", "document.querySelector('dialog')")
        assert self.posted("/messages", 5)[4] == {"kind": "close"}
        # A refused token is said.
        self.server.refusal = (200, {"posts": [{"id": "x", "status": 401, "milliseconds": 1, "body": ""}]})
        page.type("#text", "Refused")
        page.keys("Enter")
        page.see("The webhook answered 401")

    def typing(self):
        """An event that comes while the thread is read is newer than the answer."""
        page = self.page()
        page.see("You are the customer")
        dots = "document.querySelector('.typing .dots')?.checkVisibility()"
        for is_typing in (True, False):
            with self.server.thread_answers:
                self.server.thread_asked.clear()
                self.server.add("text", {"type": "text", "body": f"Typing: {is_typing}"})
                assert self.server.thread_asked.wait(15), "the page reads the thread"
                self.server.tell(("typing", {"customer": CUSTOMER, "typing": is_typing}))
                page.wait(f"dots: {is_typing}", dots if is_typing else f"!{dots}")
            page.see(f"Typing: {is_typing}")
            assert bool(page.script(f"return {dots}")) == is_typing
        for number in range(40):
            self.server.thread.append({**self.server.thread[0], "seq": number + 3, "id": f"id-{number + 3}"})
        self.server.add("text", {"type": "text", "body": "The last one"})
        page.see("The last one")
        self.server.tell(("typing", {"customer": CUSTOMER, "typing": True}))
        self.typing_keeps_scroll(page)

    NAMES = ["authenticate", "envelope", "journal", "decode", "record", "route", "handle", "finish", "reply"]

    def stage(self, number, **more):
        """The stage `number % 9` of the delivery `50 + number // 9`, as the server tells it: the first two know only the message."""
        place, delivery = number % 9, 50 + number // 9
        facts = {"n": number, "at": f"2026-11-23T09:00:00.{100 + place}Z", "stage": self.NAMES[place], "result": "done", "ms": 0.4, "business": "b-1", "message": f"{'r' if place == 8 else 'm'}-{delivery}"}
        if place > 1:
            facts["delivery"] = delivery
        if place > 2:
            facts.update(customer=CUSTOMER, kind="text", bytes=812)
        return ("stage", {**facts, **more})

    def story(self, number, last=9, **more):
        """The first stages of a delivery; `more` changes the last one."""
        return [self.stage(number * 9 + place, **(more if place == last - 1 else {})) for place in range(last)]

    def stories(self, page, count):
        page.wait(f"{count} stories", f"document.querySelectorAll('.story').length === {count}")

    def timeline(self):
        page = self.page()
        page.see("Nothing happened yet")
        self.server.add("text", {"type": "text", "body": "Do you have bread?"}, "inbound")
        self.server.thread[-1].update(id="m-50", record=50)
        self.server.tell(*self.story(0), *self.story(1, 7, result="postponed", reason="the handler ended with exit code 1"))
        self.stories(page, 2)
        page.wait("the words of the message", "document.querySelector('.story-title').innerText === 'Ann: Do you have bread?'")
        ends = "return [...document.querySelectorAll('.story-end')].map((one) => one.innerText)"
        assert page.script(ends) == ["Answered", "Handler is tried again"], page.script(ends)
        assert "9.2 ms" in page.text() or "8.4 ms" in page.text(), page.text()
        # The stages are folded; the token's belongs to its message.
        assert page.script("return document.querySelectorAll('.stage').length") == 0
        page.click(".story-head")
        page.wait("nine stages", "document.querySelectorAll('.stage').length === 9")
        assert page.script("return document.querySelector('.stage-name').innerText") == "Token"
        # Red where it happened, with what to do.
        self.server.tell(self.stage(16, result="failed", reason="the handler ended with exit code 1", attempt=3),
                         *self.story(2, 9, result="failed", reason="status 400", status=400), *self.story(3, 7, payment="reversing", kind="applePay"),
                         ("stage", {"n": 90, "at": "2026-11-23T09:00:00.200Z", "stage": "authenticate", "result": "refused", "reason": "the token is for another MSP", "status": 403, "ms": 0.1, "reference": "4711"}))
        self.stories(page, 5)
        page.wait("the ends of the stories", "[...document.querySelectorAll('.story-end')].map((one) => one.innerText).join() === 'Answered,Handler failed,Reply not accepted,Payment reversing,Refused'")
        assert page.script("return document.querySelectorAll('.story.bad').length") == 4
        for words in ("The handler ended with exit code 1. The log lines", "Status 400. The delivery has the gateway's answer", "Answer a payment within 30 seconds", "The token is for another MSP. Compare the MSP ID"):
            page.see(words)
        assert page.script("return document.querySelector('.story.bad .story-advice a').getAttribute('href')") == "#/d/51"
        self.picture(page, "timeline-desk")
        # Typing is one line, without stages that look like work.
        for number, kind in ((5, "typingStart"), (6, "typingEnd"), (7, "typingStart")):
            self.server.tell(*[(name, {**facts, **({"kind": kind} if "kind" in facts else {})}) for name, facts in self.story(number, 8)])
        self.stories(page, 6)
        page.wait("one line for typing", "[...document.querySelectorAll('.story-title')].at(-1).innerText === 'Ann typed'")
        for text, count in (("kind:applePay", 1), ("status:failed", 3), ("stage:handle", 5), ("status:400", 1), ("business:fish", 5), ("customer:ann stage:reply", 2), ("exit", 1), ("bread", 1), ("text:nothing", 0)):
            self.set(page, "#filter", text)
            self.stories(page, count)
        page.see("No message fits the filter")
        self.set(page, "#filter", "")
        self.stories(page, 6)
        # The newest is at the end, which is followed until one scrolls away.
        self.server.tell(*[one for number in range(10, 40) for one in self.story(number)])
        self.stories(page, 36)
        at_end = "(() => { const one = document.querySelector('.stage-scroll'); return one.scrollHeight - one.scrollTop - one.clientHeight < 4; })()"
        page.wait("the end", at_end)
        page.script("document.querySelector('.stage-scroll').scrollTop = 10")
        page.wait("another place", f"!{at_end}")
        self.server.tell(*self.story(50), *self.story(51))
        page.press_button("2 newer")
        self.stories(page, 38)
        page.wait("the end", at_end)
        # A newer story that the filter leaves out counts when it fits later.
        page.script("document.querySelector('.stage-scroll').scrollTop = 10")
        page.wait("another place", f"!{at_end}")
        self.server.tell(*self.story(52, 4))
        page.see("1 newer")
        self.set(page, "#filter", "stage:reply")
        page.wait("no newer story", "!document.querySelector('.newer').checkVisibility()")
        self.server.tell(*self.story(52)[4:])
        page.press_button("1 newer")
        self.set(page, "#filter", "")
        self.stories(page, 39)
        # A page that is opened now, and a second tab of this browser, know what happened before.
        page.call("POST", "/refresh")
        self.stories(page, 39)
        tab = page.call("POST", "/window/new", {"type": "tab"})["handle"]
        page.call("POST", "/window", {"handle": tab})
        page.go(self.address())
        self.stories(page, 39)
        page.press_button("Clear")
        page.see("Nothing happened yet")

    def flood(self):
        """10,000 stages in 10 s: 200 stories and 64 MB; prints the longest task, which depends on the machine."""
        page = self.page()
        page.script("window.long = []; new PerformanceObserver((list) => long.push(...list.getEntries().map((one) => one.duration))).observe({ type: 'longtask' })")
        start = time.monotonic()
        for second in range(100):
            self.server.tell(*[self.stage(second * 100 + number) for number in range(100)])
            time.sleep(max(0, start + (second + 1) * 0.1 - time.monotonic()))
        self.stories(page, 200)
        page.wait("the newest story", "[...document.querySelectorAll('.story')].at(-2).dataset.record === '1160'")
        # Before the garbage is collected on demand, which is a long task itself.
        longest = max(page.script("return long") or [0])
        page.devtools("HeapProfiler.collectGarbage")
        heap = page.script("return performance.memory.usedJSHeapSize")
        print(f"web: 10,000 stages in {time.monotonic() - start:.1f} s: longest task {longest:.0f} ms, {heap / 1e6:.1f} MB", flush=True)
        assert heap < 64e6, heap

    DELIVERY = {
        "record": 57, "message": {"v": 1, "type": "text", "id": "m-1", "body": "Hello <b>", "sourceId": CUSTOMER, "locale": "en_US"}, "headers": {"authorization": "Bearer eyJ…masked", "capability-list": "QUICK,LIST"},
        "event": {"kind": "text", "business": "fish"}, "stages": [{"stage": "journal", "result": "done", "ms": 0.8, "bytes": 812}, {"stage": "handle", "result": "failed", "ms": 12.5, "attempt": 1, "reason": "exit code 1"}],
        "attempts": [{"number": 1, "ms": 12.5, "result": "failed", "reason": "exit code 1", "stderr": ["Traceback", "  File \"bot.py\""]},
                     {"number": 2, "ms": 8, "result": "done", "stderr": [], "state": {"before": None, "after": {"step": 2, "name": "Ann"}}}],
        "replies": [{"id": "r-1", "kind": "text", "status": "accepted", "message": {"type": "text", "body": "Good day"}, "gateway": [{"at": "2026-11-23T09:00:00Z", "status": 503, "ms": 3, "request": {"headers": {"source-id": "b-1"}}, "response": "busy"},
                                                                                                             {"at": "2026-11-23T09:00:01Z", "status": 200, "ms": 2}]}],
        "problems": [{"pointer": "/locale", "message": "is no locale that the handler knows"}],
        "curl": "curl -d @- http://127.0.0.1:8080/", "fixture": {"send": {"text": "Hello"}}}

    def detail(self):
        self.server.deliveries["57"] = self.DELIVERY
        self.server.tell(*[self.stage(63 + number) for number in range(9)])
        page = self.page()
        self.stories(page, 1)
        page.click(".story-head")
        page.click("a.stage")
        page.see("Delivery 57")
        assert page.script("return location.hash") == "#/d/57"
        page.wait("the marked story", "document.querySelector('.story-head[aria-current=true]')")
        for text in ["/locale", "is no locale", "Attempt 1: failed, exit code 1", "Traceback", "Good day", "Gateway: status 503"]:
            page.see(text)
        # The rule is beside the line that it is about.
        assert page.script("return document.querySelector('.code mark').innerText").strip().startswith('"locale"')
        page.script("for (const one of document.querySelectorAll('.part')) one.open = true")
        page.see("Bearer eyJ…masked")
        page.see("State: changed")
        page.script("document.querySelector('.state-change').open = true")
        page.see('"name": "Ann"')
        self.picture(page, "detail-desk")
        page.press_button("Copy as curl")
        page.wait("copied, or shown to copy", "document.body.innerText.includes('is copied') || document.querySelector('dialog textarea')")
        if page.script("return Boolean(document.querySelector('dialog'))"):
            assert page.script("return document.querySelector('dialog textarea').value") == self.DELIVERY["curl"]
            page.press_button("Done")
            self.gone(page)
        page.press_button("Replay")
        page.see("The message as it was")
        self.picture(page, "replay-desk")
        self.set(page, "#replay-json", "{")
        page.see("This is not JSON yet")
        page.script("const one = document.querySelector('#replay-json'); one.value = '{\"type\": \"text\"}'; one.dispatchEvent(new Event('input', { bubbles: true })); const times = document.querySelector('#replay-times'); times.value = 3; times.dispatchEvent(new Event('input', { bubbles: true }))")
        page.press_button("Replay", "document.querySelector('dialog')")
        page.see("Posted 3 times")
        assert self.posted("/replay")[0] == {"times": 3, "message": {"type": "text"}}
        # A stage of the delivery reads it again 300 ms later; by then the pane is closed.
        self.server.tell(self.stage(66, attempt=2))
        page.wait("the new stage", "document.querySelectorAll('.stories .stage').length === 10")
        page.keys("Escape")
        page.wait("no detail", "!document.querySelector('.detail-pane').checkVisibility()")
        deep = self.page(PHONE, f"{self.server.origin}/#t={self.server.token}")
        deep.allowed = [r"404 \("]
        deep.script("location.hash = '#/d/99'")
        deep.see("The server has no delivery with this number")
        deep.script("location.hash = '#/d/57'")
        deep.see("Attempt 1: failed")
        self.picture(deep, "detail-phone")
        assert deep.script("return document.documentElement.scrollWidth") <= 390

    def levers_and_profile(self):
        page = self.page()
        self.tool(page, "Levers")
        page.script("document.querySelector('#field-payload').value = 'reference'; document.querySelector('#field-token').value = 'expired'; document.querySelector('#field-times').value = 2")
        self.picture(page, "sheet-levers")
        page.press_button("Use")
        page.see("Levers: content reference")
        page.type("#text", "By reference")
        page.keys("Enter")
        body = self.posted("/messages", 2)[1]
        assert body == {"text": "By reference", "levers": {"payload": "reference", "token": "expired", "times": 2}}, body
        self.tool(page, "Levers")
        page.press_button("Set back")
        page.wait("no levers", "!document.querySelector('.levers-on').checkVisibility()")
        page.allowed = [r"400 \("]
        self.tool(page, "Gateway")
        self.server.refusal = (400, {"title": "Bad Request", "status": 400, "detail": "a rule is endpoint=what"})
        self.misbehave(page, "status", "999")
        page.see("a rule is endpoint=what")
        self.server.refusal = None
        self.misbehave(page, "status", "503")
        page.see("When asked for a message: answers with a status 503, once")
        self.misbehave(page, "slow", "1000", "blob", "every", "3")
        page.see("When asked for a file's content: sends slowly (1000 bytes a second), every 3th time")
        self.picture(page, "sheet-gateway")
        assert self.server.rules == ["message=503,times=1", "blob=slow/1000,every=3"], self.server.rules
        page.press_button("Remove: When asked for a file")
        page.press_button("Done", "document.querySelector('dialog')")
        self.gone(page)
        page.see("Gateway (1)")
        self.tool(page, "New customer")
        page.type("#field-name", "Ben")
        page.click(".more-fields summary")
        page.type("#field-intent", "repair")
        page.press_button("Add", "document.querySelector('dialog')")
        page.wait("the new customer", "document.querySelector('#customer').selectedOptions[0].text === 'Ben'")
        assert self.posted("/customers")[0] == {"business": "fish", "name": "Ben", "intent": "repair", "device": "iphone", "zone": page.script("return Intl.DateTimeFormat().resolvedOptions().timeZone")}, self.posted("/customers")

    def long_thread(self):
        """10,000 messages: at most 400 are in the document."""
        for number in range(10_000):
            self.server.thread.append({"seq": number + 1, "id": f"id-{number + 1}", "at": "2026-11-23T09:00:00Z", "direction": "inbound" if number % 3 else "outbound", "kind": "text", "answered": False,
                                       "status": "accepted", "line": {"message": {"type": "text", "body": f"Message {number + 1}"}}})
        page = self.page(PHONE)
        page.see("Message 10000")
        for _ in range(3):
            page.press_button("Earlier messages")
            time.sleep(0.2)
        assert page.script("return document.querySelectorAll('.line').length") <= 400
        page.see("Message 9")

    def keys_alone(self):
        self.server.deliveries["57"] = self.DELIVERY
        self.server.tell(*[self.stage(63 + number) for number in range(9)])
        page = self.page()
        self.stories(page, 1)
        assert page.focus() == "text", page.focus()
        page.keys(*"By keys", "Enter")
        assert self.posted("/messages", 2)[1] == {"text": "By keys"}
        page.script("document.activeElement.blur()")
        page.keys("?")
        page.see("Filter the timeline")
        self.keeps_focus(page)
        page.keys("Escape")
        self.gone(page)
        page.keys("/")
        page.wait("the filter", "document.activeElement.id === 'filter'")
        page.keys("Tab")
        page.wait("a row", "document.activeElement.matches('.story-head, .stage-scroll')")
        page.script("document.querySelector('.story-head').focus()")
        page.keys("Enter")
        page.wait("the stages", "document.querySelector('.stage')")
        page.keys("Down", "Down", "Down", "Enter")
        page.see("Attempt 1: failed")
        page.keys("r")
        page.see("The message as it was")
        page.keys("Escape")
        self.gone(page)
        page.keys("Escape")
        page.wait("no detail", "!document.querySelector('.detail-pane').checkVisibility()")
        assert page.focus() != "body", "the focus was lost"
        self.reaches_everything(page, "h1", 30)

    def wrong_token(self):
        page = self.page(PHONE, self.server.origin + "/", customer=False)
        page.see("Open the address that balloon dev printed")
        page.allowed = [r"401 \("]
        page.type("#token", "wrong")
        page.keys("Enter")
        page.see("The server does not know this token")
        self.picture(page, "token-phone")
        page.type("#token", self.server.token)
        page.keys("Enter")
        page.find("#text")
        assert self.server.token not in page.script("return location.href + document.documentElement.outerHTML")

    def storage_off(self):
        page = self.page()
        self.without_storage(page, self.address())
        page.see("This browser keeps nothing for this address")

    def everybody(self):
        """axe-core on every screen and sheet, in both sizes and schemes; reduced motion, right to left, and 200 % zoom.

        The page itself names its tools and the kinds of its sheets, and each sheet of its files must have been seen."""
        self.show_all()
        self.server.deliveries["57"] = self.DELIVERY
        self.server.customers.append({**self.server.customers[0], "id": "urn:mbid:new", "name": "Ben"})
        self.server.tell(*self.story(7), *self.story(8, 9, result="failed", reason="status 400", status=400))
        found, titles = [], set()
        for size, metrics in SIZES.items():
            for scheme in ("light", "dark"):
                page = self.page(metrics, self.server.origin + "/", customer=False)
                axe = self.checker(page, size, scheme, found)

                def check(screen):
                    titles.add(page.script("return document.querySelector('dialog h2')?.innerText"))
                    axe(screen)

                def close():
                    page.keys("Escape")
                    self.gone(page)

                page.see("Token")
                check("token")
                page.type("#token", self.server.token)
                page.keys("Enter")
                page.see("Yes, please")
                check("phone")
                for kind in page.script("return import('/assets/v/phone-sheets.js').then((one) => Object.keys(one.sheets))"):
                    self.open(page, kind)
                    check(f"sheet-{kind}")
                    if kind == "form":
                        self.fill_form(page, check)
                    close()
                self.stories(page, 2)
                page.press_button("Tools")
                check("tools")
                page.keys("Escape")
                for name, label in page.script("return import('/assets/v/phone.js').then((one) => one.tools.map((tool) => tool.slice(0, 2)))"):
                    self.tool(page, label)
                    check(f"sheet-{name}")
                    close()
                self.tool(page, "New customer")
                page.click(".more-fields summary")
                check("sheet-new")
                close()
                page.script("[...document.querySelectorAll('.react')].at(-1).click()")
                self.sheet(page)
                check("sheet-react")
                close()
                page.press_button("Delete the conversation")
                self.sheet(page)
                check("sheet-delete")
                close()
                if size == "phone":
                    page.press_button("Timeline")
                page.script("for (const one of document.querySelectorAll('.story details')) one.open = true")
                check("timeline")
                page.script("location.hash = '#/d/57'")
                page.see("Attempt 1: failed")
                page.script("for (const one of document.querySelectorAll('.part')) one.open = true")
                page.script("for (const one of document.querySelectorAll('.state-change')) one.open = true")
                check("detail")
                page.script("navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))")
                page.press_button("Copy as curl")
                self.sheet(page)
                check("sheet-copy")
                close()
                page.press_button("Replay")
                self.set(page, "#replay-to", "http://127.0.0.1:9000/")
                check("sheet-replay")
                page.press_button("Replay", "document.querySelector('dialog')")
                page.see("Good evening")
                check("sheet-trial")
                page.press_button("Done")
                self.gone(page)
                page.script("location.hash = '#/'; const one = document.querySelector('#customer'); one.value = 'urn:mbid:new'; one.dispatchEvent(new Event('change'))")
                if size == "phone":
                    page.press_button("Phone", "document.querySelector('.places')")
                page.see("You are the customer")
                check("empty")
                if size == "desk" and scheme == "light":
                    self.plant_field(page, ".phone-pane")
                    page.script("document.documentElement.dir = 'rtl'")
                    self.picture(page, "right-to-left")
                    assert page.script("return document.documentElement.scrollWidth") <= 1280
                    # 200 % zoom of 1280 pixels is a window of 640.
                    page.size(640, 400)
                    assert page.script("return document.documentElement.scrollWidth") <= 640
                    page.press_button("Phone", "document.querySelector('.places')")
                    page.find("#text")
                    self.picture(page, "zoom")
        folder = pathlib.Path(self.server.folder)
        named = {title for file in [*folder.glob("phone*.js"), folder / "dialogs.js"] for title in re.findall(r'\b(?:sheet|ask|confirm)\("([^"]+)"', file.read_text())}
        assert len(named) >= 8 and named <= titles, f"sheets that axe has not seen: {named - titles}"
        assert not found, "\n".join(found)

    def planted(self):
        self.plant(self.page(), "/assets/v/missing.svg", f"http://localhost:{self.server.http.server_address[1]}/")


main(Tests)
