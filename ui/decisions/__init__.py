"""The Decisions tab: every choice with its cause."""
