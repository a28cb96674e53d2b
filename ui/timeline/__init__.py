"""The run: its steps, live."""
