"""What is done for the data file itself: copies, figures, room. All of it beside the runs."""

import asyncio
from typing import TYPE_CHECKING

from core.domain.problems import Problem
from core.store.backup import Backup, Compacted, back_up, back_up_daily, compact, names
from core.store.opening import Opened
from core.store.usage import Used, used
from core.store.weights import Weight, weights

if TYPE_CHECKING:
    from core.store.tables import Figures


class Care:
    """The part of the engine that looks after the file."""

    _opened: Opened

    async def back_up(self) -> Backup:
        """A checked copy of the data, beside the writing."""
        return await asyncio.to_thread(back_up, self._opened.path)

    async def back_up_daily(self) -> None:
        """Once a day of use."""
        if self._opened.database:
            await asyncio.to_thread(back_up_daily, self._opened.path)

    async def figures(self) -> "Figures":
        """What the file holds, counted beside the runs."""
        from core.store.tables import figures  # SQLModel is heavy, and only the doctor counts

        return await asyncio.to_thread(figures, self._opened.path)

    async def weights(self) -> list[Weight]:
        """Which sessions are large, and why; counted beside the runs."""
        return await asyncio.to_thread(weights, self._opened.path)

    async def used(self, since: int = 0) -> list[Used]:
        """What models were asked for and what it cost."""
        return await asyncio.to_thread(used, self._opened.path, since)

    def backup_names(self) -> list[str]:
        """The copies there are, the newest first; none is read."""
        return [item.stem.removeprefix("journeyman-") for item in names(self._opened.path)]

    async def compact(self) -> Compacted:
        """The file as small as it can be; nothing is written meanwhile."""
        if self._opened.database is None:
            raise Problem("The data folder cannot be written.", "It was opened to look at.", "")
        return await self._opened.database.do(compact, alone=True)
