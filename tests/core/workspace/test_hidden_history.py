"""A command cannot make git hide history, which `git gc` would then delete, or read other objects in its place."""

import os
import subprocess
from pathlib import Path

import pytest

from core.workspace.git_commands import run_git
from core.workspace.worktrees import create_worktree
from tests.core.tools.test_run import open_harness
from tests.core.tools.test_trusted_guard import kill_during, run_next
from tests.core.workspace.commands import open_sandbox
from tests.core.workspace.ground import create_ground
from tests.core.workspace.test_git_history import git

OTHER = "o=$(git rev-parse HEAD:file); b=$(echo other | git hash-object -w --stdin); mkdir -p .git/refs/replace; "
FORGED_GRAPH = """
import hashlib, os, struct, subprocess
subprocess.check_call(["git", "commit-graph", "write", "--reachable"])
path = ".git/objects/info/commit-graph"
os.chmod(path, 0o644)
graph = bytearray(open(path, "rb").read())
rows = [struct.unpack(">4sQ", graph[8 + 12 * n : 20 + 12 * n]) for n in range(graph[6])]
chunks = dict(rows)
head = bytes.fromhex(subprocess.check_output(["git", "rev-parse", "HEAD"]).decode())
number = next(n for n in range(99) if graph[chunks[b"OIDL"] + 20 * n :][:20] == head)
place = chunks[b"CDAT"] + 36 * number + 20
graph[place : place + 8] = struct.pack(">II", 0x70000000, 0x70000000)  # no parents
graph[-20:] = hashlib.sha1(graph[:-20]).digest()
open(path, "wb").write(graph)
"""
FORGED_NAME = "pack-" + "1" * 40
FORGED_PACK = """
import hashlib, struct, subprocess, zlib
blob = subprocess.check_output(["git", "rev-parse", "HEAD:file"]).decode().strip()
body = b"other\\n"
raw = bytes([3 << 4 | len(body)]) + zlib.compress(body)
pack = b"PACK" + struct.pack(">II", 2, 1) + raw
end = hashlib.sha1(pack).digest()
name = bytes.fromhex(blob)
index = b"\\xfftOc\\0\\0\\0\\2" + b"".join(struct.pack(">I", name[0] <= n) for n in range(256)) + name
index += struct.pack(">II", zlib.crc32(raw), 12) + end
for ending, contents in ("pack", pack + end), ("idx", index + hashlib.sha1(index).digest()):
    open(f".git/objects/pack/{NAME}.{ending}", "wb").write(contents)
"""
PLANTED = {
    "a boundary": "git rev-parse HEAD > .git/shallow",
    "a boundary behind a link": "git rev-parse HEAD > s; ln -s ../s .git/shallow",
    "a graft": "mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts",
    "a cache": f"cat > x.py <<'X'\n{FORGED_GRAPH}X\npython3 x.py",
    "a replacement": f"{OTHER} echo $b > .git/refs/replace/$o",
    "a replacement behind a link": f"{OTHER} echo $b > r; ln -s ../../../r .git/refs/replace/$o",
    "a replacement in a long file": f"{OTHER} (echo $b; head -c 9000 /dev/zero) > .git/refs/replace/$o",
    "a replacement below a folder": f"{OTHER} mkdir .git/refs/replace/a; echo $b > .git/refs/replace/a/$o",
    "a packed replacement": f"{OTHER} git pack-refs --all; echo $b refs/replace/$o >> .git/packed-refs",
    "a pack": f"cat > x.py <<'X'\n{FORGED_PACK.replace('NAME', repr(FORGED_NAME))}X\npython3 x.py",
    "a pack of another name": f"cat > x.py <<'X'\n{FORGED_PACK.replace('NAME', repr('a'))}X\npython3 x.py",
    "a pack elsewhere": f"cat > x.py <<'X'\n{FORGED_PACK.replace('NAME', repr('a'))}X\npython3 x.py; mkdir -p o; "
    "mv .git/objects/pack o; mkdir .git/objects/pack; echo $PWD/o > .git/objects/info/alternates",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a repository with loose objects and no reflog, as after a long time."""
    folder = create_ground(tmp_path).folder
    git(folder, "init", "-q", "-b", "main")
    for number in (1, 2, 3):
        (folder / "file").write_text(f"{number}\n")
        git(folder, "add", "file")
        git(folder, "commit", "-qm", str(number))
    subprocess.run(["rm", "-rf", ".git/logs"], cwd=folder, check=True)
    return folder


def assert_intact(folder: Path) -> None:
    objects = folder / ".git" / "objects"
    assert not [*objects.glob("info/commit-graph*"), *objects.glob(f"pack/{FORGED_NAME}.*"), *objects.glob("pack/a.*")]
    assert git(folder, "show", "HEAD:file") == "3"
    git(folder, "gc", "-q", "--prune=now")
    for name in ("shallow", "info/grafts", "objects/info/commit-graph"):
        (folder / ".git" / name).unlink(missing_ok=True)
    assert git(folder, "log", "--format=%s") == "3\n2\n1"
    assert not git(folder, "fsck", "--full", "--no-dangling") and git(folder, "show", "HEAD:file") == "3"


@pytest.mark.parametrize("kind", PLANTED)
def test_what_hides_history_is_reverted(kind: str, folder: Path) -> None:
    (folder / "plant.sh").write_text(PLANTED[kind])
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, folder) as made:
        done = made.use("sh plant.sh")
        assert not done.failed, done.output
        assert "which was restored" in done.output or kind == "a cache"
        assert "restored" not in made.use("true").output
    assert_intact(folder)


@pytest.mark.parametrize("kind", ["a boundary", "a replacement", "a pack"])
def test_what_hides_history_is_reverted_by_landlock(kind: str, folder: Path) -> None:
    (folder / "plant.sh").write_text(PLANTED[kind])
    with open_sandbox("landlock") as sandbox, open_harness(sandbox, folder) as made:
        assert "which was restored" in made.use("sh plant.sh").output
    assert_intact(folder)


@pytest.mark.parametrize("kind", ["a boundary", "a cache", "a replacement", "a pack"])
def test_what_hides_history_is_reverted_after_a_kill(kind: str, folder: Path) -> None:
    data = folder.parent / "data"
    git(folder, "repack", "-q")
    (folder / "plant.sh").write_text(PLANTED[kind])
    kill_during("sh plant.sh >&2; echo planted; sleep 60", folder, data, "bubblewrap")
    run_next(folder, data, "bubblewrap")
    assert_intact(folder)


def test_in_a_worktree_the_repository_of_the_user_is_kept(folder: Path) -> None:
    git(folder, "worktree", "add", "-q", str(tree := folder.parent / "tree"))
    (tree / "plant.sh").write_text(
        'cd "$(git rev-parse --git-common-dir)"; git rev-parse HEAD > shallow; mkdir -p refs/replace; '
        "git rev-parse HEAD~1 > refs/replace/$(git rev-parse HEAD)"
    )
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, tree) as made:
        assert "shallow" in made.use("sh plant.sh").output
    assert not (folder / ".git" / "shallow").exists() and not git(folder, "replace", "--list")


def test_a_fetch_can_move_the_boundary(folder: Path) -> None:
    """The parents that a fetch left out, or fetched, decide about it."""
    inner = folder / "inner"
    git(folder, "clone", "-q", "--depth=1", "--no-local", str(folder), str(inner))
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, folder) as made:
        for depth, commits in (("--depth=2", "3\n2"), ("--unshallow", "3\n2\n1")):
            done = made.use(f"cd inner; git fetch -q {depth}")
            assert not done.failed and "restored" not in done.output, done.output
            assert git(inner, "log", "--format=%s") == commits
    assert not git(inner, "fsck", "--full", "--no-dangling")


def test_replacements_and_boundaries_of_the_user_stay(folder: Path) -> None:
    other = folder / "other"
    other.write_text("other\n")
    blob = git(folder, "hash-object", "-w", "other")
    git(folder, "replace", git(folder, "rev-parse", "HEAD:file"), blob)
    (folder / ".git" / "shallow").write_text(git(folder, "rev-parse", "HEAD~1") + "\n")
    git(folder, "repack", "-adq")
    git(folder, "multi-pack-index", "write")
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, folder) as made:
        assert not made.use("git pack-refs --all; git status").failed
        assert "restored" not in made.use("git log").output
    assert git(folder, "show", "HEAD:file") == "other" and git(folder, "log", "--format=%s") == "3\n2"
    assert (folder / ".git" / "objects" / "pack" / "multi-pack-index").exists()


def test_git_outside_the_sandbox_reads_no_replacements(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    (folder / "other").write_text("other\n")
    git(folder, "replace", git(folder, "rev-parse", "HEAD:file"), git(folder, "hash-object", "-w", "other"))
    assert git(folder, "show", "HEAD:file") == "other"
    assert run_git(folder, "show", "HEAD:file") == "3\n"
    assert (create_worktree(folder, "task", follow_settings=True)[1] / "file").read_text() == "3\n"


def test_the_state_of_a_work_tree_outside_the_folder_is_kept(folder: Path) -> None:
    git(folder, "worktree", "add", "-q", "--detach", str(outside := folder.parent / "elsewhere"))
    git(folder, "worktree", "add", "-q", "--detach", str(inside := folder / "inside"))
    (outside / "staged").touch()
    git(outside, "add", "staged")
    git(outside, "commit", "-q", "--allow-empty", "-m", "only there")
    (outside / "later").touch()
    git(outside, "add", "later")
    commit = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m inside"
    with open_sandbox("bubblewrap") as sandbox, open_harness(sandbox, folder) as made:
        assert not made.use(f"cd inside && {commit}").failed
        assert not made.use("git worktree remove --force inside && git worktree prune").failed
        made.use("rm -rf .git/worktrees")
    assert not inside.exists()
    assert git(outside, "status", "--porcelain") == "A  later"
    assert git(outside, "log", "-1", "--format=%s") == "only there"
