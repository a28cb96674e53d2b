"""Commands without a sandbox, for machines that have none: the user approves each and sees that there is none."""

from core.domain.permissions import SandboxLevel
from core.workspace.launcher import CommandRequest, ProcessLaunch, clean_environment, with_limits

# A watcher in the command's process group waits for the end of a pipe that we hold: if we die, it kills the group.
# Only the group: without a PID namespace, killing every process would mean those of the whole machine.
WATCHDOG = "exec 3<&0 0</dev/null; (read -r _ <&3; kill -9 0) >/dev/null 2>&1 & exec 3<&-; "


class Unsandboxed:
    """Runs commands with limits, a clean environment and a process group of their own, but without a sandbox."""

    name = "none"
    level: SandboxLevel = "none"
    available = True
    profile = "none"

    def close(self) -> None:
        """Do nothing: there are no resources."""

    def prepare(self, request: CommandRequest) -> ProcessLaunch:
        arguments = with_limits(request, WATCHDOG)
        return ProcessLaunch(arguments, clean_environment(), request.folder, "group", stdin_is_watchdog=True)
