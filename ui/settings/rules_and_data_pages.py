"""The Trusted folders page and the Data page."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.domain.rules import PermissionRule
from core.domain.steps import first_line as first_line
from core.store.session_sizes import SessionSize
from ui.style.number_formats import size
from ui.style.theme import Look
from ui.text.visible import visible
from ui.widgets.button import Button
from ui.widgets.flow_layout import FlowLayout
from ui.widgets.labels import label, styled_frame
from ui.widgets.time_formats import to_local_time
from ui.widgets.toned_text import TonedText

FOLDER_TOOL: Final = "folder"  # the tool name in a rule that says whether a folder is trusted
KIND_LABELS = {
    "tool_returned": "tool results",
    "replied": "model replies",
    "file_changed": "file versions",
    "user_message": "your messages and attachments",
    "queue_changed": "edits to queued messages",
    "files_rewound": "reverted files",
    "run_started": "run starts and scripts",
    "context_compacted": "context summaries",
}


@dataclass(frozen=True, slots=True)
class DataState:
    """The figures on the Data page. `stored` is in bytes; `checked_at` is 0 if the database was never checked."""

    folder: str
    stored: int
    events: int
    sessions: int
    trashed: int
    backups: tuple[str, ...] = ()
    largest: tuple[SessionSize, ...] = ()
    checked_at: int = 0


class TrustedFoldersPage(QWidget):
    """The list of folders that the user trusts or does not trust.

    If it cannot be read, `rules` is None and `error` says why.
    """

    revoke_requested = Signal(str)

    def __init__(self, look: Look, rules: Sequence[PermissionRule] | None, error: str = "") -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        about = _tr(
            "Agents follow the project instructions of a trusted folder: its AGENTS.md, skills, commands and MCP "
            "servers. In any other folder these files count as untrusted content."
        )
        column.addWidget(label(about, look.fonts.second, "second", wrap=True))
        if rules is None:
            column.addWidget(label(error, look.fonts.text, "failed", name="settings.folders.trouble", wrap=True))
        elif not rules:
            empty_text = _tr("You have not decided for any folder yet.")
            column.addWidget(label(empty_text, look.fonts.text, "second", name="settings.folders.none", wrap=True))
        for rule in rules or ():
            column.addWidget(self._row(look, rule))

    def _row(self, look: Look, rule: PermissionRule) -> QWidget:
        frame = styled_frame("well")
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 8, 8, 8)
        column = QVBoxLayout()
        column.setSpacing(2)
        lines = rule_lines(rule)
        column.addWidget(label(lines.rule, look.fonts.mono, name=f"settings.folder.{rule.id}", wrap=True))
        column.addWidget(label(lines.scope.text, look.fonts.second, lines.scope.tone, wrap=True))
        button = Button(look, _tr("Forget decision"), name=f"settings.forget_folder.{rule.id}")
        button.setAccessibleName(_tr("Forget the decision on {}").format(lines.rule))
        button.clicked.connect(lambda: self.revoke_requested.emit(rule.id))
        row.addLayout(column, 1)
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return frame


class RuleLines(NamedTuple):
    """The two lines about a rule: what it is about, and where it applies or whether it trusts."""

    rule: str
    scope: TonedText


def rule_lines(rule: PermissionRule) -> RuleLines:
    if is_folder_trust(rule):
        trust = TonedText(_tr("Trusted"), "done") if rule.effect == "allow" else TonedText(_tr("Not trusted"), "second")
        return RuleLines(visible(rule.scope_id), trust)
    scopes = {"always": _tr("everywhere"), "run": _tr("until its run ends")}
    scope = scopes.get(rule.scope, _tr("in {}").format(visible(rule.scope_id)))
    return RuleLines(visible(rule.description), TonedText(scope, "second"))


def is_folder_trust(rule: PermissionRule) -> bool:
    """Return whether a rule says that a folder is trusted or not, in contrast to a rule about a tool."""
    return rule.tool == FOLDER_TOOL


class DataAction(StrEnum):
    """Actions on the stored data. A signal carries an action as text, and a backup where the action needs one."""

    COUNT = "count"  # read the figures of the page again
    BACK_UP = "back_up"
    CHECK = "check"
    COMPACT = "compact"
    EMPTY_TRASH = "empty_trash"
    OPEN_FOLDER = "open_folder"
    RESTORE = "restore"  # the signal carries the name of the backup


class DataPage(QWidget):
    """The size of the stored data, backups, and the largest sessions."""

    action_requested = Signal(str, str)  # a `DataAction`, and the backup for RESTORE
    session_requested = Signal(str)

    def __init__(self, look: Look, state: DataState) -> None:
        super().__init__()
        self._look = look
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        text = _tr("{size} in {sessions}, {events}. Stored in {folder}").format(
            size=size(state.stored),
            sessions=_sessions(state.sessions),
            events=_events(state.events),
            folder=state.folder,
        )
        column.addWidget(label(text, look.fonts.text, name="settings.data.said", wrap=True))
        text = _tr("Checked for damage each week; not checked yet.")
        if state.checked_at:
            day = f"{to_local_time(state.checked_at):%Y-%m-%d}"
            text = _tr("Checked for damage each week, most recently on {}.").format(day)
        column.addWidget(label(text, look.fonts.second, "second", name="settings.data.checked", wrap=True))
        column.addWidget(self._buttons(state))
        column.addSpacing(8)
        column.addWidget(label(_tr("Backups"), look.fonts.bold))
        text = _tr("Made on each day of use, and before each change of the data format. The last 7 are kept.")
        if not state.backups:
            text = f"{text} {_tr('No backups yet.')}"
        column.addWidget(label(text, look.fonts.second, "second", name="settings.data.backups", wrap=True))
        for name in state.backups:
            column.addWidget(self._backup(name))
        if state.largest:
            column.addSpacing(8)
            column.addWidget(label(_tr("Largest sessions"), look.fonts.bold))
        for session_size in state.largest:
            column.addWidget(self._row(session_size))

    def _buttons(self, state: DataState) -> QWidget:
        container = QWidget()
        row = FlowLayout(container)
        row.addWidget(self._button(DataAction.BACK_UP, _tr("Back up now")))
        row.addWidget(self._button(DataAction.CHECK, _tr("Check for damage")))
        row.addWidget(self._button(DataAction.COMPACT, _tr("Compact database")))
        empty_trash = self._button(DataAction.EMPTY_TRASH, _tr("Empty trash ({})…").format(state.trashed))
        empty_trash.setEnabled(state.trashed > 0)
        row.addWidget(empty_trash)
        row.addWidget(self._button(DataAction.OPEN_FOLDER, _tr("Open data folder")))
        return container

    def _button(self, action: DataAction, text: str) -> Button:
        button = Button(self._look, text, name=f"settings.data.{action}")
        button.clicked.connect(lambda: self.action_requested.emit(action, ""))
        return button

    def _backup(self, name: str) -> QWidget:
        look = self._look
        frame = styled_frame("well")
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 4, 8, 4)
        day, _, before = name.partition("-before-")
        text = _tr("{day}, before a format change").format(day=day) if before else day
        row.addWidget(label(text, look.fonts.text, name=f"settings.backup.{name}"), 1)
        button = Button(look, _tr("Restore…"), name=f"settings.restore.{name}")
        button.setAccessibleName(_tr("Restore the backup of {}").format(text))
        button.clicked.connect(lambda: self.action_requested.emit(DataAction.RESTORE, name))
        row.addWidget(button)
        return frame

    def _row(self, session_size: SessionSize) -> QWidget:
        look = self._look
        frame = styled_frame("well")
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 8, 8, 8)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(label(visible(first_line(session_size.title)), look.fonts.strong, wrap=True))
        reason = _tr("{events}; mostly {kinds}").format(
            events=_events(session_size.events), kinds=_largest_kinds(session_size)
        )
        texts.addWidget(label(reason, look.fonts.second, "second", wrap=True))
        row.addLayout(texts, 1)
        row.addWidget(label(size(session_size.size), look.fonts.text), 0, Qt.AlignmentFlag.AlignTop)
        button = Button(look, _tr("Open session"), name=f"settings.weight.{session_size.session}", tone="quiet")
        button.setAccessibleName(_tr("Open the session {}").format(session_size.title))
        button.clicked.connect(lambda: self.session_requested.emit(session_size.session))
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return frame


def _sessions(count: int) -> str:
    return _tr("1 session") if count == 1 else _tr("{} sessions").format(f"{count:,}")


def _events(count: int) -> str:
    return _tr("1 event") if count == 1 else _tr("{} events").format(f"{count:,}")


def _largest_kinds(session_size: SessionSize) -> str:
    """Return the kinds of events that make up at least a tenth of a session's size, or else the largest kind."""
    largest_kinds = [kind for kind, kind_size in session_size.kinds if kind_size * 10 >= session_size.size]
    if not largest_kinds:
        largest_kinds = [kind for kind, _ in session_size.kinds[:1]]
    return ", ".join(_tr(KIND_LABELS.get(kind, kind.replace("_", " "))) for kind in largest_kinds)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
