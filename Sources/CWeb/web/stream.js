// Follows the server's events: all tabs of a browser share one connection, which resumes after the last received event.
import { Problem } from "./api.js";

/// The server sends a comment every 15 seconds, so a longer silence means that the connection is dead.
const silence = 40_000;
const longestPause = 15_000;
const rememberedKeys = 2_000;

/// The state of a page, which follows the server's events and tells the page of each change. A subclass has `receive(event, type)`
/// for an event and `reload()`, which reads everything. A tab that does not connect is told the `history` of the one that does.
export class LiveState extends EventTarget {
  /// `connecting`, `open`, `lost` or `refused`.
  connection = "connecting";
  #lastID = "";
  #isLeader = false;
  #hasOpened = false;
  #keys = new Set();
  #path;
  #name;
  #channel;
  #stopping = new AbortController();
  #wake = () => {};

  constructor(api, { path = "/v1/events", name = "inbox" } = {}) {
    super();
    this.api = api;
    this.#path = path;
    this.#name = name;
  }

  /// Aborted when the state ends.
  get signal() { return this.#stopping.signal; }

  tell(type, detail) { this.dispatchEvent(new CustomEvent(type, { detail })); }

  /// Tells the page the sentence of an error.
  fail = (error) => this.tell("failed", error.message);

  /// Connects. A browser opens at most six connections to a server, so only one tab connects and tells the others. A
  /// page without TLS from another machine may not use `navigator.locks`; then each tab connects.
  follow() {
    addEventListener("online", () => this.#wake(), { signal: this.signal });
    if (!navigator.locks || !window.BroadcastChannel) {
      void this.#run();
      return;
    }
    const name = `balloon-${this.#name}-${this.api.tag}`;
    this.#channel = new BroadcastChannel(name);
    this.#channel.addEventListener("message", ({ data }) => this.#hear(data));
    this.#channel.postMessage({ ask: true });
    navigator.locks.request(name, { signal: this.signal }, () => this.#run()).catch(() => {});
  }

  end() {
    this.#stopping.abort();
    this.#channel?.close();
  }

  #hear(message) {
    if (message.ask && this.#isLeader) this.#share({ state: this.connection, id: this.#lastID, history: this.history });
    if (this.#isLeader) return;
    if (message.id) this.#lastID = message.id;
    if (message.history) this.history = message.history;
    this.#hasOpened ||= message.state === "open";
    if (message.state && message.state !== this.connection) this.#change(message.state);
    if (message.event) this.#deliver(message.event, message.type);
    if (message.missed) this.#readAgain();
  }

  #share(message) {
    if (this.#isLeader) this.#channel?.postMessage(message);
  }

  #change(state, problem) {
    const wasOpen = this.connection === "open";
    this.connection = state;
    this.#share({ state });
    this.tell("connection", problem);
    if (state === "open" && !wasOpen) this.#readAgain();
  }

  #readAgain() { this.reload().catch(this.fail); }

  #deliver(event, type) {
    if (event.key) {
      if (this.#keys.has(event.key)) return;
      this.#keys.add(event.key);
      if (this.#keys.size > rememberedKeys) this.#keys.delete(this.#keys.values().next().value);
    }
    this.receive(event, type);
  }

  #miss() {
    this.#share({ missed: true });
    this.#readAgain();
  }

  async #run() {
    this.#isLeader = true;
    let pause = 500;
    while (!this.signal.aborted) {
      try {
        await this.#connect();
        pause = 500;
      } catch (error) {
        if (this.signal.aborted) return;
        if (error instanceof Problem && error.status !== 0 && error.status < 500 && error.status !== 429) {
          this.#change("refused", error);
          return;
        }
        if (error instanceof Problem) pause = Math.max(pause, error.retryAfter * 1000);
      }
      if (this.signal.aborted) return;
      if (this.connection !== "lost") this.#change("lost");
      await new Promise((resolve) => {
        this.#wake = resolve;
        setTimeout(resolve, pause * (0.75 + Math.random() / 2));
      });
      pause = Math.min(pause * 1.6, longestPause);
    }
  }

  async #connect() {
    const attempt = new AbortController();
    const stop = () => attempt.abort();
    this.signal.addEventListener("abort", stop);
    let timer = setTimeout(stop, silence);
    try {
      const answer = await this.api.send("GET", this.#path, {
        signal: attempt.signal,
        headers: { Accept: "text/event-stream", ...(this.#lastID ? { "Last-Event-ID": this.#lastID } : {}) },
      });
      // Without the id of an event to resume after, events during the interruption are missed.
      const mustReadAgain = this.#hasOpened && !this.#lastID;
      this.#hasOpened = true;
      this.#change("open");
      if (mustReadAgain) this.#miss();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(stop, silence);
        const blocks = (rest + value.replaceAll("\r", "")).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) this.#read(block);
      }
    } finally {
      clearTimeout(timer);
      stop();
      this.signal.removeEventListener("abort", stop);
    }
  }

  #read(block) {
    let [type, data, id] = ["", "", ""];
    for (const line of block.split("\n")) {
      if (line.startsWith("id:")) id = line.slice(3).trim();
      if (line.startsWith("event:")) type = line.slice(6).trim();
      if (line.startsWith("data:")) data += line.slice(5).trim();
    }
    if (type === "stream.reset" || type === "reset") {
      this.#miss();
    } else if (data) {
      let event;
      try { event = JSON.parse(data); } catch { event = undefined; }
      if (event) {
        this.#share({ event, type });
        this.#deliver(event, type);
      }
    }
    // The id is stored after the event is handled, so that an interruption before that repeats the event.
    if (id && id !== this.#lastID) {
      this.#lastID = id;
      this.#share({ id });
    }
  }
}
