"""The line at the foot of the window: where data is kept, what waits, light or dark."""

from collections.abc import Callable

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QToolButton, QWidget

from core.domain.consent import Level
from core.servers.health import States
from ui.icons import icon
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.elided import ElidedLabel

HEIGHT = 26
GLYPH = 16
SIDE = 26


class StatusLine(QFrame):
    inbox_wanted = Signal(object)
    theme_wanted = Signal()
    commands_wanted = Signal()
    help_wanted = Signal()
    servers_wanted = Signal()
    servers_changed = Signal()

    def __init__(self, look: Look, *, data_folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self.setObjectName("status")
        self.setProperty("surface", "panel")
        self._data = ElidedLabel(self.tr("Kept in {}").format(data_folder), look.fonts.second, "second")
        self._waiting = Button(look, "", name="status.waiting", tone="quiet", hint=self.tr("Ctrl J"))
        self._waiting.clicked.connect(lambda: self.inbox_wanted.emit(self._waiting))
        self._commands = Button(look, self.tr("Commands"), name="status.commands", tone="quiet", hint=self.tr("Ctrl K"))
        self._commands.clicked.connect(lambda: self.commands_wanted.emit())
        self._help = self._glyph("status.help", self.tr("Help"), self.tr("Help (F1)"), self.help_wanted.emit)
        turn = self.tr("Light or dark (Ctrl+Shift+L)")
        self._theme = self._glyph("status.theme", self.tr("Light or dark"), turn, self.theme_wanted.emit)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 0, 10, 0)
        row.setSpacing(8)
        self._walls = ElidedLabel("", look.fonts.second, "second", name="status.walls")
        self._walls.hide()
        self._traces = ElidedLabel("", look.fonts.second, "second", name="status.traces")
        self._traces.hide()
        self._servers = Button(look, "", name="status.servers", tone="quiet")
        self._servers.clicked.connect(lambda: self.servers_wanted.emit())
        self._servers.hide()
        row.addWidget(self._data, 1)
        row.addWidget(self._servers)
        row.addWidget(self._traces)
        row.addWidget(self._walls)
        row.addWidget(self._waiting)
        row.addWidget(self._commands)
        row.addWidget(self._help)
        row.addWidget(self._theme)
        self.restyle(look)
        self.show_waiting(0)

    @property
    def waiting_button(self) -> Button:
        return self._waiting

    def show_waiting(self, count: int) -> None:
        self._waiting.setVisible(count > 0)
        self._waiting.setText(self.tr("{} waiting").format(count))
        self._waiting.setAccessibleName(self.tr("{} waiting for you").format(count))

    def show_traces(self, port: int) -> None:
        """Others on this machine may send what their agents do, or nobody may for 0."""
        self._traces.setVisible(port > 0)
        self._traces.show_text(self.tr("Receiving traces on port {}").format(port))
        self._traces.setToolTip(self.tr("Programs on this machine send here; set it in the settings, under Network"))

    def show_servers(self, states: States) -> None:
        """How the tool servers are that are on; what failed goes first."""
        failed = [state for state in states.of if state.trouble]
        names = ", ".join(state.name for state in failed)
        count = len(states.of)
        if failed:
            text = self.tr("Tool server failed: {}").format(names)
        elif any(state.health == "starting" for state in states.of):
            text = self.tr("A tool server is starting…")
        else:
            text = self.tr("1 tool server") if count == 1 else self.tr("{} tool servers").format(count)
        words = {"open": self.tr("running"), "starting": self.tr("starting"), "ready": self.tr("ready")}
        lines = [f"{s.name}: {s.trouble.what if s.trouble else words.get(s.health, s.health)}" for s in states.of]
        self._servers.setText(text)
        self._servers.setAccessibleName(text)
        self._servers.setAccessibleDescription("\n".join(lines))
        self._servers.setToolTip("\n".join(lines))
        self._servers.setVisible(count > 0)
        self.servers_changed.emit()

    def show_walls(self, level: Level, more: str) -> None:
        """How well commands are confined here; `more` is read where the pointer rests, and aloud."""
        said = {
            "verified": self.tr("Commands are confined"),
            "reduced": self.tr("Commands are confined in part"),
            "none": self.tr("Commands are not confined: each one is asked"),
        }[level]
        self._walls.show_text(said)
        self._walls.setToolTip(more)
        self._walls.setAccessibleDescription(more)
        self._walls.show()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._data.setFont(look.fonts.second)
        self._walls.setFont(look.fonts.second)
        self._traces.setFont(look.fonts.second)
        self._waiting.restyle(look)
        self._servers.restyle(look)
        self._commands.restyle(look)
        self.setFixedHeight(look.size(HEIGHT) + 6)
        side, glyph = look.size(SIDE), look.size(GLYPH)
        for button, name in ((self._help, "circle-question-mark"), (self._theme, "sun-moon")):
            button.setFixedSize(side, side)
            button.setIconSize(QSize(glyph, glyph))
            button.setIcon(icon(name, look.theme.second, glyph))

    def _glyph(self, name: str, title: str, tip: str, act: Callable[[], object]) -> QToolButton:
        made = QToolButton()
        made.setObjectName(name)
        made.setAccessibleName(title)
        made.setToolTip(tip)
        made.clicked.connect(lambda: act())
        return made
