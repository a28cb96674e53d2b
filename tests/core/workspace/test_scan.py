"""What a command did to the files is found, whatever it did, and what was not kept is named."""

import os
import subprocess
from pathlib import Path

import pytest

from core.domain.problems import Problem
from core.workspace import scan as scanning
from core.workspace.scan import Altered, Contents, Missed, Scan, look
from tests.core.workspace.ground import Ground, lay


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return lay(tmp_path)


def done_by(scan: Scan, command: str) -> tuple[list[Altered], Missed]:
    """What this command did."""
    scan.before()
    subprocess.run(["/bin/sh", "-c", command], cwd=scan.folder, check=False, capture_output=True)
    changes, missed = scan.after()
    return list(changes), missed


def test_made_changed_removed(ground: Ground) -> None:
    (ground.folder / "gone").write_bytes(b"old")
    scan = Scan(ground.folder)
    found, missed = done_by(scan, "sed -i s/inside/INSIDE/ real/file; rm gone; echo new > 'new file'; mkdir -p a/b")
    assert missed == Missed()
    assert found == [
        Altered("gone", b"old", None),
        Altered("new file", None, b"new\n"),
        Altered("real/file", b"inside", b"INSIDE"),
    ]
    assert done_by(scan, "true") == ([], Missed())
    assert done_by(scan, "echo x > real/file")[0] == [Altered("real/file", b"INSIDE", b"x\n")]


def test_moved_and_touched(ground: Ground) -> None:
    scan = Scan(ground.folder)
    assert done_by(scan, "touch real/file")[0] == []
    (made,) = done_by(scan, "chmod 700 real/file")[0]
    assert (made.before, made.after, made.modes) == (b"inside", b"inside", (0o644, 0o700))
    found, _ = done_by(scan, "mv real/file real/other")
    assert found == [Altered("real/file", b"inside", None), Altered("real/other", None, b"inside")]


def test_the_time_of_change_set_back(ground: Ground) -> None:
    """Same size, same inode, same time of the contents."""
    scan = Scan(ground.folder)
    found, _ = done_by(scan, "touch -r real/file ref; printf INSIDE > real/file; touch -r ref real/file; rm ref")
    assert found == [Altered("real/file", b"inside", b"INSIDE")]


def test_changed_a_moment_after_the_look(ground: Ground) -> None:
    scan = Scan(ground.folder)
    for number in range(30):
        (ground.folder / "real/file").write_bytes(b"a%05d" % number)
        scan.before()
        (ground.folder / "real/file").write_bytes(b"b%05d" % number)
        assert scan.after()[0] == (Altered("real/file", b"a%05d" % number, b"b%05d" % number),)


def test_git_works_and_its_own_files_do_not_show(ground: Ground) -> None:
    name = "git -c user.name=A -c user.email=a@b.c"
    scan = Scan(ground.folder)
    found, missed = done_by(scan, f"git init -q && git add . && {name} commit -qm one")
    assert [change.path for change in found if not change.path.startswith(".git/")] == []
    assert missed.protected == ()
    (ground.folder / "real/file").write_bytes(b"edited")
    found, missed = done_by(scan, "git checkout -q -- .")
    assert (found, missed) == ([Altered("real/file", b"edited", b"inside")], Missed())
    found, missed = done_by(scan, "echo evil > .git/hooks/pre-commit; git config a.b c")
    assert missed.protected == (".git/config", ".git/hooks/pre-commit")


def test_what_is_protected_is_named(ground: Ground) -> None:
    assert done_by(Scan(ground.folder), "echo x > .envrc; mkdir .vscode; echo y > .vscode/tasks.json")[1] == Missed(
        protected=(".envrc", ".vscode/tasks.json")
    )


def test_what_is_not_kept_is_named(ground: Ground) -> None:
    """Too large, too many, closed, secret, or no file at all."""
    (ground.folder / "large").write_bytes(b"x" * (scanning.FILE_SIZE + 1))
    (ground.folder / ".env").write_bytes(b"KEY=1")
    (ground.folder / "link").symlink_to("real/file")
    (ground.folder / "node_modules").mkdir()
    (ground.folder / "node_modules" / "a.js").write_bytes(b"x")
    scan = Scan(ground.folder)
    found, missed = done_by(scan, "rm large .env link; echo y > node_modules/a.js; mkfifo pipe")
    assert found == [] and missed.contents == (".env", "large", "link", "node_modules/a.js", "pipe")
    small = Scan(ground.folder, Contents(total=3))
    assert done_by(small, "echo more > real/file")[1].contents == ("real/file",)


def test_a_name_that_is_no_text_is_named_and_its_contents_are_not_kept(ground: Ground) -> None:
    """No journal can hold it: kept under another name it would stand for a file that may exist."""
    odd, made, beneath = (os.fsdecode(name) for name in (b"q\xff", b"new\xff", b"d\xff/a"))
    for name in (odd, "q?", beneath):
        (ground.folder / name).parent.mkdir(exist_ok=True)
        (ground.folder / name).write_text("original")
    told: list[str] = []
    scan = Scan(ground.folder, keep=lambda path, body: told.append(path))
    found, missed = done_by(scan, "printf x | tee \"$(printf 'q\\377')\" \"$(printf 'new\\377')\"; rm d*/a")
    assert found == [] and missed.contents == (beneath, made, odd) and missed.made == (made,)
    assert sorted(told) == ["q?", "real/file"]


def test_contents_are_told_once(ground: Ground) -> None:
    told: list[tuple[str, bytes]] = []
    scan = Scan(ground.folder, keep=lambda path, body: told.append((path, body)))
    done_by(scan, "true")
    done_by(scan, "echo x > y")
    assert told == [("real/file", b"inside"), ("y", b"x\n")]


def test_places_that_need_walls(ground: Ground) -> None:
    for place in ("a/.git/hooks", "b/c", ".vscode"):
        (ground.folder / place).mkdir(parents=True)
    for name in ("b/.env", "b/c/.mcp.json", "b/c/id_rsa", ".vscode/tasks.json", "b/\uff0eenvrc"):
        (ground.folder / name).write_text("x")
    found = Scan(ground.folder).before()
    assert found.protected == (".vscode/tasks.json", "a/.git", "b/c/.mcp.json", "b/\uff0eenvrc")
    assert found.hidden == ("b/.env", "b/c/id_rsa")


@pytest.mark.skipif(not scanning._find(), reason="no GNU find here")
def test_both_ways_of_looking_agree(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        (ground.folder / f"d{number}" / "e").mkdir(parents=True)
        (ground.folder / f"d{number}" / "e" / "file\nwith line").write_text("x")
    for name in (b"not-utf8-\xff", b"sp ace", b"-rf"):
        (ground.folder / os.fsdecode(b"d1/" + name)).write_text("x")
    os.mkfifo(ground.folder / "d2" / "pipe")
    (ground.folder / "d3" / "link").symlink_to("/")
    subprocess.run(["git", "init", "-q", ground.folder / "d4"], check=True)
    ours = look(ground.folder)
    monkeypatch.setattr(scanning, "ENOUGH", 1)
    assert look(ground.folder) == ours


def test_a_folder_without_end(ground: Ground, monkeypatch: pytest.MonkeyPatch) -> None:
    (ground.folder / "real" / "up").symlink_to("..")
    assert len(look(ground.folder)[0]) == 2
    monkeypatch.setattr(scanning, "FILES", 1)
    with pytest.raises(Problem, match="too large to watch"):
        look(ground.folder)
