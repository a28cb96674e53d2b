"""What a sandboxed command cannot do to other programs and to files outside, although no path protects them."""

import asyncio
import contextlib
import ctypes
import functools
import json
import mmap
import os
import resource
import select
import shlex
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.workspace import installation
from core.workspace.bubblewrap import Bubblewrap
from core.workspace.landlock import Landlock
from core.workspace.launcher import CommandLimits, CommandRequest
from core.workspace.running_command import FinishedCommand
from core.workspace.sandbox import Sandbox, SandboxLauncher
from core.workspace.sandbox_selftest import prove_sandbox
from tests.core.workspace.commands import await_, open_sandbox, run
from tests.core.workspace.ground import Ground, create_ground

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="launchers for Linux only")

# Earlier versions of Landlock are simulated by not using what later ones added; without namespaces as on Ubuntu.
ALL: dict[str, Callable[[], SandboxLauncher]] = {
    "bubblewrap": Bubblewrap,
    "landlock": Landlock,
    "landlock without namespaces": functools.partial(Landlock, without_namespaces=True),
    "landlock 1": functools.partial(Landlock, version=1, without_namespaces=True),
    "landlock 2 with namespaces": functools.partial(Landlock, version=2),
    "landlock 4": functools.partial(Landlock, version=4, without_namespaces=True),
}
ROOT = Path(__file__).parents[3]
LANDLOCKS = [name for name in ALL if name != "bubblewrap"]

# Makes system calls without the help of a library, each in a process of its own, and prints the results.
PROBE = """
import ctypes, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def plain(word):
    return ctypes.c_char_p(word.encode()) if isinstance(word, str) else ctypes.c_long(word)
for call in json.loads(sys.argv[1]):
    found = libc.syscall(*map(plain, call))
    print(found if found >= 0 else -ctypes.get_errno(), end=' ')
"""
X86 = os.uname().machine == "x86_64" if sys.platform == "linux" else False
only_x86 = pytest.mark.skipif(not X86, reason="the numbers of the system calls are those of x86-64")
IPC_CREAT_ALL = 0o1666


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[Callable[[str], Sandbox]]:
    """Open each sandbox once; skip the test if this machine does not support it."""
    made: dict[str, Sandbox] = {}
    with contextlib.ExitStack() as stack:

        def opened(name: str) -> Sandbox:
            if name not in made:
                with open_sandbox(name.split()[0]):
                    made[name] = stack.enter_context(contextlib.closing(Sandbox(ALL[name](), None)))
            return made[name]

        yield opened


@pytest.fixture(params=ALL)
def sandbox(request: pytest.FixtureRequest, sandboxes: Callable[[str], Sandbox]) -> Sandbox:
    return sandboxes(request.param)


@pytest.fixture(params=LANDLOCKS)
def landlock(request: pytest.FixtureRequest, sandboxes: Callable[[str], Sandbox]) -> Sandbox:
    return sandboxes(request.param)


@contextlib.contextmanager
def other_program() -> Iterator[subprocess.Popen[bytes]]:
    """Start another program of the user."""
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as program:
        try:
            yield program
        finally:
            program.kill()


def probe(sandbox: Sandbox, ground: Ground, *calls: tuple[int | str, ...]) -> list[int]:
    """Make these system calls in the sandbox, and return what each returns: a result, or an error below 0."""
    words = [installation.interpreter(), "-IS", "-c", PROBE, json.dumps(calls)]
    done = run(sandbox, shlex.join(words), ground.folder)
    assert done.exit_code == 0, done
    return [int(word) for word in done.output.split()]


def test_every_version_of_landlock_passes_the_self_test(landlock: Sandbox) -> None:
    proof = prove_sandbox(landlock._launcher)
    assert (proof.works, proof.escapes, proof.known_gaps) == (True, (), ("names", "protected", "secret"))


HARMFUL = (
    *("prlimit --pid {} --cpu=0:0", "prlimit --pid {} --nofile=0:0", "kill -9 {}", "kill -STOP {}", "kill -9 -{}"),
    *("renice 19 {}", "ionice -c 3 -p {}", "taskset -p 1 {}", "chrt -i -p 0 {}"),
)


def test_other_programs_are_out_of_reach(sandbox: Sandbox, ground: Ground) -> None:
    for command in HARMFUL:
        with other_program() as other:
            before = state_of(other.pid)
            run(sandbox, command.format(other.pid), ground.folder)
            assert state_of(other.pid) == before, command


@only_x86
def test_no_call_concerns_all_processes_at_once(landlock: Sandbox, ground: Ground) -> None:
    """These name a user without processes and the signal 0: if they were admitted, nothing would happen."""
    priority, scheduling = probe(landlock, ground, (141, 2, 987_654, 0), (251, 3, 987_654, 0x4000))
    assert (priority, scheduling) == (-1, -1)
    if landlock_version(landlock) < 6:
        assert probe(landlock, ground, (62, -1, 0)) == [-1]


def landlock_version(sandbox: Sandbox) -> int:
    launcher = sandbox._launcher
    assert isinstance(launcher, Landlock)
    return launcher._version


def state_of(pid: int) -> tuple[object, ...]:
    """Return what another program could change about a process."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    limits = [resource.prlimit(pid, each) for each in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE)]
    scheduling = os.sched_getaffinity(pid), os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid)
    ionice = subprocess.run(["ionice", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return ("T" in words[0], *limits, *scheduling, ionice)


@only_x86
def test_signals_by_every_system_call_are_refused(sandbox: Sandbox, ground: Ground) -> None:
    """kill, tkill, tgkill, rt_sigqueueinfo, rt_tgsigqueueinfo, and the signal that F_SETOWN makes the kernel send."""
    with other_program() as other:
        pid, info = other.pid, "\0" * 8 + "\xff"
        calls = (62, pid, 9), (200, pid, 9), (234, pid, pid, 9), (129, pid, 9, info), (297, pid, pid, 9, info)
        probe(sandbox, ground, *calls)
        for script in (
            f"""import fcntl, os, signal
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, {pid}); fcntl.fcntl(r, 10, int(signal.SIGKILL))
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC); os.write(w, b'x')""",
            f"import os, signal; signal.pidfd_send_signal(os.pidfd_open({pid}), 9)",
        ):
            run(sandbox, shlex.join([installation.interpreter(), "-ISc", script]), ground.folder)
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(0.3)


def test_a_command_controls_its_own_processes(sandbox: Sandbox, ground: Ground) -> None:
    """Signals to a process, to a group and to itself, limits, priorities, processors: as everyday scripts use them."""
    script = """
sleep 60 & one=$!; kill -0 $one && kill $one; wait $one; echo ended $?
setsid sleep 61 & sleep 0.2; group=$!; kill -9 -$group; wait $group; echo ended $?
prlimit --pid $$ --nofile=99:99 && ulimit -n
sleep 62 & renice 19 $! >/dev/null && ionice -c 3 -p $! && taskset -p 1 $! >/dev/null; kill $!
timeout 0.2 sleep 63; echo timeout $?
nice -n 3 taskset 1 true && (sh -c 'kill -TERM 0'; echo group $?)
"""
    done = run(sandbox, script, ground.folder, CommandLimits(time_s=30))
    assert done.killed_because == "" and "denied" not in done.output and "not permitted" not in done.output, done
    for words in ("ended 143\n", "ended 137\n", "99\n", "timeout 124\n"):
        assert words in done.output, done


def test_terminals_of_other_programs_are_out_of_reach(sandbox: Sandbox, ground: Ground) -> None:
    """What the user types there could be stolen, and a forged prompt be shown."""
    ours, theirs = os.openpty()
    try:
        place = os.ttyname(theirs)
        done = run(sandbox, f"printf forged > {place}; timeout 1 head -c 5 {place}", ground.folder)
        os.write(ours, b"typed\n")
        assert "typed" not in done.output and os.read(theirs, 99) == b"typed\n"
        os.set_blocking(ours, False)
        assert b"forged" not in os.read(ours, 99)
    finally:
        os.close(ours)
        os.close(theirs)


def test_shared_memory_of_other_programs_is_out_of_reach(sandbox: Sandbox, ground: Ground) -> None:
    place = Path("/dev/shm") / f"journeyman-{uuid.uuid4().hex}"
    place.write_text("canary")
    try:
        done = run(sandbox, f"ls /dev/shm; cat {place}; echo mine > {place}; echo mine > {place}.new", ground.folder)
        assert place.name not in done.output.replace(f"{place}", "") and "canary" not in done.output
        assert place.read_text() == "canary" and not Path(f"{place}.new").exists()
    finally:
        place.unlink()


@pytest.mark.parametrize("name", ["bubblewrap", "landlock", "landlock 2 with namespaces"])
def test_a_command_has_shared_memory_and_terminals_of_its_own(
    name: str, sandboxes: Callable[[str], Sandbox], ground: Ground
) -> None:
    sandbox = sandboxes(name)
    if isinstance(sandbox._launcher, Landlock) and not sandbox._launcher._private_devices:
        pytest.skip("this user cannot create namespaces")
    script = """import multiprocessing, os, pty
print(multiprocessing.Pool(2).map(abs, [-1]))
ours, theirs = pty.openpty(); os.write(theirs, b'x'); print(os.read(ours, 1), os.ttyname(theirs))"""
    done = run(sandbox, shlex.join([installation.interpreter(), "-ISc", script]), ground.folder)
    assert done.output.split() == ["[1]", "b'x'", "/dev/pts/0"], done


@only_x86
def test_system_v_objects_and_message_queues_are_out_of_reach(sandbox: Sandbox, ground: Ground) -> None:
    """The command looks for them by their keys, which are the same for every program."""
    libc, key = ctypes.CDLL(None, use_errno=True), 0x4A4D0000 | os.getpid() & 0xFFFF
    segment, queue = libc.shmget(key, mmap.PAGESIZE, IPC_CREAT_ALL), libc.msgget(key, IPC_CREAT_ALL)
    semaphore, name = libc.semget(key, 1, IPC_CREAT_ALL), f"/journeyman-{os.getpid()}"
    posix = ctypes.CDLL("librt.so.1").mq_open(name.encode(), os.O_RDWR | os.O_CREAT, 0o600, None)
    try:
        assert min(segment, queue, semaphore) >= 0
        found = probe(sandbox, ground, (29, key, 1, 0), (68, key, 0), (64, key, 1, 0), (240, name[1:], os.O_RDWR))
        assert max(found) < 0
    finally:
        libc.shmctl(segment, 0, None)
        libc.msgctl(queue, 0, None)
        libc.semctl(semaphore, 0, 0)
        if posix >= 0:
            os.close(posix)
            ctypes.CDLL("librt.so.1").mq_unlink(name.encode())


CHANGES = (
    *("chmod 777 {}", "chmod -R 777 {}/..", "touch {}", "touch -d 2001-01-01 {}", "touch -h -d 2001-01-01 {}"),
    *("chown -h 4321 {}", "chgrp 4321 {}", "setfattr -n user.mine -v 1 {}", "chattr +A {}", "truncate -s 0 {}"),
    *("ln -s {} link; chmod 777 link; touch -d 2001-01-01 link", "cd $(dirname {}) && chmod 777 canary inner"),
    *("ln -s / root; chmod 777 root{}", "ln -s {} near && cp --attributes-only -p real/file near"),
)


def test_metadata_of_files_outside_cannot_be_changed(sandbox: Sandbox, ground: Ground) -> None:
    before = metadata_of(ground.outside)
    for command in CHANGES:
        run(sandbox, command.format(shlex.quote(str(ground.canary))), ground.folder)
        assert metadata_of(ground.outside) == before and ground.intact(), command


def metadata_of(folder: Path) -> list[tuple[object, ...]]:
    """Return what a system call could change about the files in a folder without writing them."""
    found = [(place, place.lstat()) for place in (folder, *sorted(folder.rglob("*")))]
    return [
        (each.st_mode, each.st_uid, each.st_gid, each.st_size, each.st_mtime_ns, os.listxattr(place))
        for place, each in found
    ]


@only_x86
def test_metadata_cannot_be_changed_by_any_system_call(sandbox: Sandbox, ground: Ground) -> None:
    """Also those that no everyday tool uses, with descriptors, links and times that are in memory."""
    canary, times = str(ground.canary), "\1" * 40
    (ground.folder / "link").symlink_to(canary)
    (ground.folder / "up").symlink_to(ground.outside)
    up, here = "up/canary", -100
    before = metadata_of(ground.outside)
    calls: list[tuple[int | str, ...]] = [
        *((number, path, 0o777, 0o777) for number in (90, 92, 94) for path in (canary, "link", up)),
        *((number, here, path, 0o777, 0o777, 0) for number in (268, 260, 452) for path in (canary, "link", up)),
        *((number, path, times) for number in (132, 235) for path in (canary, "link", up)),
        *((number, here, path, times, 0) for number in (261, 280) for path in (canary, "link", up)),
        *((number, path, 0) for number in (90, 132, 235) for path in ("/proc/self/cwd/../outside/canary", canary)),
        *((number, path, "user.x", "1", 1, 0) for number in (188, 189) for path in (canary, "link", up)),
        *((463, here, path, 0, "user.x", "1", 1) for path in (canary, up)),
        (76, canary, 0),
        (76, "link", 0),
        (90, 0, 0o777),  # no address at all
        (280, here, 0, 0, 0),
    ]
    found = probe(sandbox, ground, *calls)
    assert len(found) == len(calls) and max(found) < 0, dict(zip(calls, found, strict=True))
    assert metadata_of(ground.outside) == before


def test_descriptors_do_not_help_either(
    landlock: Sandbox, ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A toolchain in the home folder may be read, so it can be opened, but its permissions stay."""
    tool = tmp_path / "tool"
    tool.write_text("tool")
    tool.chmod(0o644)
    before = tool.stat()
    script = f"""import os
for flags in (os.O_RDONLY, os.O_PATH, 3):
    try: descriptor = os.open({str(tool)!r}, flags)
    except OSError: continue
    for act in (lambda: os.fchmod(descriptor, 0o777), lambda: os.utime(descriptor, (0, 0)),
                lambda: os.chmod(f'/proc/self/fd/{{descriptor}}', 0o777), lambda: os.fchown(descriptor, 0, 0),
                lambda: os.setxattr(descriptor, 'user.x', b'1')):
        try: act()
        except OSError: continue
        print('changed')
for flags in (os.O_RDONLY | os.O_TRUNC, 3 | os.O_TRUNC):
    try: os.open({str(tool)!r}, flags)
    except OSError: pass
"""
    launcher = landlock._launcher
    assert isinstance(launcher, Landlock)
    monkeypatch.setattr(launcher, "_readable", (*launcher._readable, tool))
    done = run(landlock, shlex.join([installation.interpreter(), "-ISc", script]), ground.folder)
    after = tool.stat()
    assert done.output == "" and done.exit_code == 0, done
    assert (after.st_mode, after.st_mtime_ns, after.st_size) == (before.st_mode, before.st_mtime_ns, 4)


def test_the_data_folder_stays_private(sandbox: Sandbox, ground: Ground, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(0o700)
    (data / "journeyman.db").touch(0o600)
    done = run(sandbox, f"chmod 777 {data} {data}/journeyman.db", ground.folder)
    assert done.exit_code != 0
    assert data.stat().st_mode & 0o777 == 0o700 and (data / "journeyman.db").stat().st_mode & 0o777 == 0o600


@only_x86
def test_folders_outside_cannot_be_watched(sandbox: Sandbox, ground: Ground) -> None:
    """inotify would tell which files other programs open and when."""
    found = probe(
        sandbox, ground, (294, 0), (254, 3, str(ground.outside), 0xFFF), (254, 3, ".", 0xFFF), (254, 3, "/", 2)
    )
    assert found[0] == 3 and found[1] < 0 and found[2] == 1
    if sandbox.name == "landlock":
        assert found[3] < 0


def test_metadata_in_the_folder_can_be_changed(sandbox: Sandbox, ground: Ground) -> None:
    """Every form that tools use, with the result that it has without a sandbox."""
    script = """
set -e
umask 022; mkdir -p a/b; touch a/b/c; ln -s b/c a/link; ln -s nowhere broken
chmod 640 a/b/c; stat -c %a a/b/c; (cd a/b && chmod u+x c && stat -c %a c); chmod 600 a/link; stat -c %a a/b/c
touch -d '2001-02-03 04:05:06.789 UTC' a/b/c; stat -c %y a/b/c | cut -c1-23
touch -h -d '2002-02-03 UTC' broken; stat -c %Y broken; touch -d @7 .; stat -c %Y .
touch -a -d @8 a/b/c; stat -c '%X' a/b/c
chown -h $(id -u):$(id -g) broken a/link a/b/c; chown -R $(id -u) a
cp -a a copy; stat -c '%a %Y' copy/b/c; tar cf a.tar a; rm -r a; tar xpf a.tar; stat -c '%a %Y' a/b/c
install -m 750 a/b/c installed; stat -c %a installed; truncate -s 5 installed; stat -c %s installed
cd ~; touch x; chmod 604 x; stat -c %a x
"""
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as folder:
        environment, words = {**os.environ, "TZ": "UTC", "HOME": home}, ["sh", "-c", script]
        plain = subprocess.run(words, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    done = run(sandbox, f"export TZ=UTC; {script}", ground.folder)
    assert (done.exit_code, done.output) == (0, plain.stdout)


def test_each_command_has_a_home_of_its_own(sandbox: Sandbox, ground: Ground) -> None:
    """What one session leaves in it must not reach the commands of another; `git config --global` works in it."""
    first = run(
        sandbox, "git config --global user.name Eve; echo mine > ~/left; mkdir ~/shut; chmod 0 ~/shut", ground.folder
    )
    assert first.exit_code == 0, first
    second = run(sandbox, "ls -A ~; ls -A $TMPDIR; git config --global user.name", ground.folder)
    assert not {"left", "shut", "Eve"} & set(second.output.split()), second


def test_the_home_of_a_command_is_deleted(landlock: Sandbox, ground: Ground) -> None:
    done = run(landlock, "mkdir -p ~/a/b && touch ~/a/b/c && chmod 0 ~/a/b ~/a && echo ~", ground.folder)
    assert done.exit_code == 0 and not Path(done.output.strip()).exists()


@pytest.mark.parametrize(
    "fill", ["head -c 9M /dev/zero > ~/big", "cd ~; i=0; while [ $i -lt 3000 ]; do : > $i; i=$((i+1)); done"]
)
def test_the_home_of_a_command_has_a_limit(fill: str, landlock: Sandbox, ground: Ground) -> None:
    """The size of its files counts, and their number."""
    done = run(landlock, f"{fill}; sleep 20", ground.folder, CommandLimits(time_s=20, scratch=4 << 20))
    assert done.killed_because.endswith("MB of temporary files; the limit is 4 MB")


def test_a_killed_fork_server_is_replaced(landlock: Sandbox, ground: Ground) -> None:
    """The command that notices it does not run, because it might run twice; the next one runs."""
    assert run(landlock, "echo one", ground.folder).output == "one\n"
    launcher = landlock._launcher
    assert isinstance(launcher, Landlock) and launcher._server._process
    launcher._server._process.kill()
    launcher._server._process.wait()
    assert run(landlock, "echo two", ground.folder).output == "two\n"


KILLED = """
import asyncio, sys
from pathlib import Path
from core.workspace.landlock import Landlock
from core.workspace.launcher import CommandRequest
from core.workspace.sandbox import Sandbox
launcher = Landlock()
print(asyncio.run(Sandbox(launcher, None).run(CommandRequest("echo up", Path(sys.argv[1])))).output, end='')
print(launcher._server._process.pid, flush=True)
sys.stdin.read()
"""


def test_the_fork_server_ends_with_us(ground: Ground) -> None:
    """Our process is killed by SIGKILL."""
    with open_sandbox("landlock"):
        pass
    words, pipe = [sys.executable, "-c", KILLED, str(ground.folder)], subprocess.PIPE
    with subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as ours:
        assert ours.stdout and ours.stdout.readline() == "up\n"
        server = os.pidfd_open(int(ours.stdout.readline()))
        ours.kill()
    assert select.select([server], [], [], 20)[0], "it still runs"
    os.close(server)


def test_many_commands_at_once(landlock: Sandbox, ground: Ground) -> None:
    """Each gets its own output, environment and exit code from the one fork server."""

    async def all_of_them() -> list[FinishedCommand]:
        asked = (CommandRequest(f"echo {number}; exit {number}", ground.folder) for number in range(20))
        return await asyncio.gather(*map(landlock.run, asked))

    found = [(done.output, done.exit_code) for done in await_(all_of_them())]
    assert found == [(f"{number}\n", number) for number in range(20)]


def test_a_long_command_reaches_the_fork_server(landlock: Sandbox, ground: Ground) -> None:
    words = "x" * 120_000
    assert run(landlock, f"echo {words} | wc -c", ground.folder).output == "120001\n"


SOCKETS = """
import socket
for family in range(1, 46):
    for kind in (1, 2, 3, 5):
        try: socket.socket(family, kind); print(family)
        except OSError: pass
"""


def test_only_known_socket_families_can_be_used(sandbox: Sandbox, ground: Ground) -> None:
    """Some, such as Bluetooth or SMC, would lead past a network namespace or past Landlock."""
    done = run(sandbox, shlex.join([installation.interpreter(), "-ISc", SOCKETS]), ground.folder)
    usable = {1, 2, 10, 16} if sandbox.name == "bubblewrap" else set()
    assert done.exit_code == 0 and {int(word) for word in done.output.split()} <= usable, done


@only_x86
def test_execution_domains_are_refused(sandbox: Sandbox, ground: Ground) -> None:
    """Everyday tools ask for the current one or turn off address randomization; the others emulate old kernels."""
    found = probe(sandbox, ground, (135, 0xFFFFFFFF), (135, 0x40000), (135, 0x0100000), (135, 6))
    assert found[0] >= 0 and found[1] >= 0 and found[2:] == [-1, -1]


def test_no_capability_is_left(sandbox: Sandbox, ground: Ground) -> None:
    """Root keeps its number, but not its privileges: it cannot change the processes and files of other users."""
    script = "import ctypes; libc = ctypes.CDLL(None); print([n for n in range(41) if libc.prctl(23, n, 0, 0, 0)])"
    done = run(sandbox, shlex.join([installation.interpreter(), "-ISc", script]), ground.folder)
    assert done.output == "[]\n"
