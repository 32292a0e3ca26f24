"""Anthropic's Messages API, as strictly as its page and its users' reports describe it."""
