"""A person at a page: acts only on what can be seen, by role and text, and counts the actions."""
from browser import ELEMENT, Failure

ROLES = {"button": "button, [role=button]", "switch": "[role=switch]", "textbox": "textarea, input:not([type]), input[type=text]", "searchbox": "input[type=search]",
         "link": "a[href]", "summary": "summary", "checkbox": "input[type=checkbox]", "radio": "input[type=radio]", "combobox": "select"}


class Person:
    MAXIMUM = 6

    def __init__(self, page):
        self.page = page
        self.actions = 0

    def find(self, role, text):
        """Waits for the visible element with this role whose name is the text, else of the first whose name contains it."""
        self.page.wait(f"a {role} {text!r}", """(() => {
            const top = [...document.querySelectorAll("dialog[open]")].at(-1) ?? document;
            const name = (one) => (one.getAttribute("aria-label") || one.labels?.[0]?.innerText || one.innerText || one.placeholder || "").trim();
            const shown = [...top.querySelectorAll(arguments[0])].filter((one) => one.checkVisibility() && (arguments[2] === "switch") === (one.getAttribute("role") === "switch"));
            window.found = shown.find((one) => name(one) === arguments[1]) ?? shown.find((one) => name(one).includes(arguments[1]));
            return window.found && !document.getAnimations().some((one) => one.playState === "running" && one.effect?.target?.contains(window.found)); })()""", ROLES[role], text, role)
        return self.page.script("return window.found")[ELEMENT]

    def press(self, role, text):
        self.page.act(lambda: self.find(role, text), "click")

    def write(self, role, name, text):
        self.page.act(lambda: self.find(role, name), "value", {"text": text})

    def key(self, name):
        self.page.keys(name)

    def choose(self, name, option):
        """Chooses an option by its text."""
        self.find("combobox", name)
        self.page.script("""const one = window.found; one.value = [...one.options].find((option) => option.text.includes(arguments[0])).value;
            for (const type of ["input", "change"]) one.dispatchEvent(new Event(type, { bubbles: true }))""", option)

    def do(self, task, steps):
        """Does a task; fails when it takes more actions than a person has patience for."""
        if len(steps) > self.MAXIMUM:
            raise Failure(f"{task}: {len(steps)} actions, more than {self.MAXIMUM}")
        for what, *step in steps:
            getattr(self, what)(*step)
        self.actions += len(steps)
