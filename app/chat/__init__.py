"""Nouns: frozen values that say what a conversation is. Imports nothing of ours and does no I/O."""
