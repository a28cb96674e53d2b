"""The table of pages that can be shown in the central area instead of a session.

To add a page, create a folder `ui/<name>/` whose `panel.py` has a subclass of `PanelPage` that takes its parts as
keyword arguments; add a function here that imports and creates it on the first visit; and add a line to PAGES. The
sidebar, the palette and the list of shortcuts read that table. Then add `ui.<name>` to the contracts "The layers of ui"
and "Panels do not import each other" in pyproject.toml, and a screenshot to `tests/screens/screens.py`. Other panels
open the page with `selection.choose_page("<name>")`; further arguments are passed to `PanelPage.activate`.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from ui.base.deferred_reader import DeferredReader
from ui.base.panel_page import PageContext, PanelPage


class PageSpec(NamedTuple):
    """A page that can be shown in the central area.

    `build` creates the page, and `keys` is the shortcut that opens it. A `listed` page has a button in the sidebar;
    `badge_count` returns the number shown on it.
    """

    id: str
    title: str
    icon: str
    build: Callable[[PageContext], PanelPage]
    keys: str = ""
    listed: bool = True
    badge_count: Callable[[DeferredReader], int] | None = None


def _usage(parts: PageContext) -> PanelPage:
    from ui.usage.panel import UsagePanel

    return UsagePanel(
        look=parts.look,
        bridge=parts.bridge,
        start_task=parts.start_task,
        show_toast=parts.show_toast,
    )


def _skills(parts: PageContext) -> PanelPage:
    from ui.skills.panel import SkillsPanel

    return SkillsPanel(
        look=parts.look,
        bridge=parts.bridge,
        start_task=parts.start_task,
        show_error=parts.show_error,
        show_toast=parts.show_toast,
        selection=parts.selection,
        reader=parts.reader,
        state=parts.state,
        show_event=parts.show_event,
        start_with=parts.start_with,
    )


def _memory(parts: PageContext) -> PanelPage:
    from ui.memory.panel import MemoryPanel

    return MemoryPanel(
        look=parts.look,
        bridge=parts.bridge,
        start_task=parts.start_task,
        show_toast=parts.show_toast,
        selection=parts.selection,
        reader=parts.reader,
        state=parts.state,
        show_event=parts.show_event,
    )


def _compare(parts: PageContext) -> PanelPage:
    from ui.compare.panel import ComparePanel

    return ComparePanel(
        look=parts.look,
        bridge=parts.bridge,
        start_task=parts.start_task,
        show_toast=parts.show_toast,
        row=parts.row,
        pick_session=parts.pick_session,
        show_event=parts.show_event,
    )


def _overview(parts: PageContext) -> PanelPage:
    from ui.overview.panel import OverviewPanel

    return OverviewPanel(
        look=parts.look,
        bridge=parts.bridge,
        start_task=parts.start_task,
        show_toast=parts.show_toast,
        reader=parts.reader,
        board=parts.board,
    )


PAGES: Final = (
    PageSpec("overview", "Overview", icon="rows-2", build=_overview, keys="Ctrl+Shift+O"),
    PageSpec("skills", "Skills", icon="wrench", build=_skills, badge_count=lambda reader: reader.proposed("skill")),
    PageSpec("memory", "Memory", icon="brain", build=_memory, badge_count=lambda reader: reader.proposed("memory")),
    PageSpec("usage", "Usage", icon="chart-column", build=_usage),
    PageSpec("compare", "Compare", icon="columns-2", build=_compare, listed=False),
)
