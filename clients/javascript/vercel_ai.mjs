// Vercel's AI SDK: the third argument names its provider package.
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { MODEL, SAID, getWeather, report } from "./talk.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false; // it warns of every model name that it does not know
const [, , , provider] = process.argv;
const { openai } = await import("@ai-sdk/openai");
const { anthropic } = await import("@ai-sdk/anthropic");
const { createGoogle } = await import("@ai-sdk/google");
const { GOOGLE_GEMINI_BASE_URL: base, GEMINI_API_KEY: apiKey } = process.env; // names that it does not read itself
const model = {
  "openai-chat": () => openai.chat(MODEL),
  "openai-responses": () => openai.responses(MODEL),
  anthropic: () => anthropic(MODEL),
  google: () => createGoogle({ baseURL: `${base}/v1beta`, apiKey })(MODEL),
}[provider]();

const messages = [{ role: "user", content: SAID.first }];
const first = await generateText({ model, messages });
messages.push(...first.response.messages, { role: "user", content: SAID.second });
const second = await generateText({ model, messages });

const chunks = [];
for await (const piece of streamText({ model, prompt: SAID.stream }).textStream) chunks.push(piece);

const { name, description, parameters } = SAID.tool;
const tools = { [name]: tool({ description, inputSchema: jsonSchema(parameters), execute: getWeather }) };
const told = await generateText({ model, prompt: SAID.ask, tools, stopWhen: isStepCount(3) });
report(`@ai-sdk/${provider.split("-")[0]}`, second.text, chunks, told.text);
