"""Requests that the owner of a data folder cannot fulfill."""

from pathlib import Path

import pytest

from app.commands.command_runner import make_command_runner
from app.process.exit_codes import FAILED
from app.process.output import Output
from tests.core.engine.harness import open_engine, run_bounded


@pytest.mark.parametrize("words", [[], ["open", "run.jsonl"]])
def test_a_window_cannot_open_through_a_process_that_runs_a_command(tmp_path: Path, words: list[str]) -> None:
    said: list[str] = []

    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            perform = make_command_runner(scene.services, tmp_path)
            out = Output(said.append, said.append)
            assert await perform(words, tmp_path, out) == FAILED

    run_bounded(test())
    assert "It runs a command and has no window." in "\n".join(said)
