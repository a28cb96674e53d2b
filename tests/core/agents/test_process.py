"""The process of an external agent leaves no open resources behind."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.agents import connection, process
from core.domain.problems import Problem
from core.settings.schema import ExternalAgentSettings

FLOOD = "import sys\nwhile True: sys.stdout.write('x' * 1000)"


def test_a_process_with_unread_output_leaves_no_pipe_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the reader has stopped reading, the end of the process alone does not close the pipe."""
    monkeypatch.setattr(process, "MAX_LINE_BYTES", 1_000)

    async def test() -> None:
        before = _handles()
        flooding = await process.start_process((sys.executable, "-c", FLOOD), tmp_path, tmp_path)
        await asyncio.sleep(0.3)
        await flooding.kill()
        await asyncio.sleep(0)
        assert _handles() == before

    asyncio.run(test())


def test_an_escaped_descendant_that_holds_standard_error_leaves_no_pipe_open(tmp_path: Path) -> None:
    """A pipe left open would be closed by the finalizer of its transport, which fails once the loop is closed."""

    async def test() -> None:
        before = _handles()
        argv = ("/bin/sh", "-c", "(setsid env -i /bin/sleep 5 >/dev/null &); echo ready; cat")
        program = await process.start_process(argv, tmp_path, tmp_path)
        assert program._process.stdout is not None and await program._process.stdout.readline() == b"ready\n"
        await program.kill()
        await asyncio.sleep(0)
        assert _handles() == before

    asyncio.run(test())


def test_a_start_that_hangs_names_the_step_and_the_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "START_TIMEOUT_S", 2.0)
    script = "import time; print('Waiting for a login', flush=True); time.sleep(60)"
    agent = ExternalAgentSettings(name="slow", command=sys.executable, args=("-c", script))
    with pytest.raises(Problem) as failure:
        asyncio.run(connection.connect(agent, tmp_path, tmp_path))
    assert "initialize" in failure.value.details.cause and "Waiting for a login" in failure.value.details.cause


def _handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
