"""Commands and files that misbehave (T1–T20), run by an obedient model through the whole engine: it always goes on."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import FileChanged, RunEvent, SandboxProven, ToolReturned
from core.workspace.launch import Limits
from tests.core.engine import scenes
from tests.core.engine.scenes import Scene, bounded, calling, opened, played
from tests.e2e.terminal import eventually

MARK = "600.7183"  # seconds of the sleeps: what is left of them is found by it
KEPT: dict[str, str] = {}  # long outputs, by the name they are kept under
Check = Callable[[ToolReturned, Path], bool]


def number(case: object) -> int:
    return int(str(case)[1:])


def said(text: str) -> Check:
    return lambda result, folder: text in result.output.head or text in KEPT.get(result.output.blob, "")


FILL = "b = bytearray(b'x') * (1 << 30); print('filled', len(b), flush=True); import time; time.sleep(1)"
FILLS = f'python3 -c "{FILL}"'


CASES: dict[str, tuple[dict[str, Any], Check]] = {
    "T1": ({"command": "yes"}, said("MB of output")),
    "T2": ({"command": "head -c 200000000 /dev/zero | tr '\\0' x"}, said("MB of output")),
    "T3": ({"command": "exec >&- 2>&-; sleep 0.2; touch late"}, lambda result, folder: (folder / "late").exists()),
    "T4": ({"command": f"(sleep {MARK} &); echo on"}, said("on")),
    "T5": ({"command": f"setsid sh -c 'sleep {MARK}' & (setsid setsid sleep {MARK} &); echo on"}, said("on")),
    "T6": ({"command": f"trap '' TERM INT HUP; echo on; sleep {MARK}", "timeout_s": 0.5}, said("stopped after 0.5 s")),
    "T7": (
        {"command": f"i=0; while [ $i -lt 200 ]; do sleep {MARK} & i=$((i+1)); done; wait", "timeout_s": 2},
        lambda result, folder: result.failed,
    ),
    "T8": ({"command": FILLS}, said("filled 1073741824")),
    "T9": (
        {"command": "truncate -s 10G sparse; head -c 50000000 /dev/zero > big; ls"},
        lambda result, folder: "not kept" in result.output.head or not (folder / "sparse").exists(),
    ),
    "T10": ({"command": "cat; read x; echo $?"}, said("1")),
    "T11": ({"command": "(read x < /dev/tty) 2>/dev/null || echo no terminal"}, said("no terminal")),
    "T12": ({"command": "kill -SEGV $$"}, lambda result, folder: result.exit_code not in (0, None)),
    "T13": ({"command": "printf '\\377\\000a\\033[2J'"}, said("a")),
    "T14": ({"command": "echo on; rm -rf \"$PWD\" ../work; cd /; ls > /dev/null"}, said("on")),
    "T15": ({"command": "mkdir d && touch d/f && chmod 000 d/f d; echo on"}, said("on")),
    "T18": ({"command": "ln -s . loop; ln -s round round; ln -s ../.. up; echo on"}, said("on")),
}  # fmt: skip


@pytest.fixture(autouse=True)
def nobody_left() -> Iterator[None]:
    """No process of a command outlives its run."""
    yield
    assert eventually(lambda: not left()), left()


def left() -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if f"sleep {MARK}" in words:
            found.append(words)
    return found


async def played_to_the_end(scene: Scene, *replies: dict[str, Any]) -> list[RunEvent]:
    """With somebody who says yes to everything."""
    session = await scene.start(played(*replies, {"text": "done"}), mode="trust")
    while scene.engine.going(session):
        await scene.when(lambda: scene.engine.consents() or scene.status(session) == "done")
        for _, each in scene.engine.consents():
            await scene.engine.allow(each.request.id)
        if scene.status(session) == "done":
            await scene.engine.wait(session)
    assert scene.bugs == []
    events = await scene.events(session)
    KEPT.update({e.output.blob: scene.engine.whole(e.output) for e in events if isinstance(e, ToolReturned)})
    return events


@pytest.mark.parametrize("case", sorted(CASES, key=number))
def test_a_command_that_misbehaves_is_told_and_the_run_goes_on(case: str, tmp_path: Path) -> None:
    """And the next command works."""
    arguments, check = CASES[case]

    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            after = [calling("run", command="echo next"), calling("find", pattern="*"), calling("search", pattern="x")]
            events = await played_to_the_end(scene, calling("run", **arguments), *after)
            results = [event for event in events if isinstance(event, ToolReturned)]
            assert check(results[0], scene.folder), results[0].output.head[-500:]
            assert len(results[0].output.head) < 1 << 20
            assert "next" in results[1].output.head and len(results) == 4

    bounded(test())


def test_t8_what_fills_more_memory_than_is_allowed_is_stopped_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gigabyte of the table is let be; with a lower limit the same command ends, and the next one works."""
    monkeypatch.setattr("core.tools.run.Limits", partial(Limits, memory=256 << 20))

    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            command = FILLS.replace("sleep(1)", "sleep(60)")
            events = await played_to_the_end(scene, calling("run", command=command), calling("run", command="echo on"))
            filled, on = [event for event in events if isinstance(event, ToolReturned)]
            assert filled.failed and "256 MB are allowed" in filled.output.head
            assert not on.failed and on.output.head == "on\n"

    bounded(test())


@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "folder"])
def test_t16_what_is_no_file_is_not_read(kind: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
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
            tried = [calling("read", path="odd"), calling("search", pattern="x", path="odd")]
            write = calling("write", path="odd", content="x")
            results = [e for e in await played_to_the_end(scene, *tried, write) if isinstance(e, ToolReturned)]
            assert results[0].failed and not place.is_file()

    bounded(test())


def test_t17_a_hundred_thousand_files_are_listed_in_part_and_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list says that it is not whole; of all of them the one that a command changed is found, with what it held."""
    monkeypatch.setattr(scenes, "BOUND_S", 100.0)

    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            for number in range(100_000):
                os.close(os.open(scene.folder / f"f{number}", os.O_CREAT))
            (scene.folder / "f99999").write_text("the needle\n")
            calls = [
                calling("find", pattern="*"),
                calling("search", pattern="needle"),
                calling("run", command="echo y > f7; echo z > f100000; rm -f f8"),
            ]
            events = await played_to_the_end(scene, *calls)
            listed, searched, ran = [event for event in events if isinstance(event, ToolReturned)]
            assert "more" in listed.output.head and 100 < len(listed.output.head) < 200_000, listed.output.head[-300:]
            assert "f99999:1" in searched.output.head and not ran.failed
            changed = [event.path for event in events if isinstance(event, FileChanged)]
            missed = ran.output.head.partition("cannot be taken back: ")[2]
            assert {"f7", "f8", "f100000"} <= {*changed, *missed.rstrip("]").split(", ")}, (changed, missed)

    bounded(test())


def test_t19_a_file_that_changed_since_it_was_read_is_not_edited(tmp_path: Path) -> None:
    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            note = scene.folder / "a.txt"
            note.write_text("one")
            edit = {**calling("edit", path="a.txt", old="one", new="two"), "delay_s": 0.3}
            session = await scene.start(played(calling("read", path="a.txt"), edit, {"text": "done"}), mode="trust")
            await scene.until(ToolReturned)
            note.write_text("one and theirs")
            await scene.engine.wait(session)
            results = [event for event in await scene.events(session) if isinstance(event, ToolReturned)]
            assert results[1].failed and "changed" in results[1].output.head and note.read_text() == "one and theirs"

    bounded(test())


def test_t20_a_bubblewrap_that_fails_is_told_as_a_lower_level(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stub = tmp_path / "bin" / "bwrap"
    stub.parent.mkdir()
    stub.write_text("#!/bin/sh\necho 'no permission' >&2\nexit 1\n")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{stub.parent}:{os.environ['PATH']}")

    async def test() -> None:
        async with opened(tmp_path / "home", tmp_path / "work") as scene:
            events = await played_to_the_end(scene, calling("run", command="ls"))
            (proven,) = [event for event in events if isinstance(event, SandboxProven)]
            assert proven.level != "verified" and proven.sandbox != "bubblewrap"

    bounded(test())
