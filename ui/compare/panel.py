"""Two sessions side by side: equal steps folded, the first difference marked, what the one needed more."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QFileDialog, QHBoxLayout, QListView, QVBoxLayout

from core.domain.events import RunEnded
from core.domain.sessions import SessionRow
from core.store.told import Told
from core.timeline.align import Alignment
from ui.bridge import Bridge
from ui.compare.rows import EDGE, MIDDLE, PairPainter, PairRows
from ui.compare.side import Side
from ui.compare.words import delta_line, learnt_lines
from ui.page import Page, Say, Start
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.words import hairline, label


class ComparePanel(Page):
    """`row` knows the line of a session, `pick` lets the person choose one, `go_to` shows a line of its journal."""

    def __init__(
        self,
        *,
        look: Look,
        bridge: Bridge,
        start: Start,
        say: Say,
        row: Callable[[str], SessionRow],
        pick: Callable[[str, Callable[[str], None]], None],
        go_to: Callable[[str, int], None],
    ) -> None:
        super().__init__()
        self._look, self._bridge, self._start = look, bridge, start
        self._say, self._row, self._pick, self._go_to = say, row, pick, go_to
        self._names = ["", ""]
        self._found: Alignment | None = None
        self._title = label(self.tr("Compare"), look.fonts.title, name="compare.title")
        self._swap = Button(look, self.tr("Swap"), name="compare.swap", tone="quiet", icon="arrow-left-right")
        self._export = Button(look, self.tr("Export"), name="compare.export", tone="quiet", icon="download")
        self._export.setToolTip(self.tr("Write this comparison to a file: Markdown, CSV or JSON"))
        self._said = label("", look.fonts.second, "second", name="compare.said", wrap=True)
        self._said.setContentsMargins(20, 10, 20, 10)
        self.sides = tuple(
            Side(look, title, name=f"compare.{name}", margins=margins)
            for name, title, margins in (
                ("left", self.tr("Choose a session"), (EDGE, 8, MIDDLE // 2, 8)),
                ("right", self.tr("And another one"), (MIDDLE // 2, 8, EDGE, 8)),
            )
        )
        self._model = PairRows(self)
        self._painter = PairPainter(look, self._model)
        self._view = self._list()
        self._lay_out()
        for number, side in enumerate(self.sides):
            side.choosing.connect(lambda number=number: self._choose(number))
            side.wanted.connect(lambda number=number: self._go_to(self._names[number], 0))
        self._swap.clicked.connect(self.swap)
        self._export.clicked.connect(self.choose_file)
        self._view.clicked.connect(self._fold_clicked)
        self._view.activated.connect(self._open)
        self._show_names()

    def open_on(self, about: tuple[str, ...]) -> None:
        """`about` are one session or two; with one the other is asked for."""
        if about:
            self._names = [*about, ""][:2]
            self._show_names()
            if len(about) == 1:
                self._choose(1)
        self._ask()

    def hear(self, facts: Sequence[object]) -> None:
        """One of them may still go on."""
        ended = (fact.entry for fact in facts if isinstance(fact, Told) and isinstance(fact.entry.event, RunEnded))
        if any(entry.session in self._names for entry in ended):
            self._show_names()
            self._ask()

    def swap(self) -> None:
        self._names.reverse()
        self._show_names()
        self._ask()

    def choose_file(self) -> None:
        """A dialog of the system; it holds up nothing."""
        dialog = QFileDialog(self, self.tr("Export the comparison"))
        dialog.setObjectName("compare.file")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([self.tr("To read (*.md)"), self.tr("A table (*.csv)"), self.tr("All of it (*.json)")])
        dialog.filterSelected.connect(lambda chosen: dialog.setDefaultSuffix(_suffix(chosen)))
        dialog.setDefaultSuffix("md")
        dialog.selectFile("comparison.md")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.write)
        dialog.open()

    def write(self, path: str) -> None:
        """What is shown, without secrets."""
        found = self._found
        if found is None:
            return
        sides = self._row(self._names[0]), self._row(self._names[1])

        async def export() -> None:
            done = await self._bridge.ask(lambda engine: engine.desk.export_comparison(sides, found, Path(path)))
            removed = done.removed.total()
            left_out = self.tr(" {} secrets were left out.").format(removed) if removed else ""
            self._say(self.tr("The comparison is in {}.").format(done.path) + left_out)

        self._start(export(), "export a comparison")

    def show_alignment(self, found: Alignment) -> None:
        self._found = found
        self._export.setEnabled(bool(found.pairs))
        rows = [self._row(name) for name in self._names]
        self._model.show_alignment(found)
        for side, row, totals in zip(self.sides, rows, (found.a, found.b), strict=True):
            side.show_totals(row, totals)
        said = [self._sum(found, priced=all(row.cost > 0 for row in rows)), *learnt_lines(found)]
        self._said.setText("\n".join(said))
        if (first := self._model.first()) >= 0:
            self._view.setCurrentIndex(self._model.index(first))
            self._view.scrollTo(self._model.index(first), QAbstractItemView.ScrollHint.PositionAtCenter)

    def restyle(self, look: Look) -> None:
        self._look = self._painter.look = look
        self._title.setFont(look.fonts.title)
        self._said.setFont(look.fonts.second)
        self._swap.restyle(look)
        self._export.restyle(look)
        for side in self.sides:
            side.restyle(look)
        self._view.doItemsLayout()

    def _sum(self, found: Alignment, *, priced: bool) -> str:
        if not found.pairs:
            return self.tr("Neither of them has a step yet.")
        equal = self.tr("{equal} of {all} steps are equal").format(equal=found.equal, all=len(found.pairs))
        if found.first is None:
            return self.tr("Both did the same: {}.").format(equal)
        return self.tr("{equal}. The right one has {delta}.").format(
            equal=equal, delta=delta_line(found, priced=priced)
        )

    def _ask(self) -> None:
        """Lay them side by side, both being chosen."""
        a, b = names = tuple(self._names)
        self._found = None
        self._export.setEnabled(False)
        if not all(names):
            self._model.show_alignment(None)
            self._said.setText(self.tr("Two sessions are laid side by side: what both did alike, and what differed."))
            return
        self._said.setText(self.tr("Reading both…"))

        async def look() -> None:
            found = await self._bridge.ask(lambda engine: engine.past.compared(a, b))
            if names == tuple(self._names):
                self.show_alignment(found)

        self._start(look(), "compare")

    def _choose(self, number: int) -> None:
        def take(name: str) -> None:
            self._names[number] = name
            self._show_names()
            self._ask()

        self._pick(self.tr("Compare with which session?"), take)

    def _show_names(self) -> None:
        for side, name in zip(self.sides, self._names, strict=True):
            side.show_session(self._row(name) if name else None)
        self._swap.setEnabled(all(self._names))

    def _fold_clicked(self, index: QModelIndex) -> None:
        if self._model.line(index.row()).pair is None:
            self._open(index)

    def _open(self, index: QModelIndex) -> None:
        """Equal steps are opened, a step is shown in its session: the side that was clicked on, else the left one."""
        line = self._model.line(index.row())
        if line.pair is None:
            self._model.turn(index.row())
            self._view.setCurrentIndex(self._model.index(index.row()))
            return
        at: QPoint = self._view.viewport().mapFromGlobal(self.cursor().pos())
        clicked = QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton
        right = clicked and at.x() > self._view.viewport().width() // 2
        sides = ((line.pair.b, self._names[1]), (line.pair.a, self._names[0]))
        step, name = next(side for side in (sides if right else reversed(sides)) if side[0])
        if step:
            self._go_to(name, step.first)

    def _list(self) -> QListView:
        view = QListView()
        view.setObjectName("compare.steps")
        view.setAccessibleName(self.tr("Steps of both"))
        view.setModel(self._model)
        view.setItemDelegate(self._painter)
        view.setUniformItemSizes(True)
        view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        return view

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(20, 11, 20, 11)
        head.addWidget(self._title)
        head.addStretch(1)
        head.addWidget(self._swap)
        head.addWidget(self._export)
        sides = QHBoxLayout()
        sides.setContentsMargins(0, 0, 0, 0)
        sides.setSpacing(0)
        for side in self.sides:
            sides.addWidget(side, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(head)
        whole.addWidget(hairline())
        whole.addLayout(sides)
        whole.addWidget(hairline())
        whole.addWidget(self._said)
        whole.addWidget(self._view, 1)


def _suffix(chosen: str) -> str:
    """The ending that a filter of the dialog names."""
    return chosen.rpartition("*.")[2].rstrip(")")
