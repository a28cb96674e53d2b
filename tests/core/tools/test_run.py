"""The run tool: walls, exit codes, words for the model, and changes for the record."""

import asyncio
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.tools.run import RUN, Run, run_in
from core.tools.tool import Change, Result
from core.workspace.sandbox import Sandbox
from core.workspace.scan import Scan
from tests.core.workspace.commands import Ear, walls
from tests.core.workspace.ground import Ground, lay


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return lay(tmp_path)


@pytest.fixture(params=["bubblewrap", "landlock"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with walls(request.param) as made:
        yield made


def use(sandbox: Sandbox, scan: Scan, command: str, timeout_s: float = 20, ear: Ear | None = None) -> Result:
    with asyncio.Runner() as runner:
        return runner.run(run_in(sandbox, scan, Run(command, timeout_s), hear=ear))


def test_changes_are_recorded(sandbox: Sandbox, ground: Ground) -> None:
    scan, ear = Scan(ground.folder), Ear()
    done = use(sandbox, scan, "sed -i s/inside/INSIDE/ real/file; echo made > new; echo said", ear=ear)
    assert (done.output, done.failed, done.exit_code) == ("said\n", False, 0) and ear.heard == b"said\n"
    assert done.changes == (Change("new", None, b"made\n"), Change("real/file", b"inside", b"INSIDE"))
    assert use(sandbox, scan, "rm -r real new; exit 3").changes == (
        Change("new", b"made\n", None),
        Change("real/file", b"INSIDE", None),
    )


def test_failures_say_why(sandbox: Sandbox, ground: Ground) -> None:
    scan = Scan(ground.folder)
    assert use(sandbox, scan, "exit 3").exit_code == 3
    late = use(sandbox, scan, "echo before > half; sleep 60", 0.3)
    assert late.failed and "stopped after 0.3 s" in late.output and late.changes == (Change("half", None, b"before\n"),)
    (ground.folder / "big").write_bytes(b"x" * (2 << 20))
    assert "cannot be taken back: big" in use(sandbox, scan, "rm big").output
    assert "protected: .envrc" in use(sandbox, scan, "echo x > .envrc").output


def test_protected_files_found_on_the_way(ground: Ground) -> None:
    subprocess.run(["git", "init", "-q", ground.folder / "deep/er"], check=True)
    (ground.folder / "deep/.env").write_text("KEY=canary")
    with walls("bubblewrap") as sandbox:
        done = use(sandbox, Scan(ground.folder), "cat deep/.env; echo x > deep/er/.git/hooks/pre-commit")
    assert done.failed and "canary" not in done.output and "read-only here" in done.output and done.changes == ()


def test_as_the_engine_calls_it(ground: Ground) -> None:
    async def once() -> Result:
        return await RUN.run(Run("cat real/file ../outside/canary"), ground.folder)

    with walls("bubblewrap"), asyncio.Runner() as runner:
        done = runner.run(once())
    assert "inside" in done.output and "canary-" not in done.output and done.failed
