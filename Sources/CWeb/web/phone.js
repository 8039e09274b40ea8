// The phone on the desk: signs in with the token of the printed address, and connects phone, timeline, detail and keys.
import { API } from "./api.js";
import { button, element, fill, recall, remember, say, setOptions, whenNeeded } from "./dom.js";
import { listenToKeys, lostBanner, notes } from "./frame.js";
import { Session } from "./phone-session.js";
import { PhoneScreen } from "./phone-thread.js";
import { Timeline } from "./phone-timeline.js";
import { customerName, visible } from "./text.js";

const page = document.getElementById("page");

/// The tools of the menu: name, label, and what it does. The tests open the sheet of each.
export const tools = [
  ["profile", "Profile", "Name, device, language and time zone of the customer"],
  ["levers", "Levers", "Send the next messages twice, late, by reference or with a wrong token"],
  ["gateway", "Gateway", "Let Apple refuse, delay or lose what the server asks for"],
  ["handler", "Handler", "Slow, stop, restart or kill the program that answers"],
  ["scenario", "Scenario", "Record a conversation, edit it and play it again"],
  ["keys", "Keys", "Everything that the keys do"],
  ["reset", "Reset…", "Forget the customers and the timeline"],
];

/// The sentences for problems that have another reason here than in the inbox.
function sentence(kind, body, status) {
  if (status === 401) return "The server does not know this token. Open the address that balloon dev printed when it started.";
  if (status === 421 || kind === "misdirected") return "The inspector does not answer under this name. Open 127.0.0.1, or start the server with --inspector-host.";
  if (status === 404) return body.detail || "The server does not know this any more. Reload the page.";
  if (status === 422) return [body.detail, ...(body.offered ?? [])].join("\n");
  return undefined;
}

/// Takes the token out of the address, so that it is in no picture, history or copied link.
function token() {
  const found = /^#t=(.+)$/u.exec(location.hash)?.[1];
  if (found) {
    isKept = remember("inspector", decodeURIComponent(found));
    history.replaceState(null, "", location.pathname);
    return decodeURIComponent(found);
  }
  return recall("inspector");
}

let isKept = true;

const dialogs = () => whenNeeded(() => import("./phone-dialogs.js"), "phone-sheets.css");

async function showToken(message = "") {
  document.title = "Phone · Balloon";
  (await dialogs()).showToken(page, message, (value) => {
    remember("inspector", value);
    void open(value);
  });
}

async function open(value) {
  const session = new Session(new API(value, sentence));
  try {
    await session.begin();
  } catch (error) {
    session.end();
    if (error.status === 401) { remember("inspector"); return showToken(error.message); }
    fill(page, element("main", { class: "start-page" }, element("div", { class: "start" }, element("h1", {}, "No connection"), element("p", { role: "alert" }, error.message), button("Try again", { class: "primary wide" }, () => void open(value)))));
    return undefined;
  }
  return show(session);
}

function show(session) {
  const { node: note, notify } = notes();
  const banner = lostBanner("Connection lost. Start balloon dev again; the page reconnects by itself. A new start has a new token.", notify);
  const phone = new PhoneScreen(session, () => commands.levers());
  const timeline = new Timeline(session);
  // A server without a simulator has no device: the page shows its timeline, and changes nothing.
  const hasPhone = session.info.devices.length > 0;
  let recorder;
  let detail;

  const customer = element("select", { id: "customer", "aria-label": "Customer" });
  customer.addEventListener("change", () => void session.choose(customer.value));
  let isAsking = false;
  const ask = async (question) => {
    if (isAsking) return;
    isAsking = true;
    try { await question(); } catch (error) { session.fail(error); } finally { isAsking = false; }
    phone.drawLevers();
    drawTools();
  };
  // On the phone, so that the timeline stays readable.
  const { place } = phone;
  const asking = (name) => () => ask(async () => (await dialogs())[name](session, place));
  const commands = {
    profile: () => ask(async () => (await dialogs()).askProfile(session, place, session.customer)),
    add: () => ask(async () => { if (await (await dialogs()).askProfile(session, place)) phone.focus(); }),
    levers: asking("askLevers"), handler: asking("askHandler"), gateway: asking("askMisbehaviour"),
    scenario: () => ask(async () => {
      const { Recorder, showScenario } = await whenNeeded(() => import("./phone-scenario.js"), "phone-sheets.css");
      recorder ??= new Recorder(session);
      if (recorder.isOn) return showScenario(session, place, recorder.stop());
      return showScenario(session, place, undefined, () => { recorder.start(); drawTools(); });
    }),
    reset: () => ask(async () => {
      if (await (await dialogs()).askReset()) await session.reset();
    }),
    keys: () => ask(async () => (await dialogs()).showPhoneKeys(hasPhone)),
  };
  const menu = element("div", { class: "menu", id: "tools", popover: "auto", role: "group", "aria-label": "Tools" });
  fill(menu, tools.filter(([name]) => hasPhone || name === "keys").map(([name, label, hint]) => button([element("strong", {}, label), element("small", {}, hint)], { class: name === "reset" ? "danger" : null, "data-tool": name }, () => {
    menu.hidePopover();
    commands[name]();
  })));
  // A change of the gateway and a recording are seen without opening the menu.
  const changes = { gateway: button("", { class: "secondary compact changed", hidden: true }, commands.gateway), scenario: button("", { class: "secondary compact changed", hidden: true }, commands.scenario) };
  const top = element("header", { class: "top" },
    element("h1", {}, "Balloon"),
    element("div", { class: "customer-choice" }, customer, button("New", { class: "secondary compact", "aria-label": "New customer" }, commands.add)),
    element("div", { class: "changes" }, changes.gateway, changes.scenario),
    element("button", { type: "button", class: "secondary compact", popovertarget: "tools" }, "Tools"), menu);
  const detailPane = element("section", { class: "pane detail-pane", "aria-label": "Detail" });
  const main = element("main", { class: "panes", "data-pane": "phone" },
    element("section", { class: "pane phone-pane", "aria-label": "Phone" }, phone.node),
    element("section", { class: "pane timeline-pane", "aria-label": "Timeline" }, timeline.node), detailPane);
  const places = element("nav", { class: "places", "aria-label": "Panes" }, [["phone", "Phone"], ["timeline", "Timeline"], ["detail", "Detail"]]
    .map(([name, label]) => button(label, { class: "place", "data-pane": name }, () => { showPane(name); if (name === "detail") void openDetail(); })));
  fill(page, banner.node, top, main, places, note);

  const showPane = (name) => {
    main.dataset.pane = name;
    for (const one of places.children) one.setAttribute("aria-pressed", String(one.dataset.pane === name));
  };
  const focusPane = async (name) => {
    showPane(name);
    if (name === "detail") await openDetail();
    ({ phone, timeline, detail })[name]?.focus();
  };
  const shownRecord = () => /^#\/d\/([0-9]{1,19})$/u.exec(location.hash)?.[1];
  const closeDetail = () => { history.replaceState(null, "", "#/"); goTo(); };

  /// Shows the delivery of the address in its pane, or that none is chosen.
  async function openDetail() {
    try {
      const { Detail } = await whenNeeded(() => import("./phone-detail.js"), "phone-sheets.css");
      if (!detail) {
        detail = new Detail(session, { notify, close: closeDetail, isReadOnly: !hasPhone });
        fill(detailPane, detail.node);
      }
      void detail.open(shownRecord());
    } catch (error) {
      fill(detailPane, element("div", { class: "empty" }, element("p", { class: "empty-title" }, "The details cannot be shown"), element("p", { role: "alert" }, error.message),
        button("Try again", { class: "secondary compact" }, () => void focusPane("detail"))));
    }
  }

  function drawTools() {
    const rules = session.info.misbehaviour.length;
    say(changes.gateway, `Gateway (${rules})`);
    changes.gateway.hidden = rules === 0;
    say(changes.scenario, `Stop recording, ${recorder?.count ?? 0} steps`);
    changes.scenario.hidden = !recorder?.isOn;
  }

  function drawCustomers() {
    setOptions(customer, session.customers.map((one) => [one.id, `${visible(one.name || customerName(one.id))}${session.info.businesses.length > 1 ? ` · ${visible(one.business)}` : ""}`]), session.selected);
    customer.hidden = session.customers.length === 0;
    const name = session.businessOf(session.customer)?.name;
    document.title = `${name ? `${visible(name)} · ` : ""}Phone · Balloon`;
    drawTools();
  }

  /// Shows the delivery of the address.
  function goTo() {
    const record = shownRecord();
    main.classList.toggle("with-detail", record !== undefined);
    timeline.mark(record);
    if (record !== undefined) return void focusPane("detail");
    if (detail) void openDetail();
    if (main.dataset.pane === "detail") void focusPane("timeline");
    return undefined;
  }
  addEventListener("hashchange", goTo, { signal: session.signal });

  session.addEventListener("customers", drawCustomers);
  for (const type of ["recorded", "rules"]) session.addEventListener(type, drawTools);
  session.addEventListener("failed", ({ detail: text }) => notify(text, true));
  session.addEventListener("connection", ({ detail: problem }) => {
    if (session.connection === "refused" && problem?.status === 401) { session.end(); remember("inspector"); return showToken(problem.message); }
    banner.draw(session.connection === "lost");
    return undefined;
  });
  const step = (distance) => {
    const place = session.customers.findIndex((one) => one.id === session.selected);
    const next = session.customers[Math.min(session.customers.length - 1, Math.max(0, place + distance))];
    if (next && next.id !== session.selected) void session.choose(next.id);
  };
  listenToKeys({
    "?": commands.keys, ...(hasPhone ? phoneKeys() : {}), 2: () => focusPane("timeline"), 3: () => focusPane("detail"),
    "/": () => focusPane("timeline"),
  }, () => {
    if (shownRecord() === undefined) return false;
    closeDetail();
    return true;
  }, session.signal);
  function phoneKeys() {
    return {
      m: () => focusPane("phone"), 1: () => focusPane("phone"), n: commands.add, p: commands.profile, l: commands.levers, g: commands.gateway, h: commands.handler, s: commands.scenario,
      j: () => step(1), k: () => step(-1), r: () => page.querySelector(".detail-actions .primary")?.click(),
    };
  }

  main.classList.toggle("no-phone", !hasPhone);
  if (!hasPhone) for (const one of [customer.parentNode, places.children[0]]) one.hidden = true;
  showPane(hasPhone ? "phone" : "timeline");
  goTo();
  session.tell("thread");
  session.tell("customers");
  if (hasPhone) phone.focus(); else timeline.focus();
  if (!isKept) notify("This browser keeps nothing for this address: allow storage, or open the printed address again after each reload.", true);
  return undefined;
}

const given = token();
if (given) await open(given); else showToken();
