"""The menu of a skill, which depends on its source and state."""

from PySide6.QtCore import QCoreApplication

from core.domain.skill import SkillRow

MenuEntry = tuple[str, str]  # the name of an action, and its label


def menu_entries(row: SkillRow) -> list[MenuEntry]:
    """Return the entries as action names and labels; an empty entry is a separator."""
    in_library = row.source == "library"
    entries: list[MenuEntry] = []
    if row.state in ("untrusted", "changed"):
        entries.append(("trust", _tr("Trust this skill")))
    if row.state == "archived":
        return [("bring", _tr("Restore")), ("export", _tr("Export…"))]
    if in_library:
        entries.append(("rename", _tr("Rename…")))
    entries.append(("unpin", _tr("Unpin")) if row.pinned else ("pin", _tr("Pin")))
    entries.append(("enable", _tr("Enable")) if row.state == "disabled" else ("disable", _tr("Disable")))
    entries.append(("copy", _tr("Copy…")))
    if row.use_count:
        entries.append(("without", _tr("Repeat its last run without this skill…")))
    entries.append(("export", _tr("Export…")))
    if in_library:
        entries += [("", ""), ("archive", _tr("Archive"))]
    return entries


def _tr(text: str) -> str:
    return QCoreApplication.translate("skills", text)
