#!/usr/bin/env node
// A shop as a handler in Node: questions by quick reply, list picker, time picker and form, a sign-in, and a
// payment. Each question has a text for devices that cannot show it, and the shop also understands answers that are written.
import {
  Bot, form, handoff, inputPage, listPicker, notPaid, paid, paymentRequest, quickReply, section, signIn, slot, timePicker,
} from "./balloon.mjs";

const bot = new Bot("shop");
const { on } = bot;

const DELIVERIES = [
  { identifier: "bicycle", label: "Bicycle", detail: "Within two hours", amount: "2.00" },
  { identifier: "post", label: "Post", detail: "Tomorrow", amount: "4.00" },
];

// In cents, because sums of decimal fractions are not exact.
function sums(identifier) {
  const { label, amount } = DELIVERIES.find((each) => each.identifier === identifier);
  const total = (600 + Math.round(Number(amount) * 100)) / 100;
  return [
    { label: "Shop", amount: total.toFixed(2), type: "final" },
    [{ label: "Bread", amount: "6.00", type: "final" }, { label, amount, type: "final" }],
  ];
}

on.text((event) => {
  // A heart on a message asks nothing.
  if (event.tapback) return null;
  const words = (event.text ?? "").trim().toLowerCase();
  if (words === "sign in") {
    return signIn("Sign in", null, { reply: "Signed in", fallback: "Please call us: this device cannot sign in." });
  }
  if (words === "pay") {
    const [total, lineItems] = sums("bicycle");
    return paymentRequest("A basket of bread", {
      total, lineItems, currencyCode: "EUR", countryCode: "DE", shippingMethods: DELIVERIES,
      requiredShippingContactFields: ["post"],
      applePay: { merchantCapabilities: ["supports3DS"], supportedNetworks: ["visa", "masterCard"] },
    }, { fallback: "Please pay when you collect it: this device has no Apple Pay." });
  }
  if (words === "person") return handoff("the customer asked for a person");
  if (words === "order") return askForBread();
  if (["rye", "wheat"].includes(words)) return askForTime(event, words);
  if (["morning", "evening"].includes(words)) return askForName(event);
  if (event.state.asksForName) return thank(event);
  // The question is a text: a device shows the summary of a quick reply only in its notification.
  return ["What can we do for you?", quickReply("Please choose", [["order", "Order bread"], ["person", "Talk to a person"]], {
    fallback: "Write “order” to order bread, or “person” to talk to a person.",
  })];
});

on.quickReply((event) => {
  if (event.selectedIdentifier === "person") return handoff("the customer asked for a person");
  return askForBread();
});

const askForBread = () => listPicker("Which bread?", [section("Bread", [["rye", "Rye"], ["wheat", "Wheat"]])], {
  fallback: "Which bread? Write “rye” or “wheat”.",
});

on.listPicker((event) => askForTime(event, (event.selectedIdentifiers ?? []).join(" and ")));

function askForTime(event, bread) {
  event.state.bread = bread;
  return timePicker("When?", "Collect it", [
    slot("morning", "2030-07-10T08:00+0000", 60), slot("evening", "2030-07-10T17:00+0000", 60),
  ], { fallback: "When will you collect it? Write “morning” or “evening”." });
}

on.timePicker((event) => askForName(event));

function askForName(event) {
  // The next text is the name: not every device shows forms.
  event.state.asksForName = true;
  return form("Your name", [inputPage("name", "Who collects it?", { title: "Your name", required: true })], {
    fallback: "Who collects it? Please write your name.",
  });
}

on.form((event) => thank(event));

function thank(event) {
  const { bread = "bread" } = event.state;
  event.state = {};
  return `Thank you! Your ${bread} will be ready.`;
}

on.authentication((event) => {
  const { result, claims } = event.signIn ?? {};
  if (result === "signedIn") return `Welcome, ${claims.name ?? "dear customer"}!`;
  if (result === "declined") return "You did not sign in. You can order without it.";
  if (result === "expired") return 'The sign-in took too long. Write "sign in" to begin again.';
  return 'The sign-in did not work. Write "sign in" to begin again.';
});

on.shippingMethodUpdate(({ payment }) => {
  const [newTotal, newLineItems] = sums(payment.shippingMethod.identifier);
  return { newTotal, newLineItems };
});

on.shippingContactUpdate(({ payment }) => {
  if (payment.shippingContact.countryCode?.toUpperCase() === "DE") return {};
  // No bicycle goes abroad.
  const [newTotal, newLineItems] = sums("post");
  return { newTotal, newLineItems, newShippingMethods: DELIVERIES.filter((each) => each.identifier === "post") };
});

// The keys whose charge was reversed. A real shop asks its payment provider, or keeps them on disk.
const reversedKeys = new Set();

on.paymentGateway(({ payment, total, attempt }) => {
  // A real shop calls its payment provider here, with payment.paymentToken, total and attempt as the idempotency key. This one
  // accepts every card but the one that `balloon simulate applePay --decline` uses.
  if (reversedKeys.has(attempt)) {
    // The reversal overtook the charge: the customer already saw a failure.
    return notPaid({ code: "unknown", message: "This payment was cancelled." });
  }
  if (payment.paymentToken.paymentMethod?.displayName === "Visa 0002") {
    return notPaid({ code: "unknown", message: "The bank declined the card." });
  }
  return paid(total, `test-${attempt.slice(0, 8)}`);
});

// A real shop returns the charge with the key attempt here, if there is one; this one charged nothing. It remembers the key in
// any case, so that a charge that comes later is refused.
on.reversal(({ attempt }) => {
  reversedKeys.add(attempt);
});

on.applePay((event) => {
  const { state, amount, currency } = event.paymentRecord ?? {};
  switch (state) {
    case "paid": return `Thank you! You paid ${amount} ${currency}.`;
    case "unpaid": case "declined": return 'Nothing was charged. Write "pay" to try again.';
    case "reversed": return 'The payment did not go through, and any charge was returned. Write "pay" to try again.';
    case "pending": return "Your payment is not confirmed yet. Please do not pay again.";
    case "unreversed":
      return "Your payment failed, and we could not confirm that nothing was charged. We will look into it.";
    // Uncertain or reversing, or unknown to this server: a second payment could be a second charge.
    default: return "Your payment failed. If you were charged, you get the money back. Please do not pay again yet.";
  }
});

bot.run(import.meta.url);
