"""What random commands print that no mode asks about: no secrets of the folder."""

import random
from pathlib import Path

import pytest

from tests.core.engine.secret_fuzz import HIDDEN, create_folder, leaks, shows
from tests.core.workspace.commands import open_sandbox


@pytest.mark.parametrize(("backend", "count"), [("bubblewrap", 300), ("landlock", 100)])
def test_no_command_that_runs_unasked_shows_a_secret(backend: str, count: int, tmp_path: Path) -> None:
    """A small version of `python -m tests.core.engine.secret_fuzz`."""
    (tmp_path / "work").mkdir()
    create_folder(tmp_path / "work")
    with open_sandbox(backend) as sandbox:
        *found, (_, _, ran) = leaks(tmp_path / "work", sandbox, count, random.Random(7))
    assert found == [] and int(ran) >= 10


@pytest.mark.parametrize(
    "output",
    [
        f"KEY={HIDDEN}",
        "43414e415259534543524554574f5244",
        "C   A   N   A   R   Y S E C R E T W O R D",
        "S0VZPUNBTkFSWVNFQ1JFVFdPUkQK",
    ],
)
def test_the_search_for_secrets_sees_through_encodings(output: str) -> None:
    assert shows(HIDDEN, output) and not shows(HIDDEN, output[: len(output) // 2])
