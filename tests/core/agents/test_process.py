"""The process of an external agent leaves no open resources behind."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.agents import process

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


def _handles() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))
