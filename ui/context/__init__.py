"""The Context tab of a session: what fills the model's context window over time."""
