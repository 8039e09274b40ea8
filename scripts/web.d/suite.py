"""The frame of the tests in a browser: one server and fresh browsers for each test, whose console must stay empty."""
import argparse, pathlib, sys, time, traceback

from browser import Driver, Failure

PHONE, DESK = (390, 844), (1280, 800)
SIZES = {"phone": PHONE, "desk": DESK}
# A killed server refuses connections, which Chromium writes to the console.
LOST = r"ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE"


class Suite:
    """Tests are the methods that `ALL` names; `serve(name)` makes the server of a test."""

    ALL = []

    def __init__(self, options):
        self.options = options
        self.axe = pathlib.Path(options.axe).read_text()
        self.driver = Driver()
        self.pages = []
        self.server = None

    def run(self, name):
        """Runs one test with a server of its own; throws when it fails, or when it leaves complaints."""
        self.server = self.serve(name)
        try:
            try:
                getattr(self, name)()
            except Exception:
                for number, page in enumerate(self.pages):
                    self.picture(page, f"failed-{name}-{number}")
                raise
            complaints = [one for page in self.pages for one in page.complaints()]
            if complaints:
                raise Failure("\n".join(complaints))
        finally:
            for page in self.pages:
                page.close()
            self.pages = []
            self.server.stop()

    def picture(self, page, name):
        if self.options.pictures:
            time.sleep(0.25)
            page.picture(str(pathlib.Path(self.options.pictures) / f"{name}.png"))

    def set(self, page, css, value):
        """Replaces a field's value as typing does."""
        page.find(css)
        page.script("const one = document.querySelector(arguments[0]); one.value = arguments[1]; one.dispatchEvent(new Event('input', { bubbles: true }))", css, value)

    def reaches_everything(self, page, start, presses):
        """Fails when the tab key does not reach a visible control from the element `start`."""
        page.script("const one = document.querySelector(arguments[0]); one.setAttribute('tabindex', '-1'); one.focus()", start)
        for _ in range(presses):
            page.keys("Tab")
            page.script("document.activeElement.dataset.seen = 1")
        missing = page.script("""return [...document.querySelectorAll('button, input, select, textarea, a, summary')]
            .filter((one) => one.checkVisibility() && !one.dataset.seen && one.tabIndex >= 0 && !one.disabled).map((one) => one.outerHTML.slice(0, 120))""")
        assert not missing, missing

    def keeps_focus(self, page, presses=8):
        """Fails when the tab key leaves an open sheet for the page behind it."""
        for _ in range(presses):
            page.keys("Tab")
            assert page.script("return document.activeElement === document.body || Boolean(document.activeElement.closest('dialog'))"), page.focus()

    def typing_keeps_scroll(self, page):
        """Waits for typing dots at the end of a long thread; fails when a person who scrolls up then is thrown back."""
        below = "(({ scrollTop, scrollHeight, clientHeight }) => scrollHeight - scrollTop - clientHeight)(document.querySelector('.thread-scroll'))"
        page.wait("the typing dots at the end", f"document.querySelector('.typing .dots')?.checkVisibility() && {below} < 2")
        page.script("document.querySelector('.thread-scroll').scrollTop -= 200")
        # The page handles a scroll in the next frame.
        page.script_async("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        assert page.script(f"return {below}") > 150, "the person is thrown back to the end"

    def without_storage(self, page, address):
        """Opens an address in a browser that stores nothing."""
        page.devtools("Page.addScriptToEvaluateOnNewDocument", {"source": "Object.defineProperty(window, 'sessionStorage', { get() { throw new DOMException('denied', 'SecurityError') } })"})
        page.go("about:blank")
        page.go(address)

    def checker(self, page, size, scheme, found):
        """A function that takes a screen's picture and adds axe-core's violations to `found`."""
        page.media(scheme=scheme, motion="reduce")

        def check(screen):
            time.sleep(0.1)
            self.picture(page, f"{screen}-{size}-{scheme}")
            found.extend(f"{screen}, {size}, {scheme}: {one}" for one in page.violations(self.axe))

        return check

    def plant_field(self, page, parent):
        """Proves that axe-core works: it must find an input without a label."""
        page.script("const field = document.createElement('input'); field.id = 'planted'; document.querySelector(arguments[0]).append(field)", parent)
        assert any("label" in one for one in page.violations(self.axe)), "axe does not find an unnamed field"
        page.script("document.querySelector('#planted').remove()")

    def plant(self, page, icon, elsewhere):
        """Proves that the checks after each test detect an inline style, a missing icon and a request to another origin."""
        assert page.complaints() == [], "complaints before the plants"
        page.script("document.body.setAttribute('style', 'color: red')")
        assert any("Content Security Policy" in one for one in page.complaints()), "an inline style is not seen"
        page.script("const image = new Image(); image.src = arguments[0]; document.body.append(image)", icon)
        self.until("a missing icon is seen", lambda: any("404" in one or "ERR_" in one for one in page.complaints()))
        page.go(elsewhere)
        assert any("request: http://localhost" in one for one in page.complaints()), "a request elsewhere is not seen"
        time.sleep(0.5)
        page.complaints()

    def until(self, what, question, seconds=20):
        end = time.monotonic() + seconds
        while not question():
            if time.monotonic() > end:
                raise Failure(f"not within {seconds} s: {what}")
            time.sleep(0.1)


def main(suite):
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--axe", required=True)
    parser.add_argument("--pictures", help="write a picture of each screen to this folder")
    parser.add_argument("--web-dir", help="serve the files of this folder instead of those in the program")
    parser.add_argument("tests", nargs="*", default=suite.ALL)
    options = parser.parse_args()
    if options.pictures:
        pathlib.Path(options.pictures).mkdir(parents=True, exist_ok=True)
    failed = []
    name_of_page = pathlib.Path(sys.argv[0]).stem
    tests = suite(options)
    begin = time.monotonic()
    try:
        for name in options.tests or suite.ALL:
            start = time.monotonic()
            try:
                tests.run(name)
                print(f"web: {name_of_page}: {name.replace('_', ' ')} passed ({time.monotonic() - start:.1f} s)", flush=True)
            except Exception as error:
                failed.append(name)
                print(f"web: {name_of_page}: {name.replace('_', ' ')} FAILED: {error if isinstance(error, Failure) else traceback.format_exc()}", flush=True)
    finally:
        tests.driver.close()
    print(f"web: {name_of_page}: {len(options.tests or suite.ALL) - len(failed)} passed, {len(failed)} failed ({time.monotonic() - begin:.0f} s)")
    sys.exit(1 if failed else 0)
