#!/usr/bin/env python3
"""A shop as a handler in Python: questions by quick reply, list picker, time picker and form."""
from balloon import Bot, form, handoff, input_page, list_picker, quick_reply, section, slot, time_picker

bot = Bot("shop")
on = bot.on


@on.text
def text(event):
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


if __name__ == "__main__":
    bot.run()
