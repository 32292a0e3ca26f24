// Google's SDK, generateContent: a chat object, a stream, and a tool called by hand.
import { GoogleGenAI } from "@google/genai";
import { MODEL, SAID, getWeather, report } from "./talk.mjs";

const client = new GoogleGenAI({});

const chat = client.chats.create({ model: MODEL });
await chat.sendMessage({ message: SAID.first });
const second = await chat.sendMessage({ message: SAID.second });

const chunks = [];
for await (const chunk of await client.models.generateContentStream({ model: MODEL, contents: SAID.stream })) {
  chunks.push(chunk.text);
}

const { name, description, parameters } = SAID.tool;
const config = { tools: [{ functionDeclarations: [{ name, description, parametersJsonSchema: parameters }] }] };
const asking = client.chats.create({ model: MODEL, config });
const asked = await asking.sendMessage({ message: SAID.ask });
const message = (asked.functionCalls ?? []).map(({ id, name, args }) => ({
  functionResponse: { id, name, response: { result: getWeather(args) } },
}));
report("@google/genai", second.text, chunks, (await asking.sendMessage({ message })).text);
