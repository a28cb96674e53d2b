"""Lets a command that may change protected files, or delete history of a repository, run alone in its folder.

Another command there, of any session, could use the approval as well. Its scans would also revert what the approved
command changes, because they cannot tell who made a change.
"""

import asyncio
import itertools
from dataclasses import dataclass, field
from pathlib import Path

from core.domain.problems import Problem
from core.workspace.active_commands import overlap, places_of
from core.workspace.unsettled import shortened

WAIT_S = 30.0  # how long to wait for other commands before the call is refused
POLL_S = 0.1
NEEDS_TO_BE_ALONE = "It changes protected files or history, and this command in the folder could use its approval: {}."
OTHER_IS_ALONE = "A command that the user allowed to change protected files or history runs in the folder: {}."


@dataclass(slots=True, eq=False)
class CommandTurn:
    """A command from the scan of its folder before it until its changes have been reverted; then `end` is called.

    Of two that have to be alone, the one with the lower `number` goes first.
    """

    command: str
    places: tuple[str, ...]
    alone: bool = False
    number: int = field(default_factory=itertools.count().__next__)

    async def run_alone(self) -> None:
        """Wait until no other command runs in the folder, and let none begin. Raise Problem if that takes too long."""
        self.alone = True
        await self._wait(NEEDS_TO_BE_ALONE)

    def try_alone(self) -> bool:
        """Let no other command begin in the folder and return True; or return False if another one runs there."""
        former, self.alone = self.alone, True
        if self._conflicting():
            self.alone = former
        return self.alone

    def end(self) -> None:
        """Let other commands begin. Callable from any thread, also more than once."""
        _turns.discard(self)

    async def _wait(self, cause: str) -> None:
        deadline = asyncio.get_running_loop().time() + WAIT_S
        while other := self._conflicting():
            if asyncio.get_running_loop().time() >= deadline:
                fix = "Wait until that command has ended, or stop it, and call again."
                raise Problem("The command was not run.", cause.format(shortened(other.command)), fix)
            await asyncio.sleep(POLL_S)

    def _conflicting(self) -> "CommandTurn | None":
        others = (each for each in list(_turns) if each is not self and (self.alone or each.alone))
        before = (each for each in others if not (self.alone and each.alone and each.number > self.number))
        return next((each for each in before if overlap(self.places, each.places)), None)


_turns: set[CommandTurn] = set()


async def begin_turn(folder: Path, command: str) -> CommandTurn:
    """Return the turn of a command in a folder, once no other command has to be alone there.

    Raise Problem if that takes too long.
    """
    turn = CommandTurn(command, places_of(folder))
    await turn._wait(OTHER_IS_ALONE)
    _turns.add(turn)
    return turn
