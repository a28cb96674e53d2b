"""The buttons and lists of the form for a new session: agent, limits, folder and recent folders."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QMenu

from ui.start.new_session import OfferedAgent
from ui.start.run_options import RunOptions, RunOptionsDialog, options_text
from ui.style.number_formats import short_folder
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.dialog_parts import open_folder_picker
from ui.widgets.drop_down import DropDown

DEFAULT_AGENT: Final = OfferedAgent()


class AgentDropDown(DropDown):
    """The user's agent profiles; hidden if there are none. A profile with an invalid file is listed, but disabled."""

    def __init__(self, look: Look) -> None:
        super().__init__(name="start.agent", font=look.fonts.text)
        self._look = look
        self.setAccessibleName(self.tr("Agent"))
        self.hide()

    @property
    def chosen(self) -> OfferedAgent:
        agent: OfferedAgent | None = self.currentData()
        return agent or DEFAULT_AGENT

    def restyle(self, look: Look) -> None:
        self._look = look
        self.setFont(look.fonts.text)

    def set_agents(self, agents: Sequence[OfferedAgent]) -> None:
        """List the profiles. The chosen one is kept if it is still available."""
        chosen_name = self.chosen.name
        self.clear()
        self.addItem(self.tr("Default agent"), DEFAULT_AGENT)
        for agent in agents:
            self._add(agent)
        names = [DEFAULT_AGENT.name, *(agent.name for agent in agents)]
        self.setCurrentIndex(names.index(chosen_name) if chosen_name in names else 0)
        self.setVisible(bool(agents))

    def _add(self, agent: OfferedAgent) -> None:
        text = self.tr("{} (invalid file)").format(agent.name) if agent.error else agent.name
        self.addItem(visible(text), agent)
        index = self.count() - 1
        model_note = self.tr("Model: {}").format(agent.model) if agent.model else ""
        tip = "\n".join(filter(None, (agent.error, agent.description, model_note)))
        self.setItemData(index, visible(tip), Qt.ItemDataRole.ToolTipRole)
        if agent.error:
            items = self.model()
            assert isinstance(items, QStandardItemModel)
            items.item(index).setEnabled(False)
            self.setItemData(index, self._look.theme.third, Qt.ItemDataRole.ForegroundRole)


class OptionsButton(Button):
    """Shows the limits and other options of the run, and opens a dialog to change them.

    Attributes:
        chosen: The options that the user has chosen for this run; None if those of the settings apply.
    """

    def __init__(self, look: Look) -> None:
        super().__init__(look, "", name="start.options", tone="quiet", icon="gauge")
        self._usual = RunOptions()
        self.chosen: RunOptions | None = None
        self.clicked.connect(self._open_dialog)
        self._show_options()

    def set_usual(self, options: RunOptions) -> None:
        self._usual = options
        self._show_options()

    def choose(self, options: RunOptions | None) -> None:
        """Choose the options of the run; None means those of the settings."""
        self.chosen = options
        self._show_options()

    @property
    def _effective(self) -> RunOptions:
        return self._usual if self.chosen is None else self.chosen

    def _show_options(self) -> None:
        text = options_text(self._effective)
        self.setText(text)
        self.setAccessibleName(self.tr("Options of the run: {}").format(text))
        self.setToolTip(self.accessibleName())  # the text may be elided
        self.updateGeometry()

    def _open_dialog(self) -> None:
        dialog = RunOptionsDialog(self._look, self._effective, self)
        dialog.chosen.connect(self.choose)
        dialog.open()


class FolderButton(Button):
    """Shows the folder in which the agent will work, and lets the user pick another one."""

    picked = Signal(str)

    def __init__(self, look: Look) -> None:
        super().__init__(look, "", name="start.folder", icon="folder-open")
        self.folder = ""
        self.set_elide_mode(Qt.TextElideMode.ElideLeft)
        self.clicked.connect(self.open_picker)
        self.show_folder("")

    def show_folder(self, folder: str) -> None:
        self.folder = folder
        text = short_folder(folder, str(Path.home())) if folder else self.tr("Choose a folder…")
        self.setText(text)
        self.setAccessibleName(self.tr("Folder: {}").format(text) if folder else text)

    def open_picker(self) -> None:
        at = self.folder or str(Path.home())
        title = self.tr("Choose the folder to work in")
        open_folder_picker(self, title, at, self.picked.emit, name="start.folders")


class RecentFoldersButton(Button):
    """Opens a menu with the folders of the latest sessions; hidden if there are none."""

    picked = Signal(str)

    def __init__(self, look: Look) -> None:
        super().__init__(
            look, self.tr("Recent folders"), name="start.recent", tone="quiet", icon="history", has_menu=True
        )
        self.set_icon_only(True)
        self._menu = QMenu(self)
        self._menu.setObjectName("start.recents")
        self.clicked.connect(lambda: self._menu.popup(self.mapToGlobal(QPoint(0, self.height() + 4))))
        self.hide()

    def set_folders(self, folders: Sequence[str]) -> None:
        self._menu.clear()
        for folder in folders:
            text = visible(short_folder(folder, str(Path.home()))).replace("&", "&&")
            self._menu.addAction(text).triggered.connect(partial(self.picked.emit, folder))
        self.setVisible(bool(folders))
