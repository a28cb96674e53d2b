"""The exit codes of commands. Scripts rely on them, so they never change."""

DONE = 0
FAILED = 1
USAGE = 2
WAITING = 3
LIMIT = 4
STOPPED = 130
TERMINATED = 143  # by SIGTERM, before the command had begun

BY_STATUS = {"completed": DONE, "failed": FAILED, "limit": LIMIT, "stopped": STOPPED}
