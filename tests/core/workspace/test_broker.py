"""The file broker reaches the files in the folder and nothing else, whatever the path."""

import os
import shlex
import socket
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.domain.sensitive_paths import is_hidden_from_commands, is_protected, is_secret
from core.workspace import beneath
from core.workspace.broker import READ_LIMIT, WRITE_LIMIT, FileBroker
from tests.core.workspace.ground import CANARY, Ground, create_ground, names, odd_spellings, set_traps, traversals

RACE_S = float(os.environ.get("JOURNEYMAN_RACE_S", "2"))
WAYS = [
    pytest.param(False, id="openat2", marks=pytest.mark.skipif(not beneath.has_openat2(), reason="no openat2")),
    pytest.param(True, id="walk"),
]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


@pytest.fixture(params=WAYS)
def broker(ground: Ground, request: pytest.FixtureRequest) -> Iterator[FileBroker]:
    with FileBroker(ground.folder, without_openat2=request.param) as made:
        yield made


def refused(act: object, *arguments: object) -> str:
    """Return the text of the Problem that the call raises."""
    with pytest.raises(Problem) as said:
        act(*arguments)  # type: ignore[operator]  # any of the broker's methods
    return str(said.value)


def test_reads_writes_lists_removes(broker: FileBroker, ground: Ground) -> None:
    assert broker.write("new/deep/er.txt", b"one").before is None
    assert broker.write("new/deep/er.txt", b"two").before == b"one"
    assert broker.read("new/../new/deep/er.txt") == b"two" == broker.read(str(ground.folder / "new/deep/er.txt"))
    assert broker.entries() == [("new", "folder"), ("real", "folder")]
    broker.remove("new/deep/er.txt")
    assert broker.stat("new/deep/er.txt") is None and broker.entries("new/deep") == []


def test_every_trap_is_refused(broker: FileBroker, ground: Ground) -> None:
    """P1–P7, P10: with read, write, remove and list."""
    for name in set_traps(ground):
        assert "canary-" not in refused(broker.read, name)
        refused(broker.write, name, b"mine")
        if name not in ("link", "near", "chain38", "away", "proc", "round"):  # a link in the folder may be removed
            refused(broker.remove, name)
        refused(broker.entries, name)
    assert ground.intact()


def test_errors_do_not_reveal_what_is_outside(broker: FileBroker, ground: Ground) -> None:
    there, missing = refused(broker.read, "../outside/canary"), refused(broker.read, "../outside/nothing")
    assert there.replace("canary", "nothing") == missing
    assert refused(broker.read, str(ground.canary)).replace("canary", "nothing") == refused(
        broker.read, str(ground.outside / "nothing")
    )


def test_unusual_spellings_are_only_names(broker: FileBroker, ground: Ground) -> None:
    """P11."""
    for name in odd_spellings(ground):
        refused(broker.read, name)
    assert ground.intact()


def test_p17_two_thousand_traversals(broker: FileBroker, ground: Ground) -> None:
    """None reads the canary, none writes outside."""
    tried = traversals(ground)
    assert len(tried) > 2000
    for name in tried:
        refused(broker.read, name)
    for name in tried[::20]:
        try:
            broker.write(name, b"mine")
        except Problem:
            continue
    assert ground.intact() and names(ground.folder.parent) == ["outside", "work folder"]


def test_links_inside_resolve_like_the_kernel(ground: Ground) -> None:
    (ground.folder / "short").symlink_to("real/file")
    (ground.folder / "way").symlink_to("real")
    with FileBroker(ground.folder, without_openat2=True) as walking:
        assert "not followed" in refused(walking.read, "short")
    if beneath.has_openat2():
        with FileBroker(ground.folder) as broker:
            assert broker.read("short") == broker.read("way/file") == b"inside"
            assert broker.resolve("way/file") == "real/file"
            assert broker.write("short", b"mine").before == b"inside"
            assert (ground.folder / "short").is_symlink() and broker.read("real/file") == b"mine"


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "device"])
def test_only_regular_files(kind: str, broker: FileBroker, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other files are refused without delay; opening a FIFO would block forever."""
    thing = ground.folder / "thing"
    if kind == "fifo":
        os.mkfifo(thing)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as near:
            monkeypatch.chdir(ground.folder)
            near.bind("thing")
    elif kind == "folder":
        thing.mkdir()
    elif os.geteuid():
        pytest.skip("reason: only root makes devices")
    else:
        os.mknod(thing, 0o020666, os.makedev(1, 5))
    began = time.monotonic()
    assert "not a regular file" in refused(broker.read, "thing")
    assert "not a regular file" in refused(broker.write, "thing", b"") or kind == "socket"
    assert time.monotonic() - began < 1


def test_a_hard_link_is_reported(broker: FileBroker, ground: Ground) -> None:
    """The other hard link keeps its contents."""
    os.link(ground.canary, ground.folder / "twin")
    done = broker.write("twin", b"mine")
    assert (done.before, done.links) == (CANARY, 2)
    assert ground.intact() and broker.read("twin") == b"mine"


def test_sizes(broker: FileBroker, ground: Ground) -> None:
    with (ground.folder / "big").open("wb") as file:
        file.truncate(READ_LIMIT + 1)
    assert "too large" in refused(broker.read, "big")
    assert "too large" in refused(broker.write, "new", b"x" * (WRITE_LIMIT + 1))
    assert not (ground.folder / "new").exists()


def test_permissions_are_kept_and_no_temporary_file_is_left(broker: FileBroker, ground: Ground) -> None:
    script = ground.folder / "script"
    script.write_text("old")
    script.chmod(0o755)
    broker.write("script", b"new")
    assert script.stat().st_mode & 0o777 == 0o755
    assert names(ground.folder) == ["real", "script"]


@pytest.mark.parametrize("name", [b"new\nline", b"not-utf8-\xff", b"x" * 255, "u\u0308ber.txt".encode(), b"-rf", b" "])
def test_names_of_any_kind(name: bytes, broker: FileBroker, ground: Ground) -> None:
    """F20."""
    spelled = os.fsdecode(name)
    broker.write(spelled, b"body")
    assert broker.read(spelled) == b"body" and broker.entries()[-1][0] in {spelled, "real"}
    assert "\n" not in refused(broker.read, spelled + "\nx" if len(name) < 200 else "no\nfile")


def test_a_replaced_folder_is_refused(broker: FileBroker, ground: Ground) -> None:
    """Neither the target of the link nor the moved folder is reached."""
    moved = ground.folder.with_name("moved")
    ground.folder.rename(moved)
    ground.folder.symlink_to(ground.outside)
    for act in (broker.read, broker.entries, lambda name: broker.write(name, b"mine")):
        assert "different folder now" in refused(act, "canary")
    assert ground.intact()


SPELLINGS = [
    *(
        ".git/hooks/pre-commit",
        ".git/config",
        ".GIT/config",
        ".Git/Hooks/x",
        "sub/.git/hooks/x",
        ".git",
        "git~1/config",
    ),
    *(
        ".g\u200cit/config",
        ".git./config",
        ".git /config",
        ".git:stream/config",
        "\uff0egit/config",
        ".vscode/tasks.json",
    ),
    *(".github/workflows/x.yml", ".husky/pre-commit", ".npmrc", "GIT~1/config"),
    *(".mcp.json", ".MCP.JSON", "deep/er/.envrc", ".bashrc", ".journeyman/rules", ".gitattributes", ".gitmodules"),
    *(unicodedata.normalize("NFD", ".idéa").replace("e\u0301", "e"), ".config/fish/config.fish"),
]


@pytest.mark.parametrize("name", SPELLINGS)
def test_protected_names(name: str, broker: FileBroker) -> None:
    """By the list of names and by the broker, which refuses to write."""
    assert is_protected(name)
    assert "protected" in refused(broker.write, name, b"mine")
    assert broker.write(name, b"a person said so", allow_protected=True).before is None
    assert "protected" in refused(broker.remove, name)


@pytest.mark.parametrize(
    "name", [".gitignore", ".github/dependabot.yml", "git/config", "a.git", "hooks/x", "real/file"]
)
def test_names_that_are_not_protected(name: str, broker: FileBroker) -> None:
    assert not is_protected(name)
    broker.write(name, b"mine")


@pytest.mark.skipif(not beneath.has_openat2(), reason="only openat2 follows links")
def test_a_link_to_a_protected_path(ground: Ground) -> None:
    (ground.folder / ".git" / "hooks").mkdir(parents=True)
    (ground.folder / "docs").symlink_to(".git/hooks")
    with FileBroker(ground.folder) as broker:
        assert broker.is_protected("docs/pre-commit")
        assert "protected" in refused(broker.write, "docs/pre-commit", b"mine")


def test_names_of_secrets() -> None:
    for name in (".env", "a/.env.local", ".ssh/known_hosts", "id_rsa", "x/server.key", ".NPMRC", "/home/a/.aws/config"):
        assert is_secret(name), name
    for name in (".env.example", "environment.py", "id_rsa.pub", "keys.py", "monkey", "ssh/x"):
        assert not is_secret(name), name
    assert (
        is_hidden_from_commands("a/.env")
        and is_hidden_from_commands("a/credentials.toml")
        and not is_hidden_from_commands("tests/cert.pem")
    )


SWAP = """
import ctypes, os, sys
libc, (one, two) = ctypes.CDLL(None), map(os.fsencode, sys.argv[1:])
swap = lambda: libc.syscall(ctypes.c_long(316), -100, one, -100, two, ctypes.c_uint(2))
print(swap(), flush=True)
while swap() == 0: pass
"""  # renameat2 with RENAME_EXCHANGE: a folder and a link are swapped as fast as possible


def raced(paths: Iterable[Path], look: Callable[[int], None]) -> None:
    """Call `look` repeatedly while two paths are swapped. It must succeed often and be refused often."""
    other = subprocess.Popen([sys.executable, "-IS", "-c", SWAP, *paths], stdout=subprocess.PIPE)
    assert other.stdout and other.stdout.readline() == b"0\n"
    seen, turn = {"read": 0, "refused": 0}, 0
    try:
        until = time.monotonic() + RACE_S / 2
        while time.monotonic() < until:
            turn += 1
            try:
                look(turn)
                seen["read"] += 1
            except Problem:
                seen["refused"] += 1
    finally:
        other.kill()
        other.communicate()
    assert min(seen.values()) > 10, seen


by_number = pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="renameat2's number")


@by_number
def test_p8_a_swap_race_leaks_nothing(broker: FileBroker, ground: Ground) -> None:
    """A folder in the path becomes a link and back again; the variable JOURNEYMAN_RACE_S prolongs the test."""
    (ground.outside / "inner" / "file").write_bytes(CANARY)
    (ground.folder / "swapped").symlink_to(ground.outside / "inner")
    paths = [ground.folder / name for name in ("real", "swapped")]

    def look(turn: int) -> None:
        if turn % 50:
            assert broker.read("real/file") == b"inside", "it leaked"
        else:
            broker.write("real/mine", b"inside")  # each write syncs twice, so it is done rarely

    raced(paths, look)
    assert names(ground.outside / "inner") == ["file"] and ground.intact()


@by_number
def test_p8_a_swapped_link_shows_no_keys(broker: FileBroker, ground: Ground) -> None:
    """Secrets are detected by the open file, not by the name, and are not overwritten either."""
    keys, plain, link = (ground.folder / name for name in (".env", "plain", "link"))
    keys.write_bytes(CANARY)
    plain.write_bytes(b"inside")
    link.symlink_to(".env")
    for name in ("link", ".env"):
        with pytest.raises(Problem):
            broker.write(name, b"inside")
        with pytest.raises(Problem):
            broker.read(name, allow_secrets=False)
    assert broker.read(".env") == CANARY, "the user can read it"

    def look(_: int) -> None:
        assert broker.read("plain", allow_secrets=False) == b"inside", "it leaked"

    raced((plain, link), look)
    assert keys.read_bytes() == CANARY


MOUNTED = """
import sys
from pathlib import Path
from core.domain.problems import Problem
from core.domain.sensitive_paths import is_hidden_from_commands, is_protected, is_secret
from core.workspace.broker import FileBroker
with FileBroker(Path(sys.argv[1])) as broker:
    print(broker.read("mounted/file").decode())
    for name in ("mounted/../../outside/canary", "mounted/up"):
        try:
            print(broker.read(name))
        except Problem:
            print("refused")
"""


def test_p15_a_mount_inside_the_folder(ground: Ground) -> None:
    """A mount in the folder belongs to it; no path leads from it to anywhere else."""
    other = ground.folder.with_name("other")
    other.mkdir()
    (other / "file").write_text("mounted")
    (other / "up").symlink_to("../outside/canary")
    (ground.folder / "mounted").mkdir()
    names = [shlex.quote(str(path)) for path in (other, ground.folder / "mounted", ground.folder)]
    run = f"{shlex.quote(sys.executable)} -c {shlex.quote(MOUNTED)} {names[2]}"
    command = f"mount --bind {names[0]} {names[1]} && {run}"
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", command], capture_output=True, text=True, check=False)
    if "unshare failed" in done.stderr or "mount:" in done.stderr:
        pytest.skip("nobody may mount here")
    assert done.stdout.split("\n") == ["mounted", "refused", "refused", ""], done.stderr
