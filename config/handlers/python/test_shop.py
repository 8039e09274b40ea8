"""Tests of the sign-in and the payment of shop.py: its texts, and the whole way with `balloon dev`, whose provider signs everybody in.

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


def call(name, card="Visa 1234", method="post", country="FR"):
    """The shop's answer to a call of a payment."""
    return shop.bot.pay({
        "call": name, "business": "b", "customer": "c", "messageId": "m", "attempt": "0123456789abcdef",
        "sheet": {"total": "10.00", "currency": "EUR"},
        "payment": {
            "shippingMethod": {"identifier": method}, "shippingContact": {"countryCode": country},
            "paymentToken": {"paymentMethod": {"displayName": card}}}})


def test_a_customer_who_wants_to_pay_is_asked_for_the_sum_with_delivery():
    payment = answer("text", text="Pay")["payment"]["paymentRequest"]
    assert payment["total"]["amount"] == "8.00"
    assert [item["amount"] for item in payment["lineItems"]] == ["6.00", "2.00"]


def test_another_delivery_changes_the_sum_and_an_address_abroad_the_deliveries():
    assert call("shippingMethodUpdate")["newTotal"]["amount"] == "10.00"
    assert call("shippingContactUpdate", country="de") == {}
    abroad = call("shippingContactUpdate")
    assert [method["identifier"] for method in abroad["newShippingMethods"]] == ["post"]
    assert abroad["newTotal"]["amount"] == "10.00"


def test_a_card_is_charged_or_declined_and_a_reversal_is_confirmed():
    assert call("paymentGateway") == {"status": "STATUS_SUCCESS", "charged": "10.00", "reference": "test-01234567"}
    assert call("paymentGateway", card="Visa 0002")["status"] == "STATUS_FAILURE"
    assert call("reversal") == {}
    # The charge of a reversed key comes too late.
    assert call("paymentGateway")["status"] == "STATUS_FAILURE"


@pytest.mark.parametrize("record, reply", [
    ({"state": "paid", "amount": "10.00", "currency": "EUR"}, "Thank you! You paid 10.00 EUR."),
    *[({"state": state, "amount": "8.00", "currency": "EUR"}, 'Nothing was charged. Write "pay" to try again.')
      for state in ("unpaid", "declined")],
    ({"state": "reversed", "amount": "8.00", "currency": "EUR"},
     'The payment did not go through, and any charge was returned. Write "pay" to try again.'),
])
def test_the_shop_answers_the_end_of_a_payment(record, reply):
    assert answer("applePay", payment={"state": "paid"}, paymentRecord=record) == reply


def test_the_shop_invites_no_second_payment_while_the_first_may_be_charged():
    replies = [
        answer("applePay", payment={}, paymentRecord={"state": state, "amount": "8.00", "currency": "EUR"})
        for state in ("pending", "uncertain", "unreversed", "unheard-of")]
    replies.append(answer("applePay", payment={}))
    assert all("Nothing was charged." not in reply and "try again" not in reply for reply in replies)
    assert len(set(replies)) == 3


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
