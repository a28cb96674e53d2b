"""Which session works for which step, as far as the rows of a session show it."""

from collections.abc import Callable, Sequence

from core.domain.sessions import SessionRow
from core.domain.steps import OPEN, Step, verb
from ui.looks import words


class Family:
    """Read when a step that gave work is first shown, and kept up to date by what is heard while it is."""

    def __init__(
        self, children: Callable[[str], Sequence[SessionRow]], one: Callable[[str], SessionRow | None]
    ) -> None:
        self._read, self._one = children, one
        self._known: dict[str, dict[str, SessionRow]] = {}
        self._titles: dict[str, str] = {}

    def child(self, session: str, call: str) -> SessionRow | None:
        """The session that a call of this one began."""
        if session not in self._known:
            self._known[session] = {row.parent_call: row for row in self._read(session)}
        return self._known[session].get(call)

    def hear(self, row: SessionRow) -> None:
        """The line of a sub-agent is another now."""
        self.child(row.parent, row.parent_call)
        self._known[row.parent][row.parent_call] = row

    def leave(self, session: str) -> None:
        """Of what works for it nothing is heard from now on; once it is shown again it is read anew."""
        self._known.pop(session, None)

    def forked(self, step: Step) -> Step:
        """The step that names where it was forked from, by the title a person knows."""
        name = step.object
        if name not in self._titles:
            row = self._one(name)
            self._titles[name] = row.title if row and row.title else name
        return step._replace(object=self._titles[name])

    def told(self, session: str, step: Step) -> Step:
        """The step with what its sub-agent has come to, and while it goes on with what it does."""
        child = self.child(session, step.key)
        if child is None:
            return step
        object = step.object
        if step.status in OPEN and child.doing:
            object = f"{object} · {words(verb(child.doing_kind, child.status))} {child.doing}"
        tokens = step.marks.get("tokens") or child.tokens
        return step._replace(object=object, marks={**step.marks, "steps": child.steps, "tokens": tokens})
