"""Runs as a whole: start, stop, pause, resume, the queue, approvals, schedules and worktrees.

What happens inside a run is in `core.engine.run`.
"""
