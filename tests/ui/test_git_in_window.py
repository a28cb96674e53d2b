"""Committing in the real window: stage, commit, branch, push and pull request, by mouse and keyboard."""

import os
import subprocess
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication, QCheckBox, QDialog, QLabel, QLineEdit, QPlainTextEdit, QPushButton

from tests.ui.hands import click, find, press, write
from tests.ui.test_desktop_app import Person, live, until
from tests.ui.test_reverting_in_window import WRITES
from ui.dialogs.commit_dialog import CommitDialog

CONTROL = Qt.KeyboardModifier.ControlModifier


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, encoding="utf-8")
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def repository(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make the folder of the session a repository with a remote, and install a program for pull requests."""
    user = tmp_path / "user"
    (user / "bin").mkdir(parents=True)
    (user / ".gitconfig").write_text(
        "[user]\n\tname = A. Berg\n\temail = berg@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    gh = user / "bin" / "gh"
    gh.write_text("#!/bin/sh\necho https://host.example/pull/7\n")
    gh.chmod(0o755)
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user / "config"))
    monkeypatch.setenv("PATH", f"{user / 'bin'}{os.pathsep}{os.environ['PATH']}")
    remote, folder = tmp_path / "remote.git", home / "work"
    remote.mkdir()
    folder.mkdir(parents=True)
    git(remote, "init", "-q", "--bare")
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Start")
    git(folder, "remote", "add", "origin", str(remote))
    return folder


async def open_dialog(person: Person, *, by_key: bool = False) -> CommitDialog:
    window = person.window
    session = await person.start(WRITES)()
    await until(lambda: window.row(session).runs and window.row(session).status == "done", "its end")
    window.show_session(session)
    window.view.page.show_tab("changes")
    button = find(window.view, QPushButton, "changes.commit")
    await until(button.isVisible, "the button")
    if by_key:
        window.actions_by_id["session.commit"].trigger()
    else:
        click(button)
    return await until(lambda: window.findChild(CommitDialog, "commit"), "the dialog")


def tick(box: QCheckBox) -> None:
    click(box, QPoint(8, box.height() // 2))


def result(dialog: CommitDialog) -> str:
    return find(dialog, QLabel, "commit.result").text().replace("\u200b", "")


def is_ready(dialog: CommitDialog, name: str) -> bool:
    return find(dialog, QPushButton, name).isEnabled()


def test_changes_are_committed_pushed_and_proposed_by_mouse(
    qapp: QApplication, home: Path, repository: Path, tmp_path: Path
) -> None:
    async def act(person: Person) -> None:
        dialog = await open_dialog(person)
        box = find(dialog, QCheckBox, "commit.file")
        assert box.text().startswith("a.txt") and not box.isChecked() and not is_ready(dialog, "commit.act")
        tick(box)
        await until(lambda: is_ready(dialog, "commit.act"), "the file is staged")
        assert git(repository, "diff", "--cached", "--name-only") == "a.txt"
        assert find(dialog, QPlainTextEdit, "commit.message").toPlainText() == "Write it"
        click(find(dialog, QPushButton, "commit.act"))
        await until(lambda: result(dialog).startswith("Committed as"), "the commit")
        assert git(repository, "log", "-1", "--format=%s %an") == "Write it A. Berg"
        await until(lambda: find(dialog, QCheckBox, "commit.all").text() == "No changes", "the new state")
        assert not is_ready(dialog, "commit.pull") and "Push" in find(dialog, QPushButton, "commit.pull").toolTip()
        programs = find(dialog, QCheckBox, "commit.programs")
        assert programs.isVisible() and not programs.isChecked(), "the remote is a local repository with hooks"
        assert str(tmp_path / "remote.git") in find(dialog, QPushButton, "commit.push").toolTip()
        click(find(dialog, QPushButton, "commit.push"))
        await until(lambda: "would run programs" in result(dialog), "the refusal")
        await until(programs.isEnabled, "the end")
        tick(programs)
        await until(lambda: programs.isEnabled() and programs.isChecked(), "the permission")
        click(find(dialog, QPushButton, "commit.push"))
        await until(lambda: result(dialog) == "Pushed to origin/main", "the push")
        assert git(tmp_path / "remote.git", "log", "-1", "--format=%s", "main") == "Write it"
        await until(lambda: is_ready(dialog, "commit.pull"), "a pull request is possible")
        click(find(dialog, QPushButton, "commit.pull"))
        field = find(dialog, QPlainTextEdit, "commit.message")
        assert field.toPlainText() == "Write it"
        click(find(dialog, QPushButton, "commit.act"))
        await until(lambda: result(dialog) == "Opened https://host.example/pull/7", "the pull request")
        link = await until(lambda: dialog.findChild(QDialog, "link"), "its address")
        link.close()
        click(find(dialog, QPushButton, "commit.close"))
        await until(lambda: person.window.findChild(CommitDialog, "commit") is None, "the dialog is gone")

    live(qapp, home, act)


def test_what_an_agent_stages_meanwhile_is_not_committed(qapp: QApplication, home: Path, repository: Path) -> None:
    (repository / "other.txt").write_text("")

    async def act(person: Person) -> None:
        dialog = await open_dialog(person)
        box = next(each for each in dialog.findChildren(QCheckBox, "commit.file") if each.text().startswith("a.txt"))
        tick(box)
        await until(lambda: is_ready(dialog, "commit.act"), "the file is staged")
        git(repository, "add", "other.txt")
        click(find(dialog, QPushButton, "commit.act"))
        await until(lambda: "not what was shown" in result(dialog), "the refusal")
        assert git(repository, "log", "--format=%s") == "Start"
        await until(lambda: "2 of 2 files staged" in find(dialog, QCheckBox, "commit.all").text(), "the new state")
        await until(lambda: is_ready(dialog, "commit.act"), "the end")
        click(find(dialog, QPushButton, "commit.act"))
        await until(lambda: result(dialog).startswith("Committed as"), "the commit")
        assert git(repository, "show", "--format=", "--name-only") == "a.txt\nother.txt"
        dialog.reject()

    live(qapp, home, act)


def test_changes_are_committed_on_a_branch_by_keys(qapp: QApplication, home: Path, repository: Path) -> None:
    (repository / "other.txt").write_text("")

    async def act(person: Person) -> None:
        dialog = await open_dialog(person, by_key=True)
        press(find(dialog, QPushButton, "commit.new_branch"), Qt.Key.Key_Space)
        name = find(dialog, QLineEdit, "commit.branch_name")
        write(name, "main")
        press(name, Qt.Key.Key_Return)
        await until(lambda: "exists already" in result(dialog), "the error in words")
        await until(lambda: is_ready(dialog, "commit.new_branch"), "the end")
        press(find(dialog, QPushButton, "commit.new_branch"), Qt.Key.Key_Space)
        write(name, "letter/one")
        press(name, Qt.Key.Key_Return)
        await until(lambda: result(dialog) == "Created the branch letter/one", "the branch")
        everything = find(dialog, QCheckBox, "commit.all")
        await until(everything.isEnabled, "the end")
        press(everything, Qt.Key.Key_Space)
        await until(lambda: is_ready(dialog, "commit.act"), "all files are staged")
        message = find(dialog, QPlainTextEdit, "commit.message")
        assert message.toPlainText() == "Write it\n\n- a.txt\n- other.txt"
        message.setPlainText("Two files")
        message.moveCursor(QTextCursor.MoveOperation.End)
        press(message, Qt.Key.Key_Return)
        write(message, "at once")
        press(message, Qt.Key.Key_Return, CONTROL)
        await until(lambda: result(dialog).startswith("Committed as"), "the commit")
        assert git(repository, "log", "-1", "--format=%B%D").split("\n") == [
            "Two files", "at once", "HEAD -> letter/one",
        ]  # fmt: skip
        press(dialog, Qt.Key.Key_Escape)

    live(qapp, home, act)


def test_a_hostile_repository_is_not_even_asked_for_its_files(
    qapp: QApplication, home: Path, repository: Path, tmp_path: Path
) -> None:
    mark, spy = tmp_path / "ran", tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat\n")
    spy.chmod(0o755)
    git(repository, "config", "filter.x.clean", str(spy))
    (repository / ".gitattributes").write_text("* filter=x\n")

    async def act(person: Person) -> None:
        dialog = await open_dialog(person)
        assert "filter.x.clean" in find(dialog, QLabel, "commit.program_names").text()
        assert not dialog.findChildren(QCheckBox, "commit.file") and not is_ready(dialog, "commit.act")
        assert not mark.exists()
        tick(find(dialog, QCheckBox, "commit.programs"))
        await until(lambda: dialog.findChildren(QCheckBox, "commit.file"), "the files, once that is allowed")
        dialog.reject()

    live(qapp, home, act)


def test_without_a_repository_no_commit_is_offered(qapp: QApplication, home: Path, repository: Path) -> None:
    (repository / ".git").rename(repository.with_name("elsewhere"))

    async def act(person: Person) -> None:
        window = person.window
        session = await person.start(WRITES)()
        await until(lambda: window.row(session).runs and window.row(session).status == "done", "its end")
        window.show_session(session)
        window.view.page.show_tab("changes")
        await until(find(window.view, QPushButton, "changes.undo").isVisible, "the changes")
        assert not find(window.view, QPushButton, "changes.commit").isVisible()
        window.actions_by_id["session.commit"].trigger()
        await until(lambda: "not in a git repository" in person.notice(), "the reason")

    live(qapp, home, act)
