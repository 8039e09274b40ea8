// The state of the page: its user, the conversations of one business, and which are unread. The desk dispatches an
// event for each change.
import { Problem } from "./api.js";
import { isTyping, summary } from "./bubbles.js";
import { recall, remember } from "./dom.js";
import { isTapback } from "./reactions.js";
import { LiveState } from "./stream.js";
import { customerName, personName } from "./text.js";

const queuePages = 5;
const refreshPause = 5_000;
/// The milliseconds after which an unanswered customer is marked, unless the queue has a target.
const overdueAfter = 600_000;

/// Dispatches `lists`, `conversation` (detail: its id), `line` (detail: the event), `connection`, `businesses` and `failed`
/// (detail: a sentence).
export class Desk extends LiveState {
  /// The person of this page: that of the token, or the name that was entered.
  me;
  /// Whether the person gets offers: `available`, `away` or `gone`; undefined when the token names no person.
  availability;
  /// The persons who are there, each with the conversation at which the person looks.
  persons = [];
  /// Whether this person may take conversations from others, and open and close the help desk.
  supervises = true;
  businesses = [];
  business = "";
  conversations = new Map();
  unread = new Set();
  selected = "";
  view = "queue";
  /// The queues of the business: `{"id", "name", "priority"}`; empty without queues.
  queues = [];
  /// The queue to which the view `queue` is limited; empty for all.
  queue = "";
  filter = { state: "", q: "" };
  /// The conversation ids in the view `all`, and the address of its next page.
  all = { ids: [], next: undefined, searched: undefined };
  isLoading = false;
  hasMoreWaiting = false;
  /// Whether people are there: `{"open", "text", "opensAt"}`; undefined until it is known.
  people;
  #generation = 0;
  #refresh = 0;
  /// The timer of the next repetition after a failed reload.
  #retry;
  /// The conversations that waited when the queue was last read; conversations that began to wait later are unread.
  #waited = new Set();

  constructor(api, me) {
    super(api);
    this.me = me;
  }

  /// The business whose conversations are shown; undefined when the token has none.
  get current() { return this.businesses.find((one) => one.slug === this.business); }

  get path() { return `/v1/businesses/${encodeURIComponent(this.business)}`; }

  conversationPath(id) { return `${this.path}/conversations/${encodeURIComponent(id)}`; }

  /// Reads the businesses of the token, and starts to follow events; throws a `Problem` on failure.
  async begin() {
    const { businesses, person, supervises = true } = await this.api.read("/v1/businesses");
    this.businesses = businesses;
    this.supervises = supervises;
    if (person) {
      this.me = { name: person.id, ...person };
      this.availability = recall("availability") ?? "gone";
      this.every(30_000, () => void this.#reportAvailability());
    }
    const remembered = recall("business");
    this.business = (this.businesses.find((one) => one.slug === remembered) ?? this.businesses[0])?.slug ?? "";
    this.follow();
    this.every(60_000, () => void this.#readPeople());
  }

  /// Repeats an action until the end of the session.
  every(milliseconds, action) {
    const timer = setInterval(action, milliseconds);
    this.signal.addEventListener("abort", () => clearInterval(timer));
  }

  /// Reads a page of a list, and adds `next`, the address of the next page if there is one.
  async readPage(path) {
    const answer = await this.api.send("GET", path);
    const next = /<([^>]+)>;\s*rel="next"/u.exec(answer.headers.get("Link") ?? "")?.[1];
    return { ...await answer.json(), ...(next && { next: new URL(next, location.href).pathname + new URL(next, location.href).search }) };
  }

  choose(business) {
    this.business = business;
    remember("business", business);
    this.conversations.clear();
    this.unread.clear();
    this.#waited.clear();
    this.all = { ids: [], next: undefined, searched: undefined };
    this.selected = "";
    this.people = undefined;
    this.queues = [];
    this.queue = "";
    this.tell("businesses");
    void this.reload();
  }

  /// Reads every list again, and the open conversation.
  async reload() {
    if (!this.business || this.signal.aborted) return;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    const generation = ++this.#generation;
    void this.#readPeople();
    void this.#reportAvailability();
    this.isLoading = true;
    this.tell("lists");
    try {
      const [held, businesses, { queues }] = await Promise.all([this.#readHeld(), this.api.read("/v1/businesses"), this.api.read(`${this.path}/queues`), this.loadAll(false)]);
      if (generation !== this.#generation) return;
      this.businesses = businesses.businesses;
      this.queues = queues;
      if (!this.queueOf({ queue: { id: this.queue } })) this.queue = "";
      for (const [id, one] of this.conversations) {
        if (!held.has(id) && (one.state === "waiting" || one.state === "person")) this.conversations.delete(id);
      }
      for (const one of held.values()) {
        this.#keep(one);
        if (one.state === "waiting" && !this.#waited.has(one.id) && one.id !== this.selected) this.unread.add(one.id);
      }
      this.#waited = new Set([...held.values()].filter((one) => one.state === "waiting").map((one) => one.id));
      if (this.selected) {
        await this.refreshConversation(this.selected);
        this.tell("line", undefined);
      }
    } catch (error) {
      if (error.kind === "not-found" && this.selected) {
        this.conversations.delete(this.selected);
        this.tell("gone");
      }
      if (error.kind === "index-loading" || error.status === 0 || error.status >= 500) this.#retry ??= setTimeout(() => void this.reload(), 2_000);
      this.fail(error);
    } finally {
      if (generation === this.#generation) {
        this.isLoading = false;
        this.tell("lists");
        this.tell("businesses");
      }
    }
  }

  /// The conversations that wait or that a person has, by id.
  async #readHeld() {
    const found = new Map();
    this.hasMoreWaiting = false;
    for (const state of ["waiting", "person"]) {
      let next = `${this.path}/conversations?state=${state}&limit=200`;
      for (let page = 0; next && page < queuePages; page += 1) {
        const answer = await this.readPage(next);
        for (const one of answer.conversations) found.set(one.id, one);
        next = answer.next;
      }
      if (state === "waiting" && next) this.hasMoreWaiting = true;
    }
    return found;
  }

  /// Reads the first page of the view `all` with the filter, or with `isNext` the next page.
  async loadAll(isNext) {
    if (isNext && !this.all.next) return;
    const parameters = new URLSearchParams({ limit: "50" });
    if (this.filter.state) parameters.set("state", this.filter.state);
    if (this.filter.q) parameters.set("q", this.filter.q);
    const { filter } = this;
    const answer = await this.readPage(isNext ? this.all.next : `${this.path}/conversations?${parameters}`);
    if (filter !== this.filter) return;
    for (const one of answer.conversations) this.#keep(one);
    const ids = answer.conversations.map((one) => one.id);
    this.all = {
      ids: isNext ? [...new Set([...this.all.ids, ...ids])] : ids, next: answer.next,
      searched: answer.searched === undefined ? undefined : answer.searched + (isNext ? this.all.searched ?? 0 : 0),
    };
    this.tell("lists");
  }

  async setFilter(filter) {
    this.filter = filter;
    this.isLoading = true;
    this.tell("lists");
    try {
      await this.loadAll(false);
      // The server searches for a quarter of a second for each page, so an empty page may have a next page.
      for (let page = 0; page < 8 && this.filter === filter && this.all.ids.length === 0 && this.all.next; page += 1) await this.loadAll(true);
    } catch (error) {
      this.fail(error);
    }
    if (this.filter === filter) {
      this.isLoading = false;
      this.tell("lists");
    }
  }

  #keep(conversation) {
    const known = this.conversations.get(conversation.id);
    this.conversations.set(conversation.id, { ...conversation, opening: conversation.opening ?? known?.opening, typing: known?.typing, lastTyping: known?.lastTyping });
  }

  /// Reads one conversation again.
  async refreshConversation(id) {
    const business = this.business;
    const one = await this.api.read(this.conversationPath(id));
    if (business !== this.business) return undefined;
    this.#keep(one);
    this.tell("conversation", id);
    this.tell("lists");
    return this.conversations.get(id);
  }

  /// The conversations of a view, in its order.
  list(view = this.view) {
    const all = [...this.conversations.values()];
    const time = (one) => Date.parse(one.since ?? one.last?.at ?? 0);
    switch (view) {
      case "queue": {
        const priority = (one) => one.queue?.priority ?? this.queueOf(one)?.priority ?? 0;
        return all.filter((one) => one.state === "waiting" && (!this.queue || (this.queueOf(one) ?? this.queues[0])?.id === this.queue))
          .sort((a, b) => priority(b) - priority(a) || time(a) - time(b) || (a.id < b.id ? -1 : 1));
      }
      case "mine": return all.filter((one) => this.isMine(one)).sort((a, b) => this.isSnoozed(a) - this.isSnoozed(b) || Date.parse(b.last?.at ?? 0) - Date.parse(a.last?.at ?? 0));
      default: return this.all.ids.map((id) => this.conversations.get(id)).filter(Boolean);
    }
  }

  isMine(one) { return one?.state === "person" && one.person?.id === this.me.id; }

  /// The queue of a conversation; undefined when it is in none that the business has.
  queueOf(one) { return this.queues.find(({ id }) => id === one?.queue?.id); }

  /// The milliseconds within which the customer should have an answer; there is no such time while people do not answer.
  targetOf(one) {
    const queue = this.queueOf(one) ?? this.queues[0];
    if ((queue ?? this.people)?.opensAt) return Infinity;
    return (one.state === "waiting" ? queue?.firstAnswerSeconds : queue?.answerSeconds) * 1_000 || overdueAfter;
  }

  /// Opens a conversation, and marks it as read.
  select(id) {
    this.selected = id;
    this.markRead(id);
    void this.#reportAvailability();
  }

  markRead(id) {
    if (this.unread.delete(id)) this.tell("lists");
  }

  // Events

  receive(event) {
    if (event.type === "handler.health") return this.#changeHealth(event);
    if (event.business !== this.business) return;
    const known = this.conversations.get(event.conversation);
    switch (event.type) {
      case "conversation.handedOff": case "conversation.claimed": case "conversation.released": case "conversation.closed":
        this.#changeState(event, known);
        break;
      case "conversation.queued": case "conversation.offered": case "conversation.snoozed":
        if (known) Object.assign(known, { queue: event.queue, note: event.note, offer: event.offer, snoozedUntil: event.snoozedUntil });
        if (known && event.offer?.person?.id === this.me.id) this.tell("alert", { kind: "offers", text: `${customerName(known.customer, known.customerName)} is offered to you.` });
        if (event.type === "conversation.offered") void this.#reportAvailability();
        this.tell("lists");
        break;
      case "message.received": case "message.accepted": case "message.failed":
        this.#changeLine(event, known);
        break;
      case "conversation.noted":
        if (known && event.seq) known.lines = Math.max(known.lines ?? 0, event.seq);
        if (known && event.line?.kind !== "note") void this.refreshConversation(known.id).catch(() => {});
        break;
      case "message.queued":
        break;
      case "conversation.overdue":
        if (this.isMine(known)) this.tell("alert", { kind: "late", text: `${customerName(known.customer, known.customerName)} waits for your answer.` });
        this.tell("lists");
        break;
      case "typing":
        // The customer's typing is in the conversation's lines.
        if (event.direction === "inbound") return;
        if (known && event.typing) known.lastTyping = Date.now();
        if (known) known.typing = event.typing ? Date.now() : 0;
        break;
      default: return;
    }
    this.tell("conversation", event.conversation);
    this.tell("line", event);
  }

  #changeState(event, known) {
    if (known) {
      Object.assign(known, { state: event.state, since: event.at, person: event.person, reason: event.reason, note: event.note, queue: event.queue, offer: event.offer, snoozedUntil: event.snoozedUntil, typing: 0 });
      if (event.state === "waiting" && !this.#isSeen(known.id)) this.unread.add(known.id);
      if (event.state !== "waiting" && !this.isMine(known)) this.unread.delete(known.id);
      this.tell("lists");
    } else {
      this.refreshConversation(event.conversation).then((one) => {
        if (one?.state === "waiting") this.unread.add(one.id);
        this.tell("lists");
      }).catch(() => this.#refreshSoon());
    }
    this.tell("businesses");
  }

  #changeLine(event, known) {
    if (!known) return this.#refreshSoon();
    if (event.seq) known.lines = Math.max(known.lines ?? 0, event.seq);
    const line = event.line;
    if (line?.message) {
      known.last = { seq: line.seq, at: line.at ?? event.at, direction: line.direction, kind: line.kind, summary: summary(line), outcome: line.outcome };
      if (line.direction === "inbound" && !isTyping(line)) {
        known.lastInbound = known.last;
        known.snoozedUntil = undefined;
        if (!isTapback(line)) known.unansweredSince ??= known.last.at;
      } else if (line.direction === "outbound" && !isTyping(line) && line.author !== "server" && line.outcome === "accepted") known.unansweredSince = undefined;
      if (line.direction === "inbound" && line.kind === "close") known.state = "closed";
      else if (line.direction === "inbound" && known.state === "closed") Object.assign(known, { state: "handler", person: undefined });
      if (line.direction === "outbound") known.typing = 0;
    } else if (event.truncated) {
      void this.refreshConversation(known.id).catch(() => {});
    }
    const isForPeople = known.state === "waiting" || this.isMine(known);
    if (event.type === "message.received" && this.isMine(known) && !isTyping(line)) this.tell("alert", { kind: "own", text: `${customerName(known.customer, known.customerName)} has written.` });
    if (event.type === "message.received" && isForPeople && !isTyping(line) && !this.#isSeen(known.id)) this.unread.add(known.id);
    if (this.all.ids.includes(known.id) && !this.filter.q) this.all.ids = [known.id, ...this.all.ids.filter((id) => id !== known.id)];
    this.tell("lists");
  }

  #changeHealth(event) {
    const business = this.businesses.find((one) => one.slug === event.business);
    if (business) business.handler.health = event.health;
    this.tell("businesses");
  }

  #isSeen(id) { return id === this.selected && document.visibilityState === "visible"; }

  /// Reads the lists again, at most every five seconds, because a busy handler changes many conversations that nobody
  /// looks at.
  #refreshSoon() {
    if (this.#refresh || this.filter.q) return;
    this.#refresh = setTimeout(() => {
      this.#refresh = 0;
      this.loadAll(false).catch(() => {});
    }, this.view === "all" ? 1_000 : refreshPause);
  }

  // Changes

  /// Claims the conversation for the person of this page.
  claim(id) { return this.#change(id, "claim", { person: this.me }); }

  /// Claims the conversation that is to be answered next; undefined when none waits for this person.
  async takeNext() {
    const { conversation } = await this.api.change("POST", `${this.path}/take-next`, { person: this.me, ...(this.queue && { queue: this.queue }) });
    if (conversation) this.#keep(conversation);
    this.tell("lists");
    return conversation?.id;
  }

  /// Takes the conversation from the colleague that `shown` names.
  take(id, shown) { return this.#changeShown(id, shown, "claim", { person: this.me, take: true }); }

  release(id, to, { note, queue, person }, shown) { return this.#changeShown(id, shown, "release", { to, ...(note && { note }), ...(queue && { queue }), ...(person && { person }) }); }

  /// Writes a note for colleagues.
  note(id, text) { return this.api.change("POST", `${this.conversationPath(id)}/notes`, { text, person: this.me }, { "Idempotency-Key": randomUUID() }); }

  /// Changes the name and the tags of the customer.
  changeCustomer(id, change) { return this.#change(id, "customer", { ...change, person: this.me }); }

  /// Reads the saved replies of the business.
  async readSaved() { return (await this.api.read(`${this.path}/saved-replies`)).replies; }

  writeSaved(id, reply) { return this.api.change("PUT", `${this.path}/saved-replies/${encodeURIComponent(id)}`, reply); }

  removeSaved(id) { return this.api.change("DELETE", `${this.path}/saved-replies/${encodeURIComponent(id)}`); }

  close(id, shown) { return this.#changeShown(id, shown, "close", {}); }

  /// Changes the conversation only if its state and person are still the shown ones.
  async #changeShown(id, shown, operation, body) {
    const answer = await this.api.send("GET", this.conversationPath(id));
    const current = await answer.json();
    if (current.state !== shown.state || current.person?.id !== shown.person) {
      await this.refreshConversation(id).catch(() => {});
      throw new Problem("changed", "A colleague was faster. Look at the conversation again.");
    }
    return this.#change(id, operation, body, { "If-Match": answer.headers.get("ETag") });
  }

  async #change(id, operation, body, headers = {}) {
    try {
      await this.api.change("POST", `${this.conversationPath(id)}/${operation}`, body, headers);
    } finally {
      // The conversation is read again also after a refusal, because a refusal means that the page shows an old state.
      await this.refreshConversation(id).catch(() => {});
    }
  }

  /// Tells the customer's device that a person begins or stops typing; a failure is ignored.
  type(id, typing) {
    return this.api.change("POST", `${this.conversationPath(id)}/typing`, { typing }).catch(() => {});
  }

  async setOpen(open, text) {
    this.people = await this.api.change("PUT", `${this.path}/people`, open ? { open } : { open, text });
    this.tell("businesses");
  }

  /// Chooses whether the person gets offers.
  async setAvailability(state) {
    this.availability = (await this.api.change("PUT", `${this.path}/people/persons`, { state })).state;
    remember("availability", this.availability);
    this.tell("businesses");
  }

  /// Tells the server that the person is still there and looks at the open conversation, and reads the same of others. The server makes a person away who missed an offer, and forgets
  /// the state when it restarts.
  async #reportAvailability() {
    if (!this.availability || this.connection === "lost") return;
    const business = this.business;
    const { state } = await this.api.change("PUT", `${this.path}/people/persons`, this.selected ? { conversation: this.selected } : {}).catch(() => ({}));
    const { persons } = await this.api.read(`${this.path}/people/persons`).catch(() => ({ persons: this.persons }));
    if (business !== this.business) return;
    this.persons = persons;
    if (state === "gone" && this.availability !== "gone") await this.setAvailability(this.availability).catch(() => {});
    else if (state) this.availability = state;
    this.tell("businesses");
  }

  /// The persons to whom a conversation can be transferred.
  async readPersons() {
    const { persons } = await this.api.read(`${this.path}/people/persons`);
    return persons.filter(({ person, state }) => state !== "gone" && person.id !== this.me.id).map(({ person }) => person);
  }

  /// The names of the other persons who look at a conversation.
  lookingAt(id) {
    return this.persons.filter(({ person, conversation }) => conversation === id && person.id !== this.me.id).map(({ person }) => personName(person));
  }

  /// The waiting conversations that are offered to this person.
  offered() { return this.list("queue").filter((one) => one.offer?.person?.id === this.me.id && Date.parse(one.offer.until) > Date.now()); }

  decline(id) { return this.#change(id, "decline", {}); }

  /// Puts the conversation aside until a time; without one, takes it up again.
  snooze(id, until) { return this.#change(id, "snooze", until ? { until } : {}); }

  isSnoozed(one) { return Date.parse(one?.snoozedUntil) > Date.now(); }

  /// Reads whether people are there: a colleague may have changed it.
  async #readPeople() {
    if (!this.business || this.connection === "lost") return;
    const business = this.business;
    const people = await this.api.read(`${this.path}/people`).catch(() => undefined);
    if (!people || business !== this.business || people.open === this.people?.open && people.opensAt === this.people?.opensAt) return;
    this.people = people;
    this.tell("businesses");
  }

  /// Sends a message; `key` stays the same when a failed attempt is repeated.
  send(id, body, key) {
    return this.api.change("POST", `${this.conversationPath(id)}/messages`, { ...body, person: this.me }, { "Idempotency-Key": key });
  }

  /// Checks a message without sending it; throws a `Problem` with all `problems`.
  check(id, body) {
    return this.api.change("POST", `${this.conversationPath(id)}/messages?dryRun=true`, { ...body, person: this.me }, { "Idempotency-Key": randomUUID() });
  }

  async upload(file, signal) {
    const answer = await this.api.send("POST", `${this.path}/attachments`, {
      body: file, signal, headers: { "Content-Type": "application/octet-stream" },
    });
    return answer.json();
  }
}

/// A random UUID, also on pages without TLS, on which `crypto.randomUUID` does not exist.
export function randomUUID() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("").replace(/^(.{8})(.{4})(.{4})(.{4})/u, "$1-$2-$3-$4-");
}
