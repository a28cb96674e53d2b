"""Runs commands without a sandbox on machines that have none. The request for the approval of each command says so."""

from core.domain.permissions import SandboxLevel
from core.workspace.launcher import CommandRequest, ProcessLaunch, clean_environment, with_limits

# Shell code that starts a watcher in the command's process group. It waits for the end of a pipe that Journeyman holds,
# which also ends if Journeyman dies, and then kills the group. It kills the group only: without a PID namespace, "all
# processes" would be those of the whole machine.
WATCHDOG = "exec 3<&0 0</dev/null; (read -r _ <&3; kill -9 0) >/dev/null 2>&1 & exec 3<&-; "


class Unsandboxed:
    """A launcher that sets limits, a clean environment and a separate process group, but no sandbox."""

    name = "none"
    level: SandboxLevel = "none"
    available = True
    profile = "none"

    def close(self) -> None:
        """Do nothing, because the launcher owns no resources."""

    def prepare(self, request: CommandRequest) -> ProcessLaunch:
        return ProcessLaunch(
            argv=with_limits(request, WATCHDOG),
            environment=clean_environment(),
            folder=request.folder,
            scope="group",
            stdin_is_watchdog=True,
        )
