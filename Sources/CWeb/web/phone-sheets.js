// The sheets of a device: list, times, sign-in, payment, app and invitation. Each makes a choice `{items, fills, outcome}`.
import { interaction, kindName, list, object, pictureOf, text } from "./bubbles.js";
import { sheet } from "./dialogs.js";
import { button, element, fill, labelled, say } from "./dom.js";
import { money, nameOf, rule } from "./phone-bubbles.js";
import { formSheet } from "./phone-form.js";
import { sectionsOf, timesOf } from "./phone-offer.js";
import { safe, size, visible } from "./text.js";

/// The value of a part that the server adds when it sends a request to sign in.
const addedWhenSent = "[added when sent]";

/// The time that a device waits for a business's payment addresses.
const paymentSeconds = 30;

/// Opens the sheet of an entry. `send(choice)` posts the answer and throws a `Problem`; `pay(body)` operates the payment sheet of
/// a request that the server completed; `matches(regex, text)` asks whether a text fits; `place` puts the sheet on the phone.
/// Resolves with true when the answer was sent.
export function openSheet(entry, customer, { send, pay, matches, place }) {
  const line = { ...entry.line, kind: entry.kind };
  const message = object(line.message);
  const { received, data, outer } = interaction(message);
  const title = safe(text(received.title) || text(object(data.event).title) || text(outer.appName)) || kindName(entry.kind);
  const build = sheets[entry.kind];
  return sheet(title, (finish) => {
    const alert = element("div", { class: "sheet-alert", role: "alert" });
    const fail = (error) => fill(alert, error && element("p", { class: "failure" }, visible(error.message)));
    let isSending = false;
    const answer = async (choice) => {
      if (isSending) return false;
      isSending = true;
      fail();
      try {
        await send({ items: [], fills: [], ...choice });
        finish(true);
        return true;
      } catch (error) {
        fail(error);
        return false;
      } finally {
        isSending = false;
      }
    };
    const body = element("div", { class: "device-body" });
    try {
      fill(body, build({ message, customer, answer, pay, matches, fail, finish, body, title }));
    } catch {
      // A part of the message has an unexpected type.
      fill(body, rule("A device cannot show this message: a part of it has an unexpected type."));
    }
    // The keys begin at the first choice.
    if (!body.querySelector("[data-first]")) body.querySelector("input")?.setAttribute("data-first", "");
    return element("div", { class: "device-content" }, body, alert);
  }, { place });
}

/// The row of buttons under a sheet's content.
function foot(...buttons) { return element("div", { class: "sheet-foot" }, buttons); }

function sendButton(label, action) { return button(label, { class: "primary wide" }, action); }

/// The button that sends the chosen items of a picker; Enter on an item presses it, as in a form.
function picker(body, titles, answer) {
  const chosen = () => [...body.querySelectorAll("input:checked")].map((one) => Number(one.value));
  const submit = sendButton("Send", () => void answer({ items: chosen().map((position) => nameOf(position, titles)) }));
  submit.disabled = true;
  body.addEventListener("change", () => { submit.disabled = chosen().length === 0; });
  body.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target.tagName !== "INPUT") return;
    event.preventDefault();
    submit.click();
  });
  return submit;
}

function choice(type, name, position, content) {
  return element("li", {}, element("label", { class: "choice" },
    element("input", { type, name, value: position }), element("span", { class: "choice-words", dir: "auto" }, content)));
}

// List picker

function listPicker({ message, answer, body }) {
  const sections = sectionsOf(message);
  const items = sections.flatMap((section) => section.items);
  const submit = picker(body, items.map((item) => item.title), answer);
  const images = items.some((item) => item.image);
  return [
    sections.length === 0 && rule("The list picker has no sections."),
    sections.map((section, index) => element("fieldset", { class: "device-section" },
      element("legend", { dir: "auto" }, safe(section.title || "Items"), section.isMultiple && element("small", {}, " Choose any")),
      section.items.length === 0 && rule("This section has no items."),
      element("ul", { class: "choices-list" }, section.items.map((item) => choice(section.isMultiple ? "checkbox" : "radio", `section-${index}`, item.position, [
        images && element("span", { class: "thumb" }, item.image ? pictureOf(item.image) : null),
        element("span", {}, element("span", { class: "choice-title" }, safe(item.title || "(no title)")),
          item.subtitle && element("small", {}, safe(item.subtitle)),
          item.missing && rule(`The message has no image “${visible(item.missing)}”.`)),
      ]))))),
    foot(submit),
  ];
}

// Time picker

function timePicker({ message, customer, answer, body }) {
  const { data, picture } = interaction(message);
  const event = object(data.event);
  const times = timesOf(message, customer);
  const submit = picker(body, list(event.timeslots).map(() => ""), answer);
  const place = object(event.location);
  const coordinates = [place.latitude, place.longitude].every((one) => Number.isFinite(Number(one)) && one !== null && one !== "");
  return [
    picture(event.imageIdentifier) && element("div", { class: "sheet-picture" }, pictureOf(picture(event.imageIdentifier))),
    text(event.title) && element("p", { class: "card-title", dir: "auto" }, safe(text(event.title))),
    text(place.title) && element("p", { class: "hint", dir: "auto" }, safe(text(place.title)), coordinates && ` (${Number(place.latitude).toFixed(3)}, ${Number(place.longitude).toFixed(3)})`),
    element("p", { class: "hint" }, times.zone),
    times.days.length === 0 && rule("The time picker has no time that a device can read."),
    times.unreadable.length > 0 && rule(`A device cannot read the start of ${times.unreadable.map((position) => `time ${position + 1}`).join(", ")}.`),
    times.days.map((day) => element("fieldset", { class: "device-section" }, element("legend", {}, day.day),
      element("ul", { class: "choices-list" }, day.slots.map((slot) => choice("radio", "slot", slot.position, [
        element("span", { class: "choice-title" }, slot.clock, slot.minutes > 0 && element("small", { class: "inline" }, ` ${slot.minutes} min`)),
        slot.clash && element("small", { class: "clash" }, "Clashes with “Lunch” in the calendar"),
      ]))))),
    foot(submit),
  ];
}

// Sign-in

function authentication({ message, answer, body }) {
  const { data } = interaction(message);
  const isVersion2 = text(data.version) === "2.0";
  const oauth = object(object(data.authenticate).oauth2);
  const scope = (Array.isArray(oauth.scope) ? oauth.scope.map(text) : []).filter((one) => one !== addedWhenSent);
  // The server adds the state and processes the sign-in; the message of a handler alone is only answered.
  const isProcessed = text(oauth.state) === addedWhenSent;
  const fact = (name, value) => [element("dt", {}, name), element("dd", { dir: "auto" }, value || "none")];
  const finish = (outcome) => () => void answer({ outcome });
  const rules = isProcessed ? [] : [
    !isVersion2 && !text(oauth.responseEncryptionKey) && "Version 1 needs a responseEncryptionKey.",
    isVersion2 && !/^https:/u.test(text(oauth.redirectURI)) && "The redirectURI is no https address; a device refuses it.",
    scope.length === 0 && "The request has no scope.",
    !text(oauth.state) && "The request has no state.",
  ].filter(Boolean);
  body.classList.add("sign-in-sheet");
  return [
    element("div", { class: "provider" },
      element("p", { class: "provider-name" }, "Example Accounts"),
      element("p", { class: "hint" }, `Sign-in of version ${isVersion2 ? 2 : 1}. ${isProcessed
        ? "The phone opens the provider of balloon dev, which asks for no password, and follows it to the server's callback."
        : "The phone plays the device alone: it opens no address of the business."}`),
      element("dl", { class: "answers" },
        fact("The business asks for", scope.map((one) => visible(one)).join(", ") || (isProcessed && "the scope of its configuration")),
        isVersion2 && fact("After the sign-in the browser opens", isProcessed ? "the callback of the server" : visible(text(oauth.redirectURI))),
        isVersion2 && fact("and it ends at", "messages-auth://?status=success"))),
    rules.map(rule),
    element("div", { class: "sheet-foot stack" },
      sendButton("Sign in", finish("success")),
      button("Sign-in fails", { class: "secondary wide" }, finish("failure")),
      isVersion2 && button("Cancel the sign-in", { class: "secondary wide" }, finish("cancel"))),
  ];
}

// Apple Pay

function applePay({ message, answer, pay: operate, fail, body, finish }) {
  const payment = object(interaction(message).data.payment);
  const request = object(payment.paymentRequest);
  const endpoints = object(payment.endpoints);
  const session = object(payment.merchantSession);
  const currency = text(request.currencyCode);
  const total = object(request.total);
  const methods = list(request.shippingMethods);
  const amount = (value) => money(value, currency);
  const row = (label, value, kind) => element("li", { class: kind }, element("span", { dir: "auto" }, safe(label)), element("span", { class: "amount" }, value));
  const contacts = {
    name: ["Name", "Johnny Appleseed"], email: ["Email", "user@example.com"], phone: ["Telephone", "+1 555 555 5555"],
    post: ["Address", "1 Infinite Loop, Cupertino, CA 95014, United States"], phoneticName: ["Phonetic name", "Johnny Appleseed"],
  };
  // The server adds the addresses and the session when it sends the request, and answers the device at them.
  const isProcessed = payment.endpoints === addedWhenSent;
  const required = (name) => (Array.isArray(request[name]) ? request[name].map(text) : []).filter((field) => Object.hasOwn(contacts, field));
  const expires = Number(session.expiresAt);
  const rules = isProcessed ? [] : [
    !(Number(total.amount) > 0) && "The total must be greater than zero.",
    Array.isArray(request.lineItems) && request.lineItems.length === 0 && "lineItems must not be empty when it is present.",
    !text(endpoints.paymentGatewayUrl) && "The message has no paymentGatewayUrl.",
    text(endpoints.paymentGatewayUrl) && text(session.initiativeContext) && endpoints.paymentGatewayUrl.replace(/\/$/u, "") !== session.initiativeContext.replace(/\/$/u, "") && "The paymentGatewayUrl differs from the session's initiativeContext.",
    expires > 0 && expires < Date.now() && "The merchant session has expired.",
    methods.length > 0 && !text(endpoints.shippingMethodUpdateUrl) && "There are shipping methods, but no shippingMethodUpdateUrl.",
  ].filter(Boolean);
  const state = element("p", { class: "pay-state", role: "status" });
  const errors = element("div", {});
  const amounts = element("ul", { class: "rows amounts" });
  const showAmounts = (items, sum) => fill(amounts,
    items.map((item) => row(text(item.label), amount(item.amount) + (text(item.type) === "pending" ? " (pending)" : ""))),
    row(text(sum.label) || "Total", amount(sum.amount), "total"));
  const shipping = element("ul", { class: "choices-list" });
  const showShipping = (offered, selected) => fill(shipping, offered.map((method, position) => {
    const made = choice("radio", "shipping", position, [
      element("span", { class: "choice-title" }, safe(text(method.label)), element("span", { class: "amount" }, amount(method.amount))),
      text(method.detail) && element("small", {}, safe(text(method.detail)))]);
    const input = made.querySelector("input");
    input.checked = selected ? text(method.identifier) === selected : position === 0;
    input.addEventListener("change", () => void select({ shippingMethod: text(method.identifier) }));
    return made;
  }));
  // Acts, while the controls of the sheet rest.
  const run = async (words, action) => {
    const controls = [...body.querySelectorAll("button, input, select")];
    for (const one of controls) one.disabled = true;
    fail();
    fill(state, words);
    try { await action(); } catch (error) { fail(error); }
    fill(state);
    for (const one of controls) one.disabled = false;
  };
  // Tells the business what the customer selects, and shows the sums of its answer.
  const select = async (selected) => {
    if (!isProcessed) return;
    const focused = document.activeElement;
    await run("The business updates the sheet", async () => {
      const { sheet: shown } = await operate({ select: selected });
      showAmounts(list(shown.lineItems), object(shown.total));
      showShipping(list(shown.shippingMethods), text(shown.shippingMethod));
      fill(errors, shown.errors.map((one) => rule(`The sheet shows an error: ${visible(text(one))}`)));
    });
    (focused.isConnected ? focused : shipping.querySelector("input:checked") ?? body.querySelector("select"))?.focus();
  };
  const chooser = (label, name, options) => element("li", {}, labelled(label, element("select", { id: `pay-${name}`, on: { change: (event) => void select(name === "card" ? { card: true } : { country: event.target.value }) } },
    options.map(([value, words]) => element("option", { value }, words)))));
  showAmounts(list(request.lineItems), total);
  showShipping(methods);
  const pay = async (outcome) => {
    const last = Date.now() + paymentSeconds * 1000;
    const count = () => {
      const left = Math.max(0, Math.ceil((last - Date.now()) / 1000));
      bar.value = left;
      // Screen readers hear the start only.
      say(clock, `${left} s`);
    };
    const bar = element("progress", { max: paymentSeconds, value: paymentSeconds, "aria-label": "Time for the payment gateway" });
    const clock = element("span", { class: "pay-clock", "aria-hidden": "true" });
    count();
    state.after(bar);
    const timer = setInterval(count, 250);
    await run([`Processing; the business has ${paymentSeconds} seconds `, clock], async () => {
      if (!isProcessed) return answer({ outcome });
      await operate({ pay: outcome });
      return finish(true);
    });
    clearInterval(timer);
    bar.remove();
  };
  body.classList.add("pay-sheet");
  return [
    element("p", { class: "pay-merchant", dir: "auto" }, safe(text(session.displayName) || text(total.label) || "The business")),
    element("ul", { class: "pay-facts" },
      isProcessed ? chooser("Card", "card", [["first", "Visa ···· 4242"], ["other", "Another Visa"]]) : row("Card", "Simulated card ···· 1111"),
      [...new Set([...required("requiredShippingContactFields"), ...required("requiredBillingContactFields")])].map((field) => (isProcessed && field === "post"
        ? chooser("Address", "country", [["US", "United States"], ["DE", "Germany"], ["JP", "Japan"]])
        : row(contacts[field][0], contacts[field][1])))),
    methods.length > 0 && element("fieldset", { class: "device-section" }, element("legend", {}, "Shipping"), shipping),
    amounts,
    rules.map(rule), errors,
    element("p", { class: "hint" }, isProcessed
      ? "The token is synthetic. Each selection and the payment go through the server's payment addresses to the handler."
      : "The token is synthetic. The phone plays the device alone: it calls none of the business's payment addresses."),
    state,
    element("div", { class: "sheet-foot stack" }, sendButton("Pay", () => void pay("success")),
      button(isProcessed ? "Pay with a declined card" : "The payment fails", { class: "secondary wide" }, () => void pay("failure"))),
  ];
}

// App and invitation

function app({ message, answer }) {
  const { outer, received } = interaction(message);
  const data = element("textarea", { id: "app-url", rows: 3, maxlength: 20_000, spellcheck: "false", "data-first": true });
  data.value = text(outer.URL);
  const icon = text(outer.appIcon);
  return [
    icon && element("div", { class: "app-icon" }, pictureOf({ data: icon })),
    element("p", { class: "card-title", dir: "auto" }, visible(text(outer.appName) || "App")),
    text(received.subtitle) && element("p", { class: "hint", dir: "auto" }, safe(text(received.subtitle))),
    element("p", { class: "hint" }, "A device would open the app of the business. Here the app is this field: it answers with a URL."),
    icon.length * 0.75 > 15_000 && rule(`The icon has ${size(icon.length * 0.75)}; Apple allows 15 kB.`),
    !text(outer.appId) && rule("The message has no appId."),
    labelled("URL of the answer", data),
    foot(sendButton("Send", () => void answer({ items: [data.value.trim()] }))),
  ];
}

function invitation({ message, answer }) {
  const notification = object(interaction(message).data.notification);
  const parameters = object(notification.parameters);
  const logo = text(parameters.brandLogo);
  return [
    logo && element("div", { class: "app-icon" }, pictureOf({ data: logo })),
    element("p", { class: "card-title", dir: "auto" }, safe(text(parameters.brandName) || text(notification.templateId) || "A business")),
    element("p", { class: "hint" }, "would like to send you messages. After a refusal it cannot invite you again."),
    element("dl", { class: "answers" }, Object.entries(parameters).filter(([name]) => !["brandName", "brandLogo"].includes(name)).slice(0, 20)
      .map(([name, value]) => [element("dt", {}, visible(name)), element("dd", { dir: "auto" }, safe(text(value)))])),
    logo && /noImage/iu.test(text(notification.templateId)) && rule("A template without image must have no brandLogo."),
    element("div", { class: "sheet-foot stack" },
      sendButton("Accept", () => void answer({ items: ["yes"] })),
      button("Decline", { class: "secondary wide" }, () => void answer({ items: ["no"] }))),
  ];
}

/// The sheets by the kind of their message; the tests open each.
export const sheets = { listPicker, timePicker, authentication, applePay, app, invitation, form: formSheet };
