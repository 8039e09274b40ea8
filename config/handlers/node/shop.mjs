#!/usr/bin/env node
// A shop as a handler in Node: questions by quick reply, list picker, time picker and form.
import { Bot, form, handoff, inputPage, listPicker, quickReply, section, slot, timePicker } from "./balloon.mjs";

const bot = new Bot("shop");
const { on } = bot;

on.text(() => quickReply("What can we do for you?", [["order", "Order bread"], ["person", "Talk to a person"]]));

on.quickReply((event) => {
  if (event.selectedIdentifier === "person") return handoff("the customer asked for a person");
  return listPicker("Which bread?", [section("Bread", [["rye", "Rye"], ["wheat", "Wheat"]])]);
});

on.listPicker((event) => {
  event.state.bread = event.selectedIdentifiers.join(" and ");
  return timePicker("When?", "Collect it", [
    slot("morning", "2030-07-10T08:00+0000", 60), slot("evening", "2030-07-10T17:00+0000", 60),
  ]);
});

on.timePicker(() => form("Your name", [inputPage("name", "Who collects it?", { title: "Your name", required: true })]));

on.form((event) => {
  const { bread = "bread" } = event.state;
  event.state = {};
  return `Thank you! Your ${bread} will be ready.`;
});

bot.run(import.meta.url);
