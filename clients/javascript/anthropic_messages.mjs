// Anthropic's SDK, Messages.
import Anthropic from "@anthropic-ai/sdk";
import { MODEL, SAID, getWeather, report } from "./talk.mjs";

const client = new Anthropic();
const asking = (messages, more = {}) => ({ model: MODEL, max_tokens: 1000, messages, ...more });
const text = (message) => message.content.map((block) => block.text ?? "").join("");

const messages = [{ role: "user", content: SAID.first }];
const first = await client.messages.create(asking(messages));
messages.push({ role: "assistant", content: first.content }, { role: "user", content: SAID.second });
const second = await client.messages.create(asking(messages));

const chunks = [];
const stream = client.messages.stream(asking([{ role: "user", content: SAID.stream }]));
stream.on("text", (piece) => chunks.push(piece));
await stream.finalMessage();

const { name, description, parameters } = SAID.tool;
const tools = [{ name, description, input_schema: parameters }];
const said = [{ role: "user", content: SAID.ask }];
const asked = await client.messages.create(asking(said, { tools }));
const content = asked.content
  .filter((block) => block.type === "tool_use")
  .map((block) => ({ type: "tool_result", tool_use_id: block.id, content: getWeather(block.input) }));
said.push({ role: "assistant", content: asked.content }, { role: "user", content });
report("@anthropic-ai/sdk", text(second), chunks, text(await client.messages.create(asking(said, { tools }))));
