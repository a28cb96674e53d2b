"""Lists and edits the message queue of a session: the user messages that no request has included yet."""

from collections.abc import Callable
from dataclasses import dataclass

from core.domain.events import QueueChanged
from core.domain.messages import Message
from core.domain.problems import Problem
from core.domain.text import Attachment, Text
from core.engine.lifecycle.run_controller import RunController
from core.engine.policy.imported_sessions import refuse_imported
from core.engine.state.compaction import USER
from core.engine.state.conversation import Conversation, next_run_start
from core.engine.state.unresolved_calls import UNFINISHED
from core.store.journal import Journal
from core.store.reader import Reader

QueueEdit = Callable[[Conversation, bool], QueueChanged]


@dataclass(frozen=True, slots=True)
class PendingMessage:
    """A queued message; `seq` is the sequence number of its event and serves as its id."""

    seq: int
    text: Text
    attachments: tuple[Attachment, ...] = ()


class MessageQueue:
    """Lists and edits the queued messages of sessions. Every change is recorded as an event."""

    def __init__(self, runs: RunController, journal: Journal, reader: Reader) -> None:
        self._runs = runs
        self._journal = journal
        self._reader = reader

    async def list(self, session: str) -> list[PendingMessage]:
        """Return the queued messages in the order in which the model will read them."""
        return [
            PendingMessage(message.seq, message.text, message.attachments)
            for message in pending_messages(*await self._load(session))
        ]

    async def edit(self, session: str, entry: int, text: str) -> None:
        """Replace the text of a queued message. Raise Problem if the message has been sent already."""
        if not text.strip():
            raise Problem("The message is empty.", "", "Enter a text, or remove the message from the queue.")

        def change(conversation: Conversation, unfinished: bool) -> QueueChanged:
            _find_queued(conversation, unfinished, entry)
            return QueueChanged("edited", entry, _order(conversation), Text(text))

        await self._change(session, change)

    async def move(self, session: str, entry: int, index: int) -> None:
        """Move a message to another index of the queue. An index beyond the end means the end."""

        def change(conversation: Conversation, unfinished: bool) -> QueueChanged:
            message = _find_queued(conversation, unfinished, entry)
            return QueueChanged("moved", entry, _order_with(conversation, unfinished, entry, index), message.text)

        await self._change(session, change)

    async def remove(self, session: str, entry: int) -> int:
        """Remove a message from the queue and return its index, which `restore` accepts."""
        indexes: list[int] = []

        def change(conversation: Conversation, unfinished: bool) -> QueueChanged:
            message = _find_queued(conversation, unfinished, entry)
            indexes.append(pending_messages(conversation, unfinished).index(message))
            order = tuple(seq for seq in _order(conversation) if seq != entry)
            return QueueChanged("removed", entry, order, message.text)

        await self._change(session, change)
        return indexes[-1]

    async def restore(self, session: str, entry: int, index: int) -> None:
        """Insert a removed message at an index of the queue."""

        def change(conversation: Conversation, unfinished: bool) -> QueueChanged:
            message = conversation.removed.get(entry)
            if message is None:
                why = "It was not removed from the queue."
                raise Problem("This message cannot be restored.", why, "Write it again.")
            return QueueChanged("restored", entry, _order_with(conversation, unfinished, entry, index), message.text)

        await self._change(session, change)

    async def send_now(self, session: str, entry: int) -> None:
        """Move a message to the front and send the queue now.

        A reply in progress is interrupted, a paused run is resumed, and after the end of a run a new one is started.
        """
        await self.move(session, entry, 0)
        if self._runs.interrupt_reply(session):
            return
        conversation, unfinished = await self._load(session)
        if unfinished:
            await self._runs.resume(session)
        else:
            await self._runs.start(session, (next_run_start(conversation),))

    async def _load(self, session: str) -> tuple[Conversation, bool]:
        """Return the conversation, and whether its last run is unfinished."""
        row = self._reader.session(session)
        if row is None:
            raise Problem(f"There is no session {session}.", "", "List them with `journeyman sessions`.")
        return await self._runs.conversation(session), row.status in UNFINISHED

    async def _change(self, session: str, change: QueueEdit) -> None:
        """Record a change. Raise Problem if the message was sent before the change was recorded."""
        async with self._runs.session_lock(session):
            if row := self._reader.session(session):
                refuse_imported(row)
            conversation, unfinished = await self._load(session)
            await self._journal.append(session, event := change(conversation, unfinished))
            if any(message.seq == event.target_seq for message in conversation.messages):
                raise no_longer_queued()


def pending_messages(conversation: Conversation, unfinished: bool) -> list[Message]:
    """Return the queued user messages, without the initial messages of an unfinished run."""
    task = conversation.task if unfinished else ()
    return [message for message in conversation.queued if message.category == USER and message.seq not in task]


def _order_with(conversation: Conversation, unfinished: bool, entry: int, index: int) -> tuple[int, ...]:
    """Return the order of all queued messages after moving the message `entry` to `index`.

    Messages that state the task of an unfinished run stay in front and are not counted by `index`.
    """
    pending = [message.seq for message in pending_messages(conversation, unfinished) if message.seq != entry]
    task = tuple(seq for seq in _order(conversation) if seq not in pending and seq != entry)
    pending.insert(max(0, index), entry)
    return (*task, *pending)


def _order(conversation: Conversation) -> tuple[int, ...]:
    return tuple(message.seq for message in conversation.queued if message.category == USER)


def _find_queued(conversation: Conversation, unfinished: bool, entry: int) -> Message:
    match = next((message for message in pending_messages(conversation, unfinished) if message.seq == entry), None)
    if match is None:
        raise no_longer_queued()
    return match


def no_longer_queued() -> Problem:
    """Return the error for a message that is no longer queued."""
    return Problem(
        "This message is no longer queued.", "It has been sent, or removed from the queue.", "Write a new one."
    )
