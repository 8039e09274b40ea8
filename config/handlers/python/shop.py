#!/usr/bin/env python3
"""A shop as a handler in Python: questions by quick reply, list picker, time picker and form, and a sign-in."""
from balloon import Bot, form, handoff, input_page, list_picker, quick_reply, section, sign_in, slot, time_picker

bot = Bot("shop")
on = bot.on


@on.text
def text(event):
    if event.text.lower() == "sign in":
        return sign_in("Sign in", reply="Signed in", fallback="Please call us: this device cannot sign in.")
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


if __name__ == "__main__":
    bot.run()
