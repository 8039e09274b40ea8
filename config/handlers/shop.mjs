#!/usr/bin/env node
// A shop as a handler in Node: questions by quick reply, list picker, time picker and form.
//
// It speaks balloon-handler/1: one JSON object per line on standard input and output. Standard error is the log.
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

const APPLE = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension";

// A message with one of Apple's interactive types, as Apple describes it.
function interactive(payload, title) {
  const data = { version: "1.0", requestIdentifier: randomUUID(), ...payload };
  const bubble = { title, style: "icon" };
  return { type: "interactive", interactiveData: { bid: APPLE, data, receivedMessage: bubble, replyMessage: bubble } };
}

const handlers = {
  text() {
    const items = [{ identifier: "order", title: "Order bread" }, { identifier: "person", title: "Talk to a person" }];
    return [interactive({ "quick-reply": { summaryText: "What can we do for you?", items } }, "Welcome")];
  },
  quickReply() {
    const items = ["rye", "wheat"].map((name, order) => ({ identifier: name, title: name, order, style: "default" }));
    const sections = [{ title: "Bread", order: 0, multipleSelection: false, items }];
    return [interactive({ listPicker: { sections } }, "Which bread?")];
  },
  listPicker() {
    const timeslots = [
      { identifier: "morning", startTime: "2030-07-10T08:00+0000", duration: 3600 },
      { identifier: "evening", startTime: "2030-07-10T17:00+0000", duration: 3600 },
    ];
    return [interactive({ event: { identifier: "collect", title: "Collect it", timeslots } }, "When?")];
  },
  timePicker() {
    const page = {
      pageIdentifier: "name", type: "input", title: "Your name", subtitle: "Who collects it?", submitForm: true,
      options: { required: true, inputType: "singleline" },
    };
    const data = { startPageIdentifier: "name", pages: [page] };
    return [interactive({ dynamic: { version: "1.1", template: "messageForms", data } }, "Your name")];
  },
  form() {
    return ["Thank you! Your bread will be ready."];
  },
};

// The result of one call of the server.
function answer({ method, params }) {
  if (method === "initialize") {
    return { protocolVersion: "1", handler: { name: "shop.mjs" }, events: Object.keys(handlers) };
  }
  if (method !== "event") return {};
  if (params.event.selectedIdentifier === "person") {
    return { outcome: "handoff", reason: "the customer asked for a person" };
  }
  return { outcome: "handled", replies: handlers[params.event.kind](params.event) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const call = JSON.parse(line);
  if ("id" in call) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id: call.id, result: answer(call) }) + "\n");
}
