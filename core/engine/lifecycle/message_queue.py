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


@dataclass(frozen=True, slots=True)
class PendingMessage:
    """A queued message; `seq` is the sequence number of its event and serves as its id."""

    seq: int
    text: Text
    attachments: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True)
class _QueueState:
    """The queue of one session. `is_unfinished` says whether its last run has not ended."""

    conversation: Conversation
    is_unfinished: bool

    def messages(self) -> list[Message]:
        """Return the queued user messages, without those that state the task of an unfinished run."""
        task = self.conversation.task if self.is_unfinished else ()
        return [message for message in self._user_messages() if message.seq not in task]

    def find(self, seq: int) -> Message:
        """Return a queued message. Raise Problem if it is no longer queued."""
        match = next((message for message in self.messages() if message.seq == seq), None)
        if match is None:
            raise no_longer_queued()
        return match

    def order_without(self, seq: int) -> tuple[int, ...]:
        """Return the sequence numbers of all queued user messages except one."""
        return tuple(message.seq for message in self._user_messages() if message.seq != seq)

    def order_with(self, seq: int, index: int) -> tuple[int, ...]:
        """Return the order of all queued user messages after moving the message `seq` to `index`.

        Messages that state the task of an unfinished run stay in front and are not counted by `index`.
        """
        movable = [message.seq for message in self.messages() if message.seq != seq]
        task = [other for other in self.order_without(seq) if other not in movable]
        movable.insert(max(0, index), seq)
        return (*task, *movable)

    def order(self) -> tuple[int, ...]:
        return tuple(message.seq for message in self._user_messages())

    def _user_messages(self) -> list[Message]:
        return [message for message in self.conversation.queued if message.category == USER]


QueueEdit = Callable[[_QueueState], QueueChanged]


class MessageQueue:
    """Lists and edits the queued messages of sessions. Every change is recorded as an event."""

    def __init__(self, runs: RunController, journal: Journal, reader: Reader) -> None:
        self._runs = runs
        self._journal = journal
        self._reader = reader

    async def list(self, session: str) -> list[PendingMessage]:
        """Return the queued messages in the order in which the model will read them."""
        queue = await self._load(session)
        return [PendingMessage(message.seq, message.text, message.attachments) for message in queue.messages()]

    async def edit(self, session: str, entry: int, text: str) -> None:
        """Replace the text of a queued message. Raise Problem if the message has been sent already."""
        if not text.strip():
            raise Problem("The message is empty.", "", "Enter a text, or remove the message from the queue.")

        def change(queue: _QueueState) -> QueueChanged:
            queue.find(entry)
            return QueueChanged("edited", entry, queue.order(), Text(text))

        await self._change(session, change)

    async def move(self, session: str, entry: int, index: int) -> None:
        """Move a message to another index of the queue. An index beyond the end means the end."""

        def change(queue: _QueueState) -> QueueChanged:
            message = queue.find(entry)
            return QueueChanged("moved", entry, queue.order_with(entry, index), message.text)

        await self._change(session, change)

    async def remove(self, session: str, entry: int) -> int:
        """Remove a message from the queue and return its index, which `restore` accepts."""
        index = 0

        def change(queue: _QueueState) -> QueueChanged:
            nonlocal index
            message = queue.find(entry)
            index = queue.messages().index(message)
            return QueueChanged("removed", entry, queue.order_without(entry), message.text)

        await self._change(session, change)
        return index

    async def restore(self, session: str, entry: int, index: int) -> None:
        """Insert a removed message at an index of the queue."""

        def change(queue: _QueueState) -> QueueChanged:
            message = queue.conversation.removed.get(entry)
            if message is None:
                why = "It was not removed from the queue."
                raise Problem("This message cannot be restored.", why, "Write it again.")
            return QueueChanged("restored", entry, queue.order_with(entry, index), message.text)

        await self._change(session, change)

    async def send_now(self, session: str, entry: int) -> None:
        """Move a message to the front and send the queue now.

        A reply in progress is interrupted, a paused run is resumed, and after the end of a run a new one is started.
        """
        await self.move(session, entry, 0)
        if self._runs.interrupt_reply(session):
            return
        queue = await self._load(session)
        if queue.is_unfinished:
            await self._runs.resume(session)
        else:
            await self._runs.start(session, (next_run_start(queue.conversation),))

    async def _load(self, session: str) -> _QueueState:
        row = self._reader.require_session(session)
        return _QueueState(await self._runs.conversation(session), row.status in UNFINISHED)

    async def _change(self, session: str, change: QueueEdit) -> None:
        """Record a change. Raise Problem if the message was sent before the change was recorded."""
        async with self._runs.session_lock(session):
            refuse_imported(self._reader.require_session(session))
            queue = await self._load(session)
            event = change(queue)
            await self._journal.append(session, event)
            if any(message.seq == event.target_seq for message in queue.conversation.messages):
                raise no_longer_queued()


def no_longer_queued() -> Problem:
    """Return the error for a message that is no longer queued."""
    return Problem(
        "This message is no longer queued.", "It has been sent, or removed from the queue.", "Write a new one."
    )
