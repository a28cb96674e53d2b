"""At 200% text in a window of 900 × 600, nothing is cut off at the right, and there is a visible way back."""

import json
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QListWidget, QScrollArea, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from core.domain.proposal import Proposal
from core.settings.schema import MODELS, Settings
from tests.screens.sample_local_models import NOT_DOWNLOADED
from tests.screens.sample_providers import PROVIDERS
from tests.ui.ask.questions import TONE
from tests.ui.hands import click, find, press
from tests.ui.memory.test_page import add_memory
from tests.ui.memory.test_page import opened as opened_memory
from tests.ui.settings.test_dialog import RULE
from tests.ui.test_desktop_app import Person, live, until
from ui.ask.ask_area import AskArea
from ui.ask.option_row import OptionRow
from ui.memory.proposal_card import MemoryProposalCard
from ui.overview.panel import OverviewPanel
from ui.settings.settings_dialog import SettingsDialog, SettingsSnapshot
from ui.shell.window_frame import SIDEBAR
from ui.start.new_session import ProviderOffer
from ui.start.panel import StartPanel
from ui.style.theme import Look, load_fonts, load_theme
from ui.widgets.button import Button

SIZE = (900, 600)
OPTIONS = [
    {"label": "Firm, with a 14-day deadline", "description": "Names the clause and the next step. " * 2},
    {"label": "Friendly first reminder", "description": "No deadline, no legal reference."},
    {"label": "Formal notice, copy to the council", "description": "Starts the official route at once."},
]
ASK = {"name": "ask_user", "arguments": {"question": "Which tone should it take?", "options": OPTIONS}}
ASKS_TONE = json.dumps({"replies": [{"text": "I ask.", "calls": [ASK]}, {"text": "Done."}]})
TEXT = "The heat pump Nordwerk N8 is quieter than Alpin A6 and Sole S10."


@pytest.fixture
def large(qapp: QApplication) -> Look:
    return Look(load_theme("light"), load_fonts(2.0))


def cut_off(around: QWidget) -> list[str]:
    """Return the names of the visible widgets of which a part is beyond the right edge of what contains them."""
    cut = []
    for part in around.findChildren(QWidget):
        parent = part.parentWidget()
        if part.isWindow() or not part.isVisible() or parent is None or isinstance(parent, QToolButton):
            continue
        if part.x() + part.width() > parent.width():
            cut.append(part.objectName() or type(part).__name__)
    return cut


def test_the_sidebar_has_its_usual_width_again_after_larger_text(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(window.start.isVisible, "the start screen")
        person.shell.resize(1280, 800)
        usual = window.look
        await until(lambda: window.sessions.width() == SIDEBAR, "the usual width")
        window.restyle(Look(usual.theme, load_fonts(2.0)))
        await until(lambda: window.sessions.width() > SIDEBAR, "the larger sidebar")
        window.restyle(usual)
        await until(lambda: window.sessions.width() == SIDEBAR, "the usual width again")

    live(qapp, home, act)


def test_each_settings_page_fits_a_small_screen(large: Look, qtbot: QtBot) -> None:
    dialog = SettingsDialog(large, SettingsSnapshot(Settings(), [RULE]))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose, False)
    qtbot.addWidget(dialog)
    dialog.show()
    pages = find(dialog, QListWidget, "settings.pages")
    for row in [*range(pages.count()), 0]:  # the last pages do not widen the first one
        pages.setCurrentRow(row)
        if pages.item(row).text() == MODELS:
            dialog.providers.show_providers(PROVIDERS)
        dialog.resize(*SIZE)
        QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
        dialog.resize(*SIZE)
        assert dialog.width() == SIZE[0], pages.item(row).text()
        assert not cut_off(dialog), pages.item(row).text()


def small_window(person: Person) -> None:
    """Show 200% text in a small window."""
    person.window.restyle(Look(load_theme("light"), load_fonts(2.0)))
    person.shell.resize(*SIZE)
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)


@pytest.mark.parametrize("has_model", [False, True])
def test_the_new_session_page_beside_the_sidebar_is_not_cut_off(large: Look, qtbot: QtBot, has_model: bool) -> None:
    panel = StartPanel(large, data_folder="/home/me/.local/share/journeyman")
    qtbot.addWidget(panel)
    models = ("ollama/a-model-with-a-long-name",) if has_model else ()
    panel.show_providers([ProviderOffer("ollama", "Ollama", models, is_local=True)], "")
    panel.show_local_models(NOT_DOWNLOADED)
    panel.resize(SIZE[0] - 400, SIZE[1])
    with qtbot.waitExposed(panel):
        panel.show()
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
    scroll = find(panel, QScrollArea, "start.scroll")
    content = scroll.widget()
    assert content is not None and content.minimumSizeHint().width() <= scroll.viewport().width()
    assert scroll.horizontalScrollBar().maximum() == 0 and not cut_off(panel)


def test_the_memory_page_is_not_cut_off(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        page = await opened_memory(person)
        await add_memory(person, TEXT)
        small_window(person)
        await until(lambda: page.card.isVisible(), "the memory")
        await until(lambda: not cut_off(page), f"{cut_off(page)} fit")
        assert person.shell.minimumSizeHint().width() <= SIZE[0]

    live(qapp, home, act)


def test_a_memory_proposal_without_room_scrolls_above_its_buttons(large: Look, qtbot: QtBot) -> None:
    card = MemoryProposalCard(large, lambda _: "Compare three heat pumps")
    qtbot.addWidget(card)
    text = f"{TEXT} It was measured twice, on different days. "
    card.show_proposal(Proposal("p1", "memory", "create", "", text * 2, "It came up twice.", session="s"), None)
    card.resize(440, 540)
    card.show()
    bar = find(card, QScrollArea, "memory.proposal.scroll").verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    for name in ("keep", "edit", "reject"):
        button = find(card, Button, f"memory.proposal.{name}")
        assert button.visibleRegion().boundingRect().size() == button.size()


@pytest.mark.parametrize("way", ["button", "alt-left", "escape"])
def test_a_page_that_needs_the_sidebar_offers_the_way_back(qapp: QApplication, home: Path, way: str) -> None:
    async def act(person: Person) -> None:
        window = person.window
        back = find(window.status, Button, "status.back")
        session = await person.start()()
        window.show_session(session)
        assert back.isHidden()
        await opened_memory(person)
        small_window(person)
        await until(lambda: window.sessions.isHidden() and back.isVisible(), "the way back")
        assert "Esc or Alt+Left" in back.toolTip()
        if way == "button":
            click(back)
        elif way == "alt-left":
            window.actions_by_id["page.back"].trigger()
        else:
            press(window.pages, Qt.Key.Key_Escape)
        assert window.selection.page == "" and window.view.session == session and back.isHidden()

    live(qapp, home, act)


def test_large_text_hides_the_sidebar_of_a_small_window_until_it_is_asked_for(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await until(lambda: window._bridge, "the engine")
        window.show_start()
        show = find(window.status, QToolButton, "status.sidebar")
        assert show.isHidden() and window.sessions.isVisible()
        small_window(person)
        await until(lambda: window.sessions.isHidden() and show.isVisible(), "the button that shows it")
        click(show)
        assert window.sessions.isVisible() and show.isHidden()
        person.shell.resize(1440, 900)
        await until(window.sessions.isVisible, "the sidebar")

    live(qapp, home, act)


@pytest.mark.parametrize("size", [(900, 600), (1280, 800)])
def test_the_overview_shows_every_option_of_a_question_in_full(
    qapp: QApplication, home: Path, size: tuple[int, int]
) -> None:
    async def act(person: Person) -> None:
        window = person.window
        await person.start(ASKS_TONE)()
        window.selection.choose_page("overview")
        page = window.pages.page("overview")
        assert isinstance(page, OverviewPanel)
        small_window(person)
        person.shell.resize(*size)
        card = await until(lambda: page.asking.card, "the question")
        await until(lambda: card.form.isVisible(), "a card instead of a bar")
        rows = card.form.findChildren(OptionRow)
        await until(lambda: all(row.height() >= row.heightForWidth(row.width()) for row in rows), "full options")
        await until(lambda: not cut_off(page), "nothing is cut")
        assert len(rows) == 3
        bar = card.form._scroll.verticalScrollBar()
        await until(lambda: bar.maximum() == 0, "nothing of the card has to be scrolled")

    live(qapp, home, act)


@pytest.mark.parametrize("late", ["nothing", "question", "sandbox", "size", "page"])
def test_a_small_window_keeps_its_size_whatever_comes_last(qapp: QApplication, home: Path, late: str) -> None:
    """If its minimum width grew over its width, the sidebar would come back and leave too little to the page."""

    async def act(person: Person) -> None:
        window, shell = person.window, person.shell
        shell.resize(1600, 1000)
        await until(lambda: window._bridge, "the engine")
        show_page = partial(window.selection.choose_page, "overview")
        show_sandbox = partial(window.status.show_sandbox, "reduced", "Why it is only partly sandboxed.")
        for step, name in ((show_sandbox, "sandbox"), (show_page, "page")):
            if name != late:
                step()
        if late != "question":
            await person.start(ASKS_TONE)()
            await until(lambda: window.session_index.waiting_count() == 1, "the question")
        small_window(person)
        if late == "question":
            await person.start(ASKS_TONE)()
        elif late in ("sandbox", "page"):
            (show_sandbox if late == "sandbox" else show_page)()
        elif late == "size":
            shell.resize(1600, 1000)
            await until(window.sessions.isVisible, "the sidebar")
            shell.resize(*SIZE)
        page = window.pages.page("overview")
        assert isinstance(page, OverviewPanel)
        card = await until(lambda: page.asking.card, "the question")
        await until(lambda: card.form.isVisible() and window.sessions.isHidden(), "the page alone")
        await until(lambda: not cut_off(page), "nothing is cut")
        assert (shell.width(), shell.height()) == SIZE and page.width() == SIZE[0]
        assert shell.minimumSizeHint().width() < SIZE[0]

    live(qapp, home, act)


@pytest.mark.parametrize("width", [420, 487, 640])
def test_the_card_of_a_question_wraps_its_age_and_buttons(large: Look, qtbot: QtBot, width: int) -> None:
    area = AskArea(large)
    qtbot.addWidget(area)
    area.show_requests("s", "A letter", [TONE])
    area.resize(width, 700)
    area.fit(700)
    area.show()
    card = area.card
    assert card is not None and card.minimumSizeHint().width() <= 420
    buttons = [find(card, Button, f"question.{name}") for name in ("later", "decline", "answer")]
    qtbot.waitUntil(lambda: all(button.visibleRegion().boundingRect() == button.rect() for button in buttons))
    assert not cut_off(area)


def test_f6_goes_from_area_to_area_of_the_window(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window = person.window
        person.shell.resize(1440, 900)
        session = await person.start()()
        window.show_session(session)
        window.view.page.select_row(0)
        await until(window.step_pane.isVisible, "the step pane")
        window.view.page.focus_tab()
        areas = (window.step_pane, window.sessions, window.view)
        for by, order in (("next", areas), ("previous", (window.sessions, window.step_pane, window.view))):
            for area in order:
                window.actions_by_id[f"area.{by}"].trigger()
                assert area.isAncestorOf(person.shell.focusWidget()), (by, area)

    live(qapp, home, act)
