"""A helper program ends at its limits."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.tools import bounded_process
from core.tools.bounded_process import BoundedOutput, run_bounded
from tests.core.memory.made import run_now


def run_python(folder: Path, script: str) -> BoundedOutput:
    return run_now(asyncio.wait_for(run_bounded([sys.executable, "-IS", "-c", script], b"", folder), 60))


def test_a_program_that_ends_by_itself_is_not_stopped(tmp_path: Path) -> None:
    assert run_python(tmp_path, "print('done'); raise SystemExit(3)") == BoundedOutput(b"done\n", "", 3)


def test_a_program_is_killed_after_too_much_output(tmp_path: Path) -> None:
    output = run_python(tmp_path, "while True: print('x' * 10_000)")
    assert output.stopped_by == "output" and output.exit_code < 0


@pytest.mark.parametrize("first", ["", "os.close(1); "])
def test_a_program_is_killed_after_its_time_also_if_it_closed_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    monkeypatch.setattr(bounded_process, "TIMEOUT_S", 1.0)
    output = run_python(tmp_path, f"import os, time; {first}time.sleep(600)")
    assert output.stopped_by == "time" and output.exit_code < 0
