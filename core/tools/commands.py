"""The commands of a run that no call waits for: followed, looked at, ended with the run."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from core.domain.problems import Problem
from core.workspace.process import Finished, Running
from core.workspace.scan import Altered
from core.workspace.thread import to_its_end

MOST = 8
FRESH = 256 << 10  # bytes kept between two looks

Spawn = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


@dataclass(frozen=True, slots=True)
class Ended:
    """A command ended that no call waits for. Without `done` its call was stopped, and says so itself."""

    call: str
    changes: tuple[Altered, ...]
    done: Finished | None = None
    command: str = ""


@dataclass(slots=True)
class Background:
    """One of them.

    `after` looks what it did to files, and tells what of it was taken back; `noted` is what others of the run made
    of them meanwhile, not its doing.
    """

    command: str
    after: Callable[[], tuple[tuple[Altered, ...], str]]
    running: Running = field(init=False)
    fresh: bytearray = field(default_factory=bytearray)
    dropped: int = 0
    noted: dict[str, bytes | None] = field(default_factory=dict)
    told: "asyncio.Task[None] | None" = None

    def hear(self, piece: bytes) -> None:
        self.fresh += piece
        if (over := len(self.fresh) - FRESH) > 0:
            del self.fresh[:over]
            self.dropped += over

    def news(self) -> str:
        """What it printed since the last look."""
        text, dropped = self.fresh.decode("utf-8", "replace"), self.dropped
        self.fresh.clear()
        self.dropped = 0
        return f"… {dropped:,} bytes left out …\n{text}" if dropped else text


class Commands:
    """Those of one run, by the call that began them. `tell` makes their end a fact; `spawn` holds who follows them."""

    def __init__(self) -> None:
        self._all: dict[str, Background] = {}
        self._spawn: Spawn | None = None
        self._tell: Callable[[Ended], Awaitable[None]] | None = None
        self._closed = False

    def connect(self, spawn: Spawn, tell: Callable[[Ended], Awaitable[None]]) -> None:
        self._spawn, self._tell = spawn, tell

    def check_room(self) -> None:
        """Raise where no more can be begun."""
        if self._spawn is None or self._closed:
            raise Problem("Nothing runs in the background here.", "The run is ending.", "Run it without background.")
        going = [name for name, one in self._all.items() if one.running.finished is None]
        if len(going) >= MOST:
            why = f"{MOST} are the most at once: {', '.join(going)}."
            raise Problem("Too many commands run in the background.", why, "End one with check.")

    def follow(self, call: str, background: Background) -> None:
        assert self._spawn is not None
        self._all[call] = background
        background.told = self._spawn(self._follow(call, background))

    def named(self, call: str) -> Background:
        if found := self._all.get(call):
            return found
        known = ", ".join(self._all) or "none"
        why = f"Those of this run are: {known}. What runs in the background ends with its run."
        raise Problem(f"There is no command {call!r} in the background.", why, "Start it again if you need it.")

    def note(self, changes: Iterable[tuple[str, bytes | None]]) -> None:
        """Somebody else of the run left these files so."""
        going = [one for one in self._all.values() if one.told and not one.told.done()]
        for path, after in changes if going else ():
            for one in going:
                one.noted[path] = after

    async def stopped(self, call: str, changes: tuple[Altered, ...]) -> None:
        """The call was stopped in the middle; what its command did to files is told all the same."""
        self.note((change.path, change.after) for change in changes)
        if self._tell and changes:
            await self._tell(Ended(call, changes))

    async def close(self) -> None:
        """Kill what is left, and wait until the end of each is told."""
        self._closed = True
        for one in self._all.values():
            one.running.kill("ended with the run")
        waited = [one.told for one in self._all.values() if one.told]
        if waited:
            await asyncio.wait(waited)
        for task in waited:
            task.result()

    async def _follow(self, call: str, one: Background) -> None:
        done = await one.running.until_end()
        changes, note = await to_its_end(one.after)
        done = replace(done, output=done.output + note)
        if self._tell:
            await self._tell(Ended(call, tuple(_own(changes, one.noted)), done, one.command))


def _own(changes: tuple[Altered, ...], noted: dict[str, bytes | None]) -> Iterable[Altered]:
    """Without what others did meanwhile."""
    for change in changes:
        before = noted.get(change.path, change.before)
        if before != change.after:
            yield Altered(change.path, before, change.after, change.modes)
