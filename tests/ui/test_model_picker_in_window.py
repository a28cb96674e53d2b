"""The searchable list of models, from the composer by keyboard and from the settings."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QListView, QPushButton

from core.domain.tiers import Tiers
from core.engine.services.providers import ModelRow, ProviderRow, ProvidersOverview
from core.settings.schema import MODELS, Provider
from tests.servers.scripted_server import answer, scripted_server
from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import Person, activate, live, until
from ui.controllers.model_entries import model_entries
from ui.palette.panel import Palette
from ui.settings.settings_dialog import SettingsDialog

ROWS = (
    ProviderRow("work", "Work", "http://w", "chat", "you", key_from="keyring", models=(
        ModelRow("work/large", context_window=200_000, price_in=3, price_out=15, tools=True, images=True),
        ModelRow("work/odd"),
    )),
)  # fmt: skip


def test_an_entry_says_what_is_known_of_a_model_and_the_tiers_are_last() -> None:
    overview = ProvidersOverview(ROWS, "work/odd", "ring", None, "", "", "", "")
    entries = model_entries(overview, Tiers(small=("work/odd",)), "work/odd")
    assert [entry.id for entry in entries] == ["work/odd", "work/large", "auto", "small"]
    assert entries[0].keys == "in use" and "context window unknown · price unknown" in entries[0].detail
    assert entries[1].detail == "Work · 200k · $3/$15 per 1M · tools · images · API key: in the system keyring"


def test_a_model_is_found_and_chosen(qapp: QApplication, home: Path) -> None:
    listed = answer(b'{"data": [{"id": "alpha-large"}, {"id": "beta-small"}]}', kind="application/json")

    async def act(person: Person) -> None:
        window = person.window
        session = await person.start()()
        window.show_session(session)
        await until(person.card, "the question")
        async with scripted_server(*[listed] * 40) as server:
            url = server.url
            await person.program.engine.ask(
                lambda engine: engine.providers.add(Provider(name="mine", url=url, allow_http=True))
            )
            await activate(window)
            window.actions_by_id["session.model"].trigger()
            palette = find(window, Palette, "palette")
            await until(palette.isVisible, "the list")
            field, entries = palette.findChild(QLineEdit), palette.findChild(QListView)
            assert field is not None and entries is not None
            write(field, "beta")
            await until(lambda: entries.model().rowCount() == 1, "the match")
            press(field, Qt.Key.Key_Return)
            await until(lambda: window.row(session).model == "mine/beta-small", "the model of the session")
            window.settings_page_requested.emit(MODELS)
            dialog = await until(lambda: window.findChild(SettingsDialog), "the settings")
            click(find(dialog, QPushButton, "settings.models.choose_default"))
            inside = await until(lambda: dialog.findChild(Palette), "the list over the dialog")
            await until(inside.isVisible, "it is shown")
            search = inside.findChild(QLineEdit)
            assert search is not None
            write(search, "alpha")
            press(search, Qt.Key.Key_Return)
            chosen = find(dialog, QLineEdit, "settings.model")
            await until(lambda: chosen.text() == "mine/alpha-large", "the default model")
            dialog.close()

    live(qapp, home, act)
