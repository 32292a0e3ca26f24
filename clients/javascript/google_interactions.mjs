// Google's SDK, Interactions: each turn goes on from the one before by its id.
import { GoogleGenAI } from "@google/genai";
import { MODEL, SAID, getWeather, report } from "./talk.mjs";

const client = new GoogleGenAI({});
const ask = (input, more = {}) => client.interactions.create({ model: MODEL, input, ...more });
const texts = (contents) => (contents ?? []).map((content) => content.text ?? "").join("");
const text = (answer) => answer.steps.map((step) => (step.type === "model_output" ? texts(step.content) : "")).join("");

const first = await ask(SAID.first);
const second = await ask(SAID.second, { previous_interaction_id: first.id });

const chunks = [];
for await (const event of await ask(SAID.stream, { stream: true })) {
  if (event.event_type === "step.start" && event.step.type === "model_output") chunks.push(texts(event.step.content));
  if (event.event_type === "step.delta" && event.delta.type === "text") chunks.push(event.delta.text);
}

const tools = [{ type: "function", ...SAID.tool }];
const asked = await ask(SAID.ask, { tools });
const results = asked.steps
  .filter((step) => step.type === "function_call")
  .map(({ id, name, arguments: given }) => ({ type: "function_result", call_id: id, name, result: getWeather(given) }));
const told = await ask(results, { tools, previous_interaction_id: asked.id });
report("@google/genai", text(second), chunks, text(told));
