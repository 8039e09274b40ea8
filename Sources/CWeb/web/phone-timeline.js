// The stages of every message, the newest first; at most 400 rows are in the document.
import { customerName, size, visible } from "./text.js";
import { button, element, fill, say } from "./dom.js";

const mostRows = 400;
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3 });

/// The names of the stages for people.
export const stageNames = {
  read: "Webhook", authenticate: "Token", inflate: "Inflate", envelope: "Envelope", journal: "Journal", resolve: "Resolve", decode: "Decode",
  record: "Record", fetch: "Fetch files", route: "Route", handle: "Handler", finish: "Finish", reply: "Gateway",
};

const isBad = (stage) => ["failed", "refused"].includes(stage.result) || Number(stage.status) >= 400;

/// A filter such as `kind:form stage:handle status:failed text:word`: a function that tells whether a stage fits.
export function matcher(filter, names = () => "", businesses = () => "") {
  const words = filter.toLowerCase().match(/(?:[a-z]+:)?"[^"]*"|\S+/gu) ?? [];
  const tests = words.map((word) => {
    const [, field, quoted] = /^(business|customer|kind|stage|status|text):(.*)$/u.exec(word) ?? [undefined, "text", word];
    const wanted = quoted.replaceAll('"', "");
    if (wanted === "") return () => true;
    const has = (value) => value !== undefined && value !== null && String(value).toLowerCase().includes(wanted);
    switch (field) {
      case "customer": return (stage) => has(stage.customer) || has(names(stage.customer));
      case "business": return (stage) => has(stage.business) || has(businesses(stage.business));
      case "status": return (stage) => has(stage.result) || has(stage.status) || (wanted === "failed" && isBad(stage));
      case "text": return (stage) => Object.values(stage).some(has) || has(names(stage.customer));
      default: return (stage) => has(stage[field]);
    }
  });
  return (stage) => tests.every((test) => test(stage));
}

export class Timeline {
  #session;
  #rows = element("ol", { class: "stages", "aria-label": "Stages, the newest first" });
  #filter = element("input", { type: "search", id: "filter", placeholder: "Filter, such as kind:form status:failed", "aria-label": "Filter: business: customer: kind: stage: status: text:", autocomplete: "off", spellcheck: "false", maxlength: 200 });
  #pause = button("Pause", { class: "secondary compact", "aria-pressed": "false" }, () => this.pause());
  #empty = element("div", { class: "empty" });
  #count = element("p", { class: "hint stage-count", role: "status" });
  #isPaused = false;
  #waiting = 0;
  #matches = () => true;
  #current = "";

  constructor(session) {
    this.#session = session;
    let timer = 0;
    this.#filter.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(() => this.#applyFilter(), 150); });
    this.#rows.addEventListener("keydown", (event) => this.#move(event));
    this.#rows.addEventListener("focusin", (event) => this.#rove(event.target));
    this.node = element("div", { class: "timeline" },
      element("header", { class: "pane-top" }, element("h2", { tabindex: -1 }, "Timeline"), this.#count,
        this.#pause, button("Clear", { class: "secondary compact" }, () => { session.clearStages(); this.#filter.focus(); })),
      element("div", { class: "pane-filter", role: "search" }, this.#filter),
      element("div", { class: "scroll stage-scroll" }, this.#empty, this.#rows));
    session.addEventListener("stages", ({ detail }) => (detail ? this.#add(detail) : this.#drawAll()));
    session.addEventListener("customers", () => this.#drawEmpty());
    this.#drawEmpty();
  }

  focus() { this.#filter.focus(); }

  pause() {
    this.#isPaused = !this.#isPaused;
    this.#pause.setAttribute("aria-pressed", String(this.#isPaused));
    say(this.#pause, this.#isPaused ? "Resume" : "Pause");
    if (!this.#isPaused) this.#drawAll();
    this.#drawEmpty();
  }

  /// Marks the rows of the delivery that the detail shows.
  mark(record) {
    this.#current = record === undefined ? "" : String(record);
    for (const row of this.#rows.children) this.#drawMark(row);
  }

  #drawMark(row) {
    const link = row.firstChild;
    if (this.#current && row.dataset.record === this.#current) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
  }

  #name = (id) => {
    const customer = this.#session.customers.find((one) => one.id === id);
    return id ? visible(customer?.name || customerName(id)) : "";
  };

  #applyFilter() {
    this.#matches = matcher(this.#filter.value, this.#name, (id) => {
      const business = this.#session.info.businesses.find((one) => one.id === id || one.slug === id);
      return business ? `${business.slug} ${business.name}` : "";
    });
    this.#drawAll();
  }

  #drawAll() {
    this.#waiting = 0;
    const found = [];
    const { stages } = this.#session;
    for (let index = stages.length - 1; index >= 0 && found.length < mostRows; index -= 1) {
      if (this.#matches(stages[index])) found.push(stages[index]);
    }
    fill(this.#rows, found.map((stage) => this.#row(stage)));
    this.#drawEmpty();
  }

  #add(stages) {
    if (this.#isPaused) {
      this.#waiting += stages.length;
      return this.#drawEmpty();
    }
    const rows = stages.slice(-mostRows).filter(this.#matches).reverse().map((stage) => this.#row(stage));
    this.#rows.prepend(...rows);
    while (this.#rows.childElementCount > mostRows) {
      // The focus stays in the list when its row leaves.
      if (this.#rows.lastChild.contains(document.activeElement)) this.#rows.firstChild.firstChild.focus();
      this.#rows.lastChild.remove();
    }
    return this.#drawEmpty();
  }

  #drawEmpty() {
    const hasRows = this.#rows.childElementCount > 0;
    this.#empty.hidden = hasRows;
    const all = this.#session.stages.length;
    if (!hasRows) {
      const [title, words] = all > 0 ? ["No stage fits the filter", "Shorten it, or clear it."] : ["No stages yet", "Write a message on the phone: each step of its way appears here, from the webhook to Apple's gateway."];
      if (this.#empty.dataset.title !== title) fill(this.#empty, element("p", { class: "empty-title" }, title), element("p", {}, words));
      this.#empty.dataset.title = title;
    }
    say(this.#count, this.#isPaused ? `Paused${this.#waiting ? `, ${this.#waiting} new` : ""}` : "");
    const first = this.#rows.firstChild?.firstChild;
    if (first && !this.#rows.querySelector('[tabindex="0"]')) first.setAttribute("tabindex", "0");
  }

  #row(stage) {
    const isFailed = isBad(stage);
    const attempt = stage.attempt > 1 ? ` ${stage.attempt}` : "";
    const facts = [stage.kind && visible(stage.kind), stage.status && `status ${stage.status}`, stage.bytes !== undefined && size(stage.bytes)].filter(Boolean).join(" · ");
    const content = [
      element("time", { class: "stage-time", datetime: stage.at }, this.#time(stage.at)),
      element("span", { class: "stage-name" }, (stageNames[stage.stage] ?? visible(stage.stage ?? "")) + attempt),
      (stage.result !== "done" || stage.reason) && element("span", { class: "stage-result", dir: "auto" }, [stage.result, stage.reason].filter(Boolean).map((one) => visible(one)).join(": ")),
      facts && element("span", { class: "stage-facts" }, facts),
      element("span", { class: "stage-time stage-ms", dir: "ltr" }, Number.isFinite(stage.ms) ? `${stage.ms < 10 ? stage.ms.toFixed(1) : Math.round(stage.ms)} ms` : ""),
    ];
    const record = stage.delivery ?? stage.record;
    const inside = record === undefined
      ? element("span", { class: "stage", tabindex: -1 }, content)
      : element("a", { class: "stage", tabindex: -1, href: `#/d/${record}` }, content);
    const row = element("li", { class: isFailed ? "bad" : null, "data-record": record }, inside);
    if (this.#current) this.#drawMark(row);
    return row;
  }

  #time(at) {
    const date = new Date(at);
    return Number.isNaN(date.getTime()) ? "" : clock.format(date);
  }

  /// One row of the list is in the order of the Tab key; the arrow keys move it.
  #rove(target) {
    const stage = target.closest(".stage");
    if (!stage) return;
    for (const one of this.#rows.querySelectorAll('[tabindex="0"]')) one.setAttribute("tabindex", "-1");
    stage.setAttribute("tabindex", "0");
  }

  #move(event) {
    const row = event.target.closest("li");
    const next = { ArrowDown: row?.nextSibling, ArrowUp: row?.previousSibling, Home: this.#rows.firstChild, End: this.#rows.lastChild }[event.key];
    if (!next) return;
    event.preventDefault();
    next.firstChild.focus();
  }
}
