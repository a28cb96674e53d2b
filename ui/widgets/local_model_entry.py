"""An entry for a model that Journeyman can run itself: a description, the state of its download, and buttons."""

from enum import StrEnum
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QHBoxLayout, QLabel, QProgressBar, QVBoxLayout, QWidget

from core.models.local.model_state import DownloadProgress, LocalModelRow
from ui.style.icons import pixmap
from ui.style.number_formats import duration
from ui.style.theme import Look, set_style_properties
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.labels import allow_breaks, label
from ui.widgets.stacking_row import StackingRow
from ui.widgets.toned_text import TonedText

ICON: Final = 18
NARROW_WIDTH: Final = 460  # pixels; in a narrower entry, the buttons are placed below each other
TEXT_WIDTH: Final = 120  # pixels; if less is left for the texts beside the buttons, the buttons move below them
REMOVABLE_ORIGINS: Final = ("Journeyman", "you")  # where a model file comes from if it can be removed here


class LocalModelAction(StrEnum):
    """Actions on local models. A signal carries an action as text, and the model or file that it concerns."""

    DOWNLOAD = "download"
    PAUSE = "pause"
    CANCEL = "cancel"
    REMOVE = "remove"
    USE = "use"
    SHOW_ALL = "show_all"  # show the settings page with all local models
    REFRESH = "refresh"  # search for models on this computer again
    ADD_FILE = "add_file"  # the signal carries the path of the model file
    ADD_ADDRESS = "add_address"  # download a model file; the signal carries its address


class _Action(NamedTuple):
    name: LocalModelAction | None = None
    text: str = ""


class _Actions(NamedTuple):
    """The actions of the two buttons; a button without an action is hidden."""

    main: _Action
    other: _Action


class LocalModelEntry(QFrame):
    """The texts, the download progress and the buttons of one model.

    `action_requested` carries an action and the model. `name` is the prefix of the object names. If `title` is given,
    it replaces the title of the model, which then becomes part of the text. With `can_remove`, model files of
    Journeyman and of the user can be removed; without it, a button leads to the page with all models.
    """

    action_requested = Signal(str, str)  # a `LocalModelAction`, and the name of the model

    def __init__(self, look: Look, name: str, *, title: str = "", can_remove: bool = False) -> None:
        super().__init__()
        self._look = look
        self._fixed_title = title
        self._can_remove = can_remove
        self._row: LocalModelRow | None = None
        self._install_hint = ""
        self._actions = _Actions(_Action(), _Action())
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
        self._main_button = Button(look, "", name=name)
        self._other_button = Button(look, "", name=f"{name}.other", tone="quiet")
        self._main_button.installEventFilter(self)
        self._main_button.clicked.connect(lambda: self._request(self._actions.main))
        self._other_button.clicked.connect(lambda: self._request(self._actions.other))
        self._lay_out()
        self.restyle(look)

    @property
    def row(self) -> LocalModelRow | None:
        return self._row

    def show_row(self, row: LocalModelRow, install_hint: str = "", *, default_model: str = "") -> None:
        """Show a model. `install_hint` is a command that installs the library needed to run it."""
        self._row, self._install_hint = row, install_hint
        self._title.setText(allow_breaks(self._fixed_title or visible(row.title)))
        self._text.setText(allow_breaks(model_text(row, with_title=bool(self._fixed_title))))
        state = self._state_text(row)
        self._state.setText(allow_breaks(state.text))
        self._state.setVisible(bool(state.text))
        set_style_properties(self._state, tone=state.tone)
        done = row.download.done if row.download else row.partial
        self._bar.setVisible(not row.is_available and (row.download is not None or done > 0))
        self._bar.setRange(0, 1000)
        self._bar.setValue(done * 1000 // max(1, row.size))
        self._actions = self._choose_actions(row, is_default=default_model == f"local/{row.name}")
        main, other = (self._main_button, self._actions.main), (self._other_button, self._actions.other)
        for button, action in (main, other):
            if button.text() != action.text:
                button.setText(action.text)
                button.setAccessibleName(f"{action.text}: {visible(row.title)}")
                button.updateGeometry()
            button.setVisible(bool(action.name))
        offers_download = self._actions.main.name == LocalModelAction.DOWNLOAD
        self._main_button.set_tone("primary" if offers_download and self._fixed_title else "")

    def restyle(self, look: Look) -> None:
        self._look = look
        self._title.setFont(look.fonts.strong)
        for part in (self._text, self._state):
            part.setFont(look.fonts.second)
        self._bar.setMaximumHeight(look.size(6))
        self._main_button.restyle(look)
        self._other_button.restyle(look)
        self._texts.setMinimumWidth(look.size(TEXT_WIDTH))
        self._update_icon()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Ignore the second press of a double click, which would pause the download that the first one has started."""
        return event.type() == QEvent.Type.MouseButtonDblClick

    def _request(self, action: _Action) -> None:
        if self._row is not None and action.name:
            self.action_requested.emit(action.name, self._row.name)

    def _choose_actions(self, row: LocalModelRow, *, is_default: bool) -> _Actions:
        """Return the actions that are possible in the state of the model."""
        actions = LocalModelAction
        cancel = _Action(actions.CANCEL, _tr("Cancel"))
        more = _Action() if self._can_remove else _Action(actions.SHOW_ALL, _tr("Other models…"))
        if row.download is not None:
            return _Actions(_Action(actions.PAUSE, _tr("Pause")), cancel)
        if row.is_available:
            remove = _Action(actions.REMOVE, _tr("Delete") if row.origin == "Journeyman" else _tr("Remove"))
            use = _Action() if is_default else _Action(actions.USE, _tr("Use"))
            return _Actions(use, remove if self._can_remove and row.origin in REMOVABLE_ORIGINS else more)
        cancel_or_more = cancel if row.partial else more
        if self._install_hint or not row.fits:
            return _Actions(_Action(), cancel_or_more)
        if row.error is not None:
            return _Actions(_Action(actions.DOWNLOAD, _tr("Try again")), cancel_or_more)
        download_text = _tr("Resume") if row.partial else _tr("Download")
        return _Actions(_Action(actions.DOWNLOAD, download_text), cancel_or_more)

    def _state_text(self, row: LocalModelRow) -> TonedText:
        """Return a text that says what is happening with the model."""
        if row.download is not None:
            return TonedText(progress_text(row.download), "second")
        if row.is_available:
            return TonedText(available_text(row), "done")
        if self._install_hint:
            hint = _tr("The library that runs models is not installed. Install it with: {}")
            return TonedText(hint.format(self._install_hint), "waiting")
        if row.error is not None:
            return TonedText(visible(str(row.error)), "failed")
        if row.partial:
            return TonedText(_tr("Paused at {}%").format(row.partial * 100 // max(1, row.size)), "waiting")
        return TonedText("" if row.fits else _tr("It does not fit in the memory of this computer."), "second")

    def _lay_out(self) -> None:
        self._texts = QWidget()
        texts = QVBoxLayout(self._texts)
        texts.setContentsMargins(0, 0, 0, 0)
        texts.setSpacing(2)
        for part in (self._title, self._text, self._state):
            texts.addWidget(part)
        texts.addSpacing(2)
        texts.addWidget(self._bar)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 10, 10, 10)
        row.setSpacing(12)
        row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        buttons = QWidget()
        self._buttons_layout = QBoxLayout(QBoxLayout.Direction.LeftToRight, buttons)
        self._buttons_layout.setContentsMargins(0, 0, 0, 0)
        self._buttons_layout.setSpacing(6)
        for button in (self._other_button, self._main_button):
            self._buttons_layout.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(StackingRow(self._texts, buttons, spacing=12, alignment=Qt.AlignmentFlag.AlignTop), 1)

    # Overridden Qt methods

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place the buttons below each other if they would leave too little width for the texts."""
        super().resizeEvent(event)
        is_narrow, directions = event.size().width() < self._look.size(NARROW_WIDTH), QBoxLayout.Direction
        self._buttons_layout.setDirection(directions.TopToBottom if is_narrow else directions.LeftToRight)

    def _update_icon(self) -> None:
        color = self._look.theme.color("second")
        self._icon.setPixmap(pixmap("cpu", color, self._look.size(ICON), self.devicePixelRatioF()))


def model_text(row: LocalModelRow, *, with_title: bool) -> str:
    """Return a line that describes a model and says how much disk space and memory it needs."""
    figures = [gigabytes(row.size), _tr("needs {} of memory").format(gigabytes(row.memory)), row.license]
    parts = [visible(row.title) if with_title else "", row.purpose, *figures]
    return " · ".join(part for part in parts if part)


def gigabytes(byte_count: int) -> str:
    """Format a size in bytes with decimal units (1 GB is a billion bytes), as model hubs and shops do."""
    return f"{byte_count / 1e9:.1f} GB"


def progress_text(progress: DownloadProgress) -> str:
    """Return the progress of a download as text, with its speed and the remaining time."""
    parts = [_tr("{percent}% of {size}").format(percent=_percent(progress), size=gigabytes(progress.size))]
    if progress.speed:
        parts.append(_tr("{} MB/s").format(f"{progress.speed / 1e6:.1f}"))
    if (left := progress.seconds_left) is not None:
        parts.append(_tr("{} left").format(duration(max(1, round(left)) * 1_000_000)))
    return " · ".join(parts)


def available_text(row: LocalModelRow) -> str:
    """Return a text that says where a model file comes from, and how fast the model ran on this computer."""
    place = (
        _tr("On this computer")
        if row.origin in REMOVABLE_ORIGINS
        else _tr("On this computer, from {}").format(row.origin)
    )
    state = {"loading": _tr("loading…"), "loaded": _tr("loaded"), "": ""}[row.load_state]
    speed = row.speed
    read = _tr("reads {} tokens/s").format(f"{speed.prompt:g}") if speed.prompt else ""
    written = _tr("writes {} tokens/s").format(f"{speed.reply:g}") if speed.reply else ""
    return " · ".join(part for part in (place, state, read, written) if part)


def _percent(progress: DownloadProgress) -> int:
    return min(99, progress.done * 100 // max(1, progress.size))


def _tr(text: str) -> str:
    return QCoreApplication.translate("local models", text)
