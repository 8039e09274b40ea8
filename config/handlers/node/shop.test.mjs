// A test of the sign-in of shop.mjs with `balloon dev`, whose provider signs everybody in. It needs the program `balloon` on the
// PATH.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { simulated } from "./balloon.mjs";

const shop = fileURLToPath(new URL("shop.mjs", import.meta.url));
const skip = spawnSync("balloon", ["--version"]).status === 0 ? false : "needs balloon on the PATH";

test("a customer signs in, and another declines", { skip }, () => simulated(shop, async (customer) => {
  const [request] = await customer("text", { text: "Sign in" });
  assert.equal(request.interactiveData.receivedMessage.title, "Sign in");
  const [welcome] = await customer("authentication", { user: "ana" });
  assert.equal(welcome.body, "Welcome, ana!");
  await customer("text", { text: "sign in", customer: "bob" });
  const [sorry] = await customer("authentication", { customer: "bob", deny: true });
  assert.equal(sorry.body, "You did not sign in. You can order without it.");
}));
