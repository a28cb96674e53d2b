"""What an owner says to who asks it for what it has not got."""

from pathlib import Path

import pytest

from app.commands.exits import FAILED
from app.output import Output
from app.perform import performer
from tests.core.engine.scenes import bounded, opened


@pytest.mark.parametrize("words", [[], ["open", "run.jsonl"]])
def test_a_window_cannot_be_had_of_one_that_does_a_command(tmp_path: Path, words: list[str]) -> None:
    said: list[str] = []

    async def test() -> None:
        async with opened(tmp_path) as scene:
            perform = performer(scene.services, tmp_path)
            out = Output(said.append, said.append)
            assert await perform(words, tmp_path, out) == FAILED

    bounded(test())
    assert "It does one command and has no window." in "\n".join(said)
