"""What a run works in: its folder, the one way to its files, the walls around its commands, what was allowed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from core.domain.consent import Level
from core.domain.problems import Problem
from core.tools.commands import Commands
from core.tools.way_out import WayOut
from core.tools.web import Web
from core.workspace.broker import Broker
from core.workspace.sandbox import Sandbox, of_this_machine
from core.workspace.scan import Scan
from core.workspace.thread import to_its_end

PROOF = "sandbox.json"  # in the data folder: what the walls were worth since the machine was started

if TYPE_CHECKING:
    from core.memory.hand import Hand
    from core.servers.asking import Ask
    from core.servers.servers import Servers

Hear = Callable[[str, bytes], None]  # the call, and what its command just printed


@dataclass(frozen=True, slots=True)
class Word:
    """What was said of one call before it runs.

    Attributes:
        argv: the command as words; then no shell reads it.
        opens: protected places that a person let it change.
        secrets: a person let it read files that hold keys.
        unconfined: a person let this command run where there are no walls.
    """

    argv: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()
    secrets: bool = False
    unconfined: bool = False


UNSAID = Word()


@dataclass(slots=True)
class Walls:
    """The sandbox, chosen when it is first wanted. `told`: the run has said which."""

    choose: Callable[[], Sandbox]
    told: bool = False
    _chosen: Sandbox | None = None

    @property
    def sandbox(self) -> Sandbox:
        self._chosen = self._chosen or self.choose()
        return self._chosen


@dataclass(frozen=True, slots=True)
class Place:
    """Made once for a run by `open_place`, closed at its end. `call` and `word` are of the one call that acts in it.

    Attributes:
        data: our own data folder, which no tool may look into.
        out: the hosts a person allowed to the commands of this run.
        commands: those that go on in the background.
        memory: what is remembered, as this run holds it; None where nothing is.
        hear: told what a command prints, while it runs.
        safe: the person's hooks are left out.
        web: asks the search engine that the person set.
        servers: the tool servers of the person; None where none are used.
        ask: puts a question of this call to the person.
    """

    folder: Path
    data: Path
    broker: Broker
    scan: Scan
    walls: Walls
    out: WayOut
    commands: Commands
    hear: Hear | None = None
    memory: "Hand | None" = None
    call: str = ""
    word: Word = UNSAID
    safe: bool = False
    web: Web | None = None
    servers: "Servers | None" = None
    ask: "Ask | None" = None

    @property
    def sandbox(self) -> Sandbox:
        """Chosen and proven at the first use, which can take half a second: `proven` waits for it elsewhere."""
        return self.walls.sandbox

    @property
    def level(self) -> Level:
        """How well commands are confined here."""
        return self.sandbox.level

    async def proven(self) -> Sandbox:
        """The sandbox, without holding up other runs while it proves itself."""
        return await to_its_end(lambda: self.walls.sandbox)

    def acting(self, call: str, word: Word | None = None, ask: "Ask | None" = None) -> "Place":
        """The same place, for one call."""
        if call == self.call and word is None:
            return self
        return replace(self, call=call, word=self.word if word is None else word, ask=ask)

    def listener(self) -> Callable[[bytes], None] | None:
        """Where the output of this call's command goes."""
        return partial(self.hear, self.call) if self.hear else None

    async def close(self) -> None:
        await self.commands.close()
        await self.out.close()
        self.broker.close()


def open_place(
    folder: Path,
    data: Path,
    hear: Hear | None = None,
    choose: Callable[[], Sandbox] | None = None,
    *,
    safe: bool = False,
    web: Web | None = None,
) -> Place:
    """The place of a run; costs next to nothing until a command runs."""
    try:
        broker = Broker(folder)
    except OSError as error:
        what, do = f"The folder {folder} cannot be opened.", "Put it back, or start a session in another folder."
        raise Problem(what, f"{error.strerror}.", do) from error
    walls = Walls(choose or partial(of_this_machine, data / PROOF))
    return Place(
        folder, data, broker, Scan(folder, broker=broker), walls, WayOut(), Commands(), hear, safe=safe, web=web
    )
