"""Thinking: pure functions from (chat, what is known, policy) to a plan. Same inputs, same plan."""
