"""Hands: tools that the proxy answers itself."""
