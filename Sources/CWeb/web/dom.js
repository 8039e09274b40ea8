// Elements without markup: every text becomes a text node, so nothing that a customer writes is ever parsed.

/// The children without those that are left out; a list in a list is one list.
const shown = (children) => children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false && child !== "");

/// Makes an element. `on` has the event listeners, an attribute that is false or undefined is left out, and texts
/// become text nodes.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") {
      for (const [type, listener] of Object.entries(value)) made.addEventListener(type, listener);
    } else if (value !== undefined && value !== null && value !== false) {
      made.setAttribute(key, value === true ? "" : String(value));
    }
  }
  made.append(...shown(children));
  return made;
}

/// A button that does not send a form.
export function button(label, attributes, action) {
  return element("button", { type: "button", ...attributes, on: { click: action } }, label);
}

/// A field after its label.
export function labelled(label, field, attributes) { return [element("label", { for: field.id, ...attributes }, label), field]; }

/// Replaces the content of a node.
export function fill(node, ...children) {
  node.replaceChildren(...shown(children));
}

const versions = new WeakMap();

/// Replaces the content of a node by what `make` returns, only when `version` differs from that of the last call, so that the focus
/// inside stays and a screen reader repeats nothing; returns whether it did.
export function refill(node, version, make) {
  const text = JSON.stringify(version ?? null);
  if (versions.get(node) === text) return false;
  versions.set(node, text);
  fill(node, make());
  return true;
}

/// Sets the options of a select, each a value and a text, and chooses one; equal options stay, so that an open select does too.
export function setOptions(select, options, chosen) {
  refill(select, options, () => options.map(([value, text]) => element("option", { value }, text)));
  select.value = chosen;
}

/// Makes `nodes` the children of a node; those that are in their place are not touched, and a moved one gets its focus back.
export function arrange(parent, nodes) {
  const focused = document.activeElement;
  const wanted = new Set(nodes);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  nodes.forEach((node, index) => {
    if (parent.children[index] !== node) parent.insertBefore(node, parent.children[index] ?? null);
  });
  if (focused !== document.activeElement && focused?.isConnected) focused.focus();
}

/// Moves the focus in a list by the arrow keys, Home and End; `rows` are the nodes that can have it.
export function moveFocus(event, rows) {
  const place = rows.indexOf(document.activeElement);
  const next = { ArrowDown: rows[place + 1], ArrowUp: rows[place - 1], Home: rows[0], End: rows.at(-1) }[event.key];
  if (place < 0 || !next) return;
  event.preventDefault();
  next.focus();
}

/// Marks a node as the current one of its list, or not. Firefox before 119 does not reflect `ariaCurrent`.
export function markCurrent(node, isCurrent) {
  if (isCurrent) node.setAttribute("aria-current", "true"); else node.removeAttribute("aria-current");
}

/// Sets the text of a node only when it differs, so that a screen reader does not repeat it.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/// Stores a text under a name until the tab is closed; returns false when the browser stores nothing for this page.
export function remember(name, text) {
  try {
    if (text === undefined) sessionStorage.removeItem(`balloon.${name}`); else sessionStorage.setItem(`balloon.${name}`, text);
    return true;
  } catch {
    return false;
  }
}

/// The stored text with this name; undefined when there is none.
export function recall(name) {
  try { return sessionStorage.getItem(`balloon.${name}`) ?? undefined; } catch { return undefined; }
}

/// Loads a module that a page needs only for some of its screens, and their style sheet; throws a sentence when the server does not answer.
export async function whenNeeded(load, style) {
  try {
    if (style && !document.querySelector(`link[href$="/${style}"]`)) await styled(style);
    return await load();
  } catch (cause) {
    throw new Error("A part of the page cannot be loaded. Start the server again, and then try once more or reload the page.", { cause });
  }
}

function styled(name) {
  return new Promise((resolve, reject) => {
    const link = element("link", { rel: "stylesheet", href: new URL(name, import.meta.url).pathname, on: { load: resolve, error: () => { link.remove(); reject(new Error(name)); } } });
    document.head.append(link);
  });
}

const shapes = {
  back: "M15 5l-7 7 7 7",
  attach: "M20 11.5l-8.2 8.2a5 5 0 0 1-7.1-7.1l8.5-8.5a3.4 3.4 0 0 1 4.8 4.8l-8.5 8.5a1.7 1.7 0 0 1-2.4-2.4l7.7-7.7",
  send: "M12 20V5M5.5 11.5L12 5l6.5 6.5",
  cross: "M6 6l12 12M18 6L6 18",
  file: "M7 3.5h7l4.5 4.5v12a1 1 0 0 1-1 1H7a1 1 0 0 1-1-1v-15.5a1 1 0 0 1 1-1zM14 3.5V8h4.5",
  smile: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM8.5 14a4.2 4.2 0 0 0 7 0M9 9.5v.5M15 9.5v.5",
  check: "M5 12.5l4.5 4.5L19 7.5",
  play: "M8 5.5l10.5 6.5L8 18.5z",
  list: "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
  clock: "M12 20.5a8.5 8.5 0 1 0 0-17 8.5 8.5 0 0 0 0 17zM12 7v5l3.5 2",
  person: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.5a7.5 7.5 0 0 1 15 0",
  card: "M3.5 7.5a2 2 0 0 1 2-2h13a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-13a2 2 0 0 1-2-2zM3.5 10h17",
  app: "M5 5h5v5H5zM14 5h5v5h-5zM5 14h5v5H5zM14 14h5v5h-5z",
};

/// A small drawing that screen readers skip.
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const drawing = document.createElementNS(space, "svg");
  for (const [key, value] of Object.entries({ viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" })) {
    drawing.setAttribute(key, value);
  }
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", shapes[name]);
  drawing.append(path);
  return drawing;
}
