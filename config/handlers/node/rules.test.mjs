// The rules of balloon.mjs are those of `balloon validate`: both look at the samples of every kind, and at thousands of
// variants.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { problems } from "./balloon.mjs";

const SAMPLES = fileURLToPath(new URL("../../../Tests/TestSupport/Fixtures/outbound", import.meta.url));
const SCHEMA = JSON.parse(readFileSync(new URL("../../schemas/outbound.schema.json", import.meta.url), "utf8"));
// The rules that the library has besides those of the schema.
const PARTS = [
  "quickReplyIdentifiers", "listItemIdentifiers", "slotIdentifiers", "pageIdentifiers", "pageItemIdentifiers",
  "imageIdentifiers", "startTime", "nextPage", "startPage", "reusableContent", "type", "required", "empty",
];

const schemaRules = (value) => (typeof value !== "object" || value === null ? [] : [
  ...(typeof value["x-rule"] === "string" ? [value["x-rule"]] : []), ...Object.values(value).flatMap(schemaRules),
]);
const RULES = new Set([...PARTS, ...schemaRules(SCHEMA)]);

const places = (value, path = []) => [path, ...(typeof value !== "object" || value === null ? [] : Object.entries(value)
  .flatMap(([name, member]) => places(member, [...path, Array.isArray(value) ? Number(name) : name])))];

/** The message, and it without each member, and with each member replaced by others or repeated. */
function variants(message) {
  const all = [message];
  for (const path of places(message).slice(1)) {
    for (const change of ["drop", "double", null, 17, "", {}, [], "x".repeat(600), true]) {
      const other = structuredClone(message);
      const owner = path.slice(0, -1).reduce((value, name) => value[name], other);
      const name = path.at(-1);
      if (change === "drop") Array.isArray(owner) ? owner.splice(name, 1) : delete owner[name];
      else if (change !== "double") owner[name] = change;
      else if (Array.isArray(owner)) owner.push(structuredClone(owner[name]));
      else continue;
      all.push(other);
    }
  }
  return all;
}

const hasBalloon = spawnSync("balloon", ["--version"]).status === 0;
for (const sample of existsSync(SAMPLES) ? readdirSync(SAMPLES) : []) {
  test(`the library finds the errors that the server finds in ${sample}`, { skip: !hasBalloon }, () => {
    const folder = mkdtempSync(join(tmpdir(), "rules-"));
    try {
      const messages = variants(JSON.parse(readFileSync(join(SAMPLES, sample), "utf8")));
      const files = messages.map((_, number) => join(folder, `${number}.json`));
      messages.forEach((message, number) => writeFileSync(files[number], JSON.stringify(message)));
      const expected = new Map(files.map((file) => [file, new Set()]));
      for (let start = 0; start < files.length; start += 500) {
        const options = { encoding: "utf8", maxBuffer: 1 << 28 };
        const { stdout } = spawnSync("balloon", ["validate", "--json", ...files.slice(start, start + 500)], options);
        for (const line of stdout.split("\n").filter(Boolean)) {
          const { file, rule, pointer, severity } = JSON.parse(line);
          if (severity === "error" && RULES.has(rule)) expected.get(file).add(`${rule} ${pointer}`);
        }
      }
      messages.forEach((message, number) => {
        const found = new Set(problems(message).map(({ rule, pointer }) => `${rule} ${pointer}`));
        assert.deepEqual([...found].sort(), [...expected.get(files[number])].sort(), JSON.stringify(message).slice(0, 2000));
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}
