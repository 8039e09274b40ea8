"""Tests of pizza.py against the server with Apple simulated: as a child process and as an HTTP service.

They need the program `balloon` on the PATH.
"""
import base64
import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

import pytest

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER))
from balloon import simulate, simulated  # noqa: E402

needs_balloon = pytest.mark.skipif(shutil.which("balloon") is None, reason="needs balloon on the PATH")


def order(customer):
    """The whole conversation: from a text to the summary."""
    words, greeting = customer("text", text="Good morning")
    assert words["body"] == "What can we do for you?"
    assert [item["title"] for item in greeting["interactiveData"]["data"]["quick-reply"]["items"]] == [
        "Order a pizza", "Talk to a person"]
    [menu] = customer(choose="Order a pizza")
    sections = menu["interactiveData"]["data"]["listPicker"]["sections"]
    assert [section["title"] for section in sections] == ["Pizza", "Drinks"]
    complaint, menu = customer(choose="Cola")
    assert complaint["body"] == "Please choose at least one pizza."
    [times] = customer(choose="Margherita,Cola")
    slot = times["interactiveData"]["data"]["event"]["timeslots"][1]
    question, permission = customer(choose=2)
    assert question["body"] == "May we ask for your name and address?"
    assert [item["title"] for item in permission["interactiveData"]["data"]["quick-reply"]["items"]] == ["Yes", "No"]
    [form] = customer(choose="Yes")
    pages = form["interactiveData"]["data"]["dynamic"]["data"]["pages"]
    assert [page["pageIdentifier"] for page in pages] == ["name", "address", "payment"]
    summary, link = customer(fill={"name": "Ada", "address": "1 Long Street", "payment": "Card"})
    assert summary["body"] == f"Ada, we bring Margherita, Cola at {slot['startTime'][11:16]} GMT."
    assert link["richLinkData"]["assets"]["image"]["mimeType"] == "image/png"


@needs_balloon
def test_a_customer_orders_a_pizza():
    with simulated(FOLDER / "pizza.py") as customer:
        order(customer)
        _, again = customer("text", customer="urn:mbid:AQAAYsomebodyElse", attach=[FOLDER.parent / "pizza.png"] * 2)
        assert "quick-reply" in again["interactiveData"]["data"]


@needs_balloon
def test_a_customer_whose_device_shows_lists_only_orders_in_words():
    with simulated(FOLDER / "pizza.py") as customer:
        words, choices = customer("text", text="Good morning", device="old-iphone")
        assert (words["body"], choices["type"]) == ("What can we do for you?", "text")
        [menu] = customer("text", text="pizza", device="old-iphone")
        assert "listPicker" in menu["interactiveData"]["data"]
        customer(choose="Margherita", device="old-iphone")
        _, permission = customer(choose=1, device="old-iphone")
        assert permission["body"] == "Write yes or no."
        [question] = customer("text", text="yes", device="old-iphone")
        assert question["body"].startswith("Where shall we bring it?")
        summary, _ = customer("text", text="Ada, 1 Long Street, card", device="old-iphone")
        assert "we bring Margherita at" in summary["body"]


@needs_balloon
def test_the_bot_in_the_readme_passes_the_servers_check(tmp_path):
    write_fishmonger(tmp_path)
    ended = subprocess.run(["balloon", "handlers", "check", "./fishmonger.py"], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


def code(page):
    """The Python code of a page."""
    return re.findall("```python\n(.*?)```", page.read_text(), re.DOTALL)


def write_fishmonger(folder):
    (folder / "fishmonger.py").write_text(code(FOLDER / "README.md")[0])
    (folder / "fishmonger.py").chmod(0o755)
    shutil.copy(FOLDER / "balloon.py", folder)


PAGE = FOLDER.parents[2] / "Sources/HandlerProtocol/HandlerProtocol.docc/TestingABot.md"


@needs_balloon
@pytest.mark.skipif(not PAGE.exists(), reason="needs the repository")
def test_the_tests_in_the_manual_pass(tmp_path):
    write_fishmonger(tmp_path)
    (tmp_path / "test_fishmonger.py").write_text("\n\n".join(code(PAGE)))
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=tmp_path,
                           capture_output=True, text=True)
    assert "2 passed" in ended.stdout, ended.stdout


@contextlib.contextmanager
def running(words, until, **environment):
    """Runs a program, and yields the match of the first line of its output that matches."""
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               text=True, env={**os.environ, **environment})
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            match = re.search(until, line)
            if match:
                break
        else:
            raise AssertionError("".join(lines))
        yield match
    finally:
        process.terminate()
        process.stdout.close()
        process.wait()


@needs_balloon
def test_a_customer_orders_a_pizza_from_an_http_service(tmp_path):
    secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
    with running([sys.executable, FOLDER / "pizza.py", "--http", "0"], r"listens on (http\S+)",
                 HANDLER_SECRET=secret) as service, \
            running(["balloon", "dev", "--data", tmp_path / "dev", "--listen", "127.0.0.1:0"], "simulated at"):
        while not (tmp_path / "dev/dev.json").exists():
            time.sleep(0.05)
        known = json.loads((tmp_path / "dev/dev.json").read_text())
        server = {"mspID": known["mspID"], "secret": {"file": "secret"}, "listen": "127.0.0.1:0", "adminListen": "off",
                  "dataDirectory": str(tmp_path / "data"),
                  "gateway": {"url": known["gateway"] + "/v1", "downloadHosts": [known["gateway"].split("/")[-1]]}}
        business = {"businessID": known["businessID"], "name": "Pizza",
                    "handler": {"http": {"url": service[1], "secret": {"file": "../webhook"}}}}
        (tmp_path / "businesses").mkdir()
        for name, content in (("secret", known["secret"]), ("webhook", secret), ("server.json", json.dumps(server)),
                              ("businesses/pizza.json", json.dumps(business))):
            (tmp_path / name).write_text(content)
        with running(["balloon", "serve", "--config", tmp_path / "server.json"], r"address\W+([0-9.:]+)") as address:
            order(functools.partial(simulate, data=tmp_path / "dev", to="http://" + address[1]))
