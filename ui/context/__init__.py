"""The Context tab of a session: what has filled the model's context window over time."""
