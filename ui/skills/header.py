"""The header of the skill view: the name, the state and the actions of the skill or proposal."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from core.domain.skill import SkillRow
from ui.skills.list_items import state_chip, state_label
from ui.skills.skill_menu import MenuEntry, SkillAction
from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.compact_row import CompactRow
from ui.widgets.elided import ElidedLabel
from ui.widgets.labels import label
from ui.widgets.proposal_keys import ProposalAction
from ui.widgets.stacking_row import StackingRow, plain_row
from ui.widgets.tooltip import tooltip_text


class SkillHeader(QWidget):
    """The header, with a menu for the skill."""

    action_requested = Signal(str)  # a `SkillAction`
    proposal_action_requested = Signal(str)  # a `ProposalAction`
    source_requested = Signal()  # show the steps from which the proposal was learned

    def __init__(self, look: Look, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._menu_entries: Sequence[MenuEntry | None] = ()
        self.setObjectName("skill.header")
        self._title = ElidedLabel("", look.fonts.title, name="skill.title")
        self._state = label("", look.fonts.caption, "badge", name="skill.state")
        self._about = ElidedLabel("", look.fonts.second, "second", name="skill.about")
        self._versions = self._button(SkillAction.SHOW_VERSIONS, "", "quiet", "history")
        self._try = self._button(SkillAction.TRY, self.tr("Try in new session"), "quiet", "play")
        self._more = Button(look, self.tr("More"), name="skill.more", tone="quiet", has_menu=True)
        self._save = self._button(SkillAction.SAVE, self.tr("Save"), "primary", hint="Ctrl+S")
        self._reject = self._button(ProposalAction.REJECT, self.tr("Reject"), hint="N")
        self._edit = self._button(ProposalAction.EDIT, self.tr("Edit"), hint="E")
        self._accept = self._button(ProposalAction.ACCEPT, self.tr("Accept"), "primary", hint="Y")
        self._source = QPushButton()
        self._source.setObjectName("skill.source")
        self._source.setProperty("tone", "link")
        self._source.setCursor(Qt.CursorShape.PointingHandCursor)
        self._source.setFont(_underlined(look))
        self._source.setToolTip(self.tr("Show the steps it was learned from"))
        self._source.clicked.connect(lambda: self.source_requested.emit())
        self._more.clicked.connect(lambda: self.open_menu(self._more.mapToGlobal(self._more.rect().bottomLeft())))
        self._title.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        actions = CompactRow(spacing=8)
        actions.row.addStretch(1)
        for part in (self._versions, self._try, self._more, self._reject, self._edit, self._accept, self._save):
            actions.row.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(16, 10, 16, 8)
        column.setSpacing(4)
        left = Qt.AlignmentFlag.AlignLeft
        column.addWidget(StackingRow(plain_row(self._title, self._state, alignment=left), actions))
        second = QHBoxLayout()
        second.setSpacing(8)
        second.addWidget(self._source)
        second.addWidget(self._about, 1)
        column.addLayout(second)
        self._show_buttons(proposal=False)

    def show_skill(self, row: SkillRow, versions: int, about: str, menu_entries: Sequence[MenuEntry | None]) -> None:
        self._menu_entries = menu_entries
        chip = state_chip(row)
        self._show_texts(row.name, state_label(row.state) if chip else "", about, chip.token if chip else "")
        count = self.tr("1 version") if versions == 1 else self.tr("{} versions").format(versions)
        self._versions.setText(count)
        self._versions.setAccessibleName(count)
        self._versions.setVisible(versions > 0)
        self._try.setEnabled(row.state == "enabled")
        self._try.setToolTip("" if row.state == "enabled" else self.tr("Only an enabled skill can be tried."))
        self._show_buttons(proposal=False)

    def show_proposal(self, title: str, state: str, about: str, *, source: str) -> None:
        """Show a proposal. `source` describes the session and the steps from which the proposal was learned."""
        self._show_texts(title, state, about, "learned")
        self._menu_entries = ()
        self._source.setText(visible(source))
        self._source.setAccessibleName(source)
        self._accept.setText(self.tr("Accept"))
        self._edit.setEnabled(True)
        self._show_buttons(proposal=True)
        self._source.setVisible(bool(source))

    def mark_edited(self) -> None:
        self._accept.setText(self.tr("Accept edited"))
        self._edit.setEnabled(False)

    def update_save_button(self, *, enabled: bool, label: str) -> None:
        """Enable or disable the Save button and set its label."""
        self._save.setEnabled(enabled)
        self._save.setText(label)
        self._save.setAccessibleName(label)

    def open_menu(self, at: QPoint) -> None:
        """Open the menu of the skill on display; a proposal has none."""
        if not self._menu_entries:
            return
        menu = QMenu(self)
        menu.setObjectName("skill.menu")
        menu.setAccessibleName(self.tr("More skill actions"))
        for menu_entry in self._menu_entries:
            if menu_entry is None:
                menu.addSeparator()
                continue
            item = menu.addAction(menu_entry.label)
            item.setObjectName(f"skill.do.{menu_entry.action}")
            item.triggered.connect(lambda _=False, action=menu_entry.action: self.action_requested.emit(action))
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(at)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.title)
        self._about.setFont(look.fonts.second)
        self._state.setFont(look.fonts.caption)
        self._source.setFont(_underlined(look))
        for part in self.findChildren(Button):
            part.restyle(look)

    def _show_texts(self, title: str, state: str, about: str, token: str) -> None:
        self._title.show_text(visible(title))
        self._state.setText(state)
        self._state.setVisible(bool(state))
        set_style_properties(self._state, tone="learnt" if token == "learned" else "badge")
        self._about.show_text(visible(about))
        self._about.setToolTip(tooltip_text(about))

    def _show_buttons(self, *, proposal: bool) -> None:
        """Show the buttons for a proposal, or those for a skill."""
        for part in (self._reject, self._edit, self._accept, self._source):
            part.setVisible(proposal)
        for part in (self._more, self._save, self._try):
            part.setVisible(not proposal)
        if proposal:
            self._versions.hide()

    def _button(
        self, action: SkillAction | ProposalAction, text: str, tone: str = "", icon: str = "", hint: str = ""
    ) -> Button:
        button = Button(self._look, text, name=f"skill.{action}", tone=tone, icon=icon, hint=hint)
        signal = self.action_requested if isinstance(action, SkillAction) else self.proposal_action_requested
        button.clicked.connect(lambda: signal.emit(action))
        return button


def _underlined(look: Look) -> QFont:
    font = QFont(look.fonts.second)
    font.setUnderline(True)
    return font
