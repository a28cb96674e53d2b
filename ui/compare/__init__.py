"""The page that lays two sessions side by side."""
