"""The Decisions tab in the real window with the real engine: what was decided, its outcome, and revoking rules."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QLabel, QListView, QPushButton

from app.process.data_folder import database_path
from core.domain.events import RunStarted
from core.domain.rules import PermissionRule
from core.domain.text import Text
from core.domain.tiers import AUTO, TierRule, Tiers
from core.engine.api.engine import Engine
from core.models.catalog import SCRIPTED, ModelCatalog
from core.store.rule_store import RuleStore
from tests.core.engine.harness import call_reply
from tests.ui.hands import click, find
from tests.ui.test_desktop_app import Person, live, until
from ui.settings.settings_dialog import SettingsDialog
from ui.shell.session_view import DECISIONS

OPTIONS = [{"label": "Hello", "pros": ["short"]}, {"label": "Dear", "cons": ["stiff"]}]
DECIDE = call_reply("decide", intent="Which greeting?", options=OPTIONS, choice="Hello", reason="It is a note.",
                    constraints=["one line", "no names"])  # fmt: skip
WRITE, DONE = call_reply("write", path="note.md", content="Hello\n"), {"text": "Done."}


async def run(person: Person, started: RunStarted, *replies: Mapping[str, object]) -> str:
    """Start a session and show it."""
    folder = person.home / "work"
    folder.mkdir(exist_ok=True)
    await until(lambda: person.window.start.isVisible() or person.window.selection.session, "the window")
    started = RunStarted(started.model, script=Text(json.dumps({"replies": replies})), mode=started.mode)
    session = await person.program.engine.ask(lambda engine: engine.start("Write it", folder, started))
    person.window.show_session(session)
    return session


async def select(person: Person, text: str) -> None:
    """Show the decisions and select the one that contains this text."""
    view = person.window.view
    view.page.show_tab(DECISIONS)
    rows = find(view, QListView, "decisions.list")

    def row() -> int | None:
        names = [rows.model().index(number, 0).data() for number in range(rows.model().rowCount())]
        return next((number + 1 for number, name in enumerate(names) if text in name), None)

    number = await until(row, f"a decision with {text!r}")
    rows.setCurrentIndex(rows.model().index(number - 1, 0))


def shown(person: Person, name: str) -> str:
    return find(person.window.view, QLabel, f"decisions.{name}").text().replace("\u200b", "")


def test_a_decision_of_the_agent_shows_its_constraints_and_how_it_turned_out(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        session = await run(person, RunStarted(SCRIPTED, mode="auto"), DECIDE, WRITE, DONE)
        await until(lambda: person.window.row(session).status == "done", "the end")
        await select(person, "Decision: Which greeting?")
        assert shown(person, "options") == "● Hello — + short\n○ Dear — − stiff\nConstraints: one line; no names"
        await until(lambda: shown(person, "outcome").endswith("the run completed"), "the outcome")
        assert "1 file change, +1 −0" in shown(person, "outcome")
        await select(person, "write note.md")
        assert "by the mode “Auto-approve, sandboxed”" in shown(person, "told")

    live(qapp, home, act)


def test_the_rule_that_an_approval_saved_is_revoked_and_the_next_call_asks_again(
    qapp: QApplication, home: Path
) -> None:
    async def act(person: Person) -> None:
        engine, rules = person.program.engine, RuleStore(database_path(home), None)
        session = await run(person, RunStarted(SCRIPTED, mode="ask"), WRITE, DONE)
        await until(lambda: person.window.row(session).status == "waiting", "the request")

        async def allow_always(e: Engine) -> None:
            [(_, pending)] = e.permission_requests()
            await e.allow(pending.request.id, "always", pending.request.patterns[:1])

        await engine.ask(allow_always)
        await until(lambda: person.window.row(session).status == "done", "the end")
        assert len(rules.read().rules or ()) == 1
        await select(person, "write note.md")
        click(find(person.window.view, QPushButton, "decisions.revoke"))
        await until(lambda: rules.read().rules == (), "no rule")
        revoke, undo = (
            find(person.window.view, QPushButton, "decisions.revoke"),
            find(person.window.toast, QPushButton, "toast.undo"),
        )
        await until(undo.isVisible, "the offer to undo")
        click(undo)
        await until(lambda: revoke.isEnabled() and len(rules.read().rules or ()) == 1, "the restored rule")
        click(revoke)
        await until(lambda: rules.read().rules == (), "no rule again")
        again = await run(person, RunStarted(SCRIPTED, mode="ask"), WRITE, DONE)
        await until(lambda: person.window.row(again).status == "waiting", "it asks again")
        assert person.notice() == ""

    live(qapp, home, act)


def test_the_settings_list_a_rule_for_a_run_until_the_run_ends(qapp: QApplication, home: Path) -> None:
    async def act(person: Person) -> None:
        window, engine = person.window, person.program.engine
        asks = call_reply("ask_user", question="Well?")
        session = await run(person, RunStarted(SCRIPTED, mode="ask"), WRITE, asks, DONE)
        await until(lambda: window.row(session).status == "waiting", "the request")

        async def allow_for_run(e: Engine) -> str:
            [(_, pending)] = e.permission_requests()
            await e.allow(pending.request.id, "run", pending.request.patterns[:1])
            [rule] = e.rules().rules or ()
            return rule.id

        async def in_effect(e: Engine) -> tuple[PermissionRule, ...] | None:
            return e.rules().rules

        rule = await engine.ask(allow_for_run)

        async def listed(name: str) -> list[str]:
            """Open the settings, wait for the label with this name, and return the texts of its row."""
            window.settings_requested.emit()
            dialog = await until(lambda: window.findChild(SettingsDialog), "the settings")
            dialog.show_page("Permission rules")
            label = await until(lambda: dialog.findChild(QLabel, name), name)
            row = label.parentWidget()
            assert row is not None
            texts = [each.text() for each in row.findChildren(QLabel)]
            dialog.close()
            await until(lambda: window.findChild(SettingsDialog) is None, "the end of the settings")
            return texts

        await until(person.card, "the question")
        assert await listed(f"settings.rule.{rule}") == ["allow write: note.md", "until its run ends"]
        await engine.ask(lambda e: e.stop(session))
        await until(lambda: window.row(session).status == "stopped", "the end")
        assert await engine.ask(in_effect) == ()
        (text,) = await listed("settings.rules.none")
        assert text.startswith("No saved rules yet.")

    live(qapp, home, act)


def test_a_rule_for_tiers_that_chose_a_model_is_listed(
    qapp: QApplication, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ModelCatalog.model
    monkeypatch.setattr(ModelCatalog, "model", lambda catalog, name, script: real(catalog, SCRIPTED, script))
    tiers = Tiers(mid=("a/mid",), frontier=("a/big",),
                  rules=(TierRule("after_failure", "frontier"), TierRule("any", "mid")))  # fmt: skip

    async def set_tiers(engine: Engine) -> None:
        engine.settings.change(tiers=tiers)

    async def act(person: Person) -> None:
        await person.program.engine.ask(set_tiers)
        replies = call_reply("read", path="missing.txt"), DONE
        session = await run(person, RunStarted(AUTO, mode="auto"), *replies)
        await until(lambda: person.window.row(session).status == "done", "the end")
        await select(person, "a/big")
        assert shown(person, "told") == "a/big · by the rules for tiers (frontier) · the last step failed"

    live(qapp, home, act)
