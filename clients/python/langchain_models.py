"""LangChain's chat models: the second argument names the integration."""

import sys

from langchain_core.messages import HumanMessage, ToolMessage
from talk import MODEL, SAID, get_weather, report

match sys.argv[2]:
    case "langchain-openai":
        from langchain_openai import ChatOpenAI as Model
    case "langchain-openai-responses":
        from langchain_openai import ChatOpenAI

        def Model(model):  # noqa: N802  # stands for a class
            """The same class, asked for the other format."""
            return ChatOpenAI(model=model, use_responses_api=True)
    case "langchain-anthropic":
        from langchain_anthropic import ChatAnthropic as Model
    case "langchain-google-genai":
        from langchain_google_genai import ChatGoogleGenerativeAI as Model
    case other:
        sys.exit(f"no such integration: {other}")

model = Model(model=MODEL)

messages = [HumanMessage(SAID["first"])]
messages += [model.invoke(messages), HumanMessage(SAID["second"])]
second = model.invoke(messages)

chunks = [str(chunk.text) for chunk in model.stream(SAID["stream"])]

with_tools = model.bind_tools([get_weather])
messages = [HumanMessage(SAID["ask"])]
asked = with_tools.invoke(messages)
messages.append(asked)
for call in asked.tool_calls:
    messages.append(ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"], name=call["name"]))
told = with_tools.invoke(messages)

report(sys.argv[2].removesuffix("-responses"), str(second.text), chunks, str(told.text))
