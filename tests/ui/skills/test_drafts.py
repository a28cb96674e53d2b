"""Drafts of skills on disk: unsaved texts and images survive a crash."""

from pathlib import Path

from core.domain.skill import SKILL_FILE, SkillFile
from ui.skills.drafts import SkillDraft, SkillDrafts
from ui.skills.edited_skill import EditedSkill

IMAGE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 50


def test_an_unsaved_image_survives_a_crash(tmp_path: Path) -> None:
    work = EditedSkill("library/notes", 3, "old", [SkillFile("assets/old.png", "", 9)])
    work.write(SKILL_FILE, "new")
    work.write("assets/new.png", IMAGE)
    work.remove("assets/old.png")
    SkillDrafts(tmp_path).save(work.draft())

    again = EditedSkill("library/notes", 3, "old", [SkillFile("assets/old.png", "", 9)])
    drafts = SkillDrafts(tmp_path)
    draft = drafts.load("library/notes")
    assert draft is not None and drafts.keys() == {"library/notes"}
    again.apply_draft(draft)
    assert again.contents("assets/new.png") == IMAGE and again.contents(SKILL_FILE) == "new"
    assert again.unsaved_changes()["assets/old.png"] is None


def test_images_that_a_draft_no_longer_has_are_deleted(tmp_path: Path) -> None:
    drafts, folder = SkillDrafts(tmp_path), tmp_path / "drafts" / "skills"
    drafts.save(SkillDraft("a", 1, {"one.png": IMAGE, "two.png": IMAGE + b"!"}))
    drafts.save(SkillDraft("b", 1, {"one.png": IMAGE}))
    assert len(list(folder.glob("*.bin"))) == 3
    drafts.save(SkillDraft("a", 1, {"one.png": IMAGE, "a.md": "text"}))
    assert len(list(folder.glob("*.bin"))) == 2
    drafts.delete("a")
    assert drafts.load("a") is None and drafts.load("b") == SkillDraft("b", 1, {"one.png": IMAGE})
    drafts.delete("b")
    assert list(folder.iterdir()) == []


def test_a_damaged_image_does_not_take_the_texts_with_it(tmp_path: Path) -> None:
    drafts = SkillDrafts(tmp_path)
    drafts.save(SkillDraft("a", 1, {"one.png": IMAGE, "a.md": "text"}))
    (image,) = (tmp_path / "drafts" / "skills").glob("*.bin")
    image.write_bytes(IMAGE[:100])
    assert drafts.load("a") == SkillDraft("a", 1, {"a.md": "text"})
