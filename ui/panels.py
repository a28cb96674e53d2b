"""The pages that open in the centre instead of a session, in one table.

To add one: a folder `ui/<name>/` with `panel.py`, whose class is a `Page` (`ui/page.py`) and takes its parts by
keyword; a function here that imports and builds it when it is first visited; a line in PANELS. The sidebar, the
palette and the key sheet take it from there. Then `ui.<name>` joins the contract "Panels do not know each other" in
pyproject.toml, and `app/pictures.py` gets a picture of it. Another panel opens it by `selection.choose_page("<name>")`,
with what is meant of it as further words (`Page.open_on` is given those).
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from ui.page import Page, PageParts
from ui.reading import Reading


class Panel(NamedTuple):
    """`listed` ones stand at the foot of the sidebar; `waits` counts what waits there, as a badge beside the title."""

    id: str
    title: str
    icon: str
    build: Callable[[PageParts], Page]
    keys: str = ""
    listed: bool = True
    waits: Callable[[Reading], int] | None = None


def _usage(parts: PageParts) -> Page:
    from ui.usage.panel import UsagePanel

    return UsagePanel(look=parts.look, bridge=parts.bridge, start=parts.start, tell=parts.tell, say=parts.say)


def _skills(parts: PageParts) -> Page:
    from ui.skills.panel import SkillsPanel

    return SkillsPanel(
        look=parts.look, bridge=parts.bridge, start=parts.start, tell=parts.tell, say=parts.say,
        selection=parts.selection, reading=parts.reading, state=parts.state, go_to=parts.go_to, begin=parts.begin,
    )  # fmt: skip


def _memory(parts: PageParts) -> Page:
    from ui.memory.panel import MemoryPanel

    return MemoryPanel(
        look=parts.look, bridge=parts.bridge, start=parts.start, say=parts.say, selection=parts.selection,
        reading=parts.reading, go_to=parts.go_to,
    )  # fmt: skip


def _compare(parts: PageParts) -> Page:
    from ui.compare.panel import ComparePanel

    return ComparePanel(
        look=parts.look, bridge=parts.bridge, start=parts.start, say=parts.say, row=parts.row, pick=parts.pick,
        go_to=parts.go_to,
    )  # fmt: skip


PANELS: Final = (
    Panel("skills", "Skills", "wrench", _skills, waits=lambda reading: reading.proposed("skill")),
    Panel("memory", "Memory", "brain", _memory, waits=lambda reading: reading.proposed("memory")),
    Panel("usage", "Usage", "chart-column", _usage),
    Panel("compare", "Compare", "columns-2", _compare, listed=False),
)
