"""Commands: whatever they do, their end is noticed, their output is limited and no process is left."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.workspace import process_tree
from core.workspace.launcher import CommandLimits, CommandRequest
from core.workspace.output_buffer import KEPT_BYTES, OutputBuffer
from core.workspace.running_command import FinishedCommand, start_command
from core.workspace.unsandboxed import Unsandboxed
from tests.core.workspace.commands import open_sandbox, run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="process groups and /bin/sh are POSIX")


async def run_command(command: str, folder: Path, timeout_s: float) -> FinishedCommand:
    """Run a command without a sandbox, which other tests cover."""
    asked = CommandRequest(command, folder, CommandLimits(time_s=timeout_s))
    running = await start_command(Unsandboxed().prepare(asked), asked.limits)
    return await running.wait_or_kill()


def done(command: str, folder: Path, timeout_s: float = 20) -> FinishedCommand:
    return asyncio.run(run_command(command, folder, timeout_s))


def remaining_processes(folder: Path) -> list[str]:
    """Return the command lines of processes whose working directory is the folder."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                if (place / "cwd").readlink() == folder:
                    found.append((place / "cmdline").read_text())
            except OSError:
                continue
    return found


def open_descriptors() -> set[Path]:
    return set(Path("/proc/self/fd").iterdir())


def eventually(condition: Callable[[], object], bound_s: float = 10) -> bool:
    pause = threading.Event()
    end = time.monotonic() + bound_s
    while not condition():
        if time.monotonic() > end:
            return False
        pause.wait(0.01)  # the end of other processes is not signaled to us
    return True


def test_output_and_exit_code_come_back(tmp_path: Path) -> None:
    assert done("echo out; echo err >&2; exit 3", tmp_path) == FinishedCommand("out\nerr\n", 3)


def test_a_flood_of_output_is_truncated(tmp_path: Path) -> None:
    found = done("yes", tmp_path)
    assert "64 MB" in found.killed_because and len(found.output) < 2 * KEPT_BYTES + 100


def test_one_long_line_keeps_its_start_and_end(tmp_path: Path) -> None:
    found = done("head -c 3000000 /dev/zero | tr '\\0' x; echo end", tmp_path)
    assert found.exit_code == 0 and "bytes omitted" in found.output and found.output.endswith("xend\n")
    assert len(found.output) < 2 * KEPT_BYTES + 100


def test_closing_the_output_does_not_end_the_command(tmp_path: Path) -> None:
    assert done("exec >&- 2>&-; sleep 0.2; touch late; exit 4", tmp_path).exit_code == 4
    assert (tmp_path / "late").exists()


@pytest.mark.parametrize(
    "command",
    ["sleep 600 & echo x", "setsid sleep 600 & echo x", "(setsid sh -c 'sleep 600 & sleep 600' &) ; echo x"],
    ids=["T4 background", "T5 daemon", "T5 daemon's children"],
)
def test_no_process_is_left_behind(tmp_path: Path, command: str) -> None:
    assert done(command, tmp_path).output == "x\n"
    assert eventually(lambda: not remaining_processes(tmp_path)), remaining_processes(tmp_path)


def test_a_process_that_ignores_signals_is_killed_at_its_timeout(tmp_path: Path) -> None:
    found = done("trap '' TERM INT HUP; echo on; sleep 600", tmp_path, 0.3)
    assert (found.killed_because, found.output, found.exit_code) == ("stopped after 0.3 s", "on\n", -signal.SIGKILL)
    assert eventually(lambda: not remaining_processes(tmp_path))


def test_stdin_is_empty_and_there_is_no_terminal(tmp_path: Path) -> None:
    assert done("cat; read x; test -t 0 || echo none", tmp_path).output == "none\n"


def test_an_end_by_signal_is_reported(tmp_path: Path) -> None:
    assert done("kill -TERM $$", tmp_path).exit_code == -signal.SIGTERM


def test_binary_output_becomes_text_with_placeholders(tmp_path: Path) -> None:
    assert done("printf '\\377\\000a'", tmp_path).output == "\ufffd\0a"


def test_the_working_folder_may_be_removed(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    assert done("rm -rf ../work; echo gone", folder).output == "gone\n"
    with pytest.raises(Problem, match="folder still exists"):
        done("true", folder)


def test_waiting_for_children_returns(tmp_path: Path) -> None:
    """The watcher in the process group is not a child that `wait` in a command waits for."""
    assert done("true & wait; echo ended", tmp_path).output == "ended\n"


def test_keys_are_not_passed_to_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary")
    assert "canary" not in done("env; cat /proc/$PPID/environ 2>/dev/null | head -c 0", tmp_path).output


@pytest.mark.parametrize("after_s", [0, 0.001, 0.005, 0.02, 0.1])
def test_a_stop_at_any_moment_leaves_no_process(tmp_path: Path, after_s: float) -> None:
    async def main() -> None:
        task = asyncio.create_task(run_command("sleep 600 & setsid sleep 600 & sleep 600", tmp_path, 60))
        await asyncio.sleep(after_s)
        task.cancel()
        began = time.perf_counter()
        await asyncio.wait({task})
        assert task.cancelled() and time.perf_counter() - began < 2

    before = len(list(Path("/proc/self/fd").iterdir()))
    asyncio.run(main())
    assert eventually(lambda: not remaining_processes(tmp_path)), remaining_processes(tmp_path)
    assert len(list(Path("/proc/self/fd").iterdir())) <= before


def test_a_command_dies_with_us(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from pathlib import Path; from tests.core.workspace.test_process import run_command;"
        "asyncio.run(run_command('trap \"\" TERM; touch begun; sleep 600 & sleep 600', Path(sys.argv[1]), 60))"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=Path(__file__).parents[3])
    try:
        assert eventually((tmp_path / "begun").exists)
        assert remaining_processes(tmp_path)
    finally:
        process.kill()
        process.wait()
    assert eventually(lambda: not remaining_processes(tmp_path)), remaining_processes(tmp_path)


def test_split_characters_are_joined() -> None:
    kept = OutputBuffer()
    text = "a" + "é" * KEPT_BYTES
    for start in range(0, len(text.encode()), 1000):
        kept.add(text.encode()[start : start + 1000])
    assert kept.text().startswith("aéé") and kept.text().endswith("éé")
    short = OutputBuffer()
    whole = "a" + "é" * (KEPT_BYTES // 2 + 10)
    short.add(whole.encode())
    assert short.text() == whole


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by their environment on Linux only")
def test_a_process_in_exec_is_ended_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """During exec the kernel shows an empty environment."""
    child = subprocess.Popen(["sleep", "60"], env={"MARK": "turning"})
    seen = process_tree._environment
    looked: list[Path] = []

    def turning(place: Path) -> bytes | None:
        if place.name == str(child.pid) and not looked:
            looked.append(place)
            return b""
        return seen(place)

    monkeypatch.setattr(process_tree, "_environment", turning)
    try:
        process_tree.kill_marked(b"MARK=turning")
        assert child.wait(10) == -signal.SIGKILL
    finally:
        child.kill()
        child.wait()


def test_the_limits_are_checked_although_the_listener_fails(tmp_path: Path) -> None:
    async def main() -> FinishedCommand:
        errors: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(str(context["exception"])))

        def fail() -> str:
            raise ValueError("broken")

        asked = CommandRequest(
            "for n in 1 2 3 4 5 6 7 8; do sleep 20 & done; wait", tmp_path, CommandLimits(processes=3)
        )
        running = await start_command(Unsandboxed().prepare(asked), asked.limits, on_tick=fail)
        finished = await running.wait_or_kill()
        assert errors and set(errors) == {"broken"} and running._limit_watch.is_stopped
        return finished

    assert "processes" in asyncio.run(main()).killed_because


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open descriptors are listed in /proc")
@pytest.mark.parametrize("fault", ["no standard input", "no program", "an invalid argument", "no job object"])
def test_a_command_that_cannot_be_started_leaves_no_descriptor_open(
    tmp_path: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = Unsandboxed().prepare(CommandRequest("sleep 20", tmp_path))
    if fault == "no standard input":
        launch = replace(launch, stdin_data=b"x")
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    elif fault == "no program":
        launch = replace(launch, argv=(str(tmp_path / "missing"),), fork=None)
    elif fault == "an invalid argument":
        launch = replace(launch, argv=("\0",), fork=None)
    else:  # Only Windows has them.
        launch = replace(launch, argv=("sleep", "20"), fork=None, scope="job")

    async def main() -> None:
        before = open_descriptors()
        with pytest.raises((Problem, ValueError, KeyError)):
            await start_command(launch, CommandLimits())
        assert open_descriptors() == before

    asyncio.run(main())
    assert remaining_processes(tmp_path) == []


# Ends a hundred children that have ended already, and prints how often it listed them.
END_CHILDREN = """
import os, sys
from core.workspace import confine

listed, numbers = [], confine._numbers
confine._numbers = lambda folder: listed.append(folder) or numbers(folder)
for _ in range(100):
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
confine.end_children()
print(len(listed))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Landlock is a feature of Linux")
def test_processes_that_have_ended_are_not_listed_again_for_each_one() -> None:
    """A command that forks without pause kept its runner busy for minutes after it was stopped."""
    root = Path(process_tree.__file__).parents[2]
    words = [sys.executable, "-c", END_CHILDREN]
    ran = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True, timeout=60)
    assert int(ran.stdout) == 1


CHAIN = """if True:
    import os, sys
    print("begins", flush=True)
    for _ in range(6):  # six chains
        if not os.fork():
            break
    for _ in range(2000):
        if os.fork():
            os._exit(0)
    open(sys.argv[1], "w").close()
"""
ADOPTING_PARENT = """if True:
    import ctypes, signal, subprocess, sys
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    subprocess.Popen([sys.executable, "-c", *sys.argv[1:]])
    while True:
        signal.pause()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", range(10))
def test_chains_in_which_each_process_forks_and_ends_are_killed(tmp_path: Path, number: int) -> None:
    mark = tmp_path / "end"
    command = [sys.executable, "-c", ADOPTING_PARENT, CHAIN, str(mark)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None and parent.stdout.readline() == b"begins\n"
        process_tree.kill_tree(parent.pid)
        assert parent.stdout.read() == b""  # ends when the last process of the chain has ended
    assert not mark.exists()


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_no_address_in_the_environment_contains_a_password(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "env | grep PIP_FIND_LINKS"
    with open_sandbox(name) as sandbox:
        for address in (
            "https://ada:hunter2@index.example/simple",
            "https://0aB1cD2eF3gH4iJ5kL6m@index.example/simple",
        ):
            monkeypatch.setenv("PIP_FIND_LINKS", address)
            assert run(sandbox, command, tmp_path).output == ""
        monkeypatch.setenv("PIP_FIND_LINKS", "https://index.example/simple")
        assert run(sandbox, command, tmp_path).output == "PIP_FIND_LINKS=https://index.example/simple\n"
