"""MEMORY: the only room that talks to Redis."""
