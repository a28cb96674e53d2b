"""A request for consent as a form: the whole act, its facts, for how long, and three ways to react."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from ui.ask.arming import Arming
from ui.ask.scope import ScopeRow
from ui.ask.wanted import Wanted, facts, lines, title
from ui.ask.whole_text import Line, WholeText
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.scroll import FittingScroll
from ui.widgets.words import ENTER_KEYS, WordsField, hairline, label, surface

NAMES: Final = 84  # the column of the names of facts
GAP: Final = 8


class ConsentForm(QWidget):
    """Allow waits until it was all seen and a moment has passed. Keys: A allows what can be taken back, D denies,

    1 to 4 choose for how long, Esc puts off and never denies.
    """

    allowed = Signal(tuple, str, tuple)
    denied = Signal(tuple, str)
    denied_all = Signal()
    later = Signal(str)
    chosen = Signal()

    def __init__(
        self,
        look: Look,
        wanted: Wanted,
        *,
        head: QWidget,
        like: Sequence[Wanted] = (),
        queued: int = 1,
        dialog: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._look, self._wanted, self._like = look, wanted, tuple(like)
        self._seen = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(title(wanted.request))
        self._build(queued)
        self._lay_out(head, 20 if dialog else 0, dialog)
        self.arming = Arming(self)
        self.arming.armed.connect(lambda _armed: self._look_whether_seen())
        bar = self._scroll.verticalScrollBar()
        bar.valueChanged.connect(self._look_whether_seen)
        bar.rangeChanged.connect(self._look_whether_seen)
        self.scope.changed.connect(self._tell_state)
        self._words.entered.connect(self.deny)
        self._allow.clicked.connect(self.allow)
        self._deny.clicked.connect(self.deny_or_ask_why)
        self._later.clicked.connect(self.put_off)
        self._all.clicked.connect(lambda: self.denied_all.emit())
        self._together.toggled.connect(self._show_together)
        self._show_lines()
        self._tell_state()

    # What is said

    def names(self) -> tuple[str, ...]:
        """The requests that are answered."""
        others = self._like if self._together.isChecked() else ()
        return (self._wanted.id, *(other.id for other in others))

    def can_allow(self) -> bool:
        return self.arming.is_armed and self._seen and self.scope.whole()

    def allow(self) -> None:
        if self.can_allow():
            self.allowed.emit(self.names(), self.scope.scope(), self.scope.patterns())

    def deny_or_ask_why(self) -> None:
        """The first time it opens the place for a reason, where that is read; then it denies with it."""
        if self._field.isVisibleTo(self) or self._wanted.request.options:
            self.deny()
            return
        self._ask_why()
        self._words.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.chosen.emit()

    def deny(self) -> None:
        self.denied.emit(self.names(), self._words.words())

    def put_off(self) -> None:
        self.later.emit(self._wanted.id)

    def draft(self) -> str:
        """The reason typed so far."""
        return self._words.words()

    def fill(self, draft: str) -> None:
        if draft:
            self._words.setPlainText(draft)
            self._ask_why()

    def show_wanted(self, wanted: Wanted) -> None:
        """More is known of the same request: what the file holds now."""
        self._wanted = wanted
        self._show_lines()

    # How it looks

    def fold(self, folded: bool) -> None:
        """Where there is little room only the facts that decide stay; the others come back in the dialog."""
        for name, text in self._facts[2:]:
            urgent = text.property("tone") in ("failed", "waiting")
            name.setVisible(urgent or not folded)
            text.setVisible(urgent or not folded)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._text.restyle(look)
        self.scope.restyle(look)
        for button in (self._later, self._deny, self._allow, self._all, self._together):
            button.restyle(look)
        for name, text in self._facts:
            name.setFont(look.fonts.second)
            text.setFont(look.fonts.second)
        self._rest.setFont(look.fonts.second)
        self._words.set_font(look.fonts.text)

    def _build(self, queued: int) -> None:
        look, wanted = self._look, self._wanted
        self._text = WholeText(look, name="consent.text")
        self._text.setAccessibleName(title(wanted.request))
        self._text.grew.connect(self._follow)
        self._facts: list[tuple[QLabel, QLabel]] = []
        for fact in facts(wanted):
            text = label(fact.text, look.fonts.second, fact.tone, wrap=True, name="consent.fact")
            text.setAccessibleName(f"{fact.name}: {fact.text}")
            self._facts.append((label(fact.name, look.fonts.second, "second"), text))
        self.scope = ScopeRow(look, wanted.request, name_width=look.size(NAMES) - 6)
        self._rest = label("", look.fonts.second, "waiting", name="consent.rest")
        self._words = WordsField(look.fonts.text, lines=3)
        self._words.setObjectName("consent.reason")
        self._words.setPlaceholderText(self.tr("Why not? The agent reads it and goes on without this."))
        self._words.setAccessibleName(self.tr("Reason, which the agent reads"))
        self._later = Button(look, self.tr("Later"), name="consent.later", tone="quiet", hint=self.tr("Esc"))
        self._all = Button(look, self.tr("Deny all and stop"), name="consent.deny_all", tone="quiet")
        self._all.setVisible(queued > 1)
        why = self.tr("Deny") if wanted.request.options else self.tr("Deny with a reason…")
        self._deny = Button(look, why, name="consent.deny", hint=self.tr("D"))
        hint = self.tr("A") if wanted.request.undoable else ""
        self._allow = Button(look, self.tr("Allow"), name="consent.allow", tone="primary", hint=hint)
        together = self.tr("Answer these {} together").format(len(self._like) + 1)
        self._together = Button(look, together, name="consent.together")
        self._together.setCheckable(True)
        self._together.setVisible(bool(self._like))

    def _lay_out(self, head: QWidget, side: int, dialog: bool) -> None:
        content = QWidget()
        inside = _column(content, 0)
        inside.addWidget(head)
        body = QVBoxLayout()
        body.setContentsMargins(side, 12 if dialog else 6, side, 8)
        body.setSpacing(GAP)
        body.addWidget(self._well())
        body.addWidget(self._together, 0, Qt.AlignmentFlag.AlignLeft)
        body.addLayout(self._facts_grid())
        inside.addLayout(body)
        inside.addStretch(1)
        column = _column(self, 0)
        self._scroll = FittingScroll(content)
        column.addWidget(self._scroll)
        below = QVBoxLayout()
        below.setContentsMargins(side, 4, side, 8 if dialog else 6)
        below.setSpacing(GAP)
        below.addWidget(self._rest)
        below.addWidget(self.scope)
        below.addWidget(self._reason())
        column.addLayout(below)
        if dialog:
            column.addStretch(1)
            column.addWidget(hairline())
        column.addLayout(self._foot(side, dialog))

    def _foot(self, side: int, dialog: bool) -> QHBoxLayout:
        foot = QHBoxLayout()
        foot.setContentsMargins(max(0, side - 12), 12 if dialog else 0, side, 12 if dialog else 0)
        foot.setSpacing(GAP)
        foot.addWidget(self._later)
        foot.addWidget(self._all)
        foot.addStretch(1)
        foot.addWidget(self._deny)
        foot.addWidget(self._allow)
        return foot

    def _well(self) -> QWidget:
        well = surface("well")
        inside = QVBoxLayout(well)
        inside.setContentsMargins(10, 7, 10, 7)
        inside.addWidget(self._text)
        return well

    def _facts_grid(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(0)
        grid.setVerticalSpacing(4)
        grid.setColumnMinimumWidth(0, self._look.size(NAMES))
        grid.setColumnStretch(1, 1)
        for row, (name, text) in enumerate(self._facts):
            grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(text, row, 1)
        return grid

    def _reason(self) -> QWidget:
        self._field = surface("well")
        self._field.setObjectName("consent.field")
        inside = QHBoxLayout(self._field)
        inside.setContentsMargins(10, 5, 10, 4)
        inside.addWidget(self._words)
        self._field.hide()
        return self._field

    def _ask_why(self) -> None:
        """Letters are typed from now on, so the keys that are shown are others."""
        self._field.show()
        self._deny.setText(self.tr("Deny"))
        self._deny.setAccessibleName(self._deny.text())
        self._deny.wear_hint(self.tr("Enter"))
        self._allow.wear_hint("")

    # What was seen

    def _show_together(self, _on: bool) -> None:
        self._show_lines()
        count = len(self.names())
        self._allow.setText(self.tr("Allow these {}").format(count) if count > 1 else self.tr("Allow"))
        self._allow.setAccessibleName(self._allow.text())
        self._allow.updateGeometry()
        self.chosen.emit()

    def _show_lines(self) -> None:
        """What is to be allowed has changed, so it has to be seen anew."""
        shown = lines(self._wanted)
        for other in self._like if self._together.isChecked() else ():
            shown += [Line("", ""), *lines(other)]
        self._seen = False
        self._text.show_lines(shown)
        if self.isVisible():
            self.arming.restart()

    def _follow(self) -> None:
        self.chosen.emit()

    def _look_whether_seen(self) -> None:
        bar = self._scroll.verticalScrollBar()
        at_end = bar.value() >= bar.maximum()
        if self.arming.is_armed and at_end and self._scroll.isVisible() and not self._text.show_more():
            self._seen = True
        self._tell_state()

    def _tell_state(self) -> None:
        if option := self.scope.option():
            self._allow.setText(self.tr("Allow") if option.allows else self.tr("Answer no"))
            self._allow.setAccessibleName(f"{self._allow.text()}: {option.name}")
        self._allow.setEnabled(self.can_allow())
        bar = self._scroll.verticalScrollBar()
        below = -(-(bar.maximum() - bar.value()) // max(1, self._text.fontMetrics().lineSpacing()))
        rest = below + self._text.rest()
        waits = not self._seen and rest > 0
        self._rest.setVisible(waits)
        if waits:
            one, many = self.tr("1 more line."), self.tr("{} more lines.").format(f"{rest:,}")
            self._rest.setText(f"{one if rest == 1 else many} {self.tr('Read to the end to allow.')}")

    # Qt

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, focused = event.key(), self.focusWidget()
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if key == Qt.Key.Key_Escape:
            self.put_off()
        elif key in ENTER_KEYS and isinstance(focused, QPushButton) and focused.hasFocus():
            focused.click()
        elif key in ENTER_KEYS and self._field.isVisibleTo(self):
            self.deny()
        elif key == Qt.Key.Key_A and plain and self._wanted.request.undoable and not event.isAutoRepeat():
            self.allow()
        elif key == Qt.Key.Key_D and plain:
            self.deny_or_ask_why()
        elif Qt.Key.Key_1 <= key <= Qt.Key.Key_9 and plain and self.scope.choose_number(key - Qt.Key.Key_0):
            self.chosen.emit()
        elif not self._scrolled_by(Qt.Key(key)):
            super().keyPressEvent(event)

    def _scrolled_by(self, key: Qt.Key) -> bool:
        bar = self._scroll.verticalScrollBar()
        steps = {
            Qt.Key.Key_Down: bar.singleStep(),
            Qt.Key.Key_Up: -bar.singleStep(),
            Qt.Key.Key_PageDown: bar.pageStep(),
            Qt.Key.Key_PageUp: -bar.pageStep(),
            Qt.Key.Key_End: bar.maximum(),
            Qt.Key.Key_Home: -bar.maximum(),
        }
        if key not in steps:
            return False
        bar.setValue(bar.value() + steps[key])
        return True

    def sizeHint(self) -> QSize:
        return QSize(480, super().sizeHint().height())


def _column(widget: QWidget, spacing: int) -> QVBoxLayout:
    made = QVBoxLayout(widget)
    made.setContentsMargins(0, 0, 0, 0)
    made.setSpacing(spacing)
    return made
