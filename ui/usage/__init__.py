"""The page of tokens, cost and time."""
