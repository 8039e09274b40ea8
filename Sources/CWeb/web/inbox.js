// The main script of the inbox: signs in, and connects the list, the thread and the keyboard shortcuts.
import { alerts, alertTo, showAlerts } from "./alerts.js";
import { API } from "./api.js";
import { Desk } from "./desk.js";
import { ask, showKeys } from "./dialogs.js";
import { button, element, fill, labelled, recall, remember, say, setOptions, whenNeeded } from "./dom.js";
import { listenToKeys, lostBanner, notes } from "./frame.js";
import { List } from "./list.js";
import { personName, visible, when } from "./text.js";

const keys = [
  ["?", "This list"], ["1 2 3", "Queue, mine, all"], ["j k", "Next, previous conversation"], ["↑ ↓", "Move in the list"], ["/", "Search"],
  ["n", "Take the next conversation"], ["c", "Claim"], ["t", "Take over"], ["f", "Transfer to the next person"], ["r", "Release to the bot"], ["x", "Close the conversation"], ["m", "Write a message"], ["i", "Write a note"], ["e", "Name and tags"],
  ["Enter", "Send"], ["Shift Enter", "New line"], ["Esc", "Back to the list"],
];

const page = document.getElementById("page");

/// The identifier of a person, made from the name; colleagues with the same name therefore count as one person.
function identifier(name) {
  return name.normalize("NFKC").toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/gu, "").slice(0, 60);
}

function remembered() {
  try {
    const { token, name } = JSON.parse(recall("inbox") ?? "");
    return typeof token === "string" && typeof name === "string" ? { token, name } : undefined;
  } catch {
    return undefined;
  }
}

/// The sentences for problems of the business API, which say what to do.
function explained(kind, body, status, retryAfter) {
  const detail = body.detail ?? "";
  const wait = retryAfter > 1 ? `in ${retryAfter} seconds` : "in a moment";
  switch (kind) {
    case "unauthenticated": return "The server does not know this token. Sign in with a token that is in the server's file.";
    case "too-many-failures": return `Too many wrong tokens came from here. Try again ${wait}.`;
    case "too-many-requests": return `This token has used its requests of this minute. Try again ${wait}.`;
    case "right-missing": return "This token may not do that. Ask for one with the rights read and send.";
    case "closed": return "The customer closed this conversation. You can answer when they write again.";
    case "claimed": return `${personName(body.person)} has this conversation. Take it over to answer.`;
    case "changed": return "A colleague was faster. Look at the conversation again.";
    case "misdirected": return "The server does not answer under this name. Open the page by its own address, or add the name to api.hosts.";
    case "index-loading": return `The server still reads its conversations${detail ? ` (${detail})` : ""}. They appear here by themselves.`;
    case "unavailable": return `The server cannot do this now${detail ? `: ${detail}` : ""}. Nothing is lost; try again ${wait}.`;
    case "not-showable": return `The customer's device cannot show this message${detail ? `: ${detail}` : ""}.`;
    case "unprocessable": return body.problems?.length ? "Apple would refuse this message." : `${detail || body.title}.`;
    case "too-large": return "This is too large. Send a smaller file or a shorter text.";
    case "internal-error": return `The server failed. Give the operator this reference: ${body.reference ?? "none"}.`;
    case "not-found": return status === 404 && !body.type ? "The inbox or the API is switched off. Ask the operator." : "This does not exist any more. Reload the list.";
    default: return undefined;
  }
}

// Signing in

function showSignIn(message = "", name = "") {
  document.title = "Inbox";
  const token = element("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-hint" });
  const person = element("input", { id: "name", autocomplete: "name", maxlength: 60, dir: "auto", value: name, "aria-describedby": "name-hint" });
  const problem = element("p", { class: "failure", role: "alert" }, message);
  const submit = element("button", { class: "primary wide" }, "Open the inbox");
  const form = element("form", { class: "start" },
    element("h1", {}, "Inbox"), element("p", { class: "lead" }, "Answer customers who ask for a person."),
    labelled("Token", token),
    element("p", { class: "hint", id: "token-hint" }, "From the operator: balloon token issue --may read,send. It stays in this tab."),
    labelled("Your name", person),
    element("p", { class: "hint", id: "name-hint" }, "Colleagues see it on your conversations. A token of your own knows it."),
    problem, submit);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const session = { token: token.value.trim(), name: person.value.trim().replace(/\s+/gu, " ") };
    if (!/^[\x21-\x7e]+$/u.test(session.token)) return fill(problem, "A token begins with bln_ and has no spaces. Copy it again.");
    if (session.name && !identifier(session.name)) return fill(problem, "The name needs a letter or a digit.");
    submit.disabled = true;
    fill(problem);
    const failure = await open(session);
    submit.disabled = false;
    if (failure) {
      fill(problem, failure);
      token.focus();
    }
    return undefined;
  });
  fill(page, element("main", { class: "start-page" }, form));
  token.focus();
}

/// Asks for the text that customers are sent while nobody answers.
function askClosedText() {
  const text = element("input", { id: "closed-text", maxlength: 500, dir: "auto", "data-first": true, required: true, placeholder: "We are back at 9." });
  return ask("Close the help desk", labelled("Customers who ask for a person are told this instead of the usual text.", text), "Close", () => ({ text: text.value.trim() }));
}

function signOut(desk, message, name) {
  desk.end();
  remember("inbox");
  showSignIn(message, name);
}

/// Opens the inbox with a token; returns a sentence that says why it failed, or an empty text.
async function open(session) {
  const desk = new Desk(new API(session.token, explained), { id: identifier(session.name), name: session.name });
  try {
    await desk.begin();
  } catch (error) {
    desk.end();
    return error.message;
  }
  const lack = desk.businesses.length === 0 ? "This token has no business. Ask the operator for another one." : desk.me.id ? "" : "Enter your name, because the token names no person.";
  if (lack) {
    desk.end();
    return lack;
  }
  session.name = desk.me.name;
  show(desk, session, remember("inbox", JSON.stringify(session)));
  return "";
}

// The page

function show(desk, session, isKept) {
  const { signal } = desk;
  const { node: note, notify } = notes();
  const banner = lostBanner("Connection lost. The page may be out of date; it reconnects by itself.", notify);

  const nothingOpen = element("div", { class: "empty none" }, element("p", { class: "empty-title" }, "Choose a conversation"),
    element("p", {}, "The longest waiting one is on top of the queue. Press ? for the keys."));
  const right = element("section", { class: "main", "aria-label": "Conversation" }, nothingOpen);
  // The view of a conversation, which is loaded with the first one.
  let thread;
  const goTo = async (id) => {
    desk.select(id);
    main.dataset.screen = id ? "thread" : "list";
    list.update();
    try {
      const { Thread } = id && !thread ? await whenNeeded(() => import("./thread.js")) : {};
      if (Thread && !thread) {
        thread = new Thread(desk, goBack);
        right.append(thread.node);
      }
    } catch (error) { desk.fail(error); }
    if (id !== desk.selected) return;
    nothingOpen.hidden = Boolean(id && thread);
    void thread?.open(id).then(() => desk.markRead(id));
    if (id) thread?.focus();
  };
  const goBack = () => {
    const id = desk.selected;
    main.dataset.screen = "list";
    list.focus(id);
  };
  const list = new List(desk, goTo);

  // The head of the list: business, open switch, keys and sign-out.
  const business = element("select", { id: "business", "aria-label": "Business" });
  const businessName = element("h1", { dir: "auto" });
  const openLabel = element("span");
  const openSwitch = button([element("span", { class: "knob", "aria-hidden": "true" }), openLabel], { class: "switch", role: "switch", "aria-label": "Help desk is open" }, async () => {
    const { open } = desk.people;
    const answer = open ? await askClosedText() : {};
    if (!answer) return;
    try {
      await desk.setOpen(!open, answer.text);
      notify(open ? "The help desk is closed" : "The help desk is open");
    } catch (error) { desk.fail(error); }
  });
  const availability = element("select", { id: "availability", "aria-label": "Your state" }, ["available", "away", "gone"].map((value) => element("option", { value }, `${value[0].toUpperCase()}${value.slice(1)}`)));
  availability.addEventListener("change", () => void desk.setAvailability(availability.value).catch(desk.fail));
  const health = element("p", { class: "health", role: "status", hidden: true });
  business.addEventListener("change", () => { desk.choose(business.value); void goTo(""); });
  const drawHead = () => {
    const { current } = desk;
    setOptions(business, desk.businesses.map((one) => [one.slug, visible(one.name || one.slug)]), desk.business);
    business.hidden = desk.businesses.length < 2;
    businessName.classList.toggle("visually-hidden", !business.hidden);
    say(businessName, visible(current?.name || desk.business));
    openSwitch.hidden = !desk.people;
    openSwitch.disabled = !desk.supervises;
    availability.hidden = !desk.availability;
    availability.value = desk.availability ?? "gone";
    openSwitch.setAttribute("aria-checked", String(Boolean(desk.people?.open)));
    openSwitch.title = visible(desk.people?.text ?? "");
    const { open, opensAt } = desk.people ?? {};
    say(openLabel, opensAt ? `Opens ${when(opensAt)}` : open ? "Open" : "Closed");
    const state = current?.handler?.health;
    health.hidden = !state || ["ready", "none", "starting"].includes(state);
    say(health, health.hidden ? "" : { restarting: "The bot restarts; messages for it wait.", open: "The bot failed too often and is paused; messages for it wait. Tell the operator.", stopped: "The bot is stopped; messages for it wait. Tell the operator." }[state] ?? `The bot is ${visible(state)}.`);
  };
  const side = element("section", { class: "side", "aria-label": "Conversations" },
    element("header", { class: "side-top" }, businessName, business, openSwitch),
    health, list.node,
    element("footer", { class: "side-foot" }, element("bdi", {}, visible(session.name)), availability,
      button("Report", { class: "plain" }, () => void whenNeeded(() => import("./report.js")).then(({ showReport }) => showReport(desk)).catch(desk.fail)),
      button("Alerts", { class: "plain" }, () => void showAlerts().then(drawTitle)), button("Keys", { class: "plain" }, () => void showKeys(keys)), button("Sign out", { class: "plain" }, () => signOut(desk, "", session.name))));
  const main = element("main", { class: "desk", "data-screen": "list" }, side, right);
  fill(page, banner.node, main, note);

  const drawTitle = () => {
    const count = desk.unread.size;
    const name = desk.current?.name;
    document.title = `${count && alerts().title ? `(${count}) ` : ""}Inbox${name ? ` · ${visible(name)}` : ""}`;
  };
  const on = (type, listener) => desk.addEventListener(type, listener, { signal });
  on("lists", drawTitle);
  on("alert", ({ detail }) => alertTo(detail));
  on("businesses", () => { drawHead(); drawTitle(); });
  on("gone", () => { void goTo(""); list.focus(""); });
  on("failed", ({ detail }) => notify(detail, true));
  on("connection", ({ detail }) => {
    if (desk.connection === "refused") return signOut(desk, detail?.message ?? "The server ended the session.", session.name);
    banner.draw(desk.connection === "lost");
    list.update();
    return undefined;
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && desk.selected) desk.markRead(desk.selected);
  }, { signal });
  listenToKeys({
    "?": () => void showKeys(keys), "/": () => list.focusSearch(), j: () => list.step(1), k: () => list.step(-1),
    1: () => list.show("queue"), 2: () => list.show("mine"), 3: () => list.show("all"),
    n: () => void list.takeNext(), c: () => void thread?.act("claim"), t: () => void thread?.act("take"), f: () => void thread?.act("transfer"), r: () => void thread?.act("release"),
    x: () => void thread?.act("close"), m: () => thread?.composer.focus(), i: () => void thread?.write("note"), e: () => void thread?.write("customer"),
  }, () => { goBack(); return true; }, signal);

  drawHead();
  drawTitle();
  list.update();
  list.focus("");
  if (!isKept) notify("This browser keeps nothing for this address: allow storage, or sign in again after each reload.", true);
}

const session = remembered();
if (session) {
  const failure = await open(session);
  if (failure) showSignIn(failure, session.name);
} else {
  showSignIn();
}
