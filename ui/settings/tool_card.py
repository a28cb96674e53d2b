"""One tool server: where it is, how it is, what it is given, and its tools with a box each."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.tick import Tick
from ui.widgets.words import label

if TYPE_CHECKING:
    from core.engine.servers import Look as Looked
    from core.engine.servers import Row
    from core.settings.schema import ServerTool, ToolServer

MOST: Final = 6  # of a long list, until all are asked for
Said = tuple[str, str]  # words and their tone
Wish = Callable[[str, str, str], None]


class ToolCard(QFrame):
    """Tells `wish` what is wanted of the server, or of one of its tools; `said` is what came of the last wish."""

    def __init__(self, look: Look, row: "Row", wish: Wish, said: Said | None, *, whole: bool = False) -> None:
        super().__init__()
        self._look, self._row, self._wish, self._name = look, row, wish, row.server.name
        self.setObjectName(f"settings.tool.{self._name}")
        self.setProperty("surface", "well")
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 8, 10)
        column.setSpacing(4)
        column.addLayout(self._head())
        column.addWidget(label(line(row.server), look.fonts.mono, "second", wrap=True))
        words, tone = state_words(row)
        column.addWidget(label(words, look.fonts.second, tone, name=f"settings.tool.{self._name}.state", wrap=True))
        for given in row.server.given:
            column.addLayout(self._given(given.name, given.value))
        if said and said[0]:
            column.addWidget(
                label(visible(said[0]), look.fonts.second, said[1], name=f"settings.tool.{self._name}.said", wrap=True)
            )
        if said and said[1] == "waiting":  # what changed can be accepted
            button = self._button(_tr("Accept what it says now"), "accept", _tr("Accept what {} says now"))
            column.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        shown = row.server.tools if whole else row.server.tools[:MOST]
        for tool in shown:
            column.addWidget(self._tool(tool))
        if len(shown) < len(row.server.tools):
            more = self._button(_tr("Show all {}").format(len(row.server.tools)), "whole", _tr("Show all tools of {}"))
            column.addWidget(more, 0, Qt.AlignmentFlag.AlignLeft)

    def _head(self) -> QHBoxLayout:
        head = QHBoxLayout()
        head.setSpacing(6)
        on = Tick(self._look, self._name, name=f"settings.tool.{self._name}.on")
        on.setFont(self._look.fonts.strong)
        on.setAccessibleName(_tr("Offer the tools of {} to agents").format(self._name))
        on.setChecked(self._row.server.on)
        on.toggled.connect(lambda now: self._wish("on" if now else "off", self._name, ""))
        head.addWidget(on, 1)
        for text, word, spoken in (
            (_tr("Test"), "test", _tr("Test {}")),
            (_tr("Log"), "log", _tr("What {} printed")),
            (_tr("Remove"), "remove", _tr("Remove {}")),
        ):
            if word != "log" or not self._row.server.url:
                head.addWidget(self._button(text, word, spoken))
        return head

    def _given(self, name: str, value: str) -> QHBoxLayout:
        row = QHBoxLayout()
        lacking = name in self._row.lacking
        where = value or (_tr("not there yet") if lacking else _tr("in the keyring"))
        row.addWidget(
            label(f"{visible(name)}: {visible(where)}", self._look.fonts.second, "waiting" if lacking else "second"), 1
        )
        if not value:
            text = _tr("Give it…") if lacking else _tr("Change…")
            button = Button(self._look, text, name=f"settings.tool.{self._name}.key.{name}", tone="quiet")
            button.setAccessibleName(_tr("Give {server} its {key}").format(server=self._name, key=name))
            button.clicked.connect(lambda: self._wish("give", self._name, name))
            row.addWidget(button)
        return row

    def _tool(self, tool: "ServerTool") -> QWidget:
        from core.servers.told import unfit

        made = QWidget()
        row = QVBoxLayout(made)
        row.setContentsMargins(0, 2, 0, 0)
        row.setSpacing(0)
        box = Tick(self._look, visible(tool.name), name=f"settings.tool.{self._name}.of.{tool.name}")
        box.setFont(self._look.fonts.mono)
        why = unfit(tool)
        box.setChecked(tool.on and not why)
        box.setEnabled(self._row.server.on and not why)
        box.toggled.connect(lambda now: self._wish("on" if now else "off", self._name, tool.name))
        row.addWidget(box)
        words = " ".join(visible(tool.description).split())
        about = _tr("Not offered: {}").format(why) if why else words if len(words) <= 200 else f"{words[:199]}…"
        if about:
            said = label(about, self._look.fonts.second, "failed" if why else "second", wrap=True)
            said.setContentsMargins(self._look.size(24), 0, 0, 0)
            row.addWidget(said)
        return made

    def _button(self, text: str, word: str, spoken: str) -> Button:
        made = Button(self._look, text, name=f"settings.tool.{self._name}.{word}")
        made.setAccessibleName(spoken.format(self._name))
        made.clicked.connect(lambda: self._wish(word, self._name, ""))
        return made


def line(server: "ToolServer") -> str:
    """Its address, or what is run."""
    return visible(server.url or " ".join((server.command, *server.args)))


def state_words(row: "Row") -> Said:
    """How it is, and their tone."""
    state = row.state
    if not row.server.on:
        return _tr("Off: no agent is offered its tools."), "second"
    if row.lacking:
        return _tr("It has no {}, so it cannot be used.").format(", ".join(row.lacking)), "waiting"
    if state.trouble:
        return visible(str(state.trouble)), "failed"
    words = {
        "open": _tr("Running"),
        "starting": _tr("Starting…"),
        "ready": _tr("Ready: it starts when an agent calls one of its tools."),
        "failed": _tr("It failed."),
    }
    return words[state.health], "done" if state.health == "open" else "second"


def look_words(looked: "Looked") -> Said:
    """What a test came to."""
    if looked.trouble:
        return visible(str(looked.trouble)), "failed"
    if looked.changed:
        told = "\n".join(f"{name}:\n{difference}" for name, difference in looked.changed)
        head = _tr("It answers, but describes its tools differently than when you accepted them. A run asks you.")
        return f"{head}\n{told}", "waiting"
    count = len(looked.tools)
    many = _tr("1 tool") if count == 1 else _tr("{} tools").format(count)
    return _tr("It answers: {tools}, protocol {version}.").format(tools=many, version=looked.version), "done"


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
