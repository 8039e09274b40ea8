// Write a bot for Apple Messages for Business in Node, in one file and with no dependencies. Node 18 or newer.
//
//     import { Bot, quickReply } from "./balloon.mjs";
//
//     const bot = new Bot("shop");
//     bot.on.text((event) => quickReply("What can we do for you?", [["order", "Order bread"], ["person", "Talk to a person"]]));
//     bot.run(import.meta.url);
//
// A function gets an event and returns, perhaps by a promise, a text, a message, an array of them, an outcome (`handoff`,
// `retry`, `reject`), or nothing. `event.state` is an object that the server keeps for the conversation. Every message is
// checked when it is built: `MessageError` names the rule and the place.
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { createHash, createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { closeSync, fstatSync, mkdtempSync, openSync, readFileSync, realpathSync, rmSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { basename, extname, isAbsolute, join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const APPLE = "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension";
const MAXIMUM_STATE_BYTES = 32768;
const MAXIMUM_REQUEST_BYTES = 128 * 1024 * 1024;
const SIGNATURE_SECONDS = 300;
const MAXIMUM_DEPTH = 100;
const REFUSED = -32002;
/** The parameter that says what a call is about, and its kind. */
const NEEDED = { event: ["event", "object"], payment: ["call", "string"] };

// Errors.

/**
 * A message that Apple would refuse, or a value that cannot be sent. `rule` and `pointer` are those that `balloon validate`
 * prints; `problems` lists every broken rule of the message.
 *
 * The text says what is wrong without the words of the message, so it may be logged. An event whose function throws it is a
 * dead letter with `problems`, and the `fallback` of the business's file answers the customer.
 */
export class MessageError extends Error {
  constructor(rule, pointer, found, allowed, broken = [{ rule, pointer, found, allowed }]) {
    // Parts of every type become texts that can be sent.
    const [first] = problemsIn([{ rule, pointer, found, allowed }]);
    super(`${first.rule} at ${first.pointer || "/"}: found ${first.found}, allowed ${first.allowed}`);
    Object.assign(this, { name: "MessageError", ...first, problems: problemsIn(broken) });
  }
}

/** Problems as they are sent: four texts each. */
const problemsIn = (list) => Array.from(list ?? [], (each) =>
  ({ rule: asText(each?.rule), pointer: asText(each?.pointer), found: asText(each?.found), allowed: asText(each?.allowed) }));

/** A value as a text that can be sent; an object without a prototype has none. */
function asText(value) {
  try {
    return whole(String(value));
  } catch {
    return "a value without a text";
  }
}

/**
 * A message without an event that the server refused. `code` is the protocol's; -32001 and -32004 mean: try again.
 *
 * -32005 means that a person has the conversation: drop the message.
 */
export class SendError extends Error {
  constructor(code, message) {
    super(`${message} (${code})`);
    Object.assign(this, { name: "SendError", code });
  }
}

/** A request that no server with the right secret signed, or one that is more than five minutes old. */
export class SignatureError extends Error {}

/** A call of the server without its parameters. */
class CallError extends Error {}

/** `balloon simulate` failed; the text is what it printed. */
export class SimulationError extends Error {}

// Arguments of builders.

/** The kind of an argument: words for the author of the bot, a test, and for a list the kind of its parts. */
const wanted = (words, test, part) => ({ words, test, part });

/** A list of values; a text is none, although it can be iterated over. */
const list = (part) =>
  wanted(`an array, each ${part.words}`, (value) => typeof value === "object" && typeof value?.[Symbol.iterator] === "function", part);

const isObject = (value) => kindOf(value) === "object";
/** Whether a section or a page has an array of items; the rules of messages name what else is wrong. */
const hasItems = ({ items }) => Array.isArray(items) && items.every(isObject);

const ANY = wanted("a value", () => true);
const TEXT = wanted("a text", (value) => typeof value === "string");
const NUMBER = wanted("a finite number", (value) => Number.isFinite(value));
const OBJECT = wanted("an object", isObject);
const BYTES = wanted("bytes, such as a Buffer", (value) => value instanceof Uint8Array || value instanceof ArrayBuffer);
const START = wanted("a valid Date or a text", (value) =>
  typeof value === "string" || (value instanceof Date && !Number.isNaN(value.getTime())));
const IMAGE = wanted("an Image", (value) => value instanceof Image);
const SOURCE = wanted("the path or the bytes of a file", (value) => ["string", "URL", "Uint8Array"].includes(kindOf(value)));
const FILE = wanted("the path of a file", (value) => typeof value === "string" || isObject(value));
const ITEM = wanted("an item or [identifier, title]", (value) =>
  isObject(value) || (Array.isArray(value) && (value.length === 2 || (value.length === 3 && isObject(value[2])))));
const SECTION = wanted("a section", (value) => isObject(value) && hasItems(value));
const PAGE = wanted("a page", (value) => isObject(value) && (value.items === undefined || hasItems(value)));
const SLOT = wanted("a slot", isObject);
const orNothing = (kind) => wanted(kind.words, (value) => value === undefined || value === null || kind.test(value));

/** Returns an argument of a builder, or throws MessageError with its name; a list is copied to an array. */
function read(value, kind, pointer, builder) {
  if (!kind.test(value)) {
    throw new MessageError("type", pointer, shown(value), `${kind.words}, for ${pointer.split("/")[1]} of ${builder}`);
  }
  return kind.part ? Array.from(value, (each, place) => read(each, kind.part, `${pointer}/${place}`, builder)) : value;
}

/**
 * A builder whose arguments of a wrong kind throw MessageError, as a wrong message does.
 *
 * `kinds` has the arguments in their order, and in `options` the options that the function takes apart; the rules of
 * messages name what else is wrong. An option that is null is missing.
 */
function builder({ options, ...kinds }, build) {
  return (...given) => {
    // Outside of the function: an error of an iterator is an error of the bot.
    const values = Object.entries(kinds).map(([name, kind], place) => read(given[place], kind, `/${name}`, build.name));
    if (options) {
      const chosen = given[values.length];
      values.push(Object.fromEntries((isObject(chosen) ? Object.entries(chosen) : [])
        .filter(([, value]) => value !== undefined && value !== null)
        .map(([name, value]) => [name, read(value, options[name] ?? ANY, `/${name}`, build.name)])));
    }
    try {
      return build(...values);
    } catch (error) {
      if (error instanceof MessageError || !(error instanceof TypeError || error instanceof RangeError)) throw error;
      throw new MessageError("type", "", `arguments with which ${build.name} threw ${error.name}`,
        `the arguments that the description of ${build.name} names`);
    }
  };
}

// Events.

/**
 * One event, and what is known about its conversation.
 *
 * The members of the protocol's `event` are properties: `kind`, `customer`, `text`, `selectedIdentifier`,
 * `selectedIdentifiers`, `startTime`, `answers`, `locale` and so on; a missing one is undefined. `afterPerson` is a number in
 * the first event after a person answered: the `seq` of the first line without the bot. `isNew` says that the event begins a
 * conversation, and `isReturning` that its customer wrote before, at `lastContact`.
 */
export class Event {
  #params;
  #end;
  #message;

  constructor(params, config = {}) {
    this.#params = params;
    this.#end = Date.now() + (params.deadlineMs ?? 30000);
    for (const name of EVENT_MEMBERS) if (name !== "text") this[name] = params.event[name];
    this.config = config;
    this.deliveryId = params.deliveryId;
    this.attempt = params.attempt ?? 1;
    this.traceparent = params.traceparent;
    this.afterGap = params.afterGap ?? false;
    this.afterPerson = params.afterPerson;
    this.isNew = params.conversation?.isNew ?? false;
    this.isReturning = params.conversation?.isReturning ?? false;
    this.lastContact = params.conversation?.lastContact;
    this.history = params.history ?? [];
    this.state = structuredClone(params.state ?? {});
  }

  /** The whole message as Apple sent it; a long one is read from its file. Use it before you return. */
  get message() {
    const { message, messagePath } = this.#params.event;
    this.#message ??= message ?? JSON.parse(readFileSync(messagePath, "utf8"));
    return this.#message;
  }

  /** The customer's words without the marks of attachments; undefined for an event that is no text. */
  get text() {
    const { text, kind } = this.#params.event;
    // The server leaves a very long text in the message's file.
    return text ?? (kind === "text" ? String(this.message.body ?? "").replaceAll("\ufffc", "").trim() : undefined);
  }

  /**
   * The attachments, in their order: `path`, `size` and `sha256`, or `failure` for one that could not be fetched.
   *
   * `name` and `mimeType` are claims of the customer's device.
   */
  get files() {
    const files = this.#params.files ?? [];
    const claims = files.length > 0 ? this.message.attachments ?? [] : [];
    return files.map((file, place) => ({ ...file, name: claims[place]?.name, mimeType: claims[place]?.mimeType }));
  }

  /** The time until the server stops waiting for the answer. */
  get secondsLeft() {
    return Math.max(0, this.#end - Date.now()) / 1000;
  }

  /** Whether the customer's device has a capability, such as "LIST" or "FORM". */
  can(capability) {
    return (this.capabilities ?? []).includes(capability);
  }
}

// Outcomes.

class Outcome {
  constructor(members) {
    this.members = members;
  }
}

/**
 * A person takes over the conversation; `reason` is for the log.
 *
 * `replies` are a text, a message or an array of them that tell the customer so; without them the server sends the text of
 * the business's `people`, if it has one. `queue` is the id of one of the business's queues, `priority` is 0 to 9, and `note`
 * is for the person.
 */
export const handoff = builder({ reason: ANY, replies: ANY, options: {} }, function handoff(reason = "", replies = undefined, { queue, priority, note } = {}) {
  const told = toReplies(replies);
  return new Outcome({ outcome: "handoff", reason, ...(told.length > 0 && { replies: told }), ...(queue !== undefined && { queue }), ...(priority !== undefined && { priority }), ...(note !== undefined && { note }) });
});

/** The server repeats the event by its schedule, or after so many seconds if that is later (at most 300). */
export const retry = builder({ after: orNothing(NUMBER) }, function retry(after) {
  return new Outcome({ outcome: "retry", ...(after === undefined ? {} : { retryAfterMs: Math.round(after * 1000) }) });
});

/** The event becomes a dead letter; `reason` is for the log. */
export const reject = (reason = "") => new Outcome({ outcome: "reject", reason });

// Messages. Each builder returns the message in Apple's format, and throws MessageError.
//
// The option `fallback` is the text for a device that cannot show the message; without it the server refuses the answer.
// `reusable` says that the content is the same for all customers: Apple stores it once.

/** A PNG or JPEG file, by its path or its bytes; `description` is what VoiceOver reads aloud. */
export class Image {
  constructor(source, description) {
    read(source, SOURCE, "/source", "Image");
    read(description, orNothing(TEXT), "/description", "Image");
    this.bytes = source instanceof Uint8Array ? source : readFileSync(source);
    if (!imageType(this.bytes)) throw new MessageError("imageFormat", "", "another file", "a PNG or JPEG file");
    this.description = description;
    this.identifier = createHash("sha256").update(this.bytes).update(description ?? "").digest("hex").slice(0, 12);
  }
}

/** A text. `files` are paths of files to attach; only a child process may attach files. */
export const text = builder({ body: ANY, options: { files: list(FILE) } }, function text(body, { files = [], subject } = {}) {
  const attachments = files.map((file) => (typeof file !== "string" ? file : {
    path: resolve(file), name: basename(file), mimeType: MEDIA_TYPES[extname(file).toLowerCase()] ?? "application/octet-stream",
  }));
  return check(members({ type: "text", body, subject, attachments: attachments.length > 0 ? attachments : undefined }));
});

/** A web page in a bubble with an `Image` (at most 200 kB, best 240 x 240 pixels), and perhaps a video's URL. */
export const richLink = builder({ url: ANY, title: ANY, options: { image: IMAGE } },
  function richLink(url, title, { image, video, videoType = "video/mp4" } = {}) {
  const assets = members({
    image: image && { data: base64(image.bytes), mimeType: imageType(image.bytes) },
    video: video && { url: video, mimeType: videoType },
  });
  const link = members({ url, title, assets: Object.keys(assets).length > 0 ? assets : undefined });
  return check({ type: "richLink", richLinkData: link });
});

/** The preview that Apple makes of an App Clip, a song or a place; `title` is sent when Apple has none. */
export const linkPreview = builder({ url: ANY, title: ANY, options: {} },
  function linkPreview(url, title, { storeRegion } = {}) {
  return check({ type: "richLink", preview: members({ url, title, storeRegion }) });
});

/** Two to five choices, each `[identifier, title]`. Explain the question in a text before it. Needs QUICK. */
export const quickReply = builder({ summary: ANY, items: list(ITEM), options: {} },
  function quickReply(summary, items, { requestIdentifier, reusable, fallback } = {}) {
  const choices = items.map(toItem).map(({ identifier, title }) => ({ identifier, title }));
  const content = { "quick-reply": { summaryText: summary, items: choices } };
  return interactive(content, { requestIdentifier, reusable, fallback });
});

/**
 * A choice in a list picker or on a page of a form.
 *
 * `subtitle` is for list pickers. On a page, `value` is the answer (the identifier when missing), and `next` names the
 * page that follows this choice.
 */
export const item = builder({ identifier: ANY, title: ANY, options: {} },
  function item(identifier, title, { subtitle, image, value, next } = {}) {
  return members({ identifier, title, subtitle, value, imageIdentifier: image, nextPageIdentifier: next });
});

/** Items of a list picker under a heading; each is an `item` or `[identifier, title]`. */
export const section = builder({ title: ANY, items: list(ITEM), options: {} },
  function section(title, items, { multiple = false } = {}) {
  return { title, multipleSelection: multiple, items: Array.from(items, toItem) };
});

/** A list with sections. `title` and `reply` are the bubbles before and after the choice. Needs LIST. */
export const listPicker = builder({ title: ANY, sections: list(SECTION), options: {} },
  function listPicker(title, sections, options = {}) {
  const ordered = sections.map((each, order) => ({
    ...each, order,
    items: each.items.map(({ value, ...choice }, place) => ({ ...choice, order: place, style: "default" })),
  }));
  return interactive({ listPicker: { sections: ordered } }, { title, ...options });
});

/** A time of a time picker; `start` is a Date, or a text such as 2026-07-10T17:00+0000. */
export const slot = builder({ identifier: ANY, start: START, minutes: NUMBER }, function slot(identifier, start, minutes) {
  return {
  identifier, startTime: start instanceof Date ? start.toISOString().slice(0, 16) + "+0000" : start,
  duration: Math.round(minutes * 60),
};
});

/**
 * Times for an appointment. `location` has title, latitude, longitude, radius; `timezoneOffset` is in minutes.
 *
 * Without `timezoneOffset` the device shows its own time zone. Needs TIME.
 */
export const timePicker = builder({ title: ANY, eventTitle: ANY, slots: list(SLOT), options: {} },
  function timePicker(title, eventTitle, slots, { identifier, location, timezoneOffset, image, ...options } = {}) {
  const event = members({
    identifier: identifier ?? randomUUID(), title: eventTitle, location, timezoneOffset, imageIdentifier: image, timeslots: slots,
  });
  return interactive({ event }, { title, ...options });
});

/** A page with choices. `next` names the following page; `form` links pages without one in their order. */
export const selectPage = builder({ identifier: ANY, question: ANY, items: list(ITEM), options: {} },
  function selectPage(identifier, question, items, { multiple = false, ...options } = {}) {
  return page(identifier, "select", question, options, { multipleSelection: multiple, items: pageItems(items) });
});

/** A page with a wheel; `label` stands beside it, and `selected` is the index of the first shown item. */
export const pickerPage = builder({ identifier: ANY, question: ANY, items: list(ITEM), options: {} },
  function pickerPage(identifier, question, items, { label, selected, ...options } = {}) {
  return page(identifier, "picker", question, options, { pickerTitle: label, selectedItemIndex: selected, items: pageItems(items) });
});

/** A page that asks for a date. Field options: dateFormat, startDate, minimumDate, maximumDate, labelText. */
export const datePage = builder({ identifier: ANY, question: ANY, options: {} },
  function datePage(identifier, question, { title, hint, next, submit, ...field } = {}) {
  return page(identifier, "datePicker", question, { title, next, submit },
    { hintText: hint, options: Object.keys(field).length > 0 ? field : undefined });
});

/**
 * A page with a field. Field options: maximumCharacterCount, regex, placeholder, labelText, prefixText, keyboardType,
 * textContentType.
 */
export const inputPage = builder({ identifier: ANY, question: ANY, options: {} }, function inputPage(
  identifier, question, { title, hint, next, submit, required = false, multiline = false, ...field } = {},
) {
  return page(identifier, "input", question, { title, next, submit },
  { hintText: hint, options: { required, inputType: multiline ? "multiline" : "singleline", ...field } });
});

/**
 * A form. Pages follow each other in their order, unless they or their items name a next page. Needs FORM.
 *
 * `splash` has buttonTitle, header, splashtext, imageIdentifier. Answers to a private form are not kept.
 */
export const form = builder({ title: ANY, pages: list(PAGE), options: {} }, function form(
  title, pages, { start, splash, private: isPrivate = false, showSummary = false, version = "1.1", ...options } = {},
) {
  const linked = pages.map((each, place) => {
    const branches = (each.items ?? []).some((choice) => choice.nextPageIdentifier !== undefined);
    if (each.nextPageIdentifier !== undefined || each.submitForm || branches) return each;
    const following = pages[place + 1];
    return { ...each, ...(following ? { nextPageIdentifier: following.pageIdentifier } : { submitForm: true }) };
  });
  const data = members({
    startPageIdentifier: start ?? pages[0]?.pageIdentifier ?? "", private: isPrivate || undefined,
    showSummary: showSummary || undefined, splash, pages: linked,
  });
  return interactive({ dynamic: { version, template: "messageForms", data } }, { title, ...options });
});

/** A payment; `payment` is Apple's object with endpoints, merchantSession and paymentRequest. Needs a large bubble. */
export const applePay = builder({ title: ANY, payment: OBJECT, options: {} }, function applePay(title, payment, options = {}) {
  return interactive({ payment }, { title: typeof title === "string" ? bubble(title, { style: "large" }) : title, ...options });
});

/**
 * A request for a payment with Apple Pay, which the server completes; the bot needs `on.paymentGateway`.
 *
 * `paymentRequest` is Apple's object without the merchant: `total`, `lineItems`, `currencyCode`, `countryCode`, and
 * `applePay` with networks and capabilities. The final items sum to the total.
 */
export const paymentRequest = builder({ title: ANY, paymentRequest: OBJECT, options: {} },
  function paymentRequest(title, paymentRequest, { subtitle, fallback } = {}) {
  return members({ payment: { paymentRequest, receivedMessage: members({ title, subtitle, style: "large" }) }, fallback });
});

/** The answer of `on.paymentGateway` after a charge: the sum as a text, and the payment provider's reference. */
export const paid = (charged, reference) => ({ status: "STATUS_SUCCESS", charged, reference });

/** The answer of `on.paymentGateway` when nothing was charged; an error is `{ code, contactField?, message }`. */
export const notPaid = (...errors) => members({ status: "STATUS_FAILURE", errors: errors.length > 0 ? errors : undefined });

/**
 * A request to sign in at the provider of the business's file; the answer's event has the result as `signIn`.
 *
 * `scope` is a list that replaces that of the file, and `additionalParameters` a query for the provider. With `oauth2`,
 * Apple's object, the bot itself does what the server does otherwise: version 2 (AUTH2) with redirectURI, else 1 (AUTH).
 */
export const signIn = builder({ title: ANY, oauth2: orNothing(OBJECT), options: { scope: list(TEXT) } },
  function signIn(title, oauth2, options = {}) {
  if (oauth2) {
    return interactive({ authenticate: { oauth2 } }, { title, version: "redirectURI" in oauth2 ? "2.0" : "1.0", ...options });
  }
  const { reply, scope, additionalParameters, fallback } = options;
  const shown = (value) => (typeof value === "string" ? { title: value } : value);
  const request = members({ receivedMessage: shown(title), replyMessage: shown(reply), scope, additionalParameters });
  return check(members({ signIn: request, fallback }));
});

/** An invitation to a conversation, sent to a telephone number; `reference` comes with the customer's answer. */
export const invitation = builder({ template: ANY, reference: ANY, locale: ANY, brand: ANY, options: {} },
  function invitation(template, reference, locale, brand, { logo, requestIdentifier } = {}) {
  const parameters = members({ brandName: brand, brandLogo: logo });
  const notification = { templateId: template, referenceId: reference, locale, parameters };
  return interactive({ notification }, { requestIdentifier });
});

/** A bubble of your own iMessage app; `url` is its data, and `icon` the bytes of an image of less than 15 KB. */
export const app = builder({ bid: ANY, url: ANY, title: ANY, options: { icon: BYTES } },
  function app(bid, url, title, { appId, name, icon, liveLayout, reply, sessionIdentifier, fallback } = {}) {
  const shown = (value) => (typeof value === "string" ? { title: value } : value);
  const interactiveData = members({
    bid, URL: url, appId, appName: name, appIcon: icon && base64(icon), useLiveLayout: liveLayout, sessionIdentifier,
    receivedMessage: shown(title), replyMessage: shown(reply),
  });
  return check(members({ type: "interactive", interactiveData, fallback }));
});

/** Shows the customer that somebody is typing. */
export const typingStart = () => ({ type: "typing_start" });

/** Ends the sign that somebody is typing. */
export const typingEnd = () => ({ type: "typing_end" });

/** The appearance of a message in the transcript; `style` is icon, small or large. */
export const bubble = builder({ title: ANY, options: {} }, function bubble(title, { subtitle, image, style = "icon" } = {}) {
  return members({ title, subtitle, imageIdentifier: image, style });
});

const members = (object) => Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null));
const base64 = (bytes) => Buffer.from(bytes).toString("base64");
const toItem = (value) => (Array.isArray(value) ? item(...value) : value);
const pageItems = (items) => Array.from(items, toItem).map((each) => ({ value: each.identifier, ...each }));

function imageType(bytes) {
  const start = Buffer.from(bytes.subarray(0, 8)).toString("hex");
  if (start === "89504e470d0a1a0a") return "image/png";
  return start.startsWith("ffd8ff") ? "image/jpeg" : undefined;
}

function page(identifier, type, question, { title, next, submit }, content) {
  return members({
    pageIdentifier: identifier, type, title, subtitle: question, nextPageIdentifier: next, submitForm: submit || undefined,
    ...content,
  });
}

/** A message of Apple's own extension; every Image in it is replaced by its identifier and added once. */
function interactive(
  payload, { title, reply, requestIdentifier, sessionIdentifier, version = "1.0", reusable, fallback },
) {
  const images = new Map();
  const placed = (value) => {
    if (value instanceof Image) {
      const { identifier, bytes, description } = value;
      images.set(identifier, members({ identifier, data: base64(bytes), description }));
      return identifier;
    }
    if (Array.isArray(value)) return value.map(placed);
    if (kindOf(value) !== "object" || typeof value.toJSON === "function") return value;
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, placed(member)]));
  };
  const shown = (value) => placed(typeof value === "string" ? bubble(value) : value);
  const data = { version, requestIdentifier: requestIdentifier ?? randomUUID(), ...placed(payload) };
  const bubbles = members({ receivedMessage: shown(title), replyMessage: shown(reply) });
  if (images.size > 0) data.images = [...images.values()];
  const interactiveData = members({ bid: APPLE, sessionIdentifier, data, ...bubbles });
  return check(members({ type: "interactive", interactiveData, reusable: reusable || undefined, fallback }));
}

// Checks.

/** Returns the message as it is sent, or throws MessageError for the rules that it breaks; its text names the first. */
export function check(message, pointer = "") {
  const sent = sendable(message, pointer);
  const broken = problems(sent).map((each) => ({ ...each, pointer: pointer + each.pointer }));
  const [first] = broken;
  if (first) throw new MessageError(first.rule, first.pointer, first.found, first.allowed, broken);
  return sent;
}

/** A copy of a value as JSON has it, with U+FFFD for half an emoji; throws MessageError for what JSON has not. */
function sendable(value, pointer, depth = 0) {
  if (typeof value === "string") return whole(value);
  if (value === null || value === undefined || typeof value === "boolean" || Number.isFinite(value)) return value;
  if (depth > MAXIMUM_DEPTH) {
    throw new MessageError("depth", pointer, `more than ${MAXIMUM_DEPTH} levels`, "fewer levels; a value must not contain itself");
  }
  if (Array.isArray(value)) return Array.from(value, (each, place) => sendable(each ?? null, `${pointer}/${place}`, depth + 1));
  // Other objects, such as a Map or a promise, would be written as an empty object, and a Date as a text.
  if (Object.prototype.toString.call(value) === "[object Object]") {
    if (typeof value.toJSON === "function") return sendable(value.toJSON(), pointer, depth + 1);
    return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)
      .map(([name, member]) => [whole(name), sendable(member, `${pointer}/${token(name)}`, depth + 1)]));
  }
  throw new MessageError("type", pointer, shown(value), advice(value));
}

/** What to send instead of a value that JSON has not. */
function advice(value) {
  if (value instanceof Promise) return "the promise's value: write await before it";
  if (value instanceof Date) return "a text, such as the value's toISOString()";
  return typeof value === "number" ? "a finite number" : "a text, number, boolean, null, array or object";
}

/** A name in a JSON Pointer (RFC 6901); a name that may be a customer's words is only said to be one. */
const token = (name) => (/^[A-Za-z0-9_-]{1,40}$/u.test(name) ? name : "(a name)");

/** The text, in which half a surrogate pair is U+FFFD, because UTF-8 has none. */
const whole = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

/**
 * The broken rules of a message as `{ rule, pointer, found, allowed }`, as `balloon validate` names them; at most 100.
 *
 * A message with too many parts breaks the rule `fullyChecked` and is not checked further, as in the server.
 * These are the rules of Apple's JSON that the schema has, and unique identifiers, starts and pages; the server
 * checks the rest. Formats inside texts, such as dates and amounts, are the server's.
 */
export function problems(message) {
  const found = new Found(100);
  try {
    collect(message, found);
  } catch (error) {
    if (error !== ENOUGH) throw error;
  }
  return [...found.problems];
}

/** Ends a check: no further problem is listed. One value, because each new Error takes a stack trace. */
const ENOUGH = new Error("enough");

/** Broken rules; the last that fits ends the check. */
class Found {
  problems = [];
  #most;

  constructor(most) { this.#most = most; }

  push(problem) {
    if (this.problems.push(problem) >= this.#most) throw ENOUGH;
  }
}

function collect(message, found) {
  const excess = excessOf(message);
  if (excess) return found.push(excess);
  // Only the server reads LivePerson's metadata, and completes requests to sign in and to pay.
  if (message?.signIn || message?.payment) return undefined;
  if (message?.type === "BusinessChatCustomMessage" || (message?.metadata && !message.type)) return undefined;
  const files = message?.attachments;
  if (Array.isArray(files) && files.length > 0 && files.every((file) => kindOf(file) === "object" && "path" in file)) {
    // Files of this machine; the server uploads them and writes the attachments.
    const { attachments, ...rest } = message;
    message = { ...rest, body: rest.body || "\ufffc" };
    attachments.forEach(({ path }, place) => {
      if (isAbsolute(String(path))) return;
      found.push({ rule: "attachmentPath", pointer: `/attachments/${place}/path`, found: shown(path), allowed: "an absolute path" });
    });
  }
  walk(message, SCHEMA.message, "", found);
  checkParts(message, found);
  return undefined;
}

/** The problem of a message with more parts than the server checks, or undefined. It does not recurse. */
function excessOf(message) {
  const problem = (pointer, what, most) => ({ rule: "fullyChecked", pointer, found: `${what}, not fully checked`, allowed: `at most ${most}` });
  const left = [[message, "", 1]];
  let total = 1;
  while (left.length > 0) {
    const [value, place, depth] = left.pop();
    if (value === null || typeof value !== "object") continue;
    const most = !Array.isArray(value) ? 10_000 : place === "/attachments" ? 100 : 1000;
    const count = Array.isArray(value) ? value.length : Object.keys(value).length;
    total += count;
    if (count > most) return problem(place, `${count} parts`, most);
    if (total > 100_000) return problem("", `${total} values or more`, 100_000);
    if (depth > 128) return problem("", "more than 128 levels", "128 levels");
    for (const [name, each] of Object.entries(value)) if (typeof each === "object") left.push([each, `${place}/${name}`, depth + 1]);
  }
  return undefined;
}

function kindOf(value) {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  if (typeof value !== "object") return typeof value;
  const type = Object.prototype.toString.call(value).slice(8, -1);
  return type === "Object" ? "object" : type;
}

/** Whether a text has a form; a text whose whole form is known is short, so a long one is not searched. */
function matches(text, pattern) {
  return (text.length <= 4096 || pattern[0] !== "^") && new RegExp(pattern, "u").test(text);
}

/** The number of code points, counted without an array of them. */
function lengthOf(text) {
  let count = 0;
  for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) count += 1;
  return count;
}

/** What was found, without the words of the message. */
function shown(value) {
  switch (kindOf(value)) {
    case "string": return value === "" ? "an empty text" : `a text of ${lengthOf(value)} characters`;
    case "array": return value.length === 1 ? "1 item" : `${value.length} items`;
    case "object": return "an object";
    case "null": case "boolean": case "integer": case "number": return String(value);
    default: return `a value of the type ${kindOf(value)}`;
  }
}

/** Adds each broken rule of `schema`, a subset of JSON Schema; a value of a wrong type has no further problems. */
function walk(value, schema, at, found) {
  if (schema.$ref) return walk(value, SCHEMA[schema.$ref], at, found);
  const rule = schema.rule ?? "type";
  const kind = kindOf(value);
  const add = (name, allowed, pointer = at, what = shown(value)) => found.push({ rule: name, pointer, found: what, allowed });
  if ("type" in schema) {
    const types = [schema.type].flat();
    if (!types.includes(kind) && !(kind === "integer" && types.includes("number"))) return add("type", types.join(" or "));
  }
  if (schema.enum && !schema.enum.includes(value)) return add(kind === "string" ? rule : "type", schema.enum.join(" "));
  if ("const" in schema && value !== schema.const) {
    return add(kind === kindOf(schema.const) ? rule : "type", JSON.stringify(schema.const));
  }
  if (kind === "string") {
    if (value.length < (schema.minLength ?? 0)) add("empty", "a text that is not empty");
    else if ("maxLength" in schema && lengthOf(value) > schema.maxLength) add(rule, `at most ${schema.maxLength} characters`);
    else if (schema.pattern && !matches(value, schema.pattern)) add(rule, `the form ${schema.pattern}`);
  }
  if ((kind === "integer" || kind === "number") && value < (schema.minimum ?? value)) add(rule, `${schema.minimum} or more`);
  if (kind === "array") {
    const low = schema.minItems ?? 0;
    if (value.length < low || value.length > (schema.maxItems ?? value.length)) {
      add(low === 1 ? "empty" : rule, schema.maxItems ? `${low} to ${schema.maxItems} items` : `${low} or more`);
    }
    if (schema.contains && value.length > 0 && !value.some((each) => isSound(each, schema.contains))) {
      add(rule, JSON.stringify(schema.contains.const));
    }
    value.forEach((each, place) => walk(each, schema.items ?? {}, `${at}/${place}`, found));
  }
  if (kind === "object") {
    for (const name of schema.required ?? []) if (!has(value, name)) add("required", name, `${at}/${name}`, "nothing");
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      if (has(value, name)) walk(value[name], member, `${at}/${name}`, found);
    }
  }
  for (const each of schema.allOf ?? []) walk(value, each, at, found);
  if (schema.if) walk(value, (isSound(value, schema.if) ? schema.then : schema.else) ?? {}, at, found);
  if (schema.not && isSound(value, schema.not)) add(rule, "nothing");
  if (schema.anyOf && !schema.anyOf.some((each) => isSound(value, each))) {
    const [name] = schema.anyOf[0].required;
    add("required", name, `${at}/${name}`, "nothing");
  }
  if (schema.oneOf && kind === "object") {
    const count = schema.oneOf.filter((each) => isSound(value, each)).length;
    const names = schema.oneOf.map((each) => each.required.join(" and ")).join(", ");
    if (count !== 1) add(rule, `one of ${names}`, at, `${count} of them`);
  }
  return undefined;
}

const has = (object, name) => Object.hasOwn(object, name) && object[name] !== undefined;

function isSound(value, schema) {
  try {
    walk(value, schema, "", new Found(1));
    return true;
  } catch (error) {
    if (error === ENOUGH) return false;
    throw error;
  }
}

/** The value at a path of names, or undefined. */
const part = (value, ...names) => names.reduce((owner, name) => (kindOf(owner) === "object" ? owner[name] : undefined), value);

/** The objects of a list, each with its place. */
const below = (list, place) => (Array.isArray(list) ? list : [])
  .map((each, number) => [`${place}/${number}`, each]).filter(([, each]) => kindOf(each) === "object");

/** An identifier as a text; devices write numbers too. */
const named = (value) => (value === "" || ["null", "array", "object"].includes(kindOf(value)) ? undefined : String(value));

function unique(objects, name, rule, found) {
  const seen = new Set();
  for (const [place, each] of objects) {
    const value = named(each[name]);
    if (seen.has(value)) found.push({ rule, pointer: `${place}/${name}`, found: "the same again", allowed: "each identifier once" });
    if (value !== undefined) seen.add(value);
  }
}

/** Rules that compare parts of a message with each other, and the form of starts. */
function checkParts(message, found) {
  const at = "/interactiveData/data";
  const data = part(message, "interactiveData", "data");
  unique(below(part(data, "quick-reply", "items"), `${at}/quick-reply/items`), "identifier", "quickReplyIdentifiers", found);
  const choices = below(part(data, "listPicker", "sections"), `${at}/listPicker/sections`)
    .flatMap(([place, each]) => below(each.items, `${place}/items`));
  unique(choices, "identifier", "listItemIdentifiers", found);
  const slots = below(part(data, "event", "timeslots"), `${at}/event/timeslots`);
  unique(slots, "identifier", "slotIdentifiers", found);
  for (const [place, { startTime }] of slots) {
    if (typeof startTime !== "string" || isStart(startTime)) continue;
    found.push({
      rule: "startTime", pointer: `${place}/startTime`, found: shown(startTime), allowed: "2026-07-10T17:00+0000, always in GMT",
    });
  }
  const pages = below(part(data, "dynamic", "data", "pages"), `${at}/dynamic/data/pages`);
  checkPages(part(data, "dynamic", "data"), pages, found);
  unique(below(part(data, "images"), `${at}/images`), "identifier", "imageIdentifiers", found);
  const reusable = ["quick-reply", "listPicker", "event", "dynamic"];
  if (part(message, "reusable") === true && !reusable.some((name) => part(data, name) != null)) {
    found.push({
      rule: "reusableContent", pointer: "/reusable", found: "true",
      allowed: "true in a quick reply, list picker, time picker or form",
    });
  }
}

function checkPages(data, pages, found) {
  unique(pages, "pageIdentifier", "pageIdentifiers", found);
  const names = new Set(pages.map(([, each]) => each.pageIdentifier));
  const references = pages.map(([place, each]) => ["nextPage", `${place}/nextPageIdentifier`, each.nextPageIdentifier]);
  for (const [place, each] of pages) {
    const items = below(each.items, `${place}/items`);
    unique(items, "identifier", "pageItemIdentifiers", found);
    references.push(...items.map(([where, choice]) => ["nextPage", `${where}/nextPageIdentifier`, choice.nextPageIdentifier]));
  }
  references.push(["startPage", "/interactiveData/data/dynamic/data/startPageIdentifier", part(data, "startPageIdentifier")]);
  for (const [rule, pointer, name] of references) {
    if (typeof name !== "string" || name === "" || names.has(name)) continue;
    found.push({ rule, pointer, found: "an unknown page", allowed: "the identifier of a page" });
  }
}

function isStart(start) {
  const match = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|\+0000|\+00:00)$/u.exec(start);
  if (!match) return false;
  const [year, month, day, hour, minute, second] = match.slice(1).map((digits) => Number(digits ?? 0));
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate();
  return month >= 1 && month <= 12 && day >= 1 && day <= lastDay && hour < 24 && minute < 60 && second < 61;
}

// The bot.

/** Writes a line to the handler's log: trace, debug, info, notice, warning, error or critical. */
export function log(message, level = "info") {
  process.stderr.write(`[${level}] ${asText(message).replaceAll("\n", " ")}\n`);
}

/**
 * A handler: functions for kinds of events, run as a child process or an HTTP service.
 *
 * `bot.on` has a function for each kind, as the protocol spells it; `bot.on.any` is for kinds without their own.
 * `concurrency` is how many events the server may send at once; events of one conversation never are.
 */
export class Bot {
  #functions = new Map();
  #calls = new Map();
  #write;

  constructor(name, { concurrency = 16 } = {}) {
    if (!(typeof concurrency === "number" && concurrency >= 1)) throw new TypeError("concurrency is a number of 1 or more");
    this.name = asText(name);
    this.concurrency = concurrency;
    this.config = {};
    const kinds = [...KINDS, ...EXTRA_EVENTS, ...PAYMENTS, "reversal", "any"];
    this.on = Object.fromEntries(kinds.map((kind) => [kind, (handle) => {
      if (this.#functions.has(kind)) throw new Error(`two functions handle ${kind}`);
      this.#functions.set(kind, handle);
      return handle;
    }]));
  }

  /** The kinds that the bot subscribes to. */
  get events() {
    const isWanted = (kind) => this.#functions.has(kind) || (this.#functions.has("any") && KINDS.includes(kind));
    return [...KINDS, ...EXTRA_EVENTS].filter(isWanted);
  }

  /** The callbacks of payments that the bot answers; a payment gateway needs a reversal too. */
  get payments() {
    if (this.#functions.has("paymentGateway") !== this.#functions.has("reversal")) {
      throw new Error("paymentGateway and reversal belong together");
    }
    return PAYMENTS.filter((call) => this.#functions.has(call));
  }

  /** The protocol's answer to a payment's params: the function gets them, and `total` and `currency` of the sheet. */
  async pay(params) {
    const { total, currency } = params.sheet ?? params;
    return sendable((await this.#functions.get(params.call)({ ...params, total, currency })) ?? {}, "");
  }

  /**
   * The protocol's answer to an event's params.
   *
   * Throws MessageError when the function built a wrong message, or returned what cannot be sent.
   */
  async answer(params) {
    const event = new Event(params, this.config);
    const handle = this.#functions.get(event.kind) ?? this.#functions.get("any");
    if (!handle) return {};
    const value = await handle(event);
    const result = value instanceof Outcome ? { ...value.members } : { outcome: "handled", replies: toReplies(value) };
    if (result.outcome !== "retry") {
      const state = toState(event.state);
      if (JSON.stringify(state ?? {}) !== JSON.stringify(params.state ?? {})) result.state = state;
    }
    const sent = sendable(result, "");
    const size = Buffer.byteLength(JSON.stringify(sent)) + 100;
    if (size > MAXIMUM_LINE_BYTES) {
      throw new MessageError("answerSize", "/replies", `${size} bytes`, `${MAXIMUM_LINE_BYTES} bytes`);
    }
    return sent;
  }

  /**
   * Sends a message without an event, and returns its id; only in a child process. Throws SendError.
   *
   * The same key (1 to 200 bytes) for the same customer is the same message for three days.
   */
  async send(customer, key, message) {
    const [reply, ...others] = toReplies(message);
    if (reply === undefined || others.length > 0) throw new TypeError("send takes one message");
    return (await this.#call("reply", { customer, key, message: reply })).messageId;
  }

  /**
   * Ends a payment request before it is paid, such as one that was paid in another way; only in a child process.
   *
   * False when the request is unknown, has ended, is paid, or is being paid. Throws SendError.
   */
  async withdrawPayment(requestIdentifier) {
    return (await this.#call("withdrawPayment", { requestIdentifier })).withdrawn;
  }

  async #call(method, params) {
    if (!this.#write) throw new SendError(-32601, "only a bot that runs as a child process calls the server");
    const id = `call-${randomUUID()}`;
    const sent = sendable(params, "");
    const answered = new Promise((done) => this.#calls.set(id, done));
    this.#write({ id, method, params: sent });
    const { result, error } = await answered;
    if (error) throw new SendError(error.code, error.message);
    return result;
  }

  /**
   * Runs the bot as a child process, or as an HTTP service when started with `--http [HOST:]PORT`.
   *
   * With the URL of a module it does so only when that module is the program, so that tests can import it. A service
   * reads the webhook secret from the variable HANDLER_SECRET (two, separated by a blank, while one replaces the other).
   * `console.log` writes to the log, because standard output belongs to the protocol. So does standard input: programs that
   * the bot starts read nothing from it.
   */
  async run(moduleURL) {
    if (moduleURL && (!process.argv[1] || realpathSync(process.argv[1]) !== fileURLToPath(moduleURL))) return;
    const [option, address, ...others] = process.argv.slice(2);
    if (option === "--http" && address && others.length === 0) {
      const host = address.slice(0, Math.max(0, address.lastIndexOf(":"))) || "127.0.0.1";
      const secrets = (process.env.HANDLER_SECRET ?? "").split(/\s+/u).filter(Boolean);
      const server = await this.serve(Number(address.slice(address.lastIndexOf(":") + 1)), secrets, host);
      process.once("SIGTERM", () => server.close());
    } else if (option) {
      process.stderr.write(`usage: ${process.argv[1]} [--http [HOST:]PORT]\n`);
      process.exitCode = 1;
    } else {
      await this.#runChild();
    }
  }

  async #runChild() {
    // Programs that the bot starts with `stdio: "inherit"` neither read calls nor write answers.
    const calls = moved(0, "r", "/dev/null");
    const answers = moved(1, "w", "/proc/self/fd/2");
    process.stdout.write = process.stderr.write.bind(process.stderr);
    this.#write = (line) => writeAll(answers, Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...line }) + "\n"));
    const inFlight = new Set();
    for await (const line of linesOf(calls === 0 ? process.stdin : new Socket({ fd: calls, readable: true, writable: false }))) {
      const work = this.#take(line).finally(() => inFlight.delete(work));
      inFlight.add(work);
    }
    // The server has ended, and answers no call any more.
    for (const answer of this.#calls.values()) answer({ error: { code: -32001, message: "the server ended" } });
    await Promise.allSettled(inFlight);
    process.exit();
  }

  /** Answers a line; a line that is no call is skipped, and one with wrong parameters is refused. */
  async #take(line) {
    let call;
    try {
      call = JSON.parse(String(line).replace(/^\ufeff/u, ""));
    } catch {
      // Not JSON: see below.
    }
    if (kindOf(call) !== "object") {
      // The line has no id to answer, and its content may be a customer's.
      return log(`skipped a line of ${line.length + 1} bytes that is no JSON object`, "warning");
    }
    try {
      return await this.#read(call);
    } catch (error) {
      log(`skipped a call that cannot be read: ${error?.name}`, "error");
      const refusal = { code: -32602, message: error instanceof CallError ? error.message : "the parameters cannot be read" };
      return call.id === undefined || call.id === null ? undefined : this.#write({ id: call.id, error: refusal });
    }
  }

  async #read({ method, id, params, result, error }) {
    if (params !== undefined && params !== null && !isObject(params)) throw new CallError("params is no object");
    const [name, kind] = NEEDED[method] ?? [];
    if (name && kindOf(params?.[name]) !== kind) throw new CallError(`params of ${method} has no ${name}`);
    if (method === undefined) {
      this.#calls.get(id)?.({ result, error });
      this.#calls.delete(id);
    } else if (method === "initialize") {
      this.config = params.config ?? {};
      const maxInFlight = Math.min(this.concurrency, params.limits.maxInFlight);
      if (!Number.isInteger(maxInFlight)) throw new TypeError("maxInFlight is no number");
      const { events, payments } = this;
      const isPaid = payments.length > 0 ? { payments } : {};
      this.#write({ id, result: { protocolVersion: "1", handler: { name: this.name }, events, ...isPaid, maxInFlight } });
    } else if (method === "event" || method === "payment") {
      let answer;
      try {
        answer = { result: await (method === "event" ? this.answer(params) : this.pay(params)) };
      } catch (thrown) {
        log(described(thrown), "error");
        const what = typeof thrown?.name === "string" ? whole(thrown.name) : "a value";
        const message = `the function for ${params.call ?? params.event.kind} threw ${what}`;
        answer = thrown instanceof MessageError && method === "event"
          ? { error: { code: REFUSED, message: asText(thrown.message), data: { problems: problemsIn(thrown.problems) } } }
          : { error: { code: -32603, message } };
      }
      this.#write({ id, ...answer });
    } else if (id !== undefined) {
      const isKnown = method === "ping" || method === "shutdown";
      this.#write(isKnown ? { id, result: {} } : { id, error: { code: -32601, message: `the bot does not know ${method}` } });
    }
  }

  /** The status and the body for one request, for use in any web framework; `headers` have names in lower case. */
  async respond(headers, body, secrets) {
    try {
      verify(headers, body, secrets);
    } catch (error) {
      log(error.message, "warning");
      return { status: 401, body: "" };
    }
    let isPayment = false;
    try {
      const params = JSON.parse(String(body).replace(/^\ufeff/u, ""));
      isPayment = "call" in params;
      return { status: 200, body: JSON.stringify(await (isPayment ? this.pay(params) : this.answer(params))) };
    } catch (error) {
      log(described(error), "error");
      // A wrong answer of a payment leaves open whether something was charged; one to an event is refused.
      if (error instanceof MessageError && !isPayment) return { status: 422, body: JSON.stringify({ problems: problemsIn(error.problems) }) };
      return { status: 500, body: "" };
    }
  }

  /**
   * Serves `{"http": {"url": …, "secret": …}}`; returns Node's server, which listens.
   *
   * Its `close` waits for requests in progress, and not for open connections without one.
   */
  async serve(port, secrets, host = "127.0.0.1") {
    if (secrets.length === 0) throw new Error("set HANDLER_SECRET to the secret of the business's file");
    const idle = new Set();
    const server = createServer(async (request, response) => {
      idle.delete(request.socket);
      response.once("close", () => { if (!request.socket.destroyed) idle.add(request.socket); });
      const chunks = [];
      let size = 0;
      try {
        for await (const chunk of request) {
          size += chunk.length;
          if (size > MAXIMUM_REQUEST_BYTES) return response.writeHead(413, { connection: "close" }).end();
          chunks.push(chunk);
        }
      } catch {
        // The server closed the connection, and reads no answer.
        return undefined;
      }
      const { status, body } = await this.respond(request.headers, Buffer.concat(chunks), secrets);
      // Once the server ends, a connection that stays open would keep it.
      const end = server.listening ? {} : { connection: "close" };
      return response.writeHead(status, { "content-type": "application/json", ...end }).end(body);
    });
    server.on("connection", (socket) => {
      idle.add(socket);
      socket.once("close", () => idle.delete(socket));
    });
    const close = server.close.bind(server);
    server.close = (done) => {
      // A request that has arrived is begun first. Node itself keeps a connection that never had a request.
      setImmediate(() => { for (const socket of idle) socket.destroy(); });
      return close(done);
    };
    await new Promise((done, fail) => server.once("error", fail).listen(port, host, done));
    log(`${this.name} listens on http://${host}:${server.address().port}`, "notice");
    return server;
  }
}

/** An error for the log: of a wrong message only the bot's line, since the library's own lines tell its author nothing. */
function described(error) {
  if (!(error instanceof MessageError)) return error?.stack ?? error;
  const isOwn = (each) => !each.includes(import.meta.url) && !each.includes("node:") && !each.endsWith("(<anonymous>)");
  const line = asText(error.stack).split("\n    at ").slice(1).find(isOwn);
  return `${error.message}${line ? ` at ${line}` : ""}`;
}

/** The lines of a stream as bytes; they end at line feeds only, not at U+2028 as those of `node:readline`. */
async function* linesOf(stream) {
  let pieces = [];
  for await (const chunk of stream) {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)]);
      [pieces, start] = [[], end + 1];
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  }
}

/**
 * Moves a standard stream to another descriptor, which child processes do not inherit, and opens `other` in its place.
 *
 * Returns the new descriptor. Only pipes are moved, as the server has them: Linux does not open a socket a second time.
 */
function moved(descriptor, flags, other) {
  if (process.platform !== "linux" || ![descriptor, 2].every((each) => fstatSync(each).isFIFO())) return descriptor;
  const own = openSync(`/proc/self/fd/${descriptor}`, flags);
  closeSync(descriptor);
  // The lowest free descriptor is the one that was just closed.
  openSync(other, flags);
  return own;
}

/** Writes all bytes before it returns. */
function writeAll(descriptor, bytes) {
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      // The server has ended, and standard input ends too.
      if (error.code === "EPIPE") return;
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/**
 * Checks a request's signature (Standard Webhooks) against each secret; throws SignatureError.
 *
 * A secret is `whsec_` and the Base64 of 24 to 64 bytes, as in the business's file.
 */
export function verify(headers, body, secrets, now = Date.now() / 1000) {
  const [id, stamp] = [headers["webhook-id"], headers["webhook-timestamp"]];
  if (!id || !/^\d+$/u.test(stamp ?? "")) throw new SignatureError("a request without webhook-id and webhook-timestamp");
  if (Math.abs(now - Number(stamp)) > SIGNATURE_SECONDS) {
    throw new SignatureError("the request's time differs from this machine's by more than five minutes");
  }
  const given = (headers["webhook-signature"] ?? "").split(" ").filter((each) => each.startsWith("v1,"))
    .map((each) => Buffer.from(each.slice(3)));
  for (const secret of secrets) {
    const key = Buffer.from(secret.replace(/^whsec_/u, ""), "base64");
    const tag = Buffer.from(createHmac("sha256", key).update(`${id}.${stamp}.`).update(body).digest("base64"));
    if (given.some((each) => each.length === tag.length && timingSafeEqual(each, tag))) return;
  }
  throw new SignatureError("no signature of the request fits the secret");
}

function toReplies(value) {
  const replies = value === undefined || value === null ? [] : [value].flat();
  if (replies.length > MAXIMUM_REPLIES) {
    throw new MessageError("replyCount", "/replies", shown(replies), `at most ${MAXIMUM_REPLIES}`);
  }
  return replies.map((reply, place) => {
    if (typeof reply !== "string") return check(reply, `/replies/${place}`);
    if (reply === "") throw new MessageError("empty", `/replies/${place}`, "an empty text", "a text that is not empty");
    return whole(reply);
  });
}

function toState(value) {
  const state = sendable(value ?? null, "/state");
  if (!["null", "object"].includes(kindOf(state))) throw new MessageError("type", "/state", shown(state), "an object or null");
  const size = Buffer.byteLength(JSON.stringify(state));
  if (size > MAXIMUM_STATE_BYTES) throw new MessageError("stateSize", "/state", `${size} bytes`, `at most ${MAXIMUM_STATE_BYTES}`);
  return state && Object.keys(state).length > 0 ? state : null;
}

// Tests of a bot.

/**
 * Runs `balloon dev` with a handler program, and calls `body` with a function that plays the customer.
 *
 *     test("a greeting", () => simulated("./shop.mjs", async (customer) => {
 *       const [reply] = await customer("text");
 *       assert.equal(reply.body, "Good morning!");
 *     }));
 *
 * The function is `simulate` with the directory of that server. The files are deleted at the end.
 */
export async function simulated(program, body, { balloon = "balloon" } = {}) {
  const data = mkdtempSync(join(tmpdir(), "balloon-"));
  const lines = () => readFileSync(join(data, "log"), "utf8");
  const log = openSync(join(data, "log"), "a");
  const words = ["dev", "--handler", resolve(program), "--data", data, "--listen", "127.0.0.1:0"];
  const server = spawn(balloon, words, { stdio: ["ignore", log, log] });
  const ended = new Promise((done) => server.once("exit", done).once("error", done));
  let isRunning = true;
  ended.then(() => { isRunning = false; });
  const customer = async (message, options = {}) => {
    try {
      return await simulate(message, { data, ...options }, { balloon });
    } catch (error) {
      throw error instanceof SimulationError ? new SimulationError(error.message + lines()) : error;
    }
  };
  try {
    while (!lines().includes("handler is ready")) {
      if (!isRunning) throw new SimulationError(lines() || `${balloon} cannot be started; add its folder to PATH`);
      await pause(50);
    }
    return await body(customer);
  } finally {
    server.kill();
    await ended;
    rmSync(data, { recursive: true, force: true });
  }
}

/**
 * Sends a message as a customer and returns the business's replies.
 *
 * The message is a kind, or an object as a device sends it; null when `choose` or `fill` answers the business:
 *
 *     await simulate("text", { text: "I want pizza" });
 *     await simulate(null, { choose: "Margherita,Cola" });
 *     await simulate(null, { fill: { name: "Ada", payment: "Card" } });
 *
 * Options are those of `balloon simulate`; an array repeats one, and an object gives `name=value`.
 */
export async function simulate(message, options = {}, { balloon = "balloon" } = {}) {
  const given = isObject(message) ? JSON.stringify(message) : undefined;
  const named = (name) => "--" + name.replace(/[A-Z]/gu, (letter) => "-" + letter.toLowerCase());
  const values = (value) =>
    isObject(value) ? Object.entries(value).map(([key, text]) => `${key}=${text}`) : [value].flat();
  const more = Object.entries(options).flatMap(([name, value]) =>
    values(value).flatMap((each) => [named(name), ...(each === true ? [] : [String(each)])]));
  const what = given ? ["-"] : message ? [message] : [];
  const child = spawn(balloon, ["simulate", ...what, "--wait", "--json", ...more]);
  const { status, output, errors } = await finished(child, given);
  if (status !== 0) throw new SimulationError(errors);
  return output.split("\n").filter(Boolean).map((line) => JSON.parse(line))
    .filter((line) => line.direction === "outbound").map((line) => line.message);
}

async function finished(child, input = "") {
  const collected = { output: "", errors: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk) => { collected.output += chunk; });
  child.stderr.setEncoding("utf8").on("data", (chunk) => { collected.errors += chunk; });
  const status = new Promise((done, fail) => child.once("close", done).once("error", fail));
  // A command that ends early reads nothing.
  child.stdin.on("error", () => {}).end(input);
  return { status: await status, ...collected };
}

// Tables from the JSON Schemas of the server.

// generated: begin (scripts/generated --write; do not edit)
const KINDS = ["text","quickReply","listPicker","timePicker","form","authentication","applePay","app","invitation","typingStart",
"typingEnd","close","unrecognized"];
const EXTRA_EVENTS = ["replyFailed","consent"];
const PAYMENTS = ["paymentGateway","paymentMethodUpdate","shippingContactUpdate","shippingMethodUpdate","orderTracking"];
const EVENT_MEMBERS = ["id","kind","business","customer","receivedAt","seq","replay","unrecognizedReason","capabilities","locale",
"intent","group","summary","text","selectedIdentifier","selectedIdentifiers","startTime","tapback","paymentRecord",
"signIn","authentication","payment","app","invitation","answers"];
const MAXIMUM_REPLIES = 32;
const MAXIMUM_LINE_BYTES = 1048576;
const MEDIA_TYPES = {".caf":"audio/x-caf",".pkpass":"application/vnd.apple.pkpass",".usdz":"model/vnd.usdz+zip",
".doc":"application/msword",".xls":"application/vnd.ms-excel",
".xlsx":"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",".pdf":"application/pdf",
".ics":"text/calendar",".aac":"audio/aac",".amr":"audio/amr",".avif":"image/avif",".bmp":"image/bmp",
".csv":"text/csv",".docx":"application/vnd.openxmlformats-officedocument.wordprocessingml.document",
".gif":"image/gif",".heic":"image/heic",".heif":"image/heif",".htm":"text/html",".html":"text/html",
".jpeg":"image/jpeg",".jpg":"image/jpeg",".json":"application/json",".key":"application/vnd.apple.keynote",
".m4a":"audio/mp4",".m4v":"video/x-m4v",".md":"text/markdown",".mov":"video/quicktime",".mp3":"audio/mpeg",
".mp4":"video/mp4",".numbers":"application/vnd.apple.numbers",
".ods":"application/vnd.oasis.opendocument.spreadsheet",".odt":"application/vnd.oasis.opendocument.text",
".ogg":"audio/ogg",".pages":"application/vnd.apple.pages",".pkpasses":"application/vnd.apple.pkpasses",
".png":"image/png",".ppt":"application/vnd.ms-powerpoint",
".pptx":"application/vnd.openxmlformats-officedocument.presentationml.presentation",".rtf":"application/rtf",
".svg":"image/svg+xml",".tif":"image/tiff",".tiff":"image/tiff",".txt":"text/plain",".vcf":"text/vcard",
".wav":"audio/wav",".webm":"video/webm",".webp":"image/webp",".xml":"application/xml",".zip":"application/zip"};
const SCHEMA = {"message":{"type":"object","required":["type"],"properties":{"type":{"rule":"messageType","enum":["text",
"interactive","richLink","typing_start","typing_end"]},"id":{"rule":"messageIdentifier","type":"string",
"pattern":"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"},
"v":{"rule":"protocolVersion","const":1},"sourceId":{"type":"string","minLength":1},
"destinationId":{"type":"string","minLength":1},"reusable":{"type":"boolean"},"purpose":{"type":"string",
"minLength":1},"fallback":{"type":"string","minLength":1},"locale":{"rule":"locale","type":["string","null"],
"pattern":"^[A-Za-z]{2,3}([_-][A-Za-z0-9]{1,8})*$"},"intent":{"type":"string"},"group":{"type":"string"},
"body":{"type":"string"},"subject":{"type":"string"},"attachments":{"type":"array","items":{"$ref":"attachment"}},
"richLinkData":{"$ref":"richLink"},"richLinkDataRef":{"$ref":"uploadedLink"},"preview":{"$ref":"preview"},
"interactiveData":{"$ref":"interactiveData"},"interactiveDataRef":{"$ref":"uploadedInteraction"}},
"allOf":[{"if":{"required":["type"],"properties":{"type":{"const":"text"}}},"then":{"required":["body"],
"properties":{"body":{"minLength":1},"richLinkData":{"rule":"typeContent","not":{}},
"richLinkDataRef":{"rule":"typeContent","not":{}},"preview":{"rule":"typeContent","not":{}},
"interactiveData":{"rule":"typeContent","not":{}},"interactiveDataRef":{"rule":"typeContent","not":{}}}}},
{"if":{"required":["type"],"properties":{"type":{"const":"richLink"}}},"then":{"rule":"linkContent",
"oneOf":[{"required":["richLinkData"]},{"required":["richLinkDataRef"]},{"required":["preview"]}],
"properties":{"attachments":{"rule":"typeContent","not":{}},"interactiveData":{"rule":"typeContent","not":{}},
"interactiveDataRef":{"rule":"typeContent","not":{}}}}},{"if":{"required":["type"],
"properties":{"type":{"const":"interactive"}}},"then":{"rule":"interactiveContent",
"oneOf":[{"required":["interactiveData"]},{"required":["interactiveDataRef"]}],
"properties":{"body":{"rule":"typeContent","not":{}},"subject":{"rule":"typeContent","not":{}},
"richLinkData":{"rule":"typeContent","not":{}},"richLinkDataRef":{"rule":"typeContent","not":{}},
"preview":{"rule":"typeContent","not":{}}}}},{"if":{"required":["type"],
"properties":{"type":{"enum":["typing_start","typing_end"]}}},"then":{"properties":{"body":{"rule":"typeContent",
"not":{}},"subject":{"rule":"typeContent","not":{}},"attachments":{"rule":"typeContent","not":{}},
"richLinkData":{"rule":"typeContent","not":{}},"richLinkDataRef":{"rule":"typeContent","not":{}},
"preview":{"rule":"typeContent","not":{}},"interactiveData":{"rule":"typeContent","not":{}},
"interactiveDataRef":{"rule":"typeContent","not":{}}}}}]},"bid":{"rule":"bid","type":"string",
"pattern":"^com\\.apple\\.messages\\.MSMessageExtensionBalloonPlugin:[^:]+:[^:]+$"},"key":{"rule":"attachmentKey",
"type":"string","pattern":"^00[0-9A-Fa-f]{64}$"},"imageIdentifier":{"type":["string","integer"]},
"attachment":{"type":"object","required":["name","mimeType","size","signature-base64","url","owner","key"],
"properties":{"name":{"type":"string","minLength":1},"mimeType":{"type":"string","minLength":1},
"size":{"type":"string"},"signature-base64":{"type":"string","minLength":1},"url":{"type":"string"},
"owner":{"type":"string","minLength":1},"key":{"$ref":"key"},"signature":{"type":"string"}}},
"preview":{"type":"object","required":["url"],"properties":{"url":{"type":"string"},"title":{"type":"string",
"minLength":1},"storeRegion":{"type":"string","pattern":"^[a-z]{2}$"}}},"richLink":{"type":"object",
"required":["url","title"],"properties":{"url":{"type":"string"},"title":{"type":"string","minLength":1},
"assets":{"type":"object","properties":{"image":{"type":"object","required":["data","mimeType"],
"properties":{"data":{"type":"string","minLength":1},"mimeType":{"type":"string","minLength":1}}},
"video":{"type":"object","required":["url","mimeType"],"properties":{"url":{"type":"string"},
"mimeType":{"type":"string","minLength":1}}}}}}},"uploadedLink":{"type":"object","required":["url","owner","size",
"signature-base64"],"properties":{"url":{"type":"string"},"owner":{"type":"string","minLength":1},
"size":{"type":["integer","string"],"pattern":"^[+-]?[0-9]+$"},"signature-base64":{"type":"string","minLength":1},
"signature":{"type":"string"},"key":{"$ref":"key"},"title":{"type":"string"},"dataRefSig":{"type":"string"},
"bid":{"$ref":"bid"}}},"uploadedInteraction":{"type":"object","required":["url","owner","size","signature-base64",
"bid"],"properties":{"url":{"type":"string"},"owner":{"type":"string","minLength":1},"size":{"type":["integer",
"string"],"pattern":"^[+-]?[0-9]+$"},"signature-base64":{"type":"string","minLength":1},
"signature":{"type":"string"},"key":{"$ref":"key"},"title":{"type":"string"},"dataRefSig":{"type":"string"},
"bid":{"$ref":"bid"}}},"bubble":{"type":"object","required":["title"],"properties":{"title":{"rule":"bubbleText",
"type":"string","minLength":1,"maxLength":512},"subtitle":{"rule":"bubbleText","type":"string","maxLength":512},
"imageTitle":{"rule":"bubbleText","type":"string","maxLength":512},"imageSubtitle":{"rule":"bubbleText",
"type":"string","maxLength":512},"secondarySubtitle":{"rule":"bubbleText","type":"string","maxLength":512},
"tertiarySubtitle":{"rule":"bubbleText","type":"string","maxLength":512},
"imageIdentifier":{"$ref":"imageIdentifier"},"style":{"rule":"bubbleStyle","enum":["icon","small","large"]},
"alternateTitle":{"type":"string"}}},"image":{"type":"object","required":["identifier","data"],
"properties":{"identifier":{"type":["string","integer"],"minLength":1},"data":{"type":"string","minLength":1},
"description":{"type":["string","null"]}}},"interactiveData":{"if":{"required":["bid"],
"properties":{"bid":{"type":"string",
"not":{"const":"com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension"}}}},
"then":{"$ref":"app"},"else":{"$ref":"builtin"}},"app":{"type":"object","required":["bid","appId","URL",
"receivedMessage"],"properties":{"bid":{"$ref":"bid"},"appId":{"type":["integer","string"],"minLength":1},
"appName":{"type":"string"},"appIcon":{"type":"string","minLength":1},"URL":{"type":"string","minLength":1},
"sessionIdentifier":{"type":"string"},"useLiveLayout":{"type":"boolean"},"receivedMessage":{"$ref":"bubble"},
"replyMessage":{"$ref":"bubble"},"data":{"rule":"appData","not":{}}}},"builtin":{"type":"object","required":["bid",
"data"],"properties":{"bid":{"$ref":"bid"},"sessionIdentifier":{"type":"string"},"data":{"$ref":"data"},
"receivedMessage":{"$ref":"bubble"},"replyMessage":{"$ref":"bubble"},"useLiveLayout":{"type":"boolean"}},
"if":{"required":["data"],"properties":{"data":{"type":"object","anyOf":[{"required":["listPicker"]},
{"required":["event"]},{"required":["dynamic"]},{"required":["payment"]},{"required":["authenticate"]}]}}},
"then":{"required":["receivedMessage"]}},"data":{"rule":"interactiveKind","type":"object",
"required":["requestIdentifier"],"properties":{"version":{"type":"string","minLength":1},
"mspVersion":{"type":"string","minLength":1},"requestIdentifier":{"type":"string","minLength":1},
"images":{"type":"array","items":{"$ref":"image"}},"quick-reply":{"$ref":"quickReply"},
"listPicker":{"$ref":"listPicker"},"event":{"$ref":"event"},"dynamic":{"$ref":"form"},"payment":{"$ref":"payment"},
"authenticate":{"$ref":"authenticate"},"notification":{"$ref":"notification"}},"anyOf":[{"required":["version"]},
{"required":["mspVersion"]}],"oneOf":[{"required":["quick-reply"]},{"required":["listPicker"]},
{"required":["event"]},{"required":["dynamic"]},{"required":["payment"]},{"required":["authenticate"]},
{"required":["notification"]}]},"quickReply":{"type":"object","required":["summaryText","items"],
"properties":{"summaryText":{"type":"string","minLength":1},"items":{"rule":"quickReplyCount","type":"array",
"items":{"type":"object","required":["identifier","title"],"properties":{"identifier":{"type":"string",
"minLength":1},"title":{"rule":"empty","type":"string","pattern":"\\S"}}},"minItems":2,"maxItems":5}}},
"listPicker":{"type":"object","required":["sections"],"properties":{"multipleSelection":{"type":"boolean"},
"sections":{"type":"array","items":{"type":"object","required":["title","items"],
"properties":{"title":{"type":"string"},"order":{"type":"integer"},"multipleSelection":{"type":"boolean"},
"items":{"type":"array","items":{"type":"object","required":["identifier","title"],
"properties":{"identifier":{"type":"string","minLength":1},"title":{"type":"string","minLength":1},
"subtitle":{"type":"string"},"order":{"type":"integer"},"style":{"type":"string"},
"imageIdentifier":{"$ref":"imageIdentifier"}}},"minItems":1}}},"minItems":1}}},"event":{"type":"object",
"required":["identifier","timeslots"],"properties":{"identifier":{"type":"string","minLength":1},
"title":{"type":"string"},"imageIdentifier":{"$ref":"imageIdentifier"},"timezoneOffset":{"type":"integer"},
"location":{"type":"object","properties":{"title":{"type":"string"},"latitude":{"type":"number"},
"longitude":{"type":"number"},"radius":{"type":"number"}}},"timeslots":{"type":"array","items":{"type":"object",
"required":["identifier","duration","startTime"],"properties":{"identifier":{"type":"string","minLength":1},
"startTime":{"type":"string"},"duration":{"rule":"slotDuration","type":"integer","minimum":1}}},"minItems":1}}},
"form":{"type":"object","required":["version","template","data"],"properties":{"version":{"type":"string",
"minLength":1},"template":{"rule":"formTemplate","enum":["messageForms"]},"data":{"type":"object",
"required":["startPageIdentifier","pages"],"properties":{"startPageIdentifier":{"type":"string","minLength":1},
"private":{"type":"boolean"},"showSummary":{"type":"boolean"},"splash":{"type":"object",
"properties":{"header":{"type":"string"},"splashtext":{"type":"string"},"buttonTitle":{"type":"string"},
"imageIdentifier":{"$ref":"imageIdentifier"}}},"pages":{"type":"array","items":{"$ref":"page"},"minItems":1}}}}},
"page":{"type":"object","required":["pageIdentifier","type"],
"properties":{"pageIdentifier":{"rule":"pageIdentifier","type":"string","minLength":1,"maxLength":19},
"type":{"rule":"pageType","enum":["select","picker","datePicker","input"]},"title":{"type":"string"},
"subtitle":{"type":"string"},"nextPageIdentifier":{"type":"string"},"submitForm":{"type":"boolean"}},
"allOf":[{"if":{"required":["type"],"properties":{"type":{"const":"select"}}},
"then":{"properties":{"multipleSelection":{"type":"boolean"},"items":{"type":"array","items":{"type":"object",
"required":["identifier","title","value"],"properties":{"identifier":{"type":"string","minLength":1},
"title":{"type":"string","minLength":1},"value":{"type":"string"},"imageIdentifier":{"$ref":"imageIdentifier"},
"nextPageIdentifier":{"type":"string"}}},"minItems":1}},"required":["items"]}},{"if":{"required":["type"],
"properties":{"type":{"const":"picker"}}},"then":{"properties":{"pickerTitle":{"type":"string"},
"selectedItemIndex":{"type":"integer"},"items":{"type":"array","items":{"type":"object","required":["identifier",
"title","value"],"properties":{"identifier":{"type":"string","minLength":1},"title":{"type":"string","minLength":1},
"value":{"type":"string"}}},"minItems":1}},"required":["items"]}},{"if":{"required":["type"],
"properties":{"type":{"const":"datePicker"}}},"then":{"properties":{"hintText":{"type":"string"},
"options":{"type":["object","null"],"properties":{"dateFormat":{"type":"string"},"startDate":{"type":"string"},
"minimumDate":{"type":"string"},"maximumDate":{"type":"string"},"labelText":{"type":"string"}}}}}},
{"if":{"required":["type"],"properties":{"type":{"const":"input"}}},
"then":{"properties":{"hintText":{"type":"string"},"options":{"type":["object","null"],
"properties":{"regex":{"type":"string"},"placeholder":{"type":"string"},"required":{"type":"boolean"},
"inputType":{"rule":"inputType","enum":["singleline","multiline"]},"labelText":{"type":"string"},
"prefixText":{"type":"string"},"maximumCharacterCount":{"rule":"characterCount","type":"integer","minimum":1},
"keyboardType":{"rule":"keyboardType","enum":["default","asciiCapable","numbersAndPunctuation","URL","numberPad",
"phonePad","namePhonePad","emailAddress","decimalPad","UIKeyboardTypeTwitter","webSearch","UIKeyboardTypeDefault",
"UIKeyboardTypeASCIICapable","UIKeyboardTypeNumbersAndPunctuation","UIKeyboardTypeURL","UIKeyboardTypeNumberPad",
"UIKeyboardTypePhonePad","UIKeyboardTypeNamePhonePad","UIKeyboardTypeEmailAddress","UIKeyboardTypeDecimalPad",
"UIKeyboardTypeWebSearch"]},"textContentType":{"rule":"textContentType","enum":["name","namePrefix","givenName",
"middleName","familyName","nameSuffix","nickname","jobTitle","organizationName","location","fullStreetAddress",
"streetAddressLine1","streetAddressLine2","addressCity","addressState","addressCityAndState","sublocality",
"countryName","postalCode","telephoneNumber","emailAddress","URL","creditCardNumber","username","password",
"newPassword","oneTimeCode"]}}}}}}]},"money":{"rule":"money","type":"string","pattern":"^-?[0-9]+(\\.[0-9]+)?$"},
"lineItem":{"type":"object","required":["amount","label"],"properties":{"label":{"type":"string","minLength":1},
"amount":{"$ref":"money"},"type":{"rule":"lineItemType","enum":["final","pending","Final","Pending"]}}},
"contactFields":{"type":"array","items":{"rule":"contactField","enum":["email","name","phone","phoneticName",
"post"]}},"timestamp":{"type":["integer","string"],"pattern":"^[+-]?[0-9]+$"},"payment":{"type":"object",
"required":["endpoints","merchantSession","paymentRequest"],"properties":{"endpoints":{"type":"object",
"required":["paymentGatewayUrl"],"properties":{"paymentGatewayUrl":{"type":"string"},
"fallbackUrl":{"type":"string"},"orderTrackingUrl":{"type":"string"},"paymentMethodUpdateUrl":{"type":"string"},
"shippingContactUpdateUrl":{"type":"string"},"shippingMethodUpdateUrl":{"type":"string"}}},
"merchantSession":{"type":"object","required":["displayName","epochTimestamp","expiresAt","initiative",
"initiativeContext","merchantIdentifier","merchantSessionIdentifier"],"properties":{"displayName":{"type":"string",
"minLength":1},"epochTimestamp":{"$ref":"timestamp"},"expiresAt":{"$ref":"timestamp"},
"initiative":{"rule":"initiative","enum":["messaging"]},"initiativeContext":{"type":"string"},
"merchantIdentifier":{"type":"string","minLength":1},"merchantSessionIdentifier":{"type":"string","minLength":1},
"nonce":{"type":"string"},"signature":{"type":"string"},"signedFields":{"type":"array","items":{"type":"string"}},
"domainName":{"type":"string"}}},"paymentRequest":{"type":"object","required":["applePay","countryCode",
"currencyCode","total"],"properties":{"applePay":{"type":"object","required":["merchantIdentifier",
"merchantCapabilities","supportedNetworks"],"properties":{"merchantIdentifier":{"type":"string","minLength":1},
"merchantCapabilities":{"rule":"threeDSecure","type":"array","items":{"rule":"merchantCapability",
"enum":["supports3DS","supportsCredit","supportsDebit","supportsEMV"]},"minItems":1,
"contains":{"const":"supports3DS"}},"supportedNetworks":{"type":"array","items":{"type":"string","minLength":1},
"minItems":1}}},"countryCode":{"type":"string"},"currencyCode":{"type":"string"},"lineItems":{"type":"array",
"items":{"$ref":"lineItem"},"minItems":1},"requiredBillingContactFields":{"$ref":"contactFields"},
"requiredShippingContactFields":{"$ref":"contactFields"},"shippingMethods":{"type":"array","items":{"type":"object",
"required":["amount","detail","identifier","label"],"properties":{"amount":{"$ref":"money"},
"detail":{"type":"string","minLength":1},"identifier":{"type":"string","minLength":1},"label":{"type":"string",
"minLength":1},"type":{"type":"string"}}}},"supportedCountries":{"type":"array","items":{"type":"string"}},
"total":{"$ref":"lineItem"},"merchantName":{"type":"string"}}}}},"authenticate":{"type":"object",
"required":["oauth2"],"properties":{"oauth2":{"rule":"authenticationProcedure","type":"object",
"required":["responseType","scope","state"],"properties":{"responseType":{"rule":"responseType","enum":["code"]},
"scope":{"type":"array","items":{"type":"string"},"minItems":1},"state":{"type":"string","minLength":1},
"responseEncryptionKey":{"type":"string","minLength":1},"clientSecret":{"type":"string","minLength":1},
"redirectURI":{"type":"string","minLength":1},"additionalParameters":{"type":"string"},
"clientId":{"type":"string"}},"oneOf":[{"required":["responseEncryptionKey","clientSecret"]},
{"required":["redirectURI"]}]}}},"notification":{"type":"object","required":["templateId","referenceId",
"parameters"],"properties":{"templateId":{"rule":"invitationTemplate","type":"string","minLength":1,
"pattern":"^binaryChoice\\.[^.]+\\.(withImage|noImage)$"},"referenceId":{"rule":"invitationReference",
"type":"string","minLength":1,"maxLength":1000,"pattern":"^[^']*$"},"locale":{"rule":"locale","type":"string",
"pattern":"^[A-Za-z]{2,3}([_-][A-Za-z0-9]{1,8})*$"},"parameters":{"type":"object","required":["brandName"],
"properties":{"brandName":{"type":"string","minLength":1},"brandLogo":{"type":"string"}}}}}};
// generated: end
