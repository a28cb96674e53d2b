"""Pictures of the page of skills: a skill being written, its differences and files, one nobody trusts, a proposal."""

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.sample_skills import SHOP, looked
from core.domain.skill import MAIN, FileDifference, OpenSkill
from core.store.reader import Reader
from ui.skills.door import measured
from ui.skills.panel import SkillsPanel
from ui.window import MainWindow


def skill_pages(window: MainWindow, home: Path, reader: Reader) -> Iterator[tuple[str, QWidget]]:
    """In the app the engine answers what is shown here."""
    rows, opened, waiting = looked(home, reader)
    window.selection.choose_page("skills")
    page = window.pages.page("skills")
    assert isinstance(page, SkillsPanel)
    page.door.folder = str(home / SHOP)
    page.show_rows(rows, page.reviewing.lines(waiting))
    letters = opened["library/formal-letters"]
    _show(page, letters)
    page.desk.editor.source.go_to_line(14)
    page.desk.editor.preview.render_now()
    yield "skills", window.window()
    page.desk.choose("compare")
    page.desk.show_files([FileDifference(MAIN, letters.text.replace("one sentence each", "in short"), letters.text)])
    yield "skills-difference", window.window()
    page.desk.choose("files")
    page.desk.work.loaded("scripts/check.sh", "#!/bin/sh\nset -eu\nexiftool -DateTimeOriginal -csv photos/*\n")
    page.desk.files.show_file("scripts/check.sh")
    yield "skills-files", window.window()
    page.desk.choose("both")
    _show(page, next(each for each in opened.values() if each.row.state == "untrusted"))
    yield "skills-untrusted", window.window()
    page.reviewing.show(waiting[0], letters.text)
    page.side.list.mark(f"proposal/{waiting[0].id}")
    _measure(page)
    page.desk.editor.preview.render_now()
    yield "skills-proposal", window.window()


def _show(page: SkillsPanel, opened: OpenSkill) -> None:
    page.show_skill(opened)
    _measure(page)
    page.desk.editor.preview.render_now()


def _measure(page: SkillsPanel) -> None:
    found = measured(page.desk.editor.text(), ("scripts/check.sh",), page.desk.checked_as)
    page.desk.show_findings(found.findings, found.measures)
