"""The program of an agent: started with a group of its own, read line by line, ended with all it started."""

import asyncio
import hashlib
import os
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from core.agents.peer import LONGEST, Gone
from core.domain.problems import Problem
from core.domain.visible import visible
from core.workspace import usage
from core.workspace.thread import to_its_end

MARK = "JOURNEYMAN_AGENT"  # in the surroundings of an agent and of all it starts
PRINTED, SHOWN = 20, 300  # lines of its standard error that are kept, and characters of one that are shown
GRACE_S = 2.0


class Program:
    """One process and its descendants."""

    def __init__(self, process: asyncio.subprocess.Process, mark: str) -> None:
        self._process = process
        self._mark = mark
        self._printed: deque[str] = deque(maxlen=PRINTED)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.returncode is None

    async def write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        await self._process.stdin.drain()

    async def read(self, hear: Callable[[bytes], Awaitable[None]]) -> str:
        """Each line, until nothing comes any more; why that is."""
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                await hear(line)
        except ValueError:  # the reader's own word for a line without an end
            return f"It sent a line of more than {LONGEST >> 20} MB."
        except Gone as gone:
            return str(gone)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await self._process.wait()
        code = self._process.returncode
        return "It closed its output." if code is None else f"It ended with the code {code}."

    def last_words(self) -> str:
        """The last that it printed beside the protocol."""
        said = next((line for line in reversed(self._printed) if line.strip()), "")
        return f" The last it printed: {visible(said.strip())[:SHOWN]}" if said else ""

    async def end(self) -> None:
        """Kill it and all that it started; this is done whatever comes meanwhile."""
        await to_its_end(self._end_all)
        # What was printed and nobody read holds its pipe open, and until that is closed asyncio says of no process
        # that it has ended. Only its transport can close it.
        if pipe := self._process._transport.get_pipe_transport(1):  # type: ignore[attr-defined]
            pipe.close()
        await self._process.wait()

    def _end_all(self) -> None:
        if sys.platform == "win32":
            with suppress(OSError):
                self._process.kill()
            return
        usage.end_tree(self.pid)
        usage.end_group(self.pid)
        usage.end_marked(f"{MARK}={self._mark}".encode())

    async def hear_errors(self) -> None:
        """Keep the last that it prints beside the protocol."""
        assert self._process.stderr is not None
        while piece := await self._process.stderr.read(1 << 16):
            lines = piece.decode("utf-8", "replace").splitlines()
            self._printed.extend(line[: SHOWN * 4] for line in lines[-PRINTED:])


def end_left(data: Path) -> None:
    """End what a Journeyman of this data folder that was killed left running."""
    usage.end_marked(f"{MARK}={_owner(data)}.".encode())


async def start(words: Sequence[str], folder: Path, data: Path) -> Program:
    """Start a program in a folder. It has what a person's own programs have: it is no less theirs."""
    mark = f"{_owner(data)}.{token_hex(8)}"
    try:
        process = await asyncio.create_subprocess_exec(
            *words, cwd=folder, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE, env={**os.environ, MARK: mark}, start_new_session=True, limit=LONGEST,
        )  # fmt: skip
    except FileNotFoundError as error:
        what = f"There is no program {visible(words[0])}."
        raise Problem(what, "It was not found on this computer.", "Install it, or correct its command.") from error
    except (OSError, ValueError) as error:
        what = f"{visible(words[0])} cannot be started."
        raise Problem(what, f"{error}.", "Correct its command in the settings.") from error
    return Program(process, mark)


def _owner(data: Path) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(data))).hexdigest()[:16]
