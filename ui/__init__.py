"""The window: panels over facts, no engine inside."""
