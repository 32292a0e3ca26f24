"""What a provider-side chain costs, against sending the whole chat on every turn, and against what Foldline does."""
