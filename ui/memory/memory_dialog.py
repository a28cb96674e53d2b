"""The dialog to add or edit a memory: its kind, its text or fields, and its scope."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from core.domain.clock import now
from core.domain.memory import FIELDS, MEMORY_KINDS, TEXT_LIMIT, Memory, MemoryKind, MemoryScope, sentence
from core.domain.memory_marks import EXPIRES, TAGS, parse_expiry
from core.domain.problems import Problem
from ui.memory.controller import MemoryInput
from ui.memory.texts import field_label, folder_label, kind_description, kind_label, tr
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, fit_to_content, grow_to_fit, show_input_error
from ui.widgets.drop_down import DropDown
from ui.widgets.input_dialog import InputDialog
from ui.widgets.labels import TextField, error_text, label, show_focus_on, styled_frame

KINDS_WITH_FIELDS: Final[tuple[MemoryKind, ...]] = ("heuristic", "anti-pattern")
REQUIRED_FIELDS: Final = {"heuristic": ("when", "do"), "anti-pattern": ("what",)}


class _Scope(NamedTuple):
    """Where a memory applies, such as in one folder."""

    kind: MemoryScope
    id: str


class _FieldRow(NamedTuple):
    """A field of a memory, such as `when` of a heuristic, with its label."""

    title: QLabel
    edit: QLineEdit


class MemoryDialog(InputDialog):
    """Lets the user add or edit a memory, and emits `submitted` with a `MemoryInput`.

    The kind of a memory determines whether it has fields or a single text.
    """

    submitted = Signal(object)

    def __init__(self, look: Look, folders: Sequence[str], memory: Memory | None, parent: QWidget) -> None:
        super().__init__(look, parent)
        self._memory = memory
        self.setObjectName("memory.write")
        self.setWindowTitle(tr("Edit memory") if memory else tr("Add memory"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._kind = self._create_drop_down("memory.write.kind", tr("Kind"))
        self._kind_hint = label("", look.fonts.second, "second", wrap=True)
        self._text = TextField(look.fonts.text, max_lines=6, min_lines=3)
        self._text.setObjectName("memory.write.text")
        self._text.setAccessibleName(tr("What to remember"))
        self._text_frame = styled_frame("input")
        show_focus_on(self._text_frame, self._text)
        names = dict.fromkeys(name for kind in KINDS_WITH_FIELDS for name in FIELDS[kind])
        self._fields = {name: self._create_field(name, field_label(name)) for name in names}
        self._scope = self._create_drop_down("memory.write.reach", tr("Applies to"))
        self._tags = self._create_field("tags", tr("Tags"))
        self._tags.edit.setPlaceholderText(tr("Words to find it by, with commas between them"))
        self._expires = self._create_field("expires", tr("Expires"))
        self._expires.edit.setPlaceholderText(tr("Never. For example: 2027-01-31 or 30d"))
        self._expiry_error = label("", look.fonts.second, "failed", name="memory.write.wrong_expiry", wrap=True)
        self._error = label("", look.fonts.second, "failed", name="memory.write.wrong", wrap=True)
        self._save_button = Button(look, tr("Save") if memory else tr("Add"), name="memory.write.yes", tone="primary")
        self._save_button.setDefault(True)
        self._lay_out()
        self._fill(folders)
        self._connect()
        self._show_kind()

    def _create_drop_down(self, name: str, title: str) -> DropDown:
        drop_down = DropDown(name=name, title=title, font=self._look.fonts.text)
        drop_down.setToolTip(title)
        return drop_down

    def _create_field(self, name: str, title: str) -> _FieldRow:
        row = _FieldRow(label(title, self._look.fonts.second, "second"), QLineEdit())
        row.edit.setObjectName(f"memory.write.{name}")
        row.edit.setAccessibleName(title)
        row.edit.setFont(self._look.fonts.text)
        row.title.setBuddy(row.edit)
        return row

    def _lay_out(self) -> None:
        look = self._look
        text_column = QVBoxLayout(self._text_frame)
        text_column.setContentsMargins(10, 8, 10, 8)
        text_column.addWidget(self._text)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(self.windowTitle(), look.fonts.title))
        kind_row = QHBoxLayout()
        kind_row.addWidget(self._kind)
        kind_row.addWidget(self._kind_hint, 1)
        column.addLayout(kind_row)
        column.addWidget(self._text_frame)
        for row in self._fields.values():
            column.addWidget(row.title)
            column.addWidget(row.edit)
        column.addWidget(label(tr("Applies to"), look.fonts.second, "second"))
        column.addWidget(self._scope)
        for row in (self._tags, self._expires):
            column.addWidget(row.title)
            column.addWidget(row.edit)
        column.addWidget(self._expiry_error)
        column.addWidget(self._error)
        cancel = Button(look, tr("Cancel"), name="memory.write.cancel")
        cancel.clicked.connect(self.reject)
        column.addLayout(button_row(cancel, self._save_button))
        self.setMinimumWidth(look.size(480))

    def _fill(self, folders: Sequence[str]) -> None:
        """Fill in the lists of kinds and scopes, and the memory that is to be edited."""
        content = self._memory.content if self._memory else None
        for kind in MEMORY_KINDS:
            if kind != "outcome" or (content and content.kind == "outcome"):
                self._kind.addItem(kind_label(kind), kind)
        self._scope.addItem(tr("Every folder"), _Scope("everywhere", ""))
        for folder in folders:
            self._scope.addItem(tr("Only {}").format(folder_label(folder)), _Scope("folder", folder))
        if content is None:
            self._kind.setCurrentIndex(max(0, self._kind.findData("preference")))
            return
        scope = _Scope(content.scope, content.scope_id)
        if scope not in self._scopes():
            self._scope.addItem(tr("Only {} {}").format(scope.kind, scope.id), scope)
        self._scope.setCurrentIndex(self._scopes().index(scope))
        self._kind.setCurrentIndex(max(0, self._kind.findData(content.kind)))
        self._text.setPlainText(content.text)
        self._text.selectAll()
        self._tags.edit.setText(content.fields.get(TAGS, ""))
        self._expires.edit.setText(content.fields.get(EXPIRES, ""))

    def _scopes(self) -> list[_Scope]:
        """Return the scopes that can be chosen."""
        return [self._scope.itemData(index) for index in range(self._scope.count())]

    def _connect(self) -> None:
        self._kind.currentIndexChanged.connect(lambda _: self._show_kind())
        self._text.textChanged.connect(self._validate)
        for row in (*self._fields.values(), self._expires):
            row.edit.textChanged.connect(self._validate)
        self._text.entered.connect(self._submit)
        self._save_button.clicked.connect(self._submit)
        click_on_ctrl_enter(self, self._save_button)

    def _show_kind(self) -> None:
        """Show the fields for the chosen kind of memory; a kind without fields has a single text."""
        kind, has_fields = self._chosen_kind(), self._has_fields()
        self._kind_hint.setText(kind_description(kind))
        self._text_frame.setVisible(not has_fields)
        for name, row in self._fields.items():
            is_shown = has_fields and name in FIELDS[kind]
            row.title.setVisible(is_shown)
            row.edit.setVisible(is_shown)
            if not is_shown:
                row.edit.clear()
            elif self._memory and self._memory.content.kind == kind and not row.edit.text():
                row.edit.setText(self._memory.content.fields.get(name, ""))
        self._validate()
        shown_edits = (row.edit for row in self._fields.values() if not row.edit.isHidden())
        next(shown_edits, self._text).setFocus()
        fit_to_content(self)

    def _chosen_kind(self) -> MemoryKind:
        return cast(MemoryKind, self._kind.currentData())

    def _has_fields(self) -> bool:
        """Return whether the input consists of fields.

        A memory that was saved without fields is edited as a single text.
        """
        kind = self._chosen_kind()
        if kind not in KINDS_WITH_FIELDS:
            return False
        if self._memory is None or self._memory.content.kind != kind:
            return True
        return _has_required_fields(kind, self._memory.content.fields)

    def current_input(self) -> MemoryInput:
        kind = self._chosen_kind()
        scope: _Scope = self._scope.currentData()
        keeps_kind = self._memory is not None and self._memory.content.kind == kind
        text = self._text.stripped_text()
        fields: dict[str, str] | None = None if keeps_kind else {}
        if self._has_fields():
            entered = {name: row.edit.text().strip() for name, row in self._fields.items()}
            fields = {name: value for name, value in entered.items() if value}
            text = sentence(kind, fields)
        return MemoryInput(
            text=text,
            kind=kind,
            scope=scope.kind,
            scope_id=scope.id,
            fields=fields,
            tags=tuple(self._tags.edit.text().split(",")),
            expires=self._expires.edit.text().strip(),
        )

    def _validate(self) -> None:
        entered = self.current_input()
        is_too_long = len(entered.text) > TEXT_LIMIT
        length_error = tr("A memory can have at most {} characters. Create a skill for longer texts.")
        expiry_error = self._check_expiry(entered.expires)
        show_input_error(self._error, length_error.format(f"{TEXT_LIMIT:,}") if is_too_long else "")
        show_input_error(self._expiry_error, expiry_error)
        is_complete = bool(entered.text)
        if self._has_fields():
            is_complete = is_complete and _has_required_fields(entered.kind, entered.fields or {})
        self._save_button.setEnabled(is_complete and not is_too_long and not expiry_error)

    def _check_expiry(self, entered: str) -> str:
        """Return why the expiry date cannot be saved; "" if it can.

        The unchanged date of an existing memory is always accepted, even if it is in the past.
        """
        if self._memory and entered == self._memory.content.fields.get(EXPIRES, ""):
            return ""
        try:
            parse_expiry(entered, now())
        except Problem as problem:
            return error_text(str(problem))
        return ""

    def _submit(self) -> None:
        if self._save_button.isEnabled():
            entered = self.current_input()
            self.accept()
            self.submitted.emit(entered)

    def show_rejected(self, rejected: MemoryInput, reason: str) -> None:
        """Show an input that the engine refused and the reason, so that the user can correct it."""
        self._kind.setCurrentIndex(max(0, self._kind.findData(rejected.kind)))
        self._scope.setCurrentIndex(self._scopes().index(_Scope(rejected.scope, rejected.scope_id)))
        self._text.setPlainText(rejected.text)
        for name, text in (rejected.fields or {}).items():
            self._fields[name].edit.setText(text)
        self._tags.edit.setText(", ".join(tag.strip() for tag in rejected.tags))
        self._expires.edit.setText(rejected.expires)
        self._error.setText(reason)
        self._error.show()
        grow_to_fit(self)


def _has_required_fields(kind: str, parts: Mapping[str, str]) -> bool:
    return all(parts.get(name) for name in REQUIRED_FIELDS.get(kind, ()))
