"""A local model or the program is killed in the middle of a reply: nothing is left over, and the run goes on."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.models.local.test_local_models import is_alive, until_ended
from tests.e2e.killed_run import program_environment

BOUND_S = 120.0
PROGRAM = """if True:
    import sys
    from functools import partial
    import app.process.services as services
    from app.main import main
    from core.models.local.local_models import LocalModels
    from tests.core.models.local.test_local_models import STAND_IN, TABLE
    services.LocalModels = partial(LocalModels, table=TABLE, script=STAND_IN)
    sys.exit(main(sys.argv[1:]))
"""
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class KillableChat:
    """A data folder with a model that stops in the middle of its first reply, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work, self.mark = folder / "home", folder / "work", folder / "mark"
        (self.home / "models").mkdir(parents=True)
        self.work.mkdir()
        model = {"text": "Hello.", "hang": str(self.mark)}
        (self.home / "models" / "tiny.gguf").write_text(json.dumps(model))

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-c", PROGRAM, *words, "--json"]
        environment = program_environment(self.home)
        return subprocess.Popen(command, cwd=self.work, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    async def model_process(self) -> int:
        """Wait until the model has begun to reply, and return its process."""
        async with asyncio.timeout(BOUND_S):
            while not self.mark.exists():  # noqa: ASYNC110 - written by another process
                await asyncio.sleep(0.02)
        return int(self.mark.read_text())


def test_a_killed_model_is_started_again_and_the_run_goes_on(tmp_path: Path) -> None:
    chat = KillableChat(tmp_path)
    with chat.start("run", "Say hello.", "-m", "local/tiny") as program:
        os.kill(asyncio.run(chat.model_process()), signal.SIGKILL)
        output, errors = program.communicate(timeout=BOUND_S)
    assert program.returncode == 0, errors
    assert b"Hello." in output


def test_a_killed_program_leaves_no_process_and_its_run_is_resumed(tmp_path: Path) -> None:
    chat = KillableChat(tmp_path)
    with chat.start("run", "Say hello.", "-m", "local/tiny") as program:
        model = asyncio.run(chat.model_process())
        assert is_alive(model)
        program.kill()
        program.communicate()
    asyncio.run(until_ended(model))
    with chat.start("resume", "--last") as program:
        output, errors = program.communicate(timeout=BOUND_S)
    assert program.returncode == 0, errors
    assert b"Hello." in output
