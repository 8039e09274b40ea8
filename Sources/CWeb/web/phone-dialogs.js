// Sheets of the page: a customer's profile, the levers, and the rules of the simulated gateway.
import { actions, sheet } from "./dialogs.js";
import { button, element, fill, say } from "./dom.js";
import { noLevers } from "./phone-session.js";
import { visible } from "./text.js";

const deviceNames = { iphone: "iPhone", ipad: "iPad", mac: "Mac", "old-iphone": "Old iPhone" };

function field(name, label, attributes = {}, hint = "") {
  const input = element("input", { id: `field-${name}`, name, maxlength: 300, dir: "auto", autocomplete: "off", "aria-describedby": hint ? `hint-${name}` : null, ...attributes });
  return element("div", { class: "field" }, element("label", { for: `field-${name}` }, label), input, hint && element("p", { class: "hint", id: `hint-${name}` }, hint));
}

function choose(name, label, options, value) {
  const select = element("select", { id: `field-${name}`, name }, options.map(([key, text]) => element("option", { value: key }, text)));
  select.value = value;
  return element("div", { class: "field" }, element("label", { for: `field-${name}` }, label), select);
}

/// A sheet with a form; `submit(values)` may throw a `Problem`, whose sentence is shown.
function formSheet(title, label, nodes, submit, extra) {
  return sheet(title, (finish) => {
    const problem = element("p", { class: "failure", role: "alert" });
    const form = element("form", { class: "sheet-body" }, nodes, problem, actions(extra?.(finish), button("Cancel", { class: "secondary" }, () => finish(undefined)), element("button", { class: "primary" }, label)));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      fill(problem);
      try {
        await submit(Object.fromEntries(new FormData(form)), form);
        finish(true);
      } catch (error) { say(problem, visible(error.message)); }
    });
    return form;
  });
}

/// Adds a customer (`customer` is absent) or changes one.
export function askProfile(session, customer) {
  const businesses = session.info.businesses;
  const zones = ["", "UTC", Intl.DateTimeFormat().resolvedOptions().timeZone, "Europe/Berlin", "America/New_York", "Asia/Tokyo"];
  return formSheet(customer ? "Profile of the customer" : "New customer", customer ? "Save" : "Add", [
    field("name", "Name", { value: customer?.name ?? "", "data-first": true, placeholder: `Customer ${session.customers.length + 1}` }),
    !customer && businesses.length > 1 && choose("business", "Business", businesses.map((one) => [one.slug, visible(one.name || one.slug)]), businesses[0].slug),
    choose("device", "Device", session.info.devices.map((one) => [one, deviceNames[one] ?? visible(one)]), customer?.device ?? session.info.devices[0]),
    element("div", { class: "field-pair" }, field("locale", "Locale", { value: customer?.locale ?? "", placeholder: "en_US" }), field("zone", "Time zone", { value: customer ? customer.zone ?? "" : Intl.DateTimeFormat().resolvedOptions().timeZone, placeholder: "Europe/Berlin", list: "zones" })),
    element("datalist", { id: "zones" }, [...new Set(zones)].filter(Boolean).map((zone) => element("option", { value: zone }))),
    element("div", { class: "field-pair" }, field("intent", "Intent", { value: customer?.intent ?? "" }), field("group", "Group", { value: customer?.group ?? "" })),
    !customer && field("id", "Identifier of a returning customer", { placeholder: "urn:mbid:…", spellcheck: "false" }, "Leave it empty for a new customer."),
  ].filter(Boolean), async (values) => {
    const changed = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value).trim()])
      .filter(([name, value]) => value !== "" || (customer && customer[name])));
    if (customer) await session.changeCustomer(changed); else await session.addCustomer({ ...(businesses.length === 1 ? { business: businesses[0].slug } : {}), ...changed });
  });
}

/// Changes how the next messages are posted.
export function askLevers(session) {
  const { levers } = session;
  return formSheet("Levers", "Use", [
    element("p", { class: "hint" }, "They change how messages and answers of the phone reach the webhook, until they are set back."),
    choose("payload", "Content", [["auto", "As Apple decides"], ["reference", "By reference"], ["plain", "Plain"]], levers.payload),
    choose("token", "Token of the request", [["valid", "Valid"], ["wrong", "For another MSP"], ["expired", "Expired"], ["missing", "Missing"]], levers.token),
    element("div", { class: "field-pair" },
      field("times", "Times posted", { type: "number", min: 1, max: 5, value: levers.times, required: true }),
      field("devices", "Devices", { type: "number", min: 1, max: 2, value: levers.devices, required: true })),
    choose("order", "Order", [["given", "As written"], ["shuffled", "Shuffled: each line of a text is a message"]], levers.order),
    field("delayMilliseconds", "Delay in milliseconds", { type: "number", min: 0, max: 20_000, value: levers.delayMilliseconds, required: true }),
  ], async (values) => {
    session.levers = { payload: values.payload, token: values.token, order: values.order, times: Number(values.times), devices: Number(values.devices), delayMilliseconds: Number(values.delayMilliseconds) };
  }, (finish) => button("Set back", { class: "secondary" }, () => { session.levers = { ...noLevers }; finish(true); }));
}

/// Slows, stops, restarts or kills the handler of the chosen customer's business.
export async function askHandler(session) {
  const business = session.customer?.business ?? session.info.businesses[0]?.slug;
  const { handlers } = await session.handlers();
  let handler = handlers.find((one) => one.business === business) ?? handlers[0];
  if (!handler) throw new Error("No handler answers this business.");
  const state = element("p", { class: "hint", role: "status" });
  const problem = element("p", { class: "failure", role: "alert" });
  const draw = () => {
    const facts = [handler.stopped ? "stopped: its events wait" : handler.health, handler.process && `process ${handler.process}`, handler.restarts > 0 && `restarted ${handler.restarts} ${handler.restarts === 1 ? "time" : "times"}`];
    say(state, facts.filter(Boolean).map((one) => visible(one)).join(", "));
    say(stop, handler.stopped ? "Start" : "Stop");
  };
  const change = async (body) => {
    fill(problem);
    try { handler = await session.changeHandler({ business: handler.business, ...body }); } catch (error) { say(problem, visible(error.message)); throw error; } finally { draw(); }
  };
  const act = (label, action) => button(label, { class: "secondary compact" }, () => void change({ do: action() }).catch(() => {}));
  const stop = act("Stop", () => (handler.stopped ? "start" : "stop"));
  draw();
  return formSheet(`Handler of ${visible(handler.business)}`, "Use", [
    state, element("div", { class: "sheet-tools" }, stop, act("Restart", () => "restart"), act("Kill", () => "kill")), problem,
    field("delaySeconds", "Delay of each call in seconds", { type: "number", min: 0, max: 600, step: "any", value: handler.delaySeconds, required: true, "data-first": true }, "The delay is part of the handler's time limit."),
  ], (values) => change({ delaySeconds: Number(values.delaySeconds) }));
}

/// Changes the rules by which the simulated gateway misbehaves.
export async function askMisbehaviour(session) {
  const { rules } = await session.misbehaviour();
  const area = element("textarea", { id: "rules", name: "rules", class: "code-field", rows: 6, spellcheck: "false", placeholder: "message=503,times=1", "data-first": true, "aria-describedby": "rules-hint" });
  area.value = rules.join("\n");
  return formSheet("Misbehaviour of the gateway", "Use", [
    element("label", { for: "rules" }, "Rules, one on each line"), area,
    element("p", { class: "hint", id: "rules-hint" }, `A rule is an endpoint and what it does: message=503,times=1 or blob=garble,every=2. Endpoints: ${session.info.endpoints.map((one) => visible(one)).join(", ") || "message"}.`),
    element("p", { class: "hint" }, "What: a status (503, 429/7 with Retry-After), delay/250, silence, drop, expired, truncate/100, longer/1, shorter/1, garble, slow/1000, endless."),
  ], async (values) => {
    const wanted = String(values.rules).split("\n").map((line) => line.trim()).filter(Boolean);
    await session.setMisbehaviour(wanted);
    session.info.misbehaviour = wanted;
  }, (finish) => button("Remove all", { class: "secondary" }, () => { area.value = ""; area.form.requestSubmit(); void finish; }));
}
