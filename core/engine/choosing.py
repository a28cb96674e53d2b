"""Let another model go on with a session."""

from collections.abc import Callable

from core.domain.events import ModelChosen, RunStarted
from core.engine.conversation import Conversation, chosen_for, start_of
from core.store.journal import Journal


async def choose_model(
    journal: Journal, check: Callable[[RunStarted], object], session: str, chosen: ModelChosen
) -> None:
    """Another model from the next request on, or other wishes of the same; what is wrong with it is said first."""
    check(chosen_for(start_of(await talk_of(journal, session)), chosen))
    await journal.append(session, chosen)


async def talk_of(journal: Journal, session: str) -> Conversation:
    """The conversation of a session so far."""
    talk = Conversation()
    async for entry in journal.read(session):
        talk.hear(entry)
    return talk
