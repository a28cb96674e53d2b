"""Finds the sub-agent session of a delegating step, and the title of the session from which a fork was made."""

from collections.abc import Callable, Sequence

from core.domain.sessions import SessionRow
from core.domain.steps import OPEN_STATUSES, Step, verb
from ui.base.step_presentation import translate


class SubAgentSessions:
    """A cache of sub-agent sessions.

    They are read when the step that started them is first shown, and updated from then on.
    """

    def __init__(
        self, read_children: Callable[[str], Sequence[SessionRow]], read_session: Callable[[str], SessionRow | None]
    ) -> None:
        self._read_children = read_children
        self._read_session = read_session
        self._children: dict[str, dict[str, SessionRow]] = {}
        self._titles: dict[str, str] = {}

    def session_of(self, session: str, call: str) -> SessionRow | None:
        """Return the sub-agent session that a tool call started; None if there is none."""
        if session not in self._children:
            self._children[session] = {row.parent_call: row for row in self._read_children(session)}
        return self._children[session].get(call)

    def update(self, row: SessionRow) -> None:
        """Replace the row of a sub-agent session that has changed."""
        self.session_of(row.parent, row.parent_call)
        self._children[row.parent][row.parent_call] = row

    def forget(self, session: str) -> None:
        """Discard the cached sub-agents of a session that is no longer shown, because it receives no updates."""
        self._children.pop(session, None)

    def with_fork_title(self, step: Step) -> Step:
        """Return the step of a fork with the title of the original session in place of its ID."""
        name = step.object
        if name not in self._titles:
            row = self._read_session(name)
            self._titles[name] = row.title if row and row.title else name
        return step._replace(object=self._titles[name])

    def with_progress(self, session: str, step: Step) -> Step:
        """Return a delegating step with the progress of its sub-agent: number of steps, tokens and current activity."""
        child = self.session_of(session, step.key)
        if child is None:
            return step
        object = step.object
        if step.status in OPEN_STATUSES and child.activity:
            object = f"{object} · {translate(verb(child.activity_kind, child.status))} {child.activity}"
        tokens = step.metrics.get("tokens") or child.tokens
        return step._replace(object=object, metrics={**step.metrics, "steps": child.steps, "tokens": tokens})
