"""Explains why messages of a session cannot be sent again, and why its files cannot be reverted."""

from core.domain.sessions import ACTIVE_STATUSES, SessionRow
from ui.base.step_presentation import translate


def repeat_obstacle(row: SessionRow, missing_folder: str) -> str:
    """Return why no message of the session can be edited or tried with another model; "" if they can."""
    if row.imported_from:
        return translate("The messages of an imported session cannot be sent again.")
    if obstacle := _common_obstacle(row, missing_folder):
        return obstacle
    return "" if row.runs else translate("This session has no message of yours.")


def rewind_obstacle(row: SessionRow, missing_folder: str) -> str:
    """Return why the files of the session cannot be reverted; "" if they can."""
    if row.imported_from:
        return translate("The files of an imported session cannot be reverted.")
    return _common_obstacle(row, missing_folder)


def _common_obstacle(row: SessionRow, missing_folder: str) -> str:
    if row.folder and row.folder == missing_folder:
        return translate("The folder of this session is gone.")
    return translate("Pause or stop the run first.") if row.status in ACTIVE_STATUSES else ""
