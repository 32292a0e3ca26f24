"""Conversations of wrong and odd shapes, one JSON value a line."""

from __future__ import annotations

import json

MESSAGES: list[object] = [
    json.loads(line)
    for line in """\
null
1
1.5
true
"text"
{}
[]
[null]
[1]
["text"]
[[]]
[{}]
[{"role": null}]
[{"role": 1}]
[{"role": "king"}]
[{"role": "user", "content": 1}]
[{"role": "user", "content": {"text": "x"}}]
[{"role": "user", "content": [1]}]
[{"role": "user", "content": [null]}]
[{"role": "user", "content": [{"type": "text"}]}]
[{"role": "user", "content": [{"type": "text", "text": null}]}]
[{"role": "user", "content": [{"type": "image_url"}]}]
[{"role": "user", "content": [{"type": "image_url", "image_url": 5}]}]
[{"role": "user", "content": [{"type": "input_audio", "input_audio": null}]}]
[{"role": "user", "content": [{"type": 5}]}]
[{"role": "assistant", "tool_calls": 1}]
[{"role": "assistant", "tool_calls": [null]}]
[{"role": "assistant", "tool_calls": [{}]}]
[{"role": "assistant", "tool_calls": [{"type": "function", "function": {"arguments": "{}"}}]}]
[{"role": "assistant", "tool_calls": [{"id": null, "function": {"name": null}}]}]
[{"role": "assistant", "tool_calls": [{"id": 5, "function": {"name": "f", "arguments": 5}}]}]
[{"role": "assistant", "function_call": "f"}]
[{"role": "tool"}]
[{"role": "tool", "tool_call_id": 1, "content": "x"}]
[{"role": "tool", "tool_call_id": "x", "content": null}]
[{"role": "system"}]
[{"role": "user", "content": "x", "name": 5}]
[{"role": "user", "content": "x"}, 7]
""".splitlines()
]

CONTENTS: list[object] = [
    json.loads(line)
    for line in """\
null
1
1.5
true
"text"
{}
[]
[null]
[1]
["text"]
[[]]
[{"parts": 1}]
[{"parts": null}]
[{"parts": "x"}]
[{"parts": [null]}]
[{"parts": [1]}]
[{"parts": ["x"]}]
[{"parts": [{"text": 1}]}]
[{"parts": [{"text": null}]}]
[{"parts": [{"functionCall": 1}]}]
[{"parts": [{"functionCall": null}]}]
[{"parts": [{"functionCall": {}}]}]
[{"parts": [{"functionCall": {"name": 1}}]}]
[{"parts": [{"functionCall": {"name": "f", "args": 1}}]}]
[{"parts": [{"functionResponse": {}}]}]
[{"parts": [{"functionResponse": {"name": "f", "response": 1}}]}]
[{"parts": [{"functionResponse": null}]}]
[{"parts": [{"inlineData": 1}]}]
[{"parts": [{"inlineData": {}}]}]
[{"parts": [{"inlineData": {"data": 1}}]}]
[{"parts": [{"fileData": []}]}]
[{"role": 1, "parts": []}]
[{"role": "king", "parts": [{"text": "x"}]}]
[{"parts": [{"thoughtSignature": 1, "text": "x"}]}]
[{"parts": [{"thought": "yes", "text": "x"}]}]
[{"parts": {"text": "x"}}]
[{"role": null, "parts": [{"text": "x"}]}]
[{"parts": [{"functionResponse": {"name": "f", "response": {"output": null}}}]}]
""".splitlines()
]
