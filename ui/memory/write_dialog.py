"""Where a person writes a memory, new or again: its kind, its words or fields, and for whom it is."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from core.domain.memory import KINDS, LONGEST, PARTS, Kind, Memory, Reach, sentence
from ui.memory.door import Written
from ui.memory.words import folder_words, kind_told, kind_words, part_words, tr
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.choice import Choice
from ui.widgets.dialog_parts import foot
from ui.widgets.words import WordsField, label, surface

BY_FIELDS: Final[tuple[Kind, ...]] = ("heuristic", "anti-pattern")
NEEDED: Final = {"heuristic": ("when", "do"), "anti-pattern": ("what",)}


class WriteDialog(QDialog):
    """`open()` it; `given` tells what was written. A heuristic has *when* and *do*, the other kinds a sentence."""

    given = Signal(object)

    def __init__(self, look: Look, folders: Sequence[str], memory: Memory | None, parent: QWidget) -> None:
        super().__init__(parent)
        self._look, self._memory = look, memory
        title = tr("Edit a memory") if memory else tr("New memory")
        self.setObjectName("memory.write")
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._kind = self._choice("memory.write.kind", tr("Kind"))
        for kind in KINDS:
            if kind != "outcome" or (memory and memory.said.kind == "outcome"):
                self._kind.addItem(kind_words(kind), kind)
        self._told = label("", look.fonts.second, "second", wrap=True)
        self._text = WordsField(look.fonts.text, lines=6, least=3)
        self._text.setObjectName("memory.write.text")
        self._text.setAccessibleName(tr("What to remember"))
        self._well = surface("input")
        inner = QVBoxLayout(self._well)
        inner.setContentsMargins(10, 8, 10, 8)
        inner.addWidget(self._text)
        self._fields: dict[str, tuple[QLabel, QLineEdit]] = {}
        self._reach = self._choice("memory.write.reach", tr("For"))
        self._wrong = label("", look.fonts.second, "failed", name="memory.write.wrong", wrap=True)
        self._yes = Button(look, tr("Save") if memory else tr("Add"), name="memory.write.yes", tone="primary")
        self._lay_out(title)
        self._fill(folders)
        self._kind.currentIndexChanged.connect(lambda _: self._show_kind())
        self._text.textChanged.connect(self._weigh)
        self._text.entered.connect(self._give)
        self._yes.clicked.connect(self._give)
        self._show_kind()

    def written(self) -> Written:
        kind, (reach, place) = self._chosen(), self._reach.currentData()
        parts = {name: field.text().strip() for name, (_, field) in self._fields.items() if field.text().strip()}
        if kind in BY_FIELDS and self._by_fields():
            return Written(sentence(kind, parts), kind, cast(Reach, reach), place, parts)
        same = self._memory is not None and self._memory.said.kind == kind
        return Written(self._text.words(), kind, cast(Reach, reach), place, None if same else {})

    def write_again(self, written: Written, why: str) -> None:
        """What was refused, as it was written: it can be mended, and is not lost."""
        self._kind.setCurrentIndex(max(0, self._kind.findData(written.kind)))
        at = [self._reach.itemData(at) for at in range(self._reach.count())].index((written.reach, written.place))
        self._reach.setCurrentIndex(at)
        self._text.setPlainText(written.text)
        for name, said in (written.parts or {}).items():
            self._fields[name][1].setText(said)
        self._wrong.setText(why)
        self._wrong.show()

    def _chosen(self) -> Kind:
        return cast(Kind, self._kind.currentData())

    def _by_fields(self) -> bool:
        """A sentence that has no fields is edited as a sentence."""
        kind = self._chosen()
        if kind not in BY_FIELDS:
            return False
        memory = self._memory
        return not (memory and memory.said.kind == kind and not _all_there(kind, memory.said.parts))

    def _show_kind(self) -> None:
        kind, by_fields = self._chosen(), self._by_fields()
        self._told.setText(kind_told(kind))
        self._well.setVisible(not by_fields)
        for name, (words, field) in self._fields.items():
            shown = by_fields and name in PARTS[kind]
            words.setVisible(shown)
            field.setVisible(shown)
            if not shown:
                field.clear()
            elif self._memory and self._memory.said.kind == kind and not field.text():
                field.setText(self._memory.said.parts.get(name, ""))
        self._weigh()
        first = next((field for _, field in self._fields.values() if not field.isHidden()), None)
        (first if by_fields and first else self._text).setFocus()
        self.adjustSize()

    def _weigh(self) -> None:
        written = self.written()
        long = len(written.text) > LONGEST
        words = tr("A memory has {} characters at the most. Write a skill for more.").format(f"{LONGEST:,}")
        self._wrong.setText(words if long else "")
        self._wrong.setVisible(long)
        needed = NEEDED.get(written.kind, ()) if self._by_fields() else ()
        there = all((written.parts or {}).get(name) for name in needed) and bool(written.text)
        self._yes.setEnabled(there and not long)

    def _give(self) -> None:
        if self._yes.isEnabled():
            written = self.written()
            self.accept()
            self.given.emit(written)

    def _fill(self, folders: Sequence[str]) -> None:
        memory = self._memory
        self._reach.addItem(tr("Every folder"), ("everywhere", ""))
        for folder in folders:
            self._reach.addItem(tr("Only {}").format(folder_words(folder)), ("folder", folder))
        if memory is None:
            self._kind.setCurrentIndex(max(0, self._kind.findData("preference")))
            return
        said = memory.said
        here = [self._reach.itemData(at) for at in range(self._reach.count())]
        if (said.reach, said.place) not in here:
            self._reach.addItem(tr("Only {} {}").format(said.reach, said.place), (said.reach, said.place))
            here.append((said.reach, said.place))
        self._reach.setCurrentIndex(here.index((said.reach, said.place)))
        self._kind.setCurrentIndex(max(0, self._kind.findData(said.kind)))
        self._text.setPlainText(said.text)
        self._text.selectAll()

    def _lay_out(self, title: str) -> None:
        look = self._look
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(8)
        column.addWidget(label(title, look.fonts.bold))
        first = QHBoxLayout()
        first.addWidget(self._kind)
        first.addWidget(self._told, 1)
        column.addLayout(first)
        column.addWidget(self._well)
        for name in dict.fromkeys(part for kind in BY_FIELDS for part in PARTS[kind]):
            words, field = label(part_words(name), look.fonts.second, "second"), QLineEdit()
            field.setObjectName(f"memory.write.{name}")
            field.setAccessibleName(part_words(name))
            field.setFont(look.fonts.text)
            field.textChanged.connect(self._weigh)
            words.setBuddy(field)
            self._fields[name] = words, field
            column.addWidget(words)
            column.addWidget(field)
        column.addWidget(label(tr("For"), look.fonts.second, "second"))
        column.addWidget(self._reach)
        column.addWidget(self._wrong)
        cancel = Button(look, tr("Cancel"), name="memory.write.cancel")
        cancel.clicked.connect(self.reject)
        self._yes.setDefault(True)
        column.addLayout(foot(cancel, self._yes))
        self.setMinimumWidth(look.size(480))

    def _choice(self, name: str, said: str) -> Choice:
        made = Choice()
        made.setObjectName(name)
        made.setAccessibleName(said)
        made.setToolTip(said)
        made.setFont(self._look.fonts.text)
        return made


def _all_there(kind: str, parts: Mapping[str, str]) -> bool:
    return all(parts.get(name) for name in NEEDED.get(kind, ()))
