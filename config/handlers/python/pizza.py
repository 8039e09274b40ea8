#!/usr/bin/env python3
"""A pizza bot: text, list with sections, time, yes or no, form, and a summary with a link and a picture.

    balloon dev --handler ./pizza.py               as a child process
    HANDLER_SECRET=… ./pizza.py --http 9000        as an HTTP service, with the same code
"""
import datetime
import pathlib

from balloon import (Bot, Image, bubble, form, handoff, input_page, list_picker, picker_page, quick_reply, rich_link,
                     section, slot, time_picker)

bot = Bot("pizza", concurrency=8)
on = bot.on

PICTURE = Image(pathlib.Path(__file__).parent.parent / "pizza.png", "A pizza")
PIZZAS = {"margherita": "Margherita", "funghi": "Funghi", "marinara": "Marinara"}
DRINKS = {"water": "Water", "cola": "Cola", "wine": "Red wine"}
NAMES = {**PIZZAS, **DRINKS}


@on.text
def text(event):
    if event.tapback:
        return None
    words = (event.text or "").lower()
    if not event.can("LIST") or "person" in words:
        return handoff("asked for a person, or has a device without lists", "A colleague answers in a few minutes.")
    if event.state.pop("asksForAddress", False):
        # The fallback of the form asked for it.
        return summary(event, "Thank you")
    if words in ("yes", "no") and "time" in event.state:
        return permission(event, words)
    if "pizza" not in words:
        # The question is a text: a device shows the summary of a quick reply only in its notification.
        return ["What can we do for you?", quick_reply(
            "Please choose", [("order", "Order a pizza"), ("person", "Talk to a person")],
            reusable=True, fallback="Write pizza to order one, or person to talk to a person.")]
    return menu()


@on.quickReply
def quick_reply_chosen(event):
    if event.selected_identifier == "person":
        return handoff("asked for a person")
    return permission(event, event.selected_identifier) if event.selected_identifier in ("yes", "no") else menu()


def menu():
    return list_picker(bubble("What would you like?", "Baked over wood", image=PICTURE, style="icon"), [
        section("Pizza", PIZZAS.items(), multiple=True),
        section("Drinks", DRINKS.items(), multiple=True),
    ], reply="My order", reusable=True, fallback="What would you like? Write person to order from a person.")


@on.listPicker
def list_chosen(event):
    chosen = [name for name in event.selected_identifiers or [] if name in NAMES]
    if not any(name in PIZZAS for name in chosen):
        return ["Please choose at least one pizza.", menu()]
    event.state["order"] = chosen
    now = datetime.datetime.now(datetime.timezone.utc).replace(minute=0, second=0, microsecond=0)
    slots = [slot(str(hours), now + datetime.timedelta(hours=hours), minutes=30) for hours in (1, 2, 3)]
    return time_picker("When shall we bring it?", "Your pizza", slots, reply="Delivery",
                       fallback="When shall we bring it? Write person to tell a person.")


@on.timePicker
def time_chosen(event):
    event.state["time"] = event.start_time
    # Apple wants a yes or no before a bot asks for personal data.
    return ["May we ask for your name and address?", quick_reply(
        "Please choose", [("yes", "Yes"), ("no", "No")], reusable=True, fallback="Write yes or no.")]


def permission(event, answer):
    if answer == "no":
        return handoff("gives no address", "A colleague answers in a few minutes.")
    # A device that shows no form answers in words.
    event.state["asksForAddress"] = not event.can("FORM")
    return form("Where shall we bring it?", [
        input_page("name", "What is your name?", required=True, textContentType="name"),
        input_page("address", "What is your address?", required=True, multiline=True, maximumCharacterCount=200),
        picker_page("payment", "How do you pay?", [("cash", "Cash"), ("card", "Card")], label="Payment"),
    ], reply="Address", fallback="Where shall we bring it? Please write your name, your address, and cash or card.")


@on.form
def form_filled(event):
    return summary(event, " ".join((event.answers or {}).get("name", [])) or "Thank you")


def summary(event, name):
    order = [NAMES[name] for name in event.state.get("order", [])]
    if not order:
        return ["Please begin again.", menu()]
    time = event.state.get("time", "")[11:16]
    event.state.clear()
    return [f"{name}, we bring {', '.join(order)} at {time} GMT.",
            rich_link("https://pizza.example/orders", "Your order", image=PICTURE)]


@on.replyFailed
def reply_failed(event):
    """The customer's device did not get one of our messages: a person looks at the conversation."""
    return handoff(f"a {event.message['kind']} was {event.message['status']}")


if __name__ == "__main__":
    bot.run()
