"""Loads the conversation of a stored session, finds its unresolved calls, and changes its model."""

from collections.abc import Callable

from core.domain.events import ModelChanged, RunStarted
from core.engine.state.conversation import Conversation, next_run_start, with_changed_model
from core.store.journal import Journal
from core.store.reader import Reader


async def change_model(
    journal: Journal, check: Callable[[RunStarted], object], session: str, chosen: ModelChanged
) -> None:
    """Switch the session to another model or other model options, from the next request on.

    `check` is called with the resulting start configuration and raises Problem if that is invalid.
    """
    check(with_changed_model(next_run_start(await load_conversation(journal, session)), chosen))
    await journal.append(session, chosen)


async def load_conversation(journal: Journal, session: str) -> Conversation:
    """Read all events of a session and return the resulting conversation."""
    conversation = Conversation()
    async for entry in journal.read(session):
        conversation.apply(entry)
    return conversation


async def find_unresolved_calls(journal: Journal, reader: Reader, session: str) -> dict[str, str]:
    """Return the calls that started but have no result, as call ID → display text. Sub-agents are included."""
    conversation = await load_conversation(journal, session)
    calls = conversation.unresolved_calls()
    for child in filter(None, map(conversation.children.get, (*conversation.pending, *conversation.background))):
        if reader.session(child):
            calls |= {
                f"{child} {call}": text for call, text in (await find_unresolved_calls(journal, reader, child)).items()
            }
    return calls
