"""What running commands have printed so far: the end of it, kept while they run and no longer."""

from core.domain.events import CommandEnded, RunEnded, RunEvent, RunInterrupted, RunPaused, ToolReturned

KEPT = 16 * 1024  # bytes of one command
LINES = 12


class LiveOutput:
    """By session and call."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], bytes] = {}

    def hear(self, session: str, call: str, printed: bytes) -> None:
        self._kept[session, call] = (self._kept.get((session, call), b"") + printed)[-KEPT:]

    def settle(self, session: str, event: RunEvent) -> None:
        """Facts take the place of what was only told."""
        match event:
            case ToolReturned(call_id=call) | CommandEnded(call_id=call):
                self._kept.pop((session, call), None)
            case RunEnded() | RunPaused() | RunInterrupted():
                for key in [key for key in self._kept if key[0] == session]:
                    del self._kept[key]

    def tail(self, session: str, call: str) -> str:
        """The last lines."""
        text = self._kept.get((session, call), b"").decode("utf-8", "replace")
        return "\n".join(text.rstrip("\n").split("\n")[-LINES:])
