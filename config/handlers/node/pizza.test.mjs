// Tests of pizza.mjs against the server with Apple simulated: as a child process and as an HTTP service. They need the
// program `balloon` on the PATH.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { simulate, simulated } from "./balloon.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const skip = spawnSync("balloon", ["--version"]).status === 0 ? false : "needs balloon on the PATH";

/** The whole conversation: from a text to the summary. */
async function order(customer) {
  const [words, greeting] = await customer("text", { text: "Good morning" });
  assert.equal(words.body, "What can we do for you?");
  assert.deepEqual(greeting.interactiveData.data["quick-reply"].items.map(({ title }) => title), [
    "Order a pizza", "Talk to a person",
  ]);
  const [menu] = await customer(null, { choose: "Order a pizza" });
  assert.deepEqual(menu.interactiveData.data.listPicker.sections.map(({ title }) => title), ["Pizza", "Drinks"]);
  const [complaint] = await customer(null, { choose: "Cola" });
  assert.equal(complaint.body, "Please choose at least one pizza.");
  const [times] = await customer(null, { choose: "Margherita,Cola" });
  const slot = times.interactiveData.data.event.timeslots[1];
  const [question, permission] = await customer(null, { choose: 2 });
  assert.equal(question.body, "May we ask for your name and address?");
  assert.deepEqual(permission.interactiveData.data["quick-reply"].items.map(({ title }) => title), ["Yes", "No"]);
  const [form] = await customer(null, { choose: "Yes" });
  const { pages } = form.interactiveData.data.dynamic.data;
  assert.deepEqual(pages.map(({ pageIdentifier }) => pageIdentifier), ["name", "address", "payment"]);
  const [summary, link] = await customer(null, { fill: { name: "Ada", address: "1 Long Street", payment: "Card" } });
  assert.equal(summary.body, `Ada, we bring Margherita, Cola at ${slot.startTime.slice(11, 16)} GMT.`);
  assert.equal(link.richLinkData.assets.image.mimeType, "image/png");
}

test("a customer orders a pizza", { skip }, () => simulated(here("pizza.mjs"), async (customer) => {
  await order(customer);
  const picture = here("../pizza.png");
  const [, again] = await customer("text", { customer: "urn:mbid:AQAAYsomebodyElse", attach: [picture, picture] });
  assert.ok("quick-reply" in again.interactiveData.data);
}));

test("a customer whose device shows lists only orders in words", { skip }, () => simulated(here("pizza.mjs"), async (customer) => {
  const device = "old-iphone";
  const [words, choices] = await customer("text", { text: "Good morning", device });
  assert.deepEqual([words.body, choices.type], ["What can we do for you?", "text"]);
  const [menu] = await customer("text", { text: "pizza", device });
  assert.ok("listPicker" in menu.interactiveData.data);
  await customer(null, { choose: "Margherita", device });
  const [, permission] = await customer(null, { choose: 1, device });
  assert.equal(permission.body, "Write yes or no.");
  const [question] = await customer("text", { text: "yes", device });
  assert.match(question.body, /^Where shall we bring it\?/u);
  const [summary] = await customer("text", { text: "Ada, 1 Long Street, card", device });
  assert.match(summary.body, /we bring Margherita at/u);
}));

test("the bot in the readme passes the server's check", { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), "readme-"));
  try {
    const [, code] = /```js\n(.*?)```/su.exec(readFileSync(here("README.md"), "utf8"));
    writeFileSync(join(folder, "fishmonger.mjs"), code);
    chmodSync(join(folder, "fishmonger.mjs"), 0o755);
    copyFileSync(here("balloon.mjs"), join(folder, "balloon.mjs"));
    const { status, stdout } = spawnSync("balloon", ["handlers", "check", "./fishmonger.mjs"], { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const page = here("../../../Sources/HandlerProtocol/HandlerProtocol.docc/TestingABot.md");
test("the test in the manual passes", { skip: skip || !existsSync(page) }, () => {
  const folder = mkdtempSync(join(tmpdir(), "manual-"));
  try {
    const code = (file) => /```js\n(.*?)```/su.exec(readFileSync(file, "utf8"))[1];
    writeFileSync(join(folder, "fishmonger.mjs"), code(here("README.md")));
    chmodSync(join(folder, "fishmonger.mjs"), 0o755);
    copyFileSync(here("balloon.mjs"), join(folder, "balloon.mjs"));
    writeFileSync(join(folder, "fishmonger.test.mjs"), code(page));
    const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
    const { status, stdout } = spawnSync(process.execPath, ["--test", "fishmonger.test.mjs"], { cwd: folder, env, encoding: "utf8" });
    assert.equal(status, 0, stdout);
    assert.match(stdout, /pass 1\b/u);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Runs a program while `body` runs, which gets the first match in its output. */
async function running(words, until, environment, body) {
  const [program, ...rest] = words;
  const child = spawn(program, rest, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...environment } });
  const ended = new Promise((done) => child.once("exit", done));
  const lines = [];
  try {
    const match = await new Promise((found, fail) => {
      for (const input of [child.stdout, child.stderr]) {
        input.setEncoding("utf8").on("data", (chunk) => {
          lines.push(chunk);
          const match = until.exec(lines.join(""));
          if (match) found(match);
        });
      }
      ended.then(() => fail(new Error(lines.join(""))));
    });
    return await body(match);
  } finally {
    child.kill();
    await ended;
  }
}

test("a customer orders a pizza from an HTTP service", { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "service-"));
  const file = (name) => join(folder, name);
  const secret = "whsec_" + randomBytes(32).toString("base64");
  const dev = ["balloon", "dev", "--data", file("dev"), "--listen", "127.0.0.1:0"];
  try {
    await running([here("pizza.mjs"), "--http", "0"], /listens on (http\S+)/u, { HANDLER_SECRET: secret }, (service) =>
      running(dev, /simulated at/u, {}, async () => {
        while (!existsSync(file("dev/dev.json"))) await pause(50);
        const known = JSON.parse(readFileSync(file("dev/dev.json"), "utf8"));
        const server = {
          mspID: known.mspID, secret: { file: "secret" }, listen: "127.0.0.1:0", adminListen: "off",
          dataDirectory: file("data"),
          gateway: { url: `${known.gateway}/v1`, downloadHosts: [known.gateway.split("/").at(-1)] },
        };
        const business = {
          businessID: known.businessID, name: "Pizza",
          handler: { http: { url: service[1], secret: { file: "../webhook" } } },
        };
        mkdirSync(file("businesses"));
        writeFileSync(file("secret"), known.secret);
        writeFileSync(file("webhook"), secret);
        writeFileSync(file("server.json"), JSON.stringify(server));
        writeFileSync(file("businesses/pizza.json"), JSON.stringify(business));
        await running(["balloon", "serve", "--config", file("server.json")], /address\W+([0-9.:]+)/u, {}, ([, address]) =>
          order((message, options) => simulate(message, { data: file("dev"), to: `http://${address}`, ...options })));
      }));
  } finally {
    rmSync(folder, { recursive: true });
  }
});
