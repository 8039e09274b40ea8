// One story for each message, the newest at the end: what it is, how it ended, and its stages inside; at most 200 are in the document.
import { isTyping, kindName, summary } from "./bubbles.js";
import { button, element, fill, markCurrent, moveFocus, refill, say } from "./dom.js";
import { EndKeeper } from "./frame.js";
import { customerName, size, visible } from "./text.js";

const mostRows = 200;
const mostStories = 2_000;
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/// The names of the stages for people.
const stageNames = {
  read: "Webhook", authenticate: "Token", inflate: "Inflate", envelope: "Envelope", journal: "Journal", resolve: "Resolve", decode: "Decode",
  record: "Record", fetch: "Fetch files", route: "Route", handle: "Handler", finish: "Finish", reply: "Gateway",
};

const isBad = (stage) => ["failed", "refused"].includes(stage.result) || Number(stage.status) >= 400;

/// A filter such as `kind:form stage:handle status:failed text:word`: a function that tells whether a stage fits.
function matcher(filter, names, businesses, words) {
  const parts = filter.toLowerCase().match(/(?:[a-z]+:)?"[^"]*"|\S+/gu) ?? [];
  const tests = parts.map((word) => {
    const [, field, quoted] = /^(business|customer|kind|stage|status|text):(.*)$/u.exec(word) ?? [undefined, "text", word];
    const wanted = quoted.replaceAll('"', "");
    if (wanted === "") return () => true;
    const has = (value) => value !== undefined && value !== null && String(value).toLowerCase().includes(wanted);
    switch (field) {
      case "customer": return (stage) => has(stage.customer) || has(names(stage.customer));
      case "business": return (stage) => has(stage.business) || has(businesses(stage.business));
      case "status": return (stage) => has(stage.result) || has(stage.status) || (wanted === "failed" && isBad(stage));
      case "text": return (stage) => Object.values(stage).some(has) || has(names(stage.customer)) || has(words(stage.message));
      default: return (stage) => has(stage[field]);
    }
  });
  return (stage) => tests.every((test) => test(stage));
}

/// The advice about a failure, by the stage where it happened.
const advice = {
  read: "The request breaks a limit of the server.",
  authenticate: "Compare the MSP ID and the secret of the server with those of the sender.",
  inflate: "The body is not what its headers say.",
  envelope: "Compare the headers and the body with Apple's format.",
  journal: "The message is not stored: look at the server's log.",
  resolve: "The content of a large message did not arrive: look at the gateway's answers.",
  fetch: "A file did not arrive: look at the gateway's answers.",
  handle: "The log lines of the attempt say why. Correct the handler, then replay the message.",
  finish: "The log lines of the last attempt say why. Correct the handler, then replay the message.",
  reply: "The delivery has the gateway's answer, and the rules that the reply breaks beside its lines.",
  payment: "The device shows a failure, and the server asks the handler to reverse the charge. Answer a payment within 30 seconds.",
};

/// The results that end a delivery without an answer of the handler.
const ends = {
  unhandled: "No answer", withPerson: "With a person", handedOff: "Handed to a person", repeated: "Repeated, ignored", dropped: "Dropped", rejected: "Rejected by the handler", erased: "Erased",
};
const uncertain = new Set(["uncertain", "pending", "reversing", "reversed", "unreversed"]);

/// How a message ended: `{words, tone, at}` with the tone `good`, `late`, `bad` or empty; `at` is the stage to look at.
function endOf(stages) {
  const end = endWithoutRepeats(stages);
  const repeats = stages.filter((stage) => stage.result === "duplicate").length;
  return repeats === 0 || end.tone === "bad" ? end : { ...end, words: end.words === "…" ? "Repeated, ignored" : `${end.words}; ${repeats} ${repeats === 1 ? "repeat" : "repeats"} ignored` };
}

function endWithoutRepeats(stages) {
  const last = (test) => stages.findLast(test);
  const bad = (words, at) => ({ words, tone: "bad", at });
  const late = (words, at) => ({ words, tone: "late", at });
  // A reply that failed once and was accepted later is accepted.
  const replies = [...new Map(stages.filter((stage) => stage.stage === "reply").map((stage) => [stage.message, stage])).values()];
  const lost = replies.find(isBad);
  const finish = last((stage) => stage.stage === "finish");
  const handle = last((stage) => stage.stage === "handle");
  const refused = stages.find((stage) => stage.stage !== "reply" && stage.result === "refused");
  const payment = last((stage) => uncertain.has(stage.payment));
  const waiting = replies.find((stage) => stage.result === "postponed" || stage.result === "released");
  if (lost) return bad("Reply not accepted", lost);
  if (refused) return bad("Refused", refused);
  if (finish && isBad(finish)) return bad("Handler failed", handle && isBad(handle) ? handle : finish);
  if (payment) return bad(`Payment ${payment.payment}`, { ...payment, stage: "payment", reason: undefined });
  if (waiting) return late("Reply waits, is tried again", waiting);
  if (!finish && handle && handle.result !== "done") return late("Handler is tried again", handle);
  const failed = stages.find((stage) => stage.stage !== "reply" && isBad(stage));
  if (!finish && failed) return bad("Failed", failed);
  if (finish?.result === "ended") return { words: ends[finish.reason] ?? finish.reason, tone: "" };
  const answers = replies.filter((stage) => !isTyping(stage)).length;
  const again = stages.find((stage) => stage.attempt > 1) ? " after a retry" : "";
  if (answers > 0) return { words: finish ? `Answered${again}` : `Sent${again}`, tone: again ? "late" : "good" };
  if (finish) return { words: "Handled", tone: "" };
  return { words: "…", tone: "" };
}

/// The tone of a stage's row.
export const stageTone = (stage) => (isBad(stage) ? "bad" : stage.result === "postponed" ? "late" : null);

/// The parts of a stage's row; `words` are those of a reply.
export function stageContent(stage, words) {
  const isReply = stage.stage === "reply";
  const facts = [isReply && (words || kindName(stage.kind)), stage.status && `status ${stage.status}`, (isReply || stage.stage === "decode") && stage.bytes !== undefined && size(stage.bytes)].filter(Boolean).join(" · ");
  return [
    element("span", { class: "stage-name" }, (stageNames[stage.stage] ?? visible(stage.stage ?? "")) + (stage.attempt > 1 ? ` ${stage.attempt}` : "")),
    (stage.result !== "done" || stage.reason) && element("span", { class: "stage-result", dir: "auto" }, [stage.result, stage.reason].filter(Boolean).map((one) => visible(one)).join(": ")),
    facts && element("span", { class: "stage-facts", dir: "auto" }, facts),
    element("span", { class: "stage-ms", dir: "ltr" }, duration(stage.ms)),
  ];
}

/// The time from the begin of the first stage to the end of the last one.
function total(stages) {
  const passed = Date.parse(stages.at(-1).at) - Date.parse(stages[0].at) + (stages[0].ms ?? 0);
  return Number.isFinite(passed) && passed >= 0 ? duration(passed) : "";
}

/// A duration in milliseconds for people; empty when there is none.
export function duration(ms) {
  if (!Number.isFinite(ms)) return "";
  return ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export class Timeline {
  #session;
  #rows = element("ol", { class: "stories", "aria-label": "Messages, the newest at the end" });
  #filter = element("input", { type: "search", id: "filter", placeholder: "Filter, such as kind:form status:failed", "aria-label": "Filter: business: customer: kind: stage: status: text:", autocomplete: "off", spellcheck: "false", maxlength: 200 });
  #newer = button("", { class: "primary compact newer", hidden: true }, () => { this.#drawAll(); this.#end.toEnd(); });
  #empty = element("div", { class: "empty" });
  #scroll = element("div", { class: "scroll stage-scroll" }, this.#empty, this.#rows);
  #end = new EndKeeper(this.#scroll, this.#rows, { hasLateHeights: true, reached: () => { if (this.#waiting > 0) this.#drawAll(); } });
  /// The stories in their order, and by the keys of their stages.
  #stories = [];
  #byKey = new Map();
  /// The words of the messages of every thread that the page has read, by the message's identifier.
  #words = new Map();
  #waiting = 0;
  #matches = () => true;
  #current = "";

  constructor(session) {
    this.#session = session;
    let timer = 0;
    this.#filter.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => this.#applyFilter(), 150); });
    this.#rows.addEventListener("keydown", (event) => moveFocus(event, [...this.#rows.querySelectorAll(".story-head, .stage")]));
    this.#rows.addEventListener("focusin", (event) => this.#rove(event.target));
    this.node = element("div", { class: "timeline" },
      element("header", { class: "pane-top" }, element("h2", { tabindex: -1 }, "Timeline"),
        button("Clear", { class: "secondary compact" }, () => { session.clearStages(); this.#filter.focus(); })),
      element("div", { class: "pane-filter", role: "search" }, this.#filter), this.#scroll, this.#newer);
    session.addEventListener("stages", ({ detail }) => (detail ? this.#add(detail) : this.#readAll()));
    session.addEventListener("customers", () => this.#drawHeads());
    session.addEventListener("thread", () => this.#learn());
    this.#readAll();
  }

  focus() { this.#filter.focus(); }

  /// Marks the stories of the delivery that the detail shows.
  mark(record) {
    this.#current = record === undefined ? "" : String(record);
    for (const story of this.#stories) this.#drawMark(story);
  }

  #drawMark(story) {
    if (story.row) markCurrent(story.row.head, this.#current !== "" && String(story.record) === this.#current);
  }

  #name = (id) => {
    const customer = this.#session.customers.find((one) => one.id === id);
    return id ? visible(customer?.name || customerName(id)) : "";
  };

  // The stories

  /// Adds a stage to the story of its message. The stages before the journal know only the message, a reply only the delivery, and
  /// a refused request only its reference.
  #tell(stage) {
    const record = stage.delivery ?? stage.record;
    const keys = [record !== undefined && `d${record}`, stage.message && stage.stage !== "reply" && `m${stage.message}`, stage.reference && !stage.message && `r${stage.reference}`].filter(Boolean);
    let story = keys.map((key) => this.#byKey.get(key)).find(Boolean);
    if (!story) {
      story = { stages: [], keys: new Set() };
      this.#stories.push(story);
      if (this.#stories.length > mostStories * 1.1) for (const old of this.#stories.splice(0, this.#stories.length - mostStories)) this.#forget(old);
    }
    story.stages.push(stage);
    story.record ??= record;
    story.customer ??= stage.customer;
    if (stage.kind && (stage.stage !== "reply" || !story.kind)) story.kind = stage.kind;
    for (const key of keys) { story.keys.add(key); this.#byKey.set(key, story); }
    return this.#foldTyping(story);
  }

  #forget(story) {
    for (const key of story.keys) if (this.#byKey.get(key) === story) this.#byKey.delete(key);
    story.row?.node.remove();
  }

  /// Typing that follows typing of the same customer is one story.
  #foldTyping(story) {
    if (!isTyping(story) || !story.customer) return story;
    const before = this.#stories[this.#stories.lastIndexOf(story) - 1];
    if (!before || !isTyping(before) || before.customer !== story.customer) return story;
    before.stages.push(...story.stages);
    this.#stories.splice(this.#stories.lastIndexOf(story), 1);
    this.#forget(story);
    for (const key of story.keys) { before.keys.add(key); this.#byKey.set(key, before); }
    return before;
  }

  /// Learns the words of the messages that the phone shows.
  #learn() {
    let isNew = false;
    for (const entry of [...this.#session.entries, ...this.#session.pending]) {
      if (this.#words.has(entry.id)) continue;
      this.#words.set(entry.id, summary({ ...entry.line, kind: entry.kind }));
      isNew = true;
    }
    if (isNew) this.#drawHeads();
  }

  // Drawing

  #applyFilter() {
    const filter = matcher(this.#filter.value, this.#name, (id) => {
      const business = this.#session.info.businesses.find((one) => one.id === id || one.slug === id);
      return business ? `${business.slug} ${business.name}` : "";
    }, (id) => this.#words.get(id));
    this.#matches = (story) => story.stages.some(filter);
    this.#drawAll();
  }

  #readAll() {
    for (const story of this.#stories) story.row?.node.remove();
    this.#stories = [];
    this.#byKey = new Map();
    for (const stage of this.#session.stages) this.#tell(stage);
    this.#drawAll();
  }

  #drawAll() {
    this.#waiting = 0;
    const shown = [];
    for (let index = this.#stories.length - 1; index >= 0 && shown.length < mostRows; index -= 1) {
      if (this.#matches(this.#stories[index])) shown.unshift(this.#stories[index]);
    }
    const kept = new Set(shown);
    for (const story of this.#stories) {
      story.isWaiting = false;
      if (!kept.has(story)) story.row = undefined;
    }
    fill(this.#rows, shown.map((story) => this.#draw(story)));
    this.#drawState();
    if (this.#end.isAtEnd) this.#end.toEnd();
  }

  #add(stages) {
    const told = new Set(stages.map((stage) => this.#tell(stage)));
    for (const story of told) {
      if (story.row) this.#draw(story);
      else if (this.#byKey.get([...story.keys][0]) !== story || !this.#matches(story)) continue;
      else if (this.#end.isAtEnd) this.#rows.append(this.#draw(story));
      else if (!story.isWaiting) { story.isWaiting = true; this.#waiting += 1; }
    }
    while (this.#end.isAtEnd && this.#rows.childElementCount > mostRows) {
      const first = this.#rows.firstChild;
      // The focus stays in the list when its row leaves.
      if (first.contains(document.activeElement)) this.#rows.lastChild.querySelector(".story-head").focus();
      const story = this.#stories.find((one) => one.row?.node === first);
      if (story) story.row = undefined;
      first.remove();
    }
    this.#drawState();
    if (this.#end.isAtEnd) this.#end.toEnd();
  }

  #drawHeads() {
    for (const story of this.#stories) if (story.row) this.#draw(story);
    this.#drawState();
  }

  #drawState() {
    const hasRows = this.#rows.childElementCount > 0;
    this.#empty.hidden = hasRows;
    if (!hasRows) {
      const [title, words] = this.#stories.length > 0 ? ["No message fits the filter", "Shorten it, or clear it."] : ["Nothing happened yet", "Write a message on the phone: its way appears here, from the webhook to Apple's gateway."];
      refill(this.#empty, title, () => [element("p", { class: "empty-title" }, title), element("p", {}, words)]);
    }
    this.#newer.hidden = this.#waiting === 0;
    say(this.#newer, `${this.#waiting} newer`);
    const first = this.#rows.lastChild?.querySelector(".story-head");
    if (first && !this.#rows.querySelector('[tabindex="0"]')) first.setAttribute("tabindex", "0");
  }

  /// Draws what has changed of a story, and returns its row.
  #draw(story) {
    const { stages } = story;
    const end = endOf(stages);
    if (!story.row) {
      const row = { time: element("time", { class: "story-time" }), title: element("span", { class: "story-title", dir: "auto" }), end: element("span", { class: "story-end" }), ms: element("span", { class: "story-time story-ms", dir: "ltr" }), advice: element("p", { class: "story-advice" }), list: element("ol", { class: "stages" }) };
      row.head = element("summary", { class: "story-head", tabindex: -1 }, row.time, row.title, row.end, row.ms);
      row.details = element("details", { on: { toggle: () => this.#drawStages(story) } }, row.head, row.list);
      row.node = element("li", { class: "story" }, row.details, row.advice);
      story.row = row;
      story.isWaiting = false;
    }
    const { row } = story;
    row.node.className = `story ${end.tone}`.trim();
    if (story.record !== undefined) row.node.dataset.record = story.record;
    say(row.time, this.#time(stages[0].at));
    say(row.title, this.#title(story));
    const isQuiet = isTyping(story) && !end.tone;
    say(row.end, isQuiet ? "" : end.words);
    say(row.ms, isQuiet ? "" : total(stages));
    const facts = end.tone && end.at ? [[end.at.reason, !end.at.reason && end.at.status && `status ${end.at.status}`].find(Boolean), advice[end.at.stage]].filter(Boolean).map((one) => visible(one)) : [];
    refill(row.advice, [facts, story.record], () => facts.length > 0 && [facts.map((one) => `${sentence(one)} `), story.record !== undefined && element("a", { href: `#/d/${story.record}`, "aria-label": `Show delivery ${story.record}` }, "Show the delivery")]);
    row.advice.hidden = facts.length === 0;
    this.#drawMark(story);
    this.#drawStages(story);
    return row.node;
  }

  #title(story) {
    const own = story.stages.find((stage) => stage.stage !== "reply") ?? story.stages[0];
    const who = own.stage === "reply" ? "Business" : this.#name(story.customer);
    if (isTyping(story)) return `${who} typed`;
    if (!story.kind && !own.message) return "A request to the webhook";
    return `${who ? `${who}: ` : ""}${this.#words.get(own.message) || kindName(story.kind)}`;
  }

  /// The stages are in the document while their story is open.
  #drawStages({ stages, row }) {
    if (!row.details.open) return fill(row.list);
    if (row.list.childElementCount > stages.length) fill(row.list);
    return row.list.append(...stages.slice(row.list.childElementCount).map((stage) => this.#stage(stage)));
  }

  #stage(stage) {
    const record = stage.delivery ?? stage.record;
    const content = stageContent(stage, this.#words.get(stage.message));
    return element("li", { class: stageTone(stage) }, record === undefined
      ? element("span", { class: "stage", tabindex: -1 }, content)
      : element("a", { class: "stage", tabindex: -1, href: `#/d/${record}` }, content));
  }

  #time(at) {
    const date = new Date(at);
    return Number.isNaN(date.getTime()) ? "" : clock.format(date);
  }

  /// One row of the list is in the order of the Tab key; the arrow keys move it.
  #rove(target) {
    const row = target.closest(".stage, .story-head");
    if (!row) return;
    for (const one of this.#rows.querySelectorAll('[tabindex="0"]')) one.setAttribute("tabindex", "-1");
    row.setAttribute("tabindex", "0");
  }
}

function sentence(text) { return `${text[0].toUpperCase()}${text.slice(1)}${/[.!?]$/u.test(text) ? "" : "."}`; }
