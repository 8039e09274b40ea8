#!/usr/bin/env python3
"""A shop as a handler in Python: questions by quick reply, list picker, time picker and form, a sign-in, and a payment.

Each question has a text for devices that cannot show it, and the shop also understands answers that are written.
"""
from decimal import Decimal

from balloon import (
    Bot, form, handoff, input_page, list_picker, not_paid, paid, payment_error, payment_request, quick_reply, section,
    sheet, sign_in, slot, time_picker)

bot = Bot("shop")
on = bot.on

BREAD = "6.00"
DELIVERIES = {"bicycle": ("Bicycle", "Within two hours", "2.00"), "post": ("Post", "Tomorrow", "4.00")}


@on.text
def text(event):
    if event.tapback:
        # A heart on a message asks nothing.
        return None
    words = (event.text or "").strip().lower()
    if words == "sign in":
        return sign_in("Sign in", reply="Signed in", fallback="Please call us: this device cannot sign in.")
    if words == "pay":
        total, items = sums("bicycle")
        return payment_request(
            "A basket of bread", total, items, "EUR", "DE", ["visa", "masterCard"], shipping=["post"],
            shipping_methods=[(key, *delivery) for key, delivery in DELIVERIES.items()],
            fallback="Please pay when you collect it: this device has no Apple Pay.")
    if words == "person":
        return handoff("the customer asked for a person")
    if words == "order":
        return ask_for_bread()
    if words in ("rye", "wheat"):
        return ask_for_time(event, words)
    if words in ("morning", "evening"):
        return ask_for_name(event)
    if event.state.pop("asksForName", False):
        return thank(event)
    # The question is a text: a device shows the summary of a quick reply only in its notification.
    return ["What can we do for you?", quick_reply(
        "Please choose", [("order", "Order bread"), ("person", "Talk to a person")],
        fallback="Write “order” to order bread, or “person” to talk to a person.")]


@on.quickReply
def request_chosen(event):
    if event.selected_identifier == "person":
        return handoff("the customer asked for a person")
    return ask_for_bread()


def ask_for_bread():
    return list_picker("Which bread?", [section("Bread", [("rye", "Rye"), ("wheat", "Wheat")])],
                       fallback="Which bread? Write “rye” or “wheat”.")


@on.listPicker
def bread_chosen(event):
    return ask_for_time(event, " and ".join(event.selected_identifiers or []))


def ask_for_time(event, bread):
    event.state["bread"] = bread
    return time_picker("When?", "Collect it", [
        slot("morning", "2030-07-10T08:00+0000", minutes=60), slot("evening", "2030-07-10T17:00+0000", minutes=60)],
        fallback="When will you collect it? Write “morning” or “evening”.")


@on.timePicker
def time_chosen(event):
    return ask_for_name(event)


def ask_for_name(event):
    # The next text is the name: not every device shows forms.
    event.state["asksForName"] = True
    return form("Your name", [input_page("name", "Who collects it?", title="Your name", required=True)],
                fallback="Who collects it? Please write your name.")


@on.form
def name_given(event):
    return thank(event)


def thank(event):
    bread = event.state.pop("bread", "bread")
    event.state.clear()
    return f"Thank you! Your {bread} will be ready."


@on.authentication
def signed_in(event):
    result = event.sign_in or {"result": "none"}
    if result["result"] == "signedIn":
        return f"Welcome, {result['claims'].get('name', 'dear customer')}!"
    if result["result"] == "declined":
        return "You did not sign in. You can order without it."
    if result["result"] == "expired":
        return 'The sign-in took too long. Write "sign in" to begin again.'
    return 'The sign-in did not work. Write "sign in" to begin again.'


def sums(delivery):
    label, _, price = DELIVERIES[delivery]
    return ("Shop", str(Decimal(BREAD) + Decimal(price))), [("Bread", BREAD), (label, price)]


@on.shippingMethodUpdate
def delivery_chosen(payment):
    return sheet(*sums(payment.shipping_method["identifier"]))


@on.shippingContactUpdate
def address_chosen(payment):
    if (payment.shipping_contact.get("countryCode") or "").upper() == "DE":
        return None
    # No bicycle goes abroad.
    return sheet(*sums("post"), shipping_methods=[("post", *DELIVERIES["post"])])


# The keys whose charge was reversed. A real shop asks its payment provider, or keeps them on disk.
reversed_keys = set()


@on.paymentGateway
def charge(payment):
    # A real shop calls its payment provider here, with payment.token, payment.total and payment.attempt as the
    # idempotency key. This one accepts every card but the one that `balloon simulate applePay --decline` uses.
    if payment.attempt in reversed_keys:
        # The reversal overtook the charge: the customer already saw a failure.
        return not_paid(payment_error("unknown", "This payment was cancelled."))
    if (payment.token.get("paymentMethod") or {}).get("displayName") == "Visa 0002":
        return not_paid(payment_error("unknown", "The bank declined the card."))
    return paid(payment.total, "test-" + payment.attempt[:8])


@on.reversal
def give_back(payment):
    """A real shop returns the charge with the key payment.attempt here, if there is one; this one charged nothing.

    It remembers the key in any case, so that a charge that comes later is refused.
    """
    reversed_keys.add(payment.attempt)


@on.applePay
def payment_ended(event):
    record = event.payment_record or {}
    state = record.get("state")
    if state == "paid":
        return f"Thank you! You paid {record['amount']} {record['currency']}."
    if state in ("unpaid", "declined"):
        return 'Nothing was charged. Write "pay" to try again.'
    if state == "reversed":
        return 'The payment did not go through, and any charge was returned. Write "pay" to try again.'
    if state == "pending":
        return "Your payment is not confirmed yet. Please do not pay again."
    if state == "unreversed":
        return "Your payment failed, and we could not confirm that nothing was charged. We will look into it."
    # Uncertain or reversing, or unknown to this server: a second payment could be a second charge.
    return "Your payment failed. If you were charged, you get the money back. Please do not pay again yet."


if __name__ == "__main__":
    bot.run()
