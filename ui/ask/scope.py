"""For how long a yes is meant, and for what: chips of which one is chosen, and a pattern for each part."""

from collections.abc import Callable
from typing import Final

from PySide6.QtCore import QRect, QSize, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QLayout, QLayoutItem, QSizePolicy, QVBoxLayout, QWidget

from core.domain.consent import ConsentOption, ConsentRequest, scopes
from ui.ask.wanted import scope_words
from ui.ask.whole_text import one_line
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.tip import tip
from ui.widgets.words import label

GAP: Final = 6
OPTION: Final = "option"  # in the place of a scope, where an agent of others says for how long
LONGEST: Final = 48


class ScopeRow(QWidget):
    """Once is chosen at first: it is the least. Where nothing can be remembered there is nothing to choose."""

    changed = Signal()

    def __init__(self, look: Look, request: ConsentRequest, *, name_width: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._request = request
        self._options = {option.id: option for option in request.options}
        said = {one.id: one_line(one.name) for one in request.options}
        said = said or {one: scope_words(one) for one in scopes(request)}
        kind = "option" if self._options else "scope"
        self._chips = {word: self._chip(look, text, f"consent.{kind}.{word}") for word, text in said.items()}
        self._patterns = {
            pattern: self._chip(look, _short(pattern), f"consent.pattern.{number}")
            for number, pattern in enumerate(request.patterns, 1)
        }
        self._labels: list[QLabel] = []
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        answer = self.tr("Answer") if self._options else self.tr("Allow for")
        column.addWidget(self._row(look, answer, list(self._chips.values()), name_width))
        self._remember = self._row(look, self.tr("Remember"), list(self._patterns.values()), name_width)
        column.addWidget(self._remember)
        for scope, chip in self._chips.items():
            chip.clicked.connect(self._chooser(scope))
        for pattern, chip in self._patterns.items():
            chip.setChecked(True)
            chip.setToolTip(tip(one_line(pattern)))
            chip.setAccessibleName(self.tr("Remember {}").format(one_line(pattern)))
            chip.toggled.connect(lambda _on: self.changed.emit())
        self.setVisible(len(self._chips) > 1 or bool(self._options))
        usual = [one.id for one in request.options if one.allows and not one.lasts] or [*self._options, "once"]
        self.choose(usual[0])

    def option(self) -> ConsentOption | None:
        """The word that was chosen of those that an agent of others offers; None where it offers none."""
        return self._options.get(self._chosen())

    def scope(self) -> str:
        return OPTION if self._options else self._chosen()

    def _chosen(self) -> str:
        return next((word for word, chip in self._chips.items() if chip.isChecked()), "once")

    def patterns(self) -> tuple[str, ...]:
        """What is to be remembered, nothing of what is allowed once; of words of an agent the one that was chosen."""
        if self._options:
            return (self._chosen(),)
        if self.scope() == "once":
            return ()
        return tuple(pattern for pattern, chip in self._patterns.items() if chip.isChecked())

    def whole(self) -> bool:
        """A yes for longer than once must be for something."""
        return self.scope() == "once" or bool(self.patterns())

    def choose(self, word: str) -> None:
        for other, chip in self._chips.items():
            chip.setChecked(other == word)
        self._remember.setVisible(word != "once" and not self._options)
        self.changed.emit()

    def choose_number(self, number: int) -> bool:
        words = list(self._chips)
        if not 1 <= number <= len(words) or len(words) == 1:
            return False
        self.choose(words[number - 1])
        return True

    def restyle(self, look: Look) -> None:
        for chip in (*self._chips.values(), *self._patterns.values()):
            chip.restyle(look)
        for name in self._labels:
            name.setFont(look.fonts.second)

    def _chip(self, look: Look, text: str, name: str) -> Button:
        made = Button(look, text, name=name)
        made.setCheckable(True)
        return made

    def _chooser(self, word: str) -> Callable[[], None]:
        return lambda: self.choose(word)

    def _row(self, look: Look, name: str, chips: list[Button], name_width: int) -> QWidget:
        part = QWidget()
        row = QHBoxLayout(part)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP)
        title = label(name, look.fonts.second, "second")
        title.setMinimumWidth(name_width)
        self._labels.append(title)
        row.addWidget(title, 0, Qt.AlignmentFlag.AlignVCenter)
        flow = QWidget()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        flow.setSizePolicy(policy)
        lines = Flow(flow)
        for chip in chips:
            lines.addWidget(chip)
        row.addWidget(flow, 1)
        return part


class Flow(QLayout):
    """Puts its parts beside each other, and on further lines where there is no more room."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        self.setContentsMargins(0, 0, 0, 0)

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._place(QRect(0, 0, width, 0), move=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._place(rect, move=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        sizes = [item.minimumSize() for item in self._items]
        return QSize(min(160, max((s.width() for s in sizes), default=0)), max((s.height() for s in sizes), default=0))

    def _place(self, rect: QRect, *, move: bool) -> int:
        left, top, high = rect.left(), rect.top(), 0
        for item in self._items:
            hint = item.sizeHint()
            if left > rect.left() and left + hint.width() > rect.right() + 1:
                left, top, high = rect.left(), top + high + GAP, 0
            if move:
                item.setGeometry(QRect(left, top, min(hint.width(), rect.width()), hint.height()))
            left += hint.width() + GAP
            high = max(high, hint.height())
        return top + high - rect.top()


def _short(pattern: str) -> str:
    shown = one_line(pattern)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"
