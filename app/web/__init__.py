"""The door: FastAPI for what people manage, plain ASGI for what clients chat through."""
