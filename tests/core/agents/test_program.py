"""The process of an agent leaves nothing of itself."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.agents import program

FLOOD = "import sys\nwhile True: sys.stdout.write('x' * 1000)"


def test_one_that_printed_more_than_anybody_read_leaves_no_pipe_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that has enough stops taking; then the end of the process alone does not close the pipe."""
    monkeypatch.setattr(program, "LONGEST", 1_000)

    async def test() -> None:
        before = _handles()
        flooding = await program.start((sys.executable, "-c", FLOOD), tmp_path, tmp_path)
        await asyncio.sleep(0.3)
        await flooding.end()
        await asyncio.sleep(0)
        assert _handles() == before

    asyncio.run(test())


def _handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
