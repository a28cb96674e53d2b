"""Commands and files that misbehave (T1–T20), requested by a model: the run always continues."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import FileChanged, SandboxTested, SessionEvent, ToolReturned
from core.workspace import program_search
from core.workspace.launcher import CommandLimits
from tests.core.engine import harness
from tests.core.engine.harness import EngineHarness, call_reply, open_engine, run_bounded, scripted_replies
from tests.e2e.terminal import wait_until

MARK = "600.7183"  # seconds of the sleep commands; leftover processes are found by this value
KEPT: dict[str, str] = {}  # long outputs, by blob hash
Check = Callable[[ToolReturned, Path], bool]


def number(case: object) -> int:
    return int(str(case)[1:])


def prints(text: str) -> Check:
    return lambda result, folder: text in result.output.head or text in KEPT.get(result.output.blob, "")


FILL = "b = bytearray(b'x') * (1 << 30); print('filled', len(b), flush=True); import time; time.sleep(1)"
FILLS = f'python3 -c "{FILL}"'


CASES: dict[str, tuple[dict[str, Any], Check]] = {
    "T1": ({"command": "yes"}, prints("MB of output")),
    "T2": ({"command": "head -c 200000000 /dev/zero | tr '\\0' x"}, prints("MB of output")),
    "T3": ({"command": "exec >&- 2>&-; sleep 0.2; touch late"}, lambda result, folder: (folder / "late").exists()),
    "T4": ({"command": f"(sleep {MARK} &); echo on"}, prints("on")),
    "T5": ({"command": f"setsid sh -c 'sleep {MARK}' & (setsid setsid sleep {MARK} &); echo on"}, prints("on")),
    "T6": (
        {"command": f"trap '' TERM INT HUP; echo on; sleep {MARK}", "timeout_s": 0.5},
        prints("stopped after 0.5 s"),
    ),
    "T7": (
        {"command": f"i=0; while [ $i -lt 200 ]; do sleep {MARK} & i=$((i+1)); done; wait", "timeout_s": 2},
        lambda result, folder: result.failed,
    ),
    "T8": ({"command": FILLS}, prints("filled 1073741824")),
    "T9": (
        {"command": "truncate -s 10G sparse; head -c 50000000 /dev/zero > big; ls"},
        lambda result, folder: "not recorded" in result.output.head or not (folder / "sparse").exists(),
    ),
    "T10": ({"command": "cat; read x; echo $?"}, prints("1")),
    "T11": ({"command": "(read x < /dev/tty) 2>/dev/null || echo no terminal"}, prints("no terminal")),
    "T12": ({"command": "kill -SEGV $$"}, lambda result, folder: result.exit_code not in (0, None)),
    "T13": ({"command": "printf '\\377\\000a\\033[2J'"}, prints("a")),
    "T14": ({"command": "echo on; rm -rf \"$PWD\" ../work; cd /; ls > /dev/null"}, prints("on")),
    "T15": ({"command": "mkdir d && touch d/f && chmod 000 d/f d; echo on"}, prints("on")),
    "T18": ({"command": "ln -s . loop; ln -s self self; ln -s ../.. up; echo on"}, prints("on")),
}  # fmt: skip


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    """Check that no process of a command outlives its run."""
    yield
    assert wait_until(lambda: not remaining_commands()), remaining_commands()


def remaining_commands() -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if f"sleep {MARK}" in words:
            found.append(words)
    return found


async def played_to_the_end(scene: EngineHarness, *replies: dict[str, Any]) -> list[SessionEvent]:
    """Run the calls to the end, approving every request."""
    session = await scene.start(scripted_replies(*replies, {"text": "done"}), mode="auto")
    while scene.engine.is_active(session):
        await scene.when(lambda: scene.engine.permission_requests() or scene.status(session) == "done")
        for _, each in scene.engine.permission_requests():
            await scene.engine.allow(each.request.id)
        if scene.status(session) == "done":
            await scene.engine.wait_idle(session)
    assert scene.bugs == []
    events = await scene.events(session)
    KEPT.update({e.output.blob: scene.engine.full_text(e.output) for e in events if isinstance(e, ToolReturned)})
    return events


@pytest.mark.parametrize("case", sorted(CASES, key=number))
def test_a_misbehaving_command_is_reported_and_the_run_continues(case: str, tmp_path: Path) -> None:
    """The next command still works."""
    arguments, check = CASES[case]

    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            after = [
                call_reply("run", command="echo next"),
                call_reply("find", pattern="*"),
                call_reply("search", pattern="x"),
            ]
            events = await played_to_the_end(scene, call_reply("run", **arguments), *after)
            results = [event for event in events if isinstance(event, ToolReturned)]
            assert check(results[0], scene.folder), results[0].output.head[-500:]
            assert len(results[0].output.head) < 1 << 20
            assert "next" in results[1].output.head and len(results) == 4

    run_bounded(test())


def test_t8_a_command_over_the_memory_limit_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that allocates a gigabyte is killed under a lower limit, and the next command works."""
    monkeypatch.setattr("core.tools.run.CommandLimits", partial(CommandLimits, memory=256 << 20))

    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            command = FILLS.replace("sleep(1)", "sleep(60)")
            events = await played_to_the_end(
                scene, call_reply("run", command=command), call_reply("run", command="echo on")
            )
            filled, on = [event for event in events if isinstance(event, ToolReturned)]
            assert filled.failed and "the limit is 256 MB" in filled.output.head
            assert not on.failed and on.output.head == "on\n"

    run_bounded(test())


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "folder"])
def test_t16_special_files_are_not_read(kind: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            place = scene.folder / "odd"
            match kind:
                case "fifo":
                    os.mkfifo(place)
                case "socket":
                    import socket

                    with socket.socket(socket.AF_UNIX) as made:
                        made.bind(str(place))
                case "device":
                    place.symlink_to("/dev/zero")
                case _:
                    place.mkdir()
            tried = [call_reply("read", path="odd"), call_reply("search", pattern="x", path="odd")]
            write = call_reply("write", path="odd", content="x")
            results = [e for e in await played_to_the_end(scene, *tried, write) if isinstance(e, ToolReturned)]
            assert results[0].failed and not place.is_file()

    run_bounded(test())


def test_t17_a_hundred_thousand_files_are_listed_in_part_and_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list says that it is truncated, and a change to any of the files is found, with the contents before it."""
    monkeypatch.setattr(harness, "BOUND_S", 100.0)

    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            for number in range(100_000):
                os.close(os.open(scene.folder / f"f{number}", os.O_CREAT))
            (scene.folder / "f99999").write_text("the needle\n")
            calls = [
                call_reply("find", pattern="*"),
                call_reply("search", pattern="needle"),
                call_reply("run", command="echo y > f7; echo z > f100000; rm -f f8"),
            ]
            events = await played_to_the_end(scene, *calls)
            listed, searched, ran = [event for event in events if isinstance(event, ToolReturned)]
            assert "more" in listed.output.head and 100 < len(listed.output.head) < 200_000, listed.output.head[-300:]
            assert "f99999:1" in searched.output.head and not ran.failed
            changed = [event.path for event in events if isinstance(event, FileChanged)]
            missed = ran.output.head.partition("cannot be reverted: ")[2]
            assert {"f7", "f8", "f100000"} <= {*changed, *missed.rstrip("]").split(", ")}, (changed, missed)

    run_bounded(test())


def test_t19_a_file_that_changed_since_it_was_read_is_not_edited(tmp_path: Path) -> None:
    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            note = scene.folder / "a.txt"
            note.write_text("one")
            edit = {**call_reply("edit", path="a.txt", old_string="one", new_string="two"), "delay_s": 0.3}
            session = await scene.start(
                scripted_replies(call_reply("read", path="a.txt"), edit, {"text": "done"}), mode="auto"
            )
            await scene.until(ToolReturned)
            note.write_text("one and theirs")
            await scene.engine.wait_idle(session)
            results = [event for event in await scene.events(session) if isinstance(event, ToolReturned)]
            assert results[1].failed and "changed" in results[1].output.head and note.read_text() == "one and theirs"

    run_bounded(test())


def test_t20_a_failing_bubblewrap_is_reported_as_a_lower_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = tmp_path / "bin" / "bwrap"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\necho 'no permission' >&2\nexit 1\n")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", str(stub.parent))
    monkeypatch.setattr(program_search, "SYSTEM_PLACES", (str(stub.parent),))

    async def test() -> None:
        async with open_engine(tmp_path / "home", tmp_path / "work") as scene:
            events = await played_to_the_end(scene, call_reply("run", command="ls"))
            (proven,) = [event for event in events if isinstance(event, SandboxTested)]
            assert proven.level != "verified" and proven.sandbox != "bubblewrap"

    run_bounded(test())
