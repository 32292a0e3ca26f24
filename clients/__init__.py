"""Real clients against Foldline: the official SDKs, frameworks built on them, and coding agents; no key, no network.

`make test-clients` installs them and runs `python -m clients`. Each one is pointed here by the lines that `foldline
env` prints; the providers behind are the simulator's, whose journal tells what really went out.
"""
