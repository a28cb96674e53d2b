"""The Context tab: what fills the window of the model, over time."""
