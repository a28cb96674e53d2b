"""Screenshots of the skills page: the editor, a diff, the files, an untrusted skill and a proposal."""

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtWidgets import QWidget

from core.domain.skill import SKILL_FILE, OpenSkill, SkillFileDiff
from core.store.reader import Reader
from tests.screens.sample_skills import SHOP, skills_page_data
from ui.shell.main_window import MainWindow
from ui.skills.controller import check_text
from ui.skills.panel import SkillsPanel


def skill_pages(window: MainWindow, home: Path, reader: Reader) -> Iterator[tuple[str, QWidget]]:
    """Show sample data directly, because there is no engine to load it."""
    rows, opened, waiting = skills_page_data(home, reader)
    window.selection.choose_page("skills")
    page = window.pages.page("skills")
    assert isinstance(page, SkillsPanel)
    page.controller.folder = str(home / SHOP)
    page.show_rows(rows, page.proposal_review.to_list_items(waiting))
    letters = opened["library/formal-letters"]
    _show(page, letters)
    page.view.editor.source.go_to_line(14)
    page.view.editor.preview.render_now()
    yield "skills", window.window()
    page.view.choose_tab("compare")
    page.view.show_files(
        [SkillFileDiff(SKILL_FILE, letters.text.replace("one sentence each", "in short"), letters.text)]
    )
    yield "skills-diff", window.window()
    page.view.choose_tab("files")
    page.view.edit.set_saved_contents(
        "scripts/check.sh", "#!/bin/sh\nset -eu\nexiftool -DateTimeOriginal -csv photos/*\n"
    )
    page.view.files.show_file("scripts/check.sh")
    yield "skills-files", window.window()
    page.view.choose_tab("both")
    _show(page, next(each for each in opened.values() if each.row.state == "untrusted"))
    yield "skills-untrusted", window.window()
    page.proposal_review.show(waiting[0], letters.text)
    page.list_pane.list.mark_open(f"proposal/{waiting[0].id}")
    _measure(page)
    page.view.editor.preview.render_now()
    yield "skills-proposal", window.window()


def _show(page: SkillsPanel, opened: OpenSkill) -> None:
    page.show_skill(opened)
    _measure(page)
    page.view.editor.preview.render_now()


def _measure(page: SkillsPanel) -> None:
    found = check_text(page.view.editor.text(), ("scripts/check.sh",), page.view.expected_name)
    page.view.show_findings(found.findings, found.sizes)
