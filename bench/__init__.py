"""Foldline beside nginx, a bare proxy and its peers, doing the same work in one run: `make bench`."""
