"""The Compare page: two sessions side by side, with equal steps folded and a mark at the first difference."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QMargins, QModelIndex, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QFileDialog, QHBoxLayout, QListView, QVBoxLayout

from core.domain.events import RunEnded
from core.domain.sessions import SessionRow
from core.store.journal_update import JournalUpdate
from core.timeline.run_alignment import Alignment
from ui.base.bridge import Bridge
from ui.base.panel_page import PanelPage, PickSession, ShowToast, StartTask
from ui.compare.header import ComparisonHeader
from ui.compare.rows import EDGE, MIDDLE, ComparisonDelegate, ComparisonModel
from ui.compare.texts import delta_line, learned_lines
from ui.style.theme import Look
from ui.widgets.button import Button
from ui.widgets.labels import hairline, label
from ui.widgets.time_formats import to_local_time


class ComparePanel(PanelPage):
    """The page, which compares two sessions that the user has chosen."""

    def __init__(
        self,
        *,
        look: Look,
        bridge: Bridge,
        start_task: StartTask,
        show_toast: ShowToast,
        row: Callable[[str], SessionRow],
        pick_session: PickSession,
        show_event: Callable[[str, int], None],
    ) -> None:
        super().__init__()
        self._look = look
        self._bridge = bridge
        self._start = start_task
        self._show_toast = show_toast
        self._row = row
        self._pick = pick_session
        self._go_to = show_event
        self._sessions = ["", ""]  # on the left and on the right; "" until one is chosen
        self._alignment: Alignment | None = None
        self._title = label(self.tr("Compare"), look.fonts.title, name="compare.title")
        self._swap = Button(look, self.tr("Swap sides"), name="compare.swap", tone="quiet", icon="arrow-left-right")
        self._export = Button(look, self.tr("Export…"), name="compare.export", tone="quiet", icon="download")
        self._export.setToolTip(self.tr("Export this comparison as Markdown, CSV or JSON"))
        self._message = label("", look.fonts.second, "second", name="compare.said", wrap=True)
        self._message.setContentsMargins(20, 10, 20, 10)
        self.sides = (
            ComparisonHeader(
                look, self.tr("Choose a session"), name="compare.left", margins=QMargins(EDGE, 8, MIDDLE // 2, 8)
            ),
            ComparisonHeader(
                look, self.tr("Choose another session"), name="compare.right", margins=QMargins(MIDDLE // 2, 8, EDGE, 8)
            ),
        )
        self._model = ComparisonModel(self)
        self._painter = ComparisonDelegate(look, self._model)
        self._view = self._create_view()
        self._lay_out()
        for number, header in enumerate(self.sides):
            header.choose_requested.connect(partial(self._choose, number))
            header.open_requested.connect(lambda number=number: self._go_to(self._sessions[number], 0))
        self._swap.clicked.connect(self.swap)
        self._export.clicked.connect(self.ask_export)
        self._view.clicked.connect(self._toggle_clicked_fold)
        self._view.activated.connect(self._open)
        self._show_sessions()

    def activate(self, about: tuple[str, ...]) -> None:
        """Compare the two sessions in `about`. If it contains only one, ask for the other."""
        if about:
            self._sessions = [*about, ""][:2]
            self._show_sessions()
        focus_on = self._view if any(self._sessions) else self.sides[0].choose_button
        focus_on.setFocus(Qt.FocusReason.OtherFocusReason)
        if len(about) == 1:
            self._choose(1)
        self._compare()

    def apply_updates(self, updates: Sequence[object]) -> None:
        """Compare again if a run has ended in one of the two sessions."""
        entries = (update.entry for update in updates if isinstance(update, JournalUpdate))
        if any(isinstance(entry.event, RunEnded) and entry.session in self._sessions for entry in entries):
            self._show_sessions()
            self._compare()

    def swap(self) -> None:
        self._sessions.reverse()
        self._show_sessions()
        self._compare()

    def ask_export(self) -> None:
        """Let the user choose a file in a non-blocking dialog, and write the comparison to it."""
        dialog = QFileDialog(self, self.tr("Export comparison"))
        dialog.setObjectName("compare.file")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters([self.tr("Markdown (*.md)"), self.tr("CSV (*.csv)"), self.tr("JSON (*.json)")])
        dialog.filterSelected.connect(lambda chosen: dialog.setDefaultSuffix(_suffix(chosen)))
        dialog.setDefaultSuffix("md")
        dialog.selectFile("comparison.md")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.export)
        dialog.open()

    def export(self, path: str) -> None:
        """Write the comparison to a file, with secrets redacted."""
        alignment = self._alignment
        if alignment is None:
            return
        sides = self._row(self._sessions[0]), self._row(self._sessions[1])

        async def send() -> None:
            result = await self._bridge.ask(
                lambda engine: engine.exchange.export_comparison(sides, alignment, Path(path))
            )
            removed = result.removed.total()
            secrets = self.tr(" Secrets removed: {}.").format(removed) if removed else ""
            self._show_toast(self.tr("Exported the comparison to {}.").format(result.path) + secrets)

        self._start(send(), "export a comparison")

    def show_alignment(self, alignment: Alignment) -> None:
        self._alignment = alignment
        self._export.setEnabled(bool(alignment.pairs))
        rows = [self._row(session) for session in self._sessions]
        self._model.show_alignment(alignment)
        for side, row, totals in zip(self.sides, rows, (alignment.a, alignment.b), strict=True):
            side.show_totals(row, totals)
        lines = [self._summary(alignment), *learned_lines(alignment)]
        self._message.setText("\n".join(lines))
        if (first := self._model.first_difference()) >= 0:
            self._view.setCurrentIndex(self._model.index(first))
            self._view.scrollTo(self._model.index(first), QAbstractItemView.ScrollHint.PositionAtCenter)

    def restyle(self, look: Look) -> None:
        self._look = self._painter.look = look
        self._title.setFont(look.fonts.title)
        self._message.setFont(look.fonts.second)
        self._swap.restyle(look)
        self._export.restyle(look)
        for side in self.sides:
            side.restyle(look)
        self._view.doItemsLayout()

    def _summary(self, alignment: Alignment) -> str:
        if not alignment.pairs:
            return self.tr("Neither session has any steps yet.")
        equal = self.tr("Equal steps: {equal} of {all}.").format(equal=alignment.equal, all=len(alignment.pairs))
        if alignment.first_difference is None:
            return self.tr("Both sessions did the same. {}").format(equal)
        return self.tr("{equal} The right session has {delta}.").format(equal=equal, delta=delta_line(alignment))

    def _compare(self) -> None:
        """Request the comparison when both sessions have been chosen."""
        left, right = self._sessions
        self._alignment = None
        self._export.setEnabled(False)
        if not left or not right:
            self._model.show_alignment(None)
            self._message.setText(self.tr("Choose two sessions to see which steps are equal and which differ."))
            return
        self._message.setText(self.tr("Comparing…"))

        async def compare() -> None:
            alignment = await self._bridge.ask(lambda engine: engine.analytics.compare_in_thread(left, right))
            if self._sessions == [left, right]:  # otherwise, the user has chosen other sessions in the meantime
                self.show_alignment(alignment)

        self._start(compare(), "compare")

    def _choose(self, side: int) -> None:
        """Let the user choose the session on the left (0) or right (1) side."""

        def show(session: str) -> None:
            self._sessions[side] = session
            self._show_sessions()
            self._compare()
            self._view.setFocus(Qt.FocusReason.OtherFocusReason)

        self._pick(self.tr("Choose the session to compare with"), show, exclude=self._sessions[1 - side])

    def _show_sessions(self) -> None:
        rows = [self._row(session) if session else None for session in self._sessions]
        titles = [row.title for row in rows if row]
        have_same_title = len(set(titles)) < len(titles)
        for side, row in zip(self.sides, rows, strict=True):
            started = f"{to_local_time(row.created_at):%Y-%m-%d %H:%M}" if row and have_same_title else ""
            side.show_session(row, started)
        self._swap.setEnabled(all(self._sessions))

    def _toggle_clicked_fold(self, index: QModelIndex) -> None:
        if self._model.items[index.row()].pair is None:
            self._open(index)

    def _open(self, index: QModelIndex) -> None:
        """Expand a fold, or show a step in its session: the step on the clicked side, or else on the left side."""
        line = self._model.items[index.row()]
        if line.pair is None:
            self._model.toggle(index.row())
            self._view.setCurrentIndex(self._model.index(index.row()))
            return
        left, right = self._sessions
        if line.pair.b and (self._is_right_side_clicked() or not line.pair.a):
            self._go_to(right, line.pair.b.first_seq)
        elif line.pair.a:
            self._go_to(left, line.pair.a.first_seq)

    def _is_right_side_clicked(self) -> bool:
        pointer: QPoint = self._view.viewport().mapFromGlobal(self.cursor().pos())
        is_clicked = QGuiApplication.mouseButtons() != Qt.MouseButton.NoButton
        return is_clicked and pointer.x() > self._view.viewport().width() // 2

    def _create_view(self) -> QListView:
        view = QListView()
        view.setObjectName("compare.steps")
        view.setAccessibleName(self.tr("Steps of both sessions"))
        view.setModel(self._model)
        view.setItemDelegate(self._painter)
        view.setUniformItemSizes(True)
        view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        return view

    def _lay_out(self) -> None:
        toolbar = QHBoxLayout()
        toolbar.setContentsMargins(20, 11, 20, 11)
        toolbar.addWidget(self._title)
        toolbar.addStretch(1)
        toolbar.addWidget(self._swap)
        toolbar.addWidget(self._export)
        sides = QHBoxLayout()
        sides.setContentsMargins(0, 0, 0, 0)
        sides.setSpacing(0)
        for side in self.sides:
            sides.addWidget(side, 1)
        page = QVBoxLayout(self)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(0)
        page.addLayout(toolbar)
        page.addWidget(hairline())
        page.addLayout(sides)
        page.addWidget(hairline())
        page.addWidget(self._message)
        page.addWidget(self._view, 1)


def _suffix(chosen: str) -> str:
    """Return the file suffix in a name filter of the file dialog."""
    return chosen.rpartition("*.")[2].rstrip(")")
