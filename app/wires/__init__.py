"""Languages: one module a wire format, both directions, no I/O."""
