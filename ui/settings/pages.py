"""Pages that are no fields: the rules a person made, and the data that is kept."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.domain.rules import Rule
from core.domain.steps import line as first_line
from core.store.weights import Weight
from ui.figures import size
from ui.theme import Look
from ui.visible import visible
from ui.widgets.button import Button
from ui.widgets.words import label, surface

FOLDER: Final = "folder"  # the tool of such rules
KINDS = {
    "tool_returned": "what tools returned",
    "replied": "replies of the model",
    "file_changed": "files as they were before changes",
    "person_spoke": "what you said and attached",
    "queue_changed": "what you changed of messages that wait",
    "files_rewound": "files that were put back",
    "run_started": "scripts and how runs began",
    "context_compacted": "summaries of the context",
}


@dataclass(frozen=True, slots=True)
class DataState:
    """What there is to say of the data: where it is, how large, which backups, which sessions weigh most."""

    folder: str
    stored: int
    facts: int
    sessions: int
    trashed: int
    backups: tuple[str, ...] = ()
    weights: tuple[Weight, ...] = ()


class RuleWords(NamedTuple):
    """How a page speaks of rules: as orders to tools, or as folders that are trusted or not."""

    name: str  # of a row
    button: str  # its name, and its words
    deed: str
    spoken: str
    none: str
    about: str = ""


def rule_words(*, of_folder: bool) -> RuleWords:
    if of_folder:
        about = _tr(
            "What a trusted folder brings along is obeyed: its AGENTS.md, skills, commands and servers. In any other "
            "folder these are words of a stranger."
        )
        none = _tr("You have not said of any folder whether you trust it.")
        return RuleWords("folder", "forget_folder", _tr("Forget"), _tr("Forget what was said of {}"), none, about)
    none = _tr("No rules yet. Choose “always” or “this folder” when an agent asks, and the rule is listed here.")
    return RuleWords("rule", "revoke", _tr("Revoke"), _tr("Revoke {}"), none)


class RulesPage(QWidget):
    """Rules in plain words, each with the button that takes it back. None where they cannot be read: then `why`."""

    revoked = Signal(str)

    def __init__(self, look: Look, words: RuleWords, rules: Sequence[Rule] | None, why: str = "") -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        if words.about:
            column.addWidget(label(words.about, look.fonts.second, "second", wrap=True))
        if rules is None:
            column.addWidget(label(why, look.fonts.text, "failed", name=f"settings.{words.name}s.trouble", wrap=True))
        elif not rules:
            name = f"settings.{words.name}s.none"
            column.addWidget(label(words.none, look.fonts.text, "second", name=name, wrap=True))
        for rule in rules or ():
            column.addWidget(self._row(look, words, rule))

    def _row(self, look: Look, words: RuleWords, rule: Rule) -> QWidget:
        made = surface("well")
        row = QHBoxLayout(made)
        row.setContentsMargins(12, 8, 8, 8)
        column = QVBoxLayout()
        column.setSpacing(2)
        said, under, tone = _said(rule)
        column.addWidget(label(said, look.fonts.mono, name=f"settings.{words.name}.{rule.id}", wrap=True))
        column.addWidget(label(under, look.fonts.second, tone, wrap=True))
        button = Button(look, words.deed, name=f"settings.{words.button}.{rule.id}")
        button.setAccessibleName(words.spoken.format(said))
        button.clicked.connect(lambda: self.revoked.emit(rule.id))
        row.addLayout(column, 1)
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return made


def _said(rule: Rule) -> tuple[str, str, str]:
    """Its two lines, and the tone of the second."""
    if not is_of_folder(rule):
        where = _tr("in {}").format(visible(rule.where)) if rule.where else _tr("everywhere")
        return visible(rule.words), where, "second"
    trusted = rule.effect == "allow"
    return visible(rule.where), _tr("Trusted") if trusted else _tr("Not trusted"), "done" if trusted else "second"


def is_of_folder(rule: Rule) -> bool:
    """It says whether a folder is trusted, not what a tool may do."""
    return rule.tool == FOLDER


class DataPage(QWidget):
    """How much there is, what weighs most, and what can be done about it."""

    wanted = Signal(str, str)  # back_up, compact, empty, folder; restore and which
    session_wanted = Signal(str)

    def __init__(self, look: Look, state: DataState) -> None:
        super().__init__()
        self._look = look
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        said = _tr("{size} in {sessions} sessions, {facts} facts. Kept in {folder}").format(
            size=size(state.stored), sessions=f"{state.sessions:,}", facts=f"{state.facts:,}", folder=state.folder
        )
        column.addWidget(label(said, look.fonts.text, name="settings.data.said", wrap=True))
        column.addLayout(self._buttons(state))
        column.addSpacing(8)
        column.addWidget(label(_tr("Backups"), look.fonts.bold))
        text = _tr("One is made for each day of use, and one before the form of the data changes. The last 7 are kept.")
        none = _tr("There is none yet.")
        words = text if state.backups else f"{text} {none}"
        column.addWidget(label(words, look.fonts.second, "second", name="settings.data.backups", wrap=True))
        for name in state.backups:
            column.addWidget(self._backup(name))
        if state.weights:
            column.addSpacing(8)
            column.addWidget(label(_tr("What weighs most"), look.fonts.bold))
        for weight in state.weights:
            column.addWidget(self._row(weight))

    def _buttons(self, state: DataState) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(8)
        buttons = [
            ("back_up", _tr("Back up now"), True),
            ("compact", _tr("Make the file smaller"), True),
            ("empty", _tr("Empty the trash ({})…").format(state.trashed), state.trashed > 0),
            ("folder", _tr("Show the folder"), True),
        ]
        for word, text, can in buttons:
            button = Button(self._look, text, name=f"settings.data.{word}")
            button.setEnabled(can)
            button.clicked.connect(lambda _=False, word=word: self.wanted.emit(word, ""))
            row.addWidget(button)
        row.addStretch(1)
        return row

    def _backup(self, name: str) -> QWidget:
        look, made = self._look, surface("well")
        row = QHBoxLayout(made)
        row.setContentsMargins(12, 4, 8, 4)
        day, _, before = name.partition("-before-")
        said = _tr("{day}, before a change of the form").format(day=day) if before else day
        row.addWidget(label(said, look.fonts.text, name=f"settings.backup.{name}"), 1)
        button = Button(look, _tr("Restore…"), name=f"settings.restore.{name}")
        button.setAccessibleName(_tr("Restore the backup of {}").format(said))
        button.clicked.connect(lambda: self.wanted.emit("restore", name))
        row.addWidget(button)
        return made

    def _row(self, weight: Weight) -> QWidget:
        look, made = self._look, surface("well")
        row = QHBoxLayout(made)
        row.setContentsMargins(12, 8, 8, 8)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(label(visible(first_line(weight.title)), look.fonts.strong, wrap=True))
        why = _tr("{facts} facts; mostly {kinds}").format(facts=f"{weight.facts:,}", kinds=_why(weight))
        words.addWidget(label(why, look.fonts.second, "second", wrap=True))
        row.addLayout(words, 1)
        row.addWidget(label(size(weight.size), look.fonts.text), 0, Qt.AlignmentFlag.AlignTop)
        button = Button(look, _tr("Go there"), name=f"settings.weight.{weight.session}", tone="quiet")
        button.setAccessibleName(_tr("Go to {}").format(weight.title))
        button.clicked.connect(lambda: self.session_wanted.emit(weight.session))
        row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        return made


def _why(weight: Weight) -> str:
    """The kinds that make it heavy: those that are a tenth of it."""
    heavy = [kind for kind, part in weight.kinds if part * 10 >= weight.size] or [kind for kind, _ in weight.kinds[:1]]
    return ", ".join(_tr(KINDS.get(kind, kind.replace("_", " "))) for kind in heavy)


def _tr(text: str) -> str:
    return QCoreApplication.translate("settings", text)
