"""One turn: recall → plan → send → relay → remember."""

from app.engine.engine import Engine, Inflight
from app.engine.turn import Out, Request, Turn

__all__ = ["Engine", "Inflight", "Out", "Request", "Turn"]
