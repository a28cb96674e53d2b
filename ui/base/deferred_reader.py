"""Read access to the event log for panels, which are created before the log is opened."""

from collections.abc import Iterable
from typing import Any

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from core.domain.untrusted_file import UntrustedFile
from core.store.queued_messages import QueuedMessage
from core.store.reader import Reader, RecallOutcome
from core.store.row_sampling import RowSample

LAST_ROWS = 12  # rows at the end of a session in which its last reply is searched
REPLY_BEGINNING = 400  # characters; longer than a notification or a line of the Overview page


class DeferredReader:
    """Forwards calls to a store reader; returns empty results until `reader` has been set."""

    def __init__(self) -> None:
        self.reader: Reader | None = None

    def proposed(self, kind: str) -> int:
        """Return the number of open proposals of a kind, `skill` or `memory`."""
        return self.reader.open_proposal_count(kind) if self.reader else 0

    def proposed_by(self, session: str) -> dict[str, int]:
        """Return how many open proposals were made in a session, by kind."""
        return self.reader.open_proposal_counts(session) if self.reader else {}

    def steps(self, session: str, first: int, count: int) -> list[Step]:
        return self.reader.steps(session, first, count) if self.reader else []

    def last_reply(self, row: SessionRow) -> str:
        """Return the beginning of the last reply in a session, as Markdown; "" if none of the last rows is a reply."""
        first = max(0, row.rows - LAST_ROWS)
        steps = self.steps(row.id, first, row.rows - first)
        reply = next((step for step in reversed(steps) if step.kind == "reply"), None)
        return self.full_text(row.id, reply.first_seq, limit=REPLY_BEGINNING) if reply else ""

    def commands_before(self, session: str, row: int, count: int) -> list[Step]:
        return self.reader.commands_before(session, row, count) if self.reader else []

    def full_text(self, session: str, seq: int, field: str = "text", limit: int | None = None) -> str:
        return self.reader.full_text(session, seq, field, limit) if self.reader else ""

    def event(self, session: str, seq: int) -> dict[str, Any]:
        return self.reader.event(session, seq) if self.reader else {}

    def sample(self, session: str, count: int, limit: int) -> list[RowSample]:
        return self.reader.sample(session, count, limit) if self.reader else []

    def row_samples(self, session: str, first: int, count: int) -> list[RowSample]:
        return self.reader.row_samples(session, first, count) if self.reader else []

    def events_of(
        self, session: str, kinds: Iterable[str], after: int, until: int, limit: int = 1_000
    ) -> list[dict[str, Any]]:
        return self.reader.events_of(session, kinds, after, until, limit) if self.reader else []

    def queued(self, session: str, can_continue: bool) -> list[QueuedMessage]:
        return self.reader.queued_messages(session, can_continue) if self.reader else []

    def session(self, name: str) -> SessionRow | None:
        return self.reader.session(name) if self.reader else None

    def recall_outcomes(self, session: str, run: int) -> dict[str, RecallOutcome]:
        return self.reader.recall_outcomes(session, run) if self.reader else {}

    def children(self, session: str) -> list[SessionRow]:
        return self.reader.children(session) if self.reader else []

    def row_of(self, session: str, seq: int) -> int | None:
        return self.reader.row_of(session, seq) if self.reader else None

    def seq_of_step(self, session: str, number: int) -> int:
        """Return the sequence number of the first event of a step; 0 if there is none.

        `number` counts the steps as the timeline does.
        """
        step = self.reader.step_by_number(session, number) if self.reader and number else None
        return step.first_seq if step else 0

    def search_in_session(self, session: str, text: str) -> list[int]:
        return self.reader.search_in_session(session, text) if self.reader else []

    def find_blob(self, blob: str) -> bytes | None:
        return self.reader.find_blob(blob) if self.reader else None

    def untrusted_files(self, folder: str) -> list[UntrustedFile]:
        return self.reader.untrusted_files(folder) if self.reader else []
