"""JSON Schema dialects: what a client wrote, in the subset that another provider takes. Pure functions."""

from app.wires.schema.gemini import for_gemini
from app.wires.schema.openai import for_openai_strict

__all__ = ["for_gemini", "for_openai_strict"]
