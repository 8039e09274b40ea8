// Scenarios: records what the customer does and what the business answers, and shows the file to edit, save and play.
import { isShown, list, object, saveAs } from "./bubbles.js";
import { actions, sheet } from "./dialogs.js";
import { button, element, fill, say } from "./dom.js";
import { visible } from "./text.js";

const expectSeconds = 10;

/// Members that differ at each play, and those that every message of the kind has.
const changing = new Set(["id", "sourceId", "destinationId", "v", "locale", "requestIdentifier", "sessionIdentifier", "images", "attachments"]);

/// A business's message as the pattern of a step: a subset without identifiers and pictures. `inside` names the object's member:
/// the libraries draw the identifier of a time picker's event.
function pattern(value, inside = "") {
  if (Array.isArray(value)) return value.map((each) => pattern(each));
  if (value === null || typeof value !== "object") return value;
  const kept = Object.entries(value).filter(([name]) => !changing.has(name) && (inside !== "event" || name !== "identifier"));
  return Object.fromEntries(kept.map(([name, member]) => [name, pattern(member, name)]));
}

/// The step for a message of the customer: a text, the answer `choice`, or the whole message.
function sent(entry, choice) {
  const message = object(entry.line?.message);
  if (entry.kind === "text" && list(message.attachments).length === 0) return { send: message.body };
  if (entry.kind === "close" && !message.referenceIds) return { send: { kind: "close" } };
  if (choice) {
    const { items = [], fills = [], ...end } = choice;
    return { answer: { choice: { ...(items.length > 0 && { items }), ...(fills.length > 0 && { fills }), ...end } } };
  }
  const { id, sourceId, destinationId, ...kept } = message;
  return { send: { message: kept } };
}

/// The steps of a recording, in the order of the thread.
export class Recorder {
  #session;
  #steps = [];
  /// The customer's choices by the message that carries each.
  #choices = new Map();
  #seen = 0;
  isOn = false;

  constructor(session) {
    this.#session = session;
    session.addEventListener("answered", ({ detail }) => { if (this.isOn) for (const id of detail.ids) this.#choices.set(id, detail.choice); });
    session.addEventListener("thread", () => { if (this.isOn) this.#read(); });
  }

  get count() { return this.#steps.length; }

  start() {
    this.#steps = [];
    this.#choices = new Map();
    this.#seen = this.#session.entries.at(-1)?.seq ?? 0;
    this.isOn = true;
  }

  /// Ends the recording; returns the scenario.
  stop() {
    this.#read();
    this.isOn = false;
    const { device, locale, intent, group } = object(this.#session.customer);
    // A choice is told after its message may have been read.
    const steps = this.#steps.map(({ entry, ...step }) => (entry ? sent(entry, this.#choices.get(entry.id)) : step));
    return { format: 1, customer: { device, locale, intent, group }, steps };
  }

  #read() {
    const fresh = this.#session.entries.filter((entry) => entry.seq > this.#seen && isShown({ ...entry.line, kind: entry.kind }));
    for (const entry of fresh) {
      this.#seen = entry.seq;
      const last = this.#steps.at(-1);
      if (entry.direction === "inbound") this.#steps.push({ entry });
      else if (last?.expect) last.expect.push(pattern(object(entry.line?.message)));
      else this.#steps.push({ expect: [pattern(object(entry.line?.message))], withinSeconds: expectSeconds });
    }
    if (fresh.length > 0) this.#session.tell("recorded");
  }
}

/// The first mistake of a scenario's text; empty when it has none.
function mistake(text) {
  let scenario;
  try { scenario = JSON.parse(text); } catch (error) { return `This is not JSON yet: ${error.message}`; }
  if (object(scenario).format !== 1) return "A scenario has “format”: 1.";
  if (!Array.isArray(scenario.steps) || scenario.steps.length === 0) return "A scenario has “steps”, a list that is not empty.";
  const names = ["send", "answer", "expect", "none"];
  const wrong = scenario.steps.findIndex((step) => names.filter((name) => object(step)[name] !== undefined).length !== 1);
  if (wrong >= 0) return `Step ${wrong + 1} must have one of ${names.join(", ")}.`;
  const empty = scenario.steps.findIndex((step) => step.expect && list(step.expect).length === 0);
  return empty >= 0 ? `Step ${empty + 1} expects no message; use “none” for that.` : "";
}

const example = { format: 1, customer: { device: "iphone" }, steps: [{ send: "Hello" }, { expect: [{ type: "text" }], withinSeconds: expectSeconds }] };

/// Shows a scenario to edit, save and play.
/// `record()` is called when the customer wants to record one instead.
export function showScenario(session, place, scenario = example, record = undefined) {
  return sheet("Scenario", (finish) => {
    const area = element("textarea", { id: "scenario", class: "code-field", rows: 16, spellcheck: "false", "data-first": true, "aria-label": "Scenario", "aria-describedby": "scenario-state" });
    area.value = JSON.stringify(scenario, null, 2);
    const state = element("p", { class: "hint", id: "scenario-state", role: "status" });
    const results = element("ol", { class: "stage-list" });
    const file = element("input", { type: "file", accept: ".json,application/json", hidden: true, "aria-label": "File of a scenario" });
    const open = button("Open file…", { class: "secondary" }, () => file.click());
    const save = button("Download", { class: "secondary" }, () => saveAs(new Blob([`${area.value}\n`]), "scenario.json"));
    const tell = (text, isBad) => { state.classList.toggle("failure", isBad); say(state, text); };
    const { row: folder, refresh, store } = folderOf(session, { load: (text) => { area.value = text; check(); }, text: () => area.value, tell });
    const play = async (pace) => {
      fill(results);
      say(state, "Playing…");
      for (const one of plays) one.disabled = true;
      try {
        const answer = await session.api.change("POST", "/dev/v1/scenarios/play", { scenario: JSON.parse(area.value), pace, customer: session.selected });
        const failed = answer.steps.filter((step) => step.verdict !== "passed");
        fill(results, answer.steps.map(row));
        tell(failed.length === 0 ? `Passed: ${answer.steps.length} steps` : `Failed: ${failed.length} of ${answer.steps.length} steps`, failed.length > 0);
      } catch (error) { tell(error.status === 404 ? "This server plays no scenarios. Download the file, and run balloon scenario run." : error.message, true); }
      for (const one of plays) one.disabled = false;
    };
    const plays = [button("Play slowly", { class: "secondary" }, () => void play("slow")), button("Play", { class: "primary" }, () => void play("atOnce"))];
    const check = () => {
      const problem = mistake(area.value);
      tell(visible(problem) || "balloon scenario run plays this file in CI.", problem !== "");
      for (const one of [save, store, ...plays]) one.disabled = problem !== "";
    };
    file.addEventListener("change", async () => { area.value = await file.files[0].text(); check(); });
    area.addEventListener("input", check);
    check();
    void refresh();
    return element("div", { class: "sheet-body" }, folder, area, state, results, actions(record && button("Record", { class: "secondary" }, () => { record(); finish(undefined); }), open, file, save, ...plays));
  }, { place });
}

/// The scenarios of the server's folder: one to open, and a name under which this one is stored. Hidden without a folder.
function folderOf(session, { load, text, tell }) {
  const choice = element("select", { id: "scenario-stored", "aria-label": "Scenarios of the folder" });
  const name = element("input", { id: "scenario-name", maxlength: 64, pattern: "[A-Za-z0-9_\\-]+", placeholder: "name", "aria-label": "Name in the folder", autocomplete: "off", spellcheck: "false" });
  const store = button("Save to folder", { class: "secondary compact" }, async () => {
    if (!name.value || !name.checkValidity()) { tell("A name has letters, digits, - and _.", true); return name.focus(); }
    try {
      const saved = await session.api.change("PUT", `/dev/v1/scenarios/${encodeURIComponent(name.value)}`, JSON.parse(text()));
      tell(`Saved ${saved.name} with ${saved.steps} steps.`, false);
      await refresh(saved.name);
    } catch (error) { tell(visible(error.message), true); }
    return undefined;
  });
  const row = element("div", { class: "stored-scenarios", hidden: true }, choice, name, store);
  choice.addEventListener("change", async () => {
    if (!choice.value) return;
    name.value = choice.value;
    try { load(JSON.stringify(await session.api.read(`/dev/v1/scenarios/${encodeURIComponent(choice.value)}`), null, 2)); } catch (error) { tell(visible(error.message), true); }
  });
  async function refresh(chosen = "") {
    try {
      const found = await session.api.read("/dev/v1/scenarios");
      row.hidden = !found.folder;
      const labels = list(found.scenarios).map((one) => element("option", { value: one.name }, visible(one.problem ? `${one.name}: ${one.problem}` : `${one.name}, ${one.steps} steps`)));
      fill(choice, element("option", { value: "" }, labels.length > 0 ? "Open from the folder…" : "The folder has no scenario"), labels);
      choice.value = chosen;
    } catch { row.hidden = true; }
  }
  return { row, refresh, store };
}

function row(step) {
  const failure = list(step.failure, "string").join("\n");
  return element("li", { class: step.verdict === "failed" ? "bad" : null }, element("span", { class: "stage-name" }, visible(step.name ?? "")),
    element("span", { class: "stage-result" }, visible(step.verdict ?? ""), failure && element("span", { class: "stage-reason scenario-failure" }, visible(failure))),
    element("span", { class: "stage-ms" }, Number.isFinite(step.seconds) ? `${step.seconds.toFixed(2)} s` : ""));
}
