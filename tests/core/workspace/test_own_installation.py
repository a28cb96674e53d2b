"""An agent cannot change the Journeyman that it runs in, even if that is installed in its folder."""

import sys
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.engine.policy.trust import refuse_unsafe_folder
from core.workspace.landlock import Landlock
from core.workspace.launcher import CommandRequest, SandboxPermissions
from core.workspace.seatbelt import Seatbelt
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies
from tests.core.tools.test_run import open_harness
from tests.core.workspace.commands import open_sandbox
from tests.core.workspace.ground import Ground, create_ground

PLANT = "echo 'import os' > .venv/lib/evil.pth; mv .venv old; mkdir -p .venv/lib; rm -rf .venv; echo $?"


@pytest.fixture
def ground(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ground:
    ground = create_ground(tmp_path)
    (ground.folder / ".venv" / "lib").mkdir(parents=True)
    (ground.folder / ".venv" / "lib" / "app.py").write_text("mine")
    monkeypatch.setattr(sys, "prefix", str(ground.folder / ".venv"))
    return ground


def intact(ground: Ground) -> bool:
    files = {str(path.relative_to(ground.folder)) for path in ground.folder.rglob("*") if path.is_file()}
    return files == {".venv/lib/app.py", "real/file"} and (ground.folder / ".venv/lib/app.py").read_text() == "mine"


def test_commands_cannot_write_there(ground: Ground) -> None:
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, ground.folder) as made:
        assert "cannot" in made.use(PLANT).output and made.use("cat .venv/lib/app.py").output == "mine"
    assert intact(ground)


def test_commands_only_read_where_the_sandbox_cannot_prevent_it(ground: Ground) -> None:
    with (
        open_sandbox("landlock") as sandbox,
        open_harness(sandbox, ground.folder) as made,
        pytest.raises(Problem, match="No command can run"),
    ):
        made.use(PLANT)
    Landlock().prepare(CommandRequest("ls", ground.folder, permit=SandboxPermissions(read_only=True)))
    assert intact(ground)


def test_the_profile_of_macos_denies_it(ground: Ground) -> None:
    lines = Seatbelt().profile_text(CommandRequest("true", ground.folder)).splitlines()
    assert f'(deny file-write* (subpath "{ground.folder / ".venv"}"))' in lines


def test_writing_a_file_there_asks_in_every_mode(ground: Ground, tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path / "home", ground.folder) as scene:
            calls = [call_reply("write", path=path, content="evil") for path in (".venv/lib/evil.pth", "other.py")]
            session = await scene.start(scripted_replies(*calls, {"text": "Done."}))
            await scene.when(lambda: scene.engine.permission_requests())
            (request,) = [each.request for _, each in scene.engine.permission_requests()]
            assert request.protected_paths == (".venv/lib/evil.pth",)
            await scene.engine.deny(request.id)
            await scene.engine.wait_idle(session)

    run_bounded(test())
    (ground.folder / "other.py").unlink()
    assert intact(ground)


def test_no_agent_works_within_it(ground: Ground, tmp_path: Path) -> None:
    with pytest.raises(Problem, match="part of Journeyman itself"):
        refuse_unsafe_folder(ground.folder / ".venv" / "lib", tmp_path / "data")
    refuse_unsafe_folder(ground.folder, tmp_path / "data")
