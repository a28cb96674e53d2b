"""The page of what is remembered, and of what somebody wants to be."""
