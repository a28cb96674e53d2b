"""Background commands of a run. A task waits for the end of each command; the end of the run kills them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from core.domain.problems import Problem
from core.workspace.file_change import FileChange, without_foreign
from core.workspace.running_command import FinishedCommand, RunningCommand
from core.workspace.threads import run_to_completion
from core.workspace.unsettled import shortened

MAX_COMMANDS = 8
MAX_UNREAD_BYTES = 256 << 10  # bytes of output kept until the next `check` call
END_INTERVAL_S = 0.1  # polling interval while waiting for the end of a killed command to be recorded

SpawnTask = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """The end of a background command, or of a foreground command whose call was stopped.

    For a stopped foreground command `done` is None, because the result of its call says that it was stopped.

    Attributes:
        unrestorable: display names of further changed files, whose contents were not recorded.
        changed_history: the git folders in which references were changed.
        output: what a stopped foreground command had printed; of a background command what the model must know
            beyond its output.
    """

    call: str
    changes: tuple[FileChange, ...] = ()
    done: FinishedCommand | None = None
    command: str = ""
    unrestorable: tuple[str, ...] = ()
    changed_history: tuple[str, ...] = ()
    output: str = ""


class ChangeGuard(Protocol):
    """Reverts changes to trusted files while a command runs."""

    counts: Counter[str]  # how often each path was reverted

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
    follower: asyncio.Task[None] | None = None

    def append_output(self, chunk: bytes) -> None:
        self.unread += chunk
        if (excess := len(self.unread) - MAX_UNREAD_BYTES) > 0:
            del self.unread[:excess]
            self.omitted += excess

    def take_output(self) -> str:
        """Return and clear the output since the last check."""
        text = self.unread.decode("utf-8", "replace")
        note = f"… {self.omitted:,} bytes omitted …\n" if self.omitted else ""
        self.unread.clear()
        self.omitted = 0
        return note + text


class BackgroundCommands:
    """The background commands of one run, by the id of the call that started them."""

    def __init__(self) -> None:
        self._commands: dict[str, BackgroundCommand] = {}
        self._spawn: SpawnTask | None = None
        self._on_end: Callable[[CommandEnd], Awaitable[None]] | None = None
        self._closed = False
        self._stopped: dict[str, CommandEnd] = {}
        # Files changed by background commands that ended during the current foreground command: path → contents.
        self._changed_meanwhile: dict[str, bytes | None] = {}

    def connect(self, spawn: SpawnTask, on_end: Callable[[CommandEnd], Awaitable[None]]) -> None:
        """Set how follower tasks are started (`spawn`) and how the end of a command is recorded (`on_end`)."""
        self._spawn, self._on_end = spawn, on_end

    def check_capacity(self) -> None:
        """Raise a Problem if no further command can be started."""
        if self._spawn is None or self._closed:
            raise Problem("Background commands are not available.", "The run is ending.", "Run it without background.")
        running = [name for name, command in self._commands.items() if _is_running(command)]
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
        """Return how many changes to trusted files were reverted, for all commands, including ended ones."""
        return sum(command.guard.counts.total() for command in self._commands.values())

    def revert_changes(self) -> None:
        """Revert the changes that running commands have made to trusted files so far. Call this in a thread."""
        for command in self._followed():
            command.guard.scan()

    async def wait_for_end(self, seconds: float) -> None:
        """Wait up to `seconds` until one of the running commands has ended."""
        followers = {command.follower for command in self._followed() if command.follower}
        if followers:
            await asyncio.wait(followers, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)

    async def before_call(self, approved: tuple[str, ...]) -> None:
        """Prepare for another call of the run, whose approval allows it to change the `approved` trusted files.

        Revert changes of running commands. With `approved` files, raise Problem if a command is running.
        """
        if approved:
            await self.refuse_while_running()
        if self.is_any_running():
            await run_to_completion(self.revert_changes)

    async def refuse_while_running(self) -> None:
        """Raise Problem if a command is running, because it could use an approval that the user gave to another call.

        If commands have ended but their ends are not recorded yet, wait for that.
        """
        while self.is_any_running():
            if problem := self.reason_to_refuse():
                raise problem
            await self.wait_for_end(END_INTERVAL_S)

    def reason_to_refuse(self) -> Problem | None:
        """Return why a call that may change trusted files or git history cannot run now; None if no command runs."""
        running = [f"{call} ({shortened(each.command)})" for call, each in self._commands.items() if _is_running(each)]
        if not running:
            return None
        cause = "It changes protected files or history, and these background commands could use its approval: {}."
        fix = "Stop them with check, and call again; you can start them again afterwards."
        return Problem("The call was not run.", cause.format(", ".join(running)), fix)

    def note_foreign_changes(self, changes: Iterable[FileChange]) -> None:
        """Note file changes by another call of the run, so that they are not attributed to a background command."""
        contents = {change.path: change.after for change in changes}
        for command in self._followed():
            command.foreign_changes |= contents

    def begin_command(self) -> None:
        """Note that a foreground command begins: from now on, changes by background commands are tracked for it."""
        self._changed_meanwhile.clear()

    def own_changes(self, changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
        """Return the given changes without those made by background commands that ended during a foreground command."""
        return tuple(without_foreign(changes, self._changed_meanwhile))

    async def record_stopped(self, ended: CommandEnd) -> None:
        """Record the file changes of a foreground command whose call was stopped. Keep `ended` for `take_stopped`."""
        ended = replace(ended, changes=self.own_changes(ended.changes))
        self._stopped[ended.call] = ended
        self.note_foreign_changes(ended.changes)
        if self._on_end and ended.changes:
            await self._on_end(ended)

    def take_stopped(self, call: str) -> CommandEnd:
        """Return what `record_stopped` kept for this call, and forget it; an empty CommandEnd if there is nothing."""
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
            changes = tuple(without_foreign(ended.changes, background.foreign_changes))
            self._changed_meanwhile |= {change.path: change.after for change in changes}
            await self._on_end(replace(ended, changes=changes, done=finished, command=background.command))


def _is_running(command: BackgroundCommand) -> bool:
    return command.running.finished is None
