"""The door: FastAPI, the hot routes, tenants, health."""
