"""An entry for a model that Journeyman can run itself: what it is, its download, and what can be done with it."""

from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QProgressBar, QVBoxLayout

from core.models.local.model_state import DownloadProgress, LocalModelRow
from ui.style.icons import pixmap
from ui.style.number_formats import duration
from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label

ICON: Final = 18
NARROW_WIDTH: Final = 460  # pixels; with less, the buttons are below each other
OWN: Final = ("Journeyman", "you")  # the origins of files that can be removed here


class _Action(NamedTuple):
    name: str = ""
    text: str = ""


class LocalModelEntry(QFrame):
    """`action_requested` carries an action and the model: download, pause, cancel, use,
    remove or more.

    `name` is the prefix of the object names. `title` replaces the title of the model, which is then part of the text.
    With `can_remove`, files of Journeyman and of the user can be removed; else the action `more` leads to all models.
    """

    action_requested = Signal(str, str)

    def __init__(self, look: Look, name: str, *, title: str = "", can_remove: bool = False) -> None:
        super().__init__()
        self._look = look
        self._fixed_title = title
        self._can_remove = can_remove
        self._row: LocalModelRow | None = None
        self._install_hint = ""
        self._actions = (_Action(), _Action())
        self.setProperty("surface", "well")
        self.setObjectName(f"{name}.entry")
        fonts = look.fonts
        self._icon = QLabel()
        self._title = label(title, fonts.strong, wrap=True)
        self._text = label("", fonts.second, "second", name=f"{name}.text", wrap=True)
        self._state = label("", fonts.second, "second", name=f"{name}.state", wrap=True)
        self._bar = QProgressBar()
        self._bar.setObjectName(f"{name}.progress")
        self._bar.setAccessibleName(_tr("Download"))
        self._bar.setTextVisible(False)
        self._bar.setMaximumHeight(look.size(6))
        self._main = Button(look, "", name=name)
        self._other = Button(look, "", name=f"{name}.other", tone="quiet")
        self._main.installEventFilter(self)
        self._main.clicked.connect(lambda: self._emit(0))
        self._other.clicked.connect(lambda: self._emit(1))
        self._lay_out()
        self._update_icon()

    @property
    def row(self) -> LocalModelRow | None:
        return self._row

    def show_row(self, row: LocalModelRow, install_hint: str = "", *, default_model: str = "") -> None:
        """Show a model. `install_hint` is the command that installs the missing library."""
        self._row, self._install_hint = row, install_hint
        self._title.setText(allow_breaks(self._fixed_title or visible(row.title)))
        self._text.setText(allow_breaks(model_text(row, with_title=bool(self._fixed_title))))
        text, tone = self._state_text(row)
        self._state.setText(allow_breaks(text))
        self._state.setVisible(bool(text))
        set_style_properties(self._state, tone=tone)
        done = row.download.done if row.download else row.partial
        self._bar.setVisible(not row.is_available and (row.download is not None or done > 0))
        self._bar.setRange(0, 1000)
        self._bar.setValue(done * 1000 // max(1, row.size))
        self._actions = self._choose_actions(row, is_default=default_model == f"local/{row.name}")
        for button, action in zip((self._main, self._other), self._actions, strict=True):
            if button.text() != action.text:
                button.setText(action.text)
                button.setAccessibleName(f"{action.text}: {visible(row.title)}")
                button.updateGeometry()
            button.setVisible(bool(action.name))
        self._main.set_tone("primary" if self._actions[0].name == "download" and self._fixed_title else "")

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.strong)
        for part in (self._text, self._state):
            part.setFont(look.fonts.second)
        self._bar.setMaximumHeight(look.size(6))
        self._main.restyle(look)
        self._other.restyle(look)
        self._update_icon()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ignore the second press of a double click: it would pause the download that the first one started."""
        return event.type() == QEvent.Type.MouseButtonDblClick

    def _emit(self, number: int) -> None:
        if self._row is not None and (action := self._actions[number]).name:
            self.action_requested.emit(action.name, self._row.name)

    def _choose_actions(self, row: LocalModelRow, *, is_default: bool) -> tuple[_Action, _Action]:
        """Return the actions of the two buttons."""
        cancel = _Action("cancel", _tr("Cancel"))
        more = _Action() if self._can_remove else _Action("more", _tr("Other models…"))
        if row.download is not None:
            return _Action("pause", _tr("Pause")), cancel
        if row.is_available:
            remove = _Action("remove", _tr("Delete") if row.origin == "Journeyman" else _tr("Remove"))
            use = _Action() if is_default else _Action("use", _tr("Use"))
            return use, remove if self._can_remove and row.origin in OWN else more
        if self._install_hint or not row.fits:
            return _Action(), cancel if row.partial else more
        if row.error is not None:
            return _Action("download", _tr("Try again")), cancel if row.partial else more
        if row.partial:
            return _Action("download", _tr("Resume")), cancel
        return _Action("download", _tr("Download")), more

    def _state_text(self, row: LocalModelRow) -> tuple[str, str]:
        """Return what is happening with the model, and its tone."""
        if row.download is not None:
            return progress_text(row.download), "second"
        if row.is_available:
            return available_text(row), "done"
        if self._install_hint:
            hint = _tr("The library that runs models is not installed. Install it with: {}")
            return hint.format(self._install_hint), "waiting"
        if row.error is not None:
            return visible(str(row.error)), "failed"
        if row.partial:
            return _tr("Paused at {}%").format(row.partial * 100 // max(1, row.size)), "waiting"
        return ("", "second") if row.fits else (_tr("It does not fit in the memory of this computer."), "second")

    def _lay_out(self) -> None:
        texts = QVBoxLayout()
        texts.setSpacing(2)
        for part in (self._title, self._text, self._state):
            texts.addWidget(part)
        texts.addSpacing(2)
        texts.addWidget(self._bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 10, 10, 10)
        row.setSpacing(12)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        self._buttons = QBoxLayout(QBoxLayout.Direction.LeftToRight)
        self._buttons.setSpacing(6)
        for button in (self._other, self._main):
            self._buttons.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(self._buttons)

    # Qt overrides

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Put the buttons below each other if they would leave the texts too little width."""
        super().resizeEvent(event)
        narrow, directions = event.size().width() < self._look.size(NARROW_WIDTH), QBoxLayout.Direction
        self._buttons.setDirection(directions.TopToBottom if narrow else directions.LeftToRight)

    def _update_icon(self) -> None:
        color = self._look.theme.color("second")
        self._icon.setPixmap(pixmap("cpu", color, self._look.size(ICON), self.devicePixelRatioF()))


def model_text(row: LocalModelRow, *, with_title: bool) -> str:
    """Return what a model is and what it needs."""
    figures = [gigabytes(row.size), _tr("needs {} of memory").format(gigabytes(row.memory)), row.license]
    parts = [visible(row.title) if with_title else "", row.purpose, *figures]
    return " · ".join(part for part in parts if part)


def gigabytes(octets: int) -> str:
    """Format a size as hubs and shops do, in steps of a thousand."""
    return f"{octets / 1e9:.1f} GB"


def progress_text(progress: DownloadProgress) -> str:
    """Return the progress of a download with its speed and the time left."""
    parts = [_tr("{percent}% of {size}").format(percent=_percent(progress), size=gigabytes(progress.size))]
    if progress.speed:
        parts.append(_tr("{} MB/s").format(f"{progress.speed / 1e6:.1f}"))
    if (left := progress.seconds_left) is not None:
        parts.append(_tr("{} left").format(duration(max(1, round(left)) * 1_000_000)))
    return " · ".join(parts)


def available_text(row: LocalModelRow) -> str:
    """Return where a model is and how fast it was here."""
    place = _tr("On this computer") if row.origin in OWN else _tr("On this computer, from {}").format(row.origin)
    state = {"loading": _tr("loading…"), "loaded": _tr("loaded"), "": ""}[row.load_state]
    speed = row.speed
    read = _tr("reads {} tokens/s").format(f"{speed.prompt:g}") if speed.prompt else ""
    written = _tr("writes {} tokens/s").format(f"{speed.reply:g}") if speed.reply else ""
    return " · ".join(part for part in (place, state, read, written) if part)


def _percent(progress: DownloadProgress) -> int:
    return min(99, progress.done * 100 // max(1, progress.size))


def _tr(text: str) -> str:
    return QCoreApplication.translate("local models", text)
