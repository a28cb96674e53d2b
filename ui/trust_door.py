"""Asks whether a folder is trusted, where that was not said of it or not of what is there now."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ui.bridge import Bridge
from ui.trust_dialog import TrustDialog
from ui.window import MainWindow

if TYPE_CHECKING:
    from core.engine.engine import Engine
    from core.engine.trust import FolderTrust


async def trust_said(window: MainWindow, bridge: Bridge, folder: str, *, new: bool = True) -> bool:
    """Whether to go on. Without `new` only a folder that was trusted is asked about, once it has changed."""
    found = await bridge.ask(partial(_look, Path(folder)))
    if not found.asks or (found.trusted is None and not new):
        return True
    word: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
    dialog = TrustDialog(window.look, found, window)
    dialog.said.connect(word.set_result)
    dialog.rejected.connect(lambda: word.set_result(None))
    dialog.open()
    try:
        said = await word
    except asyncio.CancelledError:
        dialog.close()
        raise
    if said is not None:
        await bridge.ask(lambda engine: engine.trust(Path(folder), said))
    return said is not None


async def _look(folder: Path, engine: "Engine") -> "FolderTrust":
    """A folder with nothing in it is trusted unasked: all that will be there was made for the person."""
    found = await engine.folder_trust(folder)
    if found.trusted is None and found.empty:
        await engine.trust(folder, by="Journeyman")
        found = await engine.folder_trust(folder)
    return found
