// The form that sends a message to the customer: a text with files, a quick reply, or JSON in Apple's format.
import { fileRow } from "./bubbles.js";
import { randomUUID } from "./desk.js";
import { button, element, fill, icon, labelled, say, whenNeeded } from "./dom.js";
import { linked, personName, safe, size, visible } from "./text.js";

const checkPause = 500;
/// The milliseconds after which the typing dots are renewed; the customer's device shows them for 30 seconds.
const typingRenewal = 12_000;
const typingEnds = 6_000;
const largestFile = 100_000_000;
const mostFiles = 10;
const choices = { least: 2, most: 5 };

/// The kinds of messages that the composer sends, with their labels.
export const modes = { text: "Text", quickReply: "Quick reply", json: "JSON" };

const capabilities = { QUICK: "quick replies", LIST: "list pickers", TIME: "time pickers", FORM: "forms" };

const quickReplyBid = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension";
const jsonExample = '{\n  "type": "text",\n  "body": "Hello"\n}';

export class Composer {
  #desk;
  #thread;
  #id = "";
  #mode = "text";
  #drafts = new Map();
  #files = [];
  #lastTyping = 0;
  #isTyping = false;
  #typingTimer = 0;
  #checkTimer = 0;
  #checked = 0;
  #isValid = true;

  #text = element("textarea", { id: "text", rows: 1, dir: "auto", "aria-label": "Message", placeholder: "Message", maxlength: 20000 });
  #picker = element("input", { type: "file", multiple: true, class: "visually-hidden", tabindex: -1, "aria-hidden": "true" });
  #attach = button(icon("attach"), { class: "icon-button", "aria-label": "Attach files" }, () => this.#picker.click());
  #saved = button("Saved", { class: "plain saved-open", title: "Saved replies (/ in an empty entry)" }, () => void this.#chooseSaved());
  #send = element("button", { class: "send", "aria-label": "Send", "aria-describedby": "why-not" }, icon("send"));
  #fileList = element("ul", { class: "chosen-files", "aria-label": "Files", hidden: true });
  #question = element("input", { id: "question", dir: "auto", maxlength: 500, autocomplete: "off" });
  #choices = element("ol", { class: "choices" });
  #addChoice = button("Add a choice", { class: "plain" }, () => { this.#makeChoice().focus(); this.#check(); });
  #json = element("textarea", { id: "json", rows: 8, spellcheck: "false", "aria-label": "JSON of the message", placeholder: jsonExample, "aria-describedby": "problems" });
  #problems = element("ul", { class: "problems", id: "problems", role: "status" });
  #modes = element("div", { class: "modes", role: "group", "aria-label": "Kind of message" });
  #reason = element("p", { class: "reason" });
  #whyNot = element("p", { class: "hint why-not", id: "why-not", role: "status" });
  #asLink = button("Send as a link", { class: "plain as-link", hidden: true }, () => this.#sendAsLink());
  #opening = button("Begin with your opening line", { class: "plain as-link", hidden: true }, () => this.#write(this.#openingLine()));
  #panels;
  #form;

  constructor(desk, thread) {
    this.#desk = desk;
    this.#thread = thread;
    for (const [mode, label] of Object.entries(modes)) {
      this.#modes.append(button(label, { "data-mode": mode, class: "mode" }, () => { this.#show(mode); this.focus(); }));
    }
    this.#modes.append(this.#saved);
    this.#panels = {
      text: element("div", { class: "panel" }, this.#fileList, this.#asLink, this.#opening),
      quickReply: element("div", { class: "panel fields" }, labelled("Question", this.#question),
        this.#choices, this.#addChoice),
      json: element("div", { class: "panel" }, this.#json),
    };
    this.#form = element("form", { class: "composer" }, this.#modes, this.#panels.text, this.#panels.quickReply, this.#panels.json, this.#problems,
      element("div", { class: "entry" }, this.#attach, this.#picker, this.#text, this.#whyNot, this.#send));
    this.node = element("div", { class: "composer-area" }, this.#reason, this.#form);
    for (let count = 0; count < choices.least; count += 1) this.#makeChoice();
    this.#form.addEventListener("submit", (event) => { event.preventDefault(); void this.#submit(); });
    this.#text.addEventListener("input", () => { this.#type(); this.#drawText(); });
    this.#text.addEventListener("keydown", (event) => {
      if (event.key === "/" && !this.#text.value && !event.isComposing) { event.preventDefault(); void this.#chooseSaved(); }
      // An input method uses Enter to accept its suggestion.
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.#form.requestSubmit(); }
    });
    this.#json.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.#form.requestSubmit(); });
    this.#picker.addEventListener("change", () => { this.#add([...this.#picker.files]); this.#picker.value = ""; });
    this.#text.addEventListener("paste", (event) => { if (event.clipboardData.files.length) { event.preventDefault(); this.#add([...event.clipboardData.files]); } });
    this.node.addEventListener("dragover", (event) => event.preventDefault());
    this.node.addEventListener("drop", (event) => { event.preventDefault(); this.#add([...event.dataTransfer.files]); });
    this.#form.addEventListener("input", () => this.#check());
    this.#show("text");
  }

  focus() {
    if (this.#form.hidden) return;
    ({ text: this.#text, quickReply: this.#question, json: this.#json })[this.#mode].focus();
  }

  open(id) {
    this.#id = id;
    this.#text.value = this.#drafts.get(id) ?? "";
    this.#clearMessage();
    this.#show("text");
    this.#drawText();
    this.update();
  }

  /// Clears the quick reply and the JSON, so that they are never sent in another conversation.
  #clearMessage() {
    this.#json.value = this.#question.value = "";
    for (const input of this.#choices.querySelectorAll("input")) input.value = "";
  }

  /// Called before another conversation is opened: stores the draft of the current one, and drops its files.
  leave() {
    if (!this.#id) return;
    this.#stopTyping();
    if (this.#text.value) this.#drafts.set(this.#id, this.#text.value); else this.#drafts.delete(this.#id);
    for (const file of this.#files) file.upload.abort();
    this.#files = [];
    this.#drawFiles();
  }

  /// Shows the entry field when the user may answer in this conversation, otherwise the reason why not.
  update() {
    const one = this.#thread.conversation;
    if (!one) return;
    const desk = this.#desk;
    const isOthers = one.state === "person" && !desk.isMine(one);
    const mayWrite = one.state !== "closed" && !isOthers;
    if (this.#form.hidden === mayWrite) {
      const hadFocus = this.#form.contains(document.activeElement);
      this.#form.hidden = !mayWrite;
      if (hadFocus && !mayWrite) this.#thread.focus();
    }
    this.#reason.hidden = mayWrite;
    say(this.#reason, isOthers
      ? `${personName(one.person)} answers here.${desk.supervises ? " Take the conversation over to write." : ""}`
      : one.state === "closed" ? "Nothing can be sent until the customer writes again." : "");
    const lacks = missing(one.capabilities).includes("quick replies");
    say(this.#modes.querySelector("[data-mode=quickReply]"), modes.quickReply + (lacks ? " (not on this device)" : ""));
    this.#offerOpening();
    this.#text.placeholder = desk.isMine(one) ? "Message" : "Message (you claim by sending)";
    this.#enable();
  }

  #show(mode) {
    this.#mode = mode;
    for (const [name, panel] of Object.entries(this.#panels)) panel.hidden = name !== mode;
    for (const tab of this.#modes.querySelectorAll("[data-mode]")) tab.setAttribute("aria-pressed", String(tab.dataset.mode === mode));
    this.#text.hidden = this.#attach.hidden = mode !== "text";
    fill(this.#problems);
    this.#isValid = mode === "text";
    this.#enable();
    this.#check();
  }

  /// Draws what depends on the text: the height of its field, the offers to write it in another way, and whether it can be sent.
  #drawText() {
    this.#text.style.height = "auto";
    this.#text.style.height = `${Math.min(this.#text.scrollHeight + 2, 180)}px`;
    this.#asLink.hidden = !onlyAddress(this.#text.value);
    this.#offerOpening();
    this.#enable();
  }

  /// Marks whether the message can be sent; a message of fields also says why not. Returns the reason, which is empty when it can.
  #enable() {
    const obstacle = this.#findObstacle();
    this.#send.setAttribute("aria-disabled", String(Boolean(obstacle)));
    this.#send.title = obstacle;
    say(this.#whyNot, this.#mode === "text" ? "" : obstacle);
    return obstacle;
  }

  #findObstacle() {
    if (this.#mode === "text") {
      if (this.#files.some((file) => file.problem)) return "Remove the file that could not be uploaded.";
      if (!this.#files.every((file) => file.id)) return "The files are still being uploaded.";
      return this.#text.value.trim() || this.#files.length > 0 ? "" : "Write a message first.";
    }
    if (this.#isValid) return "";
    if (this.#problems.querySelector(".failure")) return "Correct what is marked above.";
    if (this.#mode === "json") return this.#json.value.trim() ? "The message is being checked." : "Enter a message in Apple's format.";
    if (!this.#question.value.trim()) return "Write the question.";
    return this.#titles().length < choices.least ? "Write at least two choices." : "The message is being checked.";
  }

  // Files

  #add(files) {
    for (const file of files) {
      if (this.#files.length >= mostFiles) { this.#desk.tell("failed", `A message has at most ${mostFiles} files.`); break; }
      if (file.size > largestFile) { this.#desk.tell("failed", `${visible(file.name)} is larger than 100 MB. Send a link instead.`); continue; }
      const entry = { file, id: "", problem: "", upload: new AbortController() };
      this.#files.push(entry);
      const add = async () => {
        const { mediaType } = await whenNeeded(() => import("./media-types.js"));
        entry.mimeType = mediaType(file);
        return await this.#desk.upload(file, entry.upload.signal);
      };
      add().then((answer) => { entry.id = answer.id; }, (error) => { entry.problem = error.message; }).finally(() => { this.#drawFiles(); });
    }
    this.#drawFiles();
  }

  /// Adds files that the server has, with the same members as a chosen one.
  #addSaved(attachments) {
    if (this.#files.length + attachments.length > mostFiles) this.#desk.tell("failed", `A message has at most ${mostFiles} files.`);
    const added = attachments.filter(({ id }) => !this.#files.some((file) => file.id === id)).slice(0, mostFiles - this.#files.length);
    this.#files.push(...added.map(({ id, name, mimeType }) => ({ file: { name }, id, mimeType, problem: "", upload: new AbortController() })));
    this.#drawFiles();
  }

  #drawFiles() {
    const hadFocus = this.#fileList.contains(document.activeElement);
    fill(this.#fileList, this.#files.map((entry) => fileRow(entry.file.name, entry.problem || (!entry.id ? "Uploading…" : entry.file.size ? size(entry.file.size) : ""), () => {
      entry.upload.abort();
      this.#files = this.#files.filter((one) => one !== entry);
      this.#drawFiles();
      this.focus();
    }, Boolean(entry.problem))));
    this.#fileList.hidden = this.#files.length === 0;
    if (hadFocus) this.focus();
    this.#enable();
  }

  // Quick reply and JSON

  #makeChoice() {
    const number = this.#choices.children.length + 1;
    const input = element("input", { id: `choice-${number}`, dir: "auto", maxlength: 100, autocomplete: "off" });
    this.#choices.append(element("li", {}, labelled(`Choice ${number}`, input)));
    this.#addChoice.hidden = number >= choices.most;
    return input;
  }

  /// The entered choices.
  #titles() { return [...this.#choices.querySelectorAll("input")].map((input) => input.value.trim()).filter(Boolean); }

  /// The message that is entered in the open panel; undefined while it is incomplete.
  #message() {
    if (this.#mode === "json") {
      const written = this.#json.value.trim();
      return written ? JSON.parse(written) : undefined;
    }
    const titles = this.#titles();
    const question = this.#question.value.trim();
    if (!question || titles.length < choices.least) return undefined;
    return {
      type: "interactive",
      interactiveData: {
        bid: quickReplyBid,
        data: {
          version: "1.0", requestIdentifier: randomUUID(),
          "quick-reply": { summaryText: question, items: titles.map((title, index) => ({ identifier: String(index + 1), title })) },
        },
      },
    };
  }

  #check() {
    clearTimeout(this.#checkTimer);
    if (this.#mode === "text" || !this.#id) return;
    this.#isValid = false;
    fill(this.#problems);
    this.#enable();
    this.#checkTimer = setTimeout(() => void this.#checkNow(), checkPause);
  }

  async #checkNow() {
    const number = ++this.#checked;
    let problems = [];
    try {
      const message = this.#message();
      if (!message) return;
      const answer = await this.#desk.check(this.#id, { message });
      problems = (answer.problems ?? []).map(described);
    } catch (error) {
      problems = error instanceof SyntaxError ? [{ detail: `This is not JSON yet: ${error.message}` }] : listed(error);
    }
    if (number !== this.#checked || this.#mode === "text") return;
    const errors = problems.filter((problem) => problem.severity !== "warning");
    this.#isValid = errors.length === 0;
    fill(this.#problems, problems.slice(0, 20).map((problem) => element("li", { class: problem.severity === "warning" ? "" : "failure" },
      problem.pointer && [element("code", {}, visible(problem.pointer)), " "], safe(problem.detail),
      problem.fallback && [element("q", { dir: "auto" }, safe(problem.fallback)), button("Write this text instead", { class: "plain" }, () => this.#write(problem.fallback))])),
    this.#isValid && element("li", { class: "good" }, icon("check"), "The message can be sent"));
    this.#enable();
  }

  /// Continues with a text instead of the entered message.
  #write(text) {
    this.#clearMessage();
    this.#show("text");
    this.#text.value = text;
    this.#drawText();
    this.focus();
  }

  /// Lets the person choose a saved reply: a text is inserted, a message is sent after its picture was shown.
  async #chooseSaved() {
    const id = this.#id;
    try {
      const { chooseSaved } = await whenNeeded(() => import("./saved.js"));
      const written = this.#mode === "text" ? this.#text.value.trim() && !this.#findObstacle() && this.#textBody(this.#text.value) : this.#isValid && { message: this.#message() };
      const chosen = await chooseSaved(this.#desk, this.#thread.conversation, written || undefined);
      if (!chosen || id !== this.#id || this.#form.hidden) return;
      if (chosen.message) return void await this.#begin(id, [{ message: chosen.message }]);
      this.#show("text");
      this.focus();
      this.#text.setRangeText(chosen.text, this.#text.selectionStart, this.#text.selectionEnd, "end");
      this.#addSaved(chosen.attachments);
      this.#drawText();
    } catch (error) { this.#desk.fail(error); }
  }

  // Sending

  async #submit() {
    const obstacle = this.#enable();
    if (obstacle) return say(this.#whyNot, obstacle);
    if (this.#mode === "text") return this.#sendAll([this.#textBody(this.#text.value)]);
    // Apple MSP API, "Quick Reply Message": the device shows the choices only, so the question is a text before them.
    const question = this.#mode === "quickReply" ? [{ text: this.#question.value.trim() }] : [];
    return this.#sendAll([...question, { message: this.#message() }]);
  }

  #textBody(text) {
    return {
      ...(text.trim() && { text: text.trim() }),
      ...(this.#files.length > 0 && { attachments: this.#files.map(({ id, file, mimeType }) => ({ id, name: nameOf(file), mimeType })) }),
    };
  }

  /// The first words of this person in the conversation; empty when the person has written since the claim.
  #openingLine() {
    const one = this.#thread.conversation;
    const isNew = one?.opening && this.#desk.isMine(one) && !this.#thread.hasWritten(this.#desk.me.id, one.person?.since);
    return isNew ? `${one.opening.replaceAll("{name}", this.#desk.me.name)} ` : "";
  }

  #offerOpening() { this.#opening.hidden = this.#text.value !== "" || !this.#openingLine(); }

  /// Sends the address in the text as a link with a preview, after the rest of the text.
  #sendAsLink() {
    const found = onlyAddress(this.#text.value);
    if (!found || this.#enable()) return;
    const rest = this.#textBody(this.#text.value.replace(found.text, " "));
    void this.#sendAll([
      ...(rest.text || rest.attachments ? [rest] : []),
      { message: { type: "richLink", preview: { url: found.address, title: new URL(found.address).hostname } } },
    ]);
  }

  /// Sends messages one after the other, and clears what was entered.
  async #sendAll(bodies) {
    this.#text.value = "";
    this.#drafts.delete(this.#id);
    this.#files = [];
    if (this.#mode !== "text") {
      this.#clearMessage();
      this.#show("text");
    }
    this.#drawFiles();
    this.#drawText();
    this.#forgetTyping();
    this.focus();
    await this.#begin(this.#id, bodies);
  }

  async #begin(id, [body, ...later]) {
    const key = randomUUID();
    const message = body.message ?? { type: "text", body: body.text ?? "", attachments: body.attachments ?? [] };
    const kind = message.interactiveData?.data?.["quick-reply"] ? "quickReply" : ["text", "richLink"].includes(message.type) ? "text" : "unrecognized";
    this.#thread.addPending(id, key, { id: key, at: new Date().toISOString(), direction: "outbound", author: "person", person: this.#desk.me, kind, message, state: "sending" });
    await this.#post(id, key, body, later);
  }

  /// Sends with the same key until it succeeds, so that a repetition never becomes a second message; `later` follows only what was not
  /// refused.
  async #post(id, key, body, later) {
    this.#thread.changePending(id, key, { state: "sending", problem: "", retry: undefined, drop: undefined });
    try {
      const answer = await this.#desk.send(id, body, key);
      const isRefused = answer.outcome === "refused" || answer.outcome === "failed";
      this.#thread.changePending(id, key, { id: answer.id, outcome: answer.outcome, status: answer.status, problem: isRefused ? answer.reason : "" }, answer.id);
      const one = this.#desk.conversations.get(id);
      if (one && !this.#desk.isMine(one)) void this.#desk.refreshConversation(id).catch(() => {});
      if (later.length > 0 && !isRefused) await this.#begin(id, later);
    } catch (error) {
      this.#thread.changePending(id, key, {
        state: "failed", problem: listed(error)[0].detail, retry: () => void this.#post(id, key, body, later), drop: () => this.#thread.changePending(id, key, undefined),
      });
      this.#desk.fail(error);
      if (error.kind === "claimed" || error.kind === "closed") void this.#desk.refreshConversation(id).catch(() => {});
    }
  }

  // Typing

  #type() {
    clearTimeout(this.#typingTimer);
    const one = this.#thread.conversation;
    if (!this.#desk.isMine(one)) return;
    if (this.#text.value === "") return this.#stopTyping();
    // The server accepts one start of typing in three seconds for a conversation, including starts by colleagues.
    if (Date.now() - Math.max(this.#lastTyping, one.lastTyping ?? 0) > (this.#isTyping ? typingRenewal : 3_200)) {
      this.#lastTyping = Date.now();
      this.#isTyping = true;
      void this.#desk.type(this.#id, true);
    }
    this.#typingTimer = setTimeout(() => this.#stopTyping(), typingEnds);
  }

  #stopTyping() {
    if (this.#isTyping) void this.#desk.type(this.#id, false);
    this.#forgetTyping();
  }

  /// Forgets that the dots are shown, because the customer's device removes them when a message arrives.
  #forgetTyping() {
    clearTimeout(this.#typingTimer);
    this.#isTyping = false;
  }
}

/// The kinds of messages that a device cannot show, by its header `capability-list`; none when that is unknown.
export function missing(list) {
  const known = new Set(String(list ?? "").toUpperCase().split(",").map((one) => one.trim()));
  return list ? Object.keys(capabilities).filter((one) => !known.has(one)).map((one) => capabilities[one]) : [];
}

/// The web address in a text that has exactly one, and how it is written there; undefined otherwise.
function onlyAddress(text) {
  const links = linked(text).filter((node) => node.href);
  return links.length === 1 ? { address: links[0].href, text: links[0].textContent } : undefined;
}

/// The file's name in a form that the API accepts: at most 255 bytes without control characters.
function nameOf(file) {
  return [...file.name.replace(/[\u0000-\u001f\u007f]/gu, "_")].slice(-60).join("") || "file";
}

/// The text of one of the API's `problems`: the rule, the place in the message, and what was found and is allowed
/// there.
function described({ rule, severity, pointer, found, allowed }) {
  const parts = [String(rule ?? "invalid").replaceAll("-", " "), found && `found ${found}`, allowed && `allowed ${allowed}`];
  return { pointer: String(pointer ?? "").replace(/^\/message(?=\/|$)/u, ""), detail: parts.filter(Boolean).join("; "), severity };
}

/// The problems of a refused message as texts; at least one.
function listed(error) {
  if (error.kind === "not-showable") return [{ detail: "The customer's device cannot show this message. The customer would understand: ", fallback: error.body.fallback }];
  const problems = Array.isArray(error.body?.problems) ? error.body.problems.filter((problem) => problem && typeof problem === "object") : [];
  if (problems.length === 0) return [{ detail: error.message ?? "The message cannot be sent.", pointer: error.body?.pointer }];
  return problems.map(described);
}
