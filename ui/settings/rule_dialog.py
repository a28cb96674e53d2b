"""The dialog to add or edit a permission rule."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.permissions import RuleScope
from core.domain.problems import ErrorDetails
from core.domain.rules import ANY, Effect, PermissionRule, RuleDraft
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, grow_to_fit, open_folder_picker, show_form_error
from ui.widgets.drop_down import DropDown
from ui.widgets.input_dialog import InputDialog
from ui.widgets.labels import label

EFFECTS: Final[Mapping[str, str]] = MappingProxyType({"deny": "Deny", "ask": "Ask", "allow": "Allow"})
DEFAULT_EFFECT: Final[Effect] = "allow"
DEFAULT_TOOL: Final = "run"  # the tool that runs commands
ONE_FOLDER: Final[RuleScope] = "folder"
EVERYWHERE: Final[RuleScope] = "always"
ONE_RUN: Final[RuleScope] = "run"
WIDTH: Final = 520
FIELD_HEIGHT: Final = 28


class RuleDialog(InputDialog):
    """Asks for a permission rule.

    The dialog edits `rule`, or adds one if `rule` is None. `folder` is suggested as the folder of the rule; without a
    folder, a new rule is suggested to apply everywhere.

    When `saved` is emitted, the receiver saves the rule and closes the dialog, or calls `show_error` if that fails.
    """

    saved = Signal(object)  # a RuleDraft

    def __init__(
        self,
        look: Look,
        tools: Sequence[str],
        folder: str,
        rule: PermissionRule | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(look, parent)
        self._rule = rule
        shown = rule or _suggested_rule(folder)
        self.setObjectName("rule")
        self.setWindowTitle(self.tr("Edit rule") if rule else self.tr("Add rule"))
        self._effect = self._drop_down("effect", self.tr("Effect"), EFFECTS, shown.effect)
        self._tool = self._drop_down("tool", self.tr("Tool"), _tool_options(tools, rule), shown.tool)
        self._pattern = self._text_field("pattern", self.tr("Pattern"), look.fonts.mono, shown.pattern)
        self._pattern.setPlaceholderText("git log *")
        self._scope = self._drop_down("scope", self.tr("Where"), _scope_options(rule), shown.scope)
        shown_folder = shown.scope_id if shown.scope == ONE_FOLDER else folder
        self._folder = self._text_field("folder", self.tr("Folder"), look.fonts.text, shown_folder)
        self._folder_label = label(self.tr("Folder"), look.fonts.text)
        self._choose = Button(look, self.tr("Choose…"), name="rule.choose")
        self._choose.setAccessibleName(self.tr("Choose a folder"))
        self._error = label("", look.fonts.text, "failed", name="rule.error", wrap=True)
        self._error.hide()
        self._cancel = Button(look, self.tr("Cancel"), name="rule.cancel")
        save_text = self.tr("Save rule") if rule else self.tr("Add rule")
        self._save = Button(look, save_text, name="rule.save", tone="primary")
        self._save.setDefault(True)
        self._lay_out()
        self._connect()

    def show_error(self, error: ErrorDetails) -> None:
        """Show why the rule was not saved. What the user has entered is kept."""
        show_form_error(self, self._error, str(error))
        self._save.setEnabled(True)

    def _emit_saved(self) -> None:
        self._error.hide()
        # Prevents a second click, which would save the rule twice, until the result is known.
        self._save.setEnabled(False)
        self.saved.emit(self._entered_rule())

    def _entered_rule(self) -> RuleDraft:
        return RuleDraft(
            effect=self._effect.currentData(),
            tool=self._tool.currentData(),
            pattern=self._pattern.text().strip(),
            scope=self._scope.currentData(),
            scope_id=self._entered_scope_id(),
        )

    def _entered_scope_id(self) -> str:
        """Return the folder or the run that the rule is limited to; empty if it applies everywhere."""
        scope = self._scope.currentData()
        if scope == ONE_FOLDER:
            return self._folder.text().strip()
        return self._rule.scope_id if self._rule and scope == ONE_RUN else ""

    def _show_or_hide_folder(self) -> None:
        """Show the folder row only for a rule that applies in one folder."""
        for widget in (self._folder_label, self._folder, self._choose):
            widget.setVisible(self._scope.currentData() == ONE_FOLDER)
        grow_to_fit(self)

    def _choose_folder(self) -> None:
        title = self.tr("Choose a folder")
        open_folder_picker(self, title, self._folder.text(), self._folder.setText, name="rule.folders")

    def _drop_down(self, name: str, title: str, options: Mapping[str, str], chosen: str) -> DropDown:
        """Create a drop-down list. `options` contains the label of each value."""
        field = DropDown(name=f"rule.{name}", title=title, font=self._look.fonts.text)
        field.setMinimumHeight(self._look.size(FIELD_HEIGHT))
        for value, text in options.items():
            field.addItem(self.tr(text), value)
        field.setCurrentIndex(field.findData(chosen))
        return field

    def _text_field(self, name: str, title: str, font: QFont, text: str) -> QLineEdit:
        field = QLineEdit(text)
        field.setObjectName(f"rule.{name}")
        field.setAccessibleName(title)
        field.setFont(font)
        return field

    def _lay_out(self) -> None:
        fonts = self._look.fonts
        about = self.tr(
            "The pattern is a command (git log *), a path in the folder (docs/**) or a host (*.example.org), depending "
            "on the tool. Rules that deny or ask match broadly and may have no pattern. A rule that allows matches "
            "only calls that it certainly covers."
        )
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self.windowTitle(), fonts.title))
        column.addWidget(label(about, fonts.second, "second", wrap=True))
        column.addLayout(self._form())
        column.addWidget(self._error)
        column.addStretch(1)
        column.addLayout(button_row(self._cancel, self._save))
        self.setMinimumWidth(self._look.size(WIDTH))
        self._show_or_hide_folder()
        self._pattern.setFocus()

    def _form(self) -> QFormLayout:
        font = self._look.fonts.text
        form = QFormLayout()
        form.setHorizontalSpacing(12)
        form.setVerticalSpacing(8)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        for field in (self._effect, self._tool, self._pattern, self._scope):
            form.addRow(label(field.accessibleName(), font), field)
        folder_row = QHBoxLayout()
        folder_row.setSpacing(8)
        folder_row.addWidget(self._folder, 1)
        folder_row.addWidget(self._choose)
        form.addRow(self._folder_label, folder_row)
        return form

    def _connect(self) -> None:
        self._scope.currentIndexChanged.connect(self._show_or_hide_folder)
        self._choose.clicked.connect(self._choose_folder)
        self._cancel.clicked.connect(self.reject)
        self._save.clicked.connect(self._emit_saved)
        click_on_ctrl_enter(self, self._save)


def _suggested_rule(folder: str) -> RuleDraft:
    """Return what the dialog shows before the user has entered a new rule."""
    scope = ONE_FOLDER if folder else EVERYWHERE
    return RuleDraft(DEFAULT_EFFECT, DEFAULT_TOOL, scope=scope, scope_id=folder)


def _tool_options(tools: Sequence[str], rule: PermissionRule | None) -> dict[str, str]:
    """Return the names of the tools and, if it is not among them, that of the tool of the edited rule."""
    names = [*tools, rule.tool] if rule and rule.tool != ANY else tools
    return {name: name for name in names} | {ANY: "Any tool"}


def _scope_options(rule: PermissionRule | None) -> dict[str, str]:
    """Return the scopes to choose from. A run is offered only if the edited rule is already limited to one."""
    options: dict[str, str] = {ONE_FOLDER: "In one folder", EVERYWHERE: "Everywhere"}
    if rule and rule.scope == ONE_RUN:
        options[ONE_RUN] = "Until its run ends"
    return options
