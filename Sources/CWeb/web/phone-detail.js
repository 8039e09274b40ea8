// One delivery in every part: message, stages, attempts, replies, headers, problems, state; copies and replay.
import { list, object } from "./bubbles.js";
import { actions, cancel, done, sheet } from "./dialogs.js";
import { button, element, fill, icon, labelled, say } from "./dom.js";
import { deviceContent } from "./phone-bubbles.js";
import { refusalOf } from "./phone-session.js";
import { duration, stageContent, stageTone } from "./phone-timeline.js";
import { size, visible, when } from "./text.js";

const mostJSON = 400_000;
const json = (value) => JSON.stringify(value, null, 2) ?? "";

/// The lines of a JSON text, each with the JSON pointer of the value that begins on it.
function pointers(value, pointer = "", depth = 0, key = "", isLast = true) {
  const indent = "  ".repeat(depth);
  const name = key === "" && depth === 0 ? "" : key;
  const end = isLast ? "" : ",";
  if (value === null || typeof value !== "object") return [[`${indent}${name}${JSON.stringify(value)}${end}`, pointer]];
  const isList = Array.isArray(value);
  const entries = isList ? value.map((one, index) => [index, one]) : Object.entries(value);
  if (entries.length === 0) return [[`${indent}${name}${isList ? "[]" : "{}"}${end}`, pointer]];
  return [
    [`${indent}${name}${isList ? "[" : "{"}`, pointer],
    ...entries.flatMap(([member, one], index) => pointers(one, `${pointer}/${String(member).replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1, isList ? "" : `${JSON.stringify(member)}: `, index === entries.length - 1)),
    [`${indent}${isList ? "]" : "}"}${end}`, undefined],
  ];
}

/// JSON with the problems under the lines that they are about.
function jsonWithProblems(value, problems = []) {
  const text = json(value);
  if (text.length > mostJSON) return code("JSON", [text.slice(0, mostJSON), `… ${text.length.toLocaleString()} characters; copy the message to see all of it.`]);
  if (problems.length === 0) return code("JSON", [text]);
  const shown = code("JSON", []);
  const left = new Set(problems);
  for (const [line, pointer] of pointers(value)) {
    const found = problems.filter((one) => one.pointer === pointer);
    shown.append(found.length > 0 ? element("mark", {}, visible(line)) : visible(line), "\n");
    for (const one of found) {
      left.delete(one);
      shown.append(element("span", { class: "code-problem" }, `${/^ */u.exec(line)[0]}▲ ${visible(one.message)}`), "\n");
    }
  }
  for (const one of left) shown.prepend(element("span", { class: "code-problem" }, `${visible(one.pointer)}: ${visible(one.message)}`), "\n");
  return shown;
}

/// Lines of output or of JSON, which the keys can scroll.
function code(label, lines) { return element("pre", { class: "code", tabindex: 0, "aria-label": label }, visible(lines.join("\n"))); }

export class Detail {
  #session;
  #notify;
  #isReadOnly;
  #record;
  #answer;
  #title = element("h2", { tabindex: -1 });
  #body = element("div", { class: "scroll detail-scroll", tabindex: 0, role: "region", "aria-label": "Delivery" });
  #buttons = element("div", { class: "detail-actions" });
  #generation = 0;

  /// `close` is called by the buttons that close the details; `isReadOnly` is true for a server without a simulator, which has no replay.
  constructor(session, { notify, close, isReadOnly }) {
    this.#session = session;
    this.#notify = notify;
    this.#isReadOnly = isReadOnly;
    this.node = element("div", { class: "detail" },
      element("header", { class: "pane-top" }, button(icon("back"), { class: "icon-button back", "aria-label": "Back to the timeline" }, close),
        this.#title, button(icon("cross"), { class: "icon-button wide-only", "aria-label": "Close the details" }, close)),
      this.#buttons, this.#body);
    let timer = 0;
    // A new stage of this delivery changes its attempts and replies.
    session.addEventListener("stages", ({ detail }) => {
      if (this.#record === undefined || !detail?.some((stage) => String(stage.delivery) === this.#record)) return;
      clearTimeout(timer);
      timer = setTimeout(() => void this.#read(), 300);
    });
  }

  focus() { this.#title.focus(); }

  async open(record) {
    if (this.#record === record) return this.#read();
    this.#record = record;
    this.#answer = undefined;
    say(this.#title, record === undefined ? "Delivery" : `Delivery ${record}`);
    fill(this.#buttons);
    if (record === undefined) return fill(this.#body, element("div", { class: "empty" }, element("p", { class: "empty-title" }, "Nothing chosen"), element("p", {}, "Choose a stage of the timeline to see the bytes behind it.")));
    fill(this.#body, element("p", { class: "empty" }, "Loading…"));
    return this.#read();
  }

  async #read() {
    // The timer of a new stage can end after the pane was closed.
    if (this.#record === undefined) return;
    const generation = ++this.#generation;
    try {
      const answer = await this.#session.api.read(`/dev/v1/deliveries/${encodeURIComponent(this.#record)}`);
      if (generation !== this.#generation) return;
      const mark = JSON.stringify(answer);
      if (this.#answer === mark) return;
      this.#answer = mark;
      this.#draw(answer);
    } catch (error) {
      if (generation !== this.#generation) return;
      fill(this.#body, element("div", { class: "empty" }, element("p", { class: "empty-title" }, "This delivery cannot be shown"),
        element("p", {}, error.status === 404 ? "The server has no delivery with this number. It may have been deleted, or the data directory is another one." : error.message)));
    }
  }

  #section(name, nodes, { isOpen = true, extra = "" } = {}) {
    const before = [...this.#body.querySelectorAll("details[data-name]")].find((one) => one.dataset.name === name);
    return element("details", { class: "part", "data-name": name, open: before ? before.open : isOpen },
      element("summary", {}, element("h3", {}, name), extra && element("span", { class: "hint" }, extra)), nodes);
  }

  #draw(answer) {
    const message = object(answer.message);
    const event = object(answer.event);
    const problems = list(answer.problems).map((one) => ({ pointer: String(one.pointer ?? ""), message: String(one.message ?? "") }));
    const stages = list(answer.stages);
    const attempts = list(answer.attempts);
    const replies = list(answer.replies);
    const top = this.#body.scrollTop;
    say(this.#title, `Delivery ${answer.record ?? this.#record}`);
    fill(this.#buttons,
      button("Copy as curl", { class: "secondary compact" }, () => void this.#copy(answer.curl ?? "", "The curl command is copied")),
      button("Copy as fixture", { class: "secondary compact" }, () => void this.#copy(json(answer.fixture), "The fixture is copied")),
      !this.#isReadOnly && button("Replay…", { class: "primary compact" }, () => void this.replay(answer)));
    const line = { kind: event.kind ?? "unrecognized", direction: "inbound", message };
    fill(this.#body,
      problems.length > 0 && this.#section("Problems", element("ul", { class: "problem-list" }, problems.map((one) => element("li", {}, element("code", {}, visible(one.pointer) || "/"), ` ${visible(one.message)}`)))),
      this.#section("Message", this.#shownAndRaw(line, problems), { extra: visible(event.kind ?? "") }),
      this.#section("Stages", element("ol", { class: "stages" }, stages.map((stage) => element("li", { class: stageTone(stage) }, element("span", { class: "stage" }, stageContent(stage))))), { extra: duration(stages.reduce((sum, stage) => sum + (Number(stage.ms) || 0), 0)) }),
      attempts.length > 0 && this.#section("Attempts of the handler", attempts.map((one) => element("div", { class: "try" },
        element("p", { class: one.reason ? "failure" : null }, `Attempt ${one.number}: ${visible(one.result ?? "")}${one.reason ? `, ${visible(one.reason)}` : ""} `, element("small", {}, duration(one.ms))),
        list(one.stderr, "string").length > 0 && code(`Output of attempt ${one.number}`, list(one.stderr, "string")),
        one.state && this.#state(object(one.state), one.number)))),
      list(answer.log, "string").length > 0 && this.#section("Handler's log", [element("p", { class: "hint" }, "The newest lines of its standard error, also of other deliveries."),
        code("Handler's log", list(answer.log, "string"))], { isOpen: attempts.some((one) => one.result !== "done") }),
      this.#section("Replies", replies.length === 0 ? element("p", { class: "hint" }, "The handler sent nothing for this message.") : replies.map((one) => this.#reply(one)), { extra: String(replies.length) }),
      this.#section("Headers", this.#headers(answer.headers), { isOpen: false }));
    this.#body.scrollTop = top;
  }

  #shownAndRaw(line, problems = []) {
    const shown = element("div", { class: "pretty" }, deviceContent({ ...line, line }, undefined, {}));
    // The questions are answered on the phone.
    for (const one of shown.querySelectorAll(".device-card, .chip")) one.disabled = true;
    const place = element("div", {}, shown);
    const show = (isRaw) => {
      fill(place, isRaw ? jsonWithProblems(line.message, problems) : shown);
      for (const [index, one] of [...choice.children].entries()) one.setAttribute("aria-pressed", String(isRaw === (index === 1)));
    };
    const choice = element("div", { class: "tabs two", role: "group", "aria-label": "Form of the message" },
      button("As shown", { class: "tab" }, () => show(false)), button("JSON", { class: "tab" }, () => show(true)));
    show(problems.length > 0);
    return [choice, place];
  }

  #reply(one) {
    return element("div", { class: "try" },
      element("p", { class: one.status === "failed" ? "failure" : null }, `${visible(one.status ?? "")} `, element("small", {}, visible(one.id ?? ""))),
      this.#shownAndRaw({ kind: one.kind, direction: "outbound", message: object(one.message) }, list(one.problems)),
      element("ol", { class: "stage-list" }, list(one.gateway).map((attempt) => element("li", { class: attempt.status >= 400 ? "bad" : null },
        element("details", {}, element("summary", {}, [`Gateway: status ${attempt.status ?? "none"}`, duration(attempt.ms), size(attempt.bytes), when(attempt.at)].filter(Boolean).join(", ")),
          this.#headers(object(attempt.request).headers), attempt.response && code("Response", [String(attempt.response)]))))));
  }

  #headers(headers) {
    const entries = Array.isArray(headers) ? headers.map((one) => (Array.isArray(one) ? one : [one.name, one.value])) : Object.entries(object(headers));
    if (entries.length === 0) return element("p", { class: "hint" }, "No headers are kept.");
    return element("dl", { class: "headers" }, entries.map(([name, value]) => [element("dt", {}, visible(name)), element("dd", {}, visible(value))]));
  }

  #state({ before, after }, number) {
    const part = (name, value) => element("div", {}, element("p", { class: "label" }, name), value === undefined || value === null ? element("p", { class: "hint" }, "none") : jsonWithProblems(value));
    const isSame = JSON.stringify(before) === JSON.stringify(after);
    return element("details", { class: "state-change", "aria-label": `State of attempt ${number}` }, element("summary", {}, isSame ? "State: not changed" : "State: changed"), element("div", { class: "two-columns" }, part("Before", before), part("After", after)));
  }

  async #copy(text, sentence) {
    try {
      await navigator.clipboard.writeText(text);
      this.#notify(sentence);
    } catch {
      // Without TLS on another machine, or without the permission, the browser refuses: the text is shown to be copied by hand.
      await sheet("Copy", (finish) => {
        const area = element("textarea", { rows: 10, class: "code-field", readonly: true, "data-first": true, "aria-label": "Text to copy" });
        area.value = text;
        area.addEventListener("focus", () => area.select());
        return element("div", { class: "sheet-body" }, element("p", {}, "The browser does not allow copying. Press Ctrl C."), area, actions(done(finish)));
      });
    }
  }

  /// Shows the answers of another handler; its replies are sent only by a button.
  #showTrial(answer) {
    return sheet("Replies of the other handler", (finish) => {
      const state = element("p", { class: "hint", role: "status" }, "Nothing was sent to the customer.");
      const send = (index) => button("Send these replies", { class: "secondary compact" }, async ({ currentTarget }) => {
        currentTarget.disabled = true;
        try {
          const { sent } = await this.#session.api.change("POST", `/dev/v1/trials/${encodeURIComponent(answer.trial)}/send`, { run: index });
          say(state, `Sent: ${sent.map((one) => one.outcome).join(", ")}`);
        } catch (error) { currentTarget.disabled = false; say(state, visible(error.message)); }
      });
      const runs = list(answer.runs).map((run, index) => element("div", { class: "try" },
        element("p", { class: run.reason ? "failure" : null }, `Call ${index + 1}: ${visible(run.outcome ?? "")}${run.reason ? `, ${visible(run.reason)}` : ""} `, element("small", {}, duration(run.ms))),
        list(run.problems).map((one) => element("p", { class: "failure" }, element("code", {}, visible(one.pointer ?? "")), ` ${visible(one.rule ?? "")}: ${visible(one.found ?? "")}; ${visible(one.allowed ?? "")}`)),
        list(run.stderr, "string").length > 0 && code(`Output of call ${index + 1}`, list(run.stderr, "string")),
        list(run.replies).map((one) => element("div", { class: "trial-reply" }, this.#shownAndRaw({ kind: one.kind, direction: "outbound", message: object(one.message) }))),
        list(run.replies).length > 0 && send(index)));
      return element("div", { class: "sheet-body" }, state, runs, actions(done(finish)));
    });
  }

  /// Posts the message again, as it was or edited, `times` times; or shows it to another handler.
  async replay(answer) {
    const original = json(object(answer.message));
    const wanted = await sheet(`Replay delivery ${answer.record ?? this.#record}`, (finish) => {
      const area = element("textarea", { id: "replay-json", class: "code-field", rows: 14, spellcheck: "false", "data-first": true, "aria-describedby": "replay-state" });
      area.value = original;
      const times = element("input", { type: "number", id: "replay-times", min: 1, max: 100, value: 1, required: true });
      const state = element("p", { class: "hint", id: "replay-state", role: "status" });
      const to = element("input", { id: "replay-to", placeholder: "./other.py or http://127.0.0.1:9000/", spellcheck: "false", autocomplete: "off", "aria-describedby": "replay-to-hint" });
      const secret = element("input", { id: "replay-secret", placeholder: "whsec_…", autocomplete: "off", spellcheck: "false" });
      const secretField = element("div", { class: "field", hidden: true }, labelled("Secret of the service", secret));
      const submit = button("Replay", { class: "primary" }, () => {
        const isChanged = area.value !== original;
        const other = to.value.trim();
        const isService = /^https?:/u.test(other);
        finish({ times: Number(times.value), ...(isChanged ? { message: JSON.parse(area.value) } : {}),
          ...(other && { to: isService ? { url: other, ...(secret.value && { secret: secret.value }) } : { program: other } }) });
      });
      const check = () => {
        let problem = "";
        try {
          const value = JSON.parse(area.value);
          if (value === null || typeof value !== "object" || Array.isArray(value)) problem = "A message is a JSON object.";
        } catch (error) { problem = `This is not JSON yet: ${error.message}`; }
        if (!times.checkValidity()) problem ||= "1 to 100 times.";
        submit.disabled = problem !== "";
        state.classList.toggle("failure", problem !== "");
        say(state, visible(problem) || (area.value === original ? "The message as it was. Edit it to replay something else." : "The edited message is JSON."));
      };
      to.addEventListener("input", () => { secretField.hidden = !/^https?:/u.test(to.value.trim()); });
      for (const field of [area, times]) field.addEventListener("input", check);
      check();
      return element("div", { class: "sheet-body" }, labelled("Message", area), state,
        labelled("Times", times),
        labelled("To another handler", to), element("p", { class: "hint", id: "replay-to-hint" }, "A program or a URL. Its replies are shown first. Leave it empty to post the message to the webhook."), secretField, actions(cancel(finish), submit));
    });
    if (!wanted) return undefined;
    const path = `/dev/v1/deliveries/${encodeURIComponent(this.#record)}/replay`;
    try {
      if (wanted.to) {
        this.#notify("The other handler is called…");
        const trial = await this.#session.api.change("POST", path, wanted);
        this.#notify("");
        return await this.#showTrial(trial);
      }
      const result = await this.#session.api.change("POST", path, { ...wanted, ...this.#session.changedLevers });
      const count = list(result.posts).length || wanted.times;
      const refusal = refusalOf(result);
      this.#notify(refusal ?? `Posted ${count} ${count === 1 ? "time" : "times"}`, Boolean(refusal));
    } catch (error) { this.#notify(error.message, true); }
    return undefined;
  }
}
