// Sheets: questions before a change, and the list of keys. They are <dialog> elements, which keep the focus and close
// on Escape.
import { button, element, icon, recall, remember } from "./dom.js";

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
    (dialog.querySelector("[data-first]") ?? heading).focus();
  });
}

export function actions(...buttons) {
  return element("div", { class: "actions" }, buttons);
}

/// Asks whether a conversation is released to the handler or to another person, and for a note.
export function askRelease() {
  return sheet("Release the conversation", (finish) => {
    const note = element("textarea", { id: "note", rows: 3, maxlength: 1000, dir: "auto", "data-first": true });
    const to = (value) => () => finish({ to: value, note: note.value.trim() });
    return element("div", { class: "sheet-body" },
      element("label", { for: "note" }, "Note for the record (optional)"), note,
      actions(
        button("To another person", { class: "secondary" }, to("waiting")),
        button("To the bot", { class: "primary" }, to("handler"))));
  });
}

/// Asks for confirmation of a change that a colleague or the customer notices.
export function confirm(title, text, label) {
  return sheet(title, (finish) => element("div", { class: "sheet-body" }, element("p", { dir: "auto" }, text),
    actions(button("Cancel", { class: "secondary" }, () => finish(undefined)),
      button(label, { class: "primary", "data-first": true }, () => finish(true)))));
}

/// Asks for the text that customers are sent while nobody answers.
export function askClosedText() {
  return sheet("Close the help desk", (finish) => {
    const text = element("input", { id: "closed-text", maxlength: 500, dir: "auto", "data-first": true, required: true, placeholder: "We are back at 9." });
    const form = element("form", { class: "sheet-body" },
      element("label", { for: "closed-text" }, "Customers who ask for a person are told this instead of the usual text."), text,
      actions(button("Cancel", { class: "secondary" }, () => finish(undefined)), element("button", { class: "primary" }, "Close")));
    form.addEventListener("submit", (event) => { event.preventDefault(); finish({ text: text.value.trim() }); });
    return form;
  });
}

const keys = [
  ["?", "This list"], ["1 2 3", "Queue, mine, all"], ["j k", "Next, previous conversation"], ["↑ ↓", "Move in the list"], ["/", "Search"],
  ["c", "Claim"], ["t", "Take over"], ["r", "Release"], ["x", "Close the conversation"], ["m", "Write a message"],
  ["Enter", "Send"], ["Shift Enter", "New line"], ["Esc", "Back to the list"],
];

/// Lists the keys; single keys can be switched off, because speech input could press them by accident.
export function showKeys(listed = keys) {
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

export function hasSingleKeys() { return recall("keys") !== "off"; }
