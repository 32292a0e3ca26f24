// What every JavaScript client says and hears: the lines of conversation.json, the model to ask, and the report at the end.
import { readFileSync } from "node:fs";

const json = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf-8"));

export const SAID = json("../conversation.json");
export const MODEL = process.argv[2];
const called = [];

// The tool that the model may call; its arguments are noted for the report.
export function getWeather({ city }) {
  called.push({ city });
  return SAID.result;
}

// Print what the runner judges: the second answer, the pieces of the stream, the tool's arguments and its answer.
export function report(name, second, chunks, told) {
  const pieces = chunks.filter((chunk) => chunk);
  const { version } = json(`./node_modules/${name}/package.json`);
  console.log(JSON.stringify({ version, second, streamed: pieces.join(""), chunks: pieces.length, called, told }));
}
