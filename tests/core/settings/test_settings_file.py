"""The settings file: damaged files are set aside and reported, unknown content is kept, writes are atomic."""

import json
import os
import stat
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as some

from core.domain.problems import Problem
from core.domain.tiers import Tiers
from core.settings.schema import FORMAT_VERSION, PriceOverride, Provider, Settings
from core.settings.settings_file import FILE, SettingsFile, read_settings
from core.settings.validation import ADAPTERS, CHECKS

ANY = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=8),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def written(folder: Path, plain: Any) -> Path:
    path = folder / FILE
    path.write_text(plain if isinstance(plain, str) else json.dumps(plain), encoding="utf-8")
    return path


def test_every_setting_is_documented() -> None:
    """Every setting has a label and help text, and every number has bounds."""
    for one in fields(Settings):
        words = one.metadata["about"]
        assert words.page and words.label and words.help.endswith("."), one.name
        if get_type_hints(Settings)[one.name] in (int, float):
            assert words.low is not None and words.high is not None, one.name
    assert set(ADAPTERS) == {one.name for one in fields(Settings)}
    assert set(CHECKS) <= set(ADAPTERS)


def test_without_a_file_settings_have_their_defaults(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path)
    assert (file.current, file.notes) == (Settings(), ())
    assert not (tmp_path / FILE).exists()


def test_changed_settings_are_loaded_again(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path)
    heard: list[Settings] = []
    forget = file.listen(heard.append)
    values: dict[str, Any] = {
        "providers": (Provider(name="box", url="http://127.0.0.1:9/v1", api="ollama"),),
        "tiers": Tiers(small=("box/a",), frontier=("box/b", "box/c")),
        "prices": (PriceOverride(model="box/a", input=1.5),),
        "max_cost": 2.5,
    }
    new = file.change(**values)
    forget()
    file.change(font_scale=120)
    assert heard == [new]
    again = SettingsFile(tmp_path)
    assert again.notes == () and again.current == file.current
    assert again.current.providers == values["providers"] and again.current.tiers == values["tiers"]
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600 or os.name == "nt"
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_unknown_keys_are_kept(tmp_path: Path) -> None:
    """Unknown keys are kept, also inside a provider, and so is what another process wrote meanwhile."""
    written(tmp_path, {"color": "teal", "providers": [{"name": "box", "url": "http://127.0.0.1:9", "note": "mine"}]})
    file = SettingsFile(tmp_path)
    assert file.notes == () and file.current.providers[0].name == "box"
    plain = json.loads((tmp_path / FILE).read_text())
    written(tmp_path, {**plain, "max_turns": 7})
    file.change(theme="dark", providers=(*file.current.providers, Provider(name="b", url="https://b.example")))
    plain = json.loads((tmp_path / FILE).read_text())
    assert (plain["color"], plain["version"], plain["max_turns"]) == ("teal", FORMAT_VERSION, 7)
    assert plain["providers"][0]["note"] == "mine" and plain["providers"][1]["name"] == "b"
    assert file.current.max_turns == 7


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\0\0", "[" * 100_000])
def test_a_damaged_file_is_set_aside_and_reported(text: str, tmp_path: Path) -> None:
    written(tmp_path, text)
    file = SettingsFile(tmp_path)
    (note,) = file.notes
    (aside,) = tmp_path.iterdir()
    assert file.current == Settings() and aside.read_text() == text and aside.name in note.fix
    file.change(theme="light")
    assert aside.read_text() == text


def test_a_newer_file_is_set_aside_and_reported(tmp_path: Path) -> None:
    written(tmp_path, {"version": FORMAT_VERSION + 1, "theme": "dark"})
    file = SettingsFile(tmp_path)
    assert file.current == Settings() and "newer" in file.notes[0].cause
    (aside,) = tmp_path.iterdir()
    assert json.loads(aside.read_text())["theme"] == "dark"


def test_a_folder_opened_read_only_is_unchanged(tmp_path: Path) -> None:
    path = written(tmp_path, "{")
    file = SettingsFile(tmp_path, frozen=True)
    assert file.notes and path.read_text() == "{"
    with pytest.raises(Problem, match="open read-only"):
        file.change(theme="dark")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("theme", "pink", "pink|system"),
        ("max_turns", -1, "between"),
        ("max_turns", "60", "integer"),
        ("max_turns", True, "integer"),
        ("max_cost", float("nan"), "finite|number"),
        ("font_scale", 300, "between 80 and 200"),
        ("model", "gpt-5", "PROVIDER/MODEL"),
        ("tiers", {"small": ["x"]}, "PROVIDER/MODEL"),
        ("prices", [{"model": "x", "input": 1}], "PROVIDER/MODEL"),
        ("providers", [{"name": "A b", "url": "https://a.example"}], "is not a valid name"),
        ("providers", [{"name": "a", "url": "https://a.example"}] * 2, "Two providers"),
        ("providers", [{"name": "a", "url": "https://me:pw@a.example"}], "user name or password"),
        ("providers", [{"name": "a", "url": "http://a.example"}], "Anyone on the network"),
        ("providers", [{"name": "a", "url": "https://a.example", "api": "telex"}], "chat"),
        ("external_agents", [{"name": "a", "command": " "}], "has no command"),
        ("external_agents", [{"name": "a", "command": "b"}] * 2, "Two external agents"),
        ("external_agents", [{"name": "A b", "command": "c"}], "is not a valid name"),
        ("slow_models", ["x"], "PROVIDER/MODEL"),
        ("mcp_servers", [{"name": "A", "command": "c"}], "is not a valid name"),
        ("mcp_servers", [{"name": "a", "command": "c"}] * 2, "Two MCP servers"),
        ("mcp_servers", [{"name": "a"}], "either a command or a URL"),
        ("mcp_servers", [{"name": "a", "command": "c", "url": "https://a.example"}], "either a command or a URL"),
        ("mcp_servers", [{"name": "a", "command": "c\0"}], "contains a null character"),
        ("mcp_servers", [{"name": "a", "command": "c", "args": ["\0"]}], "contains a null character"),
        ("mcp_servers", [{"name": "a", "command": "c", "variables": [{"name": "A B"}]}], "environment variable"),
        ("mcp_servers", [{"name": "a", "url": "https://a.example", "variables": [{"name": "A B"}]}], "a header"),
        ("mcp_servers", [{"name": "a", "command": "c", "variables": [{"name": "A", "value": "b"}]}], "secrets must"),
        ("search_url", "https://me:pw@a.example", "user name or password"),
        ("proxy", "http://me:pw@proxy:1", "secrets must not be stored"),
        ("proxy", "ftp://proxy", "http"),
    ],
)
def test_an_invalid_value_is_reported_and_kept_in_the_file(name: str, value: Any, says: str, tmp_path: Path) -> None:
    """Other settings are unaffected, and the file keeps the invalid value until the user sets a new one."""
    path = written(tmp_path, {name: value, "on_close": "stop"})
    file = SettingsFile(tmp_path)
    assert file.current == Settings(on_close="stop")
    (note,) = file.notes
    assert any(word in f"{note.message} {note.cause}" for word in says.split("|")), note
    assert f"`{name}`" in note.fix and f"“{name}”" not in note.message, "the window names a setting by its label"
    file.change(max_minutes=5.0)
    assert name in json.loads(path.read_text())
    with pytest.raises(Problem):
        SettingsFile(tmp_path).change(**{name: value})


@pytest.mark.parametrize("value", [True, "often"])
def test_a_setting_that_was_removed_is_ignored_without_a_note(value: Any, tmp_path: Path) -> None:
    written(tmp_path, {"reduced_motion": value, "theme": "dark"})
    file = SettingsFile(tmp_path)
    assert file.current == Settings(theme="dark") and file.notes == ()
    assert file.change(font_scale=120) == Settings(theme="dark", font_scale=120) and file.notes == ()


@given(some.dictionaries(some.sampled_from([one.name for one in fields(Settings)]), ANY))
def test_any_values_are_loaded(plain: dict[str, Any]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        path.write_text(json.dumps(plain), encoding="utf-8")
        found = read_settings(path)
        assert isinstance(found.settings, Settings)


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    """A write error is simulated by a folder in place of the temporary file."""
    if os.name == "nt":
        pytest.skip("rights are told otherwise there")
    file = SettingsFile(tmp_path)
    file.change(theme="dark")
    (tmp_path / f"{FILE}.part").mkdir()
    with pytest.raises(Problem, match="could not be written"):
        file.change(theme="light")
    assert SettingsFile(tmp_path).current.theme == file.current.theme == "dark"


def test_a_file_that_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    """A link to itself is a file that not even the administrator can read."""
    if os.name == "nt":
        pytest.skip("links need rights there")
    path = tmp_path / FILE
    path.symlink_to(path)
    file = SettingsFile(tmp_path)
    assert file.current == Settings() and "cannot be read" in file.notes[0].message
    with pytest.raises(Problem, match="cannot be read"):
        file.change(theme="dark")
    assert path.is_symlink() and file.current == Settings()


def test_a_damaged_file_that_cannot_be_renamed_is_reported_and_not_replaced(tmp_path: Path) -> None:
    """The new name is too long for the file system."""
    path = tmp_path / ("s" * 250)
    path.write_text("{")
    loaded = read_settings(path)
    assert loaded.settings == Settings() and loaded.raw is None and "cannot be renamed" in loaded.notes[0].cause
    assert path.read_text() == "{"


def test_all_listeners_are_notified_although_one_fails(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path)
    heard: list[str] = []

    def fail(_: Settings) -> None:
        heard.append("first")
        raise ValueError("broken")

    file.listen(fail)
    file.listen(lambda new: heard.append(new.theme))
    with pytest.raises(ValueError, match="broken"):
        file.change(theme="dark")
    assert heard == ["first", "dark"] and SettingsFile(tmp_path).current.theme == "dark"


def test_text_that_is_not_unicode_is_kept(tmp_path: Path) -> None:
    path = written(tmp_path, r'{"note": "\udce4.txt"}')
    SettingsFile(tmp_path).change(theme="dark")
    assert json.loads(path.read_bytes()) == {"note": "\udce4.txt", "theme": "dark", "version": FORMAT_VERSION}
    assert [entry.name for entry in tmp_path.iterdir()] == [FILE]
