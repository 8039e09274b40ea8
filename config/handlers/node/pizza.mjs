#!/usr/bin/env node
// A pizza bot: text, list with sections, time, yes or no, form, and a summary with a link and a picture.
//
//     balloon dev --handler ./pizza.mjs              as a child process
//     HANDLER_SECRET=… ./pizza.mjs --http 9000       as an HTTP service, with the same code
import {
  Bot, Image, bubble, form, handoff, inputPage, listPicker, pickerPage, quickReply, richLink, section, slot, timePicker,
} from "./balloon.mjs";

export const bot = new Bot("pizza");
const { on } = bot;

const PICTURE = new Image(new URL("../pizza.png", import.meta.url), "A pizza");
const PIZZAS = { margherita: "Margherita", funghi: "Funghi", marinara: "Marinara" };
const DRINKS = { water: "Water", cola: "Cola", wine: "Red wine" };
const NAMES = { ...PIZZAS, ...DRINKS };

const menu = () => listPicker(bubble("What would you like?", { subtitle: "Baked over wood", image: PICTURE }), [
  section("Pizza", Object.entries(PIZZAS), { multiple: true }),
  section("Drinks", Object.entries(DRINKS), { multiple: true }),
], { reply: "My order", reusable: true, fallback: "What would you like? Write person to order from a person." });

on.text((event) => {
  if (event.tapback) return null;
  const words = (event.text ?? "").toLowerCase();
  if (!event.can("LIST") || words.includes("person")) {
    return handoff("asked for a person, or has a device without lists", "A colleague answers in a few minutes.");
  }
  if (event.state.asksForAddress) {
    // The fallback of the form asked for it.
    delete event.state.asksForAddress;
    return summary(event, "Thank you");
  }
  if (["yes", "no"].includes(words) && event.state.time) return permission(event, words);
  if (words.includes("pizza")) return menu();
  // The question is a text: a device shows the summary of a quick reply only in its notification.
  return ["What can we do for you?", quickReply("Please choose", [["order", "Order a pizza"], ["person", "Talk to a person"]], {
    reusable: true, fallback: "Write pizza to order one, or person to talk to a person.",
  })];
});

on.quickReply((event) => {
  if (event.selectedIdentifier === "person") return handoff("asked for a person");
  return ["yes", "no"].includes(event.selectedIdentifier) ? permission(event, event.selectedIdentifier) : menu();
});

on.listPicker((event) => {
  const chosen = (event.selectedIdentifiers ?? []).filter((name) => name in NAMES);
  if (!chosen.some((name) => name in PIZZAS)) return ["Please choose at least one pizza.", menu()];
  event.state.order = chosen;
  const hour = 60 * 60 * 1000;
  const now = Math.floor(Date.now() / hour) * hour;
  const slots = [1, 2, 3].map((hours) => slot(String(hours), new Date(now + hours * hour), 30));
  return timePicker("When shall we bring it?", "Your pizza", slots, {
    reply: "Delivery", fallback: "When shall we bring it? Write person to tell a person.",
  });
});

on.timePicker((event) => {
  event.state.time = event.startTime;
  // Apple wants a yes or no before a bot asks for personal data.
  return ["May we ask for your name and address?", quickReply("Please choose", [["yes", "Yes"], ["no", "No"]], {
    reusable: true, fallback: "Write yes or no.",
  })];
});

function permission(event, answer) {
  if (answer === "no") return handoff("gives no address", "A colleague answers in a few minutes.");
  // A device that shows no form answers in words.
  event.state.asksForAddress = !event.can("FORM");
  return form("Where shall we bring it?", [
    inputPage("name", "What is your name?", { required: true, textContentType: "name" }),
    inputPage("address", "What is your address?", { required: true, multiline: true, maximumCharacterCount: 200 }),
    pickerPage("payment", "How do you pay?", [["cash", "Cash"], ["card", "Card"]], { label: "Payment" }),
  ], { reply: "Address", fallback: "Where shall we bring it? Please write your name, your address, and cash or card." });
}

on.form((event) => summary(event, event.answers?.name?.join(" ") || "Thank you"));

function summary(event, name) {
  const { order = [], time = "" } = event.state;
  if (order.length === 0) return ["Please begin again.", menu()];
  event.state = {};
  return [
    `${name}, we bring ${order.map((each) => NAMES[each]).join(", ")} at ${time.slice(11, 16)} GMT.`,
    richLink("https://pizza.example/orders", "Your order", { image: PICTURE }),
  ];
}

// The customer's device did not get one of our messages: a person looks at the conversation.
on.replyFailed((event) => handoff(`a ${event.message.kind} was ${event.message.status}`));

bot.run(import.meta.url);
