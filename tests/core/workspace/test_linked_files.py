"""A command changes no file outside the folder that has a hard link in it, as uv and pnpm make them."""

import os
import stat
from pathlib import Path

import pytest

from core.workspace import folder_listing, linked_files
from tests.core.tools.test_run import open_harness
from tests.core.workspace.commands import open_sandbox
from tests.core.workspace.ground import Ground, create_ground

CHANGE = "chmod u+w .venv/lib/a.py; echo evil >> .venv/lib/a.py; cat .venv/lib/a.py"


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    """Create a folder with two files that are links to files outside, and two that are links to each other."""
    ground = create_ground(tmp_path)
    library = ground.folder / ".venv" / "lib"
    library.mkdir(parents=True)
    for name, mode in (("a.py", 0o444), ("b", 0o755)):
        cached = tmp_path / name
        cached.write_text("cached\n")
        os.utime(cached, ns=(5 * 10**9, 7 * 10**9))
        cached.chmod(mode)
        os.link(cached, library / name)
    (ground.folder / "target").write_text("built")
    os.link(ground.folder / "target", ground.folder / "target-1")
    return ground


@pytest.mark.parametrize("by_find", [False, True])
@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_a_command_changes_only_a_copy(
    rung: str, by_find: bool, ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_listing, "SCAN_LIMIT", 0 if by_find else 2_000)
    library = ground.folder / ".venv" / "lib"
    with open_sandbox(rung) as sandbox, open_harness(sandbox, ground.folder) as made:
        done = made.use(CHANGE)
        assert done.output.startswith("cached\nevil\n") and not done.failed
        assert (tmp_path / "a.py").read_text() == "cached\n"
        status = (library / "b").stat()
        assert (stat.S_IMODE(status.st_mode), status.st_mtime_ns, status.st_nlink) == (0o755, 7 * 10**9, 1)
        assert (ground.folder / "target").samefile(ground.folder / "target-1")
        (tmp_path / "later").write_text("cached\n")
        os.link(tmp_path / "later", library / "later")
        assert made.use("echo evil >> .venv/lib/later; echo x > new").changes[-1].path == "new"
        assert (tmp_path / "later").read_text() == "cached\n"


def test_without_space_the_links_stay_and_are_named(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linked_files, "FREE_BYTES", 1 << 60)
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, ground.folder) as made:
        output = made.use("true").output
    assert "hard links to files outside the folder" in output and ".venv/lib/a.py" in output and "target" not in output
