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
            getattr(self, name)()
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
    tests = suite(options)
    begin = time.monotonic()
    try:
        for name in options.tests or suite.ALL:
            start = time.monotonic()
            try:
                tests.run(name)
                print(f"web: {name.replace('_', ' ')} passed ({time.monotonic() - start:.1f} s)", flush=True)
            except Exception as error:
                failed.append(name)
                print(f"web: {name.replace('_', ' ')} FAILED: {error if isinstance(error, Failure) else traceback.format_exc()}", flush=True)
    finally:
        tests.driver.close()
    print(f"web: {len(options.tests or suite.ALL) - len(failed)} passed, {len(failed)} failed ({time.monotonic() - begin:.0f} s)")
    sys.exit(1 if failed else 0)
