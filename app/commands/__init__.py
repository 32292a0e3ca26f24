"""What the console script can do: one small file a command."""
