"""The key of the search engine: given, and forgotten."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.tools.web import ENGINES
from ui.theme import Look
from ui.widgets.button import Button
from ui.widgets.words import label


class WebKey(QWidget):
    """Says what the engine that is chosen needs."""

    wanted = Signal(str, str)  # give or forget, and of which engine

    def __init__(self, look: Look, engine: str) -> None:
        super().__init__()
        self._engine = engine
        self._words = label("", look.fonts.second, "second", name="settings.web.needs", wrap=True)
        self._give = Button(look, self.tr("Give its key…"), name="settings.web.give")
        self._forget = Button(look, self.tr("Forget its key"), name="settings.web.forget")
        self._give.setToolTip(self.tr("It goes to the keyring of your system"))
        self._forget.setToolTip(self.tr("Out of the keyring and out of this session"))
        self._give.clicked.connect(lambda: self.wanted.emit("give", self._engine))
        self._forget.clicked.connect(lambda: self.wanted.emit("forget", self._engine))
        row = QHBoxLayout()
        row.addWidget(self._give)
        row.addWidget(self._forget)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._words)
        column.addLayout(row)
        self.use(engine)

    def follow(self, name: str, value: object) -> None:
        """A setting was changed."""
        if name == "web_search":
            self.use(str(value))

    def use(self, engine: str) -> None:
        """Another engine was chosen."""
        self._engine = engine
        chosen = ENGINES.get(engine)
        keyed = chosen is not None and bool(chosen.variable)
        for button in (self._give, self._forget):
            button.setEnabled(keyed)
        if chosen is None:
            words = self.tr(
                "Agents cannot search the web. With an engine they can, and each search asks as fetching does."
            )
        elif keyed:
            words = self.tr("{engine} wants a key: given here, or in the environment as {variable}.").format(
                engine=chosen.title, variable=chosen.variable
            )
        else:
            words = self.tr("{engine} wants no key. Its settings must allow answers in JSON.").format(
                engine=chosen.title
            )
        self._words.setText(words)
