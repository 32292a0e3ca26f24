"""A strict stand-in for each provider: the demo upstream, and the upstream of the tests."""
