"""The first screen: begin a run, or what it takes to be able to; and where everything is kept."""

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from ui.start.begin import BeginBox, Offer
from ui.start.entry import StartEntry
from ui.theme import Look
from ui.widgets.key_dialog import KeyDialog
from ui.widgets.words import breakable, label, surface

WIDTH: Final = 680
NAMED: Final = 3


class StartPanel(QFrame):
    """One card in the middle; each entry on it works."""

    demo_wanted = Signal()
    begun = Signal(str, str, str)  # task, folder, model
    key_given = Signal(str, str)  # server, key
    shown = Signal()
    look_wanted = Signal()
    others_wanted = Signal()

    def __init__(self, look: Look, *, data_folder: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._offers: tuple[Offer, ...] = ()
        self._local = ""
        self.setObjectName("start")
        self.setAccessibleName(self.tr("Start"))
        self.setProperty("surface", "background")
        fonts = look.fonts
        self._title = label(self.tr("Watch an agent work"), fonts.heading, name="start.title", wrap=True)
        kept = self.tr("Everything stays on this computer, in {}").format(data_folder)
        self._place = label(kept, fonts.text, "second", name="start.place", wrap=True)
        self.begin = BeginBox(look)
        self._none = label("", fonts.text, name="start.none", wrap=True)
        self._server = StartEntry(look, "start.local", "cpu", "", "", self.tr("Use it"))
        self._key = StartEntry(
            look,
            "start.key",
            "key",
            self.tr("Add a key"),
            self.tr("For a model server"),
            self.tr("Add…"),
        )
        demo = self.tr(
            "A scripted model works in a sample folder, really runs its tools and asks you one question. "
            "No network, no key."
        )
        title = self.tr("Look around with the built-in demo")
        self._demo = StartEntry(look, "start.demo", "play", title, demo, self.tr("Start demo"))
        others = self.tr("Claude Code, Codex, OpenCode and others: what they did, in the same view. Nothing is run.")
        title = self.tr("Open runs of other agents")
        self._others = StartEntry(look, "start.others", "folder-open", title, others, self.tr("Look…"))
        self._others.button.clicked.connect(lambda: self.others_wanted.emit())
        self._lay_out()
        self._demo.button.clicked.connect(lambda: self.demo_wanted.emit())
        self._key.button.clicked.connect(self._ask_key)
        self._server.button.clicked.connect(self._use_local)
        self.begin.begun.connect(self.begun)
        self.show_offers((), "")

    def show_offers(self, offers: Sequence[Offer], chosen: str) -> None:
        """The servers there are; `chosen` is the model of the settings."""
        self._offers = tuple(offers)
        names = [name for offer in offers for name in offer.models]
        if chosen and chosen not in names:
            names.insert(0, chosen)
        self.begin.set_models(names, chosen)
        self.begin.setVisible(bool(names))
        self._title.setText(self.tr("What should the agent do?") if names else self.tr("Watch an agent work"))
        self._none.setVisible(not names)
        self._none.setText(
            self.tr("No model is set up yet. Here are three ways to begin.")
            if offers
            else self.tr("Looking for models…")
        )
        here = next((offer for offer in offers if offer.here and offer.models), None)
        self._local = here.models[0] if here else ""
        self._server.setVisible(here is not None or not names)
        self._show_local(here) if here else self._show_no_local()
        lacking = [offer.title or offer.name for offer in offers if offer.needs_key]
        self._key.setVisible(bool(lacking) or not names)
        self._key.button.setEnabled(bool(lacking))
        named = ", ".join(lacking[:NAMED])
        if len(lacking) > NAMED:
            named = self.tr("{names} and {more} more; your own in the settings").format(
                names=named, more=len(lacking) - NAMED
            )
        self._key.say(self.tr("Add a key"), named or self.tr("For a model server"), self.tr("Add…"))
        # Where there is no model yet, the demo is what works at once.
        self._demo.button.wear("" if names else "primary")

    def begin_in(self, folder: str) -> None:
        """The folder is known; the words are missing."""
        self.begin.set_folder(folder)
        self.begin.focus_words()

    def restyle(self, look: Look) -> None:
        self._look = look
        self._card.setMaximumWidth(look.size(WIDTH))
        self._title.setFont(look.fonts.heading)
        self._place.setFont(look.fonts.text)
        self._none.setFont(look.fonts.text)
        for part in (self.begin, self._server, self._key, self._demo, self._others):
            part.restyle(look)

    def _show_local(self, offer: Offer) -> None:
        named = ", ".join(name.split("/", 1)[-1] for name in offer.models[:NAMED])
        more = len(offer.models) - NAMED
        named += self.tr(" and {} more").format(more) if more > 0 else ""
        self._server.say(
            self.tr("{} is running on this computer").format(offer.title or offer.name),
            breakable(self.tr("{} · nothing leaves your machine").format(named)),
            self.tr("Use {}").format(self._local.split("/", 1)[-1][:28]),
            icon="circle-check",
            token="done",
        )

    def _show_no_local(self) -> None:
        """What to do that there is one, and the button that sees it then."""
        idle = next((offer for offer in self._offers if offer.here), None)
        if idle is not None:
            title = self.tr("{} runs on this computer and has no model").format(idle.title or idle.name)
            text = self.tr("Load one there, then look again.")
        elif not self._offers:
            title = self.tr("A model server on this computer")
            text = self.tr("Ollama, LM Studio, llama.cpp, vLLM and Jan are found by themselves.")
        else:
            title = self.tr("No model server runs on this computer")
            text = self.tr("Start Ollama, LM Studio, llama.cpp, vLLM or Jan, then look again.")
        self._server.say(title, text, self.tr("Look again"), icon="cpu")

    def _use_local(self) -> None:
        if self._local:
            self.begin.choose_model(self._local)
        else:
            self.look_wanted.emit()

    def _ask_key(self) -> None:
        lacking = [(offer.name, offer.title) for offer in self._offers if offer.needs_key]
        dialog = KeyDialog(self._look, lacking, self)
        dialog.given.connect(self.key_given)
        dialog.open()

    def _lay_out(self) -> None:
        card = self._card = surface("card")
        card.setObjectName("start.card")
        card.setMaximumWidth(self._look.size(WIDTH))
        inside = QVBoxLayout(card)
        inside.setContentsMargins(28, 28, 28, 28)
        inside.setSpacing(6)
        inside.addWidget(self._title)
        inside.addWidget(self._place)
        inside.addSpacing(8)
        parts: tuple[QWidget, ...] = (self._none, self.begin, self._server, self._key, self._demo, self._others)
        for part in parts:
            inside.addWidget(part)
            if part is self.begin:
                inside.addSpacing(10)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(card, 1000)
        row.addStretch(1)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(24, 24, 24, 24)
        column.addStretch(2)
        column.addLayout(row)
        column.addStretch(3)
        scroll = QScrollArea()
        scroll.setObjectName("start.scroll")
        scroll.setAccessibleName(self.tr("Start"))
        scroll.setWidgetResizable(True)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # Tab goes through what is on it
        scroll.setWidget(page)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(scroll)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown.emit()
