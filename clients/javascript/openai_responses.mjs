// OpenAI's SDK, Responses: each turn goes on from the one before by its id.
import OpenAI from "openai";
import { MODEL, SAID, getWeather, report } from "./talk.mjs";

const client = new OpenAI();
const ask = (input, more = {}) => client.responses.create({ model: MODEL, input, ...more });

const first = await ask(SAID.first);
const second = await ask(SAID.second, { previous_response_id: first.id });

const chunks = [];
for await (const event of await ask(SAID.stream, { stream: true })) {
  if (event.type === "response.output_text.delta") chunks.push(event.delta);
}

const tools = [{ type: "function", ...SAID.tool, strict: false }];
const asked = await ask([{ role: "user", content: SAID.ask }], { tools, store: false });
const outputs = asked.output
  .filter((item) => item.type === "function_call")
  .map((item) => ({ type: "function_call_output", call_id: item.call_id, output: getWeather(JSON.parse(item.arguments)) }));
const told = await ask([{ role: "user", content: SAID.ask }, ...asked.output, ...outputs], { tools, store: false });
report("openai", second.output_text, chunks, told.output_text);
