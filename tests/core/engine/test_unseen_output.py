"""A small model does not replace the output of a command, which it has not seen, with a text of its own."""

from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallStarted, Replied, RunStarted
from core.settings.schema import Provider
from tests.core.engine.harness import open_engine, run_bounded
from tests.core.engine.test_failing_tests import reply
from tests.core.engine.test_read_ahead import LISTING
from tests.servers.scripted_server import scripted_server

WRITE = '{"name": "write", "arguments": {"path": "out.txt", "content": "guessed"}}'
READ = '{"name": "read", "arguments": {"path": "in.txt"}}'
RUN = '{"name": "run", "arguments": {"command": "echo 4181"}}'


@pytest.mark.parametrize(
    ("calls", "size", "tools"),
    [
        ([RUN, WRITE], "compact", ["run"]),
        ([WRITE, RUN, READ], "compact", ["write", "run", "read"]),
        ([RUN, WRITE], "full", ["run", "write"]),
    ],
)
def test_changes_written_before_the_output_is_known_are_left_out(
    tmp_path: Path, calls: list[str], size: Any, tools: list[str]
) -> None:
    async def main() -> None:
        replies = reply("\n".join(calls)), *[reply("Done.")] * 6
        async with scripted_server(LISTING, *replies) as server, open_engine(tmp_path) as scene:
            scene.engine.settings.change(providers=(Provider(name="box", url=server.url),), prompt_size=size)
            (scene.folder / "in.txt").write_text("a\n")
            session = await scene.engine.start("Run `echo 4181`.", scene.folder, RunStarted("box/m", mode="auto"))
            await scene.engine.wait_idle(session)
            events = await scene.events(session)
        assert [event.tool for event in events if isinstance(event, CallStarted)] == tools
        notes = [event.note for event in events if isinstance(event, Replied)]
        assert any("before it saw the output" in note for note in notes) is (len(tools) < len(calls))

    run_bounded(main())
    assert (tmp_path / "work" / "out.txt").exists() is ("write" in tools)
