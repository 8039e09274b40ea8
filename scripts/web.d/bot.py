#!/usr/bin/env python3
"""The handler of the live tests: a text names the kind of message that it sends; each answer is told back as a text."""
import json, os, pathlib, sys, time

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent.parent / "config" / "handlers" / "python")]
sys.dont_write_bytecode = True

import balloon, messages

bot = balloon.Bot("web-tests")


def interactive(number, data, title=None):
    """A message whose identifiers are fixed, so that its answer can be compared with a written one."""
    content = {"bid": messages.BUSINESS, "sessionIdentifier": f"{number:08}-0000-4000-8000-000000000000",
               "data": {"version": data.get("version", "1.0"), "requestIdentifier": f"{number:08}-0000-4000-8000-111111111111",
                        **{name: value for name, value in data.items() if name != "version"}}}
    if title:
        content["receivedMessage"] = {"title": title, "subtitle": "Tap to answer", "style": "large" if "payment" in data else "small", **({"imageIdentifier": "1"} if "images" in data else {})}
        content["replyMessage"] = {"title": "Your answer", "style": "icon"}
    return {"type": "interactive", "interactiveData": content}


OFFERS = {
    "quick": interactive(1, {"quick-reply": {"summaryText": "Anything else?", "items": [{"identifier": "1", "title": "Yes, please"}, {"identifier": "2", "title": "No"}]}}),
    "list": interactive(2, messages.LIST, "Our bread"),
    "times": interactive(3, messages.TIMES, "Book a fitting"),
    "form": interactive(4, messages.FORM, "Complaint"),
    "sign in": interactive(5, messages.SIGN_IN, "Sign in"),
    "sign in old": interactive(8, messages.SIGN_IN_1, "Sign in"),
    "sign in here": {"signIn": {"receivedMessage": {"title": "Sign in here", "style": "small"}, "replyMessage": {"title": "Signed in", "style": "icon"}}},
    "pay": interactive(6, {"images": messages.IMAGES, **messages.PAYMENT}, "Halibut"),
    "pay here": balloon.payment_request(
        "Basket", ("Shop", "8.00"), [("Bread", "6.00"), ("Bicycle", "2.00")], "EUR", "DE", ["visa"], shipping=["post", "name"],
        shipping_methods=[("bicycle", "Bicycle", "Within two hours", "2.00"), ("post", "Post", "Tomorrow", "4.00")]),
    "app": {"type": "interactive", "interactiveData": {"bid": "com.apple.messages.MSMessageExtensionBalloonPlugin:TEAM123456:com.example.parcels", "URL": "?parcel=7", "appId": 1, "appName": "Parcels",
                                                      "sessionIdentifier": "00000007-0000-4000-8000-000000000000", "receivedMessage": {"title": "Parcel Locator", "subtitle": "Open the map"}}},
    "link": {"type": "richLink", "richLinkData": {"url": "https://example.com/", "title": "All our bread", "assets": {"image": {"data": messages.IMAGES[1]["data"], "mimeType": "image/png"}}}},
}


@bot.on.text
def text(event):
    words = event.text or ""
    event.state["count"] = event.state.get("count", 0) + 1
    if event.files:
        return "Files: " + ", ".join(f"{one.name} {one.size}" for one in event.files)
    if words == "file":
        return balloon.text("Here it is", files=[str(here / "messages.py"), str(here.parent.parent / "config" / "handlers" / "pizza.png")])
    if words == "fail":
        balloon.log("the oven is cold", "error")
        return balloon.retry() if event.attempt == 1 else "Failed once"
    if words == "slow":
        time.sleep(3)
    if words == "exit":
        os._exit(3)
    return OFFERS.get(words) or f"You wrote: {words}"


@bot.on.shippingMethodUpdate
def delivery(payment):
    if payment.shipping_method["identifier"] == "post":
        return balloon.sheet(("Shop", "10.00"), [("Bread", "6.00"), ("Post", "4.00")])
    return balloon.sheet(("Shop", "8.00"), [("Bread", "6.00"), ("Bicycle", "2.00")])


@bot.on.shippingContactUpdate
def address(payment):
    country = (payment.shipping_contact.get("countryCode") or "").upper()
    if country == "JP":
        return balloon.sheet(errors=[balloon.payment_error("addressUnserviceable", "We do not deliver to Japan.")])
    if country == "DE":
        return balloon.sheet(("Shop", "10.00"), [("Bread", "6.00"), ("Post", "4.00")], shipping_methods=[("post", "Post", "Tomorrow", "4.00")])


@bot.on.paymentMethodUpdate
def card(payment):
    return balloon.sheet(("Shop", "8.50"), [("Bread", "6.00"), ("Bicycle", "2.00"), ("Fee of the card", "0.50")])


@bot.on.paymentGateway
def charge(payment):
    if payment.token["paymentMethod"]["displayName"] == "Visa 0002":
        return balloon.not_paid()
    return balloon.paid(payment.total, "test")


@bot.on.reversal
def give_back(payment):
    pass


@bot.on.any
def answer(event):
    if event.kind == "applePay" and event.payment_record:
        return f"the payment: {event.payment_record['state']} {event.payment_record['amount']}"
    if event.kind in ("typingStart", "typingEnd", "close"):
        return None
    result = event.sign_in or {}
    said = f"Got {event.kind}: " + json.dumps(event.selected_identifiers or event.selected_identifier or event.start_time or event.answers or event.params["event"].get("status"))
    return said + (f"; the sign-in: {result['result']} {result.get('subject', '')}".rstrip() if result else "")


bot.run()
