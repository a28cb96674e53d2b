"""Paths that lead out of the folder (P1–P17), requested by a model through the whole engine."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from core.domain.events import CallRefused, ToolReturned
from tests.core.engine.harness import EngineHarness, open_engine, run_bounded, scripted_replies
from tests.core.workspace.ground import CANARY, Ground, create_ground, odd_spellings, traversals

Lay = Callable[[Ground], Sequence[str]]


def number(case: object) -> int:
    return int(str(case)[1:])


def linked(name: str, target: str) -> Lay:
    def made(ground: Ground) -> Sequence[str]:
        (ground.folder / "trap").symlink_to(target.format(outside=ground.outside, canary=ground.canary))
        return [name.format(canary=ground.canary)]

    return made


def chain(ground: Ground) -> Sequence[str]:
    before = str(ground.canary)
    for number in range(39):
        (ground.folder / f"chain{number}").symlink_to(before)
        before = f"chain{number}"
    return [before]


def twins(ground: Ground) -> Sequence[str]:
    os.link(ground.canary, ground.outside / "inner" / "twin")
    return ["../outside/inner/twin"]


def hard(ground: Ground) -> Sequence[str]:
    """Create a hard link to a file outside; writing it must not change that file."""
    os.link(ground.canary, ground.folder / "second")
    return ["second"]


def replaced(ground: Ground) -> Sequence[str]:
    """The folder itself is replaced by a link from outside the program."""
    return ["real/file"]


LAID: dict[str, Lay] = {
    "P1": lambda ground: ["../outside/canary", "../../outside/canary", ".."],
    "P2": lambda ground: [str(ground.canary), "/etc/passwd"],
    "P3": lambda ground: ["~/canary", "~", "~root/x"],
    "P4": linked("trap", "{canary}"),
    "P5": linked("trap/canary", "{outside}"),
    "P6": linked("trap{canary}", "/proc/self/root"),
    "P7": chain,
    "P10": lambda ground: ["real/../../outside/canary", "./../outside/canary"],
    "P11": odd_spellings,
    "P15": twins,
    "P17": lambda ground: traversals(ground)[::60],
}
PROTECTED = {
    "P12": [".ENVRC", ".mcp.JSON", ".Git/hooks/x", ".ｇit/config", ".git /hooks/x", ".VSCode/tasks.json"],
    "P13": [".git/config", ".git/hooks/pre-commit", "sub/.git/config", ".git"],
    "P14": [".envrc", ".husky/pre-commit", "a/.mcp.json"],
}


def calls(names: Sequence[str], *, commands: bool) -> list[dict[str, Any]]:
    """Return calls that do everything possible with each path."""
    made: list[tuple[str, dict[str, Any]]] = []
    for name in names:
        made += [("read", {"path": name}), ("write", {"path": name, "content": "mine"})]
        made += [
            ("edit", {"path": name, "old_string": "canary", "new_string": "mine"}),
            ("find", {"pattern": "*", "path": name}),
        ]
        made.append(("search", {"pattern": "canary-", "path": name}))
        diff = f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-nothing\n+mine\n"
        made.append(("patch", {"diff": diff}))
        if commands and name.isprintable() and "'" not in name:
            made.append(("run", {"command": f"cat '{name}'; echo mine > '{name}'; rm -rf '{name}'", "timeout_s": 20}))
    return [{"name": name, "arguments": arguments} for name, arguments in made]


async def obeyed(scene: EngineHarness, ground: Ground, names: Sequence[str], *, commands: bool = True) -> list[str]:
    """Run calls on these paths, denying every request, and return all results and refusals."""
    script = scripted_replies({"calls": calls(names, commands=commands)}, {"text": "done"})
    began = await scene.start(script, mode="auto")
    while scene.engine.is_active(began):
        await scene.when(lambda: scene.engine.permission_requests() or scene.status(began) == "done")
        for _, each in scene.engine.permission_requests():
            await scene.engine.deny(each.request.id, "no")
        if scene.status(began) == "done":
            await scene.engine.wait_idle(began)
    events = await scene.events(began)
    said = [event.output.head for event in events if isinstance(event, ToolReturned)]
    return said + [event.reason.head for event in events if isinstance(event, CallRefused)]


@pytest.mark.parametrize("case", sorted(LAID, key=number))
def test_no_path_leads_outside(case: str, tmp_path: Path) -> None:
    ground = create_ground(tmp_path)
    names = LAID[case](ground)

    async def test() -> None:
        async with open_engine(tmp_path / "home", ground.folder) as scene:
            said = await obeyed(scene, ground, names, commands=case != "P17")
            assert len(said) >= 6 * len(names)
            assert not [text for text in said if CANARY.decode() in text]
            assert ground.canary.read_bytes() == CANARY and scene.bugs == []
            assert sorted(path.name for path in ground.outside.iterdir()) == ["canary", "inner"]

    run_bounded(test())


def test_p9_a_hard_link_is_written_as_a_separate_file(tmp_path: Path) -> None:
    """The file outside keeps its contents; the link may be read, because it is inside the folder."""
    ground = create_ground(tmp_path)
    names = hard(ground)

    async def test() -> None:
        async with open_engine(tmp_path / "home", ground.folder) as scene:
            await obeyed(scene, ground, names, commands=False)
            assert ground.canary.read_bytes() == CANARY

    run_bounded(test())


@pytest.mark.parametrize("case", sorted(PROTECTED))
def test_protected_files_stay_unchanged(case: str, tmp_path: Path) -> None:
    """The files are written, edited, changed by commands or moved into place, and every request is denied."""
    ground = create_ground(tmp_path)
    for place in (ground.folder, ground.folder / "sub"):
        subprocess.run(["git", "init", "-q", place], check=True)

    async def test() -> None:
        async with open_engine(tmp_path / "home", ground.folder) as scene:
            before = file_contents(ground.folder)
            names = PROTECTED[case]
            said = await obeyed(scene, ground, names, commands=False)
            moves = [f"echo evil > made; mkdir -p $(dirname '{name}') && mv made '{name}'" for name in names]
            script = scripted_replies(
                *[{"calls": [{"name": "run", "arguments": {"command": one}}]} for one in moves], {"text": "x"}
            )
            session = await scene.start(script, mode="auto")
            await scene.engine.wait_idle(session)
            left = {
                name: body
                for name, body in file_contents(ground.folder).items()
                if body == b"evil\n" and name != "made"
            }
            wanted = {name for name in left if name in names}
            assert wanted <= {name for name in names if not name.isascii() or name != name.lower()}, left
            assert {name: body for name, body in file_contents(ground.folder).items() if name in before} == before, said

    run_bounded(test())


def file_contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files by path, without the objects of git."""
    found = [path for path in folder.rglob("*") if path.is_file() and "/.git/objects" not in str(path)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_p16_a_replaced_folder_is_not_used(tmp_path: Path) -> None:
    ground = create_ground(tmp_path)

    async def test() -> None:
        async with open_engine(tmp_path / "home", ground.folder) as scene:
            slow = {"calls": [{"name": "read", "arguments": {"path": "real/file"}}]}
            after = [{"calls": [{"name": name, "arguments": arguments}]} for name, arguments in (
                ("read", {"path": "canary"}), ("write", {"path": "canary", "content": "mine"}),
                ("run", {"command": "cat canary; echo mine > canary"}),
            )]  # fmt: skip
            after[0]["delay_s"] = 0.3  # type: ignore[assignment]
            session = await scene.start(scripted_replies(slow, *after, {"text": "x"}), mode="auto")
            await scene.until(ToolReturned)
            ground.folder.rename(tmp_path / "away")
            ground.folder.symlink_to(ground.outside)
            await scene.engine.wait_idle(session)
            said = [event.output.head for event in await scene.events(session) if isinstance(event, ToolReturned)]
            assert not any(CANARY.decode() in text for text in said[1:]) and ground.canary.read_bytes() == CANARY

    run_bounded(test())


RACE = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
while True:
    libc.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)
"""


def test_p8_a_folder_swapped_with_a_link_leaks_nothing(tmp_path: Path) -> None:
    """A folder and a link are swapped during four hundred calls; the unit tests race for longer."""
    ground = create_ground(tmp_path)
    (ground.folder / "real" / "canary").write_text("harmless")
    (ground.folder / "swap").symlink_to(ground.outside)

    async def test() -> None:
        async with open_engine(tmp_path / "home", ground.folder) as scene:
            names = ["real/canary", "swap/canary"] * 40
            said = await obeyed(scene, ground, names, commands=False)
            assert len(said) >= 400 and not [text for text in said if CANARY.decode() in text]
            assert ground.canary.read_bytes() == CANARY

    words = ["python3", "-c", RACE, str(ground.folder / "real"), str(ground.folder / "swap")]
    with subprocess.Popen(words) as racing:
        try:
            run_bounded(test())
        finally:
            racing.kill()
