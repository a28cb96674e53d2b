"""The Permission rules page: the saved rules, buttons to change them, and a field that tests a command."""

from collections.abc import Sequence
from enum import StrEnum

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from core.domain.rules import PermissionRule, by_precedence
from ui.settings.rules_and_data_pages import rule_lines
from ui.settings.undo_row import UndoRow
from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.announce import announce
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label, styled_frame
from ui.widgets.replaceable_content import ReplaceableContent
from ui.widgets.toned_text import TonedText


class PermissionRuleAction(StrEnum):
    """Actions on permission rules. A signal carries an action as text, and the ID of the rule that it concerns."""

    ADD = "add"
    IMPORT = "import"  # from the permission lists of other agents
    EDIT = "edit"
    REVOKE = "revoke"
    RESTORE = "restore"  # undo the revocation of a rule
    TEST_COMMAND = "test_command"  # the signal carries the command


class PermissionRulesPage(QWidget):
    """The saved permission rules, and a field that tests a command."""

    action_requested = Signal(str, str)  # a `PermissionRuleAction`, and the rule or command

    def __init__(self, look: Look) -> None:
        super().__init__()
        self._look = look
        self.setObjectName("settings.rules")
        self._rows = ReplaceableContent()
        self._restored = ""  # the rule that is being restored, and gets the focus when it is shown again
        add = self._add = Button(look, _tr("Add rule…"), name="settings.rules.add")
        add.clicked.connect(lambda: self.action_requested.emit(PermissionRuleAction.ADD, ""))
        importing = Button(look, _tr("Import…"), name="settings.rules.import")
        importing.setAccessibleName(_tr("Import rules from the permission lists of other agents"))
        importing.clicked.connect(lambda: self.action_requested.emit(PermissionRuleAction.IMPORT, ""))
        self._undo = UndoRow(look, "settings.rules", "revoked")
        self._undo.undo_requested.connect(self._emit_undo)
        self._command = QLineEdit()
        self._command.setObjectName("settings.rules.command")
        self._command.setAccessibleName(_tr("Command to test"))
        self._command.setPlaceholderText("git push")
        self._command.setFont(look.fonts.mono)
        self._test = Button(look, _tr("Test command"), name="settings.rules.test")
        self._test.clicked.connect(self._emit_test)
        self._command.returnPressed.connect(self._emit_test)
        self._command.textChanged.connect(self._clear_result)
        self._result = label("", look.fonts.text, "second", name="settings.rules.result", wrap=True)
        self._lay_out(importing, add)
        self._clear_result()

    def show_rules(self, rules: Sequence[PermissionRule] | None, error: str = "") -> None:
        """Show the rules in order of precedence. If they could not be read (`rules` is None), show the error."""
        focused: QWidget | None = self.window().focusWidget()
        had_focus = focused is not None and self._rows.isAncestorOf(focused)
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        if rules is None:
            column.addWidget(label(error, self._look.fonts.text, "failed", name="settings.rules.trouble", wrap=True))
        elif not rules:
            text = _tr(
                "No saved rules yet. Add one here, or choose “Always in this folder” or “Always everywhere” when you "
                "allow a permission request."
            )
            column.addWidget(label(text, self._look.fonts.text, "second", name="settings.rules.none", wrap=True))
        for rule in by_precedence(rules or ()):
            column.addWidget(self._row(rule))
        self._rows.replace_content(content)
        restored = content.findChild(QWidget, f"settings.{PermissionRuleAction.REVOKE}.{self._restored}")
        if restored is not None:
            restored.setFocus(Qt.FocusReason.OtherFocusReason)
            self._undo.withdraw(self._restored)
            self.end_restoring()
        elif had_focus and not rules:
            self._add.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_revoked(self, rule: str, description: str) -> None:
        """Show that a rule was revoked, and offer to undo that."""
        self._undo.offer(rule, _tr("Revoked: {}").format(description))
        if self._add.hasFocus():  # no rule is left that could have the focus
            self._undo.setFocus(Qt.FocusReason.OtherFocusReason)

    def end_restoring(self) -> None:
        """Enable Undo again. If the rule was not restored, that is still offered."""
        self._restored = ""
        self._undo.setEnabled(True)
        if self.window().focusWidget() is self._add and not self._undo.isHidden():
            self._undo.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_result(self, result: TonedText) -> None:
        """Show whether the tested command would be allowed."""
        self._result.setText(allow_breaks(visible(result.text)))
        set_style_properties(self._result, tone=result.tone)
        self._result.show()
        announce(self, result.text)

    def _row(self, rule: PermissionRule) -> QWidget:
        look = self._look
        frame = styled_frame("well")
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 8, 8, 8)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        lines = rule_lines(rule)
        texts.addWidget(label(lines.rule, look.fonts.mono, name=f"settings.rule.{rule.id}", wrap=True))
        texts.addWidget(label(lines.scope.text, look.fonts.second, lines.scope.tone, wrap=True))
        row.addLayout(texts, 1)
        edit = self._button(rule, PermissionRuleAction.EDIT, _tr("Edit…"))
        edit.setAccessibleName(_tr("Edit the rule {}").format(lines.rule))
        revoke = self._button(rule, PermissionRuleAction.REVOKE, _tr("Revoke rule"))
        revoke.setAccessibleName(_tr("Revoke the rule {}").format(lines.rule))
        row.addWidget(edit, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(revoke, 0, Qt.AlignmentFlag.AlignTop)
        return frame

    def _button(self, rule: PermissionRule, action: PermissionRuleAction, text: str) -> Button:
        button = Button(self._look, text, name=f"settings.{action}.{rule.id}")
        button.clicked.connect(lambda: self.action_requested.emit(action, rule.id))
        return button

    def _emit_undo(self, rule: str) -> None:
        self._restored = rule
        self._add.setFocus(Qt.FocusReason.OtherFocusReason)  # until the rule is shown again
        self._undo.setEnabled(False)
        self.action_requested.emit(PermissionRuleAction.RESTORE, rule)

    def _emit_test(self) -> None:
        if self._test.isEnabled():
            self.action_requested.emit(PermissionRuleAction.TEST_COMMAND, self._command.text().strip())

    def _clear_result(self) -> None:
        self._result.hide()
        self._test.setEnabled(bool(self._command.text().strip()))

    def _lay_out(self, importing: Button, add: Button) -> None:
        look = self._look
        about = _tr(
            "A rule that denies wins over rules that ask, and a rule that asks over rules that allow, whichever is "
            "older. No rule allows access to secrets, and what cannot be undone always needs your approval."
        )
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch(1)
        buttons.addWidget(importing)
        buttons.addWidget(add)
        test = QHBoxLayout()
        test.setSpacing(8)
        test.addWidget(self._command, 1)
        test.addWidget(self._test)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(label(about, look.fonts.second, "second", wrap=True))
        column.addLayout(buttons)
        column.addWidget(self._undo)
        column.addWidget(self._rows)
        column.addSpacing(8)
        column.addWidget(label(_tr("What would happen to this command?"), look.fonts.bold, wrap=True))
        column.addLayout(test)
        column.addWidget(self._result)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
