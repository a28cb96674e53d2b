"""What other programs obey is asked about in every mode, by file tools and by commands; a yes opens that, only that."""

import contextlib
import dataclasses
from pathlib import Path

import pytest

from core.domain.consent import Allowed, Asks, ConsentAsked, Denied
from core.domain.events import CallRefused, FileChanged, ToolReturned
from core.domain.modes import MODES, Mode
from core.domain.problems import Problem
from core.workspace.broker import Broker
from tests.core.engine.judged import FACTS, act, verdict
from tests.core.engine.scenes import bounded, calling, opened, played
from tests.core.workspace.test_broker import SPELLINGS

DONE = {"text": "Done."}
REDUCED = dataclasses.replace(FACTS, level="reduced")


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_the_broker_keeps_is_asked_about(name: str, tmp_path: Path) -> None:
    """The two agree in every mode: a person is asked, never refused without a word."""
    with Broker(tmp_path) as broker, contextlib.suppress(Problem):
        broker.write(name, b"x")
        pytest.fail("the broker let it pass")
    for mode in (mode for mode in MODES if mode != "plan"):
        found = verdict(act("write", path=name, content="x"), mode=mode)
        secret = name == ".npmrc" and isinstance(found, Denied)
        assert secret or (isinstance(found, Asks) and found.request.opens and not found.request.patterns), (name, mode)


@pytest.mark.parametrize("mode", ["accept", "trust"])
def test_a_yes_opens_what_was_shown(tmp_path: Path, mode: Mode) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / ".vscode").mkdir()
            (scene.folder / ".vscode/tasks.json").write_text("old")
            session = await scene.start(
                played(
                    calling("write", path=".vscode/tasks.json", content="new"),
                    calling("write", path=".vscode/tasks.json", content="newer"),
                    DONE,
                ),
                mode=mode,
            )
            for count, yes in ((1, True), (2, False)):
                request = (await scene.until(ConsentAsked, count)).event.request  # type: ignore[union-attr]
                assert request.opens == (".vscode/tasks.json",) and "obey" in request.why
                await (scene.engine.allow(request.id) if yes else scene.engine.deny(request.id, "no"))
            await scene.engine.wait(session)
            assert (scene.folder / ".vscode/tasks.json").read_text() == "new"

    bounded(main())


def test_a_yes_for_a_file_does_not_open_what_it_became(tmp_path: Path) -> None:
    """The name was shown as one thing; meanwhile it leads to a hook."""

    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / ".git/hooks").mkdir(parents=True)
            session = await scene.start(
                played(calling("write", path="docs/pre-commit", content="x"), DONE), mode="edits"
            )
            request = (await scene.until(ConsentAsked)).event.request  # type: ignore[union-attr]
            assert request.opens == ()
            (scene.folder / "docs").symlink_to(".git/hooks")
            await scene.engine.allow(request.id)
            await scene.engine.wait(session)
            (refused,) = [e for e in await scene.events(session) if isinstance(e, CallRefused)]
            assert "has changed" in refused.reason.head and not list((scene.folder / ".git/hooks").iterdir())

    bounded(main())


def test_a_file_that_changed_since_it_was_shown_is_asked_about_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / "a.txt").write_text("one")
            write = calling("write", path="a.txt", content="mine")
            session = await scene.start(played(write, write, DONE), mode="edits")
            request = (await scene.until(ConsentAsked)).event.request  # type: ignore[union-attr]
            (scene.folder / "a.txt").write_text("two: work of somebody else")
            await scene.engine.allow(request.id)
            again = (await scene.until(ConsentAsked, 2)).event.request  # type: ignore[union-attr]
            assert (scene.folder / "a.txt").read_text().startswith("two")
            await scene.engine.allow(again.id)
            await scene.engine.wait(session)
            (changed,) = [e for e in await scene.events(session) if isinstance(e, FileChanged)]
            assert scene.engine.blob(changed.before).startswith(b"two")

    bounded(main())


def test_a_yes_to_a_command_opens_nothing_it_did_not_name(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as scene:
            (scene.folder / ".envrc").write_text("old")
            (scene.folder / "plant.sh").write_text("echo new > .envrc")
            session = await scene.start(
                played(
                    calling("run", command="sh plant.sh"),
                    calling("run", command="cp plant.sh .envrc"),
                    DONE,
                ),
                mode="edits",
            )
            first = (await scene.until(ConsentAsked)).event.request  # type: ignore[union-attr]
            await scene.engine.allow(first.id)
            second = (await scene.until(ConsentAsked, 2)).event.request  # type: ignore[union-attr]
            if first.level == "verified":
                assert (scene.folder / ".envrc").read_text() == "old"
            assert first.opens == () and second.opens == (".envrc",)
            await scene.engine.allow(second.id)
            await scene.engine.wait(session)
            assert (scene.folder / ".envrc").read_text() == "echo new > .envrc"
            returned = [e for e in await scene.events(session) if isinstance(e, ToolReturned)]
            assert not returned[1].failed

    bounded(main())


@pytest.mark.parametrize(
    ("command", "opens"),
    [
        ("git config user.name Ada", ".git/config"), ("git remote add origin https://example.org/x", ".git/config"),
        ("pre-commit install", ".git/hooks"), ("git submodule add https://example.org/x", ".git/config"),
    ],
)  # fmt: skip
def test_commands_that_must_change_it_ask_in_every_mode(command: str, opens: str) -> None:
    for facts in (FACTS, REDUCED):
        found = verdict(act("run", command=command), mode="trust", facts=facts)
        assert isinstance(found, Asks) and found.request.opens == (opens,) and not found.request.patterns


@pytest.mark.parametrize("command", ["git config --get user.name", "git config -l", "git remote -v", "git config x.y"])
def test_commands_that_only_look_do_not(command: str) -> None:
    assert isinstance(verdict(act("run", command=command), mode="trust"), Allowed)


@pytest.mark.parametrize(
    "command",
    ["cp x .git/hooks/pre-commit", "sed -i s/a/b/ ./deep/../.envrc", "tee --output=.vscode/tasks.json",
     "mv a .MCP.json", "python3 x.py /home/ada/letters/.git/config", "sort -o .envrc x", "mv .husky x"],
)  # fmt: skip
def test_low_walls_ask_about_what_is_named(command: str) -> None:
    found = verdict(act("run", command=command), mode="trust", facts=REDUCED)
    assert isinstance(found, Asks) and found.request.opens and "do not keep" in found.request.why
    high = verdict(act("run", command=command), mode="trust")
    assert isinstance(high, Allowed), "there the kernel keeps it"


def test_low_walls_do_not_ask_about_looking() -> None:
    for command in ("cat .github/workflows/x.yml", "git diff .gitattributes", "ls .vscode && wc -l .vscode/tasks.json"):
        assert isinstance(verdict(act("run", command=command), mode="trust", facts=REDUCED), Allowed), command


def test_nothing_secret_is_opened_by_a_yes() -> None:
    assert isinstance(verdict(act("read", path=".npmrc")), Denied)
    assert isinstance(verdict(act("run", command="cat .npmrc")), Denied)
