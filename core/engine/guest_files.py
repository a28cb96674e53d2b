"""What an agent of others does to the files by itself, seen by looking at the folder, so that it can be taken back."""

import asyncio

from core.domain.events import FileChanged, RunEvent
from core.engine.acts import file_changed
from core.engine.work import Work
from core.store.blobs import blob_hash
from core.store.told import Told
from core.tools.run import named
from core.tools.tool import Change
from core.workspace.scan import Scan
from core.workspace.thread import to_its_end


class GuestFiles:
    """Looks between two calls. What our own tools changed meanwhile has its fact already; `close` lets go."""

    def __init__(self, run: Work) -> None:
        self._session = run.session
        self._scan = Scan(run.place.folder, broker=run.place.broker)
        self._noted: dict[str, str] = {}
        self._turn = asyncio.Lock()
        self._forget = run.journal.listen(self._hear)

    def close(self) -> None:
        self._forget()

    async def look(self) -> None:
        """Remember how the folder is now."""
        async with self._turn:
            await to_its_end(self._scan.before)
            self._noted.clear()

    async def since(self, call: str) -> tuple[list[RunEvent], dict[str, bytes], tuple[str, ...]]:
        """What changed since the last look, as facts of this call; and which changes could not be kept."""
        async with self._turn:
            altered, missed = await to_its_end(self._scan.after)
            blobs: dict[str, bytes] = {}
            facts: list[RunEvent] = [
                file_changed(call, Change(one.path, one.before, one.after, one.modes), blobs)
                for one in altered
                if self._noted.get(one.path) != ("" if one.after is None else blob_hash(one.after))
            ]
            self._noted.clear()
        return facts, blobs, named(missed.contents)

    def _hear(self, told: Told) -> None:
        event = told.entry.event
        if told.entry.session == self._session and isinstance(event, FileChanged):
            self._noted[event.path] = event.after
