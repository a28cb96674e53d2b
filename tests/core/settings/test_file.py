"""The file of settings: what is damaged is set aside and said, what is unknown is kept, what is written is whole."""

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
from core.settings.checks import ADAPTERS
from core.settings.file import FILE, SettingsFile, read
from core.settings.schema import FORM, Price, Provider, Settings

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
    """Words for the page, and bounds for every number."""
    for one in fields(Settings):
        words = one.metadata["about"]
        assert words.page and words.label and words.help.endswith("."), one.name
        if get_type_hints(Settings)[one.name] in (int, float):
            assert words.low is not None and words.high is not None, one.name
    assert set(ADAPTERS) == {one.name for one in fields(Settings)}


def test_no_file_is_as_at_first(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path)
    assert (file.now, file.notes) == (Settings(), ())
    assert not (tmp_path / FILE).exists()


def test_what_was_changed_is_there_again(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path)
    heard: list[Settings] = []
    forget = file.listen(heard.append)
    values: dict[str, Any] = {
        "providers": (Provider(name="box", url="http://127.0.0.1:9/v1", wire="ollama"),),
        "tiers": Tiers(small=("box/a",), frontier=("box/b", "box/c")),
        "prices": (Price(model="box/a", input=1.5),),
        "max_cost": 2.5,
    }
    new = file.change(**values)
    forget()
    file.change(font_scale=120)
    assert heard == [new]
    again = SettingsFile(tmp_path)
    assert again.notes == () and again.now == file.now
    assert again.now.providers == values["providers"] and again.now.tiers == values["tiers"]
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600 or os.name == "nt"
    assert [path.name for path in tmp_path.iterdir()] == [FILE]


def test_what_is_unknown_is_kept(tmp_path: Path) -> None:
    """Also inside of a server, and what another process wrote meanwhile."""
    written(tmp_path, {"colour": "teal", "providers": [{"name": "box", "url": "http://127.0.0.1:9", "note": "mine"}]})
    file = SettingsFile(tmp_path)
    assert file.notes == () and file.now.providers[0].name == "box"
    plain = json.loads((tmp_path / FILE).read_text())
    written(tmp_path, {**plain, "max_rounds": 7})
    file.change(theme="dark", providers=(*file.now.providers, Provider(name="b", url="https://b.example")))
    plain = json.loads((tmp_path / FILE).read_text())
    assert (plain["colour"], plain["form"], plain["max_rounds"]) == ("teal", FORM, 7)
    assert plain["providers"][0]["note"] == "mine" and plain["providers"][1]["name"] == "b"
    assert file.now.max_rounds == 7


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\0\0", "[" * 100_000])
def test_a_damaged_file_is_set_aside_and_said(text: str, tmp_path: Path) -> None:
    written(tmp_path, text)
    file = SettingsFile(tmp_path)
    (note,) = file.notes
    (aside,) = tmp_path.iterdir()
    assert file.now == Settings() and aside.read_text() == text and aside.name in note.do
    file.change(theme="light")
    assert aside.read_text() == text


def test_a_newer_file_is_set_aside_and_said(tmp_path: Path) -> None:
    written(tmp_path, {"form": FORM + 1, "theme": "dark"})
    file = SettingsFile(tmp_path)
    assert file.now == Settings() and "newer" in file.notes[0].why
    (aside,) = tmp_path.iterdir()
    assert json.loads(aside.read_text())["theme"] == "dark"


def test_a_folder_to_look_at_is_left_as_it_is(tmp_path: Path) -> None:
    path = written(tmp_path, "{")
    file = SettingsFile(tmp_path, frozen=True)
    assert file.notes and path.read_text() == "{"
    with pytest.raises(Problem, match="opened to look at"):
        file.change(theme="dark")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("theme", "pink", "pink|system"),
        ("max_rounds", -1, "between"),
        ("max_rounds", "60", "integer"),
        ("max_rounds", True, "integer"),
        ("max_cost", float("nan"), "finite|number"),
        ("font_scale", 300, "between 80 and 200"),
        ("model", "gpt-5", "PROVIDER/MODEL"),
        ("tiers", {"small": ["x"]}, "PROVIDER/MODEL"),
        ("prices", [{"model": "x", "input": 1}], "PROVIDER/MODEL"),
        ("providers", [{"name": "A b", "url": "https://a.example"}], "cannot be a name"),
        ("providers", [{"name": "a", "url": "https://a.example"}] * 2, "Two servers"),
        ("providers", [{"name": "a", "url": "https://me:pw@a.example"}], "user name or password"),
        ("providers", [{"name": "a", "url": "http://a.example"}], "readable for everyone"),
        ("providers", [{"name": "a", "url": "https://a.example", "wire": "telex"}], "chat"),
        ("proxy", "http://me:pw@proxy:1", "keeps no secrets"),
        ("proxy", "ftp://proxy", "http"),
    ],
)
def test_a_setting_that_cannot_be_is_said_and_kept_in_the_file(
    name: str, value: Any, says: str, tmp_path: Path
) -> None:
    """The others hold; the file keeps what it says until a person sets it anew."""
    path = written(tmp_path, {name: value, "reduced_motion": True})
    file = SettingsFile(tmp_path)
    assert file.now == Settings(reduced_motion=True)
    (note,) = file.notes
    assert any(word in f"{note.what} {note.why}" for word in says.split("|")), note
    file.change(max_minutes=5.0)
    assert name in json.loads(path.read_text())
    with pytest.raises(Problem):
        SettingsFile(tmp_path).change(**{name: value})


@given(some.dictionaries(some.sampled_from([one.name for one in fields(Settings)]), ANY))
def test_any_values_are_read(plain: dict[str, Any]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        path.write_text(json.dumps(plain), encoding="utf-8")
        found = read(path)
        assert isinstance(found.settings, Settings)


def test_a_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    """A folder that does not let us stands for it."""
    if os.name == "nt":
        pytest.skip("rights are told otherwise there")
    file = SettingsFile(tmp_path)
    file.change(theme="dark")
    (tmp_path / f"{FILE}.part").mkdir()
    with pytest.raises(Problem, match="could not be written"):
        file.change(theme="light")
    assert SettingsFile(tmp_path).now.theme == file.now.theme == "dark"
