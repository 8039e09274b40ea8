// Saved replies: the list in which one is chosen, and the form that writes one.
import { content } from "./cards.js";
import { Problem } from "./api.js";
import { actions, ask, sheet } from "./dialogs.js";
import { button, element, fill, labelled } from "./dom.js";
import { randomUUID } from "./desk.js";
import { customerName, safe, visible } from "./text.js";

/// Replaces `{customer}`, `{person}` and `{business}` in every text of a value.
function filled(value, names) {
  if (typeof value === "string") return value.replace(/\{(customer|person|business)\}/gu, (_, name) => names[name]);
  if (Array.isArray(value)) return value.map((one) => filled(one, names));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, filled(one, names)]));
  return value;
}

/// The message with a new identifier, because the customer's answer names the request.
function renewed(message) {
  const copy = structuredClone(message);
  const data = copy.interactiveData?.data;
  if (data && "requestIdentifier" in data) data.requestIdentifier = randomUUID();
  return copy;
}

/// The name as an id: `Opening hours` is `opening-hours`.
function idOf(title) {
  const id = title.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/gu, "-").replace(/^-|-$/gu, "").slice(0, 50);
  return id || `reply-${randomUUID().slice(0, 8)}`;
}

/// Lets the person choose a saved reply for a conversation. Resolves with its `text` and `attachments`, or its `message`, ready to be sent;
/// undefined when none was chosen. `draft` is what the composer has, a `text` with `attachments` or a `message`, which can be saved.
export async function chooseSaved(desk, one, draft) {
  const queue = desk.queueOf(one)?.id;
  const replies = (await desk.readSaved()).filter((reply) => !reply.queue || !queue || reply.queue === queue);
  const chosen = await sheet("Saved replies", (finish) => {
    const search = element("input", { type: "search", id: "saved-search", "aria-label": "Search saved replies", placeholder: "Search", autocomplete: "off", "data-first": true });
    const list = element("ul", { class: "saved-list" });
    const note = element("p", { class: "hint", role: "status" });
    let shown = [];
    const draw = () => {
      const wanted = search.value.trim().toLowerCase();
      shown = replies.filter((reply) => `${reply.title} ${reply.text ?? ""}`.toLowerCase().includes(wanted));
      fill(list, shown.map((reply) => element("li", {}, button([element("strong", { dir: "auto" }, visible(reply.title)), element("span", { dir: "auto" }, reply.text ? safe(reply.text + (reply.attachments ?? []).map((file) => ` [${file.name}]`).join("")) : kinds[reply.kind] ?? "Message")], { class: "row saved" }, () => finish({ reply })),
        !reply.readOnly && button("Remove", { class: "plain", "aria-label": `Remove ${visible(reply.title)}` }, () => finish({ remove: reply })))));
      fill(note, shown.length > 0 ? "Enter chooses the first one." : replies.length > 0 ? "Nothing found." : "Nothing is saved yet.");
    };
    search.addEventListener("input", draw);
    const form = element("form", { class: "sheet-body" }, search, note, list,
      actions(draft && button("Save what is in the entry…", { class: "secondary" }, () => finish({ save: draft }))));
    form.addEventListener("submit", (event) => { event.preventDefault(); if (shown[0]) finish({ reply: shown[0] }); });
    draw();
    return form;
  });
  if (!chosen) return undefined;
  if (chosen.save) return save(desk, one, chosen.save);
  if (chosen.remove) {
    await desk.removeSaved(chosen.remove.id);
    return chooseSaved(desk, one, draft);
  }
  const names = { customer: one.customerName ?? "", person: desk.me.name, business: desk.current?.name ?? "" };
  const { text, message, kind, title } = filled(chosen.reply, names);
  if (text) return { text: text.replace(/ +([,.!?])/gu, "$1"), attachments: chosen.reply.attachments ?? [] };
  const isSure = await ask(title, [element("p", {}, `${customerName(one.customer, one.customerName)} gets this message:`),
    element("div", { class: "line own" }, content({ kind, message, direction: "outbound" }))], "Send", undefined, { submit: { "data-first": true } });
  return isSure ? { message: renewed(message) } : undefined;
}

const kinds = { quickReply: "Quick reply", listPicker: "List picker", timePicker: "Time picker", form: "Form", app: "App" };

/// Saves what the composer has under a title.
async function save(desk, one, draft) {
  const queue = desk.queueOf(one);
  const title = element("input", { id: "saved-title", maxlength: 100, dir: "auto", required: true, autocomplete: "off", "data-first": true });
  const only = element("input", { type: "checkbox", id: "saved-queue" });
  const wanted = await ask("Save a reply", [labelled("Title", title),
    queue && element("label", { class: "check", for: "saved-queue" }, only, `Only for the queue ${visible(queue.name)}`),
    element("p", { class: "hint" }, "{customer}, {person} and {business} become names when the reply is chosen.")], "Save",
  () => ({ title: title.value.trim(), ...(only.checked && { queue: queue.id }) }));
  if (!wanted?.title) return undefined;
  const id = idOf(wanted.title);
  if ((await desk.readSaved()).some((reply) => reply.id === id)) throw new Problem("conflict", "A saved reply has this title already.");
  await desk.writeSaved(id, { ...wanted, ...draft });
  return undefined;
}
