"""Golden folders: one conversation turn each, every form it takes on its way as a readable file.

    request.json    what the client sends                     (written by hand)
    stream.txt      what the provider answers                 (written by hand)
    neutral.txt     the chat as the wire reads it
    upstream.json   what the provider gets, with the losses
    client.txt      what the client gets, streamed
    whole.json      what the client gets, in one piece

`python -m tests.wires.goldens` writes the last four anew; read the difference before you commit it.
"""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from app.chat.model import Chat
from tests.wires.talking import STAMP, TARGETS, WIRES, decoded, new_ids

HERE = Path(__file__).parent / "golden"
FOLDERS = sorted(path for path in HERE.iterdir() if path.is_dir())


def produced(folder: Path) -> dict[str, str]:
    """The files of a folder that the code makes, by name. The folder's name is CLIENT-to-UPSTREAM-STORY."""
    client, _, upstream, *_ = folder.name.split("-")
    chat = decoded(client, (folder / "request.json").read_bytes(), stream=True)
    outbound = WIRES[upstream].encode(chat, TARGETS[upstream])
    reader = WIRES[upstream].reader(chat, True, new_ids())
    events = reader.feed((folder / "stream.txt").read_bytes()) + reader.close()
    stream, whole = (WIRES[client].writer(chat, STAMP, streamed) for streamed in (True, False))
    sent = {
        "path": outbound.path,
        "untouched": outbound.untouched,
        "losses": outbound.losses,
        "body": msgspec.Raw(outbound.body),
    }
    return {
        "neutral.txt": _neutral(chat),
        "upstream.json": msgspec.json.format(msgspec.json.encode(sent)).decode() + "\n",
        "client.txt": (b"".join(map(stream.write, events)) + stream.close()).decode().replace("\r\n", "\n"),
        "whole.json": msgspec.json.format(b"".join(map(whole.write, events)) + whole.close()).decode() + "\n",
    }


def _neutral(chat: Chat) -> str:
    """One line a part, without what the peer wrote."""
    lines = [f"model {chat.model}"]
    for message in (*chat.system, *chat.messages):
        lines.append(message.role)
        for part in message.parts:
            fields = {k: v for k, v in msgspec.structs.asdict(part).items() if k != "native" and v not in ("", ())}
            lines.append(f"  {type(part).__name__} {json.dumps(msgspec.to_builtins(fields), ensure_ascii=False)}")
    lines.extend(f"tool {tool.kind} {tool.name}" for tool in chat.tools)
    lines.append(f"sampling {json.dumps(msgspec.to_builtins(chat.sampling), sort_keys=True)}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for each in FOLDERS:
        for name, text in produced(each).items():
            (each / name).write_text(text, encoding="utf-8")
