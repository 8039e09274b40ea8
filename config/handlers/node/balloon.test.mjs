// Tests of balloon.mjs: builders and limits, one conversation over standard input and output, and an HTTP service.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as balloon from "./balloon.mjs";

const { Bot, Event, Image, MessageError } = balloon;
const PICTURE = fileURLToPath(new URL("../pizza.png", import.meta.url));
const DATA = "/interactiveData/data";

const params = (kind, event = {}) => ({
  deliveryId: "1", attempt: 1, deadlineMs: 30000, state: {}, history: [],
  event: { id: "m", kind, business: "b", customer: "c", capabilities: ["LIST"], summary: "", message: {}, ...event },
});
const itself = [];
itself.push(itself);
const choices = (count) => Array.from({ length: count }, (_, number) => [`i${number}`, `Choice ${number}`]);

function broken(build) {
  try {
    build();
  } catch (error) {
    assert.ok(error instanceof MessageError, error);
    return [error.rule, error.pointer];
  }
  return [];
}

// Builders.

const PAGES = [balloon.inputPage("a", "Your name?"), balloon.inputPage("b", "Your street?")];
const MESSAGES = {
  text: () => balloon.text("Good morning"),
  richLink: () => balloon.richLink("https://example.com", "A page", { image: new Image(PICTURE), video: "https://example.com/v.mp4" }),
  quickReply: () => balloon.quickReply("Which?", choices(2)),
  listPicker: () => balloon.listPicker("Which?", [balloon.section("Bread", choices(3))], { reply: "This one" }),
  timePicker: () => balloon.timePicker("When?", "Repair", [balloon.slot("1", "2030-07-10T08:00+0000", 60)]),
  form: () => balloon.form("Who?", [
    ...PAGES, balloon.selectPage("c", "Which?", choices(2)), balloon.pickerPage("d", "How?", choices(2), { selected: 1 }),
    balloon.datePage("e", "When?", { dateFormat: "dd.MM.yyyy" }),
  ]),
  signIn: () => balloon.signIn("Sign in", {
    responseType: "code", scope: ["profile"], state: "s", redirectURI: "https://example.com/auth",
  }),
  serverSignIn: () => balloon.signIn("Sign in", null, {
    reply: "Signed in", scope: ["openid"], additionalParameters: "prompt=login", fallback: "Please call us.",
  }),
  app: () => balloon.app("com.apple.messages.MSMessageExtensionBalloonPlugin:TEAM:app", "?a=1", "An app", { appId: 1 }),
  invitation: () => balloon.invitation("binaryChoice.engage.noImage", "r", "en-us", "Sam's Fish"),
  linkPreview: () => balloon.linkPreview("https://music.apple.com/us/song/1", "A song", { storeRegion: "us" }),
  reusable: () => balloon.listPicker("Which?", [balloon.section("Bread", choices(3))], { reusable: true, fallback: "Write 1." }),
  typingStart: balloon.typingStart,
  typingEnd: balloon.typingEnd,
};
for (const [name, build] of Object.entries(MESSAGES)) {
  test(`the builder of ${name} writes a message that keeps the rules`, () => {
    assert.deepEqual(balloon.problems(build()), []);
  });
}

const nested = (depth) => { let value = 1; for (let level = 0; level < depth; level += 1) value = [value]; return value; };
const base = { type: "text", body: "x" };
const HOSTILE = {
  elements: [{ ...base, a: Array(1001).fill(1) }, "/a"],
  members: [{ ...base, ...Object.fromEntries(Array.from({ length: 10_000 }, (_, number) => [`n${number}`, 1])) }, ""],
  attachments: [{ ...base, attachments: Array(101).fill({}) }, "/attachments"],
  values: [{ ...base, a: Array(100).fill(Array(1000).fill(1)) }, ""],
  levels: [{ ...base, a: nested(128) }, ""],
  deep: [{ ...base, a: nested(100_000) }, ""],
  scope: [{ signIn: { scope: Array(1001).fill("a") } }, "/signIn/scope"],
};
for (const [name, [message, place]] of Object.entries(HOSTILE)) {
  test(`a message with too many ${name} is not checked`, () => {
    const [{ rule, pointer, found }, ...others] = balloon.problems(message);
    assert.deepEqual([rule, pointer, others], ["fullyChecked", place, []]);
    assert.match(found, /not fully checked/u);
  });
}

test("at most a hundred problems are listed", () => {
  const sections = [{ title: "t", items: Array.from({ length: 1000 }, () => ({})) }];
  const data = { version: "1.0", requestIdentifier: "r", listPicker: { sections } };
  const message = { type: "interactive", interactiveData: { bid: "com.apple.messages.MSMessageExtensionBalloonPlugin:0000000000:com.apple.icloud.apps.messages.business.extension", data, receivedMessage: { title: "t" } } };
  assert.equal(balloon.problems(message).length, 100);
});

test("a long text is not searched for a form", () => {
  const [{ rule, pointer }] = balloon.problems({ ...base, locale: `en${"-a".repeat(4_000_000)}` });
  assert.deepEqual([rule, pointer], ["locale", "/locale"]);
});

test("a relative path of a file is reported", () => {
  const [{ rule, pointer }] = balloon.problems({ ...base, attachments: [{ path: "a.png" }] });
  assert.deepEqual([rule, pointer], ["attachmentPath", "/attachments/0/path"]);
});

const sample = new URL("../../../Tests/TestSupport/Fixtures/outbound/applePay.json", import.meta.url);
test("a payment is built with a large bubble", { skip: !existsSync(sample) }, () => {
  const { payment } = JSON.parse(readFileSync(sample, "utf8")).interactiveData.data;
  assert.equal(balloon.applePay("Pay here", payment).interactiveData.receivedMessage.style, "large");
  delete payment.endpoints;
  assert.deepEqual(broken(() => balloon.applePay("Pay here", payment)), ["required", `${DATA}/payment/endpoints`]);
});

for (const [count, problem] of [[1, true], [2, false], [5, false], [6, true]]) {
  test(`a quick reply with ${count} items is ${problem ? "refused" : "built"}`, () => {
    const expected = problem ? ["quickReplyCount", `${DATA}/quick-reply/items`] : [];
    assert.deepEqual(broken(() => balloon.quickReply("Which?", choices(count))), expected);
  });
}

const BROKEN = {
  "an empty text": [() => balloon.text(""), "empty", "/body"],
  "a quick reply with the same item twice": [
    () => balloon.quickReply("Which?", [["a", "A"], ["a", "B"]]), "quickReplyIdentifiers",
    `${DATA}/quick-reply/items/1/identifier`],
  "a list without sections": [() => balloon.listPicker("Which?", []), "empty", `${DATA}/listPicker/sections`],
  "a section without items": [
    () => balloon.listPicker("Which?", [balloon.section("Bread", [])]), "empty", `${DATA}/listPicker/sections/0/items`],
  "a bubble of 513 characters": [
    () => balloon.listPicker("x".repeat(513), [balloon.section("Bread", choices(1))]), "bubbleText",
    "/interactiveData/receivedMessage/title"],
  "a start that is not in GMT": [
    () => balloon.timePicker("When?", "Repair", [balloon.slot("1", "2030-07-10T08:00+0200", 60)]), "startTime",
    `${DATA}/event/timeslots/0/startTime`],
  "a slot of no time": [
    () => balloon.timePicker("When?", "Repair", [balloon.slot("1", "2030-07-10T08:00+0000", 0)]), "slotDuration",
    `${DATA}/event/timeslots/0/duration`],
  "a page identifier of 20 characters": [
    () => balloon.form("Who?", [balloon.inputPage("x".repeat(20), "Your name?")]), "pageIdentifier",
    `${DATA}/dynamic/data/pages/0/pageIdentifier`],
  "a page that leads nowhere": [
    () => balloon.form("Who?", [balloon.inputPage("a", "Your name?", { next: "z" })]), "nextPage",
    `${DATA}/dynamic/data/pages/0/nextPageIdentifier`],
  "an unknown keyboard": [
    () => balloon.form("Who?", [balloon.inputPage("a", "Your name?", { keyboardType: "piano" })]), "keyboardType",
    `${DATA}/dynamic/data/pages/0/options/keyboardType`],
  "a link without a title": [() => balloon.richLink("https://example.com", ""), "empty", "/richLinkData/title"],
  "an image that is no picture": [() => new Image(Buffer.from("GIF89a")), "imageFormat", ""],
  "an empty fallback": [() => balloon.quickReply("Which?", choices(2), { fallback: "" }), "empty", "/fallback"],
  "a sign-in that is said to be reusable": [
    () => balloon.signIn("Sign in", MESSAGES.signIn().interactiveData.data.authenticate.oauth2, { reusable: true }),
    "reusableContent", "/reusable"],
  "an app with an empty URL": [
    () => balloon.app("com.apple.messages.MSMessageExtensionBalloonPlugin:T:app", "", "App", { appId: 1 }), "empty",
    "/interactiveData/URL"],
};
for (const [name, [build, rule, pointer]] of Object.entries(BROKEN)) {
  test(`${name} is refused with the rule and the place`, () => assert.deepEqual(broken(build), [rule, pointer]));
}

/** A builder with an argument of a wrong kind: the argument's place, and what is wanted. */
const START = "2030-07-10T08:00+0000";
const WRONG_KINDS = [
  [() => balloon.quickReply("Which?", null), "/items", /found null, allowed an array, each an item or \[identifier, title\]/u],
  [() => balloon.quickReply("Which?"), "/items", /found undefined/u],
  [() => balloon.quickReply("Which?", "Yes"), "/items", /a text of 3 characters/u],
  [() => balloon.quickReply("Which?", ["Yes", "No"]), "/items/0", /for items of quickReply/u],
  [() => balloon.quickReply("Which?", [["a", "A"], ["b", "B", "C"]]), "/items/1", /found 3 items/u],
  [() => balloon.quickReply("Which?", { a: "A", b: "B" }), "/items", /found an object/u],
  [() => balloon.section("Bread", [7]), "/items/0", /found 7/u],
  [() => balloon.listPicker("Which?", null), "/sections", /found null, allowed an array, each a section/u],
  [() => balloon.listPicker("Which?", [["a", "b"]]), "/sections/0", /found 2 items, allowed a section/u],
  [() => balloon.listPicker("Which?", [{ title: "Bread" }]), "/sections/0", /a section/u],
  [() => balloon.slot("1", new Date(NaN), 60), "/start", /type Date, allowed a valid Date or a text, for start of slot/u],
  [() => balloon.slot("1", 7, 60), "/start", /found 7/u],
  [() => balloon.slot("1", START, "60"), "/minutes", /a finite number/u],
  [() => balloon.slot("1", START, 60n), "/minutes", /type bigint/u],
  [() => balloon.slot("1", START, NaN), "/minutes", /found NaN/u],
  [() => balloon.timePicker("When?", "Repair"), "/slots", /found undefined/u],
  [() => balloon.timePicker("When?", "Repair", [START]), "/slots/0", /a slot/u],
  [() => balloon.selectPage("a", "Which?", ["Yes"]), "/items/0", /for items of selectPage/u],
  [() => balloon.pickerPage("a", "Which?", 5), "/items", /found 5/u],
  [() => balloon.form("Who?", null), "/pages", /found null/u],
  [() => balloon.form("Who?", ["a"]), "/pages/0", /a page/u],
  [() => balloon.form("Who?", [{ items: 5 }]), "/pages/0", /a page/u],
  [() => balloon.applePay("Pay", null), "/payment", /an object/u],
  [() => balloon.paymentRequest("Pay", NaN), "/paymentRequest", /found NaN, allowed an object/u],
  [() => balloon.signIn("Sign in", "https://example.com"), "/oauth2", /an object/u],
  [() => balloon.signIn("Sign in", null, { scope: "openid" }), "/scope", /an array, each a text/u],
  [() => balloon.app("b", "u", "App", { icon: 5 }), "/icon", /bytes/u],
  [() => balloon.richLink("https://example.com", "A page", { image: "a.png" }), "/image", /an Image/u],
  [() => balloon.text("Hello", { files: "x.png" }), "/files", /an array, each the path of a file/u],
  [() => balloon.text("Hello", { files: [5] }), "/files/0", /the path of a file/u],
  [() => new Image(5), "/source", /for source of Image/u],
  [() => new Image(PICTURE, 5n), "/description", /a text/u],
  [() => balloon.retry("soon"), "/after", /a finite number/u],
  [() => balloon.retry(5n), "/after", /type bigint/u],
  [() => balloon.text(5n), "/body", /type bigint/u],
  [() => balloon.text(Symbol("a")), "/body", /type symbol/u],
  [() => balloon.quickReply("Which?", [["a", 5n], ["b", "B"]]), `${DATA}/quick-reply/items/0/title`, /type bigint/u],
  [() => balloon.quickReply("Which?", choices(2), { requestIdentifier: 5n }), `${DATA}/requestIdentifier`, /type bigint/u],
  [() => balloon.listPicker("Which?", [balloon.section("a", choices(2))], { reply: itself }), "", /listPicker threw RangeError/u],
];
for (const [build, pointer, words] of WRONG_KINDS) {
  test(`an argument of a wrong kind is a MessageError that names it: ${String(build).slice(6)}`, () => {
    assert.throws(build, (error) => {
      assert.ok(error instanceof MessageError, error);
      assert.match(error.message, words);
      assert.equal(error.pointer, pointer);
      return true;
    });
  });
}

test("an option that is null is missing, and a list is anything that can be iterated over", () => {
  assert.deepEqual(balloon.text("Hello", null), { type: "text", body: "Hello" });
  assert.deepEqual(balloon.text("Hello", { files: null, subject: null }), { type: "text", body: "Hello" });
  assert.deepEqual(["a", "b"].map(balloon.text), [balloon.text("a"), balloon.text("b")]);
  assert.equal(balloon.quickReply("Which?", new Map(choices(2)), null).interactiveData.data["quick-reply"].items.length, 2);
  assert.equal(balloon.item("a", "A", null).title, "A");
});

test("an error of an iterator is the bot's own", () => {
  const items = { * [Symbol.iterator]() { yield ["a", "A"]; throw new TypeError("mine"); } };
  assert.throws(() => balloon.quickReply("Which?", items), { name: "TypeError", message: "mine" });
});

test("an error does not quote the message", () => {
  const build = () => balloon.listPicker("secret".repeat(100), [balloon.section("Bread", choices(1))]);
  assert.throws(build, {
    message: "bubbleText at /interactiveData/receivedMessage/title: found a text of 600 characters, "
      + "allowed at most 512 characters",
  });
});

test("a fallback and reusable stand beside the content", () => {
  const { reusable, fallback } = balloon.quickReply("Which?", choices(2), { reusable: true, fallback: "Write 1 or 2." });
  assert.deepEqual([reusable, fallback], [true, "Write 1 or 2."]);
  const plain = balloon.quickReply("Which?", choices(2));
  assert.ok(!("reusable" in plain) && !("fallback" in plain));
  const { app } = MESSAGES;
  assert.ok(!("fallback" in app()));
});

test("an image that is used twice is sent once", () => {
  const picture = new Image(PICTURE, "A pizza");
  const pizzas = balloon.section("Pizza", [balloon.item("a", "Margherita", { image: picture })]);
  const { data, receivedMessage } = balloon.listPicker(balloon.bubble("Which?", { image: picture }), [pizzas]).interactiveData;
  assert.deepEqual(data.images.map(({ identifier }) => identifier), [picture.identifier]);
  assert.equal(data.listPicker.sections[0].items[0].imageIdentifier, picture.identifier);
  assert.equal(receivedMessage.imageIdentifier, picture.identifier);
});

test("pages follow each other, and the last one sends the form", () => {
  const { pages } = balloon.form("Who?", PAGES).interactiveData.data.dynamic.data;
  assert.deepEqual(pages.map((page) => page.nextPageIdentifier), ["b", undefined]);
  assert.deepEqual(pages.map((page) => page.submitForm), [undefined, true]);
});

test("a Date becomes a start in GMT", () => {
  assert.deepEqual(balloon.slot("1", new Date("2030-07-10T10:00:00+02:00"), 45), {
    identifier: "1", startTime: "2030-07-10T08:00+0000", duration: 2700,
  });
});

const TYPES = {
  "a.caf": "audio/x-caf", "a.pkpass": "application/vnd.apple.pkpass", "a.USDZ": "model/vnd.usdz+zip", "a.doc": "application/msword",
  "a.xls": "application/vnd.ms-excel", "a.ics": "text/calendar", "a.b.heic": "image/heic", "a.unheard": "application/octet-stream",
  "a.xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", caf: "application/octet-stream",
};
for (const [name, type] of Object.entries(TYPES)) {
  test(`the media type of ${name} is that of its extension`, () => {
    assert.equal(balloon.text("Look", { files: [`/srv/${name}`] }).attachments[0].mimeType, type);
  });
}

test("a path that is not absolute is refused", () => {
  assert.deepEqual(broken(() => balloon.text("Look", { files: [{ path: "a.txt" }] })), ["attachmentPath", "/attachments/0/path"]);
});

test("a text with files names absolute paths", () => {
  assert.deepEqual(balloon.text("Look", { files: [PICTURE] }).attachments, [
    { path: PICTURE, name: "pizza.png", mimeType: "image/png" },
  ]);
});

// Events and answers.

test("the function of the kind answers, and any answers the rest", async () => {
  const bot = new Bot("b");
  bot.on.text((event) => event.text.toUpperCase());
  bot.on.any((event) => [event.kind, event.customer]);
  assert.deepEqual(await bot.answer(params("text", { text: "hi" })), { outcome: "handled", replies: ["HI"] });
  assert.deepEqual(await bot.answer(params("close")), { outcome: "handled", replies: ["close", "c"] });
  assert.ok(!bot.events.includes("replyFailed") && bot.events.includes("close"));
});

test("a changed state is in the answer, and an emptied one is null", async () => {
  const bot = new Bot("b");
  bot.on.text((event) => {
    if (event.text === "forget") event.state = {};
    else if (event.text) event.state.said = event.text;
  });
  assert.deepEqual((await bot.answer(params("text", { text: "rye" }))).state, { said: "rye" });
  assert.ok(!("state" in await bot.answer(params("text"))));
  assert.equal((await bot.answer({ ...params("text", { text: "forget" }), state: { said: "rye" } })).state, null);
  bot.on.close((event) => { event.state.long = "x".repeat(40000); });
  await assert.rejects(bot.answer(params("close")), { rule: "stateSize", pointer: "/state" });
});

for (const [value, answer] of [
  [balloon.handoff("wants a person"), { outcome: "handoff", reason: "wants a person" }],
  [balloon.handoff("asked", undefined, { queue: "returns", priority: 0, note: "Order 4711" }), { outcome: "handoff", reason: "asked", queue: "returns", priority: 0, note: "Order 4711" }],
  [balloon.handoff("asked", "Sam answers soon."), { outcome: "handoff", reason: "asked", replies: ["Sam answers soon."] }],
  [balloon.reject("spam"), { outcome: "reject", reason: "spam" }],
  [balloon.retry(), { outcome: "retry" }], [balloon.retry(2.5), { outcome: "retry", retryAfterMs: 2500 }],
  [undefined, { outcome: "handled", replies: [] }], ["Yes.", { outcome: "handled", replies: ["Yes."] }],
]) {
  test(`an outcome is written as the protocol says: ${JSON.stringify(answer)}`, async () => {
    const bot = new Bot("b");
    bot.on.text(async () => value);
    assert.deepEqual(await bot.answer(params("text")), answer);
  });
}

test("a wrong reply is an error with rule and place", async () => {
  const bot = new Bot("b");
  bot.on.text(() => ["Hello", { type: "close" }]);
  await assert.rejects(bot.answer(params("text")), {
    name: "MessageError", message: "messageType at /replies/1/type: found a text of 5 characters, "
      + "allowed text interactive richLink typing_start typing_end",
  });
  bot.on.close(() => Array(33).fill("x"));
  await assert.rejects(bot.answer(params("close")), { rule: "replyCount", pointer: "/replies" });
});

test("an error lists every broken rule of its message", () => {
  assert.throws(() => balloon.quickReply("", [["a", ""]]), ({ problems }) => {
    assert.deepEqual(problems.map(({ pointer }) => pointer), [
      `${DATA}/quick-reply/summaryText`, `${DATA}/quick-reply/items`, `${DATA}/quick-reply/items/0/title`,
    ]);
    return true;
  });
});

const state = (values) => (event) => { Object.assign(event.state, values); };
const UNSENDABLE = {
  "NaN in the state": [state({ price: NaN }), "type", "/state/price", /found NaN, allowed a finite number/u],
  "infinity in a list": [state({ prices: [1, { a: -Infinity }] }), "type", "/state/prices/1/a", /found -Infinity/u],
  "a Date": [state({ at: new Date(0) }), "type", "/state/at", /type Date, allowed a text, such as the value's toISOString/u],
  "an invalid Date": [state({ at: new Date(NaN) }), "type", "/state/at", /type Date/u],
  "a Map": [state({ a: new Map() }), "type", "/state/a", /type Map/u],
  "a buffer": [state({ a: Buffer.from("a") }), "type", "/state/a", /type Uint8Array/u],
  "a BigInt": [state({ a: 1n }), "type", "/state/a", /type bigint/u],
  "a function": [() => () => "Hello", "type", "/replies/0", /type function/u],
  "a promise in a list": [() => ["Hello", Promise.resolve("a")], "type", "/replies/1", /write await before it/u],
  "NaN in a message": [
    () => ({ type: "richLink", richLinkData: { url: NaN } }), "type", "/replies/0/richLinkData/url", /NaN/u],
  "a Date in a builder": [
    () => balloon.listPicker("Which?", [balloon.section("Bread", [balloon.item("a", new Date(0))])]), "type",
    `${DATA}/listPicker/sections/0/items/0/title`, /type Date/u],
  "a list that contains itself": [state({ a: itself }), "depth", undefined, /must not contain itself/u],
  "a state that is a list": [(event) => { event.state = ["a"]; }, "type", "/state", /found 1 item/u],
  "a name of a customer": [state({ "Ada's price": NaN }), "type", "/state/(a name)", /NaN/u],
  "a price of NaN in an outcome": [() => balloon.handoff(NaN), "type", "/reason", /NaN/u],
};
for (const [name, [handle, rule, pointer, words]] of Object.entries(UNSENDABLE)) {
  test(`${name} is an error with its place`, async () => {
    const bot = new Bot("b");
    bot.on.text(handle);
    await assert.rejects(bot.answer(params("text")), (error) => {
      assert.equal(error.rule, rule);
      assert.match(error.message, words);
      assert.equal(error.pointer, pointer ?? error.pointer);
      return true;
    });
  });
}

test("half an emoji is replaced, and two halves are one", async () => {
  const bot = new Bot("b");
  bot.on.text((event) => {
    event.state["half\ud83d"] = "\ud83e";
    return ["Hello \ud83d", "\ud83d\ude00", balloon.text("\ude00", { subject: "\ud83d!" })];
  });
  const answer = await bot.answer(params("text"));
  assert.deepEqual(answer.state, { "half\ufffd": "\ufffd" });
  assert.deepEqual(answer.replies, ["Hello \ufffd", "\u{1f600}", { type: "text", body: "\ufffd", subject: "\ufffd!" }]);
});

test("what JSON leaves out is left out, and toJSON is asked", async () => {
  const bot = new Bot("b");
  bot.on.text(state({ a: undefined, b: [undefined, null, 2.5], c: { toJSON: () => "text" } }));
  assert.deepEqual((await bot.answer(params("text"))).state, { b: [null, null, 2.5], c: "text" });
});

test("a long message and files are read", () => {
  const folder = mkdtempSync(join(tmpdir(), "event-"));
  try {
    writeFileSync(join(folder, "message"), JSON.stringify({ body: "long\ufffc", attachments: [{ name: "a.txt" }] }));
    const call = params("text", { message: undefined, messagePath: join(folder, "message") });
    call.files = [{ path: "/f", size: 7, sha256: "0" }, { failure: "too late" }];
    const event = new Event(call);
    assert.equal(event.text, "long");
    assert.equal(new Event(params("close")).text, undefined);
    assert.deepEqual(event.files.map(({ name, path, failure }) => [name, path, failure]), [
      ["a.txt", "/f", undefined], [undefined, undefined, "too late"],
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("the first event after a person says so", () => {
  assert.equal(new Event({ ...params("text"), afterPerson: 7 }).afterPerson, 7);
  assert.equal(new Event(params("text")).afterPerson, undefined);
});

test("the first event of a conversation says so, and whether the customer wrote before", () => {
  const lastContact = "2026-07-10T17:00:00.000Z";
  const event = new Event({ ...params("text"), conversation: { isNew: true, isReturning: true, lastContact } });
  assert.deepEqual([event.isNew, event.isReturning, event.lastContact], [true, true, lastContact]);
  const later = new Event(params("text"));
  assert.deepEqual([later.isNew, later.isReturning, later.lastContact], [false, false, undefined]);
});

// A child process.

const BOT = `
import { Bot } from "./balloon.mjs";
const bot = new Bot("echo", { concurrency: 4 });
bot.on.text(async (event) => {
  console.log("to the log");
  if (event.text === "crash") throw new RangeError("customer's words");
  if (event.text === "send") return bot.send(event.customer, "k", "Ready.");
  if (event.text === "withdraw") return String(await bot.withdrawPayment("r-1"));
  event.state.count = (event.state.count ?? 0) + 1;
  return [bot.config.greeting, event.text, event.state.count].join(" ");
});
bot.run();
`;

/** The lines of a stream, which are bytes that end at a line feed only. */
async function* linesOf(stream) {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk]);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      yield rest.subarray(0, end);
      rest = rest.subarray(end + 1);
    }
  }
}

/** A bot in a child process, called as the server calls it. */
async function start(code = BOT, { pipes = false } = {}) {
  const program = [process.execPath, "--input-type=module", "--eval", code];
  // Node gives its children sockets, and the shell gives them pipes, as the server does.
  const piped = ["sh", "-c", 'cat | { "$@" 2>&1 1>&6 | cat >&2; } 6>&1 | cat', "sh"];
  const [word, ...words] = pipes ? [...piped, ...program] : program;
  const child = spawn(word, words, { cwd: new URL(".", import.meta.url) });
  const ended = new Promise((done) => child.once("close", done));
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => { errors += chunk; });
  const lines = linesOf(child.stdout);
  const read = async () => JSON.parse((await lines.next()).value);
  const write = (line) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...line }) + "\n");
  const call = (id, method, parameters) => { write({ id, method, params: parameters }); return read(); };
  const { result } = await call(1, "initialize", { config: { greeting: "Hello" }, limits: { maxInFlight: 16 } });
  return {
    introduction: result, read, write, call, send: (bytes) => child.stdin.write(bytes),
    /** Ends standard input; returns the lines that follow, and standard error. */
    end: async () => {
      child.stdin.end();
      const rest = [];
      for await (const line of lines) rest.push(JSON.parse(line));
      assert.equal(await ended, 0);
      return { rest, errors };
    },
  };
}

test("a bot withdraws a payment request", async () => {
  const child = await start();
  const asked = await child.call(2, "event", params("text", { text: "withdraw" }));
  assert.deepEqual([asked.method, asked.params], ["withdrawPayment", { requestIdentifier: "r-1" }]);
  child.write({ id: asked.id, result: { withdrawn: true } });
  assert.deepEqual((await child.read()).result.replies, ["true"]);
  await child.end();
});

test("a call that the ended server never answers fails", async () => {
  const child = await start();
  assert.equal((await child.call(2, "event", params("text", { text: "send" }))).method, "reply");
  const { rest } = await child.end();
  assert.equal(rest[0].error.message, "the function for text threw SendError");
});

for (const pipes of [false, true]) {
  test(`a conversation over ${pipes ? "pipes" : "sockets"}`, async () => {
    const child = await start(BOT, { pipes });
    const { call, introduction, read, write } = child;
    assert.deepEqual(introduction, { protocolVersion: "1", handler: { name: "echo" }, events: ["text"], maxInFlight: 4 });
    const answer = await call(2, "event", params("text", { text: "Ada" }));
    assert.deepEqual(answer.result, { outcome: "handled", replies: ["Hello Ada 1"], state: { count: 1 } });
    const again = await call(3, "event", { ...params("text", { text: "Ada" }), state: { count: 1 } });
    assert.deepEqual(again.result.replies, ["Hello Ada 2"]);
    assert.deepEqual((await call(4, "event", params("text", { text: "crash" }))).error, {
      code: -32603, message: "the function for text threw RangeError",
    });
    assert.deepEqual((await call(5, "ping")).result, {});
    assert.equal((await call(6, "unheardOf", {})).error.code, -32601);
    write({ method: "cancel", params: { deliveryId: "1" } });
    const sent = await call(7, "event", params("text", { text: "send" }));
    assert.equal(sent.method, "reply");
    assert.deepEqual(sent.params, { customer: "c", key: "k", message: "Ready." });
    write({ id: sent.id, result: { messageId: "m-1" } });
    assert.deepEqual((await read()).result.replies, ["m-1"]);
    const long = "x".repeat(300000);
    assert.deepEqual((await call(8, "event", params("text", { text: long }))).result.replies, [`Hello ${long} 1`]);
    assert.deepEqual((await call(9, "shutdown")).result, {});
    const { rest, errors } = await child.end();
    assert.deepEqual(rest, []);
    assert.equal(errors.split("to the log").length, 6);
  });
}

test("a line ends at a line feed only", async () => {
  const child = await start();
  for (const text of ["one\u2028two", "\u2029", "a\u0085b\fc\vd\u001ce", "\r", "\ufeff", "\0", "é\u2028"]) {
    const answer = await child.call(2, "event", params("text", { text }));
    assert.deepEqual(answer.result?.replies, [`Hello ${text} 1`]);
  }
  assert.deepEqual((await child.end()).rest, []);
});

for (const line of ["no JSON, secret", "[1]", "7", "null", '"secret"', "{", "", "{} {}", "[".repeat(100000)]) {
  test(`a line that is no call is logged without its content and skipped: ${line.slice(0, 20)}`, async () => {
    const child = await start();
    child.send(`${line}\n`);
    assert.deepEqual((await child.call(2, "ping")).result, {});
    const { errors } = await child.end();
    assert.ok(errors.includes(`skipped a line of ${line.length + 1} bytes`), errors);
    assert.ok(!errors.includes("secret"));
  });
}

test("a call with wrong parameters is refused, and the program continues", async () => {
  const child = await start();
  for (const method of ["initialize", "event", "payment"]) {
    for (const wrong of [[], "a", { limits: 5 }, undefined]) {
      assert.equal((await child.call(2, method, wrong)).error?.code, -32602, method);
    }
  }
  assert.equal((await child.call(2, "event")).error.message, "params of event has no event");
  child.send("\ufeff" + JSON.stringify({ id: 3, method: "ping" }) + "\n");
  assert.deepEqual(await child.read(), { jsonrpc: "2.0", id: 3, result: {} });
  await child.end();
});

const UNSENT = `
import { spawnSync } from "node:child_process";
import { Bot, MessageError, quickReply } from "./balloon.mjs";
const bot = new Bot("unsent");
bot.on.text((event) => {
  if (event.text === "quick") return quickReply("", [["a", "A"]]);
  if (event.text === "child") {
    const { status } = spawnSync("sh", ["-c", "cat; echo from the child"], { stdio: "inherit", timeout: 20000 });
    return "converted " + status;
  }
  if (event.text === "parts") throw new MessageError("r", "/p\\ud83d", 5n, Symbol("s"), [{ rule: 5n, pointer: "/p\\ud83d" }]);
  if (event.text === "changed") throw Object.assign(new MessageError("r", "/p", "f", "a"), { problems: [{ rule: 5n }], message: 5n });
  if (event.text === "kind") return quickReply("Which?", null);
  if (event.text === "name") throw Object.assign(new Error("a"), { name: 5n });
  if (event.text === "bare") throw Object.create(null);
  if (event.text === "state") { event.state.half = ["\\ud83d", { "\\ude00": 5n }]; return "ok"; }
  event.state.price = NaN;
  return "ok";
});
bot.run();
`;

test("a value that JSON does not have never becomes wrong parameters or an answer that is missing", async () => {
  const child = await start(UNSENT);
  const errors = {};
  let id = 2;
  for (const text of ["parts", "changed", "kind", "name", "bare", "state"]) {
    errors[text] = (await child.call(id++, "event", params("text", { text }))).error;
  }
  const codes = Object.fromEntries(Object.entries(errors).map(([text, { code }]) => [text, code]));
  assert.deepEqual(codes, { parts: -32002, changed: -32002, kind: -32002, name: -32603, bare: -32603, state: -32002 });
  assert.deepEqual(errors.parts.data.problems, [{ rule: "5", pointer: "/p\ufffd", found: "undefined", allowed: "undefined" }]);
  assert.equal(errors.parts.message, "r at /p\ufffd: found 5, allowed Symbol(s)");
  assert.equal(errors.changed.data.problems[0].rule, "5");
  assert.equal(errors.kind.data.problems[0].pointer, "/items");
  assert.equal(errors.state.data.problems[0].pointer, "/state/half/1/(a name)");
  const log = (await child.end()).errors;
  assert.ok(!log.includes("<anonymous>"), log);
});

test("a builder's error is a refusal that lists the problems", async () => {
  const child = await start(UNSENT);
  const { error } = await child.call(2, "event", params("text", { text: "quick" }));
  assert.equal(error.code, -32002);
  assert.deepEqual(error.data.problems.map(({ rule }) => rule), ["empty", "quickReplyCount"]);
  assert.deepEqual(Object.keys(error.data.problems[0]), ["rule", "pointer", "found", "allowed"]);
  const unsendable = await child.call(3, "event", params("text", { text: "nan" }));
  assert.deepEqual(unsendable.error.data.problems, [
    { rule: "type", pointer: "/state/price", found: "NaN", allowed: "a finite number" },
  ]);
  await child.end();
});

test("a program that the bot starts gets no call and writes no answer", async () => {
  const child = await start(UNSENT, { pipes: true });
  child.write({ id: 2, method: "event", params: params("text", { text: "child" }) });
  for (const id of [3, 4, 5, 6]) child.write({ id, method: "ping" });
  assert.deepEqual((await child.read()).result.replies, ["converted 0"]);
  for (const id of [3, 4, 5, 6]) assert.deepEqual(await child.read(), { jsonrpc: "2.0", id, result: {} });
  const { rest, errors } = await child.end();
  assert.deepEqual(rest, []);
  assert.ok(errors.includes("from the child"));
});

// An HTTP service.

const SECRET = "whsec_" + Buffer.alloc(32, "k").toString("base64");
const OTHER = "whsec_" + Buffer.alloc(32, "o").toString("base64");

function signed(body, at = Date.now() / 1000) {
  const stamp = String(Math.floor(at));
  const tag = createHmac("sha256", Buffer.from(SECRET.slice(6), "base64")).update(`5.${stamp}.`).update(body).digest("base64");
  return { "webhook-id": "5", "webhook-timestamp": stamp, "webhook-signature": `v1,AAAA v1,${tag}` };
}

test("a bot answers the calls of a payment", async () => {
  const bot = new Bot("cashier");
  bot.on.paymentGateway(({ total, attempt, payment }) =>
    (payment.paymentToken ? balloon.paid(total, `ch_${attempt}`) : balloon.notPaid({ code: "unknown", message: "No card" })));
  assert.throws(() => bot.payments);
  bot.on.reversal(({ attempt, amount }) => assert.deepEqual([attempt, amount], ["a1", "63.99"]));
  assert.deepEqual(bot.payments, ["paymentGateway"]);
  const sheet = { total: "63.99", currency: "USD" };
  const call = (members) => ({ business: "b", customer: "c", messageId: "m", deadlineMs: 25000, attempt: "a1", ...members });
  assert.deepEqual(await bot.pay(call({ call: "paymentGateway", sheet, payment: { paymentToken: {} } })), {
    status: "STATUS_SUCCESS", charged: "63.99", reference: "ch_a1",
  });
  assert.equal((await bot.pay(call({ call: "paymentGateway", sheet, payment: {} }))).errors[0].code, "unknown");
  const body = Buffer.from(JSON.stringify(call({ call: "reversal", amount: "63.99", currency: "USD" })));
  assert.deepEqual(await bot.respond(signed(body), body, [SECRET]), { status: 200, body: "{}" });
  assert.deepEqual(balloon.problems(balloon.paymentRequest("Halibut", { total: {} })), []);
});

test("a service answers signed requests only", async () => {
  const bot = new Bot("b");
  bot.on.text((event) => event.text);
  const body = Buffer.from(JSON.stringify(params("text", { text: "hi" })));
  const status = async (...request) => (await bot.respond(...request)).status;
  assert.equal(await status(signed(body), body, [SECRET]), 200);
  assert.equal(await status(signed(body), body, [OTHER, SECRET]), 200);
  assert.equal(await status(signed(body), body, [OTHER]), 401);
  assert.equal(await status(signed(body), Buffer.concat([body, Buffer.from(" ")]), [SECRET]), 401);
  assert.equal(await status(signed(body, Date.now() / 1000 - 301), body, [SECRET]), 401);
  assert.equal(await status({}, body, [SECRET]), 401);
});

test("a service answers a builder's error with 422 and the problems", async () => {
  const bot = new Bot("b");
  bot.on.text(() => balloon.quickReply("", [["a", "A"]]));
  bot.on.paymentGateway(() => balloon.paid(NaN, "r"));
  bot.on.reversal(() => {});
  const body = Buffer.from("\ufeff" + JSON.stringify(params("text", { text: "hi" })));
  const answer = await bot.respond(signed(body), body, [SECRET]);
  assert.equal(answer.status, 422);
  assert.deepEqual(JSON.parse(answer.body).problems.map(({ rule }) => rule), ["empty", "quickReplyCount"]);
  // Whether a payment function charged is not known, so its wrong answer is no refusal.
  const payment = Buffer.from(JSON.stringify({ call: "paymentGateway", sheet: {}, payment: {} }));
  assert.deepEqual(await bot.respond(signed(payment), payment, [SECRET]), { status: 500, body: "" });
});

const SERVICE = `
import { Bot } from "./balloon.mjs";
const bot = new Bot("slow");
bot.on.text(async () => {
  console.log("begun");
  await new Promise((done) => process.once("SIGTERM", () => setTimeout(done, 300)));
  return "done";
});
process.argv.splice(1, 10, "bot", "--http", "127.0.0.1:0");
bot.run();
`;

test("a service ends at a signal with open connections, and answers what it began", async () => {
  const service = spawn(process.execPath, ["--input-type=module", "--eval", SERVICE], {
    cwd: new URL(".", import.meta.url), env: { ...process.env, HANDLER_SECRET: SECRET },
  });
  const ended = new Promise((done) => service.once("close", done));
  const port = Number(/:(\d+)\s*$/u.exec(String((await linesOf(service.stderr).next()).value))[1]);
  const connections = [1, 2, 3].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  const post = (agent, value) => new Promise((done, fail) => {
    const body = JSON.stringify(value);
    const sent = request({ port, host: "127.0.0.1", method: "POST", agent, headers: signed(body) }, async (answer) => {
      let content = "";
      for await (const chunk of answer) content += chunk;
      done({ status: answer.statusCode, connection: answer.headers.connection, content });
    });
    sent.once("error", fail).end(body);
  });
  const idle = connect(port, "127.0.0.1");
  await new Promise((done) => idle.once("connect", done));
  assert.equal((await post(connections[0], params("close"))).status, 200);
  const answered = post(connections[1], params("text", { text: "hi" }));
  assert.equal(String((await linesOf(service.stdout).next()).value), "begun");
  service.kill("SIGTERM");
  const { status, connection, content } = await answered;
  assert.deepEqual([status, connection, JSON.parse(content).replies], [200, "close", ["done"]]);
  assert.equal(await ended, 0);
  idle.destroy();
});

test("the same functions run as a service", async () => {
  const bot = new Bot("b");
  bot.on.text((event) => `Hello ${event.text}`);
  bot.on.close(() => { throw new Error("closed"); });
  const server = await bot.serve(0, [SECRET]);
  try {
    for (const [kind, status] of [["text", 200], ["close", 500], ["typingStart", 200]]) {
      const body = JSON.stringify(params(kind, { text: "Ada" }));
      const answer = await fetch(`http://127.0.0.1:${server.address().port}/`, { method: "POST", body, headers: signed(body) });
      assert.equal(answer.status, status);
      const content = await answer.text();
      if (kind === "text") assert.deepEqual(JSON.parse(content).replies, ["Hello Ada"]);
    }
  } finally {
    server.close();
  }
});
