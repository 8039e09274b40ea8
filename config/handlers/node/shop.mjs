#!/usr/bin/env node
// A shop as a handler in Node: questions by quick reply, list picker, time picker and form, a sign-in, and a
// payment.
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
  if (event.text?.toLowerCase() === "sign in") {
    return signIn("Sign in", null, { reply: "Signed in", fallback: "Please call us: this device cannot sign in." });
  }
  if (event.text?.toLowerCase() === "pay") {
    const [total, lineItems] = sums("bicycle");
    return paymentRequest("A basket of bread", {
      total, lineItems, currencyCode: "EUR", countryCode: "DE", shippingMethods: DELIVERIES,
      requiredShippingContactFields: ["post"],
      applePay: { merchantCapabilities: ["supports3DS"], supportedNetworks: ["visa", "masterCard"] },
    }, { fallback: "Please pay when you collect it: this device has no Apple Pay." });
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

on.paymentGateway(({ payment, total, attempt }) => {
  // A real shop calls its payment provider here, with payment.paymentToken, total and attempt as the idempotency key. This one
  // accepts every card but the one that `balloon simulate applePay --decline` uses.
  if (payment.paymentToken.paymentMethod?.displayName === "Visa 0002") {
    return notPaid({ code: "unknown", message: "The bank declined the card." });
  }
  return paid(total, `test-${attempt.slice(0, 8)}`);
});

// A real shop returns the charge with the key attempt here; this one charged nothing.
on.reversal(() => {});

on.applePay((event) => {
  const { state, amount, currency } = event.paymentRecord ?? {};
  if (state === "paid") return `Thank you! You paid ${amount} ${currency}.`;
  return 'Nothing was charged. Write "pay" to try again.';
});

bot.run(import.meta.url);
