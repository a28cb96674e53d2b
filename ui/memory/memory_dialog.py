"""The dialog to add or edit a memory: its kind, its text or fields, and its scope."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from core.domain.clock import now
from core.domain.memory import FIELDS, MEMORY_KINDS, TEXT_LIMIT, Memory, MemoryKind, MemoryScope, sentence
from core.domain.memory_marks import EXPIRES, TAGS, parse_expiry
from core.domain.problems import Problem
from ui.memory.controller import MemoryInput
from ui.memory.texts import field_label, folder_label, kind_description, kind_label, tr
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.dialog_parts import button_row, click_on_ctrl_enter, fit_to_content, grow_to_fit
from ui.widgets.drop_down import DropDown
from ui.widgets.labels import TextField, error_text, label, show_focus_on, styled_frame

KINDS_WITH_FIELDS: Final[tuple[MemoryKind, ...]] = ("heuristic", "anti-pattern")
REQUIRED_FIELDS: Final = {"heuristic": ("when", "do"), "anti-pattern": ("what",)}


class MemoryDialog(QDialog):
    """Opened with `open()`; emits `submitted` with a `MemoryInput`. A memory has fields or one text, by its kind."""

    submitted = Signal(object)

    def __init__(self, look: Look, folders: Sequence[str], memory: Memory | None, parent: QWidget) -> None:
        super().__init__(parent)
        self._look = look
        self._memory = memory
        title = tr("Edit memory") if memory else tr("Add memory")
        self.setObjectName("memory.write")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._kind = self._choice("memory.write.kind", tr("Kind"))
        for kind in MEMORY_KINDS:
            if kind != "outcome" or (memory and memory.content.kind == "outcome"):
                self._kind.addItem(kind_label(kind), kind)
        self._hint = label("", look.fonts.second, "second", wrap=True)
        self._text = TextField(look.fonts.text, max_lines=6, min_lines=3)
        self._text.setObjectName("memory.write.text")
        self._text.setAccessibleName(tr("What to remember"))
        self._well = styled_frame("input")
        show_focus_on(self._well, self._text)
        inner = QVBoxLayout(self._well)
        inner.setContentsMargins(10, 8, 10, 8)
        inner.addWidget(self._text)
        self._fields: dict[str, tuple[QLabel, QLineEdit]] = {}
        self._reach = self._choice("memory.write.reach", tr("Applies to"))
        self._tags = QLineEdit()
        self._expires = QLineEdit()
        self._expires.setPlaceholderText(tr("Never. For example: 2027-01-31 or 30d"))
        self._tags.setPlaceholderText(tr("Words to find it by, with commas between them"))
        self._wrong_expiry = label("", look.fonts.second, "failed", name="memory.write.wrong_expiry", wrap=True)
        self._wrong = label("", look.fonts.second, "failed", name="memory.write.wrong", wrap=True)
        self._yes = Button(look, tr("Save") if memory else tr("Add"), name="memory.write.yes", tone="primary")
        self._lay_out(title)
        self._fill(folders)
        self._kind.currentIndexChanged.connect(lambda _: self._show_kind())
        self._text.textChanged.connect(self._validate)
        self._text.entered.connect(self._submit)
        self._yes.clicked.connect(self._submit)
        click_on_ctrl_enter(self, self._yes)
        self._show_kind()

    def current_input(self) -> MemoryInput:
        kind, (scope, scope_id) = self._chosen(), self._reach.currentData()
        parts = {name: field.text().strip() for name, (_, field) in self._fields.items() if field.text().strip()}
        if kind in KINDS_WITH_FIELDS and self._by_fields():
            return MemoryInput(sentence(kind, parts), kind, cast(MemoryScope, scope), scope_id, parts, *self._marks())
        same = self._memory is not None and self._memory.content.kind == kind
        fields = None if same else dict[str, str]()
        text = self._text.stripped_text()
        return MemoryInput(text, kind, cast(MemoryScope, scope), scope_id, fields, *self._marks())

    def _marks(self) -> tuple[tuple[str, ...], str]:
        return tuple(self._tags.text().split(",")), self._expires.text().strip()

    def show_rejected(self, rejected: MemoryInput, reason: str) -> None:
        """Show input that the engine rejected, and why, so that the user can correct it."""
        self._kind.setCurrentIndex(max(0, self._kind.findData(rejected.kind)))
        scopes = [self._reach.itemData(index) for index in range(self._reach.count())]
        self._reach.setCurrentIndex(scopes.index((rejected.scope, rejected.scope_id)))
        self._text.setPlainText(rejected.text)
        for name, text in (rejected.fields or {}).items():
            self._fields[name][1].setText(text)
        self._tags.setText(", ".join(tag.strip() for tag in rejected.tags))
        self._expires.setText(rejected.expires)
        self._wrong.setText(reason)
        self._wrong.show()
        grow_to_fit(self)

    def _chosen(self) -> MemoryKind:
        return cast(MemoryKind, self._kind.currentData())

    def _by_fields(self) -> bool:
        """Return whether the input has fields. A memory that was saved without fields is edited as one text."""
        kind = self._chosen()
        if kind not in KINDS_WITH_FIELDS:
            return False
        memory = self._memory
        return not (memory and memory.content.kind == kind and not _has_required_fields(kind, memory.content.fields))

    def _show_kind(self) -> None:
        kind, by_fields = self._chosen(), self._by_fields()
        self._hint.setText(kind_description(kind))
        self._well.setVisible(not by_fields)
        for name, (title, field) in self._fields.items():
            visible = by_fields and name in FIELDS[kind]
            title.setVisible(visible)
            field.setVisible(visible)
            if not visible:
                field.clear()
            elif self._memory and self._memory.content.kind == kind and not field.text():
                field.setText(self._memory.content.fields.get(name, ""))
        self._validate()
        first = next((field for _, field in self._fields.values() if not field.isHidden()), None)
        (first if by_fields and first else self._text).setFocus()
        fit_to_content(self)

    def _validate(self) -> None:
        entered = self.current_input()
        too_long = len(entered.text) > TEXT_LIMIT
        error = tr("A memory can have at most {} characters. Create a skill for longer texts.").format(
            f"{TEXT_LIMIT:,}"
        )
        self._wrong.setText(error if too_long else "")
        self._wrong.setVisible(too_long)
        expiry_error = self._expiry_error(entered.expires)
        self._wrong_expiry.setText(expiry_error)
        self._wrong_expiry.setVisible(bool(expiry_error))
        needed = REQUIRED_FIELDS.get(entered.kind, ()) if self._by_fields() else ()
        complete = all((entered.fields or {}).get(name) for name in needed) and bool(entered.text)
        self._yes.setEnabled(complete and not too_long and not expiry_error)

    def _expiry_error(self, entered: str) -> str:
        """Return why the expiry date cannot be saved, or "". The one that the memory already has may be in the past."""
        if self._memory and entered == self._memory.content.fields.get(EXPIRES, ""):
            return ""
        try:
            parse_expiry(entered, now())
        except Problem as problem:
            return error_text(str(problem))
        return ""

    def _submit(self) -> None:
        if self._yes.isEnabled():
            entered = self.current_input()
            self.accept()
            self.submitted.emit(entered)

    def _fill(self, folders: Sequence[str]) -> None:
        memory = self._memory
        self._reach.addItem(tr("Every folder"), ("everywhere", ""))
        for folder in folders:
            self._reach.addItem(tr("Only {}").format(folder_label(folder)), ("folder", folder))
        if memory is None:
            self._kind.setCurrentIndex(max(0, self._kind.findData("preference")))
            return
        content = memory.content
        self._tags.setText(content.fields.get(TAGS, ""))
        self._expires.setText(content.fields.get(EXPIRES, ""))
        scopes = [self._reach.itemData(at) for at in range(self._reach.count())]
        if (content.scope, content.scope_id) not in scopes:
            self._reach.addItem(
                tr("Only {} {}").format(content.scope, content.scope_id), (content.scope, content.scope_id)
            )
            scopes.append((content.scope, content.scope_id))
        self._reach.setCurrentIndex(scopes.index((content.scope, content.scope_id)))
        self._kind.setCurrentIndex(max(0, self._kind.findData(content.kind)))
        self._text.setPlainText(content.text)
        self._text.selectAll()

    def _lay_out(self, title: str) -> None:
        look = self._look
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(title, look.fonts.title))
        first = QHBoxLayout()
        first.addWidget(self._kind)
        first.addWidget(self._hint, 1)
        column.addLayout(first)
        column.addWidget(self._well)
        for name in dict.fromkeys(part for kind in KINDS_WITH_FIELDS for part in FIELDS[kind]):
            title_label, field = label(field_label(name), look.fonts.second, "second"), QLineEdit()
            field.setObjectName(f"memory.write.{name}")
            field.setAccessibleName(field_label(name))
            field.setFont(look.fonts.text)
            field.textChanged.connect(self._validate)
            title_label.setBuddy(field)
            self._fields[name] = title_label, field
            column.addWidget(title_label)
            column.addWidget(field)
        column.addWidget(label(tr("Applies to"), look.fonts.second, "second"))
        column.addWidget(self._reach)
        for name, title, field in (("tags", tr("Tags"), self._tags), ("expires", tr("Expires"), self._expires)):
            field.setObjectName(f"memory.write.{name}")
            field.setAccessibleName(title)
            field.setFont(look.fonts.text)
            column.addWidget(label(title, look.fonts.second, "second"))
            column.addWidget(field)
        self._expires.textChanged.connect(self._validate)
        column.addWidget(self._wrong_expiry)
        column.addWidget(self._wrong)
        cancel = Button(look, tr("Cancel"), name="memory.write.cancel")
        cancel.clicked.connect(self.reject)
        self._yes.setDefault(True)
        column.addLayout(button_row(cancel, self._yes))
        self.setMinimumWidth(look.size(480))

    def _choice(self, name: str, title: str) -> DropDown:
        drop_down = DropDown()
        drop_down.setObjectName(name)
        drop_down.setAccessibleName(title)
        drop_down.setToolTip(title)
        drop_down.setFont(self._look.fonts.text)
        return drop_down


def _has_required_fields(kind: str, parts: Mapping[str, str]) -> bool:
    return all(parts.get(name) for name in REQUIRED_FIELDS.get(kind, ()))
