// The state of the page: customers, the thread of the chosen one, and the stages. Changes are dispatched as events.
import { recall, remember } from "./dom.js";
import { LiveState } from "./stream.js";
import { visible } from "./text.js";

const mostEntries = 400;
const mostStages = 10_000;
const pageLength = 200;
const stagePause = 50;

/// The levers as they are when nothing was changed; only differences are sent.
export const noLevers = { payload: "auto", times: 1, devices: 1, token: "valid", order: "given", delayMilliseconds: 0 };

/// The sentence about the first post that the webhook refused; undefined when it accepted all.
export function refusalOf(answer) {
  const post = answer?.posts?.find((one) => one.status !== 200);
  return post && `The webhook answered ${post.status}${post.body ? `: ${visible(post.body).slice(0, 200)}` : ""}`;
}

/// Dispatches `customers`, `thread`, `typing`, `answered` (detail: the choice), `stages` (detail: the new ones; none: all), `rules`, `connection` and `failed`
/// (detail: a sentence).
export class Session extends LiveState {
  info = { version: "", businesses: [], devices: [], misbehaviour: [], endpoints: [] };
  customers = [];
  selected = "";
  entries = [];
  /// The replies that are decided and not yet sent; only the journal has them.
  pending = [];
  hasEarlier = false;
  isTyping = false;
  isLoading = false;
  stages = [];
  levers = { ...noLevers };
  #next = 0;
  #generation = 0;
  #typingEvents = 0;
  #isReading = false;
  #mustReadAgain = false;

  constructor(api) { super(api, { path: "/dev/v1/events", name: "inspector" }); }

  get customer() { return this.customers.find((one) => one.id === this.selected); }

  businessOf(customer) { return this.info.businesses.find((one) => one.slug === customer?.business); }

  get path() { return `/dev/v1/customers/${encodeURIComponent(this.selected)}`; }

  /// Reads what the server is; throws a `Problem`.
  async begin() {
    await this.reload();
    this.follow();
  }

  get history() { return this.stages; }

  set history(stages) {
    this.stages = stages;
    this.tell("stages");
  }

  /// Reads everything again.
  async reload() {
    const [info, { customers }] = await Promise.all([this.api.read("/dev/v1"), this.api.read("/dev/v1/customers")]);
    Object.assign(this.info, info);
    // Only a customer can begin a conversation, so that a phone without one would be of no use.
    if (customers.length === 0 && info.devices.length > 0 && info.businesses.length > 0) {
      customers.push(await this.api.change("POST", "/dev/v1/customers", { business: info.businesses[0].slug, zone: Intl.DateTimeFormat().resolvedOptions().timeZone }));
    }
    this.customers = customers;
    const wanted = this.selected || recall("customer");
    this.selected = (customers.find((one) => one.id === wanted) ?? customers[0])?.id ?? "";
    this.tell("customers");
    await this.readThread();
  }

  choose(id) {
    remember("customer", id);
    this.#select(id);
    this.tell("customers");
    this.tell("thread");
    return this.readThread().catch(this.fail);
  }

  /// Selects a customer whose thread is not read yet.
  #select(id) {
    this.selected = id;
    this.entries = [];
    this.pending = [];
    this.#next = 0;
    this.#generation += 1;
    this.hasEarlier = false;
    this.isTyping = false;
  }

  // The thread

  /// Reads what is new in the thread; a call during a reading is made after it.
  async readThread() {
    if (!this.selected) return this.tell("thread");
    if (this.#isReading) { this.#mustReadAgain = true; return undefined; }
    this.#isReading = true;
    const generation = this.#generation;
    const typingEvents = this.#typingEvents;
    this.isLoading = this.entries.length === 0;
    this.tell("thread");
    try {
      const answer = await this.api.read(`${this.path}/phone?after=${this.#next}&wait=0&limit=${pageLength}`);
      if (generation === this.#generation) {
        if (this.#next === 0) this.hasEarlier = answer.thread.length > 0 && answer.thread[0].seq > 1;
        // A server that forgot its customers counts again from the beginning.
        if (answer.next < this.#next) { this.#next = 0; this.entries = []; this.#mustReadAgain = true; }
        this.#merge(answer.thread);
        const sent = new Set(this.entries.filter((one) => one.direction === "outbound").map((one) => one.id));
        this.pending = (answer.pending ?? []).filter((one) => !sent.has(one.id)).map((one) => ({ ...one, seq: `queued ${one.id}` }));
        this.#next = Math.max(this.#next, answer.next ?? 0);
        // An event that came during the reading is newer than its answer, or another one follows.
        if (typingEvents === this.#typingEvents) this.isTyping = answer.typing === true;
        if (answer.thread.length >= pageLength && answer.thread.at(-1).seq < answer.next) this.#mustReadAgain = true;
      }
    } finally {
      this.#isReading = false;
      this.isLoading = false;
      if (this.#mustReadAgain || generation !== this.#generation) {
        this.#mustReadAgain = false;
        await this.readThread();
      } else {
        this.tell("thread");
      }
    }
    return undefined;
  }

  async readEarlier() {
    const first = this.entries[0]?.seq;
    if (!first) return;
    const answer = await this.api.read(`${this.path}/phone?before=${first}&limit=${pageLength}`);
    this.hasEarlier = answer.thread.length > 0 && answer.thread[0].seq > 1;
    this.#merge(answer.thread, true);
    this.tell("thread");
  }

  #merge(found, isEarlier = false) {
    const bySeq = new Map(this.entries.map((one) => [one.seq, one]));
    for (const one of found) bySeq.set(one.seq, one);
    const sorted = [...bySeq.values()].sort((a, b) => a.seq - b.seq);
    // The newest answer to each question; another page, or a program, may have given it.
    const answers = new Map(sorted.filter((one) => one.answers).map((one) => [one.answers, one]));
    const all = sorted.map((one) => (answers.has(one.id) ? { ...one, answered: true, answer: answers.get(one.id) } : one));
    this.entries = isEarlier ? all.slice(0, mostEntries) : all.slice(-mostEntries);
    if (!isEarlier && all.length > mostEntries) this.hasEarlier = true;
  }

  // Events

  receive(event, type) {
    switch (type) {
      case "stage": this.#addStage(event); break;
      case "phone":
        if (event.customer === this.selected) this.readThread().catch(this.fail);
        else if (!this.customers.some((one) => one.id === event.customer)) this.#readCustomers().catch(this.fail);
        break;
      case "typing":
        if (event.customer !== this.selected) return;
        this.#typingEvents += 1;
        this.isTyping = event.typing === true;
        this.tell("typing");
        break;
      case "gateway":
        // A rule can have been for this answer only.
        if (this.info.misbehaviour.length > 0) this.#readRules().catch(this.fail);
        this.readThread().catch(this.fail);
        break;
      default:
    }
  }

  async #readRules() {
    this.info.misbehaviour = (await this.api.read("/dev/v1/misbehaviour")).rules;
    this.tell("rules");
  }

  async #readCustomers() {
    this.customers = (await this.api.read("/dev/v1/customers")).customers;
    if (!this.selected && this.customers[0]) return this.choose(this.customers[0].id);
    return this.tell("customers");
  }

  #fresh = [];

  /// Stages are told twenty times a second: thousands can come in one.
  #addStage(stage) {
    this.stages.push(stage);
    if (this.stages.length > mostStages * 1.1) this.stages.splice(0, this.stages.length - mostStages);
    if (this.#fresh.push(stage) > 1) return;
    setTimeout(() => this.tell("stages", this.#fresh.splice(0)), stagePause);
  }

  clearStages() { this.history = []; }

  // Actions of the customer

  get changedLevers() {
    const changed = Object.entries(this.levers).filter(([name, value]) => value !== noLevers[name]);
    return changed.length > 0 ? { levers: Object.fromEntries(changed) } : {};
  }

  /// Posts a message to the webhook, as Apple would.
  async post(body) { return this.#posted(await this.api.change("POST", `${this.path}/messages`, { ...body, ...this.changedLevers })); }

  /// Posts the answer to a message.
  async answer(to, choice) {
    const answer = await this.api.change("POST", `${this.path}/answers`, { to, choice, ...this.changedLevers });
    // A play signs in as the same user, the letters and digits of the name.
    const isSignIn = choice.outcome && this.entries.find((one) => one.id === to)?.kind === "authentication";
    const user = (this.customer?.name ?? "").toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, "");
    return this.#answered(to, answer, { ...choice, ...(isSignIn && user && { user }) });
  }

  /// The selections of the customer at the open payment sheet.
  #selected = {};

  /// Selects something at the payment sheet of a message, or pays; the server plays the device at its own endpoints.
  async pay(to, body) {
    const answer = await this.api.change("POST", `${this.path}/payments`, { to, ...body, ...this.changedLevers });
    if (!body.pay) {
      const { country, shippingMethod } = body.select ?? {};
      this.#selected = body.select ? { ...this.#selected, ...(country && { country }), ...(shippingMethod && { shippingMethod }) } : {};
    }
    if (!answer.posts) return answer;
    return this.#answered(to, answer, { outcome: body.pay, ...this.#selected });
  }

  /// Marks an answered message before its answer is in the thread.
  #answered(to, answer, choice) {
    if (answer.posts?.some((one) => one.status === 200)) this.entries = this.entries.map((one) => (one.id === to ? { ...one, answered: true } : one));
    this.tell("answered", { ids: (answer.posts ?? []).map((one) => one.id), choice });
    this.tell("thread");
    return this.#posted(answer);
  }

  #posted(answer) {
    this.readThread().catch(this.fail);
    return answer;
  }

  /// Streams a large file to the server, which keeps it for one message.
  async keepFile(file) {
    const answer = await this.api.send("PUT", "/dev/v1/files", { body: file, headers: { "Content-Type": "application/octet-stream" } });
    return (await answer.json()).file;
  }

  async download(id, index) {
    const answer = await this.api.send("GET", `${this.path}/messages/${encodeURIComponent(id)}/attachments/${index}`);
    return answer.blob();
  }

  async addCustomer(profile) {
    const made = await this.api.change("POST", "/dev/v1/customers", profile);
    this.customers = [...this.customers.filter((one) => one.id !== made.id), made];
    await this.choose(made.id);
  }

  async changeCustomer(profile) {
    const changed = await this.api.change("PUT", this.path, profile);
    this.customers = this.customers.map((one) => (one.id === this.selected ? { ...one, ...profile, ...changed } : one));
    this.tell("customers");
    this.tell("thread");
  }

  /// Forgets customers and stages; files stay.
  async reset() {
    await this.api.change("POST", "/dev/v1/reset", {});
    this.#select("");
    this.clearStages();
    await this.reload();
  }
}
