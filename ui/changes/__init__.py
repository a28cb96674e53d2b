"""The Changes tab: every file the agent changed, how, and the way back."""
