"""Data folders of every version open in this one, and newer ones are refused with an explanation."""

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.main import main
from app.process.services import Services, build_services
from core.domain.problems import ErrorDetails
from core.engine.prompting.profiles import load_profile
from core.engine.services.hooks import load_hooks
from core.engine.services.slash_commands import load_commands
from core.store.data_folder import DATABASE_FILE
from ui.base.window_state import WindowState

GOLDEN = Path(__file__).parents[1] / "golden"
HOMES = sorted((GOLDEN / "homes").iterdir())
FORMS = sorted((GOLDEN / "databases").glob("v*.db"))


def opened(home: Path) -> tuple[list[str], dict[str, Any], tuple[ErrorDetails, ...]]:
    """Open a data folder; return its sessions, its settings and the warnings for the user."""

    async def look() -> tuple[list[str], dict[str, Any], tuple[ErrorDetails, ...]]:
        services: Services = await build_services(home, _raise)
        try:
            now = services.engine.settings.current
            names = {name: getattr(now, name) for name in now.__dataclass_fields__}
            return [row.id for row in services.engine.sessions()], names, services.warnings
        finally:
            await services.close()

    return asyncio.run(look())


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
@pytest.mark.parametrize("golden", HOMES, ids=lambda home: home.name)
def test_f11_a_data_folder_of_each_schema_version_opens_with_its_contents(golden: Path, form: Path, home: Path) -> None:
    shutil.copytree(golden, home, dirs_exist_ok=True)
    shutil.copy(form, home / DATABASE_FILE)
    sessions, settings, notes = opened(home)
    told = json.loads(form.with_suffix(".json").read_text("utf-8"))
    assert notes == () and sorted(sessions) == sorted(row["id"] for row in told["sessions"])
    assert (settings["theme"], settings["font_scale"], settings["model"]) == ("dark", 125, "box/large")
    assert (settings["max_turns"], settings["max_cost"], settings["compact_at_tokens"]) == (80, 2.5, 40_000)
    (provider,), (price,) = settings["providers"], settings["prices"]
    assert (provider.name, provider.api_key_env, price.output, price.context_window) == ("box", "BOX_KEY", 6.0, 64_000)
    (hook,) = load_hooks(home)
    assert (hook.on, hook.command, hook.tools, hook.timeout_s) == ("before_call", "check-call", ("write", "edit"), 5.0)
    agent = load_profile(home, "careful")
    assert (agent.role, agent.traits, agent.tools) == ("A careful writer", ("patient",), ("read", "edit"))
    assert load_commands(home)["brief"].description == "A short answer"
    state = WindowState(home)
    assert (state.text("theme"), state.number("scale", 1), state.text("pane")) == ("dark", 1.25, "no")
    assert state.draft("prprpr22") == "not sent yet"
    assert json.loads((home / "settings.json").read_text())["of_another_program"] == {"kept": True}


def test_an_older_version_refuses_newer_data_and_changes_no_byte(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir(exist_ok=True)
    shutil.copy(FORMS[-1], home / DATABASE_FILE)
    with closing(sqlite3.connect(home / DATABASE_FILE)) as db:
        db.execute("PRAGMA user_version = 999")
    before = (home / DATABASE_FILE).read_bytes()
    assert main(["--data-dir", str(home), "sessions"]) == 1
    said = capsys.readouterr().err
    assert "error:" in said and "newer" in said and "Traceback" not in said
    assert (home / DATABASE_FILE).read_bytes() == before


def test_an_older_version_sets_newer_settings_aside(home: Path) -> None:
    home.mkdir(exist_ok=True)
    newer = json.dumps({"version": 999, "theme": "dark", "unheard": 1})
    (home / "settings.json").write_text(newer)
    _, settings, (note,) = opened(home)
    assert settings["theme"] == "system" and "newer" in note.cause
    (aside,) = home.glob("settings.json.newer-*")
    assert aside.read_text() == newer
