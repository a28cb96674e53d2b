"""A skill that is being edited: its saved files and the unsaved changes to them."""

from collections.abc import Iterable, Mapping

from core.domain.skill import SKILL_FILE, SkillFile
from ui.skills.drafts import SkillDraft

FileContents = str | bytes | None  # the contents of a file; None if the file is removed


class EditedSkill:
    """Keeps the unsaved changes to a skill by path. They are based on version `base`."""

    def __init__(self, key: str, base: int, text: str, files: Iterable[SkillFile] = ()) -> None:
        self.key = key
        self.base = base
        self._files = {file.path: file for file in files}
        self._saved: dict[str, str | bytes] = {SKILL_FILE: text}
        self._edited: dict[str, FileContents] = {}

    @property
    def changed(self) -> bool:
        return bool(self._edited)

    def unsaved_changes(self) -> Mapping[str, FileContents]:
        """Return the unsaved contents by path; None for a removed file."""
        return dict(self._edited)

    def paths(self) -> list[str]:
        """Return the paths of the current files, SKILL.md first."""
        current = {SKILL_FILE, *self._files, *self._edited} - {
            path for path, body in self._edited.items() if body is None
        }
        return sorted(current, key=lambda path: (path != SKILL_FILE, path))

    def file(self, path: str) -> SkillFile | None:
        """Return the metadata of a saved file; None for a file that has not been saved."""
        return self._files.get(path)

    def contents(self, path: str) -> str | bytes | None:
        """Return the current contents of a file; None if the file is removed, or has not been loaded yet."""
        return self._edited[path] if path in self._edited else self._saved.get(path)

    def saved_contents(self, path: str) -> str | bytes | None:
        return self._saved.get(path)

    def set_saved_contents(self, path: str, body: str | bytes) -> None:
        """Record the saved contents of a file that was loaded. Unsaved changes to the file are kept."""
        self._saved[path] = body
        if self._edited.get(path) == body:
            del self._edited[path]

    def write(self, path: str, body: str | bytes) -> None:
        if self._saved.get(path) == body:
            self._edited.pop(path, None)
        else:
            self._edited[path] = body

    def remove(self, path: str) -> FileContents:
        """Remove a file and return its contents; passing them to `restore` undoes the removal."""
        contents = self.contents(path)
        if path in self._files:
            self._edited[path] = None
        else:
            self._edited.pop(path, None)
        return contents

    def restore(self, path: str, body: FileContents) -> None:
        """Undo the removal of a file; `body` is what `remove` returned."""
        self._edited.pop(path, None)
        if body is not None:
            self.write(path, body)

    def rename(self, old: str, new: str) -> None:
        """Rename a file. Its contents must have been loaded."""
        body = self.remove(old)
        if body is not None:
            self.write(new, body)

    def set_files(self, files: Iterable[SkillFile]) -> None:
        """Replace the list of saved files."""
        self._files = {file.path: file for file in files}

    def mark_saved(self, version: int, saved: Mapping[str, FileContents]) -> None:
        """Record that the changes in `saved` are now a version. Changes made since then remain unsaved."""
        for path, body in saved.items():
            if body is None:
                self._files.pop(path, None)
                self._saved.pop(path, None)
            else:
                self._saved[path] = body
                if path != SKILL_FILE:
                    self._files.setdefault(path, SkillFile(path, "", len(body)))
        self._edited = {path: body for path, body in self._edited.items() if path not in saved or saved[path] != body}
        self.base = version

    def draft(self) -> SkillDraft:
        """Return the unsaved changes as a draft to be written to disk."""
        return SkillDraft(self.key, self.base, self.unsaved_changes())

    def apply_draft(self, draft: SkillDraft) -> None:
        """Apply the unsaved changes that a draft contains."""
        self.base = draft.base
        self._edited.update(draft.contents)
        if self._edited.get(SKILL_FILE) == self._saved[SKILL_FILE]:
            del self._edited[SKILL_FILE]
