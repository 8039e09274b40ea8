// The view of one conversation: who answers it, its lines as bubbles, and the buttons that change its state.
import { isFailure, isShown, raw, summary, typingDots } from "./bubbles.js";
import { content } from "./cards.js";
import { Composer, missing } from "./composer.js";
import { askForCustomer, askForNote, internalLine } from "./customer.js";
import { ask, confirm, sheet } from "./dialogs.js";
import { arrange, button, element, fill, icon, labelled, refill, say } from "./dom.js";
import { EndKeeper } from "./frame.js";
import { age, sentence } from "./list.js";
import { placed } from "./reactions.js";
import { customerName, dayOf, personName, safe, visible, when } from "./text.js";

const pageSize = 50;
/// The maximum number of lines in the document; of a longer conversation only a part is shown at a time.
const longestWindow = 400;
const typingLasts = 60_000;

/// The changes of a conversation, each with its button, its button under More, its sheet, and what it does. A colleague may take the
/// conversation while the sheet is open, so most are made only to the state and the person that the sheet has `shown`.
export const changes = {
  claim: { label: "Claim", make: (desk, id) => desk.claim(id) },
  take: { label: "Take over…", ask: askTake, make: (desk, id, answer, shown) => desk.take(id, shown) },
  transfer: { label: "Transfer…", hint: "To the next person", ask: askTransfer, make: (desk, id, answer, shown) => desk.release(id, "waiting", answer, shown) },
  release: { label: "Release…", more: "To the bot…", hint: "To the bot", ask: askRelease, make: (desk, id, answer, shown) => desk.release(id, "handler", answer, shown) },
  close: { label: "Close…", more: "Close the conversation…", ask: askClose, make: (desk, id, answer, shown) => desk.close(id, shown) },
  snooze: { label: "Snooze…", more: "Snooze…", ask: askSnooze, make: (desk, id, answer) => desk.snooze(id, answer.until) },
};

/// The changes that a state offers: as buttons, and under More.
export const offers = {
  handler: [["claim", "close"]], waiting: [["claim"], ["release", "close"]], mine: [["transfer", "release", "close"], ["snooze"]], person: [["take"]], closed: [[]],
};

export class Thread {
  #desk;
  #goBack;
  #id = "";
  #lines = new Map();
  #nodes = new Map();
  /// The messages that the server has not confirmed, by conversation; they are kept while another conversation is open.
  #unconfirmed = new Map();
  #hasEarlier = false;
  #hasLater = false;
  #reading = 0;
  #catchUp = undefined;
  /// The largest line number that an event has named since lines were last read.
  #awaited = 0;

  #back = button(icon("back"), { class: "icon-button back", "aria-label": "Back to the list" }, () => this.#goBack());
  #name = element("h2", { tabindex: -1, dir: "auto" });
  #facts = element("p", { class: "facts" });
  #link = element("a", { class: "facts", target: "_blank", rel: "noreferrer", hidden: true }, "More about this customer");
  #holder = element("div", { class: "holder", role: "status", tabindex: 0 });
  #actions = element("div", { class: "thread-actions" });
  #about = element("p", { class: "about" }, button("Note…", { class: "plain", title: "For colleagues only" }, () => this.write("note")),
    button("Name and tags…", { class: "plain" }, () => this.write("customer")));
  #earlier = button("Earlier messages", { class: "plain more" }, () => this.#readEarlier());
  #items = element("ol", { class: "lines", "aria-label": "Messages" });
  #latest = button("Latest messages", { class: "plain more" }, () => this.#readLatest());
  #typing = typingDots(element("span"));
  #scroll = element("div", { class: "scroll thread-scroll", tabindex: 0, role: "region", "aria-label": "Messages" },
    this.#earlier, this.#items, this.#typing, this.#latest);
  /// The last message stays visible when the entry field grows, a keyboard appears, or a picture above has been loaded.
  #end = new EndKeeper(this.#scroll, this.#items);
  #live = element("p", { class: "visually-hidden", role: "log", "aria-live": "polite" });

  constructor(desk, goBack) {
    this.#desk = desk;
    this.#goBack = goBack;
    this.composer = new Composer(desk, this);
    this.node = element("div", { class: "thread", hidden: true },
      element("header", { class: "thread-top" }, this.#back, element("div", { class: "thread-title" }, this.#name, this.#facts, this.#link, this.#about), this.#actions),
      this.#holder, this.#scroll, this.composer.node, this.#live);
    desk.addEventListener("conversation", ({ detail }) => { if (detail === this.#id) this.update(); });
    desk.addEventListener("line", ({ detail }) => { if (!detail || detail.conversation === this.#id) this.#hear(detail); });
    desk.every(10_000, () => { if (this.#id) this.update(); });
  }

  get conversation() { return this.#desk.conversations.get(this.#id); }

  /// Opens a conversation, or closes the open one when `id` is empty.
  async open(id) {
    if (id !== this.#id) this.composer.leave();
    this.#id = id;
    this.#lines.clear();
    this.#hasEarlier = this.#hasLater = false;
    // The buttons need lines to begin at.
    this.#earlier.hidden = this.#latest.hidden = true;
    this.#end.isAtEnd = true;
    this.#awaited = 0;
    this.node.hidden = !id;
    this.#items.replaceChildren();
    this.#nodes.clear();
    if (!id) return;
    this.update();
    this.composer.open(id);
    // Unconfirmed messages are shown even when the lines cannot be read.
    if (this.#pending.size > 0) this.#draw();
    await this.#readLatest();
  }

  focus() { this.#name.focus(); }

  // Reading

  /// The known lines in their order.
  get #sorted() { return [...this.#lines.values()].sort((a, b) => a.seq - b.seq); }

  /// The number of the last known line; 0 when none is known.
  get #last() { return Math.max(0, ...this.#lines.keys()); }

  async #read(query) {
    const id = this.#id;
    const reading = ++this.#reading;
    this.#scroll.setAttribute("aria-busy", "true");
    try {
      const page = await this.#desk.readPage(`${this.#desk.conversationPath(id)}/messages?${query}`);
      return id === this.#id ? page : undefined;
    } catch (error) {
      if (id === this.#id) this.#desk.fail(error);
      return undefined;
    } finally {
      if (reading === this.#reading) this.#scroll.removeAttribute("aria-busy");
    }
  }

  async #readLatest() {
    const page = await this.#read(`limit=${pageSize}`);
    if (!page) return;
    this.#lines.clear();
    for (const line of page.lines) this.#keep(line);
    this.#hasEarlier = Boolean(page.next);
    this.#hasLater = false;
    this.#draw();
    this.#end.toEnd();
    // Read lines that were written while the page was being read.
    if (this.#awaited > this.#last) await this.#readLater();
    this.#awaited = 0;
  }

  async #readEarlier() {
    const first = Math.min(...this.#lines.keys());
    const page = await this.#read(`before=${first}&limit=${pageSize}`);
    if (!page) return;
    const anchor = this.#items.firstElementChild;
    const top = anchor?.getBoundingClientRect().top;
    for (const line of page.lines) this.#keep(line);
    this.#hasEarlier = Boolean(page.next);
    for (const { seq } of this.#sorted.slice(longestWindow)) {
      this.#lines.delete(seq);
      this.#hasLater = true;
    }
    this.#draw();
    if (anchor?.isConnected) this.#scroll.scrollTop += anchor.getBoundingClientRect().top - top;
    if (this.#earlier.hidden) this.#scroll.focus();
  }

  /// Reads the lines after the last known one, one request at a time.
  async #readLater() {
    if (this.#catchUp || this.#hasLater || this.#lines.size === 0) return;
    this.#catchUp = (async () => {
      for (let page = { next: true }; page?.next;) {
        page = await this.#read(`after=${this.#last}&limit=200`);
        if (!page) return;
        for (const line of page.lines) this.#keep(line);
      }
      this.#trim();
      this.#draw();
    })();
    await this.#catchUp.finally(() => { this.#catchUp = undefined; });
  }

  #keep(line) {
    if (!Number.isInteger(line?.seq)) return;
    this.#lines.set(line.seq, line);
    if (line.direction === "outbound") this.#pending.delete(line.id);
  }

  #trim() {
    for (const { seq } of this.#sorted.slice(0, -longestWindow)) {
      this.#lines.delete(seq);
      this.#hasEarlier = true;
    }
  }

  #hear(event) {
    if (!this.#id || this.#hasLater) return;
    // No event means that the connection was lost. A thread that was opened during the interruption has no lines yet.
    if (!event) return void (this.#lines.size === 0 ? this.#readLatest() : this.#readLater());
    if (event.type === "typing") return this.update();
    if (!event.seq) return;
    const last = this.#last;
    if (event.seq <= last) return;
    this.#awaited = Math.max(this.#awaited, event.seq);
    if (last === 0) return;
    if (event.seq !== last + 1 || !event.line) return void this.#readLater();
    this.#keep(event.line);
    this.#trim();
    this.#draw();
    if (event.line.direction === "inbound" && isShown(event.line)) say(this.#live, `Customer: ${summary(event.line)}`);
    if (document.visibilityState === "visible") this.#desk.markRead(this.#id);
  }

  /// Whether a person has written to the customer since a time, as far as the shown lines say.
  hasWritten(person, since) {
    return this.#pending.size > 0 || [...this.#lines.values()].some((line) => line.person?.id === person && line.at >= since);
  }

  // Messages of this page that have no line yet

  get #pending() { return this.#unconfirmed.get(this.#id) ?? new Map(); }

  addPending(id, key, line) {
    if (!this.#unconfirmed.has(id)) this.#unconfirmed.set(id, new Map());
    this.#unconfirmed.get(id).set(key, line);
    this.#draw();
    this.#end.toEnd();
  }

  changePending(id, key, change, newKey = key) {
    const pending = this.#unconfirmed.get(id);
    const line = pending?.get(key);
    if (!line) return;
    pending.delete(key);
    const isKnown = id === this.#id && [...this.#lines.values()].some((one) => one.direction === "outbound" && one.id === newKey);
    // A confirmed message of another conversation need not be kept: its line is read when that conversation is opened.
    const isKept = change && !isKnown && (id === this.#id || !change.id || change.problem);
    if (isKept) pending.set(newKey, { ...line, ...change });
    else if (pending.size === 0) this.#unconfirmed.delete(id);
    if (id === this.#id) this.#draw();
  }

  // Drawing

  #draw() {
    const { isAtEnd } = this.#end;
    const focused = document.activeElement;
    const files = new Map();
    const lines = this.#sorted;
    for (const line of lines) if (!line.message && line.files) files.set(line.record, line);
    const shown = placed(lines.filter(isShown)).map((line) => (!line.files && files.has(line.record) && line.direction === "inbound" ? { ...line, files: files.get(line.record).files, signIn: files.get(line.record).signIn } : line));
    const entries = [...shown.map((line) => [`s${line.seq}`, line]), ...[...this.#pending].map(([key, line]) => [`p${key}`, line])];
    const nodes = new Map();
    // A node is made again when its version differs.
    const add = (key, version, make) => nodes.set(key, this.#nodes.get(key)?.version === version ? this.#nodes.get(key) : { version, node: make() });
    let before;
    entries.forEach(([key, line], index) => {
      const day = dayOf(line.at);
      if (day !== (before && dayOf(before.at))) {
        add(`d${day}${key}`, "", () => element("li", { class: "day" }, element("span", {}, day)));
      }
      const next = entries[index + 1]?.[1];
      const isFirst = !before || !isSameGroup(before, line);
      const isLast = !next || !isSameGroup(line, next);
      const version = JSON.stringify([isFirst, isLast, line.files, line.signIn, line.state, line.outcome, line.problem, line.reactions]);
      add(key, version, () => this.#make(line, isFirst, isLast));
      before = line;
    });
    // Only now, so that the shown nodes are still known after an exception.
    this.#nodes = nodes;
    arrange(this.#items, [...this.#nodes.values()].map(({ node }) => node));
    if (focused !== document.activeElement && document.activeElement === document.body) this.#scroll.focus();
    this.#earlier.hidden = !this.#hasEarlier;
    this.#latest.hidden = !this.#hasLater;
    this.#drawTyping();
    if (isAtEnd) this.#end.toEnd();
  }

  #make(line, isFirst, isLast) {
    if (line.kind === "close" && line.direction === "inbound") {
      return element("li", { class: "day" }, element("span", {}, line.message.referenceIds ? "The customer declined an invitation" : "The customer closed the conversation", ` · ${when(line.at)}`));
    }
    if (line.direction === "internal") return internalLine(line, this.#author(line));
    const isOwn = line.direction === "outbound";
    const author = isOwn ? this.#author(line) : "Customer";
    const path = `${this.#desk.conversationPath(this.#id)}/messages/${encodeURIComponent(line.id)}/attachments/`;
    const canLoad = !isOwn && line.files;
    const download = canLoad ? async (index) => (await this.#desk.api.send("GET", path + index)).blob() : undefined;
    const retry = line.retry && button("Try again", { class: "plain" }, () => line.retry());
    const drop = line.drop && button("Remove", { class: "plain" }, () => line.drop());
    return element("li", { class: `line ${isOwn ? "own" : "other"}${isLast ? " last" : ""}` },
      isFirst ? element("p", { class: "author" }, element("bdi", {}, author)) : element("p", { class: "visually-hidden" }, element("bdi", {}, author)),
      element("div", { class: "contents" },
        line.reactions?.length > 0 && element("p", { class: "reactions", "aria-label": `The customer reacted with ${line.reactions.join(" ")}`, role: "img" }, line.reactions.join(" ")),
        content(line, { download })),
      line.repeats && element("p", { class: "note" }, "The same choice again; it was not answered"),
      element("p", { class: `note${isFailure(line) ? " failure" : ""}` },
        (isLast || isFailure(line) || line.state) && [element("time", { datetime: line.at }, when(line.at)), outcome(line)].filter(Boolean).map((part, index) => [index > 0 && " · ", part]),
        retry, drop),
      line.kind !== "text" && line.kind !== "unrecognized" && !line.state && raw(line.message));
  }

  #author(line) {
    if (line.state) return "You";
    switch (line.author) {
      case "person": return line.person?.id === this.#desk.me.id ? "You" : personName(line.person, "A person");
      case "handler": return "Bot";
      case "program": return "Program";
      case "server": return "Automatic text";
      default: return "Business";
    }
  }

  #drawTyping() {
    const one = this.conversation;
    const last = this.#lines.get(this.#last);
    const customer = last?.kind === "typingStart" && Date.now() - Date.parse(last.at) < typingLasts;
    const colleague = one?.typing && Date.now() - one.typing < 30_000 && !this.#desk.isMine(one);
    const wasHidden = this.#typing.hidden;
    this.#typing.hidden = !customer && !colleague;
    this.#typing.classList.toggle("own", !customer && Boolean(colleague));
    const who = colleague ? visible(one.person?.name ?? "The business") : "The customer";
    say(this.#typing.lastChild, customer ? "The customer is typing" : colleague ? `${who} is typing` : "");
    // Another height at the end is no scroll of the person.
    if (this.#typing.hidden !== wasHidden && this.#end.isAtEnd) this.#end.toEnd();
  }

  /// Shows who has the conversation, and the buttons for the changes that its state allows.
  update() {
    const one = this.conversation;
    if (!one) return;
    const desk = this.#desk;
    say(this.#name, customerName(one.customer, one.customerName));
    this.#name.title = visible(one.customer ?? "");
    const cannot = missing(one.capabilities);
    say(this.#facts, [one.locale && language(one.locale), one.intent && `intent ${one.intent}`, one.group && `group ${one.group}`, ...(one.tags ?? []).map((tag) => `#${tag}`)].filter(Boolean).map(visible).join(" · "));
    const isMine = desk.isMine(one);
    const person = personName(one.person);
    const since = one.since ? ` since ${when(one.since)}` : "";
    const state = {
      handler: "The bot answers. Claim the conversation to answer yourself.",
      waiting: `Waits for a person${one.since ? `, ${age(one.since) === "now" ? "just now" : `for ${age(one.since)}`}` : ""}`,
      person: desk.isSnoozed(one) ? `Snoozed until ${when(one.snoozedUntil)}, or until the customer writes` : isMine ? `You have this conversation${since}` : `${person} has this conversation${since}`,
      closed: "Closed. You can answer when the customer writes again.",
    }[one.state];
    // The reason and the note are for the next person, also after the claim.
    const isHeld = one.state === "waiting" || one.state === "person";
    const parts = [["", state], ["Why: ", isHeld && one.reason ? sentence(one.reason) : ""], ["Note: ", one.note ? safe(one.note) : ""], ["Queue: ", isHeld && desk.queueOf(one) ? `${visible(desk.queueOf(one).name)} (${visible(one.queue.rule ?? "")})` : ""], ["Also here: ", desk.lookingAt(one.id).join(", ")], ["Device: ", one.state !== "closed" && cannot.length > 0 ? `cannot show ${cannot.join(", ")}` : ""]].filter(([, text]) => text);
    refill(this.#holder, parts, () => parts.map(([label, text]) => element("p", { dir: "auto" }, label && element("strong", {}, label), text)));
    this.#holder.dataset.state = isMine ? "mine" : one.state;
    const [shown, more = []] = offers[one.state === "person" && (isMine ? "mine" : desk.supervises ? "person" : "closed") || one.state] ?? [[]];
    if (this.#actions.dataset.offered !== [...shown, ...more].join()) {
      const hadFocus = this.#actions.contains(document.activeElement);
      this.#actions.dataset.offered = [...shown, ...more].join();
      fill(this.#actions, shown.map((name) => button(changes[name].label, { class: name === "claim" || name === "take" ? "primary" : "secondary", title: changes[name].hint }, () => this.act(name))),
        more.length > 0 && button("More…", { class: "secondary", "aria-haspopup": "dialog" }, async () => this.act(await askMore(more))));
      if (hadFocus) (this.#actions.firstChild ?? this.#name).focus();
    }
    const link = desk.people?.link?.replaceAll("{conversation}", one.id);
    this.#link.hidden = !link;
    if (link) this.#link.href = link;
    this.composer.update();
    this.#drawTyping();
  }

  /// Writes a note, or the name and the tags of the customer.
  async write(what) {
    if (!this.#id) return;
    try { await (what === "note" ? askForNote : askForCustomer)(this.#id, this.#desk); } catch (error) { this.#desk.fail(error); }
  }

  /// Makes one of the offered `changes`.
  async act(name) {
    if (!this.#actions.dataset.offered?.split(",").includes(name)) return;
    const id = this.#id;
    const one = this.conversation;
    const shown = { state: one?.state, person: one?.person?.id };
    const answer = await (changes[name].ask?.(one, this.#desk) ?? {});
    if (!answer) return;
    try {
      await changes[name].make(this.#desk, id, answer, shown);
      if (name === "claim" || name === "take") this.composer.focus();
    } catch (error) {
      this.#desk.fail(error);
    }
  }
}

/// The name of a language, such as `American English` for `en_US`; the code itself when it is unknown.
function language(locale) {
  try { return new Intl.DisplayNames(undefined, { type: "language" }).of(locale.replaceAll("_", "-")); } catch { return locale; }
}

function askTake(one) {
  const person = personName(one.person, "a colleague");
  return confirm(`Take over from ${person}?`, `${person} can no longer answer in this conversation.`, "Take over");
}

function askClose() {
  return confirm("Close the conversation?", "Nothing is sent to the customer. The next message begins with the bot.", "Close");
}

/// Asks which of the changes under More is wanted.
function askMore(names) {
  return sheet("More", (finish) => element("div", { class: "sheet-body" },
    names.map((name, index) => button(changes[name].more, { class: "secondary wide", "data-first": index === 0 }, () => finish(name)))));
}

async function askTransfer(one, desk) {
  const persons = await desk.readPersons().catch(() => []);
  const places = [{}, ...desk.queues.map((queue) => ({ label: queue.name, queue: queue.id })), ...persons.map((person) => ({ label: person.name ?? person.id, person }))];
  const to = element("select", { id: "to-queue" }, places.map(({ label }, place) => element("option", { value: place }, label ? visible(label) : "The next person")));
  const choice = places.length > 1 ? labelled("To", to) : [];
  return ask("Transfer the conversation", [element("p", {}, "It waits in the queue for the next person."), choice, noteField("Note for the next person (optional)")], "Transfer",
    ({ note }) => ({ note: note.trim(), ...places[to.value || 0] }));
}

/// Asks until when a conversation is put aside.
function askSnooze(one, desk) {
  const inHours = (hours) => new Date(Date.now() + hours * 3_600_000);
  const morning = new Date(inHours(24).setHours(9, 0, 0, 0));
  const times = [["One hour", inHours(1)], ["Three hours", inHours(3)], ["Tomorrow at 9", morning], ...(desk.isSnoozed(one) ? [["Not any more", undefined]] : [])];
  return sheet("Snooze until", (finish) => element("div", { class: "sheet-body" }, element("p", {}, "The customer's next message ends it earlier."),
    times.map(([label, time], index) => button(label, { class: "secondary wide", "data-first": index === 0 }, () => finish({ until: time?.toISOString() })))));
}

function askRelease() {
  return ask("Release to the bot", [element("p", {}, "The bot answers the customer's next message."), noteField("Note for the record (optional)")], "Release", ({ note }) => ({ note: note.trim() }));
}

function noteField(label) {
  return labelled(label, element("textarea", { id: "note", name: "note", rows: 3, maxlength: 1000, dir: "auto", "data-first": true }));
}

function isSameGroup(a, b) {
  return a.direction === b.direction && a.kind !== "close" && b.kind !== "close" && a.author === b.author && a.person?.id === b.person?.id
    && Math.abs(Date.parse(b.at) - Date.parse(a.at)) < 300_000 && dayOf(a.at) === dayOf(b.at);
}

/// The outcome of a message as text. Apple only says that it accepted a message, so no text says that the customer
/// received it.
function outcome(line) {
  if (line.direction !== "outbound") return "";
  if (line.problem) return line.problem;
  const status = line.status ? ` (${line.status})` : "";
  switch (line.outcome ?? line.state) {
    case "accepted": return "Accepted by Apple";
    case "refused": return `Refused by Apple${status}`;
    case "expired": return "Not sent in time";
    case "dropped": return "Not sent";
    case "failed": return `Failed${status}`;
    case "queued": return "Waits to be sent";
    case "sending": return "Sending…";
    default: return "";
  }
}
