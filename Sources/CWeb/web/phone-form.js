// A form as a device shows it: first page, questions with branches and a way back, and the summary.
import { interaction, list, object, pictureOf, text } from "./bubbles.js";
import { button, element, fill, labelled, say } from "./dom.js";
import { nameOf, rule } from "./phone-bubbles.js";
import { dateOf, dateText, formOf, nextPage, today } from "./phone-offer.js";
import { safe, visible } from "./text.js";

const inputModes = { numberpad: "numeric", decimalpad: "decimal", phonepad: "tel", emailaddress: "email", url: "url", websearch: "search" };

/// The `inputmode` of an Apple keyboard, whose name may begin with `UIKeyboardType`.
function inputMode(keyboard) {
  const name = text(keyboard).replace(/^UIKeyboardType/u, "").toLowerCase();
  return Object.hasOwn(inputModes, name) ? inputModes[name] : "text";
}

/// Fills `body` with the pages of a form one after the other.
export function formSheet({ matches, message, answer, body, title: sheetTitle }) {
  const form = formOf(message);
  const { picture } = interaction(message);
  /// The answered pages in their order: `{page, positions?, value?}`.
  const path = [];
  const values = new Map();
  const heading = element("h3", { tabindex: -1, dir: "auto" });

  const fills = () => path.flatMap(({ page, positions, value }) => {
    const identifier = text(page.pageIdentifier);
    if (positions === undefined) return value === "" ? [] : [{ page: identifier, value }];
    const titles = list(page.items).map((item) => text(item.title) || text(item.identifier));
    return positions.map((position) => ({ page: identifier, value: nameOf(position, titles) }));
  });

  const draw = (title, nodes, buttons) => {
    say(heading, safe(title));
    // The sheet's own title is not repeated.
    heading.hidden = !title || safe(title) === sheetTitle;
    fill(body, heading, nodes, element("div", { class: "sheet-foot" }, buttons));
    body.scrollTop = 0;
  };
  const focusPage = () => (body.querySelector("[data-first]") ?? (heading.hidden ? body.querySelector("button") : heading))?.focus();

  const back = () => button("Back", { class: "secondary" }, () => {
    const last = path.pop();
    if (last) showPage(text(last.page.pageIdentifier)); else showSplash();
    focusPage();
  });

  function showSplash() {
    const { splash } = form;
    const image = picture(splash.imageIdentifier);
    draw(text(splash.header), [
      image && element("div", { class: "sheet-picture" }, pictureOf(image)),
      text(splash.splashtext) && element("p", { class: "form-text", dir: "auto" }, safe(text(splash.splashtext))),
      form.isPrivate && element("p", { class: "hint" }, "Your answers are private."),
      form.pages.length === 0 && rule("The form has no pages."),
    ], [button(safe(text(splash.buttonTitle)) || "Continue", { class: "primary wide", dir: "auto", "data-first": true }, () => { showPage(form.start); focusPage(); })]);
  }

  function showEnd(title, sentence) {
    draw(title, [rule(sentence)], [path.length > 0 && back()]);
  }

  function showPage(identifier) {
    const page = form.byIdentifier.get(identifier);
    const shown = visible(identifier);
    if (!page) return showEnd("The form ends here", `The form leads to the page “${shown}”, which does not exist. A device cannot continue.`);
    if (path.some((one) => one.page === page)) return showEnd("The form ends here", `The form leads back to the page “${shown}”: its pages are in a circle. A device cannot continue.`);
    const type = text(page.type);
    const make = { select, picker, datePicker, input }[type];
    if (!make) return showEnd(text(page.title), `The page “${shown}” has the type “${visible(type)}”, which devices do not know.`);
    const submit = button("Next", { class: "primary" }, () => void next());
    const part = make(page, (isReady) => { submit.disabled = !isReady; });
    let isNext = false;
    const next = async () => {
      if (isNext) return;
      isNext = true;
      const given = await part.read();
      isNext = false;
      if (!given) return;
      path.push({ page, ...given });
      values.set(page, given);
      advance(nextPage(page, given.positions?.[0]));
      if (body.isConnected) focusPage();
    };
    body.onkeydown = (event) => {
      if (event.key !== "Enter" || event.target.tagName === "BUTTON" || event.target.tagName === "TEXTAREA" || submit.disabled) return;
      event.preventDefault();
      void next();
    };
    const isLast = type !== "select" && nextPage(page, 0) === "" && !form.hasSummary;
    say(submit, isLast ? "Send" : "Next");
    draw(text(page.title), [
      text(page.subtitle) && element("p", { class: "form-text", dir: "auto", id: "form-question" }, safe(text(page.subtitle))),
      identifier.length >= 20 && rule("A page identifier has fewer than 20 characters."),
      part.nodes,
    ], [path.length > 0 || text(form.splash.buttonTitle) ? back() : null, submit]);
    part.check();
    return undefined;
  }

  function advance(identifier) {
    if (identifier) return showPage(identifier);
    if (form.hasSummary) return showSummary();
    return void finish();
  }

  async function finish() {
    const buttons = [...body.querySelectorAll(".sheet-foot button")];
    for (const one of buttons) one.disabled = true;
    const isSent = await answer({ fills: fills() });
    if (isSent) return;
    for (const one of buttons) one.disabled = false;
    // The last page is not answered while its answer was not sent.
    if (!form.hasSummary) path.pop();
  }

  function showSummary() {
    body.onkeydown = null;
    draw("Summary", [
      form.isPrivate && element("p", { class: "hint" }, "Your answers are private."),
      element("dl", { class: "answers summary" }, path.map(({ page, positions, value }) => {
        const prefix = text(page.type) === "input" && text(object(page.options).inputType) !== "multiline" && value ? text(object(page.options).prefixText) : "";
        const format = text(object(page.options).dateFormat) || undefined;
        const shown = positions ? positions.map((position) => text(list(page.items)[position]?.title)).join(", ") : text(page.type) === "datePicker" ? dateText(value, format) : prefix + value;
        return [element("dt", { dir: "auto" }, safe(text(page.title) || text(page.subtitle) || text(page.pageIdentifier))), element("dd", { dir: "auto" }, safe(shown) || "no answer")];
      })),
    ], [back(), button("Send", { class: "primary" }, () => void finish())]);
  }

  // Pages; each has `nodes`, `check()`, which enables the button, and `read()`, which is undefined when nothing fits.

  function select(page, ready) {
    const isMultiple = page.multipleSelection === true;
    const items = list(page.items);
    const chosen = new Set(values.get(page)?.positions ?? []);
    const read = () => { const positions = [...holder.querySelectorAll("input:checked")].map((one) => Number(one.value)); return positions.length > 0 ? { positions } : undefined; };
    const check = () => ready(read() !== undefined);
    const holder = element("ul", { class: "choices-list", on: { change: check } },
      items.map((item, position) => {
        const image = picture(item.imageIdentifier);
        const entry = element("input", { type: isMultiple ? "checkbox" : "radio", name: "form-item", value: position, "data-first": position === 0 });
        entry.checked = chosen.has(position);
        return element("li", {}, element("label", { class: "choice" }, entry, element("span", { class: "choice-words", dir: "auto" },
          image && element("span", { class: "thumb" }, pictureOf(image)),
          element("span", { class: "choice-title" }, safe(text(item.title) || text(item.identifier) || "(no title)")),
          item.imageIdentifier !== undefined && !image && rule(`The message has no image “${visible(text(item.imageIdentifier))}”.`))));
      }));
    const isBranching = isMultiple && items.some((item) => text(item.nextPageIdentifier));
    const group = element("div", { role: isMultiple ? "group" : "radiogroup", "aria-labelledby": text(page.subtitle) ? "form-question" : null, "aria-label": text(page.subtitle) ? null : "Choices" }, holder);
    return { nodes: [group, items.length === 0 && rule("This page has no items."), isBranching && rule("A page with several selections has no branches; a device ignores nextPageIdentifier of its items.")], check, read };
  }

  function picker(page, ready) {
    const items = list(page.items);
    const start = Number.isInteger(page.selectedItemIndex) && items[page.selectedItemIndex] ? page.selectedItemIndex : 0;
    const label = text(page.pickerTitle) || text(page.subtitle) || "Choose";
    const wheel = element("select", { id: "form-picker", "data-first": true, dir: "auto" }, items.map((item, position) => element("option", { value: position }, safe(text(item.title) || text(item.identifier)))));
    wheel.value = String(values.get(page)?.positions?.[0] ?? start);
    return {
      nodes: [labelled(safe(label), wheel, { dir: "auto" }), items.length === 0 && rule("This page has no items."),
        page.selectedItemIndex !== undefined && page.selectedItemIndex !== start && rule("selectedItemIndex names no item; a device shows the first one.")],
      check: () => ready(items.length > 0), read: () => (items.length > 0 ? { positions: [Number(wheel.value)] } : undefined),
    };
  }

  function datePicker(page, ready) {
    const options = object(page.options);
    const format = text(options.dateFormat) || undefined;
    const minimum = dateOf(options.minimumDate, format);
    const maximum = dateOf(options.maximumDate, format) || today();
    const field = element("input", { type: "date", id: "form-date", min: minimum || null, max: maximum, required: true, "data-first": true, "aria-describedby": "form-hint" });
    field.value = values.get(page)?.value ?? (dateOf(options.startDate, format) || today());
    const problem = element("p", { class: "hint", id: "form-hint", role: "status" });
    const isReady = () => field.value !== "" && (!minimum || field.value >= minimum) && field.value <= maximum;
    const check = () => {
      ready(isReady());
      say(problem, field.value && minimum && field.value < minimum ? `The earliest date is ${dateText(minimum, format)}.`
        : field.value > maximum ? `The latest date is ${dateText(maximum, format)}.` : text(page.hintText));
    };
    field.addEventListener("input", check);
    const unreadable = ["startDate", "minimumDate", "maximumDate"].filter((name) => options[name] !== undefined && !dateOf(options[name], format));
    return {
      nodes: [labelled(safe(text(options.labelText) || "Date"), field, { dir: "auto" }), problem,
        unreadable.map((name) => rule(`${name} is no date of the format ${visible(format ?? "MM/dd/yyyy")}.`))],
      check, read: () => (isReady() ? { value: field.value } : undefined),
    };
  }

  function input(page, ready) {
    const options = object(page.options);
    const isMultiline = text(options.inputType) === "multiline";
    const isRequired = options.required === true;
    const longest = Number.isInteger(options.maximumCharacterCount) && options.maximumCharacterCount > 0 ? options.maximumCharacterCount : isMultiline ? 300 : 30;
    const regex = text(options.regex);
    const attributes = {
      id: "form-input", placeholder: visible(text(options.placeholder)) || (isRequired ? "Required" : "Optional"), inputmode: inputMode(options.keyboardType),
      autocomplete: "off", dir: "auto", required: isRequired, "data-first": true, "aria-describedby": "form-hint",
    };
    const isSecret = /password/iu.test(text(options.textContentType));
    const field = isMultiline ? element("textarea", { ...attributes, rows: 5 }) : element("input", { ...attributes, type: isSecret ? "password" : "text" });
    field.value = values.get(page)?.value ?? "";
    const count = element("span", { class: "hint count-of" });
    const problem = element("p", { class: "hint", id: "form-hint", role: "status" });
    const isReady = () => {
      const { value } = field;
      if (value === "") return !isRequired;
      return [...value].length <= longest && fits;
    };
    const check = () => {
      ready(isReady());
      const length = [...field.value].length;
      say(count, length > longest * 0.7 ? `${length} of ${longest}` : "");
      say(problem, length > longest ? `At most ${longest} characters.` : field.value && !fits ? "This does not fit the expected form." : text(page.hintText));
    };
    // The server decides, as it does when the answer is sent; while it does not answer, the text passes.
    let fits = true;
    let asked;
    const broken = element("div", {});
    const ask = () => {
      check();
      if (regex === "") return;
      const question = matches(regex, field.value).catch(() => ({ isValid: true, matches: true })).then((found) => {
        if (question !== asked) return;
        fits = found.matches;
        fill(broken, !found.isValid && rule("The pattern is no regular expression; a device ignores it."));
        check();
      });
      asked = question;
    };
    field.addEventListener("input", ask);
    ask();
    const prefix = isMultiline ? "" : text(options.prefixText);
    const label = (!isMultiline && text(options.labelText)) || text(page.subtitle) || "Answer";
    return {
      nodes: [element("label", { for: "form-input", dir: "auto" }, safe(label)),
        element("div", { class: "prefixed" }, prefix && element("span", { class: "prefix", dir: "auto" }, safe(prefix)), field), count, problem, broken],
      check,
      read: async () => {
        await asked;
        return isReady() ? { value: field.value } : undefined;
      },
    };
  }

  queueMicrotask(() => {
    if (text(form.splash.buttonTitle)) showSplash(); else showPage(form.start);
    focusPage();
  });
  return [];
}
