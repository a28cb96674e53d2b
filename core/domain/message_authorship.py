"""Determines from the events of a session which text the user wrote, and which messages contain text by others."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from core.domain.events import RunEnded, RunStarted, SessionEvent, SessionForked, UntrustedContentRead, UserMessage
from core.domain.text import Text


@dataclass(slots=True)
class MessageAuthorship:
    """The authorship of the messages of a session. Call `apply` with each event in order.

    Attributes:
        sources: the untrusted sources that the session has read, in order.
        written: the text that the user typed: whole messages, or the beginning of messages that others extended.
        expanded: the messages that contain text by others, each with the number of characters that the user typed; None
            if it was not recorded, as for tasks of sub-agents.
        is_task_dictated: whether the task of the last run may contain untrusted content. The task is the first message
            after the previous run; None without one.
    """

    sources: dict[str, None] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    expanded: dict[Text, int | None] = field(default_factory=dict)
    is_task_dictated: bool | None = None
    _is_next_expanded: bool = False
    _messages: list[UserMessage] = field(default_factory=list)

    def apply(self, event: SessionEvent) -> None:
        match event:
            case UntrustedContentRead(call_id=call, source=source, in_instructions=in_instructions):
                self.sources[source] = None
                self._is_next_expanded = self._is_next_expanded or not (call or in_instructions)
            case UserMessage():
                self._add(event)
            case RunStarted(untrusted_sources=sources):
                self._start(sources)
            case RunEnded():
                self.is_task_dictated = None
            case SessionForked(imported=True):  # no message so far is by this user, but the next one is
                self._expand(self._messages)
                self._is_next_expanded = False
            case _:
                pass

    def _add(self, message: UserMessage) -> None:
        is_expanded = self._is_next_expanded or message.typed is not None
        self._is_next_expanded = False
        self._messages.append(message)
        if is_expanded:
            self._add_expanded(message)
        else:
            self.written.append(message.text.head)
        if self.is_task_dictated is None:
            self.is_task_dictated = is_expanded

    def _start(self, sources: tuple[str, ...]) -> None:
        """Note the untrusted sources with which a run starts.

        New ones are in the messages that start the run, or the author of these messages, then an agent, had read them.
        So no message of the session counts as written by the user.
        """
        if self.sources.keys() >= set(sources):
            self.is_task_dictated = bool(self.is_task_dictated)
            return
        self._expand(message for message in self._messages if message.typed is not None)
        self.sources.update(dict.fromkeys(sources))
        self.is_task_dictated = True

    def _expand(self, messages: Iterable[UserMessage]) -> None:
        """Reset `written` to what the user typed in these messages, all of which contain text by others."""
        self.written.clear()
        for message in messages:
            self._add_expanded(message)

    def _add_expanded(self, message: UserMessage) -> None:
        self.expanded[message.text] = message.typed
        if message.typed:
            self.written.append(message.text.head[: message.typed])
