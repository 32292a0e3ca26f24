"""Tools that the proxy answers itself, within the client's own turn."""
