"""Fold facts into what the model sees, and what is still owed to it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from core.domain.events import (
    Call,
    CallRefused,
    CallStarted,
    Entry,
    PersonSpoke,
    QuestionAnswered,
    QuestionAsked,
    Replied,
    RequestSent,
    Retried,
    RunEnded,
    RunStarted,
    Text,
    ToolReturned,
)
from core.domain.messages import Message
from core.domain.question import spoken

NOT_RUN = Text("[This call was not run: the run ended before it.]")


@dataclass(slots=True)
class Conversation:
    """The messages so far, and the open end of the run.

    Attributes:
        pending: calls of the last reply that have no result yet, in order.
        started: those of them that may have had an effect already, with what they act on.
        waiting: words of the person that the model has not been sent.
        asked: calls whose question is a fact already.
        seq: the last entry that was heard; none is heard twice.
        rounds: replies of this run; `turn` also counts the requests that failed.
        done: the last reply asked for nothing.
        start: how the run was started.
    """

    messages: list[Message] = field(default_factory=list)
    pending: dict[str, Call] = field(default_factory=dict)
    started: dict[str, str] = field(default_factory=dict)
    waiting: list[Message] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    seq: int = 0
    rounds: int = 0
    turn: int = 0
    done: bool = False
    total_rounds: int = 0
    start: RunStarted | None = None

    def hear(self, entry: Entry) -> None:
        """Bring the conversation up to `entry`."""
        if entry.seq <= self.seq:
            return
        self.seq = entry.seq
        match entry.event:
            case RunStarted():
                self.start = entry.event
                self.rounds = self.turn = 0
                self.done = False
            case PersonSpoke(text=text, attachments=attachments):
                self.waiting.append(Message("user", text, attachments=attachments))
            case RequestSent():
                self.messages += self.waiting
                self.waiting.clear()
            case Replied(text=text, calls=calls, reasoning=reasoning, carry=carry):
                self.messages.append(Message("assistant", text, calls, reasoning=reasoning, carry=carry))
                self.pending = {call.id: call for call in calls}
                self.rounds += 1
                self.total_rounds += 1
                self.turn += 1
                self.done = not calls
            case Retried():
                self.turn += 1
            case CallStarted(call_id=call, object=what):
                self.started[call] = what
            case ToolReturned(call_id=call, output=output, failed=failed):
                self._settle(call, output, failed)
            case CallRefused(call_id=call, reason=reason):
                self._settle(call, reason, failed=True)
            case QuestionAsked(call_id=call):
                self.asked.add(call)
            case QuestionAnswered(call_id=call, answer=answer):
                self._settle(call, Text(spoken(answer)))
            case RunEnded():
                for call in tuple(self.pending):
                    self._settle(call, NOT_RUN, failed=True)
                self.done = True
            case _:
                pass

    def doubted(self) -> dict[str, str]:
        """The calls that started and did not return: id → what a person sees of them."""
        return {call: self.started[call] for call in self.pending if call in self.started}

    def _settle(self, call: str, output: Text, failed: bool = False) -> None:
        """A call has its one result."""
        if self.pending.pop(call, None):
            self.messages.append(Message("tool", output, call_id=call, failed=failed))
        self.started.pop(call, None)
        self.asked.discard(call)


def conversation(entries: Iterable[Entry]) -> Conversation:
    """All at once what `hear` does one by one."""
    folded = Conversation()
    for entry in entries:
        folded.hear(entry)
    return folded
