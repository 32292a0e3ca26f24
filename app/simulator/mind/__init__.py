"""What the simulated models can do: enough to be talked to, always the same answer to the same request."""
