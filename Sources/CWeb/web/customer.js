// Notes, names and tags, which people write about a customer. None of them is sent.
import { ask } from "./dialogs.js";
import { element, labelled } from "./dom.js";
import { personName, safe, visible, when } from "./text.js";

/// A line for people as an entry of the thread.
export function internalLine(line, author) {
  const { body, name, addTags = [], removeTags = [], state, types = [], score, person, queue } = line.message;
  const parts = {
    note: [safe(body ?? "")],
    customer: [name !== undefined && (name ? `Name: ${visible(name)}` : "The name was removed"),
      ...addTags.map((tag) => `Tagged ${visible(tag)}`), ...removeTags.map((tag) => `No longer tagged ${visible(tag)}`)],
    consent: [state === "given" ? `The customer agreed to messages${types.length ? `: ${types.map(visible).join(", ")}` : ""}` : "The customer wants no messages"],
    assignment: [{ waiting: queue ? `Waits in the queue ${visible(queue)}` : "Waits for a person", person: `${personName(person, "A person")} answers`, handler: "The bot answers", closed: "Closed" }[state]],
    survey: [`The customer's score: ${score} of 5`],
  }[line.kind] ?? [];
  return element("li", { class: "line internal" },
    line.author !== "server" && element("p", { class: "author" }, line.kind === "note" ? "Note by " : "By ", element("bdi", {}, author)),
    element("p", { class: "internal-text", dir: "auto" }, parts.filter(Boolean).join("\n")),
    element("p", { class: "note" }, element("time", { datetime: line.at }, when(line.at))));
}

/// Asks for a note and writes it.
export async function askForNote(id, desk) {
  const note = element("textarea", { id: "internal-note", rows: 4, maxlength: 4000, dir: "auto", "data-first": true, required: true });
  const text = await ask("Write a note", labelled("Colleagues see it at this place of the thread. It is never sent.", note), "Write", () => note.value.trim());
  if (text) await desk.note(id, text);
}

/// The tags in a text, which commas separate.
const tagsIn = (text) => [...new Set(text.split(",").map((tag) => tag.trim()).filter(Boolean))];

/// Asks for the name and the tags of a customer, and writes what was changed.
export async function askForCustomer(id, desk) {
  const { customerName = "", tags = [] } = desk.conversations.get(id) ?? {};
  const name = element("input", { id: "customer-name", maxlength: 100, dir: "auto", value: customerName, "data-first": true, autocomplete: "off" });
  const list = element("input", { id: "customer-tags", dir: "auto", value: tags.join(", "), autocomplete: "off", "aria-describedby": "tags-hint" });
  const wanted = await ask("Customer", [labelled("Name", name), labelled("Tags", list),
    element("p", { class: "hint", id: "tags-hint" }, "With commas between them. The search finds names and tags.")], "Save", () => ({ name: name.value.trim(), tags: tagsIn(list.value) }));
  if (!wanted) return;
  const change = {
    ...(wanted.name !== customerName && { name: wanted.name }),
    ...(wanted.tags.some((tag) => !tags.includes(tag)) && { addTags: wanted.tags.filter((tag) => !tags.includes(tag)) }),
    ...(tags.some((tag) => !wanted.tags.includes(tag)) && { removeTags: tags.filter((tag) => !wanted.tags.includes(tag)) }),
  };
  if (Object.keys(change).length > 0) await desk.changeCustomer(id, change);
}
