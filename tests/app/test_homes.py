"""Data folders of every version open in this one; what an older one cannot read it refuses in words."""

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.assemble import Services, assemble
from app.main import main
from core.domain.problems import Trouble
from core.engine.hooks import hooks
from core.engine.profiles import profile
from core.engine.slash import commands
from core.store.opening import FILE
from ui.window_state import WindowState

GOLDEN = Path(__file__).parents[1] / "golden"
HOMES = sorted((GOLDEN / "homes").iterdir())
FORMS = sorted((GOLDEN / "databases").glob("v*.db"))


def opened(home: Path) -> tuple[list[str], dict[str, Any], tuple[Trouble, ...]]:
    """The sessions, the settings, and what a person would be told."""

    async def look() -> tuple[list[str], dict[str, Any], tuple[Trouble, ...]]:
        services: Services = await assemble(home, _raise)
        try:
            now = services.engine.settings.now
            names = {name: getattr(now, name) for name in now.__dataclass_fields__}
            return [row.id for row in services.engine.sessions()], names, services.notes
        finally:
            await services.close()

    return asyncio.run(look())


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
@pytest.mark.parametrize("golden", HOMES, ids=lambda home: home.name)
def test_f11_a_home_of_each_form_opens_with_all_that_was_in_it(golden: Path, form: Path, home: Path) -> None:
    shutil.copytree(golden, home, dirs_exist_ok=True)
    shutil.copy(form, home / FILE)
    sessions, settings, notes = opened(home)
    told = json.loads(form.with_suffix(".json").read_text("utf-8"))
    assert notes == () and sorted(sessions) == sorted(row["id"] for row in told["sessions"])
    assert (settings["theme"], settings["font_scale"], settings["model"]) == ("dark", 125, "box/large")
    assert (settings["max_rounds"], settings["max_cost"], settings["compact_at"]) == (80, 2.5, 40_000)
    (provider,), (price,) = settings["providers"], settings["prices"]
    assert (provider.name, provider.variable, price.output, price.window) == ("box", "BOX_KEY", 6.0, 64_000)
    (hook,) = hooks(home)
    assert (hook.on, hook.command, hook.tools, hook.time_s) == ("before call", "check-call", ("write", "edit"), 5.0)
    agent = profile(home, "careful")
    assert (agent.role, agent.traits, agent.tools) == ("A careful writer", ("patient",), ("read", "edit"))
    assert commands(home)["brief"].about == "A short answer"
    state = WindowState(home)
    assert (state.text("theme"), state.number("scale", 1), state.text("pane")) == ("dark", 1.25, "no")
    assert state.draft("prprpr22") == "not sent yet"
    assert json.loads((home / "settings.json").read_text())["of_another_program"] == {"kept": True}


def test_an_older_version_refuses_newer_data_in_words_and_changes_no_byte(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.mkdir(exist_ok=True)
    shutil.copy(FORMS[-1], home / FILE)
    with closing(sqlite3.connect(home / FILE)) as db:
        db.execute("PRAGMA user_version = 999")
    before = (home / FILE).read_bytes()
    assert main(["--home", str(home), "sessions"]) == 1
    said = capsys.readouterr().err
    assert "what:" in said and "newer" in said and "Traceback" not in said
    assert (home / FILE).read_bytes() == before


def test_an_older_version_keeps_newer_settings_aside(home: Path) -> None:
    home.mkdir(exist_ok=True)
    newer = json.dumps({"form": 999, "theme": "dark", "unheard": 1})
    (home / "settings.json").write_text(newer)
    _, settings, (note,) = opened(home)
    assert settings["theme"] == "system" and "newer" in note.why
    (aside,) = home.glob("settings.json.newer-*")
    assert aside.read_text() == newer
