"""What the readers of foreign transcripts tell: words, replies, calls and results, which become facts of a session."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from core.domain.events import (
    Call,
    CallStarted,
    ContextCompacted,
    Delegated,
    DelegateEnded,
    FileChanged,
    PersonSpoke,
    Replied,
    RequestSent,
    RunEnded,
    RunEvent,
    RunStarted,
    SessionOpened,
    ToolReturned,
    Usage,
)
from core.domain.exchanged import RecordKept
from core.domain.filing import title_of
from core.domain.problems import Trouble
from core.domain.steps import line
from core.domain.text import Attachment, Text
from core.exchange.importers.called import KINDS, Asked, object_of
from core.store.blobs import blob_hash

NO_TITLE = "Imported session"
RAW = 4 << 20  # characters of a record that are kept, and of all that are kept together
NO_USAGE = Usage()


@dataclass(slots=True)
class _Held:
    """A reply that may go on in the next record."""

    id: str
    began: int
    at: int
    model: str
    texts: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[Asked] = field(default_factory=list)
    usage: Usage = NO_USAGE
    stop: str = ""
    cost: float | None = None


Tell = Callable[[str, int, RunEvent, Mapping[str, bytes]], None]
Name = Callable[[str], str]
NOTHING: Mapping[str, bytes] = MappingProxyType({})


class Telling:
    """One session of a transcript. `tell` takes each fact; `name` gives the id that a session goes by here.

    Attributes:
        records: how many records were told to it; `kept` counts those that it does not understand.
        at: the latest time there was; a record without one happened then, the first of them at `usual`.
        memory: what the reader of the format wants to remember between two records.
    """

    def __init__(self, agent: str, key: str, tell: Tell, name: Name) -> None:
        self.agent = agent
        self.key = key
        self.records = 0
        self.kept: dict[str, int] = {}
        self.at = 0
        self.usual = 0
        self.memory: dict[str, Any] = {}
        self._tell = tell
        self._name = name
        self._opening: SessionOpened | None = SessionOpened(name(key), "", "", source=f"{agent}:{key}")
        self._early: list[RecordKept] = []
        self._strange: list[str] = []
        self._form = ""
        self._large = 0
        self._going = False
        self._model = ""
        self._held: _Held | None = None
        self._owed = NO_USAGE
        self._counted: tuple[str, Usage] = ("", NO_USAGE)
        self._round = 0
        self._calls: dict[str, str] = {}
        self._names = 0
        self._open: dict[str, None] = {}
        self._answered = False

    # What a reader says of the session

    def about(self, *, folder: str = "", title: str = "", model: str = "") -> None:
        """What is known of the session before anything happens in it."""
        if self._opening:
            now = self._opening
            self._opening = replace(now, workspace=folder or now.workspace, title=title_of(title) or now.title)
        self._model = model or self._model

    def belongs(self, parent: str, call: str = "", called: str = "", depth: int = 1) -> None:
        """Another session began it."""
        if self._opening:
            self._opening = replace(
                self._opening, parent=self._name(parent), parent_call=call, called=line(called), depth=depth
            )

    def is_open(self) -> bool:
        return self._opening is None

    # What happened

    def person(self, text: str, at: int = 0, files: Sequence[tuple[str, str, bytes]] = ()) -> None:
        """Words of the person: they begin a run where the agent had ended the last one."""
        self._flush()
        self._at(at)
        if self._going and self._answered and not self._open:
            self._end("completed")
        self._begin(text)
        bodies = {blob_hash(body): body for _, _, body in files}
        attached = tuple(Attachment(name, media, blob_hash(body), len(body)) for name, media, body in files)
        self._say(PersonSpoke(Text(text), attached), bodies)

    def reply(
        self, text: str = "", *, at: int = 0, id: str = "", thought: str = "", calls: Sequence[Asked] = (),
        usage: Usage | None = None, model: str = "", stop: str = "", cost: float | None = None, began: int = 0,
    ) -> None:  # fmt: skip
        """A reply, or a part of the one with this id."""
        before = self.at
        if self._held is None or not id or self._held.id != id:
            self._flush()
            before = self.at
            self._held = _Held(id, began or before or at, at or before, model or self._model)
        held = self._held
        self._at(at)
        held.at = max(held.at, at)
        held.texts += [text] if text else []
        held.thoughts += [thought] if thought else []
        held.calls += calls
        held.usage = usage or held.usage
        held.model, held.stop = model or held.model, stop or held.stop
        held.cost = cost if cost is not None else held.cost

    def result(
        self, id: str, output: str, *, at: int = 0, failed: bool = False, exit_code: int | None = None,
        files: Sequence[tuple[str, str, bytes]] = (),
    ) -> None:  # fmt: skip
        """What a call returned. Of a call that nobody asked for, the call is told too."""
        self._flush()
        self._at(at)
        if id not in self._calls:
            self._asked(Asked(id, "tool"))
        bodies = {blob_hash(body): body for _, _, body in files}
        attached = tuple(Attachment(name, media, blob_hash(body), len(body)) for name, media, body in files)
        self._say(ToolReturned(self._calls[id], Text(output), failed, exit_code, attached), bodies)
        self._open.pop(id, None)

    def settle(self) -> None:
        """The reply that was told is whole."""
        self._flush()

    def used(self, usage: Usage) -> None:
        """What the last reply used, where its transcript says so apart from it."""
        if self._held:
            self._held.usage = _sum(self._held.usage, usage)
        elif usage != NO_USAGE:
            self._owed = _sum(self._owed, usage)

    def call(self, id: str) -> str:
        """What a call is named here."""
        self._flush()
        return self._calls.get(id, "")

    def changed(self, id: str, path: str, before: str | None, after: str | None, added: int, removed: int) -> None:
        """A file that a call changed, where the transcript holds both states."""
        self._flush()
        states = [None if text is None else text.encode("utf-8", "replace") for text in (before, after)]
        names = ["" if body is None else blob_hash(body) for body in states]
        bodies = {name: body for name, body in zip(names, states, strict=True) if body is not None}
        self._say(FileChanged(self._calls.get(id, id), path, names[0], names[1], added, removed), bodies)

    def delegated(self, id: str, child: str, called: str, task: str = "") -> None:
        """A call gave work to another session."""
        self._flush()
        self._say(Delegated(self._calls.get(id, id), self._name(child), called, Text(task)))

    def delegate_ended(self, id: str, child: str, status: str, tokens: int = 0, cost: float = 0.0) -> None:
        self._flush()
        self._say(DelegateEnded(self._calls.get(id, id), self._name(child), status, tokens=tokens, cost=cost))

    def compacted(self, why: str, summary: str = "", before: int = 0, after: int = 0, at: int = 0) -> None:
        """The other program made room in its context; here everything stays to be read."""
        self._flush()
        self._at(at)
        self._begin("")
        self._say(ContextCompacted(why, before, after, summary=Text(summary)))

    def failed(self, what: str, at: int = 0) -> None:
        """The run ended with an error."""
        self._flush()
        self._at(at)
        if self._going:
            self._end("failed", what, Trouble(what))

    def stopped(self, why: str, at: int = 0) -> None:
        self._flush()
        self._at(at)
        if self._going:
            self._end("stopped", why)

    def completed(self, why: str = "", at: int = 0) -> None:
        self._flush()
        self._at(at)
        if self._going:
            self._end("completed", why)

    def keep(self, form: str, raw: str) -> None:
        """A record that has no fact of ours, as it is: together with those of its kind beside it."""
        self.kept[form] = self.kept.get(form, 0) + 1
        if len(raw) > RAW:
            raw = f"{raw[:RAW]} … [{len(raw):,} characters in all]"
        if form != self._form or self._large + len(raw) > RAW:
            self._keep()
            self._form = form
        self._strange.append(raw)
        self._large += len(raw)

    def settled(self) -> bool:
        """Is everything that was told a fact by now, or can be made one?"""
        if self._held or self._owed is not NO_USAGE:
            return False
        self._keep()
        return True

    def rest(self) -> None:
        """Nothing came for a moment: what was told is whole, and a run whose last reply asks for nothing has ended."""
        self._flush()
        if self._owed is not NO_USAGE:  # of a reply that an earlier reading told
            owed, self._owed = self._owed, NO_USAGE
            self._say(Replied(usage=owed))
        if self.is_open():  # records alone make no session
            self._keep()
        if self._going and self._answered and not self._open:
            self._end("completed")

    def close(self) -> None:
        """Nothing more is there by now."""
        self.rest()
        if self._going:
            self._end("stopped", "the transcript ends here")

    # How it becomes facts

    def _at(self, at: int) -> None:
        self.at = max(self.at, at)

    def _say(self, event: RunEvent, contents: Mapping[str, bytes] = NOTHING) -> None:
        if self._strange:
            self._keep()
        self._tell(self.key, self.at, event, contents)

    def _keep(self) -> None:
        """The records that were gathered, before whatever comes next; what a session is called is said by its words."""
        raw, self._strange, self._large = self._strange, [], 0
        if not raw:
            return
        kept = RecordKept(self._form, Text("\n".join(raw)), len(raw))
        if self._opening:
            self._early.append(kept)
        else:
            self._tell(self.key, self.at, kept, NOTHING)

    def _begin(self, words: str) -> None:
        """The session is opened by the first thing that happens in it."""
        if opening := self._opening:
            self._keep()
            self._opening = None
            self.at = self.at or self.usual
            self._say(replace(opening, title=opening.title or title_of(words) or NO_TITLE))
            for kept in self._early:
                self._say(kept)
            self._early.clear()

    def _start(self) -> None:
        self._begin("")
        if not self._going:
            self._going, self._answered, self._round = True, False, 0
            self._say(RunStarted(self._model or "unknown", mode="ask"))

    def _end(self, status: Any, reason: str = "", trouble: Trouble | None = None) -> None:
        self._going = False
        self._open.clear()
        self._say(RunEnded(status, reason, trouble))

    def _flush(self) -> None:
        """The reply that was gathered is whole."""
        held, self._held = self._held, None
        if held is None:
            return
        last, self.at = self.at, max(0, min(held.began, self.at))
        self._model = held.model or self._model
        self._start()
        self._round += 1
        self._say(RequestSent(self._model or "unknown", self._round))
        self.at = held.at
        calls = tuple(Call(self._named(call), call.tool, Text(call.arguments)) for call in held.calls)
        text, thought = (Text("\n\n".join(part)) for part in (held.texts, held.thoughts))
        self._say(Replied(text, thought, calls, self._newly(held), held.stop, cost=held.cost))
        self._answered = not calls
        for call in held.calls:
            self._started(call)
        self.at = max(last, self.at)

    def _newly(self, held: _Held) -> Usage:
        """A reply that came in two readings counts once."""
        name, before = self._counted
        self._counted = (held.id, held.usage)
        if not held.id or held.id != name:
            owed, self._owed = self._owed, NO_USAGE
            return held.usage if owed is NO_USAGE else _sum(held.usage, owed)
        pairs = ((getattr(held.usage, name), getattr(before, name)) for name in Usage.__slots__)
        return Usage(*(max(0, now - then) for now, then in pairs))

    def _named(self, call: Asked) -> str:
        """Ids of others may come twice; ours do not."""
        self._names += 1
        self._calls[call.id] = name = f"r{self._round}c{self._names}"
        return name

    def _asked(self, call: Asked) -> None:
        self._start()
        self._named(call)
        self._started(call)

    def _started(self, call: Asked) -> None:
        self._open[call.id] = None
        kind = KINDS.get(call.tool.lower(), "tool")
        self._say(CallStarted(self._calls[call.id], call.tool, kind, object_of(call)))


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(*(getattr(one, name) + getattr(other, name) for name in Usage.__slots__))
