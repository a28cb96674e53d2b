"""A second session beside the one that is worked in: its run as it goes on, and the way to it."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from core.domain.sessions import SessionRow
from core.domain.steps import Step
from ui.reading import Reading
from ui.theme import Look
from ui.timeline.page import RunPage
from ui.widgets.button import Button
from ui.widgets.words import hairline


class Beside(QFrame):
    """What is done here, rather than looked at, brings the session over to where one works: `wanted`, then the act."""

    wanted = Signal()
    closed = Signal()

    def __init__(self, look: Look, reading: Reading, forward: RunPage) -> None:
        super().__init__()
        self.setObjectName("beside")
        self.setAccessibleName(self.tr("The session beside"))
        self.page = RunPage(look, reading)
        self._row = SessionRow("")
        self._here = Button(look, "", name="beside.here", icon="arrow-left-right")
        self._close = Button(look, self.tr("Close"), name="beside.close", tone="quiet", icon="x")
        self._here.clicked.connect(lambda: self.wanted.emit())
        self._close.clicked.connect(lambda: self.closed.emit())
        foot = QHBoxLayout()
        foot.setContentsMargins(20, 10, 20, 10)
        foot.addWidget(self._here)
        foot.addStretch(1)
        foot.addWidget(self._close)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.page, 1)
        column.addWidget(hairline())
        column.addLayout(foot)
        page = self.page
        page.link.connect(forward.link)
        page.branch_wanted.connect(forward.branch_wanted)
        for mine, theirs in (
            (page.stop, forward.stop), (page.pause, forward.pause), (page.resume, forward.resume),
            (page.fork, forward.fork), (page.settle, forward.settle), (page.judged, forward.judged),
            (page.changes_wanted, forward.changes_wanted), (page.compare, forward.compare),
        ):  # fmt: skip
            mine.connect(self._over(theirs.emit))

    def show_session(self, row: SessionRow) -> None:
        self._row = row
        self.page.show_session(row)
        waits = row.status in {"waiting", "interrupted"}
        self._here.setText(self.tr("It waits for you: answer") if waits else self.tr("Work in this session"))
        self._here.setAccessibleName(self._here.text())
        self._here.wear("primary" if waits else "")

    def apply(self, steps: Sequence[Step]) -> None:
        self.page.apply(steps)

    def draft(self, text: str) -> None:
        if text:
            self.page.draft(text)
        else:
            self.page.end_draft()

    def restyle(self, look: Look) -> None:
        self.page.restyle(look)
        self._here.restyle(look)
        self._close.restyle(look)

    def _over(self, act: Callable[..., object]) -> Callable[..., None]:
        def do(*values: object) -> None:
            self.wanted.emit()
            act(*values)

        return do
