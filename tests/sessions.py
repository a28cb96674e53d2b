"""Creates sessions in the event log without a run."""

from core.domain.events import SessionCreated
from core.domain.ids import session_id
from core.store.journal import Journal


async def create_session(journal: Journal, folder: str, title: str) -> str:
    """Create an empty session and return its id."""
    session = session_id()
    await journal.append(session, SessionCreated(session, folder, title))
    return session
