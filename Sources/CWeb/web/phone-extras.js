// The acts of a customer besides writing: files, reactions, and the end of the conversation.
import { confirm, sheet } from "./dialogs.js";
import { button, element } from "./dom.js";
import { size, visible } from "./text.js";

const inlineFileBytes = 1_000_000;
const mostFileBytes = 100_000_000;
const mostFiles = 10;
const tapbacks = [["loved", "❤️", "Loved"], ["liked", "👍", "Liked"], ["disliked", "👎", "Disliked"], ["laughed", "😂", "Laughed"], ["emphasized", "‼️", "Emphasized"], ["questioned", "❓", "Questioned"]];

/// The files of a message with further ones, as far as Messages sends them; `notify` gets a sentence about one that is left out.
export function withFiles(chosen, files, notify) {
  const all = [...chosen];
  for (const file of files) {
    if (file.size > mostFileBytes) { notify(`${visible(file.name)} has ${size(file.size)}; Messages sends at most 100 MB.`); continue; }
    if (all.length >= mostFiles) { notify(`A message has at most ${mostFiles} files here.`); break; }
    all.push(file);
  }
  return all;
}

/// The attachments of a message, whose types the server knows by their names; it keeps large files first.
export async function attachmentsOf(files, session) {
  const attachments = [];
  for (const file of files) {
    attachments.push({ name: file.name, ...(file.size > inlineFileBytes ? { file: await session.keepFile(file) } : { data: await base64(file) }) });
  }
  return attachments;
}

/// Asks for a reaction to a message; undefined when there is none.
export function askReaction(place) {
  return sheet("React", (finish) => element("div", { class: "tapbacks" }, tapbacks.map(([name, sign, label]) => button(sign, { class: "tapback", "aria-label": label }, () => finish(name)))), { place });
}

export function confirmDelete() {
  return confirm("Delete the conversation?", "Messages then posts “close” to the business, which may not write again before the customer does.", "Delete", { isDanger: true });
}

/// A file in base64; its bytes are taken in parts, because a call has a limited number of arguments.
async function base64(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let start = 0; start < bytes.length; start += 0x8000) text += String.fromCharCode(...bytes.subarray(start, start + 0x8000));
  return btoa(text);
}
