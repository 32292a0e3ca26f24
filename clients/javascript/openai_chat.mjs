// OpenAI's SDK, Chat Completions.
import OpenAI from "openai";
import { MODEL, SAID, getWeather, report } from "./talk.mjs";

const client = new OpenAI();
const ask = (messages, more = {}) => client.chat.completions.create({ model: MODEL, messages, ...more });

const messages = [{ role: "user", content: SAID.first }];
messages.push((await ask(messages)).choices[0].message, { role: "user", content: SAID.second });
const second = (await ask(messages)).choices[0].message.content;

const chunks = [];
for await (const chunk of await ask([{ role: "user", content: SAID.stream }], { stream: true })) {
  chunks.push(chunk.choices[0]?.delta?.content);
}

const runner = client.chat.completions.runTools({
  model: MODEL,
  messages: [{ role: "user", content: SAID.ask }],
  tools: [{ type: "function", function: { ...SAID.tool, function: getWeather, parse: JSON.parse } }],
});
report("openai", second, chunks, await runner.finalContent());
