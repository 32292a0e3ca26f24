"""Foldline: a stateful HTTP proxy in front of LLM APIs."""

__version__ = "0.1.0"
