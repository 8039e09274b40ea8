// The frame of both pages: notes, the banner of a lost connection, and single keys.
import { element, recall, say } from "./dom.js";

const noteLasts = 6_000;

/// A node for one note at a time, and the function that shows a text in it for some seconds.
export function notes() {
  const node = element("div", { class: "toast", role: "status" });
  let timer = 0;
  const notify = (text, isFailure = false) => {
    clearTimeout(timer);
    node.classList.toggle("failure", isFailure);
    node.classList.toggle("shown", Boolean(text));
    say(node, text);
    if (text) timer = setTimeout(() => notify(""), isFailure ? 2 * noteLasts : noteLasts);
  };
  return { node, notify };
}

/// A banner that says `text` while the connection is lost; `draw(isLost)` shows it, and a note says when the connection is back.
export function lostBanner(text, notify) {
  const node = element("div", { class: "banner", role: "status", hidden: true });
  const draw = (isLost) => {
    if (!isLost && !node.hidden) notify("Connected again");
    node.hidden = !isLost;
    say(node, isLost ? text : "");
  };
  return { node, draw };
}

/// Whether single letters are keys of the page, which the list of keys can switch off.
export function hasSingleKeys() { return recall("keys") !== "off"; }

/// Calls the action of a pressed key, except in fields and sheets; `escape` is called in fields too and says whether it did something.
export function listenToKeys(actions, escape, signal) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || document.querySelector("dialog")) return;
    if (event.key === "Escape" && escape()) return;
    const isWriting = event.target.closest?.("input, textarea, select");
    if (isWriting || event.ctrlKey || event.metaKey || event.altKey || !hasSingleKeys()) return;
    if (event.key === " " && event.target.closest?.("button, a, summary")) return;
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }, { signal });
}
