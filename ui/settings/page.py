"""One page of the settings: fields, each with its words beside it, and below them what is no field."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.settings.schema import About, Settings
from ui.settings.fields import control
from ui.theme import Look
from ui.widgets.renewed import Renewed
from ui.widgets.words import label


class Part(NamedTuple):
    """What is no field: the words that find it, and how it is built. `wish` is made when one turns to its page."""

    words: str
    build: Callable[[], QWidget]
    wish: Callable[[], None] = lambda: None


class Contents(NamedTuple):
    """Of a page, known before it is built."""

    title: str
    fields: list[tuple[str, About]]
    part: Part | None = None

    def is_found_by(self, typed: Sequence[str]) -> bool:
        rows = [_words(name, about) for name, about in self.fields]
        return any(all(word in words for word in typed) for words in [*rows, self.words_of_part()])

    def words_of_part(self) -> str:
        return f"{self.title} {self.part.words if self.part else ''}".casefold()


def _words(name: str, about: About) -> str:
    return f"{about.page} {about.label} {about.help} {name}".casefold()


class SettingsPage(QWidget):
    changed = Signal(str, object)

    def __init__(self, look: Look, contents: Contents, settings: Settings) -> None:
        super().__init__()
        self._look, self._contents = look, contents
        self._rows: list[tuple[str, QWidget]] = []
        self._fields, self._part = Renewed(), Renewed()
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 4, 20, 16)
        column.setSpacing(12)
        column.addWidget(label(self.tr(contents.title), look.fonts.title))
        column.addWidget(self._fields)
        column.addWidget(self._part)
        column.addStretch(1)
        self.show_fields(settings)
        self.renew()

    def show_fields(self, settings: Settings) -> None:
        """What these settings hold."""
        self._rows.clear()
        made = QWidget()
        column = QVBoxLayout(made)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        for name, about in self._contents.fields:
            row = self._row(name, about, getattr(settings, name))
            column.addWidget(row)
            self._rows.append((_words(name, about), row))
        self._fields.show_instead(made)

    def renew(self) -> None:
        """What is no field, with what is known now."""
        if self._contents.part:
            self._part.show_instead(self._contents.part.build())

    def narrow(self, typed: Sequence[str]) -> None:
        """Leave what holds every word."""
        for words, row in self._rows:
            row.setVisible(all(word in words for word in typed))
        words = self._contents.words_of_part()
        self._part.setVisible(self._contents.part is not None and all(word in words for word in typed))
        self._fields.setVisible(any(not row.isHidden() for _, row in self._rows))

    def _row(self, name: str, about: About, value: object) -> QWidget:
        made, fonts = QWidget(), self._look.fonts
        row = QHBoxLayout(made)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(16)
        words = QVBoxLayout()
        words.setSpacing(1)
        words.addWidget(label(self.tr(about.label), fonts.strong, wrap=True))
        words.addWidget(label(self.tr(about.help), fonts.second, "second", wrap=True))
        words.addStretch(1)
        field = control(self._look, name, about, value, lambda new: self.changed.emit(name, new))
        field.setMinimumWidth(self._look.size(200))
        row.addLayout(words, 1)
        row.addWidget(field, 1 if name == "tiers" else 0, Qt.AlignmentFlag.AlignTop)
        return made
