"""What the tests of the phone share: opening the page and its sheets, and waiting for what it sent."""
from browser import Page
from suite import DESK, Suite


class DeviceSuite(Suite):
    def address(self):
        """The printed address of the server under test."""
        return f"{self.server.origin}/#t={self.server.token}"

    def page(self, size=DESK, address=None, customer=True):
        """A browser with the printed address."""
        address = address or self.address()
        page = Page(self.driver, *size, origin=address.split("/#")[0].rstrip("/"))
        self.pages.append(page)
        page.complaints()
        page.go(address)
        if customer:
            page.find("#text")
        return page

    def open_bubble(self, page, kind, seq):
        """Opens the sheet of a bubble, and waits until the sheet stands still."""
        page.wait(f"a bubble of {kind}", f"document.querySelector('[data-seq=\"{seq}\"] button.device-card')")
        page.script(f"document.querySelector('[data-seq=\"{seq}\"] button.device-card').click()")
        self.sheet(page)

    def sheet(self, page):
        page.wait("a sheet", "document.querySelector('dialog') && !document.getAnimations().some((one) => one.playState === 'running')")

    def tool(self, page, label):
        """Opens the sheet of a button at the top."""
        if label == "New customer":
            page.press_button(label)
        else:
            page.press_button("Tools")
            page.press_button(label, "document.querySelector('#tools')")
        self.sheet(page)

    def misbehave(self, page, fault, number="", endpoint="message", how="times", count="1", retry=""):
        """Adds a rule with the form of the gateway."""
        for field, value in (("endpoint", endpoint), ("fault", fault), ("how", how)):
            page.choose(f"#field-{field}", value)
        for field, value in (("number", number), ("count", count), ("retry", retry)):
            if value:
                self.set(page, f"#field-{field}", value)
        rules = len(page.script("return [...document.querySelectorAll('.rules button')].map((one) => 1)"))
        page.press_button("Add", "document.querySelector('dialog')")
        page.wait("the rule, or a problem", f"document.querySelectorAll('.rules button').length > {rules} || document.querySelector('dialog .failure').innerText")

    def gone(self, page):
        page.wait("no sheet", "!document.querySelector('dialog')")

    def say(self, page, text):
        """Writes as the customer."""
        page.type("#text", text)
        page.keys("Enter")

    def fill_form(self, page, check=lambda screen: None):
        """Fills in the form of `messages.FORM` by clicks, to its summary; `check` is called on every page."""
        page.press_button("Start")
        page.see("What happened?")
        check("form-select")
        page.script("document.querySelectorAll('dialog .choice')[0].click()")
        page.press_button("Next")
        page.see("Which parts?")
        check("form-parts")
        page.script("for (const one of document.querySelectorAll('dialog .choice')) one.click()")
        page.press_button("Next")
        page.see("When?")
        check("form-date")
        page.press_button("Next")
        page.see("Region")
        check("form-picker")
        page.press_button("Next")
        page.see("What did it cost?")
        check("form-input")
        page.type("#form-input", "12.50")
        page.press_button("Next")
        page.see("Summary")
        check("form-summary")

    def fill_form_by_keys(self, page):
        """Fills in the form of `messages.FORM` with keys alone, from its first page, and sends it."""
        page.see("A few questions.")
        page.keys("Enter")
        page.see("What happened?")
        page.keys("Space", "Enter")
        page.see("Which parts?")
        page.keys("Space", "Tab", "Space", "Enter")
        page.see("When?")
        page.keys("Enter")
        page.see("Region")
        page.keys("Enter")
        page.see("What did it cost?")
        page.keys(*"12.50", "Enter")
        page.see("Summary")
        assert page.script("return Boolean(document.activeElement.closest('dialog'))"), page.focus()
        self.tab_to(page, "Send")
        page.keys("Enter")
        self.gone(page)

    def tab_to(self, page, label, key="Tab", most=40):
        """Presses a key until the focused control has a label; the keys alone must reach it."""
        for _ in range(most):
            if page.focus().startswith(label):
                return
            page.keys(key)
        raise AssertionError(f"{key} does not reach {label!r}; the focus is on {page.focus()!r}")
