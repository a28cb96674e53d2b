"""Files that are one document: they grow as a whole, lie in many folders under one name, and break in the middle."""

import asyncio
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import PersonSpoke, Replied, ToolReturned
from core.domain.problems import Problem
from core.exchange.imports import Brought
from tests.core.exchange.home import Home, home
from tests.core.exchange.test_importers import CODEX, FOREIGN

Whole = dict[str, Any]


def _grown_mini(whole: Whole) -> Whole:
    return {**whole, "info": {"exit_status": "LimitsExceeded"}, "messages": whole["messages"][:4]}


def _grown_swe(whole: Whole) -> Whole:
    return {**whole, "info": {"exit_status": None}, "trajectory": whole["trajectory"][:1]}


def _grown_atif(whole: Whole) -> Whole:
    return {**whole, "final_metrics": {"total_steps": 2}, "steps": whole["steps"][:2], "subagent_trajectories": []}


GROWING: tuple[tuple[Path, Callable[[Whole], Whole]], ...] = (
    (FOREIGN / "mini-swe-agent" / "new.traj.json", _grown_mini),
    (FOREIGN / "swe-agent" / "mend.traj", _grown_swe),
    (FOREIGN / "atif" / "trajectory.json", _grown_atif),
)


async def _counted(made: Home, brought: Brought) -> tuple[int, ...]:
    events = [event for name in brought.sessions for event in await made.events(name)]
    return tuple(sum(isinstance(event, kind) for event in events) for kind in (PersonSpoke, Replied, ToolReturned))


@pytest.mark.parametrize(("path", "younger"), GROWING, ids=["mini-swe-agent", "SWE-agent", "ATIF"])
def test_one_that_grew_adds_what_is_new(path: Path, younger: Callable[[Whole], Whole], tmp_path: Path) -> None:
    """What is said of the whole changes while it grows; that alone is no other file."""
    whole = path.read_bytes()

    async def main() -> None:
        file = tmp_path / path.name
        async with home(tmp_path / "once.db") as made:
            file.write_bytes(whole)
            wanted = await _counted(made, await made.desk.bring(file))
        async with home(tmp_path / "twice.db") as made:
            file.write_text(json.dumps(younger(json.loads(whole))))
            first = await made.desk.bring(file)
            file.write_bytes(whole)
            second = await made.desk.bring(file)
            assert second.session == first.session and second.added > 0
            names = tuple(dict.fromkeys((*first.sessions, *second.sessions)))
            assert await _counted(made, Brought(names[0], names, "", 0)) == wanted
            assert (await made.desk.bring(file)).added == 0

    asyncio.run(main())


@pytest.mark.parametrize(
    "path", [*(path for path, _ in GROWING[:2]), FOREIGN / "openhands" / "first.json"], ids=lambda path: path.name
)
def test_two_of_one_name_in_two_folders_are_two(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            sessions = set()
            for folder in ("one", "other"):
                (tmp_path / folder).mkdir()
                file = tmp_path / folder / path.name
                file.write_bytes(whole)
                sessions.add((await made.desk.bring(file)).session)
            assert len(sessions) == 2

    asyncio.run(main())


def test_one_that_became_shorter_is_not_taken_for_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        file = tmp_path / CODEX.name
        file.write_bytes(CODEX.read_bytes())
        async with home(tmp_path / "a.db") as made:
            await made.desk.bring(file)
            file.write_bytes(b"".join(CODEX.read_bytes().splitlines(keepends=True)[:4]))
            with pytest.raises(Problem, match="holds less than was imported"):
                await made.desk.bring(file)

    asyncio.run(main())


def test_what_codex_tells_again_is_not_used_again(tmp_path: Path) -> None:
    lines = CODEX.read_text().splitlines(keepends=True)
    told = [line for line in lines if '"token_usage_record"' not in line]
    used = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    count = json.dumps(
        {"timestamp": "2026-01-01T00:00:09Z", "type": "event_msg",
         "payload": {"type": "token_count", "info": {"total_token_usage": used, "last_token_usage": used}}}
    )  # fmt: skip
    told = [line for line in told if '"token_count"' not in line] + [f"{count}\n"] * 3

    async def main() -> None:
        (tmp_path / CODEX.name).write_text("".join(told))
        async with home(tmp_path / "a.db") as made:
            brought = await made.desk.bring(tmp_path / CODEX.name)
            row = made.reader.session(brought.session)
            assert row and row.tokens == 110

    asyncio.run(main())


def test_swe_agent_says_what_was_used_of_all_together(tmp_path: Path) -> None:
    path = FOREIGN / "swe-agent" / "mend.traj"
    whole = json.loads(path.read_text())
    stats = {"instance_cost": 0.5, "tokens_sent": 900, "tokens_received": 40, "api_calls": 2}
    whole["info"] = {"exit_status": "submitted", "model_stats": stats}
    whole["trajectory"].insert(
        0, {"response": "Hm.", "thought": "Hm.", "action": "", "observation": "Write a command."}
    )

    async def main() -> None:
        (tmp_path / path.name).write_text(json.dumps(whole))
        async with home(tmp_path / "a.db") as made:
            brought = await made.desk.bring(tmp_path / path.name)
            row = made.reader.session(brought.session)
            assert row and (row.tokens, row.cost) == (940, 0.5)
            assert "Write a command." in await made.told(brought.session, "json")

    asyncio.run(main())


def test_one_that_breaks_in_the_middle_says_that_a_part_is_here(tmp_path: Path) -> None:
    log = tmp_path / "half.eval"
    log.write_bytes((FOREIGN / "inspect" / "log.eval").read_bytes())
    with zipfile.ZipFile(log, "a") as more:
        more.writestr("samples/zz_epoch_1.json", '{"id": "zz", "messages": [')

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            with pytest.raises(Problem, match="imported only in part"):
                await made.desk.bring(log)
            assert len(made.reader.sessions()) == 1

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            with pytest.raises(Problem, match="no ordinary file"):
                await made.desk.bring(tmp_path / "pipe.jsonl")

    asyncio.run(main())


def test_a_line_that_is_too_long_to_keep_says_so(tmp_path: Path) -> None:
    strange = json.dumps({"type": "of_tomorrow", "payload": {"text": "x" * (5 << 20)}})

    async def main() -> None:
        file = tmp_path / CODEX.name
        file.write_text(CODEX.read_text() + strange + "\n")
        async with home(tmp_path / "a.db") as made:
            brought = await made.desk.bring(file)
            assert f"[{len(strange):,} characters in all]" in await made.told(brought.session, "json")

    asyncio.run(main())
