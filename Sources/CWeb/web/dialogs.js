// Sheets: questions before a change, and the list of keys. They are <dialog> elements, which keep the focus and close
// on Escape.
import { button, element, icon, remember, say } from "./dom.js";
import { hasSingleKeys } from "./frame.js";
import { visible } from "./text.js";

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

/// The button that dismisses a sheet.
export function cancel(finish) { return button("Cancel", { class: "secondary" }, () => finish(undefined)); }

/// The button that ends a sheet which asks nothing.
export function done(finish) { return button("Done", { class: "primary", "data-first": true }, () => finish(true)); }

/// Asks with a form. Resolves with what `send(values)` returns, or true, when the form is sent; the sentence of an error that `send`
/// throws is shown, and the sheet stays. `more(finish)` makes a further button, `submit` has attributes of the button that sends.
export function ask(title, nodes, label, send, { place, more, submit } = {}) {
  return sheet(title, (finish) => {
    const problem = element("p", { class: "failure", role: "alert" });
    const form = element("form", { class: "sheet-body" }, nodes, problem, actions(more?.(finish), cancel(finish), element("button", { class: "primary", ...submit }, label)));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      say(problem, "");
      try { finish(await send?.(Object.fromEntries(new FormData(form))) ?? true); } catch (error) { say(problem, visible(error.message)); }
    });
    return form;
  }, { place });
}

/// Asks for confirmation of a change that a colleague or the customer notices.
export function confirm(title, text, label, { isDanger = false } = {}) {
  return ask(title, element("p", { dir: "auto" }, text), label, undefined, { submit: isDanger ? { class: "primary danger" } : { "data-first": true } });
}

/// Lists the keys; single keys can be switched off, because speech input could press them by accident.
export function showKeys(listed) {
  return sheet("Keys", (finish) => {
    const single = element("input", { type: "checkbox", id: "single-keys" });
    single.checked = hasSingleKeys();
    single.addEventListener("change", () => remember("keys", single.checked ? "on" : "off"));
    return element("div", { class: "sheet-body" },
      element("dl", { class: "keys" }, listed.map(([key, meaning]) => [
        element("dt", {}, key.split(" ").map((one) => [element("kbd", {}, one), " "])), element("dd", {}, meaning)])),
      element("label", { class: "check", for: "single-keys" }, single, "Single letters work outside of text fields"),
      actions(done(finish)));
  });
}
