"""Formats that are a single document: they are rewritten as they grow, and their names repeat in several folders."""

import asyncio
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import Replied, ToolReturned, UserMessage
from core.domain.problems import Problem
from core.exchange.import_result import SessionImportResult
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


async def _counted(made: Home, brought: SessionImportResult) -> tuple[int, ...]:
    events = [event for name in brought.sessions for event in await made.events(name)]
    return tuple(sum(isinstance(event, kind) for event in events) for kind in (UserMessage, Replied, ToolReturned))


@pytest.mark.parametrize(("path", "younger"), GROWING, ids=["mini-swe-agent", "SWE-agent", "ATIF"])
def test_a_document_that_grew_adds_what_is_new(path: Path, younger: Callable[[Whole], Whole], tmp_path: Path) -> None:
    """Summary fields change while a document grows; that alone does not make it a different file."""
    whole = path.read_bytes()

    async def main() -> None:
        file = tmp_path / path.name
        async with home(tmp_path / "once.db") as made:
            file.write_bytes(whole)
            wanted = await _counted(made, await made.exchange.import_file(file))
        async with home(tmp_path / "twice.db") as made:
            file.write_text(json.dumps(younger(json.loads(whole))))
            first = await made.exchange.import_file(file)
            file.write_bytes(whole)
            second = await made.exchange.import_file(file)
            assert second.session == first.session and second.added_events > 0
            names = tuple(dict.fromkeys((*first.sessions, *second.sessions)))
            assert await _counted(made, SessionImportResult(names[0], names, "", 0)) == wanted
            assert (await made.exchange.import_file(file)).added_events == 0

    asyncio.run(main())


@pytest.mark.parametrize(
    "path", [*(path for path, _ in GROWING[:2]), FOREIGN / "openhands" / "first.json"], ids=lambda path: path.name
)
def test_two_files_of_one_name_in_two_folders_are_two(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            sessions = set()
            for folder in ("one", "other"):
                (tmp_path / folder).mkdir()
                file = tmp_path / folder / path.name
                file.write_bytes(whole)
                sessions.add((await made.exchange.import_file(file)).session)
            assert len(sessions) == 2

    asyncio.run(main())


def test_calls_and_sub_agents_without_ids_stay_apart(tmp_path: Path) -> None:
    step = {"source": "agent", "message": "done", "tool_calls": [{"function_name": "ls"}, {"function_name": "cat"}],
            "observation": {"results": [{"content": "first"}, {"content": "second"}]}}  # fmt: skip
    below = {"steps": [{"source": "user", "message": "hello"}]}
    document = {"schema_version": "ATIF-v1.4", "trajectory_id": "top", "steps": [step],
                "subagent_trajectories": [below, below]}  # fmt: skip

    async def main() -> None:
        file = tmp_path / "trajectory.json"
        file.write_text(json.dumps(document))
        async with home(tmp_path / "a.db") as made:
            brought = await made.exchange.import_file(file)
            assert len(brought.sessions) == 3
            events = await made.events(brought.session)
            assert len({event.call_id for event in events if isinstance(event, ToolReturned)}) == 2

    asyncio.run(main())


def test_a_truncated_file_is_not_the_same(tmp_path: Path) -> None:
    async def main() -> None:
        file = tmp_path / CODEX.name
        file.write_bytes(CODEX.read_bytes())
        async with home(tmp_path / "a.db") as made:
            await made.exchange.import_file(file)
            file.write_bytes(b"".join(CODEX.read_bytes().splitlines(keepends=True)[:4]))
            with pytest.raises(Problem, match="contains fewer records than were imported"):
                await made.exchange.import_file(file)

    asyncio.run(main())


def test_usage_repeated_by_codex_is_counted_once(tmp_path: Path) -> None:
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
            brought = await made.exchange.import_file(tmp_path / CODEX.name)
            row = made.reader.session(brought.session)
            assert row and row.tokens == 110

    asyncio.run(main())


def test_swe_agent_reports_total_usage(tmp_path: Path) -> None:
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
            brought = await made.exchange.import_file(tmp_path / path.name)
            row = made.reader.session(brought.session)
            assert row and (row.tokens, row.cost) == (940, 0.5)
            assert "Write a command." in await made.export_text(brought.session, "json")

    asyncio.run(main())


def test_a_file_that_breaks_in_the_middle_is_reported_as_partial(tmp_path: Path) -> None:
    log = tmp_path / "half.eval"
    log.write_bytes((FOREIGN / "inspect" / "log.eval").read_bytes())
    with zipfile.ZipFile(log, "a") as more:
        more.writestr("samples/zz_epoch_1.json", '{"id": "zz", "messages": [')

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            with pytest.raises(Problem, match="imported only in part"):
                await made.exchange.import_file(log)
            assert len(made.reader.sessions()) == 1

    asyncio.run(main())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such files")
def test_a_named_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")

    async def main() -> None:
        async with home(tmp_path / "a.db") as made:
            with pytest.raises(Problem, match="not a regular file"):
                await made.exchange.import_file(tmp_path / "pipe.jsonl")

    asyncio.run(main())


def test_a_line_that_is_too_long_is_reported(tmp_path: Path) -> None:
    strange = json.dumps({"type": "of_tomorrow", "payload": {"text": "x" * (5 << 20)}})

    async def main() -> None:
        file = tmp_path / CODEX.name
        file.write_text(CODEX.read_text() + strange + "\n")
        async with home(tmp_path / "a.db") as made:
            brought = await made.exchange.import_file(file)
            assert f"[truncated; {len(strange):,} characters in total]" in await made.export_text(
                brought.session, "json"
            )

    asyncio.run(main())
