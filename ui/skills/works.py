"""The skills that are being written: each as far as it came, in memory and on the disk."""

from pathlib import Path

from core.domain.skill import MAIN, OpenSkill, Saved
from ui.skills.drafts import SkillDraft, SkillDrafts
from ui.skills.work import Body, Work


class Works:
    """What is not saved of one waits while another is read."""

    def __init__(self, folder: Path) -> None:
        self._drafts = SkillDrafts(folder)
        self._works: dict[str, Work] = {}
        self._unsaved: set[str] = set()

    def look(self) -> None:
        """What an earlier program left on the disk."""
        self._unsaved |= self._drafts.keys()

    def unsaved(self) -> frozenset[str]:
        """The keys of those with text that is not saved."""
        return frozenset(self._unsaved)

    def of(self, opened: OpenSkill) -> Work:
        """The work on a skill: the same as before where nobody else saved since, else from what is saved now."""
        key = opened.row.key
        work = self._works.get(key)
        if work is not None and (work.changed or (work.base, work.saved(MAIN)) == (opened.base, opened.text)):
            work.know(opened.files)
            return work
        work = self._works[key] = Work(key, opened.base, opened.text, opened.files)
        if draft := self._drafts.draft(key):
            work.take_up(draft)
        return work

    def keep(self, work: Work) -> None:
        """On the disk as it is. Raises OSError where it cannot be written."""
        if work.changed:
            self._unsaved.add(work.key)
            self._drafts.keep(work.draft())
        else:
            self.drop(work.key)

    def drop(self, key: str) -> None:
        """Nothing of it is unsaved any more."""
        self._unsaved.discard(key)
        self._drafts.drop(key)

    def forget(self, key: str) -> None:
        """It changes under what was read of it: the next look reads it anew."""
        self._works.pop(key, None)

    def draft(self, key: str) -> SkillDraft | None:
        return self._drafts.draft(key)

    def put_back(self, draft: SkillDraft) -> None:
        """What was thrown away is there again, for the next look."""
        self.forget(draft.key)
        self._unsaved.add(draft.key)
        self._drafts.keep(draft)

    def settle(self, work: Work, done: Saved, saved: dict[str, Body]) -> None:
        """These were saved; the key is another one where a skill that came with the program became one's own."""
        self.forget(work.key)
        self.drop(work.key)
        work.settle(done.version, saved)
        work.key = done.key
        self._works[done.key] = work
