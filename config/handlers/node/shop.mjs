#!/usr/bin/env node
// A shop as a handler in Node: questions by quick reply, list picker, time picker and form, and a sign-in.
import { Bot, form, handoff, inputPage, listPicker, quickReply, section, signIn, slot, timePicker } from "./balloon.mjs";

const bot = new Bot("shop");
const { on } = bot;

on.text((event) => {
  if (event.text?.toLowerCase() === "sign in") {
    return signIn("Sign in", null, { reply: "Signed in", fallback: "Please call us: this device cannot sign in." });
  }
  return quickReply("What can we do for you?", [["order", "Order bread"], ["person", "Talk to a person"]]);
});

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

on.authentication((event) => {
  const { result, claims } = event.signIn ?? {};
  if (result === "signedIn") return `Welcome, ${claims.name ?? "dear customer"}!`;
  if (result === "declined") return "You did not sign in. You can order without it.";
  if (result === "expired") return 'The sign-in took too long. Write "sign in" to begin again.';
  return 'The sign-in did not work. Write "sign in" to begin again.';
});

bot.run(import.meta.url);
