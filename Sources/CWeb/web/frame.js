// The frame of both pages: notes, the banner of a lost connection, single keys, and the end of a thread.
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

/// The pixels above the end of a scrolled node that count as its end.
const nearEnd = 60;

/// Keeps a scrolled node at its end while its heights change. Only a person who scrolls up leaves the end: a head, a line or a picture
/// that changes the heights does not, except with `hasLateHeights`, for rows that get their height when they are scrolled into view.
/// `reached()` is called when the person comes back to the end.
export class EndKeeper {
  isAtEnd = true;

  constructor(scroll, content, { hasLateHeights = false, reached = () => {} } = {}) {
    const measure = () => ({ top: scroll.scrollTop, height: scroll.scrollHeight, shown: scroll.clientHeight });
    let before = {};
    this.toEnd = () => {
      this.isAtEnd = true;
      scroll.scrollTop = scroll.scrollHeight;
      before = measure();
    };
    scroll.addEventListener("scroll", () => {
      const wasAtEnd = this.isAtEnd;
      const now = measure();
      const isSame = hasLateHeights || (now.height === before.height && now.shown === before.shown);
      if (now.height - now.top - now.shown < nearEnd) this.isAtEnd = true;
      else if (isSame && now.top < before.top) this.isAtEnd = false;
      else if (!isSame && wasAtEnd) this.toEnd();
      before = measure();
      if (this.isAtEnd && !wasAtEnd) reached();
    });
    const sizes = new ResizeObserver(() => { if (this.isAtEnd) this.toEnd(); });
    for (const node of [scroll, content]) sizes.observe(node);
  }
}
