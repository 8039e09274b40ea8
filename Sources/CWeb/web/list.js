// The list of conversations with the views queue, mine and all. An update reuses the rows' elements, so that it never
// moves the focus.
import { isFailure } from "./bubbles.js";
import { arrange, button, element, markCurrent, moveFocus, refill, say, setOptions } from "./dom.js";
import { customerName, personName, safe, visible, when } from "./text.js";

const empty = {
  queue: ["Nobody waits", "Conversations that need a person appear here, the longest waiting first."],
  mine: ["You have no conversation", "Claim one from the queue: open it, then choose Claim."],
  all: ["No conversations yet", "They appear when customers write to this business."],
  found: ["Nothing found", "Try another word or another state."],
};

/// The views with their labels, in the order of the tabs.
export const views = { queue: "Queue", mine: "Mine", all: "All" };

/// The maximum number of rows, because more would make the page slow; a search finds the other conversations.
const mostRows = 400;

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/// The time since `time` as a short text: `now`, `4 min`, `2 h` or `3 d`.
export function age(time) {
  const passed = Date.now() - Date.parse(time);
  if (!(passed >= minute)) return "now";
  if (passed < hour) return `${Math.floor(passed / minute)} min`;
  if (passed < 2 * day) return `${Math.floor(passed / hour)} h`;
  return `${Math.floor(passed / day)} d`;
}

/// A text of a message as a sentence that begins with a capital.
export function sentence(text) {
  const shown = safe(text);
  return shown.charAt(0).toLocaleUpperCase() + shown.slice(1);
}

const stateNames = { handler: "Bot", waiting: "Waiting", person: "Person", closed: "Closed" };

export class List {
  #desk;
  #open;
  #rows = new Map();
  #tabs = new Map();
  #items = element("ul", { class: "conversations", id: "conversations" });
  #note = element("div", { class: "empty" });
  #more = button("Load more", { class: "plain more" }, () => this.#loadMore());
  #status = element("p", { class: "visually-hidden", role: "status" });
  #search = element("input", { type: "search", id: "search", placeholder: "Search", "aria-label": "Search all conversations", autocomplete: "off", maxlength: 60 });
  #state = element("select", { id: "state", "aria-label": "State" },
    element("option", { value: "" }, "All states"), ["waiting", "person", "handler", "closed"].map((value) => element("option", { value }, stateNames[value])));
  #filter = element("form", { class: "filter", role: "search" }, this.#search, this.#state);
  #queue = element("select", { id: "queue", "aria-label": "Queue" });
  #next = button("Take next", { class: "primary", title: "The conversation that is to be answered next" }, () => this.takeNext());
  #offer = element("div", { class: "work", role: "status" });
  #work = element("div", { class: "work" }, this.#queue, this.#next);
  #heading = element("h2", { class: "visually-hidden", tabindex: -1 }, "Conversations");

  constructor(desk, open) {
    this.#desk = desk;
    this.#open = open;
    const tabs = element("div", { class: "tabs", role: "group", "aria-label": "View" },
      Object.entries(views).map(([view, label]) => {
        const count = element("span", { class: "count" });
        const tab = button([label, count], { class: "tab" }, () => this.show(view));
        this.#tabs.set(view, { tab, count });
        return tab;
      }));
    this.node = element("div", { class: "list" }, this.#heading, this.#filter, this.#offer, tabs, this.#work,
      element("div", { class: "scroll" }, this.#items, this.#note, this.#more), this.#status);
    this.#filter.addEventListener("submit", (event) => { event.preventDefault(); this.#applyFilter(); });
    let timer = 0;
    this.#search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => this.#applyFilter(), 350); });
    this.#state.addEventListener("change", () => this.#applyFilter());
    this.#queue.addEventListener("change", () => { desk.queue = this.#queue.value; this.update(); });
    this.#items.addEventListener("keydown", (event) => moveFocus(event, [...this.#items.querySelectorAll(".row")]));
    desk.addEventListener("lists", () => this.update());
    // Update the shown ages, which change although no event arrives.
    desk.every(20_000, () => this.update());
  }

  /// Shows a view. A search finds conversations of every state, so it belongs to the view `all`.
  show(view) {
    this.#desk.view = view;
    if (view !== "all") {
      this.#search.value = this.#state.value = "";
      this.#applyFilter();
    }
    this.update();
  }

  focusSearch() { this.#search.focus(); }

  focus(id) {
    (this.#rows.get(id) ?? this.#rows.values().next().value)?.node.firstChild.focus();
    if (this.#rows.size === 0) this.#heading.focus();
  }

  /// Opens the next (1) or previous (-1) conversation.
  step(distance) {
    const ids = this.#desk.list().map((one) => one.id);
    const place = ids.indexOf(this.#desk.selected);
    const id = ids[place < 0 ? 0 : Math.min(ids.length - 1, Math.max(0, place + distance))];
    if (id) this.#open(id);
  }

  /// Shows the first conversation that is offered to this person.
  #drawOffer() {
    const one = this.#desk.offered()[0];
    this.#offer.hidden = !one;
    const answer = (action, opens) => async () => {
      try { await action(one.id); if (opens) this.#open(one.id); } catch (error) { this.#desk.fail(error); }
    };
    refill(this.#offer, one?.id, () => one && [element("span", { class: "row-text" }, `${customerName(one.customer, one.customerName)} is offered to you`),
      button("Accept", { class: "primary" }, answer((id) => this.#desk.claim(id), true)), button("Decline", { class: "secondary" }, answer((id) => this.#desk.decline(id)))]);
  }

  /// Claims and opens the conversation that is to be answered next.
  async takeNext() {
    const desk = this.#desk;
    try {
      const id = await desk.takeNext();
      if (!id) throw new Error("No conversation waits for you.");
      this.#open(id);
    } catch (error) { desk.fail(error); }
  }

  #applyFilter() {
    const filter = { state: this.#state.value, q: this.#search.value.trim() };
    if (filter.q) this.#desk.view = "all";
    if (JSON.stringify(filter) !== JSON.stringify(this.#desk.filter)) void this.#desk.setFilter(filter);
  }

  async #loadMore() {
    this.#more.disabled = true;
    await this.#desk.loadAll(true).catch(this.#desk.fail);
    this.#more.disabled = false;
  }

  update() {
    const desk = this.#desk;
    for (const [view, { tab, count }] of this.#tabs) {
      tab.setAttribute("aria-pressed", String(view === desk.view));
      const number = view === "all" ? 0 : desk.list(view).filter((one) => !desk.isSnoozed(one)).length;
      say(count, number ? `${number}${view === "queue" && desk.hasMoreWaiting ? "+" : ""}` : "");
    }
    this.#drawOffer();
    this.#state.hidden = desk.view !== "all";
    this.#work.hidden = desk.view !== "queue" || (desk.list().length === 0 && !desk.queue);
    this.#queue.hidden = desk.queues.length === 0;
    setOptions(this.#queue, [["", "All queues"], ...desk.queues.map(({ id, name }) => [id, visible(name)])], desk.queue);
    const shown = desk.list().slice(0, mostRows);
    this.#place(shown);
    const isSearch = desk.view === "all" && (desk.filter.q || desk.filter.state);
    const [title, hint] = empty[isSearch ? "found" : desk.view];
    this.#note.hidden = shown.length > 0 || desk.isLoading || desk.connection === "connecting";
    if (!this.#note.hidden) refill(this.#note, title, () => [element("p", { class: "empty-title" }, title), element("p", {}, hint)]);
    this.#more.hidden = desk.view !== "all" || !desk.all.next || shown.length === 0 || shown.length === mostRows;
    const searched = desk.view === "all" && desk.all.searched !== undefined ? `, ${desk.all.searched} searched` : "";
    say(this.#status, desk.isLoading ? "Loading" : `${shown.length} conversations${searched}`);
  }

  #place(shown) {
    const focused = document.activeElement;
    const place = [...this.#items.children].indexOf(focused?.closest("li"));
    this.#rows = new Map(shown.map((one) => [one.id, this.#rows.get(one.id) ?? this.#makeRow(one.id)]));
    for (const one of shown) this.#write(this.#rows.get(one.id), one);
    arrange(this.#items, [...this.#rows.values()].map((row) => row.node));
    if (place >= 0 && !focused.isConnected) (this.#items.children[Math.min(place, this.#items.children.length - 1)]?.firstChild ?? this.#heading).focus();
  }

  #makeRow(id) {
    const parts = {
      name: element("bdi", { class: "row-name" }), time: element("span", { class: "row-time" }),
      text: element("span", { class: "row-text", dir: "auto" }), why: element("span", { class: "row-why", dir: "auto" }), state: element("span", { class: "row-state" }),
      unread: element("span", { class: "dot", role: "img", "aria-label": "Unread" }),
    };
    const open = button([
      parts.unread, element("span", { class: "row-part" }, parts.name, parts.time), parts.text,
      element("span", { class: "row-part" }, parts.why, parts.state),
    ], { class: "row" }, () => this.#open(id));
    return { node: element("li", {}, open), open, ...parts };
  }

  #write(row, one) {
    const desk = this.#desk;
    const isUnread = desk.unread.has(one.id);
    markCurrent(row.open, one.id === desk.selected);
    row.open.classList.toggle("unread", isUnread);
    row.unread.hidden = !isUnread;
    say(row.name, customerName(one.customer, one.customerName));
    // The customer's last words are shown: after a hand-off the last line is the server's automatic text.
    say(row.text, one.lastInbound || one.last?.direction !== "outbound" ? safe((one.lastInbound ?? one.last)?.summary ?? "") : `Sent: ${safe(one.last.summary)}`);
    const waits = one.state === "waiting" ? one.since : one.state === "person" ? one.unansweredSince : undefined;
    const isLate = Date.now() - Date.parse(waits) > desk.targetOf(one);
    const passed = waits && age(waits);
    say(row.time, desk.isSnoozed(one) ? `until ${when(one.snoozedUntil)}` : waits ? (passed === "now" ? "just now" : `waits ${passed}`) : when(one.last?.at));
    row.time.classList.toggle("late", isLate);
    const person = one.state === "person" ? (desk.isMine(one) ? "You" : personName(one.person, "Person")) : stateNames[one.state] ?? one.state;
    const isAnswered = one.lastInbound && !one.unansweredSince && one.last?.direction === "outbound";
    const isLost = isFailure(one.last ?? {});
    say(row.why, isLost ? `Not delivered: ${safe(one.last.summary)}` : one.state === "waiting" ? sentence(one.reason || one.note || "") : isAnswered ? `Sent: ${safe(one.last.summary)}` : "");
    row.why.classList.toggle("failure", isLost);
    say(row.state, [isLate && "Overdue", desk.view === "all" && person, desk.view === "queue" && !desk.queue && visible(desk.queueOf(one)?.name ?? "")].filter(Boolean).join(" · "));
    row.state.dataset.state = isLate ? "overdue" : one.state;
  }
}
