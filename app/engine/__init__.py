"""One turn: recall → plan → send → relay → remember."""

from app.engine.engine import Engine, Inflight
from app.engine.request import Out, Request
from app.engine.turn import Turn

__all__ = ["Engine", "Inflight", "Out", "Request", "Turn"]
