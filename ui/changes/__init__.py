"""The Changes tab of a session: the files the agent changed, their diffs, and reverting them."""
