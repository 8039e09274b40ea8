// Renders texts, files and pictures as Apple's Messages app shows them, and reads the parts of a message.
import { button, element, fill, icon } from "./dom.js";
import { isEmoji, link, linked, safe, size, visible, webAddress } from "./text.js";

const shortTextLength = 4_000;
const longTextLength = 200_000;
const shortJSONLength = 20_000;
const longestPicture = 1_500_000;

export const list = (value, type = "object") => (Array.isArray(value) ? value.filter((item) => item && typeof item === type) : []);
export const object = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});
export const text = (value) => (typeof value === "string" || typeof value === "number" ? String(value) : "");

/// The elements in their `order`; an element without it counts at its index.
export function inOrder(elements) {
  return list(elements).map((one, index) => ({ one, order: Number.isInteger(one.order) ? one.order : index }))
    .sort((a, b) => a.order - b.order).map(({ one }) => one);
}

/// The parts of a message with `interactiveData`; replies have their bubbles inside `data`.
export function interaction(message) {
  const outer = object(message.interactiveData);
  const data = object(outer.data);
  return {
    outer, data,
    received: object(outer.receivedMessage ?? data.receivedMessage),
    reply: object(outer.replyMessage ?? data.replyMessage),
    picture: (identifier) => list(data.images).find((image) => text(image.identifier) === text(identifier) && identifier !== undefined),
  };
}

/// Whether a line only says that somebody begins or stops typing.
export const isTyping = (line) => line?.kind === "typingStart" || line?.kind === "typingEnd";

/// Whether a message to the customer was refused, expired or dropped, or failed in the browser.
export function isFailure(line) {
  return Boolean(line.problem) || (line.direction === "outbound" && line.outcome && line.outcome !== "accepted" && line.outcome !== "queued");
}

/// Whether a line is shown as a bubble; false for typing and for lines that only have the results of attachments.
export const isShown = (line) => Boolean(line.message) && !isTyping(line);

/// A line in one sentence, for lists and screen readers.
export function summary(line) {
  const message = object(line.message);
  const { data, outer, received, reply } = interaction(message);
  const own = (() => {
    switch (line.kind) {
      case "text":
        if (message.type === "richLink") return text(object(message.richLinkData).title) || text(object(message.richLinkData ?? message.preview).url);
        return [text(message.body).replaceAll("\ufffc", "").trim(), ...list(message.attachments).map((file) => `[${text(file.name) || "file"}]`)].filter(Boolean).join(" ");
      case "quickReply": return chosenChip(data) || text(object(data["quick-reply"]).summaryText);
      case "listPicker": return text(reply.title) || text(received.title);
      case "timePicker": return text(object(data.event).title) || text(received.title);
      case "form": return text(received.title) || "Form";
      case "authentication": return text(received.title) || "Sign-in";
      case "applePay": return text(received.title) || text(reply.title) || "Apple Pay";
      case "app": return text(reply.title) || text(received.title) || text(outer.appName);
      case "invitation": return "Invitation";
      case "close": return "Closed the conversation";
      case "typingStart": return "Is typing";
      default: return "";
    }
  })();
  return safe(own || kindName(line.kind)).slice(0, 200);
}

/// The name of a kind for people.
export function kindName(kind) {
  return {
    text: "Message", quickReply: "Quick reply", listPicker: "List picker", timePicker: "Time picker", form: "Form",
    authentication: "Sign-in", applePay: "Apple Pay", app: "App", invitation: "Invitation", close: "Closed",
    unrecognized: "Unknown message",
  }[kind] ?? "Message";
}

export function bubble(children, extra = "") {
  return element("div", { class: `bubble ${extra}`.trim(), dir: "auto" }, children);
}

/// The dots of somebody who types, hidden at first, with a node for words.
export function typingDots(words) {
  return element("div", { class: "typing", hidden: true }, element("span", { class: "dots", "aria-hidden": "true" }, element("i"), element("i"), element("i")), words);
}

/// The row of a chosen file, with a fact about it and a button that removes it.
export function fileRow(name, fact, remove, isFailure = false) {
  return element("li", { class: isFailure && "failure" }, icon("file"), element("bdi", {}, visible(name)), element("small", {}, fact),
    button(icon("cross"), { class: "icon-button small", "aria-label": `Remove ${visible(name)}` }, remove));
}

/// A bubble with a heading, as Messages shows interactive messages.
export function card(label, children, { title, subtitle, picture } = {}) {
  return element("div", { class: "bubble card" },
    picture && pictureOf(picture),
    element("div", { class: "card-body" },
      element("p", { class: "card-label" }, label),
      title && element("p", { class: "card-title", dir: "auto" }, safe(title)),
      subtitle && element("p", { class: "card-subtitle", dir: "auto" }, safe(subtitle)),
      children));
}

function longText(body) {
  const shown = safe(body.slice(0, shortTextLength));
  if (body.length <= shortTextLength) return linked(shown);
  const holder = element("span", {}, linked(shown), "… ");
  holder.append(button(`Show all ${body.length.toLocaleString()} characters`, { class: "plain" }, () => {
    const isCut = body.length > longTextLength;
    fill(holder, linked(safe(body.slice(0, longTextLength))), isCut && `… (${body.length} characters)`);
  }));
  return holder;
}

/// The children for `element()` that show a line that is neither interactive nor a change of the conversation: text and files, a
/// rich link, or JSON. They are one node, or a list in which false and "" stand for parts that are left out.
/// `options.download(index)` returns a promise of a file's `Blob`; it is absent when there are no files. `options.isOwn` is true
/// on the device that sent the files.
export function plainContent(line, options = {}) {
  const message = object(line.message);
  try {
    if (line.kind === "text") return message.type === "richLink" ? richLink(message) : textAndFiles(line, message, options);
  } catch { /* A part of the message has an unexpected type: it is shown as JSON. */ }
  return [card(kindName(line.kind), [raw(message)])];
}

function textAndFiles(line, message, options) {
  const body = text(message.body).replaceAll("\ufffc", "").trim();
  const subject = text(message.subject);
  return [
    subject && bubble(element("strong", {}, safe(subject.slice(0, shortTextLength)))),
    body && (isEmoji(body) ? element("div", { class: "emoji", dir: "auto" }, body) : bubble(longText(body))),
    ...files(line, message, options),
    !body && !subject && list(message.attachments).length === 0 && bubble("(empty message)", "faint"),
  ];
}

const shownTypes = { "image/png": 1, "image/jpeg": 1, "image/jpg": 1, "image/gif": 1, "image/webp": 1 };
const shownPictureBytes = 5_000_000;

export function files(line, message, { download, isOwn }) {
  return list(message.attachments).map((file, index) => {
    const name = visible(text(file.name) || `file ${index + 1}`);
    const result = line.files?.[index];
    const bytes = size(result?.size ?? file.size);
    const type = text(file.mimeType).toLowerCase();
    const sign = icon(type.startsWith("video/") ? "play" : "file");
    const box = element("div", { class: "bubble file" });
    const facts = element("span", { class: "file-facts" },
      element("bdi", { class: "file-name" }, name), element("span", { class: "file-size" }, [type.startsWith("video/") && "Video", bytes].filter(Boolean).join(", ")));
    const state = element("span", { class: "file-size", role: "status" });
    if (result?.failure) {
      fill(box, sign, facts, element("span", { class: "file-size" }, "Not downloaded"));
    } else if (!download || (line.direction === "inbound" && !isOwn && !result)) {
      fill(box, sign, facts, line.direction === "inbound" && !isOwn && element("span", { class: "file-size" }, "Being downloaded…"));
    } else {
      fill(box, button([sign, facts], { class: "file-button", "aria-label": `Save ${name}` }, async () => {
        state.textContent = "Loading…";
        try {
          saveAs(await download(index), text(file.name) || `file-${index + 1}`);
          state.textContent = "";
        } catch (error) { state.textContent = error.message; }
      }), state);
      if (Object.hasOwn(shownTypes, type) && Number(result?.size ?? file.size ?? 0) <= shownPictureBytes) {
        const place = element("span", { class: "photo" });
        box.prepend(place);
        whenSeen(box, async () => {
          try {
            const blob = await download(index);
            const picture = element("img", { alt: name });
            picture.addEventListener("error", () => { place.remove(); state.textContent = "The picture cannot be shown"; });
            picture.addEventListener("load", () => URL.revokeObjectURL(picture.src));
            picture.src = URL.createObjectURL(new Blob([blob], { type: type === "image/jpg" ? "image/jpeg" : type }));
            place.append(picture);
          } catch (error) {
            place.remove();
            state.textContent = error.message;
          }
        });
      }
    }
    return box;
  });
}

function whenSeen(node, action) {
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    void action();
  });
  watch.observe(node);
}

/// Saves a file; the name has no character that could deceive.
export function saveAs(blob, name) {
  const address = URL.createObjectURL(new Blob([blob], { type: "application/octet-stream" }));
  const anchor = element("a", { href: address, download: name.replace(/[\u0000-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2066-\u2069/\\]/gu, "_") });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/// A picture of a message; a format that browsers do not show becomes a sentence.
export function pictureOf(image) {
  const data = text(image?.data).replace(/\s/gu, "");
  const type = { iVBORw0KGgo: "image/png", "/9j/": "image/jpeg", R0lGOD: "image/gif", UklGR: "image/webp" };
  const start = Object.keys(type).find((prefix) => data.startsWith(prefix));
  if (!start || data.length > longestPicture || data.length % 4 !== 0 || !/^[A-Za-z0-9+/=]+$/u.test(data)) {
    return element("p", { class: "no-picture" }, data ? "The picture cannot be shown" : "No picture");
  }
  const picture = element("img", { alt: visible(text(image?.description)), src: `data:${type[start]};base64,${data}` });
  picture.addEventListener("error", () => picture.replaceWith(element("p", { class: "no-picture" }, "The picture cannot be shown")));
  return picture;
}

export function chosenChip(data) {
  const reply = object(data["quick-reply"]);
  const items = list(reply.items);
  const item = items.find((one) => reply.selectedIdentifier !== undefined && one.identifier === reply.selectedIdentifier) ?? items[reply.selectedIndex];
  return reply.selectedIdentifier === undefined && reply.selectedIndex === undefined ? "" : text(item?.title) || text(reply.selectedIdentifier);
}

function richLink(message) {
  const data = object(message.richLinkData ?? message.preview);
  const target = webAddress(data.url);
  const image = object(data.assets).image;
  const isVideo = Boolean(object(data.assets).video);
  const body = [
    (image || isVideo) && element("span", { class: "link-picture" }, image && pictureOf(image), isVideo && element("span", { class: "video-mark" }, icon("play"), "Video")),
    element("span", { class: "card-body" },
      element("span", { class: "card-title", dir: "auto" }, safe(text(data.title) || text(data.url))),
      element("span", { class: "card-subtitle" }, target ? new URL(target).hostname : "not a web address")),
  ];
  return element("div", { class: "bubble card rich-link" }, target ? link(target, body) : body);
}

/// A folded section with the message as JSON, which is rendered when the section is opened.
export function raw(message) {
  const code = element("pre", { tabindex: 0, "aria-label": "JSON" });
  const write = () => {
    if (code.textContent) return;
    const json = JSON.stringify(message, null, 2);
    code.textContent = visible(json.slice(0, shortJSONLength)) + (json.length > shortJSONLength ? `\n… ${json.length} characters` : "");
  };
  return element("details", { class: "raw", on: { toggle: write } }, element("summary", {}, "Details"), code);
}
