"""The broker reaches what is in the folder, and nothing else, whatever it is asked for."""

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
from core.domain.sensitive import is_hidden, is_protected, is_secret
from core.workspace import beneath
from core.workspace.broker import READ_LIMIT, WRITE_LIMIT, Broker
from tests.core.workspace.ground import CANARY, Ground, lay, names, odd_spellings, set_traps, traversals

RACE_S = float(os.environ.get("JOURNEYMAN_RACE_S", "2"))
WAYS = [
    pytest.param(False, id="openat2", marks=pytest.mark.skipif(not beneath.kernel_confines(), reason="no openat2")),
    pytest.param(True, id="walk"),
]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return lay(tmp_path)


@pytest.fixture(params=WAYS)
def broker(ground: Ground, request: pytest.FixtureRequest) -> Iterator[Broker]:
    with Broker(ground.folder, by_walking=request.param) as made:
        yield made


def refused(act: object, *arguments: object) -> str:
    """The words of a refusal."""
    with pytest.raises(Problem) as said:
        act(*arguments)  # type: ignore[operator]  # any of the broker's methods
    return str(said.value)


def test_reads_writes_lists_removes(broker: Broker, ground: Ground) -> None:
    assert broker.write("new/deep/er.txt", b"one").before is None
    assert broker.write("new/deep/er.txt", b"two").before == b"one"
    assert broker.read("new/../new/deep/er.txt") == b"two" == broker.read(str(ground.folder / "new/deep/er.txt"))
    assert broker.entries() == [("new", "folder"), ("real", "folder")]
    broker.remove("new/deep/er.txt")
    assert broker.look("new/deep/er.txt") is None and broker.entries("new/deep") == []


def test_every_trap_is_refused(broker: Broker, ground: Ground) -> None:
    """P1–P7, P10: through read, write, remove and list."""
    for name in set_traps(ground):
        assert "canary-" not in refused(broker.read, name)
        refused(broker.write, name, b"mine")
        if name not in ("link", "near", "chain38", "away", "proc", "round"):  # a link in the folder may go
            refused(broker.remove, name)
        refused(broker.entries, name)
    assert ground.intact()


def test_no_word_on_what_is_outside(broker: Broker, ground: Ground) -> None:
    there, missing = refused(broker.read, "../outside/canary"), refused(broker.read, "../outside/nothing")
    assert there.replace("canary", "nothing") == missing
    assert refused(broker.read, str(ground.canary)).replace("canary", "nothing") == refused(
        broker.read, str(ground.outside / "nothing")
    )


def test_odd_spellings_are_only_names(broker: Broker, ground: Ground) -> None:
    """P11."""
    for name in odd_spellings(ground):
        refused(broker.read, name)
    assert ground.intact()


def test_p17_two_thousand_traversals(broker: Broker, ground: Ground) -> None:
    """P17: none reads the canary, none writes outside."""
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


def test_links_inside_lead_where_the_kernel_says(ground: Ground) -> None:
    (ground.folder / "short").symlink_to("real/file")
    (ground.folder / "way").symlink_to("real")
    with Broker(ground.folder, by_walking=True) as walking:
        assert "not followed" in refused(walking.read, "short")
    if beneath.kernel_confines():
        with Broker(ground.folder) as broker:
            assert broker.read("short") == broker.read("way/file") == b"inside"
            assert broker.real("way/file") == "real/file"
            assert broker.write("short", b"mine").before == b"inside"
            assert (ground.folder / "short").is_symlink() and broker.read("real/file") == b"mine"


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "device"])
def test_only_ordinary_files(kind: str, broker: Broker, ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    """T16: and at once; a FIFO would hold us for ever."""
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
    assert "no ordinary file" in refused(broker.read, "thing")
    assert "no ordinary file" in refused(broker.write, "thing", b"") or kind == "socket"
    assert time.monotonic() - began < 1


def test_a_second_name_is_told(broker: Broker, ground: Ground) -> None:
    """P9: the file under the other name keeps its contents."""
    os.link(ground.canary, ground.folder / "twin")
    done = broker.write("twin", b"mine")
    assert (done.before, done.names) == (CANARY, 2)
    assert ground.intact() and broker.read("twin") == b"mine"


def test_sizes(broker: Broker, ground: Ground) -> None:
    with (ground.folder / "big").open("wb") as file:
        file.truncate(READ_LIMIT + 1)
    assert "too large" in refused(broker.read, "big")
    assert "too large" in refused(broker.write, "new", b"x" * (WRITE_LIMIT + 1))
    assert not (ground.folder / "new").exists()


def test_permissions_stay_and_nothing_is_left(broker: Broker, ground: Ground) -> None:
    script = ground.folder / "script"
    script.write_text("old")
    script.chmod(0o755)
    broker.write("script", b"new")
    assert script.stat().st_mode & 0o777 == 0o755
    assert names(ground.folder) == ["real", "script"]


@pytest.mark.parametrize("name", [b"new\nline", b"not-utf8-\xff", b"x" * 255, "u\u0308ber.txt".encode(), b"-rf", b" "])
def test_names_of_any_kind(name: bytes, broker: Broker, ground: Ground) -> None:
    """F20."""
    spelled = os.fsdecode(name)
    broker.write(spelled, b"body")
    assert broker.read(spelled) == b"body" and broker.entries()[-1][0] in {spelled, "real"}
    assert "\n" not in refused(broker.read, spelled + "\nx" if len(name) < 200 else "no\nfile")


def test_a_replaced_folder_is_refused(broker: Broker, ground: Ground) -> None:
    """P16: neither what the link leads to nor the folder that was moved away."""
    moved = ground.folder.with_name("moved")
    ground.folder.rename(moved)
    ground.folder.symlink_to(ground.outside)
    for act in (broker.read, broker.entries, lambda name: broker.write(name, b"mine")):
        assert "another folder now" in refused(act, "canary")
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
def test_protected_names(name: str, broker: Broker) -> None:
    """P12, P13: asked of the list and of the broker, which does not write."""
    assert is_protected(name)
    assert "protected" in refused(broker.write, name, b"mine")
    assert broker.write(name, b"a person said so", protected=True).before is None
    assert "protected" in refused(broker.remove, name)


@pytest.mark.parametrize(
    "name", [".gitignore", ".github/dependabot.yml", "git/config", "a.git", "hooks/x", "real/file"]
)
def test_names_that_are_free(name: str, broker: Broker) -> None:
    assert not is_protected(name)
    broker.write(name, b"mine")


@pytest.mark.skipif(not beneath.kernel_confines(), reason="only openat2 follows links")
def test_a_link_to_a_protected_place(ground: Ground) -> None:
    (ground.folder / ".git" / "hooks").mkdir(parents=True)
    (ground.folder / "docs").symlink_to(".git/hooks")
    with Broker(ground.folder) as broker:
        assert broker.is_protected("docs/pre-commit")
        assert "protected" in refused(broker.write, "docs/pre-commit", b"mine")


def test_names_of_secrets() -> None:
    for name in (".env", "a/.env.local", ".ssh/known_hosts", "id_rsa", "x/server.key", ".NPMRC", "/home/a/.aws/config"):
        assert is_secret(name), name
    for name in (".env.example", "environment.py", "id_rsa.pub", "keys.py", "monkey", "ssh/x"):
        assert not is_secret(name), name
    assert is_hidden("a/.env") and is_hidden("a/credentials.toml") and not is_hidden("tests/cert.pem")


SWAP = """
import ctypes, os, sys
libc, (one, two) = ctypes.CDLL(None), map(os.fsencode, sys.argv[1:])
swap = lambda: libc.syscall(ctypes.c_long(316), -100, one, -100, two, ctypes.c_uint(2))
print(swap(), flush=True)
while swap() == 0: pass
"""  # renameat2 with RENAME_EXCHANGE: a folder and a link change places, as fast as it goes


def raced(paths: Iterable[Path], look: Callable[[int], None]) -> None:
    """Look, again and again, while the two change places: often it is seen, and often refused."""
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
def test_p8_a_swap_race_leaks_nothing(broker: Broker, ground: Ground) -> None:
    """P8: a folder on the way becomes a link and back again; JOURNEYMAN_RACE_S makes it longer."""
    (ground.outside / "inner" / "file").write_bytes(CANARY)
    (ground.folder / "swapped").symlink_to(ground.outside / "inner")
    paths = [ground.folder / name for name in ("real", "swapped")]

    def look(turn: int) -> None:
        if turn % 50:
            assert broker.read("real/file") == b"inside", "it leaked"
        else:
            broker.write("real/mine", b"inside")  # two syncs each, so seldom

    raced(paths, look)
    assert names(ground.outside / "inner") == ["file"] and ground.intact()


@by_number
def test_p8_a_link_that_is_turned_round_shows_no_keys(broker: Broker, ground: Ground) -> None:
    """P8: the name was looked at before; what is read is what is open, and keys are not written over either."""
    keys, plain, link = (ground.folder / name for name in (".env", "plain", "link"))
    keys.write_bytes(CANARY)
    plain.write_bytes(b"inside")
    link.symlink_to(".env")
    for name in ("link", ".env"):
        with pytest.raises(Problem):
            broker.write(name, b"inside")
        with pytest.raises(Problem):
            broker.read(name, keys=False)
    assert broker.read(".env") == CANARY, "a person's own look"

    def look(_: int) -> None:
        assert broker.read("plain", keys=False) == b"inside", "it leaked"

    raced((plain, link), look)
    assert keys.read_bytes() == CANARY


MOUNTED = """
import sys
from pathlib import Path
from core.domain.problems import Problem
from core.domain.sensitive import is_hidden, is_protected, is_secret
from core.workspace.broker import Broker
with Broker(Path(sys.argv[1])) as broker:
    print(broker.read("mounted/file").decode())
    for name in ("mounted/../../outside/canary", "mounted/up"):
        try:
            print(broker.read(name))
        except Problem:
            print("refused")
"""


def test_p15_a_mount_inside_the_folder(ground: Ground) -> None:
    """P15: what a person mounted there is a part of the folder; nothing leads from it to anywhere else."""
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
