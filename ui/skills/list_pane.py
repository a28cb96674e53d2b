"""The left pane of the Skills page: the search field, the New and Import buttons, and the list of skills."""

from collections.abc import Collection, Sequence
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QToolButton, QVBoxLayout

from core.domain.skill import SkillRow
from ui.skills.list_items import ProposalItem, group_skills
from ui.skills.skill_list import SkillList
from ui.style.icons import icon
from ui.style.theme import Look
from ui.widgets.labels import label
from ui.widgets.search_field import SearchField
from ui.widgets.tool_button import tool_button

WIDTH: Final = 280


class SkillListPane(QFrame):
    """The pane.

    The words in the search field filter the list; the Down key moves the focus from the field to the list.
    """

    new_requested = Signal()
    import_requested = Signal()

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self._rows: Sequence[SkillRow] = ()
        self._proposed: Sequence[ProposalItem] = ()
        self._unsaved: Collection[str] = ()
        self._folder = ""
        self._archive_open = False
        self.setProperty("surface", "panel")
        self.setObjectName("skills.side")
        self._search = SearchField(look, self.tr("Search skills"), name="skills.search")
        self._search.list_requested.connect(self.focus_list)
        self._new = self._create_tool_button("skills.new", "plus", self.tr("Create a skill (Ctrl+Shift+N)"))
        self._import = self._create_tool_button(
            "skills.import", "download", self.tr("Import skills from a zip file or a SKILL.md")
        )
        self.list = SkillList(look)
        self._empty_note = label("", look.fonts.second, "second", name="skills.none", wrap=True)
        self._empty_note.setContentsMargins(16, 12, 16, 12)
        self._empty_note.hide()
        first = QHBoxLayout()
        first.setContentsMargins(12, 12, 12, 4)
        first.setSpacing(8)
        first.addWidget(self._search, 1)
        first.addWidget(self._new)
        first.addWidget(self._import)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(first)
        column.addWidget(self._empty_note)
        column.addWidget(self.list, 1)
        self._search.textChanged.connect(self._on_query_changed)
        self._new.clicked.connect(lambda: self.new_requested.emit())
        self._import.clicked.connect(lambda: self.import_requested.emit())
        self.list.archive_toggled.connect(self._toggle_archive)
        self.setMinimumWidth(look.size(200))

    def show_rows(self, rows: Sequence[SkillRow], proposed: Sequence[ProposalItem], folder: str) -> None:
        self._rows = rows
        self._proposed = proposed
        self._folder = folder
        self.update_list()

    def show_unsaved(self, keys: Collection[str]) -> None:
        """Mark the skills with unsaved changes."""
        self._unsaved = keys
        self.update_list()

    def rows(self) -> Sequence[SkillRow]:
        return self._rows

    def proposed(self) -> Sequence[ProposalItem]:
        return self._proposed

    def update_list(self) -> None:
        query = self._search.text()
        items = group_skills(
            self._rows,
            self._proposed,
            query=query,
            folder=self._folder,
            unsaved=self._unsaved,
            archive_open=self._archive_open,
        )
        self.list.show_items(items)
        self._empty_note.setVisible(not items)
        self._empty_note.setText(
            self.tr("No matching skills.")
            if query
            else self.tr("There are no skills yet. Create one with +, or drop a folder or zip file here.")
        )

    def focus_list(self) -> None:
        self.list.setFocus(Qt.FocusReason.OtherFocusReason)
        if not self.list.currentIndex().isValid():
            self.list.setCurrentIndex(self.list.rows.first_item())

    def restyle(self, look: Look) -> None:
        self._look = look
        self.list.restyle(look)
        self._search.restyle(look)
        self._empty_note.setFont(look.fonts.second)
        for tool, name in ((self._new, "plus"), (self._import, "download")):
            self._show_icon(tool, name)

    def _on_query_changed(self) -> None:
        self.update_list()
        self.list.scrollToTop()

    def _toggle_archive(self) -> None:
        self._archive_open = not self._archive_open
        self.update_list()

    def _create_tool_button(self, name: str, icon_name: str, title: str) -> QToolButton:
        button = tool_button(name, title)
        button.setProperty("tone", "framed")
        self._show_icon(button, icon_name)
        return button

    def _show_icon(self, tool: QToolButton, name: str) -> None:
        size = self._look.size(16)
        tool.setIcon(icon(name, self._look.theme.second, size))
        tool.setIconSize(QSize(size, size))

    # Overridden Qt methods

    def sizeHint(self) -> QSize:
        return QSize(self._look.size(WIDTH), 400)
