"""Journeyman as an MCP server: another agent searches its memories, reads its skills and proposes a memory."""

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from app.commands.mcp_serve import McpShareServer
from core.domain.events import SessionEvent
from core.settings.schema import McpServerSettings
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded
from tests.core.engine.test_mcp_servers import ran, results
from tests.e2e.forked_process import ROOT

SKILL = "---\nname: letters\ndescription: Write formal letters. Use it for any letter.\n---\n# Letters\nBe polite.\n"


async def offered(scene: EngineHarness, home: Path, folder: Path) -> tuple[str, ...]:
    """Add the Journeyman with the data folder `home` as an MCP server of another one. Return the names of its tools."""
    words = [sys.executable, "-P", "-m", "app", "--data-dir", str(home), "mcp", "serve", "-C", str(folder)]
    command = f"PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.join(words)}"
    look = await scene.engine.mcp_servers.add(McpServerSettings(name="own", command="sh", args=("-c", command)))
    assert look.error is None, look.error
    return tuple(tool.name for tool in look.tools)


async def texts(scene: EngineHarness, *calls: dict[str, Any]) -> list[tuple[str, bool]]:
    events: list[SessionEvent] = (await ran(scene, *calls))[1]
    return [(event.output.head, event.failed) for event in results(events)]


def test_another_agent_shares_memories_and_skills(tmp_path: Path) -> None:
    own, other, folder = tmp_path / "own", tmp_path / "other", tmp_path / "work"
    folder.mkdir()

    async def prepare() -> str:
        async with open_engine(own, folder) as scene:
            saved = await scene.engine.memory.add("The release branch is frozen on Fridays.")
            await scene.engine.memory.add(
                "The release of the other folder is on Monday.", scope="folder", scope_id=str(tmp_path / "away")
            )
            await scene.engine.skills.save("letters", SKILL)
            return saved.memory.id

    async def use() -> list[tuple[str, bool]]:
        async with open_engine(other) as scene:
            tools = await offered(scene, own, folder)
            assert tools == ("search_memories", "read_memory", "propose_memory", "list_skills", "read_skill")
            return await texts(
                scene,
                call_reply("own__search_memories", query="release"),
                call_reply("own__read_memory", id=name[0]),
                call_reply("own__read_memory", id="nothing"),
                call_reply("own__list_skills"),
                call_reply("own__read_skill", name="letters"),
                call_reply("own__read_skill", name="unknown"),
                call_reply("own__propose_memory", text="The printer is on floor 2.", kind="knowledge"),
                call_reply("own__propose_memory", text="The key is sk-ant-api03-" + "a" * 95),
            )

    async def look() -> None:
        async with open_engine(own, folder) as scene:
            (proposal,) = scene.engine.proposals.list()
            assert proposal.text == "The printer is on floor 2." and "over MCP" in proposal.reason
            assert not await scene.engine.memory.find("printer")
            await scene.engine.proposals.accept(proposal.id)
            assert len(await scene.engine.memory.find("printer")) == 1

    name: list[str] = []

    async def first() -> None:
        name.append(await prepare())

    async def second() -> None:
        found, one, none, skills, skill, unknown, proposed, secret = await use()
        assert found == (f"[{name[0]}] knowledge: The release branch is frozen on Fridays.", False)
        assert one[0].startswith("knowledge: The release branch is frozen on Fridays.") and not one[1]
        assert none[1] and unknown[1] and secret[1]
        assert "letters: Write formal letters." in skills[0] and "Be polite." in skill[0]
        assert proposed == ("Proposed. The user decides in Journeyman.", False)

    run_bounded(first())
    run_bounded(second())
    run_bounded(look())


def test_the_name_of_a_client_stays_on_one_line(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_engine(tmp_path) as scene:
            lines: asyncio.Queue[bytes] = asyncio.Queue()
            name = "helper\nx2  create memory \u202e"
            call = {"name": "propose_memory", "arguments": {"text": "The printer is on floor 2."}}
            for number, (method, params) in enumerate(
                (("initialize", {"clientInfo": {"name": name}}), ("tools/call", call))
            ):
                lines.put_nowait(json.dumps({"id": number, "method": method, "params": params}).encode())
            lines.put_nowait(b"")
            answers: list[bytes] = []

            async def write(line: bytes) -> None:
                answers.append(line)

            await McpShareServer(scene.engine, scene.folder, write).serve(lines)
            (proposal,) = scene.engine.proposals.list()
            assert len(answers) == 2 and proposal.reason.isprintable() and "helper⟦U+000A⟧x2" in proposal.reason

    run_bounded(main())
