"""The entries in the menu of a skill, which depend on where the skill is stored and on its state."""

from enum import StrEnum

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
    RESTORE = "restore"  # undo the archiving


MenuEntry = tuple[SkillAction, str]  # an action and its label


def menu_entries(row: SkillRow) -> list[MenuEntry | None]:
    """Return the entries of the menu; None is a separator."""
    in_library = row.source == "library"
    entries: list[MenuEntry | None] = []
    if row.state in ("untrusted", "changed"):
        entries.append((SkillAction.TRUST, _tr("Trust this skill")))
    if row.state == "archived":
        return [(SkillAction.RESTORE, _tr("Restore")), (SkillAction.EXPORT, _tr("Export…"))]
    if in_library:
        entries.append((SkillAction.RENAME, _tr("Rename…")))
    entries.append((SkillAction.UNPIN, _tr("Unpin")) if row.pinned else (SkillAction.PIN, _tr("Pin")))
    disabled = row.state == "disabled"
    entries.append((SkillAction.ENABLE, _tr("Enable")) if disabled else (SkillAction.DISABLE, _tr("Disable")))
    entries.append((SkillAction.COPY, _tr("Copy…")))
    if row.use_count:
        entries.append((SkillAction.REPEAT_WITHOUT, _tr("Repeat its last run without this skill…")))
    entries.append((SkillAction.EXPORT, _tr("Export…")))
    if in_library:
        entries += [None, (SkillAction.ARCHIVE, _tr("Archive"))]
    return entries


def _tr(text: str) -> str:
    return QCoreApplication.translate("skills", text)
