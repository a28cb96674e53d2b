"""Run commands without walls, where the machine offers none: a person allows each of them, and it is said so."""

from core.domain.consent import Level
from core.workspace.launch import Asked, Launch, clean_environment, limited

# A watcher in the command's group waits for the end of a pipe that we hold: when we are killed, the group dies too.
# Only ever the group: without a namespace of its own, "all there is" would be the whole machine.
GUARD = "exec 3<&0 0</dev/null; (read -r _ <&3; kill -9 0) >/dev/null 2>&1 & exec 3<&-; "


class Plain:
    """No confinement, only limits, a clean environment, and the end of the whole group."""

    name = "none"
    level: Level = "none"
    possible = True
    profile = "none"

    def close(self) -> None:
        """Nothing is held."""

    def prepare(self, asked: Asked) -> Launch:
        words = limited(asked, GUARD)
        return Launch(words, clean_environment(), asked.folder, "group", guarded=True)
