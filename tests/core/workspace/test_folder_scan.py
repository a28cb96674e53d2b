"""All file changes of a command are detected, and those without kept contents are named."""

import os
import subprocess
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.workspace import folder_listing as listing
from core.workspace import folder_scan as scanning
from core.workspace.content_cache import ContentCache
from core.workspace.file_change import FileChange, UnrecordedChanges
from core.workspace.folder_listing import take_snapshot
from core.workspace.folder_scan import FolderScan
from tests.core.workspace.ground import Ground, create_ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return create_ground(tmp_path)


def done_by(scan: FolderScan, command: str) -> tuple[list[FileChange], UnrecordedChanges]:
    """Return the changes that a command made."""
    scan.scan_before()
    subprocess.run(["/bin/sh", "-c", command], cwd=scan.folder, check=False, capture_output=True)
    changes, missed = scan.changes_since()
    return list(changes), missed


def test_created_changed_and_removed_files(ground: Ground) -> None:
    (ground.folder / "gone").write_bytes(b"old")
    scan = FolderScan(ground.folder)
    found, missed = done_by(scan, "sed -i s/inside/INSIDE/ real/file; rm gone; echo new > 'new file'; mkdir -p a/b")
    assert missed == UnrecordedChanges()
    assert found == [
        FileChange("gone", b"old", None),
        FileChange("new file", None, b"new\n"),
        FileChange("real/file", b"inside", b"INSIDE"),
    ]
    assert done_by(scan, "true") == ([], UnrecordedChanges())
    assert done_by(scan, "echo x > real/file")[0] == [FileChange("real/file", b"INSIDE", b"x\n")]


def test_moved_and_touched_files(ground: Ground) -> None:
    scan = FolderScan(ground.folder)
    assert done_by(scan, "touch real/file")[0] == []
    (made,) = done_by(scan, "chmod 700 real/file")[0]
    assert (made.before, made.after, made.modes) == (b"inside", b"inside", (0o644, 0o700))
    found, _ = done_by(scan, "mv real/file real/other")
    assert found == [FileChange("real/file", b"inside", None), FileChange("real/other", None, b"inside")]


def test_a_modification_time_that_was_set_back(ground: Ground) -> None:
    """The size, the inode and the modification time are unchanged."""
    scan = FolderScan(ground.folder)
    found, _ = done_by(scan, "touch -r real/file ref; printf INSIDE > real/file; touch -r ref real/file; rm ref")
    assert found == [FileChange("real/file", b"inside", b"INSIDE")]


def test_a_file_changed_right_after_the_scan(ground: Ground) -> None:
    scan = FolderScan(ground.folder)
    for number in range(30):
        (ground.folder / "real/file").write_bytes(b"a%05d" % number)
        scan.scan_before()
        (ground.folder / "real/file").write_bytes(b"b%05d" % number)
        assert scan.changes_since()[0] == (FileChange("real/file", b"a%05d" % number, b"b%05d" % number),)


def test_git_works_and_its_own_files_are_omitted(ground: Ground) -> None:
    name = "git -c user.name=A -c user.email=a@b.c"
    scan = FolderScan(ground.folder)
    found, missed = done_by(scan, f"git init -q && git add . && {name} commit -qm one")
    assert [change.path for change in found if not change.path.startswith(".git/")] == []
    assert missed.protected == ()
    (ground.folder / "real/file").write_bytes(b"edited")
    found, missed = done_by(scan, "git checkout -q -- .")
    assert (found, missed) == ([FileChange("real/file", b"edited", b"inside")], UnrecordedChanges())
    found, missed = done_by(scan, "echo evil > .git/hooks/pre-commit; git config a.b c")
    assert missed.protected == (".git/config", ".git/hooks/pre-commit")


def test_protected_changes_are_named(ground: Ground) -> None:
    assert done_by(FolderScan(ground.folder), "echo x > .envrc; mkdir .vscode; echo y > .vscode/tasks.json")[
        1
    ] == UnrecordedChanges(protected=(".envrc", ".vscode/tasks.json"))


def test_contents_that_are_not_kept_are_named(ground: Ground) -> None:
    """Files that are too large, too many or secret, generated files, and everything but regular files."""
    (ground.folder / "large").write_bytes(b"x" * (scanning.FILE_SIZE + 1))
    (ground.folder / ".env").write_bytes(b"KEY=1")
    (ground.folder / "link").symlink_to("real/file")
    (ground.folder / "node_modules").mkdir()
    (ground.folder / "node_modules" / "a.js").write_bytes(b"x")
    scan = FolderScan(ground.folder)
    found, missed = done_by(scan, "rm large .env link; echo y > node_modules/a.js; mkfifo pipe")
    assert found == [] and missed.unrecorded == (".env", "large", "link", "node_modules/a.js", "pipe")
    small = FolderScan(ground.folder, ContentCache(max_bytes=3))
    assert done_by(small, "echo more > real/file")[1].unrecorded == ("real/file",)


def test_a_name_that_is_not_text_is_named_and_its_contents_are_not_kept(ground: Ground) -> None:
    """Events cannot store such a name; with replacement characters it could be confused with another file."""
    odd, made, beneath = (os.fsdecode(name) for name in (b"q\xff", b"new\xff", b"d\xff/a"))
    for name in (odd, "q?", beneath):
        (ground.folder / name).parent.mkdir(exist_ok=True)
        (ground.folder / name).write_text("original")
    told: list[str] = []
    scan = FolderScan(ground.folder, on_content=lambda path, body: told.append(path))
    found, missed = done_by(scan, "printf x | tee \"$(printf 'q\\377')\" \"$(printf 'new\\377')\"; rm d*/a")
    assert found == [] and missed.unrecorded == (beneath, made, odd) and missed.created == (made,)
    assert sorted(told) == ["q?", "real/file"]


def test_contents_are_reported_once(ground: Ground) -> None:
    told: list[tuple[str, bytes]] = []
    scan = FolderScan(ground.folder, on_content=lambda path, body: told.append((path, body)))
    done_by(scan, "true")
    done_by(scan, "echo x > y")
    assert told == [("real/file", b"inside"), ("y", b"x\n")]


def test_paths_that_need_a_sandbox(ground: Ground) -> None:
    for place in ("a/.git/hooks", "b/c", ".vscode"):
        (ground.folder / place).mkdir(parents=True)
    for name in ("b/.env", "b/c/.mcp.json", "b/c/id_rsa", ".vscode/tasks.json", "b/\uff0eenvrc"):
        (ground.folder / name).write_text("x")
    found = FolderScan(ground.folder).scan_before()
    assert found.protected == (".vscode", "a/.git", "b/c/.mcp.json", "b/\uff0eenvrc")
    assert found.hidden == ("b/.env", "b/c/id_rsa")


@pytest.mark.skipif(not listing._find(), reason="no GNU find here")
def test_both_ways_of_scanning_agree(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        (ground.folder / f"d{number}" / "e").mkdir(parents=True)
        (ground.folder / f"d{number}" / "e" / "file\nwith line").write_text("x")
    for name in (b"not-utf8-\xff", b"sp ace", b"-rf"):
        (ground.folder / os.fsdecode(b"d1/" + name)).write_text("x")
    os.mkfifo(ground.folder / "d2" / "pipe")
    (ground.folder / "d3" / "link").symlink_to("/")
    subprocess.run(["git", "init", "-q", ground.folder / "d4"], check=True)
    ours = take_snapshot(ground.folder)
    monkeypatch.setattr(listing, "SCAN_LIMIT", 1)
    assert take_snapshot(ground.folder) == ours


def test_an_endless_folder(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    (ground.folder / "real" / "up").symlink_to("..")
    assert len(take_snapshot(ground.folder).lines) == 2
    monkeypatch.setattr(listing, "FILES", 1)
    partial = take_snapshot(ground.folder, is_notable=lambda line: False)
    assert partial.partial and len(partial.lines) == 1
    with pytest.raises(Problem, match="too large to scan"):
        FolderScan(ground.folder).scan_before()
