"""A real small model behind the proxy: real tokens, real timing, a real server's words. Run by `make test-real`."""
