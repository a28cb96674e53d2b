"""No command leaves a program that runs with the rights of the user, not even for a moment."""

import stat

import pytest

from tests.core.workspace.commands import open_sandbox, run
from tests.core.workspace.ground import Ground, create_ground

# Number of the call on x86_64 and aarch64 (-1: none there), and its arguments; `f` is a file, `d` a folder descriptor.
PROGRAM = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
new = iter(f"new{n}".encode() for n in range(1000))
column = ("x86_64", "aarch64").index(os.uname().machine)
def call(numbers, *arguments):
    if numbers[column] < 0:
        return
    words = [a if isinstance(a, bytes) else ctypes.c_long(a) for a in arguments]
    result = libc.syscall(ctypes.c_long(numbers[column]), *words)
    print("worked" if result >= 0 else "refused", arguments)
open("f", "w").close()
os.chmod("f", 0o755)
fd, d = os.open("f", os.O_RDWR), os.open(".", os.O_RDONLY)
for mode in (0o4755, 0o2755, 0o6755, 0o4000):
    call((90, -1), b"f", mode)
    call((91, 52), fd, mode)
    call((268, 53), d, b"f", mode)
    call((452, 452), d, b"f", mode, 0)
    call((452, 452), fd, b"", mode, 0x1000)
    call((85, -1), next(new), mode)
    call((133, -1), next(new), 0o100000 | mode, 0)
    call((259, 33), d, next(new), 0o100000 | mode, 0)
    call((2, -1), next(new), os.O_CREAT | os.O_WRONLY, mode)
    call((257, 56), d, next(new), os.O_CREAT | os.O_WRONLY, mode)
    call((257, 56), d, b".", os.O_TMPFILE | os.O_WRONLY, mode)
    how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, mode, 0)
    call((437, 437), d, next(new), ctypes.addressof(how), 24)
    call((90, -1), b"f", mode | 1 << 40)
"""
ORDINARY = (
    "umask 022; mkdir a b; chmod 755 a; chmod 1777 b; install -m 600 /dev/null c; cp -p c d; "
    "python3 -c \"open('e','w')\"; "
    "mkfifo g; touch h && chmod 640 h && tar cf t.tar h && rm h && tar xpf t.tar && stat -c %a a b c d e h"
)


@pytest.fixture
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return create_ground(tmp_path_factory.mktemp("ground"))


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_no_system_call_sets_these_bits(rung: str, ground: Ground) -> None:
    (ground.folder / "try.py").write_text(PROGRAM)
    with open_sandbox(rung) as sandbox:
        output = run(sandbox, "umask 0; python3 try.py", ground.folder).output
    privileged = [path.name for path in ground.folder.rglob("*") if path.lstat().st_mode & 0o6000]
    assert not privileged and "worked" not in output and output.count("refused") >= 30, output


@pytest.mark.parametrize("rung", ["bubblewrap", "landlock"])
def test_ordinary_permissions_work(rung: str, ground: Ground) -> None:
    with open_sandbox(rung) as sandbox:
        finished = run(sandbox, ORDINARY, ground.folder)
    assert finished.exit_code == 0 and finished.output.split() == ["755", "1777", "600", "600", "644", "640"], (
        finished.output
    )
    assert stat.S_ISFIFO((ground.folder / "g").stat().st_mode)
