"""Background commands of a run: each is followed until it ends, and killed when the run ends."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from core.domain.problems import Problem
from core.workspace.folder_scan import ScannedChange
from core.workspace.running_command import FinishedCommand, RunningCommand
from core.workspace.threads import run_to_completion

MAX_COMMANDS = 8
MAX_UNREAD_BYTES = 256 << 10  # bytes of output kept between two checks

SpawnTask = Callable[[Coroutine[Any, Any, None]], "asyncio.Task[None]"]


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """The end of a background command, or of a foreground command whose call was stopped.

    In the second case `done` is None, because the result of the call already says that it was stopped.

    Attributes:
        unrestorable: display names of further changed files, whose contents were not recorded.
        changed_history: the git folders in which references were changed.
        output: what a stopped foreground command had printed; of a background command what the model must know
            beyond its output.
    """

    call: str
    changes: tuple[ScannedChange, ...] = ()
    done: FinishedCommand | None = None
    command: str = ""
    unrestorable: tuple[str, ...] = ()
    changed_history: tuple[str, ...] = ()
    output: str = ""


class ChangeGuard(Protocol):
    """Reverts changes to trusted files while a command runs, except to paths that `approve` was given."""

    counts: Counter[str]  # how often each path was reverted

    def approve(self, paths: Iterable[str]) -> None: ...

    def scan(self) -> None: ...

    async def stop(self) -> None: ...


@dataclass(slots=True)
class BackgroundCommand:
    """A background command.

    Attributes:
        guard: reverts changes to trusted files while the command runs.
        scan_changes: scans the folder once the command has ended; returns the changes and notes for the model.
        unread: output that no `check` call has returned yet.
        omitted: number of output bytes that were dropped because `unread` was full.
        foreign_changes: files that other calls of the run changed while the command ran, with their contents. These
        changes are not attributed to the command.
        follower: the task that follows the command and records its end.
    """

    command: str
    scan_changes: Callable[[], CommandEnd]
    guard: ChangeGuard
    running: RunningCommand = field(init=False)
    unread: bytearray = field(default_factory=bytearray)
    omitted: int = 0
    foreign_changes: dict[str, bytes | None] = field(default_factory=dict)
    follower: "asyncio.Task[None] | None" = None

    def append_output(self, chunk: bytes) -> None:
        self.unread += chunk
        if (excess := len(self.unread) - MAX_UNREAD_BYTES) > 0:
            del self.unread[:excess]
            self.omitted += excess

    def take_output(self) -> str:
        """Return and clear the output since the last check."""
        text, dropped = self.unread.decode("utf-8", "replace"), self.omitted
        self.unread.clear()
        self.omitted = 0
        return f"… {dropped:,} bytes omitted …\n{text}" if dropped else text


class BackgroundCommands:
    """The background commands of one run, by the id of the call that started them."""

    def __init__(self) -> None:
        self._commands: dict[str, BackgroundCommand] = {}
        self._spawn: SpawnTask | None = None
        self._on_end: Callable[[CommandEnd], Awaitable[None]] | None = None
        self._closed = False
        self._stopped: dict[str, CommandEnd] = {}

    def connect(self, spawn: SpawnTask, on_end: Callable[[CommandEnd], Awaitable[None]]) -> None:
        """Set how follower tasks are started (`spawn`) and how the end of a command is recorded (`on_end`)."""
        self._spawn, self._on_end = spawn, on_end

    def check_capacity(self) -> None:
        """Raise a Problem if no further command can be started."""
        if self._spawn is None or self._closed:
            raise Problem("Background commands are not available.", "The run is ending.", "Run it without background.")
        running = [name for name, command in self._commands.items() if command.running.finished is None]
        if len(running) >= MAX_COMMANDS:
            cause = f"The limit is {MAX_COMMANDS}: {', '.join(running)}."
            raise Problem("Too many background commands are running.", cause, "Stop one with check.")

    def follow(self, call: str, background: BackgroundCommand) -> None:
        assert self._spawn is not None
        self._commands[call] = background
        background.follower = self._spawn(self._follow(call, background))

    def get(self, call: str) -> BackgroundCommand:
        if command := self._commands.get(call):
            return command
        ids = ", ".join(self._commands) or "none"
        cause = f"This run has: {ids}. Background commands end with their run."
        raise Problem(f"There is no background command {call!r}.", cause, "Start it again if you need it.")

    def is_any_running(self) -> bool:
        return bool(self._followed())

    def _followed(self) -> list[BackgroundCommand]:
        """Return the commands whose end is not recorded yet."""
        return [command for command in self._commands.values() if command.follower and not command.follower.done()]

    def count_reverts(self) -> int:
        """Return how often changes of the commands to trusted files were reverted, also after their ends."""
        return sum(command.guard.counts.total() for command in self._commands.values())

    def revert_changes(self, approved: Iterable[str] = ()) -> None:
        """Revert what running commands changed in trusted files by now.

        `approved` are paths that another call may change from now on. Call this in a thread.
        """
        for command in self._followed():
            command.guard.approve(approved)
            command.guard.scan()

    async def wait_for_end(self, seconds: float) -> None:
        """Wait until a running command has ended, for at most some seconds."""
        followers = {command.follower for command in self._followed() if command.follower}
        if followers:
            await asyncio.wait(followers, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def before_call(self, approved: tuple[str, ...]) -> None:
        """Prepare for another call of the run, which may change the `approved` trusted files."""
        if self.is_any_running():
            await run_to_completion(self.revert_changes, approved)

    def note_foreign_changes(self, changes: Iterable[tuple[str, bytes | None]]) -> None:
        """Note file changes by another call of the run, so that they are not attributed to a background command."""
        running = self._followed()
        for path, after in changes if running else ():
            for command in running:
                command.foreign_changes[path] = after

    async def record_stopped(self, ended: CommandEnd) -> None:
        """Record the file changes of a foreground command whose call was stopped, and keep the rest."""
        self._stopped[ended.call] = ended
        self.note_foreign_changes((change.path, change.after) for change in ended.changes)
        if self._on_end and ended.changes:
            await self._on_end(ended)

    def take_stopped(self, call: str) -> CommandEnd:
        """Return how a foreground command ended when its call was stopped."""
        return self._stopped.pop(call, None) or CommandEnd(call)

    async def close(self) -> None:
        """Kill the remaining commands and wait until the end of each is recorded."""
        self._closed = True
        for command in self._commands.values():
            command.running.kill("ended with the run")
        followers = [command.follower for command in self._commands.values() if command.follower]
        if followers:
            await asyncio.wait(followers)
        for task in followers:
            task.result()

    async def _follow(self, call: str, background: BackgroundCommand) -> None:
        finished = await background.running.wait_or_kill()
        await background.guard.stop()
        ended = await run_to_completion(background.scan_changes)
        finished = replace(finished, output=finished.output + ended.output)
        if self._on_end:
            changes = tuple(_own_changes(ended.changes, background.foreign_changes))
            await self._on_end(replace(ended, changes=changes, done=finished, command=background.command))


def _own_changes(
    changes: tuple[ScannedChange, ...], foreign_changes: dict[str, bytes | None]
) -> Iterable[ScannedChange]:
    """Yield the changes that were not made by other calls of the run."""
    for change in changes:
        before = foreign_changes.get(change.path, change.before)
        if before != change.after:
            yield ScannedChange(change.path, before, change.after, change.modes)
