"""Opening the listening socket before anything else starts, so that a taken port is one readable line."""

from __future__ import annotations

import errno
import socket

from app.settings.errors import SettingsError


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, ready to be listened on and inheritable by workers. Port 0 takes a free one.

    Raises:
        SettingsError: the port is taken or not allowed, or the address is not this machine's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError:
        raise SettingsError(f"HOST {host} is not an address of this machine: use 127.0.0.1, 0.0.0.0 or ::.") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        # Listening shows a taken port on systems where two sockets may be bound to one.
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise SettingsError(refusal(error, host, port)) from None
    listener.set_inheritable(True)
    return listener


def refusal(error: OSError, host: str, port: int) -> str:
    """Why an address cannot be listened on, and what to set instead."""
    match error.errno:
        case errno.EADDRINUSE:
            return f"Port {port} on {host} is taken: stop what listens there, or set another PORT (--port)."
        case errno.EACCES:
            return f"Port {port} needs more rights than this user has: set a PORT above 1023 (--port)."
        case errno.EADDRNOTAVAIL:
            return f"HOST {host} is not an address of this machine: use 127.0.0.1, 0.0.0.0 or ::."
        case _:
            return f"HOST {host} and PORT {port} cannot be listened on: {error.strerror}."
