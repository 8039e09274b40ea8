"""Tests of the sign-in of shop.py: its texts, and the whole way with `balloon dev`, whose provider signs everybody in.

The last test needs the program `balloon` on the PATH.
"""
import pathlib
import shutil
import sys

import pytest

FOLDER = pathlib.Path(__file__).parent
sys.path.insert(0, str(FOLDER))
import shop  # noqa: E402
from balloon import simulated  # noqa: E402


def answer(kind, **members):
    """The shop's only reply to an event."""
    event = {"id": "1", "kind": kind, "customer": "c", **members}
    [reply] = shop.bot.answer({"deliveryId": "d", "event": event})["replies"]
    return reply


def test_a_customer_who_wants_to_sign_in_is_asked():
    assert answer("text", text="Sign in") == {
        "signIn": {"receivedMessage": {"title": "Sign in"}, "replyMessage": {"title": "Signed in"}},
        "fallback": "Please call us: this device cannot sign in."}


@pytest.mark.parametrize("result, reply", [
    ({"result": "signedIn", "issuer": "i", "subject": "s", "claims": {"name": "Ana"}}, "Welcome, Ana!"),
    ({"result": "signedIn", "issuer": "i", "subject": "s", "claims": {}}, "Welcome, dear customer!"),
    ({"result": "declined"}, "You did not sign in. You can order without it."),
    ({"result": "expired"}, 'The sign-in took too long. Write "sign in" to begin again.'),
    ({"result": "unverified", "claims": {"name": "Ana"}}, 'The sign-in did not work. Write "sign in" to begin again.'),
    ({"result": "failed", "code": "502"}, 'The sign-in did not work. Write "sign in" to begin again.'),
])
def test_the_shop_answers_each_result(result, reply):
    assert answer("authentication", signIn=result) == reply


def test_an_authentication_without_a_result_is_answered():
    assert answer("authentication") == 'The sign-in did not work. Write "sign in" to begin again.'


@pytest.mark.skipif(shutil.which("balloon") is None, reason="needs balloon on the PATH")
def test_a_customer_signs_in_and_another_declines():
    with simulated(FOLDER / "shop.py") as customer:
        [request] = customer("text", text="sign in")
        assert request["interactiveData"]["receivedMessage"]["title"] == "Sign in"
        [welcome] = customer("authentication", user="ana")
        assert welcome["body"] == "Welcome, ana!"
        customer("text", text="sign in", customer="bob")
        [sorry] = customer("authentication", customer="bob", deny=True)
        assert sorry["body"] == "You did not sign in. You can order without it."
