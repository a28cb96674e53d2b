"""Everything about one memory: what it says, for whom, where from, how strong, where it was used, its versions."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core.domain.memory import Memory
from ui.memory.link import LinkLine
from ui.memory.plot import StrengthPlot
from ui.memory.versions import Versions
from ui.memory.words import KIND_INKS, TitleOf, author_words, helped_words, kind_words, part_words, reach_words, tr
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.times import moment
from ui.widgets.words import hairline, label, surface

if TYPE_CHECKING:
    from core.engine.memory import Share, Shown

USES: Final = 12  # runs that are listed
SIDE: Final = 16
WENT: Final = {
    "good": ("circle-check", "done", "went well"),
    "bad": ("circle-x", "failed", "did not help"),
}


class MemoryCard(QWidget):
    """`wanted` names a deed, `go_to` a session and a line of its journal, `other` another memory."""

    wanted = Signal(str)
    go_to = Signal(str, int)
    other = Signal(str)
    taken_back = Signal(int)

    def __init__(self, look: Look, title_of: TitleOf) -> None:
        super().__init__()
        self._look, self._title_of = look, title_of
        self._shown: Shown | None = None
        self.setObjectName("memory.card")
        self._kind = label("", look.fonts.bold, name="memory.card.kind")
        self.versions = Versions(look, self)
        self.versions.taken_back.connect(self.taken_back)
        self._plot = StrengthPlot(look, self)
        self._scroll = QScrollArea()
        self._scroll.setObjectName("memory.card.scroll")
        self._scroll.setAccessibleName(self.tr("Memory"))
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._deeds: dict[str, Button] = {}
        head = QHBoxLayout()
        head.setContentsMargins(SIDE, 11, 10, 11)
        head.setSpacing(2)
        head.addWidget(self._kind, 1)
        for name, icon, said in self._icons():
            button = Button(look, "", name=f"memory.card.{name}", icon=icon, tone="quiet")
            button.setAccessibleName(said)
            button.setToolTip(said)
            button.clicked.connect(partial(self.do, name))
            self._deeds[name] = button
            head.addWidget(button)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(head)
        whole.addWidget(hairline())
        whole.addWidget(self._scroll, 1)

    @property
    def shown(self) -> "Shown | None":
        return self._shown

    @property
    def memory(self) -> Memory | None:
        return self._shown.listed.memory if self._shown else None

    def do(self, deed: str) -> None:
        """A button, or a key that does the same; nothing where it is not offered."""
        if self.memory and not self._deeds[deed].isHidden():
            self.wanted.emit("unpin" if deed == "pin" and self.memory.pinned else deed)

    def focus_first(self) -> None:
        """The keyboard comes here."""
        first = next((button for button in self._deeds.values() if not button.isHidden()), None)
        if first:
            first.setFocus(Qt.FocusReason.TabFocusReason)

    def show_memory(self, shown: "Shown") -> None:
        self._shown = shown
        memory = shown.listed.memory
        active = memory.standing == "active"
        self._kind.setText(kind_words(memory.said.kind).capitalize())
        for name, button in self._deeds.items():
            button.setVisible((name not in ("restore", "erase")) if active else name in ("restore", "forget", "erase"))
        self._deeds["forget"].setVisible(memory.standing != "forgotten")
        self._deeds["erase"].setVisible(memory.standing == "forgotten")
        said = tr("Unpin (P)") if memory.pinned else tr("Pin: always told, never fades (P)")
        self._deeds["pin"].setToolTip(said)
        self._deeds["pin"].setAccessibleName(said)
        self._fill(shown)

    def restyle(self, look: Look) -> None:
        self._look = look
        self._kind.setFont(look.fonts.bold)
        for button in self._deeds.values():
            button.restyle(look)
        self._plot.restyle(look)
        self.versions.restyle(look)
        if self._shown:
            self._fill(self._shown)

    # What is shown

    def _fill(self, shown: "Shown") -> None:
        """Anew: what is said of a memory differs from one to the next."""
        memory, fonts = shown.listed.memory, self._look.fonts
        inside = surface("panel")
        column = QVBoxLayout(inside)
        column.setContentsMargins(SIDE, 14, SIDE, SIDE)
        column.setSpacing(10)
        text = label(visible(memory.said.text), fonts.title, name="memory.card.text", wrap=True)
        text.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        column.addWidget(text)
        column.addWidget(hairline())
        column.addLayout(self._facts(shown))
        self._add_others(column, shown.links)
        column.addWidget(hairline())
        column.addWidget(self._heading(tr("Strength over time")))
        self._plot.show_strength(shown.past, shown.ahead, KIND_INKS[memory.said.kind])
        column.addWidget(self._plot)
        column.addWidget(hairline())
        self._add_uses(column, shown)
        column.addWidget(hairline())
        column.addWidget(self._heading(tr("Versions")))
        self.versions.show_changes(shown.changes)
        column.addWidget(self.versions)
        column.addStretch(1)
        self._swap(inside)

    def _swap(self, inside: QWidget) -> None:
        """The lasting parts have moved into the new inside before the old one goes."""
        top = self._scroll.verticalScrollBar().value()
        old: QWidget | None = self._scroll.takeWidget()
        if old is not None:
            old.deleteLater()
        self._scroll.setWidget(inside)
        self._scroll.verticalScrollBar().setValue(top)

    def _facts(self, shown: "Shown") -> QGridLayout:
        memory, fonts = shown.listed.memory, self._look.fonts
        grid = QGridLayout()
        grid.setHorizontalSpacing(14)
        grid.setVerticalSpacing(5)
        grid.setColumnStretch(1, 1)
        for row, (name, words) in enumerate(self._said_of(shown)):
            grid.addWidget(label(name, fonts.second, "second"), row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(label(visible(words), fonts.second, wrap=True), row, 1)
        learnt = moment(memory.made).strftime("%d %b %Y, %H:%M").lstrip("0")
        row = grid.rowCount()
        grid.addWidget(label(tr("Learned"), fonts.second, "second"), row, 0, Qt.AlignmentFlag.AlignTop)
        title = self._title_of(memory.session) if memory.session else ""
        grid.addWidget(label(learnt, fonts.second), row, 1)
        if title:
            grid.addWidget(label(tr("In"), fonts.second, "second"), row + 1, 0)
            told = tr("Show the session where it was learnt")
            link = LinkLine(self._look, visible(title), name="memory.card.source", told=told)
            link.clicked.connect(partial(self.go_to.emit, memory.session, memory.seq))
            grid.addWidget(link, row + 1, 1)
        return grid

    def _said_of(self, shown: "Shown") -> list[tuple[str, str]]:
        memory, listed = shown.listed.memory, shown.listed
        said = memory.said
        facts = [(part_words(name), text) for name, text in said.parts.items() if text]
        facts.append((tr("Applies to"), reach_words(memory, self._title_of)))
        state = {"strong": tr("strong"), "normal": tr("normal"), "weak": tr("weak"), "fading": tr("fading")}
        words = f"{round(listed.strength * 100)}% · {state[listed.state]} · {helped_words(memory)}"
        facts.append((tr("Strength"), words))
        evidence = tr("learnt once") if memory.evidence == 1 else tr("learnt {} times").format(memory.evidence)
        facts.append((tr("Confidence"), f"{round(said.confidence * 100)}% · {evidence}"))
        facts.append((tr("Author"), author_words(memory.author)))
        facts.append((tr("Fades"), self._fades(shown)))
        if memory.standing != "active":
            standing = tr("in the archive, told to nobody") if memory.standing == "archived" else tr("forgotten")
            facts.append((tr("Now"), standing))
        if said.around:
            facts.append((tr("It stood in"), said.around[:400]))
        return facts

    def _fades(self, shown: "Shown") -> str:
        memory = shown.listed.memory
        if memory.kept_for_good:
            return tr("never: you pinned it") if memory.pinned else tr("never: you wrote it")
        days = next((days for days, strong in shown.ahead if strong < 0.3), 0)
        if not days:
            near = shown.listed.strength < 0.3
            return tr("it is fading now") if near else tr("not within a year")
        return tr("within {} days if nobody uses it").format(days)

    def _add_others(self, column: QVBoxLayout, links: Sequence[Memory]) -> None:
        """Those that say otherwise: one of them should be edited or forgotten."""
        if not links:
            return
        column.addWidget(hairline())
        column.addWidget(self._heading(tr("Says otherwise")))
        told = tr("Only one of these can be right. Open it, and edit or forget the wrong one.")
        column.addWidget(label(told, self._look.fonts.second, "waiting", wrap=True))
        for one in links:
            link = LinkLine(self._look, visible(one.said.text), name="memory.card.other", told=tr("Show this memory"))
            link.clicked.connect(partial(self.other.emit, one.id))
            column.addWidget(link)

    def _add_uses(self, column: QVBoxLayout, shown: "Shown") -> None:
        fonts = self._look.fonts
        if not shown.uses:
            column.addWidget(self._heading(tr("Used in")))
            column.addWidget(label(tr("No run was told this yet."), fonts.second, "second", wrap=True))
            return
        told = shown.with_it.runs + shown.without.runs
        used = tr("Used in {} of {} runs that were told it").format(shown.with_it.runs, told)
        column.addWidget(self._heading(used))
        for share, name in ((shown.with_it, tr("With it")), (shown.without, tr("Told, but not used"))):
            column.addWidget(label(f"{name}: {_share(share)}", fonts.second, "second", wrap=True))
        runs = QVBoxLayout()
        runs.setSpacing(2)
        column.addLayout(runs)
        for use in shown.uses[:USES]:
            title = visible(self._title_of(use.session)) or tr("a session that is gone")
            how = "" if use.used else tr("not used")
            icon, token, went = WENT.get(use.went, ("circle-ellipsis", "stopped", ""))
            words = " · ".join(part for part in (title, how, tr(went) if went else "") if part)
            link = LinkLine(
                self._look, words, name="memory.card.use", told=tr("Show this session"), icon=icon, token=token
            )
            link.clicked.connect(partial(self.go_to.emit, use.session, 0))
            runs.addWidget(link)
        if (more := len(shown.uses) - USES) > 0:
            column.addWidget(label(tr("and {} older ones").format(f"{more:,}"), fonts.second, "third"))

    def _heading(self, words: str) -> QWidget:
        return label(words, self._look.fonts.label, "second")

    def _icons(self) -> tuple[tuple[str, str, str], ...]:
        return (
            ("edit", "pencil", tr("Edit (E)")),
            ("pin", "pin", tr("Pin: always told, never fades (P)")),
            ("archive", "archive", tr("Archive: kept, and told to nobody (A)")),
            ("restore", "undo-2", tr("Restore (R)")),
            ("forget", "trash-2", tr("Forget (Del)")),
            ("erase", "x", tr("Erase for good")),
        )


def _share(share: "Share") -> str:
    """Never a percentage without its number."""
    runs = tr("1 run") if share.runs == 1 else tr("{} runs").format(share.runs)
    if not share.judged:
        return tr("{}, none judged").format(runs)
    return tr("{}, {} of {} judged went well").format(runs, share.good, share.judged)
