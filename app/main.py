"""The entry point: answers the simplest commands at once and leaves everything else to `app.dispatch`."""

import sys

from app.commands.quick import answer_quickly
from app.process.exit_codes import STOPPED


def main(arguments: list[str] | None = None) -> int:
    """Run a command, or open the window, and return the exit code."""
    argv = sys.argv[1:] if arguments is None else arguments
    try:
        if answer_quickly(argv):
            return 0
    except KeyboardInterrupt:
        return STOPPED
    from app.dispatch import dispatch  # a slow import, which quick answers do without
    from core.workspace.program_search import leave_projects_out_of_path

    if arguments is None:
        leave_projects_out_of_path()
    return dispatch(argv)
