"""The context menu of a row in the list of steps."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from core.domain.steps import Step
from ui.base.step_presentation import translate
from ui.style.icons import menu_icon, set_menu_style
from ui.style.theme import Look
from ui.timeline.reply_widgets import ReplyLink, ReplyText

TEXT_KINDS = frozenset({"user", "reply"})
MAX_LINKS = 20  # links of a reply listed in its menu at most
LINK_LENGTH = 60  # characters of a link that are shown in the menu
FILE_KINDS = frozenset({"read", "write", "edit"})


class RowAction(StrEnum):
    """Actions on the step of a row."""

    DETAILS = "details"
    EDIT = "edit"  # edit the message and send it again
    OTHER_MODEL = "model"  # send the message again to another model
    COPY = "copy"
    COPY_MARKDOWN = "markdown"
    OPEN_FILE = "file"
    FIND_SIMILAR = "similar"
    FORK = "fork"
    REPLAY = "replay"
    REWIND = "rewind"  # revert files to their contents at this step


class RowState(NamedTuple):
    """What determines which actions the menu of a row offers.

    `own` is false for a row of a sub-agent, which cannot be forked, and to which files cannot be reverted.
    `repeat_obstacle` and `rewind_obstacle` explain why the message cannot be sent again or files cannot be reverted; ""
    means that they can. `links` are those in a reply.
    """

    step: Step
    own: bool
    selected_text: str = ""
    repeat_obstacle: str = ""
    rewind_obstacle: str = ""
    links: Sequence[ReplyLink] = ()


class ClickedRow(NamedTuple):
    """A row whose menu is open. `reply` is the widget that shows its text, if there is one."""

    step: Step
    position: int
    session: str
    reply: ReplyText | None
    selected_text: str


class _Entry(NamedTuple):
    action: RowAction
    text: str
    glyph: str
    keys: str = ""
    obstacle: str = ""


def row_menu(
    look: Look,
    state: RowState,
    on_action: Callable[[RowAction], object],
    on_link: Callable[[str], object],
    parent: QWidget,
) -> QMenu:
    """Return the menu of a row.

    `on_action` gets the chosen action, and `on_link` the address of a link to open. The caller opens the menu, which
    deletes itself when it closes.
    """
    menu = QMenu(parent)
    menu.setObjectName("row.menu")
    menu.setAccessibleName(translate("Actions for the step"))
    set_menu_style(menu, look)
    menu.setToolTipsVisible(True)
    menu.aboutToHide.connect(menu.deleteLater)
    for entry in _entries(state):
        action = QAction(menu_icon(entry.glyph, look), entry.text, menu)
        action.setObjectName(f"row.menu.{entry.action}")
        if entry.keys:
            # Only displayed in the menu; the window's commands handle the keys.
            action.setShortcut(QKeySequence(entry.keys))
            action.setShortcutVisibleInContextMenu(True)
        action.setEnabled(not entry.obstacle)
        action.setToolTip(entry.obstacle)
        action.triggered.connect(lambda _=False, chosen=entry.action: on_action(chosen))
        menu.addAction(action)
    if state.links:
        menu.addMenu(_link_menu(look, state.links, on_link, menu))
    return menu


def _link_menu(look: Look, links: Sequence[ReplyLink], on_link: Callable[[str], object], parent: QMenu) -> QMenu:
    """Return the submenu with the links of a reply, because the keyboard cannot reach them in the text."""
    menu = QMenu(translate("Open a link or image"), parent)
    menu.setObjectName("row.menu.links")
    menu.setAccessibleName(menu.title())
    menu.setIcon(menu_icon("share", look))
    set_menu_style(menu, look)
    for text, address in links[:MAX_LINKS]:
        shown = text if len(text) <= LINK_LENGTH else f"{text[: LINK_LENGTH - 1]}…"
        action = QAction(shown.replace("&", "&&"), menu)
        action.triggered.connect(lambda _=False, address=address: on_link(address))
        menu.addAction(action)
    return menu


def _entries(state: RowState) -> Iterator[_Entry]:
    step = state.step
    if step.kind == "user" and state.own:
        yield _Entry(RowAction.EDIT, translate("Edit and resend…"), "pencil", "Ctrl+E", state.repeat_obstacle)
        yield _Entry(
            RowAction.OTHER_MODEL, translate("Try with another model…"), "cpu", "Ctrl+Shift+R", state.repeat_obstacle
        )
    yield _Entry(RowAction.DETAILS, translate("Show details"), "panel-right-open")
    copy = translate("Copy the selection") if state.selected_text else translate("Copy")
    if step.object or step.kind in TEXT_KINDS:
        yield _Entry(RowAction.COPY, copy, "copy")
    if step.kind in TEXT_KINDS:
        yield _Entry(RowAction.COPY_MARKDOWN, translate("Copy as Markdown"), "file-text")
    if step.kind in FILE_KINDS and step.object:
        yield _Entry(RowAction.OPEN_FILE, translate("Open the file"), "file-pen-line")
    if step.object:
        yield _Entry(RowAction.FIND_SIMILAR, translate("Find similar steps"), "search")
    if state.own:
        yield _Entry(RowAction.FORK, translate("Fork from here"), "git-fork")
        yield _Entry(RowAction.REPLAY, translate("Replay from here…"), "play")
        yield _Entry(RowAction.REWIND, translate("Revert files to here…"), "history", obstacle=state.rewind_obstacle)
