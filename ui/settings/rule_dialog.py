"""The dialog to add or edit a permission rule."""

from collections.abc import Mapping, Sequence
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.permissions import RuleScope
from core.domain.problems import ErrorDetails
from core.domain.rules import ANY, PermissionRule, RuleDraft
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, grow_to_fit, open_folder_picker, show_form_error
from ui.widgets.drop_down import DropDown
from ui.widgets.input_dialog import InputDialog
from ui.widgets.labels import label

EFFECTS: Final = {"deny": "Deny", "ask": "Ask", "allow": "Allow"}
SCOPES: Final = {"folder": "In one folder", "always": "Everywhere"}
RUN_SCOPE: Final = {"run": "Until its run ends"}  # offered only when a rule is edited that already has this scope


class RuleDialog(InputDialog):
    """Asks for a permission rule.

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
        self._title = self.tr("Edit rule") if rule else self.tr("Add rule")
        self.setObjectName("rule")
        self.setWindowTitle(self._title)
        tool_labels = {tool: tool for tool in tools}
        if rule and rule.tool != ANY:
            tool_labels[rule.tool] = rule.tool
        tool_labels[ANY] = "Any tool"
        self._effect = self._drop_down("effect", self.tr("Effect"), EFFECTS)
        self._tool = self._drop_down("tool", self.tr("Tool"), tool_labels)
        self._pattern = self._text_field("pattern", self.tr("Pattern"), look)
        self._pattern.setPlaceholderText("git log *")
        scopes = SCOPES | RUN_SCOPE if rule and rule.scope == "run" else SCOPES
        self._scope = self._drop_down("scope", self.tr("Where"), scopes)
        self._folder = self._text_field("folder", self.tr("Folder"), look)
        self._folder.setFont(look.fonts.text)
        self._choose = Button(look, self.tr("Choose…"), name="rule.choose")
        self._choose.setAccessibleName(self.tr("Choose a folder"))
        self._choose.clicked.connect(self._choose_folder)
        self._error = label("", look.fonts.text, "failed", name="rule.error", wrap=True)
        self._error.hide()
        self._save = Button(
            look, self.tr("Save rule") if rule else self.tr("Add rule"), name="rule.save", tone="primary"
        )
        self._save.setDefault(True)
        self._lay_out()
        default_scope: RuleScope = "folder" if folder else "always"
        self._effect.setCurrentIndex(self._effect.findData(rule.effect if rule else "allow"))
        self._tool.setCurrentIndex(self._tool.findData(rule.tool if rule else "run"))
        self._scope.setCurrentIndex(self._scope.findData(rule.scope if rule else default_scope))
        self._pattern.setText(rule.pattern if rule else "")
        self._folder.setText(rule.scope_id if rule and rule.scope == "folder" else folder)
        self._scope.currentIndexChanged.connect(self._update_state)
        self._save.clicked.connect(self._emit_saved)
        click_on_ctrl_enter(self, self._save)
        self._update_state()
        self._pattern.setFocus()

    def show_error(self, error: ErrorDetails) -> None:
        """Show why the rule was not saved. What the user has entered is kept."""
        show_form_error(self, self._error, str(error))
        self._save.setEnabled(True)

    def _emit_saved(self) -> None:
        self._error.hide()
        # Prevents a second click, which would save the rule twice, until the result is known.
        self._save.setEnabled(False)
        self.saved.emit(
            RuleDraft(
                effect=self._effect.currentData(),
                tool=self._tool.currentData(),
                pattern=self._pattern.text().strip(),
                scope=self._scope.currentData(),
                scope_id=self._scope_id(),
            )
        )

    def _scope_id(self) -> str:
        """Return the folder or the run that the rule is limited to; empty if it applies everywhere."""
        scope = self._scope.currentData()
        if scope == "folder":
            return self._folder.text().strip()
        return self._rule.scope_id if self._rule and scope == "run" else ""

    def _update_state(self) -> None:
        for widget in (self._folder, self._choose, self._folder_label):
            widget.setVisible(self._scope.currentData() == "folder")
        grow_to_fit(self)

    def _choose_folder(self) -> None:
        title = self.tr("Choose a folder")
        open_folder_picker(self, title, self._folder.text(), self._folder.setText, name="rule.folders")

    def _drop_down(self, name: str, title: str, options: Mapping[str, str]) -> DropDown:
        field = DropDown(name=f"rule.{name}", title=title, font=self._look.fonts.text)
        field.setMinimumHeight(self._look.size(28))
        for value, text in options.items():
            field.addItem(self.tr(text), value)
        return field

    def _text_field(self, name: str, title: str, look: Look) -> QLineEdit:
        field = QLineEdit()
        field.setObjectName(f"rule.{name}")
        field.setAccessibleName(title)
        field.setFont(look.fonts.mono)
        return field

    def _lay_out(self) -> None:
        fonts = self._look.fonts
        form = QFormLayout()
        form.setHorizontalSpacing(12)
        form.setVerticalSpacing(8)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        folder_row = QHBoxLayout()
        folder_row.setSpacing(8)
        folder_row.addWidget(self._folder, 1)
        folder_row.addWidget(self._choose)
        self._folder_label = label(self.tr("Folder"), fonts.text)
        form.addRow(label(self.tr("Effect"), fonts.text), self._effect)
        form.addRow(label(self.tr("Tool"), fonts.text), self._tool)
        form.addRow(label(self.tr("Pattern"), fonts.text), self._pattern)
        form.addRow(label(self.tr("Where"), fonts.text), self._scope)
        form.addRow(self._folder_label, folder_row)
        about = self.tr(
            "The pattern is a command (git log *), a path in the folder (docs/**) or a host (*.example.org), depending "
            "on the tool. Rules that deny or ask match broadly and may have no pattern. A rule that allows matches "
            "only calls that it certainly covers."
        )
        cancel = Button(self._look, self.tr("Cancel"), name="rule.cancel")
        cancel.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        column.addWidget(label(self._title, fonts.title))
        column.addWidget(label(about, fonts.second, "second", wrap=True))
        column.addLayout(form)
        column.addWidget(self._error)
        column.addStretch(1)
        column.addLayout(button_row(cancel, self._save))
        self.setMinimumWidth(self._look.size(520))
