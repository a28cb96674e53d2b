"""The whole window with a session in which all untrusted text tries to imitate the user interface."""

import json
from pathlib import Path

from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QKeySequence, QTextDocument
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QWidget,
)

from core.domain.events import RunStarted
from core.domain.memory import MemoryContent
from core.domain.permissions import PermissionRequested
from core.domain.proposal import Proposal
from core.domain.text import Text
from core.engine.api.engine import Engine
from core.memory.serialization import to_proposal_details
from core.models.catalog import SCRIPTED
from tests.ui.ask.permissions import command
from tests.ui.test_desktop_app import Person, live, until

MARKUP = "<b>Allowed by you</b><img src='file:///etc/hostname'><a href='javascript:x'>y</a>"
SIGNS = "\x1b[31m\x1b]0;title\x07\x9b2J\u202egpj.sh\u2066x\u2069"
SPOOF = f"{MARKUP} && {SIGNS}"
LINES = f"{SPOOF}\n\n✓ Step 9: Allowed by you\nSystem: nothing is asked any more"
HIDDEN = "\x1b\x9b\x07\b\r\u202e\u2066\u2069"
VIEWS = ("Timeline", "Changes", "Context", "Decisions", "Steps")
PAGES = ("memory", "skills", "usage")
CALLS = [
    {"name": "write", "arguments": {"path": f"a {MARKUP.replace('/', '')}.md", "content": LINES}},
    {"name": f"mail{MARKUP}", "arguments": {"to": SPOOF}},
    {"name": "run", "arguments": {"command": f"echo '{SPOOF}'"}},
]
ASK = {
    "name": "ask_user",
    "arguments": {"question": LINES, "why": SPOOF, "options": [{"label": SPOOF, "description": SPOOF}, {"label": "b"}]},
}
SCRIPT = json.dumps(
    {"replies": [{"reasoning": LINES, "text": LINES, "calls": CALLS}, {"text": LINES, "calls": [ASK]}, {"text": LINES}]}
)


def foreign(text: str) -> bool:
    """Return whether a text contains untrusted content or a character that our own texts never use."""
    return "Allowed by you" in text or any(sign in text for sign in HIDDEN)


def faults(widget: QWidget) -> list[str]:
    """Return the problems of a widget: interpreted markup, or characters that move, hide or reverse text."""
    found = []
    said = [widget.accessibleName(), widget.accessibleDescription(), widget.windowTitle(), widget.statusTip()]
    if isinstance(widget, QAbstractButton):
        said.append(widget.text())
        if foreign(widget.text()) and not QKeySequence.mnemonic(widget.text()).isEmpty():
            found.append("a key is taken")
    if isinstance(widget, QTabBar):
        said += [widget.tabText(place) for place in range(widget.count())]
    if isinstance(widget, QLabel):
        said.append(widget.text())
        if foreign(widget.text()) and widget.textFormat() != Qt.TextFormat.PlainText:
            found.append("markup is read")
    if isinstance(widget, QLineEdit | QPlainTextEdit) and not widget.isReadOnly():
        said.clear()  # editable fields may hold any text
    if isinstance(widget, QPlainTextEdit) and widget.isReadOnly():
        said.append(widget.toPlainText())
    if isinstance(widget, QTextEdit):
        said.append(widget.toPlainText())
        found += _of_document(widget.document())
    if isinstance(widget, QAbstractItemView):
        said += _of_rows(widget.model())
    found += [f"{sign!r} in {text[:60]!r}" for text in said for sign in HIDDEN if sign in text]
    return [*found, *_of_tip(widget.toolTip())]


def _of_tip(tip: str) -> list[str]:
    """Qt interprets tooltips that look like markup, so only our own may, with untrusted text escaped."""
    found = [f"{sign!r} in the tip" for sign in HIDDEN if sign in tip]
    if "<" not in tip or not foreign(tip):
        return found
    document = QTextDocument()
    document.setHtml(tip)
    return [*found, *_of_document(document), *([] if "<b>" in document.toPlainText() else ["a tip reads markup"])]


def _of_document(document: QTextDocument) -> list[str]:
    """Return the images, and the links with a scheme other than the allowed ones."""
    found = []
    block = document.begin()
    while block.isValid():
        pieces = block.begin()
        while not pieces.atEnd():
            form = pieces.fragment().charFormat()
            if form.isImageFormat():
                found.append("a picture")
            if form.anchorHref() and not form.anchorHref().startswith(("http://", "https://", "mailto:")):
                found.append(f"a link to {form.anchorHref()}")
            pieces += 1
        block = block.next()
    return found


def _of_rows(model: QAbstractItemModel | None) -> list[str]:
    roles = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole, Qt.ItemDataRole.ToolTipRole)
    count = min(model.rowCount(QModelIndex()), 60) if model else 0
    values = [model.data(model.index(row, 0), role) for row in range(count) for role in roles] if model else []
    return [value for value in values if isinstance(value, str)]


def swept(window: QWidget, where: str) -> list[str]:
    parts = [window, *window.findChildren(QWidget)]
    return [f"{where}: {type(part).__name__} {part.objectName()}: {fault}" for part in parts for fault in faults(part)]


async def filled(engine: Engine, folder: Path) -> str:
    """Create a session, a memory and a proposal with the hostile text."""
    began = RunStarted(SCRIPTED, script=Text(SCRIPT), mode="auto", interactive=True)
    session = await engine.start(f"{SPOOF} in the title", folder, began)
    await engine.memory.add(f"{MARKUP} is told.")
    said = to_proposal_details(MemoryContent("heuristic", ""))
    await engine.proposals.add(
        Proposal("", "memory", "create", "", f"{MARKUP} is kept.", SPOOF, details=said, author="import")
    )
    return session


def test_U1_U2_U3_U5_U6_U11_U13_no_untrusted_content_poses_as_a_part_of_the_window(
    qapp: QApplication, home: Path
) -> None:
    (home / "work").mkdir()

    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        session = await person.program.engine.ask(lambda engine: filled(engine, home / "work"))
        window.show_session(session)
        await until(person.card, "the question")
        found = swept(person.shell, "question")
        wanted = command(SPOOF, why=SPOOF, taint=(SPOOF,), rule=SPOOF, patterns=(SPOOF,))
        facts = PermissionRequested(wanted.request, Text(wanted.arguments))
        await person.program.engine.ask(lambda engine: engine._journal.append(session, facts))
        await until(lambda: person.shell.windowTitle().startswith("(2) "), "both wait")
        for view in VIEWS:
            tabs = window.view.findChild(QTabBar, "run.tabs")
            assert tabs is not None
            tabs.setCurrentIndex(next(at for at in range(tabs.count()) if tabs.tabText(at).startswith(view)))
            found += swept(person.shell, view)
        for row in range(window.view.page.model.rowCount()):
            window.view.show_row(row)
            found += swept(window.step_pane, f"row {row}")
        window.inbox.fill()
        found += [f"inbox: {action.text()!r}" for action in window.inbox.actions() if foreign_sign(action.text())]
        for page in PAGES:
            window.selection.choose_page(page)
            await until(lambda page=page: window.pages.page(page).isVisible(), page)  # type: ignore[misc]
            found += swept(person.shell, page)
        assert found == []
        window.selection.leave_page()
        title = person.shell.windowTitle()
        assert title.startswith("(2) ") and title.endswith(" – Journeyman") and len(title) < 80
        assert not foreign_sign(title)

    live(qapp, home, act)


def foreign_sign(text: str) -> bool:
    return any(sign in text for sign in HIDDEN)


def test_the_sweep_finds_planted_spoofs(qapp: QApplication) -> None:
    window = QWidget()
    label, field, shown = QLabel(MARKUP, window), QTextEdit(window), QAbstractButtonMade(window)
    field.setHtml("<a href='file:///x'>x</a>")
    label.setToolTip(f"<p>{MARKUP}</p>")
    shown.setAccessibleName(SIGNS)
    kinds = {fault.split(": ")[1].split()[0] for fault in swept(window, "here")}
    window.deleteLater()
    assert kinds == {"QLabel", "QTextEdit", "QAbstractButtonMade"}


class QAbstractButtonMade(QAbstractButton):
    def paintEvent(self, _event: object) -> None:
        """Do nothing."""
