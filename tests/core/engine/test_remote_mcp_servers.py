"""Remote MCP servers: a key from the keyring, both transports, and a clear error for each way they fail."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.domain.question import Answer
from core.settings.schema import McpServerSettings, McpVariable
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded
from tests.core.engine.test_mcp_questions import (
    ERAS,
    PROGRAM,
    QUINN,
    outputs_of,
    run_calls,
    start_calls,
    wait_for_question,
)
from tests.servers.process import serving

KEY = "Bearer moss"
AUTHORIZATION = McpVariable(name="Authorization")


@contextmanager
def served(folder: Path, *words: str) -> Iterator[str]:
    command = [sys.executable, str(PROGRAM), "http", *words]
    with serving(command, r"listening on (http://\S+)", folder / "served.log", {"KEY": KEY}) as url:
        yield url


async def added(scene: EngineHarness, url: str, key: str = KEY) -> None:
    look = await scene.engine.mcp_servers.add(
        McpServerSettings(name="who", url=url, variables=(AUTHORIZATION,)), {"Authorization": key}
    )
    assert look.error is None, look.error


@ERAS
def test_calls_progress_and_questions_work_over_http_with_the_key(tmp_path: Path, era: tuple[str, ...]) -> None:
    async def test() -> None:
        with served(tmp_path, *era) as url:
            async with open_engine(tmp_path) as scene:
                await added(scene, url)
                heard: list[bytes] = []
                scene.engine.subscribe_live_updates(lambda draft: heard.append(draft.output) if draft.output else None)
                calls = (call_reply("who__count", to=2), call_reply("who__greet"))
                events = await run_calls(scene, *calls, replies=(QUINN,))
                assert outputs_of(events) == ["Counted to 2.", "Quinn, 30, large, True."]
                assert heard == [b"1/2 number 1\n", b"2/2 number 2\n"]
                assert "moss" not in (tmp_path / "settings.json").read_text("utf-8")
                assert [state.health for state in scene.services.servers.states().servers] == ["open"]

    run_bounded(test())


def test_a_server_that_ends_during_a_call_fails_it_and_is_left_alone(tmp_path: Path) -> None:
    async def test() -> None:
        with served(tmp_path) as url:
            async with open_engine(tmp_path) as scene:
                await added(scene, url)
                session = await start_calls(scene, call_reply("who__word"), call_reply("who__echo", word="x"))
                await scene.engine.answer((await wait_for_question(scene)).id, Answer(text="die"))
                await scene.engine.wait_idle(session)
                died, after = outputs_of(await scene.events(session))
                assert "The MCP server who ended during the call." in died
                assert "The MCP server who cannot be reached." in after  # an exiting server may still accept
                (state,) = scene.services.servers.states().servers
                assert state.health == "failed" and state.error and scene.bugs == []

    run_bounded(test())


def test_each_failure_has_its_message(tmp_path: Path) -> None:
    async def test() -> None:
        with served(tmp_path) as url:
            async with open_engine(tmp_path) as scene:
                servers = scene.engine.mcp_servers
                keyless = await servers.add(McpServerSettings(name="a", url=url))
                assert (
                    keyless.error
                    and keyless.error.cause == "It requires a sign-in or a key, or the key is wrong (401)."
                )
                wrong = await servers.add(
                    McpServerSettings(name="a", url=url, variables=(AUTHORIZATION,)), {"Authorization": "x"}
                )
                assert wrong.error and "401" in wrong.error.cause
                none = await servers.add(McpServerSettings(name="b", url=url, variables=(AUTHORIZATION,)))
                assert none.error and none.error.message == "The MCP server b has no key."
                unset = McpVariable(name="Authorization", value="Bearer ${NOT_SET_HERE}")
                variable = await servers.add(McpServerSettings(name="c", url=url, variables=(unset,)))
                assert variable.error and variable.error.message == "The variable NOT_SET_HERE is not set."
                moved = await servers.add(
                    McpServerSettings(name="a", url=url + "/nowhere", variables=(AUTHORIZATION,)),
                    {"Authorization": KEY},
                )
                assert moved.error and moved.error.cause == "There is nothing at this URL (404)."
                assert servers.list() == ()
        async with open_engine(tmp_path) as scene:
            gone = await scene.engine.mcp_servers.add(McpServerSettings(name="a", url=url))
            assert gone.error and gone.error.cause == "Nothing is listening at its URL."

    run_bounded(test())


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (McpServerSettings(name="a", url="http://example.com/mcp"), "Anyone on the network"),
        (McpServerSettings(name="a", url="https://me:pw@example.com/mcp"), "user name or password"),
        (McpServerSettings(name="a", url="ftp://example.com"), "not an http"),
        (McpServerSettings(name="a", url="https://a.example", command="b"), "either a command or a URL"),
        (McpServerSettings(name="a"), "either a command or a URL"),
        (
            McpServerSettings(name="a", command="b", variables=(McpVariable(name="A B"),)),
            "not a valid name for an environment variable",
        ),
        (
            McpServerSettings(name="a", url="https://a.example", variables=(McpVariable(name="A:"),)),
            "not a valid name for a header",
        ),
        (
            McpServerSettings(name="a", command="b", variables=(McpVariable(name="KEY", value="sk-1"),)),
            "secrets must not be stored",
        ),
    ],
)
def test_settings_that_could_leak_a_key_are_refused(tmp_path: Path, server: McpServerSettings, why: str) -> None:
    async def test() -> None:
        async with open_engine(tmp_path) as scene:
            with pytest.raises(Problem, match=why):
                await scene.engine.mcp_servers.add(server)

    run_bounded(test())
