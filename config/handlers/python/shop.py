#!/usr/bin/env python3
"""A shop as a handler in Python: questions by quick reply, list picker, time picker and form, a sign-in, and a payment."""
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
    if event.text.lower() == "sign in":
        return sign_in("Sign in", reply="Signed in", fallback="Please call us: this device cannot sign in.")
    if event.text.lower() == "pay":
        total, items = sums("bicycle")
        return payment_request(
            "A basket of bread", total, items, "EUR", "DE", ["visa", "masterCard"], shipping=["post"],
            shipping_methods=[(key, *delivery) for key, delivery in DELIVERIES.items()],
            fallback="Please pay when you collect it: this device has no Apple Pay.")
    return quick_reply("What can we do for you?", [("order", "Order bread"), ("person", "Talk to a person")])


@on.quickReply
def request_chosen(event):
    if event.selected_identifier == "person":
        return handoff("the customer asked for a person")
    return list_picker("Which bread?", [section("Bread", [("rye", "Rye"), ("wheat", "Wheat")])])


@on.listPicker
def bread_chosen(event):
    event.state["bread"] = " and ".join(event.selected_identifiers)
    return time_picker("When?", "Collect it", [
        slot("morning", "2030-07-10T08:00+0000", minutes=60), slot("evening", "2030-07-10T17:00+0000", minutes=60)])


@on.timePicker
def time_chosen(event):
    return form("Your name", [input_page("name", "Who collects it?", title="Your name", required=True)])


@on.form
def name_given(event):
    bread = event.state.pop("bread", "bread")
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


@on.paymentGateway
def charge(payment):
    # A real shop calls its payment provider here, with payment.token, payment.total and payment.attempt as the
    # idempotency key. This one accepts every card but the one that `balloon simulate applePay --decline` uses.
    if (payment.token.get("paymentMethod") or {}).get("displayName") == "Visa 0002":
        return not_paid(payment_error("unknown", "The bank declined the card."))
    return paid(payment.total, "test-" + payment.attempt[:8])


@on.reversal
def give_back(payment):
    """A real shop returns the charge with the key payment.attempt here; this one charged nothing."""


@on.applePay
def payment_ended(event):
    record = event.payment_record or {}
    if record.get("state") == "paid":
        return f"Thank you! You paid {record['amount']} {record['currency']}."
    return 'Nothing was charged. Write "pay" to try again.'


if __name__ == "__main__":
    bot.run()
