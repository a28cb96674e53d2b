"""The facts about steps in the real window: what a reply cost, and whether a recalled memory helped."""

from pathlib import Path

from PySide6.QtWidgets import QApplication, QToolButton

from core.domain.events import RunStarted
from core.engine.api.engine import Engine
from core.settings.schema import PriceOverride, Provider
from tests.servers.scripted_server import answer, chunk, scripted_server, stream
from tests.ui.hands import click
from tests.ui.test_desktop_app import Person, live, until
from tests.ui.test_step_details_in_window import row_of
from ui.timeline.output_tab import FittedTextView

USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100}
REPLY = answer(stream({**chunk("stop", content="It is deployed."), "usage": USAGE}))


def fact(person: Person, name: str) -> str:
    """Return the text of a fact about the selected step; "" if it has none of this name."""
    views = (view for view in person.window.step_pane.findChildren(FittedTextView) if view.accessibleName() == name)
    return next((view.toPlainText().replace("\u200b", "") for view in views), "")


async def finished_run(person: Person, url: str) -> str:
    (person.home / "work").mkdir()

    async def begin(engine: Engine) -> str:
        price = PriceOverride(model="box/m", input=10.0, output=100.0)
        engine.settings.change(providers=(Provider(name="box", url=url),), prices=(price,), learning="off")
        await engine.memory.add("The site must be deployed before Friday noon.")
        started = RunStarted("box/m", mode="auto")
        return await engine.start("Please deploy the site.", person.home / "work", started)

    session = await person.program.engine.ask(begin)
    person.window.show_session(session)
    await until(lambda: person.window.row(session).runs and person.window.row(session).status == "done", "the end")
    return session


def test_a_reply_says_what_it_cost_and_a_recalled_memory_whether_it_helped(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        async with scripted_server(*[REPLY] * 4) as server:
            await finished_run(person, server.url)
            page = person.window.view.page
            page.select_row(row_of(page.view, "thinking"))
            await until(lambda: fact(person, "Cost") == "$0.02", "the cost")
            page.select_row(row_of(page.view, "memory"))
            await until(lambda: "before Friday noon" in fact(person, "Knowledge"), "the memory")
            assert "rated good" not in fact(person, "Knowledge")
            click(await until(lambda: page.findChild(QToolButton, "end.up"), "the card"))

            def rating() -> bool:
                page.select_row(row_of(page.view, "thinking"))
                page.select_row(row_of(page.view, "memory"))
                return "the run was rated good" in fact(person, "Knowledge")

            await until(rating, "the rating")

    live(qapp, home, act)
