"""The entries in the menu of a skill, which depend on where the skill is stored and on its state."""

from enum import StrEnum
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from core.domain.skill import SkillRow


class SkillAction(StrEnum):
    """Actions on the skill on display."""

    SAVE = "save"
    DISCARD = "discard"  # discard the unsaved changes
    SHOW_VERSIONS = "show_versions"
    TRY = "try"  # start a new session with a task that uses the skill
    REPEAT_WITHOUT = "repeat_without"  # repeat the last run that used the skill, this time without the skill
    RENAME = "rename"
    COPY = "copy"
    EXPORT = "export"
    TRUST = "trust"
    PIN = "pin"
    UNPIN = "unpin"
    ENABLE = "enable"
    DISABLE = "disable"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"


class MenuEntry(NamedTuple):
    action: SkillAction
    label: str


def menu_entries(row: SkillRow) -> list[MenuEntry | None]:
    """Return the entries of the menu; None is a separator."""
    if row.state == "archived":
        return [MenuEntry(SkillAction.UNARCHIVE, _tr("Restore")), MenuEntry(SkillAction.EXPORT, _tr("Export…"))]
    in_library = row.source == "library"
    entries: list[MenuEntry | None] = []
    if row.state in ("untrusted", "changed"):
        entries.append(MenuEntry(SkillAction.TRUST, _tr("Trust this skill")))
    if in_library:
        entries.append(MenuEntry(SkillAction.RENAME, _tr("Rename…")))
    if row.pinned:
        entries.append(MenuEntry(SkillAction.UNPIN, _tr("Unpin")))
    else:
        entries.append(MenuEntry(SkillAction.PIN, _tr("Pin")))
    if row.state == "disabled":
        entries.append(MenuEntry(SkillAction.ENABLE, _tr("Enable")))
    else:
        entries.append(MenuEntry(SkillAction.DISABLE, _tr("Disable")))
    entries.append(MenuEntry(SkillAction.COPY, _tr("Copy…")))
    if row.use_count:
        entries.append(MenuEntry(SkillAction.REPEAT_WITHOUT, _tr("Repeat its last run without this skill…")))
    entries.append(MenuEntry(SkillAction.EXPORT, _tr("Export…")))
    if in_library:
        entries += [None, MenuEntry(SkillAction.ARCHIVE, _tr("Archive"))]
    return entries


def _tr(text: str) -> str:
    return QCoreApplication.translate("skills", text)
