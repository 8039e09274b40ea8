// Shows interactive messages as cards with all that they have, for the inbox and the details of a delivery.
import { bubble, card, chosenChip, files, inOrder, interaction, kindName, list, object, pictureOf, plainContent, raw, text } from "./bubbles.js";
import { element } from "./dom.js";
import { safe, slot, visible, zoneOf } from "./text.js";

const notKept = "[not kept]";

/// The children for `element()` that show a line; these and `options` are as for `plainContent`.
export function content(line, options = {}) {
  const message = object(line.message);
  const show = { quickReply, listPicker, timePicker, form, authentication, applePay, app, invitation }[line.kind];
  if (!show) return plainContent(line, options);
  try {
    return show(message, line.direction === "inbound", line, options);
  } catch {
    // Parts of the message have unexpected types, so show it as JSON.
    return [card(kindName(line.kind), [raw(message)])];
  }
}

function quickReply(message, isFromCustomer) {
  const { data } = interaction(message);
  const question = text(object(data["quick-reply"]).summaryText);
  const chosen = chosenChip(data);
  if (isFromCustomer || chosen) {
    return [question && element("p", { class: "context", dir: "auto" }, `Answer to “${safe(question)}”`), bubble(safe(chosen || "Nothing chosen"))];
  }
  return [
    // Apple MSP API, "Quick Reply Message": the device shows this text in the notification only.
    question && element("p", { class: "context", dir: "auto" }, `Notification: “${safe(question)}”`),
    element("ul", { class: "chips", "aria-label": "Choices" },
      list(object(data["quick-reply"]).items).map((item) => element("li", { class: "chip", dir: "auto" }, safe(text(item.title))))),
  ];
}

function listPicker(message, isFromCustomer) {
  const { data, received, reply, picture } = interaction(message);
  const sections = inOrder(object(data.listPicker).sections);
  const items = (section) => inOrder(section.items);
  const row = (item) => element("li", {},
    picture(item.imageIdentifier) && pictureOf(picture(item.imageIdentifier)),
    element("span", { dir: "auto" }, safe(text(item.title) || text(item.identifier)),
      text(item.subtitle) && element("small", { dir: "auto" }, safe(text(item.subtitle)))));
  if (isFromCustomer) {
    return [card("Chosen from a list", [element("ul", { class: "rows" }, sections.flatMap(items).map(row))],
      { subtitle: text(reply.alternateTitle) || text(received.title) })];
  }
  return [card("List picker", sections.map((section) => [
    element("p", { class: "section", dir: "auto" }, safe(text(section.title)), section.multipleSelection ? " (several)" : ""),
    element("ul", { class: "rows" }, items(section).map(row)),
  ]), { title: text(received.title), subtitle: text(received.subtitle), picture: picture(received.imageIdentifier) })];
}

function timePicker(message, isFromCustomer) {
  const { data, received, reply, picture } = interaction(message);
  const event = object(data.event ?? object(data.timePicker).event);
  const slots = element("ul", { class: "rows" }, list(event.timeslots).map((one) => element("li", {}, slot(text(one.startTime), one.duration, zoneOf(event)))));
  const place = text(object(event.location).title);
  return [card(isFromCustomer ? "Chosen time" : "Time picker", [slots, place && element("p", { class: "card-subtitle", dir: "auto" }, safe(place))], {
    title: text(event.title) || text(received.title), subtitle: isFromCustomer ? text(reply.subtitle) : text(received.subtitle),
    picture: picture(received.imageIdentifier ?? event.imageIdentifier),
  })];
}

function form(message, isFromCustomer) {
  const { data, received, picture } = interaction(message);
  const dynamic = object(data.dynamic);
  if (!isFromCustomer) {
    const pages = list(object(dynamic.data).pages);
    return [card(`Form, ${pages.length} ${pages.length === 1 ? "page" : "pages"}`, [
      element("ol", { class: "rows" }, pages.slice(0, 50).map((page) => element("li", { dir: "auto" }, safe(text(page.title) || text(page.pageIdentifier))))),
    ], { title: text(received.title) || text(object(object(dynamic.data).splash).header), subtitle: text(received.subtitle), picture: picture(received.imageIdentifier) })];
  }
  if (dynamic.private === true || dynamic.private === "true") {
    return [card("Private form", [element("p", { class: "card-subtitle" }, "Answered. The answers are not kept here.")])];
  }
  return [card("Answered form", [element("dl", { class: "answers" }, list(dynamic.selections).map((page) => [
    element("dt", { dir: "auto" }, safe(text(page.title) || text(page.pageIdentifier))),
    element("dd", { dir: "auto" }, safe(list(page.items).map((item) => text(item.title) || text(item.value)).join(", ")) || "no answer"),
  ]))], { title: text(received.title) })];
}

/// The titles of the results that the server checked, for sign-ins that ended while a person had the conversation.
const signInResults = {
  signedIn: "Signed in", unverified: "Signed in, not verified", declined: "Declined", failed: "Sign-in failed", expired: "Too late",
  unproven: "Not proven",
};

function authentication(message, isFromCustomer, { signIn }) {
  const { data, received, reply } = interaction(message);
  const status = text(object(data.authenticate).status);
  if (!isFromCustomer) return [card("Asks to sign in", [], { title: text(received.title) || "Sign in", subtitle: text(received.subtitle) })];
  if (signIn) {
    const { result, issuer, subject } = object(signIn);
    const facts = [text(subject), text(issuer)].filter(Boolean).join(" at ");
    return [card("Sign-in", [], { title: signInResults[result] ?? "Sign-in", subtitle: facts })];
  }
  const isDone = ["authenticated", "success", "completed"].includes(status);
  return [card("Sign-in", [], { title: isDone ? "Signed in" : "Not signed in", subtitle: isDone ? text(reply.title) : status || "no status" })];
}

function applePay(message, isFromCustomer) {
  const { data, received, reply } = interaction(message);
  const payment = object(data.payment);
  const request = object(payment.paymentRequest);
  const money = (item) => [text(item.amount), text(request.currencyCode)].filter((part) => part && part !== notKept).join(" ");
  const total = object(request.total);
  const row = (item, kind) => element("li", { class: kind }, element("span", { dir: "auto" }, safe(text(item.label))), element("span", { class: "amount" }, safe(money(item))));
  const lines = element("ul", { class: "rows amounts" }, list(request.lineItems).map((item) => row(item)), text(total.amount) && row(total, "total"));
  const status = text(payment.state);
  return [card(isFromCustomer ? "Apple Pay, result" : "Apple Pay", [lines], {
    title: (isFromCustomer ? text(reply.title) : text(received.title)) || (isFromCustomer ? "Payment" : "Payment request"),
    subtitle: isFromCustomer ? safe(status) : text(received.subtitle),
  })];
}

function app(message, isFromCustomer, line, options) {
  const { outer, received, reply, picture } = interaction(message);
  const name = text(outer.appName) || "App";
  return [card(visible(name), [received.imageTitle, received.imageSubtitle, received.secondarySubtitle, received.tertiarySubtitle].map(text).filter(Boolean)
    .map((part) => element("p", { class: "card-subtitle", dir: "auto" }, safe(part))), { title: text(received.title) || text(reply.title), subtitle: text(received.subtitle), picture: picture(received.imageIdentifier) ?? (text(outer.appIcon) ? { data: outer.appIcon } : undefined) }), ...files(line, message, options)];
}

function invitation(message, isFromCustomer) {
  const { data } = interaction(message);
  const notification = object(data.notification);
  const response = object(object(notification.displayContent).determinateResponse);
  if (isFromCustomer) return [card("Answer to an invitation", [], { title: text(response.title) || text(notification.id), subtitle: text(response.subtitle) })];
  const parameters = Object.entries(object(notification.parameters)).slice(0, 20);
  return [card("Invitation", [element("dl", { class: "answers" }, parameters.map(([name, value]) => [
    element("dt", {}, visible(name)), element("dd", { dir: "auto" }, safe(text(value) || "…")),
  ]))], { title: text(notification.templateId) })];
}
