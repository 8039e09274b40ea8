// The phone: the business at the top, bubbles, typing dots, and the field for a message.
import { fileRow, isShown, summary, typingDots } from "./bubbles.js";
import { arrange, button, element, fill, icon, refill, say, whenNeeded } from "./dom.js";
import { EndKeeper } from "./frame.js";
import { deviceContent, nameOf, opensSheet } from "./phone-bubbles.js";
import { refusalOf } from "./phone-session.js";
import { dayOf, size, visible, when } from "./text.js";

const longPress = 450;

/// The words for levers whose names are no words.
const leverNames = { payload: "content", delayMilliseconds: "delay in ms" };

/// The status of a business's message. Apple never says that a message was delivered.
const statusText = { queued: "Being sent…", waiting: "Queued; tried", accepted: "Accepted by Apple", failed: "Not accepted" };

/// The module for files, reactions and the end of a conversation, which is loaded with the first of them.
const extras = () => whenNeeded(() => import("./phone-extras.js"), "phone-sheets.css");

export class PhoneScreen {
  #session;
  #rows = new Map();
  #name = element("h2", { class: "contact-name", tabindex: -1, dir: "auto" });
  #avatar = element("span", { class: "avatar", "aria-hidden": "true" });
  #handler = element("p", { class: "contact-handler" });
  #lines = element("div", { class: "lines", role: "log", "aria-label": "Messages" });
  #earlier = button("Earlier messages", { class: "plain more", hidden: true }, () => void this.#readEarlier());
  #empty = element("div", { class: "empty" }, element("p", { class: "empty-title" }, "You are the customer"), element("p", {}, "Only a customer begins a conversation. Write “hi”, and the business answers here."),
    button("Write “hi”", { class: "chip tap" }, () => { this.#text.value = "hi"; this.#text.focus(); void this.#sendText(); }));
  #typing = typingDots();
  #status = element("p", { class: "visually-hidden", role: "status" });
  #scroll = element("div", { class: "thread-scroll scroll", tabindex: 0, "aria-label": "Messages", role: "region" }, this.#earlier, this.#empty, this.#lines, this.#typing);
  #end = new EndKeeper(this.#scroll, this.#lines);
  #text = element("textarea", { id: "text", rows: 1, maxlength: 20_000, placeholder: "Message", "aria-label": "Message", dir: "auto" });
  #send = button(icon("send"), { class: "send", "aria-label": "Send" }, () => void this.#sendText());
  #files = [];
  #adding;
  #fileList = element("ul", { class: "chosen-files", hidden: true });
  #fileInput = element("input", { type: "file", multiple: true, hidden: true, tabindex: -1, "aria-label": "Files" });
  #levers = button("", { class: "changed levers-on", hidden: true }, () => this.#askLevers());
  #askLevers;
  #isWriting = false;
  #isSending = false;
  #isOpening = false;
  #delete = button(icon("cross"), { class: "icon-button small", "aria-label": "Delete the conversation", hidden: true }, () => void this.#deleteConversation());

  constructor(session, askLevers) {
    this.#session = session;
    this.#askLevers = askLevers;
    const entry = element("form", { class: "entry" },
      button(icon("attach"), { class: "icon-button", "aria-label": "Attach files" }, () => this.#fileInput.click()), this.#text, this.#send);
    entry.addEventListener("submit", (event) => event.preventDefault());
    this.screen = element("div", { class: "screen" },
      element("header", { class: "contact" }, this.#avatar, element("div", { class: "contact-words" }, this.#name, this.#handler),
        this.#delete),
      this.#scroll, this.#status,
      element("footer", { class: "phone-composer" }, this.#levers, this.#fileList, entry, this.#fileInput));
    this.node = element("div", { class: "device" }, this.screen);
    this.#text.addEventListener("input", () => { this.#grow(); void this.#tellTyping(this.#text.value !== ""); });
    this.#text.addEventListener("keydown", (event) => {
      if (event.key === "ArrowUp" && this.#text.value === "" && this.#lastText()) { event.preventDefault(); this.#text.value = this.#lastText(); this.#grow(); }
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this.#sendText();
    });
    this.#fileInput.addEventListener("change", () => { this.#adding = this.#addFiles([...this.#fileInput.files]); this.#fileInput.value = ""; });
    this.screen.addEventListener("dragover", (event) => event.preventDefault());
    this.screen.addEventListener("drop", (event) => { event.preventDefault(); this.#adding = this.#addFiles([...event.dataTransfer.files]); });
    this.#grow();
    this.#holdLines();
    session.addEventListener("customers", () => this.#drawHead());
    session.addEventListener("thread", () => this.#draw());
    session.addEventListener("typing", () => this.#drawTyping());
  }

  focus() { this.#text.focus(); }

  #drawHead() {
    const { customer } = this.#session;
    const business = this.#session.businessOf(customer);
    const name = visible(business?.name || customer?.business || "Balloon");
    say(this.#name, name);
    say(this.#avatar, [...name][0]?.toUpperCase() ?? "B");
    const handler = visible(business?.handler ?? "");
    // A program is shown by its name; its folder would need the whole line.
    say(this.#handler, customer ? handler.replace(/(^| )\/\S*\//gu, "$1") || "No handler answers this business" : "");
    this.#handler.title = handler;
    this.drawLevers();
  }

  drawLevers() {
    const levers = this.#session.changedLevers.levers;
    this.#draw();
    if (!levers && document.activeElement === this.#levers) this.focus();
    this.#levers.hidden = !levers;
    say(this.#levers, levers ? `Levers: ${Object.entries(levers).map(([name, value]) => `${leverNames[name] ?? name} ${value}`).join(", ")}` : "");
  }

  // The thread

  #draw() {
    const { entries, pending, isLoading, hasEarlier, selected } = this.#session;
    this.#lines.setAttribute("aria-busy", String(isLoading));
    this.#earlier.hidden = !hasEarlier || entries.length === 0;
    const shown = [...entries, ...pending].filter((entry) => isShown({ ...entry.line, kind: entry.kind }));
    this.#empty.hidden = shown.length > 0 || isLoading;
    this.#delete.hidden = shown.length === 0 || shown.at(-1).kind === "close";
    if (this.#lines.dataset.customer !== selected) {
      this.#lines.dataset.customer = selected;
      this.#rows.clear();
      this.#end.isAtEnd = true;
    }
    const isNew = shown.some((entry) => !this.#rows.has(entry.seq));
    this.#rows = new Map(shown.map((entry) => [entry.seq, this.#rows.get(entry.seq) ?? this.#row(entry)]));
    let day = "";
    shown.forEach((entry, index) => {
      const nextDay = dayOf(entry.at);
      const isLast = shown[index + 1]?.direction !== entry.direction || dayOf(shown[index + 1]?.at) !== nextDay;
      const before = shown[index - 1];
      // A question stands directly above its choices, and a second device can answer what is answered already.
      const options = { hasQuestion: before?.direction === "outbound" && before.kind === "text", isAgain: this.#session.levers.devices > 1 };
      const row = this.#rows.get(entry.seq);
      this.#fillRow(row, entry, options);
      row.day.hidden = nextDay === day;
      say(row.day, nextDay);
      day = nextDay;
      row.line.classList.toggle("last", isLast);
      this.#drawNote(row, entry, isLast && index > shown.length - 3);
    });
    arrange(this.#lines, [...this.#rows.values()].map((row) => row.node));
    this.#drawTyping();
    if (isNew && (this.#end.isAtEnd || shown.at(-1)?.direction === "inbound")) this.#end.toEnd();
  }

  #row(entry) {
    const contents = element("div", { class: "contents" });
    const note = element("p", { class: "note" });
    const meta = element("div", { class: "meta" });
    const day = element("p", { class: "day" });
    const line = element("div", { class: `line ${entry.direction === "inbound" ? "own" : ""}`.trim(), role: "article", "data-seq": entry.seq }, element("div", { class: "beside" }, contents, meta), note);
    return { node: element("div", { class: "line-holder" }, day, line), line, contents, note, meta, day };
  }

  #fillRow(row, entry, options) {
    const { customer } = this.#session;
    const focused = row.contents.contains(document.activeElement);
    const version = [entry.answered, entry.answer?.id, entry.kind, entry.line?.files, customer?.device, customer?.capabilities, customer?.zone, options];
    const isChanged = refill(row.contents, version, () => deviceContent(entry, customer, {
      open: () => void this.#open(entry), choose: (position) => void this.#choose(entry, position),
      // A file of a queued message is not yet stored.
      download: entry.status === "queued" ? undefined : (index) => this.#session.download(entry.id, index),
    }, options));
    if (!isChanged) return;
    row.line.setAttribute("aria-label", `${entry.direction === "inbound" ? "You" : "Business"}, ${when(entry.at)}: ${summary({ ...entry.line, kind: entry.kind })}`);
    if (focused) this.#text.focus();
  }

  #drawNote(row, entry, isNear) {
    const status = entry.direction === "outbound" ? entry.status : undefined;
    const words = status === "failed" ? `${statusText.failed}${entry.reason ? `: ${visible(entry.reason)}` : ""}` : status === "queued" && entry.attempts > 0 ? `${statusText.waiting} ${entry.attempts} ${entry.attempts === 1 ? "time" : "times"}` : status === "queued" || (status && isNear) ? statusText[status] : "";
    row.note.classList.toggle("failure", status === "failed");
    say(row.note, words);
    refill(row.meta, entry.record, () => [
      entry.record !== undefined && element("a", { class: "record", href: `#/d/${entry.record}`, "aria-label": `Details of delivery ${entry.record}` }, `#${entry.record}`),
      entry.direction === "outbound" && button(icon("smile"), { class: "react", "aria-label": "React to this message" }, () => void this.#react(entry))]);
  }

  #drawTyping() {
    const wasHidden = this.#typing.hidden;
    this.#typing.hidden = !this.#session.isTyping;
    say(this.#status, this.#session.isTyping ? "The business is typing" : "");
    // Another height at the end is no scroll of the person.
    if (this.#typing.hidden !== wasHidden && this.#end.isAtEnd) this.#end.toEnd();
  }

  async #readEarlier() {
    const height = this.#scroll.scrollHeight;
    try {
      await this.#session.readEarlier();
      this.#scroll.scrollTop += this.#scroll.scrollHeight - height;
    } catch (error) { this.#session.fail(error); }
  }

  /// A long press on a message shows its number and the reaction, which a mouse shows above it.
  #holdLines() {
    let timer = 0;
    const release = () => clearTimeout(timer);
    this.#lines.addEventListener("pointerdown", (event) => {
      const line = event.target.closest(".line");
      for (const one of this.#lines.querySelectorAll(".held")) if (one !== line) one.classList.remove("held");
      if (line && event.pointerType !== "mouse") timer = setTimeout(() => line.classList.add("held"), longPress);
    });
    for (const type of ["pointerup", "pointercancel", "pointermove"]) this.#lines.addEventListener(type, release);
  }

  // Actions of the customer

  #lastText() {
    return String(this.#session.entries.findLast((entry) => entry.direction === "inbound" && entry.kind === "text")?.line?.message?.body ?? "").replaceAll("\ufffc", "").trim();
  }

  #grow() {
    this.#text.rows = Math.min(6, this.#text.value.split("\n").length);
    this.#send.setAttribute("aria-disabled", String(this.#text.value.trim() === "" && this.#files.length === 0));
  }

  /// Apple tells the business when a customer begins to type.
  async #tellTyping(isWriting) {
    if (isWriting === this.#isWriting || !this.#session.selected) return;
    this.#isWriting = isWriting;
    await this.#try(() => this.#session.post({ kind: isWriting ? "typingStart" : "typingEnd" }));
  }

  async #addFiles(files) {
    await this.#try(async () => {
      this.#files = (await extras()).withFiles(this.#files, files, (sentence) => this.#session.tell("failed", sentence));
      this.#drawFiles();
    });
    this.#text.focus();
  }

  #drawFiles() {
    this.#fileList.hidden = this.#files.length === 0;
    fill(this.#fileList, this.#files.map((file) => fileRow(file.name, size(file.size), () => {
      this.#files = this.#files.filter((one) => one !== file);
      this.#drawFiles();
      this.#text.focus();
    })));
    this.#grow();
  }

  async #sendText() {
    await this.#adding;
    const text = this.#text.value.trim();
    if ((text === "" && this.#files.length === 0) || this.#isSending) return;
    if (!this.#session.selected) return undefined;
    this.#isSending = true;
    const files = this.#files;
    const isDone = await this.#try(async () => {
      const attachments = files.length > 0 ? await (await extras()).attachmentsOf(files, this.#session) : [];
      // The customer's text is there at once and is not typed twice.
      if (this.#text.value.trim() === text) this.#text.value = "";
      this.#files = this.#files.filter((one) => !files.includes(one));
      this.#drawFiles();
      this.#isWriting = false;
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      // In a shuffled order each line is a message of its own.
      if (this.#session.levers.order === "shuffled" && lines.length > 1 && attachments.length === 0) return this.#session.post({ messages: lines.map((line) => ({ text: line })) });
      return this.#session.post({ text, ...(attachments.length > 0 ? { attachments } : {}) });
    });
    this.#isSending = false;
    if (!isDone && this.#text.value === "") {
      this.#text.value = text;
      this.#files = files;
      this.#drawFiles();
    }
    return undefined;
  }

  /// Runs an action; a failure becomes a note, and so does a webhook that answers with another status than 200.
  async #try(action) {
    try {
      const refusal = refusalOf(await action());
      if (refusal) this.#session.tell("failed", refusal);
      return true;
    } catch (error) {
      this.#session.fail(error);
      return false;
    }
  }

  async #choose(entry, position) {
    const items = entry.line.message.interactiveData.data["quick-reply"].items;
    const isDone = await this.#try(() => this.#session.answer(entry.id, { items: [nameOf(position, items.map((item) => item?.title))], fills: [] }));
    if (isDone) this.#text.focus();
  }

  async #open(entry) {
    if (this.#isOpening || !opensSheet({ ...entry.line, direction: entry.direction, kind: entry.kind })) return;
    this.#isOpening = true;
    const accepted = async (asked) => {
      const answer = await asked;
      if (refusalOf(answer)) throw new Error(refusalOf(answer));
      return answer;
    };
    try {
      const { openSheet } = await whenNeeded(() => import("./phone-sheets.js"), "phone-sheets.css");
      const isSent = await openSheet(entry, this.#session.customer, {
        send: (choice) => accepted(this.#session.answer(entry.id, choice)), pay: (body) => accepted(this.#session.pay(entry.id, body)),
        matches: (expression, text) => this.#session.api.change("POST", "/dev/v1/expressions", { expression, text }),
        place: this.place,
      });
      if (isSent) this.#text.focus();
    } catch (error) { this.#session.fail(error); } finally { this.#isOpening = false; }
  }

  async #react(entry) {
    await this.#try(async () => {
      const type = await (await extras()).askReaction(this.place);
      return type && this.#session.post({ tapback: { type, to: entry.id } });
    });
  }

  async #deleteConversation() {
    if (!this.#session.selected) return;
    await this.#try(async () => await (await extras()).confirmDelete() && this.#session.post({ kind: "close" }));
  }

  /// Keeps a sheet on the screen of the phone; returns what ends this.
  place = (dialog) => {
    dialog.classList.add("device-sheet");
    const move = () => {
      const box = this.screen.getBoundingClientRect();
      for (const [name, value] of [["--left", box.left], ["--bottom", innerHeight - box.bottom], ["--width", box.width], ["--height", box.height]]) dialog.style.setProperty(name, `${Math.round(value)}px`);
    };
    move();
    addEventListener("resize", move);
    return () => removeEventListener("resize", move);
  };
}
