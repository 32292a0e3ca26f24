"""Every knob: name, default, one sentence; nothing else reads the environment.

from app.settings import Settings, load
settings = load()                        # command line > environment > .env > TOML file > default
settings = Settings(port=0, redis_url="memory://")     # only these, for tests and embedding
"""

from app.settings.errors import SettingsError
from app.settings.fields import ALSO, NAMES, PREFIX, SECRETS, TABLES, Settings
from app.settings.reading import load
from app.settings.tables import Route, ToolTable, Upstream, UpstreamTable

__all__ = [
    "ALSO",
    "NAMES",
    "PREFIX",
    "SECRETS",
    "TABLES",
    "Route",
    "Settings",
    "SettingsError",
    "ToolTable",
    "Upstream",
    "UpstreamTable",
    "load",
]
