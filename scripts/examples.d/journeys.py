"""Plays six authors, each with a handler of another kind from an empty folder, and three customers with different devices."""

import re
import shlex

import shell

DEVICES = ("iphone", "mac", "old-iphone")
# Each author: how the handler is made, how it is checked, and how it runs beside the server.
AUTHORS = {
    "Python": ("balloon init shop --handler python", "./shop.py", None),
    "Node": ("balloon init shop --handler node", "./shop.mjs", None),
    "shell": ("balloon init shop --handler shell", "./shop.sh", None),
    "Swift": ("balloon init shop --handler swift --package {root}", "{programs}/shop", None),
    "HTTP service with the library": ("balloon init shop --handler python", None, "HANDLER_SECRET=$(cat webhook-secret) ./shop.py --http {port}"),
    "HTTP service without the library": ("mkdir shop", None, "HANDLER_SECRET=$(cat webhook-secret) python3 service.py {port}"),
}
# The words of each customer. The shops answer the first with a question, which the device shows or gets as a text.
WORDS = ("hello", "order")


def problem(author, programs):
    """Plays one author's journey; returns the reason why it failed."""
    make, program, service = AUTHORS[author]
    stage = shell.Stage(programs)
    try:
        stage.values |= {"root": str(shell.ROOT), "programs": programs}
        stage.shell(stage.real(make, {}))
        stage.folder = stage.folder / "shop"
        program = program and stage.real(program, {})
        if author == "Swift":
            # The folder of the debug build, so that the server is not compiled twice.
            stage.shell(f"{shell.ROOT}/scripts/build --package-path . --scratch-path {shell.ROOT}/.build --product shop", timeout=600)
        if service:
            stage.shell('printf "whsec_%s\\n" "$(head -c 32 /dev/urandom | base64 --wrap=0)" >webhook-secret')
            if "service.py" in service:
                shell.executable(stage.folder / "service.py", shell.code("HTTPService", "python"))
            stage.service(stage.real(service, {}))
            stage.environment["HANDLER_SECRET"] = stage.folder.joinpath("webhook-secret").read_text().strip()
            stage.start(stage.real("balloon dev --handler-url http://127.0.0.1:{port} --handler-secret-env HANDLER_SECRET", {}))
        else:
            stage.shell(f"balloon handlers check {shlex.quote(program)}")
            stage.start(f"balloon dev --handler {shlex.quote(program)}")
        for device in DEVICES:
            for words in WORDS:
                output = stage.shell(f"balloon simulate text --text {words} --device {device} --customer urn:mbid:{device} --wait")
                if not re.search(r"^business ", output, re.MULTILINE):
                    return f"{device} gets no answer to {words!r}:\n{output}"
    except (RuntimeError, OSError) as error:
        return str(error)
    finally:
        stage.close()
    return None
