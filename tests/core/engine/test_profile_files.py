"""The files of the agent profiles: written, changed, removed and restored."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.problems import Problem
from core.engine.prompting.profile_files import ProfileFiles, profile_toml
from core.engine.prompting.profiles import AgentProfile, LearningRules, load_profile, parse_profile

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
PROFILES = st.builds(
    AgentProfile,
    *(TEXT,) * 4,
    *(TEXTS,) * 3,
    setting=st.dictionaries(TEXT.filter(str.strip), TEXT.filter(str.strip), max_size=3),
    tools=st.sampled_from([None, (), ("read", "edit")]),
    tier=st.sampled_from(["", "small"]),
    model=TEXT,
    learn=st.builds(LearningRules, TEXTS, TEXTS, st.integers(1, 9)),
)
ADA = AgentProfile("Ada", role='Says "hello"', tools=("read",), learn=LearningRules(never=("addresses",)))


@given(PROFILES)
def test_a_written_profile_is_read_as_it_was(profile: AgentProfile) -> None:
    assert parse_profile(profile_toml(profile, "proofreader"), "proofreader") == profile


def test_a_profile_is_added_changed_removed_and_restored(tmp_path: Path) -> None:
    files = ProfileFiles(tmp_path)
    assert files.list() == []
    files.add("ada", ADA)
    [opened] = files.list()
    assert (opened.name, opened.profile, opened.error) == ("ada", ADA, "") and load_profile(tmp_path, "ada") == ADA
    changed = AgentProfile("Ada", instructions="Be brief.\nBe kind.")
    files.replace(opened, changed)
    assert load_profile(tmp_path, "ada") == changed
    removed = files.remove("ada")
    assert files.list() == []
    files.restore(removed)
    assert load_profile(tmp_path, "ada") == changed
    assert [path.name for path in (tmp_path / "agents").iterdir()] == ["ada.toml"]


def test_a_profile_is_never_overwritten_unseen(tmp_path: Path) -> None:
    files = ProfileFiles(tmp_path)
    files.add("ada", ADA)
    [opened] = files.list()
    opened.path.write_text('role = "Changed in an editor"  # by hand\n')
    with pytest.raises(Problem, match="already"):
        files.add("ada", ADA)
    with pytest.raises(Problem, match="changed or removed"):
        files.replace(opened, ADA)
    removed = files.remove("ada")
    assert removed.has_comments and not opened.has_comments
    with pytest.raises(Problem, match="changed or removed"):
        files.replace(removed, ADA)
    files.add("ada", ADA)
    with pytest.raises(Problem, match="already"):
        files.restore(removed)
    assert load_profile(tmp_path, "ada") == ADA


@pytest.mark.parametrize(
    ("name", "profile", "why"),
    [
        ("", ADA, "not a valid name"),
        ("../ada", ADA, "not a valid name"),
        ("Ada", ADA, "not a valid name"),
        ("a" * 65, ADA, "not a valid name"),
        ("ada", AgentProfile(tier="large"), "there is no tier 'large'"),
        ("ada", AgentProfile(tools=("raed",)), "did you mean 'read'"),
    ],
)
def test_an_invalid_profile_is_refused_and_nothing_is_written(
    tmp_path: Path, name: str, profile: AgentProfile, why: str
) -> None:
    with pytest.raises(Problem) as refused:
        ProfileFiles(tmp_path).add(name, profile)
    assert why in str(refused.value) and not (tmp_path / "agents").exists()


def test_an_invalid_file_is_listed_with_its_error_and_restored_as_it_was(tmp_path: Path) -> None:
    damaged = b'role = "\xff"\nrole'
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "ada.toml").write_bytes(damaged)
    files = ProfileFiles(tmp_path)
    [listed] = files.list()
    assert listed.profile is None and "'ada' cannot be read" in listed.error
    files.restore(files.remove("ada"))
    assert (tmp_path / "agents" / "ada.toml").read_bytes() == damaged
