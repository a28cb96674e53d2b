"""Unsent attachments are restored with the contents they had when they were attached."""

from pathlib import Path

from PySide6.QtWidgets import QApplication, QPlainTextEdit

from core.domain.message_files import AttachedFile
from tests.ui.hands import find, write
from tests.ui.test_desktop_app import Person, live, until
from ui.base.draft_files import DraftFiles

A, B = AttachedFile("a.txt", "text/plain", b"one"), AttachedFile("b.png", "image/png", b"two")


def test_files_are_kept_for_their_session_only_and_removed_with_it(tmp_path: Path) -> None:
    kept = DraftFiles(tmp_path)
    kept.save("s1", [A, B])
    kept.save("s2", [AttachedFile("a.txt", "text/plain", b"six")])
    assert DraftFiles(tmp_path).load("s1") == (A, B)
    kept.save("s1", [B])
    assert DraftFiles(tmp_path).load("s1") == (B,)
    assert oct((tmp_path / "drafts" / "s1" / "2").stat().st_mode & 0o777) == "0o600"
    kept.save("s1", [])
    assert not (tmp_path / "drafts" / "s1").exists() and len(kept.load("s2")) == 1
    assert kept.load("unknown") == ()


def test_files_that_are_stored_already_are_not_written_again_even_if_they_look_alike(tmp_path: Path) -> None:
    other_a = AttachedFile(A.name, A.media_type, b"two")
    kept = DraftFiles(tmp_path)
    kept.save("s", [A, other_a])
    before = {path.name for path in (tmp_path / "drafts" / "s").iterdir()}
    kept.save("s", [A, other_a])
    assert {path.name for path in (tmp_path / "drafts" / "s").iterdir()} == before
    assert kept.load("s") == (A, other_a)


def test_a_file_that_was_deleted_from_the_disk_is_written_again(tmp_path: Path) -> None:
    kept = DraftFiles(tmp_path)
    kept.save("s", [A, B])
    (tmp_path / "drafts" / "s" / "1").unlink()
    kept.save("s", [A, B])
    assert kept.load("s") == (A, B)


def test_truncated_or_damaged_files_are_omitted(tmp_path: Path) -> None:
    kept = DraftFiles(tmp_path)
    kept.save("s", [A, B])
    (tmp_path / "drafts" / "s" / "1").write_bytes(b"o")
    assert kept.load("s") == (B,)
    (tmp_path / "drafts" / "s" / "files.json").write_text('[["../../x", "x"]]')
    assert kept.load("s") == ()
    kept.save("s", [A])
    assert kept.load("s") == (A,)


def test_attached_files_survive_a_restart(qapp: QApplication, home: Path, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("as it was")
    names: list[str] = []

    async def attach(person: Person) -> None:
        names.append(await person.start()())
        person.window.show_session(names[0])
        write(find(person.window.view, QPlainTextEdit, "composer.input"), "look at this")
        person.window.view.composer.attached.add_paths([str(note)])
        note.write_text("changed since")

    async def again(person: Person) -> None:
        await until(lambda: person.window.selection.session == names[0], "the session shown last")
        composer = person.window.view.composer
        assert [(file.name, file.body) for file in composer.attached.files()] == [("note.md", b"as it was")]
        assert composer.draft() == "look at this"
        composer.attached.take()

    async def at_last(person: Person) -> None:
        await until(lambda: person.window.selection.session == names[0], "the session shown last")
        assert person.window.view.composer.attached.files() == ()

    live(qapp, home, attach)
    live(qapp, home, again)
    live(qapp, home, at_last)
