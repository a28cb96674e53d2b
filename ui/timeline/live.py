"""What is being said and printed right now: kept until its facts are there, and no longer."""

from collections.abc import Iterable

from core.domain.events import (
    CommandEnded,
    Replied,
    ReplyCut,
    RunEnded,
    RunEvent,
    RunInterrupted,
    RunPaused,
    ToolReturned,
)
from core.engine.drafts import Draft
from core.store.told import Told

KEPT = 16 * 1024  # bytes of one command
LINES = 12
MOST = 256 * 1024  # characters of a reply that is still coming: a server can send without end


class Live:
    """The reply of each session, and what each of its calls prints."""

    def __init__(self) -> None:
        self._replies: dict[str, str] = {}
        self._printed: dict[tuple[str, str], bytes] = {}

    def take(self, facts: Iterable[object]) -> None:
        """A batch, in its order."""
        for fact in facts:
            if isinstance(fact, Draft):
                self.hear(fact)
            elif isinstance(fact, Told):
                self.settle(fact.session.id, fact.entry.event)

    def hear(self, draft: Draft) -> None:
        name = draft.session
        if draft.call:
            self._printed[name, draft.call] = (self._printed.get((name, draft.call), b"") + draft.output)[-KEPT:]
        elif draft.ended:
            self._replies.pop(name, None)
        elif draft.text:
            said = self._replies.get(name, "")
            if len(said) < MOST:  # the rest is there with the fact
                self._replies[name] = (said + draft.text)[:MOST]

    def settle(self, session: str, event: RunEvent) -> None:
        """Facts take the place of what was only told."""
        match event:
            case Replied() | ReplyCut():
                self._replies.pop(session, None)
            case ToolReturned(call_id=call) | CommandEnded(call_id=call):
                self._printed.pop((session, call), None)
            case RunEnded() | RunPaused() | RunInterrupted():
                for key in [key for key in self._printed if key[0] == session]:
                    del self._printed[key]
            case _:
                pass

    def reply(self, session: str) -> str:
        return self._replies.get(session, "")

    def tail(self, session: str, call: str) -> str:
        """The last lines of what a call prints."""
        text = self._printed.get((session, call), b"").decode("utf-8", "replace")
        return "\n".join(text.rstrip("\n").split("\n")[-LINES:])
