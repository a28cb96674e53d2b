"""The Agent profiles page: the user's agent profiles, with buttons to add, edit and remove them."""

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from ui.settings.undo_row import Removal, UndoRow
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.labels import label, styled_frame
from ui.widgets.replaceable_content import ReplaceableContent

if TYPE_CHECKING:
    from core.engine.prompting.profile_files import ProfileFile
    from core.engine.prompting.profiles import AgentProfile


class AgentProfileAction(StrEnum):
    """Actions on agent profiles. A signal carries an action as text, and the name of the profile that it concerns."""

    RELOAD = "reload"
    ADD = "add"
    EDIT = "edit"
    OPEN_FILE = "open_file"
    REMOVE = "remove"
    UNDO_REMOVAL = "undo_removal"


class AgentProfilesPage(QWidget):
    """The agent profiles, with buttons to add, edit and remove them."""

    action_requested = Signal(str, str)  # an `AgentProfileAction`, and the name of the profile, if it concerns one

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self.setObjectName("settings.profiles")
        self._rows = ReplaceableContent()
        self._add = Button(look, _tr("Add profile…"), name="settings.profiles.add", tone="primary")
        self._add.clicked.connect(lambda: self.action_requested.emit(AgentProfileAction.ADD, ""))
        self._undo = UndoRow(look, "settings.profiles", "removed")
        self._undo.undo_requested.connect(partial(self.action_requested.emit, AgentProfileAction.UNDO_REMOVAL))
        about = _tr(
            "An agent profile gives an agent its own role, instructions, tools and model. Choose it below the task of "
            "a new session, or use “journeyman run --agent NAME”. Changes count from the next run on."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(label(about, look.fonts.second, "second", wrap=True))
        column.addWidget(self._add, 0, Qt.AlignmentFlag.AlignRight)
        column.addWidget(self._undo)
        column.addWidget(self._rows)

    def show_profiles(self, files: Sequence["ProfileFile"], removed: Sequence[str] = ()) -> None:
        """Replace the rows of the page, and offer to restore the profiles with the names `removed`, the last first."""
        had_focus = self._undo.focusProxy() is self.window().focusWidget()
        self._undo.show_offers([Removal(name, _removed_text(name)) for name in removed])
        if had_focus and self._undo.isHidden():
            self._add.setFocus()
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        if not files:
            text = _tr("No agent profiles yet. Without one, every session uses the default agent.")
            column.addWidget(label(text, self._look.fonts.text, "second", name="settings.profiles.none", wrap=True))
        for file in files:
            column.addWidget(self._row(file))
        self._rows.replace_content(content)

    def focus_undo(self, name: str) -> None:
        """Announce that a profile was removed, and focus the button that restores it."""
        self._undo.setFocus()  # because the focused button was removed with the profile
        announce(self, _removed_text(name))

    def _row(self, file: "ProfileFile") -> QWidget:
        look = self._look
        frame = styled_frame("well")
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 8, 8, 8)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        name = visible(file.name)
        texts.addWidget(label(name, look.fonts.strong, name=f"settings.profile.{file.name}", wrap=True))
        if file.profile is None:
            texts.addWidget(label(visible(file.error), look.fonts.second, "failed", wrap=True))
        else:
            for line in filter(None, (file.profile.description or file.profile.role, _summary(file.profile))):
                texts.addWidget(label(visible(line), look.fonts.second, "second", wrap=True))
        row.addLayout(texts, 1)
        if file.profile is None:
            open_text = _tr("Open the file of the profile {}")
            open_or_edit = self._button(file, AgentProfileAction.OPEN_FILE, _tr("Open file"), open_text)
        else:
            open_or_edit = self._button(file, AgentProfileAction.EDIT, _tr("Edit…"), _tr("Edit the profile {}"))
        remove = self._button(file, AgentProfileAction.REMOVE, _tr("Remove"), _tr("Remove the profile {}"))
        row.addWidget(open_or_edit, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(remove, 0, Qt.AlignmentFlag.AlignTop)
        return frame

    def _button(self, file: "ProfileFile", action: AgentProfileAction, text: str, accessible_pattern: str) -> Button:
        """Return a button for an action on a profile, whose name completes the accessible name of the button."""
        button = Button(self._look, text, name=f"settings.profile.{file.name}.{action}")
        button.setAccessibleName(accessible_pattern.format(visible(file.name)))
        button.clicked.connect(lambda: self.action_requested.emit(action, file.name))
        return button


def _removed_text(name: str) -> str:
    return _tr("Removed: {}").format(name)


def _summary(profile: "AgentProfile") -> str:
    """Return a line with the model and the tools to which a profile is limited."""
    parts: list[str] = []
    if model := profile.model or (profile.tier and _tr("tier {}").format(profile.tier)):
        parts.append(_tr("Model: {}").format(model))
    if profile.tools:
        parts.append(_tr("Tools: {}").format(", ".join(profile.tools)))
    elif profile.tools is not None:
        parts.append(_tr("No tools"))
    return " · ".join(parts)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
