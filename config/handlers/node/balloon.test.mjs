// Tests of balloon.mjs: builders and limits, one conversation over standard input and output, and an HTTP service.
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
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
  assert.match((await bot.answer(params("close"))).reason, /^stateSize at \/state/u);
});

for (const [value, answer] of [
  [balloon.handoff("wants a person"), { outcome: "handoff", reason: "wants a person" }],
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

test("a wrong reply rejects the event with rule and place", async () => {
  const bot = new Bot("b");
  bot.on.text(() => ["Hello", { type: "close" }]);
  assert.deepEqual(await bot.answer(params("text")), {
    outcome: "reject", reason: "messageType at /replies/1/type: found a text of 5 characters, "
      + "allowed text interactive richLink typing_start typing_end",
  });
  bot.on.close(() => Array(33).fill("x"));
  assert.match((await bot.answer(params("close"))).reason, /^replyCount at \/replies: found 33 items/u);
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

const start = () => spawn(process.execPath, ["--input-type=module", "--eval", BOT], { cwd: new URL(".", import.meta.url) });

test("a bot withdraws a payment request", async () => {
  const child = start();
  const ended = new Promise((done) => child.once("close", done));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async () => JSON.parse((await lines.next()).value);
  const write = (line) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...line }) + "\n");
  write({ id: 1, method: "initialize", params: { config: {}, limits: { maxInFlight: 16 } } });
  await read();
  write({ id: 2, method: "event", params: params("text", { text: "withdraw" }) });
  const asked = await read();
  assert.deepEqual([asked.method, asked.params], ["withdrawPayment", { requestIdentifier: "r-1" }]);
  write({ id: asked.id, result: { withdrawn: true } });
  assert.deepEqual((await read()).result.replies, ["true"]);
  child.stdin.end();
  assert.equal(await ended, 0);
});

test("a call that the ended server never answers fails", async () => {
  const child = start();
  const ended = new Promise((done) => child.once("close", done));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async () => JSON.parse((await lines.next()).value);
  const write = (line) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...line }) + "\n");
  write({ id: 1, method: "initialize", params: { config: {}, limits: { maxInFlight: 16 } } });
  await read();
  write({ id: 2, method: "event", params: params("text", { text: "send" }) });
  assert.equal((await read()).method, "reply");
  child.stdin.end();
  assert.equal((await read()).error.message, "the function for text threw SendError");
  assert.equal(await ended, 0);
});

test("a conversation over standard input and output", async () => {
  const child = start();
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (chunk) => { errors += chunk; });
  const ended = new Promise((done) => child.once("close", done));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async () => JSON.parse((await lines.next()).value);
  const write = (line) => child.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...line }) + "\n");
  const call = (id, method, parameters) => { write({ id, method, params: parameters }); return read(); };

  const { result } = await call(1, "initialize", { config: { greeting: "Hello" }, limits: { maxInFlight: 16 } });
  assert.deepEqual(result, { protocolVersion: "1", handler: { name: "echo" }, events: ["text"], maxInFlight: 4 });
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
  assert.deepEqual((await call(8, "shutdown")).result, {});
  child.stdin.end();
  assert.equal(await ended, 0);
  assert.equal(errors.split("to the log").length, 5);
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
