"""Changes of commands to files are recorded, and a rewind reverts each of them, including the executable bit."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from core.domain.events import FileChanged, UserMessage
from core.domain.permissions import PermissionRequested
from tests.core.engine.harness import call_reply, open_engine, run_bounded, scripted_replies

FILES = {
    "notes.txt": "one\ntwo\n",
    "data.json": '{"b":1,"a":[2,3]}',
    "tool.sh": "#!/bin/sh\necho tool\n",
    "build.sh": "mkdir -p out && tr a-z A-Z < notes.txt > out/app && chmod +x out/app\n",
    "src/main.c": "int main(void) { return 0; }\n",
}
COMMANDS = {
    "sed -i": ("sed -i s/two/TWO/ notes.txt", ["notes.txt"]),
    "git checkout": ("git checkout -q other", ["notes.txt"]),
    "a formatter": ("python3 -m json.tool data.json out.json && mv out.json data.json", ["data.json"]),
    "rm": ("rm -r tool.sh src", ["src/main.c", "tool.sh"]),
    "a build": ("sh build.sh", ["out/app"]),
    "chmod": ("chmod -x tool.sh", ["tool.sh"]),
    "mv": ("mv tool.sh moved.sh", ["moved.sh", "tool.sh"]),
    "a stopped command": ("timeout 0.2 sh -c 'echo x > notes.txt; sleep 60'", ["notes.txt"]),
}


def create_files(folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "tool.sh").chmod(0o750)
    for words in ("init -q -b main", "add .", "commit -qm one", "switch -qc other", "rm -q --cached notes.txt"):
        git(folder, *words.split())
    (folder / "notes.txt").write_text("of the other branch\n")
    for words in ("add .", "commit -qm two", "checkout -q main"):
        git(folder, *words.split())


def git(folder: Path, *words: str) -> None:
    person = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *person, *words], cwd=folder, check=True)


def state(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return the contents and modes of all files outside .git."""
    found = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mode & 0o777) for path in found}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reverted_change_is_listed(name: str, tmp_path: Path) -> None:
    command, touched = COMMANDS[name]
    folder = tmp_path / "work"
    folder.mkdir()
    create_files(folder)
    before = state(folder)

    async def main() -> None:
        async with open_engine(tmp_path, folder) as scene:
            history = scene.engine.history
            session = await scene.start(scripted_replies(call_reply("run", command=command), {"text": "Done."}))
            if name == "rm":  # this command needs approval even in this mode
                asked = (await scene.until(PermissionRequested)).event
                assert isinstance(asked, PermissionRequested)
                await scene.engine.allow(asked.request.id)
            await scene.engine.wait_idle(session)
            entries = [entry async for entry in scene.engine.events(session)]
            changed = [entry.event.path for entry in entries if isinstance(entry.event, FileChanged)]
            assert changed == touched
            after = await asyncio.to_thread(state, folder)
            assert after != before
            start = next(entry.seq for entry in entries if isinstance(entry.event, UserMessage))
            done = await history.rewind(session, await history.plan_rewind(session, start))
            assert not done.skipped and await asyncio.to_thread(state, folder) == before
            await history.rewind(session, await history.plan_undo(session))
            assert await asyncio.to_thread(state, folder) == after

    run_bounded(main())
