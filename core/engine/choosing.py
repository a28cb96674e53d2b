"""What a session says of itself so far, and another model to go on with it."""

from collections.abc import Callable

from core.domain.events import ModelChosen, RunStarted
from core.engine.conversation import Conversation, chosen_for, start_of
from core.store.journal import Journal
from core.store.reader import Reader


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


async def doubted_of(journal: Journal, reader: Reader, session: str) -> dict[str, str]:
    """The calls that started and did not return, those of sub-agents too: id → what a person sees of them."""
    talk = await talk_of(journal, session)
    found = talk.doubted()
    for child in filter(None, map(talk.children.get, talk.pending)):
        if reader.session(child):
            found |= {f"{child} {call}": what for call, what in (await doubted_of(journal, reader, child)).items()}
    return found
