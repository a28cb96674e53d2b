"""Asks whether to trust a folder if the user has not decided yet, or if its project instructions have changed."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ui.base.bridge import Bridge
from ui.dialogs.trust_dialog import TrustDialog
from ui.shell.main_window import MainWindow

if TYPE_CHECKING:
    from core.engine.api.engine import Engine
    from core.engine.policy.trust import FolderTrust


async def confirm_folder_trust(
    window: MainWindow, bridge: Bridge, folder: str, *, ask_if_undecided: bool = True
) -> bool:
    """Ask whether to trust the folder if necessary. Return False if the user cancels.

    With `ask_if_undecided=False`, ask only about a trusted folder whose project instructions have changed.
    """
    folder_trust = await bridge.ask(partial(_trust_state, Path(folder)))
    if not folder_trust.needs_decision or (folder_trust.trusted is None and not ask_if_undecided):
        return True
    decision: asyncio.Future[bool | None] = asyncio.get_running_loop().create_future()
    dialog = TrustDialog(window.look, folder_trust, window)
    dialog.decided.connect(decision.set_result)
    dialog.rejected.connect(lambda: decision.set_result(None))
    dialog.open()
    try:
        trusted = await decision
    except asyncio.CancelledError:
        dialog.close()
        raise
    if trusted is not None:
        await bridge.ask(lambda engine: engine.trust(Path(folder), trusted, seen=folder_trust))
    return trusted is not None


async def _trust_state(folder: Path, engine: "Engine") -> "FolderTrust":
    """Return whether a folder is trusted. An empty folder is trusted at once, because it has no instructions yet."""
    folder_trust = await engine.folder_trust(folder)
    if folder_trust.trusted is None and folder_trust.empty:
        await engine.trust(folder, by="Journeyman")
        folder_trust = await engine.folder_trust(folder)
    return folder_trust
