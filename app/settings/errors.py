"""A setting that cannot be used, said in one line that a person can act on."""

from __future__ import annotations


class SettingsError(ValueError):
    """A wrong, unknown or contradictory setting. The message is one line, names the setting as the user wrote it and
    says what is accepted; it never holds a secret's value."""
