"""The process of an external agent: started in its own process group, and killed with all its descendants."""

import asyncio
import hashlib
import os
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from core.agents.json_rpc import MAX_LINE_BYTES, PeerClosed
from core.agents.known_agents import install_command
from core.domain.problems import Problem
from core.domain.visible import visible
from core.workspace import process_tree
from core.workspace.program_search import COMMAND_PATH, own_path
from core.workspace.threads import run_to_completion

PROCESS_MARKER = "JOURNEYMAN_AGENT"  # environment variable that identifies the processes an agent starts
MAX_ERROR_LINES = 20  # last lines of output kept to explain an error
MAX_SHOWN_LENGTH = 300  # characters of a line shown in an error
GRACE_S = 2.0


class AgentProcess:
    """An agent process and its descendants."""

    def __init__(self, process: asyncio.subprocess.Process, marker: str) -> None:
        self._process = process
        self._marker = marker
        self._output_lines: deque[str] = deque(maxlen=MAX_ERROR_LINES)

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

    async def read(self, on_line: Callable[[bytes], Awaitable[None]]) -> str:
        """Pass each line of standard output to `on_line` until the output ends; return the reason it ended."""
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                await on_line(line)
        except ValueError:  # raised by StreamReader.readline for a line over the limit
            return f"It sent a line of more than {MAX_LINE_BYTES >> 20} MB."
        except PeerClosed as closed:
            return str(closed)
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_S):
                await self._process.wait()
        code = self._process.returncode
        return "It closed its output." if code is None else f"It exited with code {code}."

    def keep_output(self, line: bytes) -> None:
        """Keep a line of standard output that is not a protocol message: `last_output` returns it in an error."""
        self._output_lines.append(line.decode("utf-8", "replace")[: MAX_SHOWN_LENGTH * 4])

    def last_output(self) -> str:
        """Return a sentence with the last line that the program printed; empty if there is none."""
        line = next((line for line in reversed(self._output_lines) if line.strip()), "")
        return f" Last output: {visible(line.strip())[:MAX_SHOWN_LENGTH]}" if line else ""

    async def kill(self) -> None:
        """Kill the process and its descendants, even if this task is canceled meanwhile."""
        await run_to_completion(self._end_all)
        # Unread output keeps the pipes open, and asyncio does not report the end of a process until they are closed.
        # Only the transport can close them. A transport left open fails in its finalizer if the loop has been closed.
        for number in range(3):
            if pipe := self._process._transport.get_pipe_transport(number):  # type: ignore[attr-defined]
                pipe.close()
        await self._process.wait()

    def _end_all(self) -> None:
        if sys.platform == "win32":
            with suppress(OSError):
                self._process.kill()
            return
        process_tree.kill_tree(self.pid)
        process_tree.kill_group(self.pid)
        process_tree.kill_marked(f"{PROCESS_MARKER}={self._marker}".encode())

    async def read_stderr(self) -> None:
        """Read standard error until it ends, keeping the last lines."""
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(1 << 16):
            lines = chunk.decode("utf-8", "replace").splitlines()
            self._output_lines.extend(line[: MAX_SHOWN_LENGTH * 4] for line in lines[-MAX_ERROR_LINES:])


def kill_leftovers(data: Path) -> None:
    """Kill agent processes left running by a killed Journeyman process that used this data folder."""
    process_tree.kill_marked(f"{PROCESS_MARKER}={_data_folder_id(data)}.".encode())


async def start_process(argv: Sequence[str], folder: Path, data: Path) -> AgentProcess:
    """Start a program that will work in a folder, with the user's environment and without a sandbox.

    It is started in the home folder and never found in a folder of a project, because npx, Python and other programs
    would otherwise run code that a command of an agent has put there. Raises `Problem` if it cannot be started.
    """
    if os.path.basename(argv[0]) != argv[0] and not os.path.isabs(argv[0]):  # noqa: PTH117, PTH119 - it is text
        fix = "Name it by its absolute path."
        raise Problem(f"{visible(argv[0])} is not an absolute path.", "It could be a program of the folder.", fix)
    marker = f"{_data_folder_id(data)}.{token_hex(8)}"
    inherited = {name: value for name, value in os.environ.items() if name != COMMAND_PATH}
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=Path.home(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**inherited, "PATH": own_path(folder), PROCESS_MARKER: marker},
            start_new_session=True,
            limit=MAX_LINE_BYTES,
        )
    except FileNotFoundError as error:
        message = f"The program {visible(argv[0])} was not found."
        install = install_command(argv[0])
        raise Problem(
            message,
            "It is not installed, or not on the PATH outside of projects.",
            f"Install it: {install}" if install else "Install it, or correct its command.",
        ) from error
    except (OSError, ValueError) as error:
        message = f"{visible(argv[0])} cannot be started."
        raise Problem(message, f"{error}.", "Correct its command in the settings.") from error
    return AgentProcess(process, marker)


def _data_folder_id(data: Path) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(data))).hexdigest()[:16]
