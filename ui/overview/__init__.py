"""The Overview page: the sessions that run, wait, or ended unseen, with their requests. Its requests use `ui.ask`."""
