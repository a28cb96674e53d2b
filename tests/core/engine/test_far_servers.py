"""Tool servers at an address: a key from the keyring, both protocols, and a clear word for each way they fail."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.domain.question import Answer
from core.settings.schema import Given, ToolServer
from tests.core.engine.scenes import Scene, bounded, calling, opened
from tests.core.engine.test_asking_servers import ERAS, PROGRAM, QUINN, asked, begun, ran, said
from tests.servers.process import serving

KEY = "Bearer moss"
AUTHORIZATION = Given(name="Authorization")


@contextmanager
def served(folder: Path, *words: str) -> Iterator[str]:
    command = [sys.executable, str(PROGRAM), "http", *words]
    with serving(command, r"listening on (http://\S+)", folder / "served.log", {"KEY": KEY}) as url:
        yield url


async def added(scene: Scene, url: str, key: str = KEY) -> None:
    look = await scene.engine.servers.add(
        ToolServer(name="who", url=url, given=(AUTHORIZATION,)), {"Authorization": key}
    )
    assert look.trouble is None, look.trouble


@ERAS
def test_calls_progress_and_questions_go_over_http_with_the_key(tmp_path: Path, era: tuple[str, ...]) -> None:
    async def test() -> None:
        with served(tmp_path, *era) as url:
            async with opened(tmp_path) as scene:
                await added(scene, url)
                heard: list[bytes] = []
                scene.engine.listen_drafts(lambda draft: heard.append(draft.output) if draft.output else None)
                calls = (calling("who__count", to=2), calling("who__greet"))
                events = await ran(scene, *calls, replies=(QUINN,))
                assert said(events) == ["Counted to 2.", "Quinn, 30, large, True."]
                assert heard == [b"1/2 number 1\n", b"2/2 number 2\n"]
                assert "moss" not in (tmp_path / "settings.json").read_text("utf-8")
                assert [state.health for state in scene.services.servers.states().of] == ["open"]

    bounded(test())


def test_a_server_that_ends_in_mid_call_fails_it_in_words_and_is_left_alone(tmp_path: Path) -> None:
    async def test() -> None:
        with served(tmp_path) as url:
            async with opened(tmp_path) as scene:
                await added(scene, url)
                session = await begun(scene, calling("who__word"), calling("who__echo", word="x"))
                await scene.engine.answer((await asked(scene)).id, Answer(text="die"))
                await scene.engine.wait(session)
                died, after = said(await scene.events(session))
                assert "The tool server who ended in the middle of the call." in died
                assert "The tool server who cannot be reached." in after  # it may still take a connection as it dies
                (state,) = scene.services.servers.states().of
                assert state.health == "failed" and state.trouble and scene.bugs == []

    bounded(test())


def test_each_way_to_fail_has_its_words(tmp_path: Path) -> None:
    async def test() -> None:
        with served(tmp_path) as url:
            async with opened(tmp_path) as scene:
                servers = scene.engine.servers
                keyless = await servers.add(ToolServer(name="a", url=url))
                assert keyless.trouble and keyless.trouble.why == "It wants a key, or another one (401)."
                wrong = await servers.add(ToolServer(name="a", url=url, given=(AUTHORIZATION,)), {"Authorization": "x"})
                assert wrong.trouble and "401" in wrong.trouble.why
                none = await servers.add(ToolServer(name="b", url=url, given=(AUTHORIZATION,)))
                assert none.trouble and none.trouble.what == "The tool server b has no key."
                unset = Given(name="Authorization", value="Bearer ${NOT_SET_HERE}")
                variable = await servers.add(ToolServer(name="c", url=url, given=(unset,)))
                assert variable.trouble and variable.trouble.what == "The variable NOT_SET_HERE is not set."
                moved = await servers.add(
                    ToolServer(name="a", url=url + "/nowhere", given=(AUTHORIZATION,)), {"Authorization": KEY}
                )
                assert moved.trouble and moved.trouble.why == "Nothing is at this address (404)."
                assert servers.list() == ()
        async with opened(tmp_path) as scene:
            gone = await scene.engine.servers.add(ToolServer(name="a", url=url))
            assert gone.trouble and gone.trouble.why == "Nothing listens at its address."

    bounded(test())


@pytest.mark.parametrize(
    ("server", "why"),
    [
        (ToolServer(name="a", url="http://example.com/mcp"), "readable for everyone"),
        (ToolServer(name="a", url="https://me:pw@example.com/mcp"), "user name or password"),
        (ToolServer(name="a", url="ftp://example.com"), "not an http"),
        (ToolServer(name="a", url="https://a.example", command="b"), "or both"),
        (ToolServer(name="a"), "neither"),
        (ToolServer(name="a", command="b", given=(Given(name="A B"),)), "no name of an environment variable"),
        (ToolServer(name="a", url="https://a.example", given=(Given(name="A:"),)), "no name of a header"),
        (ToolServer(name="a", command="b", given=(Given(name="KEY", value="sk-1"),)), "keeps no secrets"),
    ],
)
def test_what_could_send_a_key_elsewhere_or_write_it_down_is_refused(
    tmp_path: Path, server: ToolServer, why: str
) -> None:
    async def test() -> None:
        async with opened(tmp_path) as scene:
            with pytest.raises(Problem, match=why):
                await scene.engine.servers.add(server)

    bounded(test())
