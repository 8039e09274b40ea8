// Sheets of the page: a customer's profile, the levers, and the rules of the simulated gateway.
import { actions, ask, confirm, sheet, showKeys } from "./dialogs.js";
import { button, element, fill, icon, labelled, say } from "./dom.js";
import { noLevers } from "./phone-session.js";
import { visible } from "./text.js";

const deviceNames = { iphone: "iPhone", ipad: "iPad", mac: "Mac", "old-iphone": "Old iPhone" };

function field(name, label, attributes = {}, hint = "") {
  const input = element("input", { id: `field-${name}`, name, maxlength: 300, dir: "auto", autocomplete: "off", "aria-describedby": hint ? `hint-${name}` : null, ...attributes });
  return element("div", { class: "field" }, labelled(label, input), hint && element("p", { class: "hint", id: `hint-${name}` }, hint));
}

function choose(name, label, options, value) {
  const select = element("select", { id: `field-${name}`, name }, options.map(([key, text]) => element("option", { value: key }, text)));
  select.value = value;
  return element("div", { class: "field" }, labelled(label, select));
}

/// Adds a customer (`customer` is absent) or changes one.
export function askProfile(session, place, customer) {
  const businesses = session.info.businesses;
  const zones = ["", "UTC", Intl.DateTimeFormat().resolvedOptions().timeZone, "Europe/Berlin", "America/New_York", "Asia/Tokyo"];
  return ask(customer ? "Profile of the customer" : "New customer", [
    field("name", "Name", { value: customer?.name ?? "", "data-first": true, placeholder: `Customer ${session.customers.length + 1}` }),
    !customer && businesses.length > 1 && choose("business", "Business", businesses.map((one) => [one.slug, visible(one.name || one.slug)]), businesses[0].slug),
    choose("device", "Device", session.info.devices.map((one) => [one, deviceNames[one] ?? visible(one)]), customer?.device ?? session.info.devices[0]),
    // Hardly a conversation begins with these.
    element("details", { class: "more-fields", open: Boolean(customer) }, element("summary", {}, "Language, time zone, intent"),
      element("div", { class: "field-pair" }, field("locale", "Locale", { value: customer?.locale ?? "", placeholder: "en_US" }), field("zone", "Time zone", { value: customer ? customer.zone ?? "" : Intl.DateTimeFormat().resolvedOptions().timeZone, placeholder: "Europe/Berlin", list: "zones" })),
      element("datalist", { id: "zones" }, [...new Set(zones)].filter(Boolean).map((zone) => element("option", { value: zone }))),
      element("div", { class: "field-pair" }, field("intent", "Intent", { value: customer?.intent ?? "" }), field("group", "Group", { value: customer?.group ?? "" })),
      !customer && field("id", "Identifier of a returning customer", { placeholder: "urn:mbid:…", spellcheck: "false" }, "Leave it empty for a new customer.")),
  ], customer ? "Save" : "Add", async (values) => {
    const changed = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value).trim()])
      .filter(([name, value]) => value !== "" || (customer && customer[name])));
    if (customer) await session.changeCustomer(changed); else await session.addCustomer({ ...(businesses.length === 1 ? { business: businesses[0].slug } : {}), ...changed });
  }, { place });
}

/// Changes how the next messages are posted.
export function askLevers(session, place) {
  const { levers } = session;
  return ask("Levers", [
    element("p", { class: "hint" }, "They change how messages and answers of the phone reach the webhook, until they are set back."),
    choose("payload", "Content", [["auto", "As Apple decides"], ["reference", "By reference"], ["plain", "Plain"]], levers.payload),
    choose("token", "Token of the request", [["valid", "Valid"], ["wrong", "For another MSP"], ["expired", "Expired"], ["missing", "Missing"]], levers.token),
    element("div", { class: "field-pair" },
      field("times", "Times posted", { type: "number", min: 1, max: 5, value: levers.times, required: true }),
      field("devices", "Devices that send it", { type: "number", min: 1, max: 2, value: levers.devices, required: true })),
    choose("order", "Order", [["given", "As written"], ["shuffled", "Shuffled: each line of a text is a message"]], levers.order),
    field("delayMilliseconds", "Delay in milliseconds", { type: "number", min: 0, max: 20_000, value: levers.delayMilliseconds, required: true }),
  ], "Use", (values) => {
    session.levers = { payload: values.payload, token: values.token, order: values.order, times: Number(values.times), devices: Number(values.devices), delayMilliseconds: Number(values.delayMilliseconds) };
  }, { place, more: (finish) => button("Set back", { class: "secondary" }, () => { session.levers = { ...noLevers }; finish(true); }) });
}

/// Slows, stops, restarts or kills the handler of the chosen customer's business.
export async function askHandler(session, place) {
  const business = session.customer?.business ?? session.info.businesses[0]?.slug;
  const { handlers } = await session.api.read("/dev/v1/handlers");
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
    try { handler = await session.api.change("POST", "/dev/v1/handler", { business: handler.business, ...body }); } catch (error) { say(problem, visible(error.message)); throw error; } finally { draw(); }
  };
  const act = (label, action) => button(label, { class: "secondary compact" }, () => void change({ do: action() }).catch(() => {}));
  const stop = act("Stop", () => (handler.stopped ? "start" : "stop"));
  draw();
  return ask(`Handler of ${visible(handler.business)}`, [
    state, element("div", { class: "sheet-tools" }, stop, act("Restart", () => "restart"), act("Kill", () => "kill")), problem,
    field("delaySeconds", "Delay of each call in seconds", { type: "number", min: 0, max: 600, step: "any", value: handler.delaySeconds, required: true, "data-first": true }, "The delay is part of the handler's time limit."),
  ], "Use", (values) => change({ delaySeconds: Number(values.delaySeconds) }), { place });
}

/// The faults of the gateway: name, sentence, label of the number (none: it has none), and its first value.
const faults = [
  ["status", "Answers with a status", "Status", 503], ["delay", "Answers late", "Milliseconds", 2000], ["silence", "Never answers"], ["drop", "Breaks the connection"], ["expired", "Has forgotten it"],
  ["truncate", "Sends only a part", "Bytes", 100], ["longer", "Sends more than promised", "Bytes", 1], ["shorter", "Sends less than promised", "Bytes", 1], ["garble", "Sends other bytes"],
  ["slow", "Sends slowly", "Bytes a second", 1000], ["endless", "Never ends"],
];
const endpointNames = {
  message: "a message", authenticate: "a sign-in request", preUpload: "a place for a file", upload: "a file to store", encodePayload: "a large message to pack", constructPayload: "a large message to build",
  preDownload: "a file's address", blob: "a file's content", decodePayload: "a large message to unpack",
};

/// A rule of the gateway as a sentence; one that the form cannot make stays as it is.
function ruleWords(rule) {
  const [, endpoint, name, number, rest] = /^(\w+)=(\w+)(?:\/(\d+))?(.*)$/u.exec(rule) ?? [];
  const fault = faults.find(([one]) => one === (/^\d+$/u.test(name ?? "") ? "status" : name));
  if (!fault) return visible(rule);
  const times = /times=(\d+)/u.exec(rest)?.[1];
  const every = /every=(\d+)/u.exec(rest)?.[1];
  const detail = fault[0] === "status" ? ` ${name}${number ? `, retry after ${number} s` : ""}` : number ? ` (${number} ${fault[2].toLowerCase()})` : "";
  return `When asked for ${visible(endpointNames[endpoint] ?? endpoint)}: ${fault[1].toLowerCase()}${detail}${every ? `, every ${every}th time` : ""}${times ? `, ${times === "1" ? "once" : `${times} times`}` : ""}`;
}

/// Makes the simulated gateway misbehave: a small form for one rule, and the list of the present ones.
export async function askMisbehaviour(session, place) {
  let { rules } = await session.api.read("/dev/v1/misbehaviour");
  return sheet("Misbehaviour of the gateway", (finish) => {
    const problem = element("p", { class: "failure", role: "alert" });
    const present = element("ul", { class: "rules", "aria-label": "Rules" });
    const set = async (wanted) => {
      fill(problem);
      try {
        await session.api.change("PUT", "/dev/v1/misbehaviour", { rules: wanted });
        rules = wanted;
        session.info.misbehaviour = wanted;
        draw();
      } catch (error) { say(problem, visible(error.message)); }
    };
    const numberField = (name, min) => {
      const node = field(name, "", { type: "number", min, max: 100_000_000, required: true });
      const [label, input] = node.children;
      return { node, show(words, value) { node.hidden = input.disabled = !words; say(label, words ?? ""); input.value = value ?? ""; return input; } };
    };
    const [number, retry, count] = [numberField("number", 0), numberField("retry", 0), numberField("count", 1)];
    const fault = choose("fault", "What it does", faults.map(([name, words]) => [name, words]), "status");
    const endpoint = choose("endpoint", "When asked for", session.info.endpoints.map((one) => [one, visible(endpointNames[one] ?? one)]), "message");
    const faultSelect = fault.querySelector("select");
    const drawNumber = () => {
      const [, , name, first] = faults.find(([one]) => one === faultSelect.value);
      number.show(name, first);
      retry.show(faultSelect.value === "status" ? "Retry after seconds" : undefined).required = false;
    };
    const how = choose("how", "How often", [["", "Always"], ["times", "First n times"], ["every", "Each n-th time"]], "times");
    const howSelect = how.querySelector("select");
    const drawCount = () => { count.show(howSelect.value && "n", howSelect.value === "every" ? 2 : 1); };
    howSelect.addEventListener("change", drawCount);
    faultSelect.addEventListener("change", drawNumber);
    const form = element("form", { class: "sheet-body" }, present, endpoint, fault, element("div", { class: "field-pair" }, number.node, retry.node), element("div", { class: "field-pair" }, how, count.node), problem,
      actions(button("Done", { class: "secondary" }, () => finish(true)), element("button", { class: "primary" }, "Add")));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const values = Object.fromEntries(new FormData(form));
      const what = [values.fault !== "status" && values.fault, values.number, values.retry].filter(Boolean).join("/");
      void set([...rules, `${values.endpoint}=${what}${values.how && `,${values.how}=${values.count}`}`]);
    });
    function draw() {
      fill(present, rules.map((rule, index) => element("li", {}, element("span", {}, ruleWords(rule)), button(icon("cross"), { class: "icon-button small", "aria-label": `Remove: ${ruleWords(rule)}` }, () => void set(rules.filter((one, place) => place !== index)).then(() => endpoint.querySelector("select").focus())))),
        rules.length === 0 && element("li", { class: "hint" }, "The gateway answers as Apple does."));
    }
    draw();
    drawNumber();
    drawCount();
    return form;
  }, { place });
}

/// Asks whether the server shall forget the customers and the timeline.
export function askReset() {
  return confirm("Forget everything?", "The server forgets the customers and the stages of this start. Files of the data directory stay.", "Forget", { isDanger: true });
}

const readingKeys = new Set(["?", "/", "↑ ↓", "Esc"]);
const keys = [
  ["?", "This list"], ["m", "Write a message"], ["1 2 3", "Phone, timeline, detail"], ["n", "New customer"], ["p", "Profile of the customer"],
  ["j k", "Next, previous customer"], ["l", "Levers"], ["g", "Misbehaviour of the gateway"], ["h", "Slow, stop or kill the handler"], ["s", "Record, edit and play a scenario"], ["/", "Filter the timeline"],
  ["↑ ↓", "Move in the timeline"], ["Enter", "Open or fold a message of the timeline"], ["r", "Replay the shown delivery"], ["Enter", "Send"], ["Shift Enter", "New line"], ["↑", "Last text again, in an empty field"], ["Esc", "Close the details"],
];

/// Lists the keys; without a phone only those of the timeline and of the details do something.
export function showPhoneKeys(hasPhone) { return showKeys(hasPhone ? keys : keys.filter(([key]) => readingKeys.has(key))); }

/// The page that asks for the token; `open(token)` is called with one that can be sent.
export function showToken(page, message, open) {
  const input = element("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true });
  const form = element("form", { class: "start" },
    element("h1", {}, "The phone on the desk"), element("p", { class: "lead" }, "Open the address that balloon dev printed. It ends with #t= and the token of this start."),
    labelled("Token", input), element("p", { class: "failure", role: "alert" }, message), element("button", { class: "primary wide" }, "Open"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const value = input.value.trim().replace(/^.*#t=/u, "");
    if (/^[\x21-\x7e]+$/u.test(value)) open(value);
  });
  fill(page, element("main", { class: "start-page" }, form));
  input.focus();
}
