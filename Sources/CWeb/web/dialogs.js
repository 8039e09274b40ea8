// Sheets: questions before a change, and the list of keys. They are <dialog> elements, which keep the focus and close
// on Escape.
import { button, element, icon, recall, remember } from "./dom.js";
import { hasSingleKeys } from "./frame.js";

/// Shows a sheet, and resolves with what `finish` was called with; undefined when it was dismissed. `place` moves the dialog
/// and returns what ends the moving.
export function sheet(title, build, { place } = {}) {
  return new Promise((resolve) => {
    let result;
    const before = document.activeElement;
    const heading = element("h2", { id: "sheet-title", tabindex: -1 }, title);
    const dialog = element("dialog", { class: "sheet", "aria-labelledby": "sheet-title" });
    const finish = (value) => { result = value; dialog.close(); };
    const stop = place?.(dialog);
    const dismiss = button(icon("cross"), { class: "icon-button", "aria-label": "Dismiss" }, () => finish(undefined));
    dialog.append(element("div", { class: "sheet-top" }, heading, dismiss), build(finish));
    dialog.addEventListener("close", () => {
      dialog.remove();
      stop?.();
      if (before?.isConnected) {
        before.focus();
        // Chromium focuses the field again when the dialog closes, but leaves the caret elsewhere: typing would do nothing.
        if (Number.isInteger(before.selectionStart)) before.setSelectionRange(before.selectionStart, before.selectionEnd);
      }
      resolve(result);
    });
    // A press on the backdrop dismisses the sheet, as apps on a phone do.
    dialog.addEventListener("pointerdown", (event) => { if (event.target === dialog) finish(undefined); });
    document.body.append(dialog);
    dialog.showModal();
    const first = dialog.querySelector("[data-first]") ?? heading;
    first.focus();
    // A long text is shown from its beginning.
    if (first.tagName === "TEXTAREA" && first.selectionStart > 0) { first.setSelectionRange(0, 0); first.scrollTop = 0; }
  });
}

export function actions(...buttons) {
  return element("div", { class: "actions" }, buttons);
}

/// Asks for confirmation of a change that a colleague or the customer notices.
export function confirm(title, text, label, { isDanger = false } = {}) {
  return sheet(title, (finish) => element("div", { class: "sheet-body" }, element("p", { dir: "auto" }, text),
    actions(button("Cancel", { class: "secondary" }, () => finish(undefined)),
      button(label, { class: isDanger ? "primary danger" : "primary", "data-first": !isDanger }, () => finish(true)))));
}

/// The alerts that are on: `title`, `sound` and `desktop`.
export function alerts() {
  try { return { title: true, ...JSON.parse(recall("alerts") ?? "{}") }; } catch { return { title: true }; }
}

/// Alerts the person to a conversation, unless the page is in front; the title counts on its own.
export function alertTo(text) {
  if (document.visibilityState === "visible" && document.hasFocus()) return;
  const { sound, desktop } = alerts();
  if (desktop && globalThis.Notification?.permission === "granted") new Notification(text, { tag: "inbox" });
  if (!sound) return;
  const audio = new AudioContext();
  const tone = audio.createOscillator();
  tone.connect(audio.destination);
  tone.start();
  tone.stop(audio.currentTime + 0.15);
  tone.onended = () => void audio.close();
}

/// Asks which alerts are on.
export function showAlerts() {
  const names = { title: "Count what you have not seen in the title", sound: "Play a sound", desktop: "Show a notification of this computer" };
  return sheet("Alerts", (finish) => element("div", { class: "sheet-body" }, element("p", {}, "For offers, your own customers' messages, and those who wait too long."),
    Object.entries(names).map(([name, label]) => {
      const box = element("input", { type: "checkbox", id: `alert-${name}` });
      box.checked = Boolean(alerts()[name]);
      box.addEventListener("change", async () => {
        if (name === "desktop" && box.checked) box.checked = await globalThis.Notification?.requestPermission() === "granted";
        remember("alerts", JSON.stringify({ ...alerts(), [name]: box.checked }));
      });
      return element("label", { class: "check", for: box.id }, box, label);
    }), actions(button("Done", { class: "primary", "data-first": true }, () => finish(true)))));
}

/// Lists the keys; single keys can be switched off, because speech input could press them by accident.
export function showKeys(listed) {
  return sheet("Keys", (finish) => {
    const single = element("input", { type: "checkbox", id: "single-keys" });
    single.checked = hasSingleKeys();
    single.addEventListener("change", () => remember("keys", single.checked ? "on" : "off"));
    return element("div", { class: "sheet-body" },
      element("dl", { class: "keys" }, listed.flatMap(([key, meaning]) => [
        element("dt", {}, key.split(" ").map((one) => [element("kbd", {}, one), " "]).flat()), element("dd", {}, meaning)])),
      element("label", { class: "check", for: "single-keys" }, single, "Single letters work outside of text fields"),
      actions(button("Done", { class: "primary", "data-first": true }, () => finish(true))));
  });
}
