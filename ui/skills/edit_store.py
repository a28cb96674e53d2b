"""The skills that are being edited, in memory, and their drafts on disk."""

from pathlib import Path

from core.domain.skill import SKILL_FILE, OpenSkill, SkillSaved
from ui.skills.drafts import SkillDraft, SkillDrafts
from ui.skills.edited_skill import EditedSkill, FileContents


class EditStore:
    """Keeps the unsaved changes of a skill in memory while the user works on another one."""

    def __init__(self, folder: Path) -> None:
        self._drafts = SkillDrafts(folder)
        self._edits: dict[str, EditedSkill] = {}
        self._unsaved: set[str] = set()

    def find_drafts(self) -> None:
        """Find the drafts on disk, which may have been written before the program was last closed."""
        self._unsaved |= self._drafts.keys()

    def unsaved_keys(self) -> frozenset[str]:
        """Return the keys of the skills with unsaved changes."""
        return frozenset(self._unsaved)

    def edit_of(self, opened: OpenSkill) -> EditedSkill:
        """Return the edit of a skill that has been opened.

        If there is an edit with unsaved changes, or one based on the newest version, it is continued; otherwise, a new
        edit begins.
        """
        key = opened.row.key
        edit = self._edits.get(key)
        if edit and (edit.changed or _is_based_on(edit, opened)):
            edit.set_files(opened.files)
            return edit
        edit = self._edits[key] = EditedSkill(key, opened.base, opened.text, opened.files)
        if draft := self._drafts.load(key):
            edit.apply_draft(draft)
        return edit

    def save_draft(self, edit: EditedSkill) -> None:
        """Write the unsaved changes to disk, or delete the draft if there are none. Raise OSError if that fails."""
        if edit.changed:
            self._unsaved.add(edit.key)
            self._drafts.save(edit.draft())
        else:
            self.delete_draft(edit.key)

    def delete_draft(self, key: str) -> None:
        """Delete the draft of a skill."""
        self._unsaved.discard(key)
        self._drafts.delete(key)

    def unload(self, key: str) -> None:
        """Remove the edit of a skill from memory, so that the skill is loaded from disk when it is opened again."""
        self._edits.pop(key, None)

    def draft(self, key: str) -> SkillDraft | None:
        return self._drafts.load(key)

    def restore_draft(self, draft: SkillDraft) -> None:
        """Restore a draft that was discarded. It is applied when the skill is opened again."""
        self.unload(draft.key)
        self._unsaved.add(draft.key)
        self._drafts.save(draft)

    def mark_saved(self, edit: EditedSkill, result: SkillSaved, saved: dict[str, FileContents]) -> None:
        """Record that an edit was saved.

        Saving a built-in skill creates a copy with another key in the user's library.
        """
        self.unload(edit.key)
        self.delete_draft(edit.key)
        edit.mark_saved(result.version, saved)
        edit.key = result.key
        self._edits[result.key] = edit


def _is_based_on(edit: EditedSkill, opened: OpenSkill) -> bool:
    return edit.base == opened.base and edit.saved_contents(SKILL_FILE) == opened.text
