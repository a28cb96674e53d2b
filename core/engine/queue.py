"""Words that wait for a run: what they are, and what a person may do with them until the model is sent them."""

from collections.abc import Callable
from dataclasses import dataclass

from core.domain.events import QueueChanged
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.text import Attachment, Text
from core.engine.compaction import PERSON
from core.engine.conversation import Conversation, start_of
from core.engine.doubt import GOES_ON
from core.engine.imported import refuse_imported
from core.engine.runs import Runs
from core.store.journal import Journal
from core.store.reader import Reader

Change = Callable[[Conversation, bool], QueueChanged]


@dataclass(frozen=True, slots=True)
class Queued:
    """A message that waits; `entry` is its place in the journal, and names it."""

    entry: int
    text: Text
    attachments: tuple[Attachment, ...] = ()


class Queue:
    """What a person does with the words that wait."""

    def __init__(self, runs: Runs, journal: Journal, reader: Reader) -> None:
        self._runs = runs
        self._journal = journal
        self._reader = reader

    async def list(self, session: str) -> list[Queued]:
        """What waits, in the order in which the model will read it."""
        return [Queued(one.seq, one.text, one.attachments) for one in queued(*await self._look(session))]

    async def edit(self, session: str, entry: int, text: str) -> None:
        """Other words in the same place."""
        if not text.strip():
            raise Problem("The message is empty.", "", "Write what it should say, or take it back.")

        def change(talk: Conversation, goes_on: bool) -> QueueChanged:
            _one(talk, goes_on, entry)
            return QueueChanged("edited", entry, _order(talk), Text(text))

        await self._change(session, change)

    async def move(self, session: str, entry: int, place: int) -> None:
        """To another place of the queue; 0 is the first, and what is beyond the last is the last."""

        def change(talk: Conversation, goes_on: bool) -> QueueChanged:
            message = _one(talk, goes_on, entry)
            return QueueChanged("moved", entry, _placed(talk, goes_on, entry, place), message.text)

        await self._change(session, change)

    async def remove(self, session: str, entry: int) -> int:
        """Take a message back; the place it had, for `put_back`."""
        places: list[int] = []

        def change(talk: Conversation, goes_on: bool) -> QueueChanged:
            message = _one(talk, goes_on, entry)
            places.append(queued(talk, goes_on).index(message))
            left = tuple(seq for seq in _order(talk) if seq != entry)
            return QueueChanged("taken back", entry, left, message.text)

        await self._change(session, change)
        return places[-1]

    async def put_back(self, session: str, entry: int, place: int) -> None:
        """A message that was taken back waits again."""

        def change(talk: Conversation, goes_on: bool) -> QueueChanged:
            message = talk.withdrawn.get(entry)
            if message is None:
                raise Problem("This message cannot be put back.", "It was not taken back.", "Write it once more.")
            return QueueChanged("put back", entry, _placed(talk, goes_on, entry, place), message.text)

        await self._change(session, change)

    async def send_now(self, session: str, entry: int) -> None:
        """This first, and what else waits after it: the reply in progress is cut, or a run that rests goes on."""
        await self.move(session, entry, 0)
        if self._runs.cut(session):
            return
        talk, goes_on = await self._look(session)
        if goes_on:
            await self._runs.resume(session)
        else:
            await self._runs.begin(session, (start_of(talk),))

    async def _look(self, session: str) -> tuple[Conversation, bool]:
        """The conversation, and whether its run has not ended."""
        row = self._reader.session(session)
        if row is None:
            raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
        return await self._runs.talk(session), row.status in GOES_ON

    async def _change(self, session: str, change: Change) -> None:
        """What was sent before the change was written down stays sent, and that is said."""
        async with self._runs.turn(session):
            if row := self._reader.session(session):
                refuse_imported(row)
            talk, goes_on = await self._look(session)
            await self._journal.append(session, fact := change(talk, goes_on))
            if any(message.seq == fact.target for message in talk.messages):
                raise too_late()


def queued(talk: Conversation, goes_on: bool) -> list[Message]:
    """The messages that wait. The words a run begins with are not among them while it goes on: they are its task."""
    task = talk.task if goes_on else ()
    return [message for message in talk.waiting if message.kind == PERSON and message.seq not in task]


def _placed(talk: Conversation, goes_on: bool, entry: int, place: int) -> tuple[int, ...]:
    """The order with this message at a place of the queue; the task stays before it."""
    cards = [message.seq for message in queued(talk, goes_on) if message.seq != entry]
    task = tuple(seq for seq in _order(talk) if seq not in cards and seq != entry)
    cards.insert(max(0, place), entry)
    return (*task, *cards)


def _order(talk: Conversation) -> tuple[int, ...]:
    return tuple(message.seq for message in talk.waiting if message.kind == PERSON)


def _one(talk: Conversation, goes_on: bool, entry: int) -> Message:
    found = next((one for one in queued(talk, goes_on) if one.seq == entry), None)
    if found is None:
        raise too_late()
    return found


def too_late() -> Problem:
    """For words that were sent before a person could change them."""
    return Problem("This message waits no more.", "It was sent, or taken back.", "Write another one.")
