"""`foldline serve`: says what is on, what is off and what to type next, then runs the proxy."""

from __future__ import annotations

import argparse
import functools
import gc
import math
import multiprocessing
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from app.commands.command import Command
from app.commands.greeting import greeting

if TYPE_CHECKING:
    import socket

    import uvicorn

    from app.settings import Settings

WORKER = "app.commands.serve:worker"
KEEP_ALIVE = 75
"""Seconds that an idle client connection stays open: longer than the SDKs' pools keep theirs."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The settings that one changes from run to run."""
    parser.add_argument("--host", metavar="H", help="the address to listen on")
    parser.add_argument("--port", metavar="P", help="the port to listen on; 0 takes a free one")
    parser.add_argument("--workers", metavar="N", help="processes that serve")


def run(given: argparse.Namespace) -> int:
    """Serve until SIGTERM or SIGINT.

    Raises:
        SettingsError: a wrong setting, settings that contradict each other, or an address that cannot be listened on.
    """
    from app.commands.listening import listen
    from app.commands.shared import shared_parts
    from app.settings import SettingsError, load

    flags = {"host": given.host, "port": given.port, "workers": given.workers}
    settings = load(given.config, flags)
    if refusal := settings.start_refusal:
        raise SettingsError(refusal)
    with listen(settings.host, settings.port) as listener, shared_parts(settings) as shared:
        if settings.log_format == "console":
            print(greeting(settings, listener.getsockname()[1], sys.stderr), file=sys.stderr, flush=True)
        if given.config:
            os.environ["FOLDLINE_CONFIG"] = str(Path(given.config).absolute())
        return _serve(shared, listener)


def _serve(settings: Settings, listener: socket.socket) -> int:
    signal.signal(signal.SIGTERM, _leave)
    try:
        if settings.workers > 1:
            _run_workers(settings, listener)
        else:
            _run_here(settings, listener)
    except KeyboardInterrupt:
        return 0
    return 0


def _leave(*_: object) -> NoReturn:
    """uvicorn raises a signal once more after its shutdown; that must end in our `finally`s, not kill the process."""
    raise SystemExit(0)


def _run_here(settings: Settings, listener: socket.socket) -> None:
    import uvicorn

    uvicorn.Server(_config(settings, functools.partial(_app, settings))).run(sockets=[listener])


def _run_workers(settings: Settings, listener: socket.socket) -> None:
    from uvicorn.supervisors import Multiprocess

    # A worker is a new process that reads its settings itself: what the command line said, and what this process
    # started for all of them, goes there through the environment.
    values = {"host": settings.host, "port": str(settings.port), "workers": str(settings.workers)}
    values["redis_url"] = settings.redis_url.get_secret_value()
    values |= {"simulator_url": settings.simulator_url} if settings.simulator_url else {}
    os.environ.update({f"FOLDLINE_{name.upper()}": value for name, value in values.items()})
    Multiprocess(_config(settings, WORKER), sockets=[listener]).run()


def worker() -> object:
    """The app of one of several workers.

    It ends with the process that started it, even if that was killed: nobody would be left to stop it, and it would
    hold the port.
    """
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    return _app(None)


def _app(settings: Settings | None) -> object:
    """The app, in a process that does nothing else.

    What was loaded for good is taken out of the garbage collector's rounds, and those come less often: without, each
    full round walks a hundred thousand objects of imported modules in the middle of somebody's stream.
    """
    gc.disable()  # an import makes much and throws nothing away: looking for waste takes a tenth of the start
    from app.main import create_app

    app = create_app(settings)
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(5_000, 20, 50)
    return app


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _config(settings: Settings, app: object) -> uvicorn.Config:
    import uvicorn

    from app.commands.protocol import Protocol

    return uvicorn.Config(
        app,  # pyright: ignore[reportArgumentType] # a factory, by name or as an object
        factory=True,
        loop="auto",
        http=Protocol,
        ws="none",
        lifespan="on",
        workers=settings.workers,
        access_log=False,
        log_config=None,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=math.ceil(settings.drain_seconds),
    )


COMMAND = Command("serve", "Runs the proxy.", arguments, run)
