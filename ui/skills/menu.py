"""What can be done with a skill, by where it stands and how."""

from PySide6.QtCore import QCoreApplication

from core.domain.skill import SkillRow

Deed = tuple[str, str]


def deeds(row: SkillRow) -> list[Deed]:
    """What each is called for the program and for the person; an empty one is a line between."""
    own = row.source == "library"
    found: list[Deed] = []
    if row.state in ("untrusted", "changed"):
        found.append(("trust", _tr("Trust this skill")))
    if row.state == "archived":
        return [("bring", _tr("Bring it back")), ("export", _tr("Export…"))]
    if own:
        found.append(("rename", _tr("Rename…")))
    found.append(("unpin", _tr("Unpin")) if row.pinned else ("pin", _tr("Pin")))
    found.append(("enable", _tr("Switch on")) if row.state == "off" else ("disable", _tr("Switch off")))
    found.append(("copy", _tr("Make a copy…")))
    if row.uses:
        found.append(("without", _tr("Try its last run again without it…")))
    found.append(("export", _tr("Export…")))
    if own:
        found += [("", ""), ("archive", _tr("Archive"))]
    return found


def _tr(text: str) -> str:
    return QCoreApplication.translate("skills", text)
